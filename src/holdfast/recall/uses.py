"""Record which memories were recalled or shown.

A recall only records this in memory. Background work writes it to the store later.
"""

import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Store, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.runtime import forks
from holdfast.types import Context, Memory, Scope

SHOWN = "memories_shown"
"""Key in a session's metadata. It is set once a context block with memories was returned for the session."""
_USE_INTERVAL = timedelta(days=1)
"""Minimum time between two updates of the stored time at which a memory was last used."""
_MAX_UNFLUSHED = 100


class Uses:
    """Records when memories are used, until the times are written to the store."""

    def __init__(self, store: Store, preset: Preset, clock: Clock) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock in the child process. Drop the recorded uses of memories, because the parent process stores them."""
        self._lock = threading.Lock()
        self._used: dict[str, datetime] = {}
        self._shown: dict[tuple[str, Scope], None] = {}

    def note(self, memories: Iterable[Memory]) -> None:
        """Record that memories were recalled or shown now. ``flush`` writes the time of use to the store later.

        Normally, a use is recorded only if the stored time of use is at least a day old. If use renews the lifetime of a memory,
        every use is recorded.
        """
        moment = self._clock.now()
        renewed = {kind.name for kind in self._preset.kinds if kind.renewed_by_use}
        with self._lock:
            self._used.update(
                (memory.id, moment)
                for memory in memories
                if memory.last_used_at is None or moment - memory.last_used_at >= _USE_INTERVAL or memory.kind in renewed
            )

    def flush(self, renew: Callable[[Transaction, set[str], datetime], None]) -> None:
        """Store the times at which memories were last used, and mark the sessions as :meth:`flush_shown` does.

        ``renew`` is then called with the used memories, and can extend their lifetime.
        """
        self.flush_shown()
        with self._lock:
            used, self._used = self._used, {}
        if used:
            with self._store.write(durable=False) as tx:
                by_moment: dict[datetime, set[str]] = {}
                for id, at in used.items():
                    by_moment.setdefault(at, set()).add(id)
                for moment, ids in by_moment.items():
                    tx.touch(ids, used=moment)
                    renew(tx, ids, moment)

    def note_shown(self, session: str, scope: Scope, context: Context) -> None:
        """Record that a session received a context block with memories. ``flush_shown`` stores this later."""
        if any(hit.memory for hit in context.hits):
            with self._lock:
                self._shown[session, scope] = None

    def flush_shown(self) -> None:
        """Mark the sessions that ``note_shown`` has recorded: set ``memories_shown`` in their stored metadata.

        Sessions that are not stored yet stay recorded, up to a limit.
        """
        with self._lock:
            noted, self._shown = self._shown, {}
        sessions = {place: self._store.session(*place) for place in noted}
        unmarked = [place for place, session in sessions.items() if session and not session.metadata.get(SHOWN)]
        not_stored = [place for place, session in sessions.items() if not session][-_MAX_UNFLUSHED:]
        with self._lock:
            self._shown = {**dict.fromkeys(not_stored), **self._shown}
        if unmarked:
            with self._store.write(durable=False) as tx:
                for session in filter(None, (tx.session(*place) for place in unmarked)):
                    tx.set_session(with_state(session, **{SHOWN: True}))

    def discard(self) -> None:
        """Discard the recorded uses that are not written to the store yet."""
        with self._lock:
            self._used.clear()
