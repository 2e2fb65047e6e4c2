"""Store the conversations of coding agents: each message once, in a session of the user and the project."""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.engine import Engine
from holdfast.errors import InvalidInput
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
from holdfast.types import NewMessage

_MAX_TRACKED: Final = 1_000
"""Maximum number of transcripts whose read position is kept in memory. A forgotten one is read again from its start."""


class Capture:
    """Adds the messages of events to sessions. Only one thread at a time does so, so that no message is added twice."""

    def __init__(self, memory: Engine) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._positions: dict[tuple[str, str], int] = {}

    def store(self, event: HookEvent, scope: AgentScope) -> int:
        """Store the new messages of an event, and end the session if the event says so. Return the number of new messages."""
        if event.session is None or scope.is_shared:
            return 0
        session = self._memory.session(id=event.session, **scope.parts)
        with self._lock:
            key = (event.session, str(event.transcript))
            said, position = list(event.said), 0
            if event.transcript is not None and event.name != "prompt":
                lines, position = read_from(event.transcript, self._positions.get(key, 0))
                said += lines
            added = self._add(session, event, scope, said)
            if event.transcript is not None and position:
                self._note(key, position)
        if event.name == "session-end":
            session.end()
        return added

    def _add(self, session: Session, event: HookEvent, scope: AgentScope, said: list[Said]) -> int:
        new = [
            each
            for each in said
            if each.text.strip() and each.role in ("user", "assistant") and not self._is_known(session, each)
        ]
        if not new:
            return 0
        known = {"client": event.client, "cwd": event.cwd, PROJECT: scope.project}
        session.begin(metadata={name: value for name, value in known.items() if value})
        session.add_all([_message(each) for each in new])
        return len(new)

    def _is_known(self, session: Session, said: Said) -> bool:
        own = MessageFilter(session=session.id, exactly=session.scope, client_id=said.id)
        return bool(services(self._memory).store.messages(own))

    def _note(self, key: tuple[str, str], position: int) -> None:
        self._positions.pop(key, None)
        self._positions[key] = position
        while len(self._positions) > _MAX_TRACKED:
            del self._positions[next(iter(self._positions))]


def _message(said: Said) -> NewMessage:
    """Return the message to store. Tool calls and tool results are left out, because they can contain whole files."""
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
