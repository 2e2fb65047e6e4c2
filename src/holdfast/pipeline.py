"""From the end of a conversation to memories."""

from dataclasses import replace
from datetime import timedelta

from holdfast.jobs import Effect, new_job
from holdfast.policies.statements import RULE_VERSION
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MessageFilter, SessionFilter, Store, Transaction
from holdfast.types import Author, Job, SessionRecord, SessionStatus
from holdfast.write import Writer


class Pipeline:
    """Closes sessions and digests what was said in them."""

    def __init__(self, store: Store, preset: Preset, clock: Clock) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock

    def close_session(self, tx: Transaction, session: SessionRecord, status: SessionStatus) -> None:
        """Close a session and queue its digestion in the same transaction."""
        now = self._clock.now()
        tx.set_session(replace(session, status=status, ended_at=now))
        last = tx.messages(MessageFilter(session=session.id, newest=1))
        if last and last[0].seq > session.digested_to:
            effect = f"digest:{session.id}:{last[0].seq}"
            tx.add_job(new_job("digest", {"session": session.id, "to": last[0].seq}, effect=effect, now=now))

    def close_idle_sessions(self) -> int:
        """Close the sessions nobody has spoken in for a while, also those a killed process left open."""
        silent = self._clock.now() - self._preset.idle_after
        wanted = SessionFilter(statuses=["open"], idle_since=silent)
        if not self._store.sessions(replace(wanted, limit=1)):
            return 0
        with self._store.write() as tx:
            idle = tx.sessions(wanted)
            for session in idle:
                self.close_session(tx, session, "idle")
        return len(idle)

    def digest(self, job: Job) -> Effect:
        """Read a session's undigested messages and return the memories they leave."""
        session_id, last = str(job.payload["session"]), int(job.payload["to"])
        session = self._store.session(session_id)
        if session is None or session.digested_to >= last:
            return lambda tx: None
        messages = self._store.messages(MessageFilter(session=session_id, after_seq=session.digested_to))
        changes = self._preset.capture([message for message in messages if message.seq <= last])
        author = Author(actor="digest", prompt=RULE_VERSION, job=job.id)

        def store_memories(tx: Transaction) -> None:
            present = tx.session(session_id)
            if present is None or present.digested_to >= last:
                return
            kept = {message.id for message in tx.messages(MessageFilter(session=session_id))}
            surviving = [change for change in changes if kept.issuperset(getattr(change, "sources", ()))]
            Writer(tx=tx, preset=self._preset, author=author, now=self._clock.now()).apply(surviving, shown=())
            tx.set_session(replace(present, digested_to=last))

        return store_memories

    @property
    def idle_after(self) -> timedelta:
        """How long a session may be silent."""
        return self._preset.idle_after
