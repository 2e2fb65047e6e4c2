"""Housekeeping: closing idle sessions, and purging expired and forgotten data."""

import logging
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.access.idempotency import RETENTION
from holdfast.background.clock_guard import ClockGuard
from holdfast.background.condense import Condenser
from holdfast.background.digest import Digester
from holdfast.background.embedder_check import check_embedder, check_vectors
from holdfast.consent.off_record import PAUSE, erase_older
from holdfast.errors import StoreClosed, StoreError
from holdfast.forgetting import records
from holdfast.forgetting.needles import PendingScan
from holdfast.forgetting.scrub import complete_receipts, found_in_files, mark_erased, note_scrubbed
from holdfast.forgetting.targets import own_sources
from holdfast.learning.summaries.lasting import is_lasting
from holdfast.presets.base import Preset
from holdfast.protocols import SCRUB, Clock, MemoryFilter, MessageFilter, Reads, ScrubTime, SentenceReader, Store, Transaction
from holdfast.recall.caches import erasures
from holdfast.recall.embedding import Embedding
from holdfast.recall.traces.keeper import Traces
from holdfast.runtime.clock import end_of_day
from holdfast.runtime.ids import time_of
from holdfast.types import OFF_RECORD, REDO, Author, Finding, Job, Memory, Retire, Scope
from holdfast.types.translatable import translatable
from holdfast.write import Writer

log = logging.getLogger("holdfast")
_REDO_PERIOD = timedelta(days=30)
"""Time after which a redo job is given up, because no model answered. The memories that rules extracted stay."""
_DONE_JOB_RETENTION = timedelta(days=7)
"""Time after which a finished job is removed from the list of jobs."""
_SCRUB_RETRY = timedelta(seconds=30)


