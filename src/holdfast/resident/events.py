"""The events of each coding agent: parse the input of its hooks, and format their output."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from holdfast.errors import HoldfastError
from holdfast.importers.records import Said
from holdfast.runtime.clock import as_utc

CLIENTS: Final = ("claude-code", "codex", "gemini", "opencode", "cursor", "vscode")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One event of a coding agent."""

    client: str
    name: str
    """``session-start``, ``prompt``, ``reply``, ``stop`` or ``session-end``."""
    session: str | None
    cwd: str | None = None
    prompt: str = ""
    transcript: Path | None = None
    """Path of the transcript that contains the messages. None if messages of this client are not read from a transcript."""
    said: tuple[Said, ...] = ()
    """Messages that the event itself carries."""


def is_foreign(client: str, payload: Mapping[str, Any]) -> bool:
    """Return True if the hook was configured for Claude Code, but another program runs it, such as VS Code or Cursor.

    Such an event is ignored, because these programs have hooks of their own.
    """
    return client == "claude-code" and ("session_id" not in payload or "cursor_version" in payload)


def read_event(client: str, name: str, payload: Mapping[str, Any]) -> HookEvent:
    """Build the event from the data that a coding agent sent to the hook.

    ``client`` is the name of the coding agent, ``name`` is the name of the event, and ``payload`` is the data.
    """
    session = _text(payload, "session_id", "sessionId", "conversation_id")
    roots = payload.get("workspace_roots")
    cwd = _text(payload, "cwd") or (
        str(roots[0]) if isinstance(roots, Sequence) and not isinstance(roots, str) and roots else None
    )
    transcript = _text(payload, "transcript_path")
    return HookEvent(
        client=client,
        name=name,
        session=session,
        cwd=cwd,
        prompt=_text(payload, "prompt") or "",
        transcript=Path(transcript) if client == "claude-code" and transcript else None,
        said=tuple(_said(client, name, payload)),
    )


def _said(client: str, name: str, payload: Mapping[str, Any]) -> list[Said]:
    """Return the messages of an event. If the event is sent twice, its messages have the same ids both times.

    For Claude Code, the list is empty, because its messages are read from the transcript.
    """
    if client == "claude-code":
        return []
    if isinstance(payload.get("messages"), list):
        return [said for each in payload["messages"] if isinstance(each, Mapping) and (said := _message(each)) is not None]
    turn = _text(payload, "turn_id", "generation_id")
    at = _text(payload, "timestamp")
    found: list[tuple[str, str | None]] = []
    if name == "prompt":
        found = [("user", _text(payload, "prompt"))]
    elif name in ("reply", "stop"):
        found = [("assistant", _text(payload, "last_assistant_message", "prompt_response", "text"))]
    return [Said(id=_message_id(turn or at, role, text), role=role, text=text, at=_time(at)) for role, text in found if text]


def _message(given: Mapping[str, Any]) -> Said | None:
    id, role, text = _text(given, "id"), _text(given, "role"), _text(given, "text")
    return (
        Said(id=id, role=role, text=text, at=_time(_text(given, "at"))) if id and role in ("user", "assistant") and text else None
    )


def _message_id(turn: str | None, role: str, text: str) -> str:
    """Return an id for a message of a client that sends no message ids. ``turn`` is the id or the time of the turn, or None.

    The id contains a hash of the text, because one turn can have several replies.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f"{turn or 'turn'}/{role}/{digest}"


def _time(value: str | None) -> Any:
    try:
        return as_utc(value, what="timestamp") if value else None
    except HoldfastError:
        return None


def _text(values: Mapping[str, Any], *names: str) -> str | None:
    """Return a text from ``values``: the first value under one of the keys ``names`` that is a text and not blank, or None."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


_EVENT_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "gemini": {"session-start": "SessionStart", "prompt": "BeforeAgent"},
}
_USUAL_NAMES: Final = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}


def write_answer(event: HookEvent, context: str) -> str:
    """Return the output of the hook: the context in the client's format, or an empty text if there is no context."""
    if event.name not in _USUAL_NAMES:
        return ""
    if event.client == "cursor":
        shown = {"additional_context": context} if context else {}
        return json.dumps({"continue": True, **shown}, ensure_ascii=False)
    if not context:
        return ""
    if event.client == "opencode":
        return json.dumps({"context": context}, ensure_ascii=False)
    name = _EVENT_NAMES.get(event.client, _USUAL_NAMES)[event.name]
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}, ensure_ascii=False)
