"""Read a ChatGPT export: ``conversations.json``, or the zip file or folder that contains it.

A conversation is a tree, because users can edit a message or ask for another answer. Only the branch that ends in
``current_node`` is read, because it is the one that the user sees. Custom instructions and what ChatGPT saved to its
memory become memories. Nothing is learned from a conversation that ChatGPT itself was told not to remember.
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.importers.archives import find_files, opened
from holdfast.importers.fields import Fields, moment
from holdfast.importers.lines import json_items
from holdfast.importers.payloads import limited
from holdfast.importers.records import Conversation, Note, Record, Said
from holdfast.runtime.regex import regex

_FILE = regex(r"conversations(-\d+)?\.json")
_ROLES = {"user", "assistant", "tool", "system"}
_SHOWN = frozenset({"text", "multimodal_text", "code", "audio_transcription"})
"""Content types with text of the user or the assistant. Others, such as search results, are kept as a payload."""
_CITATION = regex(r"[ \t]*(?:\ue200[^\ue201]*\ue201|【\d+(?::\d+)?†[^】]*】)")
"""Marks that ChatGPT's pages show as links to sources. They name search results that the export does not contain."""
_SAVED = regex(r"\s*\d+\.\s*\[(\d{4}-\d{2}-\d{2})\]\.?\s*(.*)")
"""Start of a memory in the list that ChatGPT gives its model, such as ``2. [2024-08-02]. Owns a boat.``"""


def files(path: Path) -> list[str]:
    """Return the names of the files in a ChatGPT export that contain conversations."""
    return find_files(path, lambda name: _FILE.fullmatch(name) is not None) or ([path.name] if path.suffix == ".json" else [])


def read_chatgpt(path: Path) -> Iterator[Record]:
    """Yield the conversations of an export with their messages, and the custom instructions and memories found in them."""
    instructions: set[str] = set()  # every conversation repeats them
    saved = _SavedMemories()
    for name in files(path):
        with opened(path, name) as file:
            for number, item in json_items(file, name):
                talk = Fields(item, f"{name}, conversation {number}")
                branch = _branch(talk)
                saved.look_at(talk, branch)
                for record in _conversation(talk, branch):
                    if not isinstance(record, Note) or record.id not in instructions:
                        yield record
                    instructions |= {record.id} if isinstance(record, Note) else set()
    yield from saved.notes()


class _SavedMemories:
    """The newest list of saved memories in an export. ChatGPT exports such lists only inside its conversations."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0.0

    def look_at(self, talk: Fields, branch: list[tuple[str, Fields]]) -> None:
        """Use the list of saved memories in this conversation, if no newer conversation had one.

        ``branch`` contains the nodes of the conversation, as :func:`_branch` returns them.
        """
        times = [talk.values.get(name) for name in ("update_time", "create_time")]
        at = next((float(time) for time in times if isinstance(time, int | float)), 0.0)
        for _, node in branch:
            message = node.values.get("message")
            content = message.get("content") if isinstance(message, Mapping) else None
            text = content.get("model_set_context") if isinstance(content, Mapping) else None
            if isinstance(text, str) and _SAVED.search(text) and at >= self._at:
                self._text, self._at = text, at

    def notes(self) -> Iterator[Note]:
        """Yield the memories of the list."""
        found: list[tuple[str, list[str]]] = []
        for line in self._text.splitlines():
            if start := _SAVED.fullmatch(line):
                found.append((start[1], [start[2]]))
            elif found:
                found[-1][1].append(line)
        for day, lines in found:
            text = "\n".join(lines).strip()
            yield Note(id=f"saved {_digest(text)}", text=text, metadata={"saved_by": "ChatGPT"}, created_at=_day(day))


def _day(text: str) -> datetime | None:
    try:
        return moment(text)
    except InvalidInput:  # such as 2024-02-31
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _conversation(talk: Fields, branch: list[tuple[str, Fields]]) -> Iterator[Record]:
    values = talk.values
    yield Conversation(
        id=str(values.get("conversation_id") or values.get("id") or talk.name("id")),
        title=talk.maybe("title"),
        at=talk.maybe_time("create_time"),
        metadata=_metadata(values),
        learn=values.get("is_do_not_remember") is not True,
    )
    for id, node in branch:
        if node.values.get("message") is not None:
            message = Fields(node.values["message"], f"{node.place}, message")
            yield from _notes(id, message, talk)
            yield from _said(id, message)


def _metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a conversation: its ``model``, and the ``gpt`` or ``project`` in which it took place.

    ``values`` are the fields of the exported conversation. Unknown values are left out.
    """
    place = "project" if values.get("gizmo_type") == "snorlax" else "gpt"  # ChatGPT's name of projects
    found = {"model": values.get("default_model_slug"), place: values.get("gizmo_id")}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}


