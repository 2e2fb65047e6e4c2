"""Store the conversations of coding agents: each message once, in a session of the user and the project."""

import itertools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.forgetting.records import mark_of
from holdfast.importers.conversations import fitting
from holdfast.importers.fields import Fields
from holdfast.importers.readers.claude_code import said_in_line
from holdfast.importers.records import Said
from holdfast.learning.placement import PROJECT
from holdfast.protocols import MessageFilter
from holdfast.resident.events import HookEvent
from holdfast.resident.scope import AgentScope
from holdfast.services import services
from holdfast.session import Session
from holdfast.types import OMITTED, NewMessage

_POSITION: Final = "transcript "
"""Prefix of the names of the settings that store how far each transcript was read."""


class Capture:
    """Stores the messages in events and transcripts of coding agents.

    Only one thread stores messages at a time, so that no message is stored twice. The store remembers how far each transcript
    was read. After a restart, reading continues there, so messages that were erased in the meantime are not added again.
    """

    def __init__(self, memory: Engine) -> None:
        self._memory = memory
        self._store = services(memory).store
        self._lock = threading.Lock()

    def store(self, event: HookEvent, scope: AgentScope) -> int:
        """Store the new messages of an event, and return their number. Results of tools are not counted.

        The event ``session-end`` also ends the session. Nothing is stored if the event names no session, or if the scope has no
        user, app or agent.
        """
        if event.session is None or scope.is_shared:
            return 0
        session = self._memory.session(id=event.session, **scope.parts)
        with self._lock:
            if event.transcript is None or event.name == "prompt":
                added = self._add(session, event, scope, event.said)
            else:
                added = self._add_from(event.transcript, session, event, scope)
        if event.name == "session-end":
            session.end()
        return added

    def _add_from(self, transcript: Path, session: Session, event: HookEvent, scope: AgentScope) -> int:
        """Store the messages of an event, and the messages added to a transcript since it was last read.

        Return the number of new messages. Results of tools are not counted.
        """
        name = self._position_name(session, transcript)
        before = int(self._store.setting(name) or 0)
        said, position = read_from(transcript, before)
        added = self._add(session, event, scope, [*event.said, *said])
        if position != before:
            with self._store.write(durable=False) as tx:  # a later write that erases messages makes it durable
                tx.set_setting(name, str(position))
        return added

    def _position_name(self, session: Session, transcript: Path) -> str:
        """Return the name of the setting that stores how far a transcript was read.

        The setting stays after an erasure, so its name does not reveal the user, the project or the session.
        """
        target = {"session": session.id, "transcript": str(transcript)}
        return _POSITION + mark_of(self._store.setting("secret") or "", target, session.scope)

    def _add(self, session: Session, event: HookEvent, scope: AgentScope, said: Sequence[Said]) -> int:
        spoken = [each for each in said if each.role == "tool" or (each.text.strip() and each.role in ("user", "assistant"))]
        runs = itertools.groupby(spoken, key=lambda each: each.role == "tool")
        # One message stands for all tool results in a row.
        new = [each for is_tool, run in runs for each in itertools.islice(run, 1 if is_tool else None)]
        new = [each for each in new if not self._is_known(session, each)]
        if not new:
            return 0
        known = {"client": event.client, "cwd": event.cwd, PROJECT: scope.project}
        session.begin(metadata={name: value for name, value in known.items() if value})
        session.add_all([_message(each) for each in new])
        return sum(each.role != "tool" for each in new)

    def _is_known(self, session: Session, said: Said) -> bool:
        own = MessageFilter(session=session.id, exactly=session.scope, client_id=said.id)
        return bool(self._store.messages(own))


def _message(said: Said) -> NewMessage:
    """Return a message of a coding agent in the form to store: with its text, but without tool calls and tool results.

    Tool calls and tool results can contain whole files. A tool result becomes a message without text, so that the
    assistant's replies after it are trusted as little as the result. A text that is too long for a message is cut.
    """
    if said.role == "tool":
        return {"role": "tool", "payload": OMITTED, "at": said.at, "id": said.id}
    return {"role": said.role, "text": fitting(said.text), "at": said.at, "id": said.id}


def read_from(transcript: Path, position: int) -> tuple[list[Said], int]:
    """Return the messages in a transcript of Claude Code after a position, and the new position.

    The client may still be writing. An incomplete last line is therefore left for the next call, and a line that is not
    JSON is skipped. A file that became shorter is read from its start.
    """
    try:
        with transcript.open("rb") as file:
            size = file.seek(0, 2)
            start = position if position <= size else 0
            file.seek(start)
            content = file.read()
    except OSError:
        return [], position
    end = content.rfind(b"\n") + 1
    said = [each for line in content[:end].splitlines() if line.strip() for each in _said(line)]
    return said, start + end


def _said(line: bytes) -> Iterator[Said]:
    try:
        values: Any = json.loads(line)
        if isinstance(values, Mapping):
            yield from said_in_line(Fields(values, "line"))
    except (ValueError, InvalidInput):
        return
