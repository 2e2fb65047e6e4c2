"""Read transcripts of Claude Code: a ``.jsonl`` file, or a folder of them such as ``~/.claude/projects``."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.importers.fields import Fields
from holdfast.importers.lines import json_lines
from holdfast.importers.payloads import limited
from holdfast.importers.records import Conversation, Record, Said
from holdfast.runtime.regex import regex

_WRAPPED = regex(r"<(command-name|command-message|local-command-\w+|system-reminder|bash-\w+)>")
"""Start of a message that the program wrote in the name of the user: a slash command, or its output."""


def transcripts(path: Path) -> list[Path]:
    """Return the transcript files in a folder, sorted by name. If the path is a file, return only this file."""
    return sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]


def looks_like_transcript(line: Any) -> bool:
    """Return True if a parsed JSON line comes from a transcript of Claude Code."""
    if not isinstance(line, Mapping):
        return False
    return ("sessionId" in line and "type" in line) or (line.get("type") == "summary" and "leafUuid" in line)


def read_claude_code(path: Path) -> Iterator[Record]:
    """Yield one conversation per transcript file. Conversations with subagents are left out."""
    for file in transcripts(path):
        yield from _transcript(file)


def _transcript(file: Path) -> Iterator[Record]:
    title, started = None, False
    for _, line in json_lines(file, growing=True):  # Claude Code may be running
        if line.values.get("type") == "summary":
            title = line.maybe("summary")
        if not _is_spoken_line(line):
            continue
        if not started:
            started = True
            yield _conversation(file, line, title)
        yield from _said(line)


def said_in_line(line: Fields) -> Iterator[Said]:
    """Yield the message in one line of a transcript, if there is one."""
    if _is_spoken_line(line):
        yield from _said(line)


def _is_spoken_line(line: Fields) -> bool:
    """Return True if a line belongs to the user's conversation, not to a subagent, a copied session or the program itself."""
    written_by_program = ("isSidechain", "isMeta", "isCompactSummary", "forkedFrom")
    return line.values.get("type") in ("user", "assistant") and not any(line.values.get(name) for name in written_by_program)


def _conversation(file: Path, line: Fields, title: str | None) -> Conversation:
    known = {"cwd": line.values.get("cwd"), "git_branch": line.values.get("gitBranch")}
    metadata = {name: value for name, value in known.items() if isinstance(value, str) and value}
    return Conversation(id=line.maybe("sessionId") or file.stem, title=title, at=line.maybe_time("timestamp"), metadata=metadata)


def _said(line: Fields) -> Iterator[Said]:
    message = Fields(line.values.get("message"), f"{line.place}, message")
    role, id, at = message.maybe("role") or str(line.values["type"]), line.name("uuid"), line.maybe_time("timestamp")
    if isinstance(message.values.get("content"), str):
        if text := _spoken(message.text("content")):
            yield Said(id=id, role=role, text=text, at=at)
        return
    blocks = message.objects("content")
    texts = [_spoken(block.maybe("text") or "") for block in blocks if block.values.get("type") == "text"]
    others = [dict(block.values) for block in blocks if block.values.get("type") not in ("text", "thinking", "redacted_thinking")]
    text = "\n\n".join(text for text in texts if text)
    is_result = any(block.get("type") == "tool_result" for block in others)
    if text or others:
        payload = limited({"blocks": others}) if others else None
        yield Said(id=id, role="tool" if is_result and not text else role, text=text, at=at, payload=payload)


def _spoken(text: str) -> str:
    """Return a message's text. If Claude Code itself wrote it (a slash command or its output), return an empty text."""
    return "" if _WRAPPED.match(text.lstrip()) else text.strip()