def _branch(talk: Fields) -> list[tuple[str, Fields]]:
    """Return the nodes of a conversation's tree from the root to the current node, each with its id.

    The current node is the end of the branch that the user sees. If the export names no existing node as the current one, the
    leaf with the newest message is used. Other branches are left out.
    """
    nodes = {id: Fields(node, f"{talk.place}, node {id}") for id, node in talk.mapping("mapping").items()}
    current = talk.maybe("current_node")
    if current not in nodes:
        current = _newest_leaf(nodes)
    found: list[tuple[str, Fields]] = []
    seen: set[str] = set()
    while current in nodes and current not in seen:  # a damaged export could contain a circle
        seen.add(current)
        found.append((current, nodes[current]))
        current = nodes[current].maybe("parent") or ""
    return found[::-1]


def _newest_leaf(nodes: Mapping[str, Fields]) -> str:
    """Return the leaf with the newest message.

    This leaf is used as the current node if the export names no current node, or if the node that it names was deleted.
    """
    # A node whose children were deleted is a leaf, too.
    leaves = [id for id, node in nodes.items() if not any(child in nodes for child in node.values.get("children") or ())]
    return max(leaves, key=lambda leaf: _time_of(nodes[leaf]), default="")


def _time_of(node: Fields) -> float:
    message = node.values.get("message")
    time = message.get("create_time") if isinstance(message, Mapping) else None
    return float(time) if isinstance(time, int | float) else 0.0


def _notes(id: str, message: Fields, talk: Fields) -> Iterator[Note]:
    """Yield the custom instructions in a hidden message, or the memory that ChatGPT saved with its tool ``bio``."""
    content = message.mapping("content")
    if content.get("content_type") == "user_editable_context":
        given = message.mapping("metadata").get("user_context_message_data")
        given = given if isinstance(given, Mapping) else {}
        about_user = given.get("about_user_message") or content.get("user_profile")
        about_model = given.get("about_model_message") or content.get("user_instructions")
        for name, text in (("about the user", about_user), ("how to answer", about_model)):
            if isinstance(text, str) and text.strip():
                metadata, created = {"custom_instructions": name}, talk.maybe_time("create_time")
                yield Note(id=f"instructions {_digest(text)}", text=text, metadata=metadata, created_at=created)
    elif message.maybe("recipient") == "bio":
        text, _ = _content(content)
        if text.strip() and not text.lstrip().casefold().startswith("forget"):  # how the tool is asked to remove a memory
            created = message.maybe_time("create_time")
            yield Note(id=f"bio {message.maybe('id') or id}", text=text, metadata={"saved_by": "ChatGPT"}, created_at=created)


def _said(id: str, message: Fields) -> Iterator[Said]:
    author, content = Fields(message.mapping("author"), message.place), message.mapping("content")
    role = author.maybe("role") or "user"
    metadata = message.mapping("metadata")
    if metadata.get("is_visually_hidden_from_conversation") or message.values.get("weight") == 0 or role == "system":
        return
    text, rest = _content(content)
    recipient = message.maybe("recipient") or "all"
    if role == "tool" or recipient != "all":  # a call of a tool, or its result
        rest = {**rest, "content": content, **({"recipient": recipient} if recipient != "all" else {})}
        rest |= {"name": name} if (name := author.maybe("name")) else {}
        text = ""
    if attachments := metadata.get("attachments"):
        rest["attachments"] = attachments
    if not text.strip() and not rest:
        return
    if isinstance(metadata.get("model_slug"), str):
        rest["model"] = metadata["model_slug"]
    yield Said(
        id=message.maybe("id") or id,
        role=role if role in _ROLES else "tool",
        text=_CITATION.sub("", text) if role == "assistant" else text,
        at=message.maybe_time("create_time"),
        payload=limited(rest) if rest else None,
    )


def _content(content: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a message, and its parts that are not text, such as images."""
    kind = content.get("content_type", "text")
    if kind not in _SHOWN:
        return "", {"content": dict(content)} if content.get("parts") or content.get("text") or content.get("result") else {}
    if isinstance(content.get("text"), str):
        return content["text"], {}
    texts, others = [], []
    for part in content.get("parts") or ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):  # a transcript of speech
            texts.append(part["text"])
        elif part is not None:
            others.append(part)
    return "\n\n".join(text for text in texts if text.strip()), {"parts": others} if others else {}