class Housekeeping:
    """Regular clean-up of a store: closes idle sessions and purges old data."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        digester: Digester,
        *,
        condenser: Condenser,
        sentence_reader: SentenceReader | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._digester = digester
        self._condenser = condenser
        self.clock_guard = ClockGuard(store, clock)
        """Provides the trusted time, according to which data is purged."""
        self._sentence_reader = sentence_reader
        self._traces = traces or Traces(store)
        self._lasting_items: set[int] = set()
        """Item numbers of unused memories that never expire. The sentence reader reads each of these memories only once."""
        self._next_clean_up = clock.now()
        self._next_scrub = clock.now()
        self._waiting: dict[str, PendingScan] = {}

    def tick(self) -> int:
        """Run the clean-up tasks that are due. Return the number of changes, such as closed sessions and removed memories."""
        self._condenser.enforce_caps()
        done = self._digester.close_idle_sessions() + self._finish_scrubbing()
        if _is_due(self._next_clean_up, self._clock.now(), self._preset.clean_every):
            done += self.clean_up()
        return done

    def clean_up(self) -> int:
        """Purge old data. Return the number of memories and messages that were expired or removed.

        Memories are expired or removed if their lifetime is over, if they were not used for long, or if they were forgotten or
        expired and their undo window has passed. Messages are removed if they are past their retention, or if they were hidden at
        the user's request and their undo window has passed. So are messages off the record in sessions that never end.

        Old traces, stored responses and finished jobs are removed, too, but not counted. If the clock jumps, purging is paused
        (see ``clock_guard``).
        """
        self._next_clean_up = self._clock.now() + self._preset.clean_every
        now = self.clock_guard.trusted_now()
        unused = self._expire_unused(now) + self._erase_withheld(now)
        self._expire_stored_responses(now)
        self._traces.expire(now)
        self._give_up_redos(now)
        old_messages = list(dict.fromkeys((*self._outlived(now), *self._past_undo(now))))
        done = self._store.jobs(states=["done"], limit=1)
        has_old_jobs = bool(done and done[0].finished_at and done[0].finished_at < now - _DONE_JOB_RETENTION)
        if not old_messages and not has_old_jobs and not self._purgeable(self._store, now):
            return unused
        with self._store.write() as tx:
            purged = self._purgeable(tx, now)  # read again, because one may have been restored or renewed
            # Mark the messages of forgotten memories, so that they are not extracted from them again.
            tx.set_action(own_sources(tx, [memory for memory in purged if memory.status == "forgotten"]), "forgotten")
            tx.remove_memories({memory.id for memory in purged})
            tx.remove_messages(old_messages)
            tx.remove_done_jobs(before=now - _DONE_JOB_RETENTION)
            if purged or old_messages:
                mark_erased(tx, rewrite=bool(old_messages) or not all(self._preset.is_plain(memory.kind) for memory in purged))
        self._next_scrub = self._clock.now()
        self._finish_scrubbing()
        return unused + len(purged) + len(old_messages)

    def _expire_unused(self, now: datetime) -> int:
        """Expire automatic memories that were neither used nor restated for the preset's ``unused_after``. Return their number.

        Being part of a context block counts as use. Memories about identity, health and family, and standing
        instructions, do not expire. Expiry can be undone.
        """
        if self._preset.unused_after is None:
            return 0
        documents = {"summary", self._preset.base.kind if self._preset.base else ""}
        kinds = [kind.name for kind in self._preset.kinds if kind.name not in documents and not kind.plain]
        unused_filter = MemoryFilter(unused_since=now - self._preset.unused_after, kinds=kinds)
        ids = [memory.id for memory in self._store.memories(unused_filter) if not self._lasts(memory)]
        if not ids:
            return 0
        days = self._preset.unused_after.days
        with self._store.write() as tx:
            unused = tx.memories(replace(unused_filter, ids=ids))
            retired = [Retire(id=memory.id, status="expired", reason=f"not used for {days} days") for memory in unused]
            Writer(tx=tx, preset=self._preset, author=Author(actor="clean-up"), now=now).apply(retired)
        return len(unused)

    def _give_up_redos(self, now: datetime) -> None:
        """Mark redo jobs as done if they have waited for a model for 30 days. The memories extracted by rules stay."""

        def old(reads: Reads, limit: int | None = None) -> list[Job]:
            waiting = reads.jobs(states=["queued"], kinds=[REDO], limit=limit)
            return [job for job in waiting if job.created_at < now - _REDO_PERIOD]

        if not old(self._store, limit=1):
            return
        with self._store.write() as tx:
            for job in old(tx):
                note = f"no model answered for {_REDO_PERIOD.days} days; what rules extracted stays"
                tx.set_job(replace(job, state="done", finished_at=now, error=note))

    def _erase_withheld(self, now: datetime) -> int:
        """Erase messages that are off the record and older than seven minutes. Return their number.

        This applies only to presets whose sessions never end. In other presets, the end of the session erases these
        messages.
        """
        before = now - PAUSE
        if self._preset.idle_after is not None or self._preset.keep_off_record:
            return 0
        if not self._store.messages(MessageFilter(actions=[OFF_RECORD], before=before, newest=1)):
            return 0
        with self._store.write() as tx:
            count = erase_older(tx, self._preset, before, now)
        self._next_scrub = self._clock.now()
        self._finish_scrubbing()
        return count

    def _lasts(self, memory: Memory) -> bool:
        if memory.item in self._lasting_items:
            return True
        lasts = is_lasting(memory, self._sentence_reader)
        if lasts:
            self._lasting_items.add(memory.item)
        return lasts

    def _expire_stored_responses(self, now: datetime) -> None:
        """Remove the stored responses that are past their retention.

        A response is stored if the request has an idempotency key. A repeated request then gets the same response.
        """
        if self._store.has_stored_responses(before=now - RETENTION):
            with self._store.write() as tx:
                tx.remove_stored_responses(before=now - RETENTION)

    def _purgeable(self, reads: Reads, now: datetime) -> list[Memory]:
        """Return the memories whose lifetime is over, and the forgotten and expired memories whose undo window has passed."""
        limit = now - self._preset.undo_window
        return [
            *reads.memories(MemoryFilter(expired_by=now, statuses=None)),
            *reads.memories(MemoryFilter(statuses=["forgotten", "expired"], retired_before=limit)),
        ]

    def _finish_scrubbing(self) -> int:
        """Overwrite erased data that the erasure itself could not overwrite, for example because a reader was open.

        Return 1 if all of this data is now overwritten. Return 0 if some of it is left, if there was none, or if the
        next attempt is not due yet.
        """
        now = self._clock.now()
        if not _is_due(self._next_scrub, now, _SCRUB_RETRY) or (left := self._store.setting(SCRUB)) not in ("pending", "log"):
            return 0
        self._next_scrub = now + _SCRUB_RETRY
        if left == "log":
            return self._empty_log()
        return int(self.scrub("due"))

    def empty_log(self) -> int:
        """If erased bytes are left only in the store's write-ahead log, empty it now. Return 1 if that succeeded, otherwise 0."""
        return self._empty_log() if self._store.setting(SCRUB) == "log" else 0

    def scrub(self, when: ScrubTime = "now") -> bool:
        """Overwrite erased data, scan the files, and complete the pending receipts.

        With ``when="due"``, scrub only if the next scrub is due. Return False if some erased data could not be
        overwritten yet, for example because an open reader still needs it.
        """
        count = erasures(self._store)
        waiting = dict(self._waiting)
        pending = {receipt.id for receipt in records.receipts(self._store) if receipt.status == "pending"}
        outside = [clear() for scan in waiting.values() for clear in scan.outside]
        files = [file for found, _ in outside for file in found]
        needles = [needle for scan in waiting.values() for needle in scan.needles]
        complete, residue = self._store.scrub(needles, files=files, when=when)
        residue += tuple(line for _, problems in outside for line in problems)
        if complete:
            late = self._waiting.keys() - waiting.keys()  # these erasures were not scanned for
            if not late:
                note_scrubbed(self._store, complete=True, rewrite=True, count=count)
            complete_receipts(self._store, residue, pending=pending - late, scanned=waiting)
            if not found_in_files(residue):
                for id in waiting:
                    self._waiting.pop(id, None)
        return complete

    def complete_later(self, receipt: str, scan: PendingScan) -> None:
        """Keep a pending receipt until the next scrub, which runs ``scan`` and completes the receipt."""
        self._waiting[receipt] = scan
        if self._store.setting(SCRUB) != "pending":  # a scrub has ended meanwhile that did not scan for this
            with self._store.write() as tx:
                tx.set_setting(SCRUB, "pending")

    def finish(self) -> None:
        """Scrub before the store's file is closed, so that the pending receipts of this process are completed and verified.

        Only this process knows which bytes to scan for. If the scrub fails, another process overwrites the bytes later
        and completes the receipts, but cannot verify them.
        """
        if self._waiting and "://" not in self._store.location:
            try:
                self.scrub()
            except StoreClosed:
                return
            except StoreError as error:
                log.warning("Erased bytes could not be overwritten yet: %s", error)

    def _empty_log(self) -> int:
        """Empty the store's write-ahead log, without rewriting the files. Return 1 on success, otherwise 0."""
        complete, _ = self._store.scrub([], rewrite=False)
        if complete:
            note_scrubbed(self._store, complete=True, rewrite=False)
        elif not self._store.is_local:  # a database server keeps removed rows until the table is rewritten
            note_scrubbed(self._store, complete=False, rewrite=False)
        return int(complete)

    def _outlived(self, now: datetime) -> list[str]:
        """Return the ids of digested messages that are past their retention."""
        if self._preset.message_retention is None:
            return []
        digested: dict[tuple[str, Scope], int] = {}
        old = self._store.messages(MessageFilter(before=now - self._preset.message_retention))
        for id, scope in {(message.session, message.scope) for message in old}:
            session = self._store.session(id, scope)
            digested[id, scope] = session.digested_to if session else 0
        return [message.id for message in old if message.seq <= digested[message.session, message.scope]]

    def _past_undo(self, now: datetime) -> list[str]:
        """Return the ids of messages that were hidden at a user's request and whose undo window has passed."""
        hidden = self._store.messages(MessageFilter(forgotten_by_wish=True))
        limit = now - self._preset.undo_window
        return [message.id for message in hidden if message.action and time_of(message.action.partition(":")[2]) < limit]

    def renew(self, tx: Transaction, ids: Collection[str], now: datetime) -> None:
        """Restart the lifetime of used memories. This applies only to kinds that are renewed by use."""
        kinds = {kind.name: kind for kind in self._preset.kinds if kind.renewed_by_use and kind.lifetime}
        if not kinds:
            return
        for memory in tx.memories(MemoryFilter(ids=ids, kinds=list(kinds))):
            lifetime = kinds[memory.kind].lifetime
            tx.set_expiry([memory.id], now + lifetime if isinstance(lifetime, timedelta) else self._day_end(tx, memory, now))

    def _day_end(self, tx: Transaction, memory: Memory, now: datetime) -> datetime:
        user = memory.scope.user
        return end_of_day(now, tx.user(user).timezone if user else "UTC")

    def check(self, embedding: Embedding, *, chat: str | None, recall_timeout: float | None = None) -> list[Finding]:
        """Check the job queue, the clock, the embedder and the stored vectors. Return the findings.

        ``chat`` is the name of the chat model. With ``recall_timeout``, an embedder outside this process is called, to
        check that it answers within that time.
        """
        dead = self._store.jobs(states=["dead"])
        waiting = self._store.jobs(states=["queued", "running"])
        redos = [job for job in waiting if job.kind == REDO]
        jobs = Finding(
            check="jobs",
            ok=not dead,
            detail=_queue(waiting=len(waiting) - len(redos), dead=len(dead), redos=len(redos), chat=chat),
            remedy=translatable("jobs.rerun", "See `holdfast jobs --state dead`, then `holdfast jobs rerun ID`")
            if dead
            else None,
        )
        vectors = check_vectors(embedding, deep=recall_timeout is not None)
        return [jobs, self.clock_guard.check(), check_embedder(embedding, recall_timeout), *vectors]


def _queue(*, waiting: int, dead: int, redos: int, chat: str | None) -> str:
    """Return a description of the job queue: the number of waiting and dead jobs, and of conversations to digest again.

    ``redos`` is the number of conversations that wait for a chat model. ``chat`` is the name of the model, or None.
    """
    if not redos:
        return translatable("jobs.queue", "{waiting} waiting, {dead} dead", waiting=waiting, dead=dead)
    if chat is None:
        return translatable(
            "jobs.redo_no_model",
            "{waiting} waiting, {dead} dead; conversations that rules digested and that wait for a chat model, but none is set: {n}",
            waiting=waiting,
            dead=dead,
            n=redos,
        )
    return translatable(
        "jobs.redo",
        "{waiting} waiting, {dead} dead; conversations that rules digested and that wait until {chat} answers again: {n}",
        waiting=waiting,
        dead=dead,
        n=redos,
        chat=chat,
    )


def _is_due(time: datetime, now: datetime, interval: timedelta) -> bool:
    """Return True if a task is due. ``time`` is the time of its next run.

    The task is also due if ``time`` is more than one interval in the future. This happens only if the clock was set
    back.
    """
    return now >= time or time - now > interval
