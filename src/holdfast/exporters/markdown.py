"""Write an export as Markdown for people: a list of memories, and conversations."""

import json
from collections.abc import Iterator

from holdfast.exporters.entries import MemoryEntry, RevisionEntry
from holdfast.exporters.walk import Walk
from holdfast.text.clean import one_line
from holdfast.types import Memory, Message, Scope


def write_markdown(walk: Walk) -> Iterator[bytes]:
    """Yield a Markdown document: the live memories, then the retired ones, then the conversations."""
    yield b"# Memories and conversations\n"
    for number, profile in enumerate(walk.users()):
        language = f", language {profile.language}" if profile.language else ""
        yield _text(f"{'' if number else chr(10)}- User {one_line(profile.user)}: time zone {profile.timezone}{language}\n")
    for title, live in (("Memories", True), ("Earlier memories", False)):
        heading: str | None = f"\n## {title}\n\n"
        for entry in walk.memories(again=not live):
            if (entry.memory.status == "live") is not live:
                continue
            if heading is not None:
                yield heading.encode()
                heading = None
            yield _text("".join(_memory_lines(entry)))
    yield from _conversations(walk)


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _owner(scope: Scope) -> str:
    """Return the owner of data as text, such as ``user ana, app kitchen``.

    If the scope has no user, the text starts with ``shared``, because all users share the data.
    """
    parts = [f"{part} {value}" for part in ("user", "app", "agent") if (value := getattr(scope, part))]
    return one_line(", ".join(parts if scope.user else ["shared", *parts]))


def _memory_lines(entry: MemoryEntry) -> Iterator[str]:
    """Yield a memory as a list item, with its earlier texts as nested items."""
    memory = entry.memory
    text = _indented(str(memory))
    yield f"- {text} ({_facts(memory)})\n"
    for revision in entry.revisions[:-1]:
        if str(revision.memory) != str(memory):
            yield f"  - {_earlier(revision)}\n"


def _earlier(revision: RevisionEntry) -> str:
    return f"earlier, until {revision.memory.recorded_to:%Y-%m-%d}: {_indented(str(revision.memory), 4)}"


def _facts(memory: Memory) -> str:
    """Return the details of a memory: its kind, dates and other fields."""
    dates = f"{memory.valid_from:%Y-%m-%d}"
    if memory.status != "live":
        ended = memory.valid_to or memory.retired_at or memory.updated_at
        dates += f" to {ended:%Y-%m-%d}, {memory.status}"
    details = [
        memory.kind,
        dates,
        _owner(memory.scope),
        f"topic {memory.topic}" if memory.topic else "",
        *(f"#{tag}" for tag in memory.tags),
    ]
    details += [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in sorted(memory.metadata.items())
    ]
    return one_line(", ".join(each for each in details if each))


def _indented(text: str, spaces: int = 2) -> str:
    """Indent all lines of a text except the first, so that the text stays within its list item."""
    return f"\n{' ' * spaces}".join(text.strip().splitlines())


def _conversations(walk: Walk) -> Iterator[bytes]:
    heading: bytes | None = b"\n## Conversations\n"
    for entry in walk.sessions():
        session = entry.session
        if heading is not None:
            yield heading
            heading = None
        yield _text(f"\n### {session.started_at:%Y-%m-%d %H:%M}, {_owner(session.scope)}, {one_line(session.id)}\n\n")
        for said in walk.messages(session=session):
            yield _text(_said(said.message))


def _said(message: Message) -> str:
    who = one_line(message.speaker or message.role)
    text = _indented(message.text) or "(no text)"
    return f"- {who}, {message.at:%Y-%m-%d %H:%M}: {text}\n"
