"""What happens by itself with time: idle sessions close, the expired and the long forgotten are purged."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.access.idempotency import RETENTION
from holdfast.background.digest import Digester
from holdfast.forgetting.erase import SCRUB, mark_erased, own_sources
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, Reads, Store, Transaction
from holdfast.recall.embedding import Embedding
from holdfast.runtime.clock import end_of_day
from holdfast.types import Author, Finding, Memory, Retire
from holdfast.write import Writer

_DONE_JOB_RETENTION = timedelta(days=7)
"""How long a job that is done can be seen."""
_SCRUB_RETRY = timedelta(seconds=30)


class Housekeeping:
    """Keeps a store tidy."""

    def __init__(self, store: Store, preset: Preset, clock: Clock, pipeline: Digester) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._pipeline = pipeline
        self._next = clock.now()
        self._next_scrub = clock.now()

    def tick(self) -> int:
        """Do what is due; returns how much was done."""
        done = self._pipeline.close_idle_sessions() + self._finish_scrubbing()
        if self._clock.now() >= self._next:
            done += self.clean_up()
        return done

    def clean_up(self) -> int:
        """Purge what has expired, was forgotten too long ago to be brought back, or is past its retention."""
        now = self._clock.now()
        self._next = now + self._preset.clean_every
        unused = self._expire_unused(now)
        self._expire_stored_responses(now)
        old = self._outlived(now)
        done = self._store.jobs(states=["done"], limit=1)
        stale = bool(done and done[0].finished_at and done[0].finished_at < now - _DONE_JOB_RETENTION)
        if not old and not stale and not self._gone(self._store, now):
            return unused
        with self._store.write() as tx:
            gone = self._gone(tx, now)  # again, inside: one may have been brought back or renewed meanwhile
            # What was forgotten must not come back with what it came from: that stays in the log, unseen.
            tx.set_action(own_sources(tx, [memory for memory in gone if memory.status == "forgotten"]), "forgotten")
            tx.remove_memories({memory.id for memory in gone})
            tx.remove_messages(old)
            tx.remove_done_jobs(before=now - _DONE_JOB_RETENTION)
            if gone or old:
                mark_erased(tx)
        self._next_scrub = now
        self._finish_scrubbing()
        return unused + len(gone) + len(old)

    def _expire_unused(self, now: datetime) -> int:
        """Retire what was learnt by itself and nobody has used or said again for long; it can be undone like forgetting."""
        if self._preset.unused_after is None:
            return 0
        documents = {"summary", self._preset.base.kind if self._preset.base else ""}
        kinds = [kind.name for kind in self._preset.kinds if kind.name not in documents]
        wanted = MemoryFilter(unused_since=now - self._preset.unused_after, kinds=kinds)
        if not self._store.memories(replace(wanted, limit=1)):
            return 0
        days = self._preset.unused_after.days
        with self._store.write() as tx:
            unused = tx.memories(wanted)
            retired = [Retire(id=memory.id, status="expired", reason=f"not used for {days} days") for memory in unused]
            Writer(tx=tx, preset=self._preset, author=Author(actor="clean-up"), now=now).apply(retired)
        return len(unused)

    def _expire_stored_responses(self, now: datetime) -> None:
        """Let go of answers that nobody will ask for again."""
        if self._store.has_stored_responses(before=now - RETENTION):
            with self._store.write() as tx:
                tx.remove_stored_responses(before=now - RETENTION)

    def _gone(self, reads: Reads, now: datetime) -> list[Memory]:
        """Return what has expired, or was forgotten too long ago to be brought back."""
        limit = now - self._preset.undo_window
        return [
            *reads.memories(MemoryFilter(expired_by=now, statuses=None)),
            *reads.memories(MemoryFilter(statuses=["forgotten", "expired"], retired_before=limit)),
        ]

    def _finish_scrubbing(self) -> int:
        """Overwrite what an erasure had to leave because a reader still needed the log."""
        now = self._clock.now()
        if now < self._next_scrub or self._store.setting(SCRUB) != "pending":
            return 0
        self._next_scrub = now + _SCRUB_RETRY
        complete, _ = self._store.scrub([])
        if complete:
            with self._store.write() as tx:
                tx.set_setting(SCRUB, "done")
        return int(complete)

    def _outlived(self, now: datetime) -> list[str]:
        """Return the raw messages past their retention, of sessions that have been digested."""
        if self._preset.message_retention is None:
            return []
        digested: dict[str, int] = {}
        old = self._store.messages(MessageFilter(before=now - self._preset.message_retention))
        for id in {message.session for message in old}:
            session = self._store.session(id)
            digested[id] = session.digested_to if session else 0
        return [message.id for message in old if message.seq <= digested[message.session]]

    def renew(self, tx: Transaction, ids: Collection[str], now: datetime) -> None:
        """Give used memories of kinds that are renewed by use their whole lifetime again."""
        kinds = {kind.name: kind for kind in self._preset.kinds if kind.renewed_by_use and kind.lifetime}
        if not kinds:
            return
        for memory in tx.memories(MemoryFilter(ids=ids, kinds=list(kinds))):
            lifetime = kinds[memory.kind].lifetime
            tx.set_expiry([memory.id], now + lifetime if isinstance(lifetime, timedelta) else self._day_end(tx, memory, now))

    def _day_end(self, tx: Transaction, memory: Memory, now: datetime) -> datetime:
        user = memory.scope.user
        return end_of_day(now, tx.user(user).timezone if user else "UTC")

    def check(self, embedding: Embedding) -> list[Finding]:
        """Look at the embedder and the queue."""
        dead = self._store.jobs(states=["dead"])
        waiting = self._store.jobs(states=["queued", "running"])
        findings = [
            Finding(
                check="jobs",
                ok=not dead,
                detail=f"{len(waiting)} waiting, {len(dead)} dead",
                remedy="See `holdfast jobs --state dead`, then `holdfast jobs rerun ID`" if dead else None,
            )
        ]
        if embedding.name is None:
            return [*findings, Finding(check="embedder", ok=True, detail="none configured; searching by text")]
        loaded = embedding.embedder() is not None
        detail = f"{embedding.name} ready" if loaded else f"{embedding.name} not available: {embedding.problem}"
        if embedding.second is not None and loaded:
            detail = f"{detail}, {embedding.second.name} for what is not in English"
        served = ":" in embedding.name  # what a served model lacks stands in the detail
        remedy = None if loaded or served else f"holdfast models pull {embedding.name}"
        return [*findings, Finding(check="embedder", ok=loaded, detail=detail, remedy=remedy)]
