"""Read a Claude export: conversations and, if present, memories and projects.

Each of them is one JSON list, such as ``projects.json``. Newer exports have a folder with one object per file instead,
such as ``projects/ID.json``, and may put the memories into a separate archive.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.importers.archives import find_files, json_files_under, opened
from holdfast.importers.documents import sections
from holdfast.importers.fields import Fields
from holdfast.importers.lines import json_items
from holdfast.importers.payloads import limited
from holdfast.importers.records import Conversation, Note, Record, Said
from holdfast.runtime.regex import regex
from holdfast.types import OMITTED
from holdfast.types.translatable import translatable

_BOLD_LINE = regex(r"^\*\*([^*\n]+)\*\*:?[ \t]*$", re.MULTILINE)
_MEMORY_FIELDS = ("conversations_memory", "project_memories", "memory_files")
"""Fields by which an object with memories is recognized: it has at least one of them."""
_HEAD = 100
"""Number of bytes that are read to see whether a file contains a list."""
_ROLES = {"human": "user", "assistant": "assistant"}
_SPOKEN = ("text", "voice_note")
"""Types of the blocks that contain the text of a message."""
_THOUGHT = regex(r"<antThinking>.*?</antThinking>\s*", re.DOTALL)
_ARTIFACT = regex(r"<antArtifact\b([^>]*)>(.*?)</antArtifact>\s*", re.DOTALL)
"""Artifact inside the text of a message, as in exports of 2024. Newer exports have artifacts as blocks of a tool."""
_ATTRIBUTE = regex(r'(\w+)="([^"]*)"')


def read_claude(path: Path) -> Iterator[Record]:
    """Yield the conversations of an export, then projects with their documents, and the memories."""
    projects: dict[str, str] = {}
    readers: Mapping[str, Callable[[Fields], Iterator[Record]]] = {
        "conversations": _conversation,
        "projects": lambda item: _project(item, projects),
        "memories": lambda item: _memories(item, projects),
    }
    for wanted, read in readers.items():
        for item in _items(path, wanted):
            yield from read(item)


def has_memories(path: Path) -> bool:
    """Return True if an archive, folder or file contains memories of Claude, with or without conversations."""
    try:
        return any(_is_part(item.values, "memories") for item in _items(path, "memories"))
    except (InvalidInput, ValueError):
        return False


def _items(path: Path, wanted: str) -> Iterator[Fields]:
    """Yield the objects of one part of an export. ``wanted`` is the name of the part, such as ``projects``."""
    if path.is_file() and path.suffix == ".json":
        if _is_part(next((item.values for item in _objects(path, path.name)), {}), wanted):
            yield from _objects(path, path.name)
        return
    listed = find_files(path, lambda name: name == f"{wanted}.json")
    for name in listed or json_files_under(path, wanted):
        yield from _objects(path, name)


def _is_part(item: Mapping[str, Any], wanted: str) -> bool:
    """Return True if an object belongs to the part ``wanted`` of an export, such as ``projects``.

    The fields of the object decide, because a file that is imported alone can have any name.
    """
    if any(name in item for name in _MEMORY_FIELDS):
        return wanted == "memories"
    return wanted == ("projects" if "prompt_template" in item or "docs" in item else "conversations")


def _objects(path: Path, name: str) -> Iterator[Fields]:
    """Yield the objects of a JSON file: the items of a list, or the only object.

    ``path`` is the archive, folder or file, and ``name`` is the name of the JSON file in it.
    """
    with opened(path, name) as file:
        is_list = file.read(_HEAD).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    with opened(path, name) as file:
        if is_list:
            for number, item in json_items(file, name):
                yield Fields(item, f"{PurePosixPath(name).name}, item {number}")
            return
        try:
            yield Fields(json.loads(file.read()), name)
        except ValueError as error:
            raise InvalidInput(
                translatable(
                    "import.file_json", "{file} is not valid JSON: {error}. Nothing was imported.", file=name, error=str(error)
                )
            ) from error


def _conversation(talk: Fields) -> Iterator[Record]:
    project = talk.values.get("project")
    name = project.get("name") if isinstance(project, Mapping) else None
    yield Conversation(
        id=talk.name("uuid"),
        title=talk.maybe("name") or None,
        at=talk.maybe_time("created_at"),
        metadata={"project": name} if isinstance(name, str) and name else {},
    )
    for message in _branch(talk.objects("chat_messages")):
        yield from _said(message)


def _branch(messages: Sequence[Fields]) -> list[Fields]:
    """Return the messages of one branch of a conversation: the branch that ends in the last message.

    If no message has its parent message among ``messages``, return all messages.
    """
    by_id = {message.maybe("uuid"): message for message in messages}
    parents = [message.maybe("parent_message_uuid") for message in messages]
    if not messages or not any(parent in by_id for parent in parents):
        return list(messages)
    found: dict[str | None, Fields] = {}
    current: Fields | None = messages[-1]
    while current is not None and current.maybe("uuid") not in found:  # a damaged export could contain a circle
        found[current.maybe("uuid")] = current
        current = by_id.get(current.maybe("parent_message_uuid"))
    return list(found.values())[::-1]


def _said(message: Fields) -> Iterator[Said]:
    sender = message.maybe("sender") or "human"
    texts, others = _content(message)
    attachments = [
        {"name": each.maybe("file_name"), "type": each.maybe("file_type"), "text": each.maybe("extracted_content")}
        for each in message.objects("attachments")
    ]
    others |= {"attachments": attachments} if attachments else {}
    files = [each.maybe("file_name") for each in message.objects("files")]
    others |= {"files": files} if files else {}
    if any(block.get("type") == "tool_result" for block in others.get("blocks", ())):
        # Stands for the result before the reply, so that the reply is trusted as little as the result.
        yield Said(id=f"{message.name('uuid')} tool", role="tool", at=message.maybe_time("created_at"), payload=OMITTED)
    if texts.strip() or others:
        yield Said(
            id=message.name("uuid"),
            role=_ROLES.get(sender, sender),
            text=texts,
            at=message.maybe_time("created_at"),
            payload=limited(others) if others else None,
        )


def _content(message: Fields) -> tuple[str, dict[str, Any]]:
    """Return the text of a message, and its other blocks, such as tool calls and artifacts. Thoughts are left out."""
    blocks = message.objects("content")
    texts = [block.maybe("text") or "" for block in blocks if block.values.get("type") in _SPOKEN]
    others = [dict(block.values) for block in blocks if block.values.get("type") not in (*_SPOKEN, "thinking")]
    text = "\n\n".join(text for text in texts if text.strip()) if blocks else message.maybe("text") or ""
    if message.maybe("sender") == "assistant":
        text = _THOUGHT.sub("", text)
        inside = _ARTIFACT.findall(text)
        others += [{"type": "artifact", **dict(_ATTRIBUTE.findall(about)), "content": content} for about, content in inside]
        text = _ARTIFACT.sub("", text)
    return text, {"blocks": others} if others else {}


def _memories(item: Fields, projects: Mapping[str, str]) -> Iterator[Record]:
    """Yield Claude's memories, one per heading. Claude writes headings as bold lines. ``projects`` has the names of projects by id."""
    texts: dict[str, Any] = {"": item.values.get("conversations_memory"), **item.mapping("project_memories")}
    for project, text in texts.items():
        for section in sections(_BOLD_LINE.sub(r"# \1", text) if isinstance(text, str) else ""):
            metadata: dict[str, Any] = {"heading": section.heading} if section.heading else {}
            namespace = ("projects", projects.get(project, project)[:200]) if project else ()
            metadata |= {"project": project} if project else {}
            yield Note(id=f"memory {project} {section.digest}", text=section.text, metadata=metadata, namespace=namespace)
    for file in item.objects("memory_files"):
        yield from _memory_file(file)


