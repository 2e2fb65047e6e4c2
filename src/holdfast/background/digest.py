"""Digesting: extract memories from the messages of a session and store them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.background.changes.possible_changes import PossibleChange, link
from holdfast.background.condense import Condenser
from holdfast.background.extract_span import Extracted, Span, SpanExtractor
from holdfast.background.find_topic import TopicFinder
from holdfast.background.jobs import (
    REDO_PRIORITY,
    SUSPECT_DEATHS,
    Deferred,
    Work,
    deaths,
    new_job,
    session_of,
    session_payload,
)
from holdfast.consent.off_record import OFF_RECORD_UNTIL, erase_withheld
from holdfast.errors import Conflict
from holdfast.learning.ask_model import Outcome
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SentenceReader, SessionFilter, Store, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.types import OFF_RECORD, REDO, Author, Job, Memory, Message, SessionRecord, SessionStatus, is_forgotten
from holdfast.write import Writer


class Digester:
    """Closes sessions and extracts memories from their messages."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        *,
        extractor: SpanExtractor,
        chat: BudgetedChat,
        condenser: Condenser,
        topics: TopicFinder,
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._extractor = extractor
        self._chat = chat
        self._condenser = condenser
        self._topics = topics

    @property
    def sentence_reader(self) -> SentenceReader | None:
        """The model that reads the user's sentences. None if only rules read them."""
        return self._extractor.reader

    def close_session(
        self, tx: Transaction, session: SessionRecord, status: SessionStatus, *, at: datetime | None = None
    ) -> None:
        """Close a session, clear its list of recalled memories, and queue its digest, all in one transaction.

        ``status`` is the status of the closed session. Messages off the record are erased, unless the preset keeps them. No
        digest is queued if all remaining messages were digested before, or if the preset never extracts memories.

        ``at`` is the time at which the session ended, for an imported session. Without ``at``, the session ends now.
        """
        last = tx.messages(MessageFilter(session=session.id, exactly=session.scope, newest=1))
        closed = with_state(session, closed_to=last[0].seq if last else None, recalled=None, **{OFF_RECORD_UNTIL: None})
        if not self._preset.keep_off_record:
            erase_withheld(tx, self._preset, session, self._clock.now())
        tx.set_session(replace(closed, status=status, ended_at=at or self._clock.now()))
        self._queue(tx, closed)

    def after_message(self, tx: Transaction, session: SessionRecord, message: Message) -> None:
        """Queue the jobs for a new message: topic detection, and a digest if the preset extracts after each turn."""
        self._topics.queue(tx, session, message)
        if self._preset.extract_at == "turn" and (message.role == "assistant" or self._is_unanswered(tx, session)):
            self._queue(tx, session)

    def _is_unanswered(self, tx: Transaction, session: SessionRecord) -> bool:
        """Return True if the last two messages are both from the user and are not digested yet.

        Normally, a digest is queued after the assistant's reply. Two user messages in a row mean that no reply comes,
        for example because there is no chat model.
        """
        waiting = MessageFilter(session=session.id, exactly=session.scope, after_seq=session.digested_to, newest=2)
        return len([message for message in tx.messages(waiting) if message.role == "user"]) > 1

    def digest_so_far(self, tx: Transaction, session: SessionRecord) -> None:
        """Queue a digest of the messages so far. The session stays open."""
        self._queue(tx, session)

    def _queue(self, tx: Transaction, session: SessionRecord) -> None:
        last = tx.messages(MessageFilter(session=session.id, exactly=session.scope, newest=1))
        if self._preset.extract_at != "never" and last and last[0].seq > session.digested_to:
            payload = {**session_payload(session), "from": session.digested_to, "to": last[0].seq}
            tx.add_job(new_job("digest", payload, effect=f"digest:{session.id}:{last[0].seq}", now=self._clock.now()))

    def close_idle_sessions(self) -> int:
        """Close sessions without recent messages, including sessions that a killed process left open. Return their number."""
        if self._preset.idle_after is None:
            return 0
        idle = SessionFilter(statuses=["open"], idle_since=self._clock.now() - self._preset.idle_after)
        if not self._store.sessions(replace(idle, limit=1)):
            return 0
        with self._store.write() as tx:
            sessions = tx.sessions(idle)
            for session in sessions:
                self.close_session(tx, session, "idle")
        return len(sessions)

    def digest(self, job: Job) -> Work:
        """Extract memories from the messages that a job names. Return a ``Work``, whose ``effect`` writes the memories."""
        span = self._span(job)
        if span is None or self._was_redone(job):
            return Work()
        extracted = self._extractor.extract(span, by_rules=deaths(job) >= SUSPECT_DEATHS)
        outcome = extracted.outcome
        if job.kind == REDO and outcome.away:
            raise Deferred("; ".join(outcome.flaws), usage=outcome.usage, model=self._chat.name)
        author = Author(actor="digest", model=outcome.model, prompt=outcome.prompt, job=job.id)

        def effect(tx: Transaction) -> None:
            self._write(tx, span, extracted, author)
            self._mark(tx, job, span, outcome)

        return Work(
            effect=effect,
            flaws=() if job.kind == REDO else outcome.flaws,  # the first job has recorded it
            model=self._chat.name if outcome.usage.calls else None,
            usage=outcome.usage,
        )

    def _was_redone(self, job: Job) -> bool:
        """Return True if the model has already digested the messages of a redo job again."""
        earlier = self._store.jobs(ids=(str(job.payload.get("of")),)) if job.kind == REDO else []
        return bool(earlier) and earlier[0].error is None

    def _mark(self, tx: Transaction, job: Job, span: Span, outcome: Outcome) -> None:
        """Record whether the messages of a finished job must be digested again.

        If the job is a digest in which rules replaced a failed model, queue a redo job. If the job is itself a redo,
        update the error of the original digest job: clear it, or replace it with the problems of the redo.
        """
        if job.kind == REDO:
            for earlier in tx.jobs(ids=(str(job.payload.get("of")),)):
                tx.set_job(replace(earlier, error="; ".join(outcome.flaws)[:500] or None))
        elif outcome.failed and not span.rerun:
            payload = {**session_payload(span.session), "from": span.after, "to": span.to, "again": True, "of": job.id}
            effect = f"{REDO}:{span.session.id}:{span.to}"
            tx.add_job(new_job(REDO, payload, effect=effect, now=self._clock.now(), priority=REDO_PRIORITY))

    def _span(self, job: Job) -> Span | None:
        """Return the messages to digest, or None if the session was removed or is already digested."""
        session, to = session_of(self._store, job), int(job.payload["to"])
        if session is None:
            return None
        rerun = bool(job.payload.get("again"))
        after = int(job.payload.get("from", 0)) if rerun else session.digested_to
        messages = [
            m
            for m in self._store.messages(MessageFilter(session=session.id, exactly=session.scope, after_seq=after))
            if m.seq <= to
        ]
        span = Span(session=session, after=after, to=to, messages=messages, rerun=rerun)
        return span if span.is_due(session) else None

    def _write(self, tx: Transaction, span: Span, extracted: Extracted, author: Author) -> None:
        """Write the extracted memories, unless their messages have been digested or erased in the meantime."""
        session = tx.session(span.session.id, span.session.scope)
        if session is None or not span.is_due(session):
            return
        if span.overlaps(session):
            raise Conflict("another worker has digested a part of this session in the meantime")
        if extracted.outcome.model and _any_erased(tx, extracted.shown):
            raise Conflict("a memory that the model was shown has been erased in the meantime")
        erased = _erased_messages(tx, span.messages)
        writer = Writer(tx=tx, preset=self._preset, author=author, now=self._clock.now())
        made: list[Memory] = []
        for put in extracted.puts:
            if erased.isdisjoint(put.sources):
                stored = writer.apply([put], shown=extracted.shown)  # one batch each, so that each can be undone alone
                made += stored
                ended = [replace(claim, replaces=(stored[0].id,)) for new, claim in extracted.ended if new is put and stored]
                writer.apply(ended, shown=[memory.id for memory in stored])
        _link_possible_changes(writer, [change for change in extracted.possible if change.message not in erased])
        self._topics.renew_notes(writer, session.scope, {id for put in extracted.puts for id in put.replaces})
        if extracted.recent is not None and not erased:
            self._topics.note(writer, extracted.recent, made)
        tx.set_session(replace(session, digested_to=max(span.to, session.digested_to)))
        for scope in {session.scope, *(memory.scope for memory in made)}:
            self._condenser.follow_up(tx, scope)


def _link_possible_changes(writer: Writer, changes: Sequence[PossibleChange]) -> None:
    """Record possible changes in those memories that are still live."""
    for memory in writer.tx.memories(MemoryFilter(ids={change.memory for change in changes})) if changes else ():
        own = [change for change in changes if change.memory == memory.id]
        writer.apply([link(memory, own)], shown=(memory.id,))


def _erased_messages(tx: Transaction, messages: Sequence[Message]) -> set[str]:
    """Return the ids of the messages that were erased, forgotten or taken off the record after they were read."""
    ids = {message.id for message in messages}
    return ids - {message.id for message in tx.messages(MessageFilter(ids=list(ids))) if _is_usable(message)}


def _is_usable(message: Message) -> bool:
    """Return True if memories may be extracted from a message: the message was not forgotten and is not off the record."""
    return not is_forgotten(message.action) and message.action != OFF_RECORD


def _any_erased(tx: Transaction, shown: Collection[str]) -> bool:
    """Return True if a memory was erased after the model was shown it. The model's output may then repeat erased content.

    ``shown`` contains the ids of the memories that the model was shown.
    """
    return len(tx.memories(MemoryFilter(ids=list(shown), statuses=None))) < len(set(shown)) if shown else False