def _memory_file(file: Fields) -> Iterator[Note]:
    """Yield the sections of a file that Claude keeps about the user, such as ``/areas/garden.md``."""
    path = file.maybe("path") or "memory"
    for section in sections(file.maybe("content") or ""):
        yield Note(
            id=f"memory file {path} {section.digest}",
            text=section.text,
            metadata={"file": path, **({"heading": section.heading} if section.heading else {})},
            created_at=file.maybe_time("created_at") or file.maybe_time("updated_at"),
        )


def _project(project: Fields, projects: dict[str, str]) -> Iterator[Record]:
    """Yield the description, the instructions and the documents of a project. Add its name to ``projects``."""
    name = project.maybe("name") or "project"
    projects[project.maybe("uuid") or ""] = name
    for part in ("description", "prompt_template"):
        for section in sections(project.maybe(part) or ""):
            yield Note(
                id=f"{project.maybe('uuid')} {part} {section.digest}",
                text=section.text,
                namespace=("projects", name[:200]),
                metadata={"project": name, "part": "instructions" if part == "prompt_template" else part},
                created_at=project.maybe_time("created_at"),
            )
    for document in project.objects("docs"):
        file = document.maybe("filename") or "document"
        for section in sections(document.maybe("content") or ""):
            yield Note(
                id=f"{document.maybe('uuid')} {section.digest}",
                text=section.text,
                namespace=("projects", name[:200], file[:200]),
                metadata={"file": file, **({"heading": section.heading} if section.heading else {})},
                created_at=document.maybe_time("created_at"),
            )
