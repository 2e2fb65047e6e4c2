"""Digesting: extract memories from the messages of a session and store them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.background.condense import Condenser
from holdfast.background.ended_messages import ended_messages
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
from holdfast.background.neighbors import find_known, find_neighbors
from holdfast.background.told_changes import told_changes
from holdfast.chat import ChatModel
from holdfast.consent.off_record import OFF_RECORD_UNTIL, erase_withheld
from holdfast.errors import Conflict, ModelError
from holdfast.learning.ask_model import Outcome
from holdfast.learning.capture import ExtractionInput, extract, is_same_statement, newest_that_fit, reader_flaw
from holdfast.learning.change_reader import ChangeReader
from holdfast.learning.changes.reconcile import Neighbor, calibration_for, reconcile
from holdfast.learning.input_filter import extractable
from holdfast.learning.placement import PROJECT, placed
from holdfast.learning.provenance import lowest_trust, trust_of
from holdfast.learning.related_conversations import with_neighbors
from holdfast.learning.statements.project_reader import ProjectReader
from holdfast.learning.summaries.extractive import RULE_VERSION as REPORT_RULES
from holdfast.learning.summaries.kept_sentences import without_sentences
from holdfast.learning.summaries.summaries import Summary, paragraph_by_rules, paragraph_with, rate_by_rules
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.base import Paragraph, Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SentenceReader, SessionFilter, Store, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.recall.embedding import Embedding
from holdfast.types import OFF_RECORD, REDO, Author, Job, Memory, Message, Put, SessionRecord, SessionStatus, is_forgotten
from holdfast.write import Writer

_MAX_SHOWN_MEMORIES = 24
"""Maximum number of known memories in the extraction prompt."""
_MAX_CONVERSATION_CHARACTERS = 24_000
"""Maximum length of a conversation that is summarized in one paragraph, in characters."""
_MAX_EARLIER_MESSAGES = 1000
"""Maximum number of messages, counted from the last one, in which text of tools, web pages and files is looked for."""
_MAX_QUERY_MESSAGES = 12
"""Maximum number of messages that are used as queries to find known memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """The messages that one job digests: those of a session with numbers above ``after``, up to and including ``to``."""

    session: SessionRecord
    after: int
    to: int
    messages: Sequence[Message]
    rerun: bool
    """True if the messages were digested before by rules, because the model failed."""

    def is_due(self, session: SessionRecord) -> bool:
        """Return True if some messages of this span are not digested yet, or if they must be digested again (``rerun``)."""
        return self.rerun or session.digested_to < self.to

    def overlaps(self, session: SessionRecord) -> bool:
        """Return True if another worker has digested a part of this span."""
        return not self.rerun and session.digested_to != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extracted:
    """Memories extracted from a span of messages.

    ``shown`` contains ids of known memories: those that the model was shown, those similar to an extracted memory, and
    those that an extracted memory supersedes.
    """

    puts: Sequence[Put]
    shown: Collection[str]
    outcome: Outcome
    recent: Put | None = None
    """A note that records the topic of the conversation, or None."""
    ended: Sequence[tuple[Put, Put]] = ()
    """Claims of earlier messages that the memories end: the memory, and the claim to store as superseded."""


class Digester:
    """Closes sessions and extracts memories from their messages."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        *,
        embedding: Embedding,
        chat: BudgetedChat,
        condenser: Condenser,
        topics: TopicFinder,
        reader: SentenceReader | None = None,
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._embedding = embedding
        self._chat = chat
        self._condenser = condenser
        self._topics = topics
        self._reader = reader

    @property
    def sentence_reader(self) -> SentenceReader | None:
        """The model that reads the user's sentences. None if only rules read them."""
        return self._reader

    def close_session(
        self, tx: Transaction, session: SessionRecord, status: SessionStatus, *, at: datetime | None = None
    ) -> None:
        """Close a session, clear its list of recalled memories, and queue its digest, all in one transaction.

        ``at`` is the time at which an imported session ended. Other sessions end now.
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
        """Return True if the last two messages are from the user and not digested yet.

        Then nobody replies in this session, for example because there is no chat model. So the digest is queued without
        a reply.
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
        extracted = self._extract_and_reconcile(span, by_rules=deaths(job) >= SUSPECT_DEATHS)
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

    def _mark(self, tx: Transaction, job: Job, span: _Span, outcome: Outcome) -> None:
        """Queue a redo job if rules digested the messages because the model failed.

        If this job is itself a redo, update the error of the digest job that it repeats instead. The error is cleared
        unless the redo had problems, too.
        """
        if job.kind == REDO:
            for earlier in tx.jobs(ids=(str(job.payload.get("of")),)):
                tx.set_job(replace(earlier, error="; ".join(outcome.flaws)[:500] or None))
        elif outcome.failed and not span.rerun:
            payload = {**session_payload(span.session), "from": span.after, "to": span.to, "again": True, "of": job.id}
            effect = f"{REDO}:{span.session.id}:{span.to}"
            tx.add_job(new_job(REDO, payload, effect=effect, now=self._clock.now(), priority=REDO_PRIORITY))

    def _span(self, job: Job) -> _Span | None:
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
        span = _Span(session=session, after=after, to=to, messages=messages, rerun=rerun)
        return span if span.is_due(session) else None

    def _write(self, tx: Transaction, span: _Span, extracted: _Extracted, author: Author) -> None:
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
        if extracted.recent is not None and not erased:
            self._topics.note(writer, extracted.recent, made)
        tx.set_session(replace(session, digested_to=max(span.to, session.digested_to)))
        for scope in {session.scope, *(memory.scope for memory in made)}:
            self._condenser.follow_up(tx, scope)

    def _extract_and_reconcile(self, span: _Span, *, by_rules: bool) -> _Extracted:
        """Extract memories from a span, and reconcile them with known memories. With ``by_rules``, no model is used."""
        messages = extractable(span.messages)
        if not messages:
            return _Extracted(puts=(), shown=(), outcome=Outcome())
        if not isinstance(self._preset.extractor, Paragraph):
            messages = [*self._turn_before(span), *messages]
        model, problem = self._chat.model()
        if by_rules and model is not None:
            model, problem = None, f"{SUSPECT_DEATHS} workers died during this job"
        earlier, fixed = self._derived_from(messages) if span.rerun else ([], [])
        known = self._known(messages, without=earlier) if model is not None else []
        project = span.session.metadata.get(PROJECT)
        conversation = ExtractionInput(
            messages=messages,
            known=known,
            trusts=self._trusts(span),
            language=_language(messages),
            reader=ProjectReader(self._reader) if project is not None and self._reader is not None else self._reader,
        )
        outcome = self._extract(conversation, model)
        if model is None:
            outcome = self._with_told_changes(outcome, conversation)
        if problem is not None:
            failed = not by_rules
            outcome = replace(outcome, flaws=(f"{problem}; rules took over", *outcome.flaws), failed=failed, away=failed)
        outcome, recent = self._topics.gather(outcome, messages, span.session, after=span.after, model=model)
        proposed = self._not_explicit([change for change in outcome.changes if isinstance(change, Put)], messages)
        proposed = placed(proposed, project=project, reader=self._reader)
        related = self._neighbors(proposed, without=earlier)
        calibration = calibration_for(self._embedding.name or "")
        proposed = [with_neighbors(put, neighbors, calibration) for put, neighbors in zip(proposed, related, strict=True)]
        reconciled, flaws = self._reconciled(proposed, related, {message.id: message.text for message in messages})
        outcome = replace(outcome, flaws=tuple(dict.fromkeys((*outcome.flaws, *flaws))))
        puts = _replacing_earlier(reconciled, earlier, fixed, by_model=outcome.model is not None)
        shown = {memory.id for memory in known} | {neighbor.memory.id for neighbors in related for neighbor in neighbors}
        shown |= {id for put in puts for id in put.replaces}
        ended = self._ended_messages(puts, messages) if model is None else []
        return _Extracted(puts=puts, shown=shown, outcome=outcome, recent=None if span.rerun else recent, ended=ended)

    def _ended_messages(self, puts: Sequence[Put], messages: Sequence[Message]) -> list[tuple[Put, Put]]:
        """Return the claims in earlier messages that the new memories make outdated, each with the new memory.

        Return an empty list if the preset never shows messages in context blocks, or if there is no sentence reader.
        """
        if self._reader is None or not self._preset.shows_messages:
            return []
        said = {message.id: message.text for message in messages}
        try:
            return ended_messages(puts, said, store=self._store, embedding=self._embedding, reader=self._reader)
        except ModelError:  # the flaw is noted already
            return []

    def _turn_before(self, span: _Span) -> list[Message]:
        """Return the assistant's message directly before a span, as a list of one, or an empty list.

        The first message of the span may answer it.
        """
        wanted = MessageFilter(session=span.session.id, exactly=span.session.scope, up_to_seq=span.after, newest=1)
        before = extractable(self._store.messages(wanted)) if span.after else []
        return [message for message in before if message.role == "assistant"]

    def _not_explicit(self, puts: Sequence[Put], messages: Sequence[Message]) -> list[Put]:
        """Return the proposed memories, without those that were already stored because the user asked to remember them.

        From a proposed memory that summarizes the conversation, only the sentences that were already stored are
        removed.
        """
        asked = self._store.memories(MemoryFilter(sources=[message.id for message in messages], statuses=None))
        explicit = [memory.text for memory in asked if memory.origin == "explicit"]
        kept = []
        for put in puts:
            if "conversation" in put.metadata:
                text = without_sentences(put.text, lambda sentence: any(is_same_statement(sentence, each) for each in explicit))
                kept += [replace(put, text=text)] if text else []
            elif not any(is_same_statement(each, put.text) for each in explicit):
                kept.append(put)
        return kept

    def _trusts(self, span: _Span) -> dict[str, float]:
        """Return the trust of each message of a span. It depends on the earlier messages of the session."""
        wanted = MessageFilter(
            session=span.session.id, exactly=span.session.scope, up_to_seq=span.to, newest=_MAX_EARLIER_MESSAGES
        )
        return trust_of(self._store.messages(wanted))

    def _neighbors(self, puts: Sequence[Put], *, without: Sequence[Memory]) -> list[list[Neighbor]]:
        """Return the known memories that are similar to each proposed memory, except those in ``without``."""
        left_out = {memory.id for memory in without}
        found = find_neighbors(self._store, self._embedding, puts, self._clock.now(), kinds=self._learned_kinds())
        return [[neighbor for neighbor in neighbors if neighbor.memory.id not in left_out] for neighbors in found]

    def _extract(self, conversation: ExtractionInput, model: ChatModel | None) -> Outcome:
        if not isinstance(self._preset.extractor, Paragraph):
            return extract(self._preset.extractor, conversation, model)
        messages, trusts = conversation.messages, conversation.trusts
        own = [message for message in messages if trusts.get(message.id, 1.0) >= self._preset.min_trust]
        return _paragraph(own, self._preset.extractor, model, trusts, conversation.reader) if own else Outcome()

    def _with_told_changes(self, outcome: Outcome, conversation: ExtractionInput) -> Outcome:
        """Extract again if the user stated a change of a known memory, and the first extraction did not keep that sentence.

        The second extraction keeps it. If there is no such sentence, return ``outcome`` unchanged.
        """
        if conversation.reader is None:
            return outcome
        puts = [change for change in outcome.changes if isinstance(change, Put)]
        try:
            told = told_changes(
                conversation.messages,
                puts,
                store=self._store,
                embedding=self._embedding,
                reader=conversation.reader,
                now=self._clock.now(),
                kinds=self._learned_kinds(),
                in_messages=self._preset.shows_messages,
            )
        except ModelError as error:
            return replace(outcome, flaws=tuple(dict.fromkeys((*outcome.flaws, reader_flaw(error)))))
        if not told:
            return outcome
        return self._extract(replace(conversation, reader=ChangeReader(conversation.reader, told)), None)

    def _reconciled(
        self, proposed: Sequence[Put], related: Sequence[Sequence[Neighbor]], said: Mapping[str, str]
    ) -> tuple[list[Put], tuple[str, ...]]:
        """Reconcile new memories with known memories. Return the memories to store, and a list of problems.

        ``said`` maps ids of messages to their texts. If the sentence reader cannot be used, rules compare the memories,
        and the list of problems says so.
        """
        try:
            return self._reconciled_with(self._reader, proposed, related, said), ()
        except ModelError as error:
            return self._reconciled_with(None, proposed, related, said), (reader_flaw(error),)

    def _reconciled_with(
        self,
        reader: SentenceReader | None,
        proposed: Sequence[Put],
        related: Sequence[Sequence[Neighbor]],
        said: Mapping[str, str],
    ) -> list[Put]:
        """Reconcile new memories with known memories, separately for each speaker."""
        calibration = calibration_for(self._embedding.name or "")
        puts: list[Put] = []
        for speaker in dict.fromkeys(put.metadata.get("speaker") for put in proposed):
            positions = [position for position, put in enumerate(proposed) if put.metadata.get("speaker") == speaker]
            known = [
                [neighbor for neighbor in related[position] if neighbor.memory.metadata.get("speaker") in (None, speaker)]
                for position in positions
            ]
            own = [proposed[position] for position in positions]
            puts += reconcile(own, known, self._preset.reconcile_rules, calibration=calibration, reader=reader, said=said)
        return puts

    def _known(self, messages: Sequence[Message], *, without: Sequence[Memory]) -> list[Memory]:
        """Return the known memories to show in the prompt, except those in ``without``."""
        texts = [message.text for message in messages if message.role == "user"][-_MAX_QUERY_MESSAGES:]
        left_out = {memory.id for memory in without}
        found = find_known(
            self._store,
            self._embedding,
            messages[-1].scope,
            texts,
            now=self._clock.now(),
            limit=_MAX_SHOWN_MEMORIES + len(left_out),
            kinds=self._learned_kinds(),
        )
        return [memory for memory in found if memory.id not in left_out][:_MAX_SHOWN_MEMORIES]

    def _learned_kinds(self) -> list[str] | None:
        """Return the kinds that learning may read and change: all except plain kinds and the preset's internal kinds.

        Return None if the preset has neither plain nor internal kinds.
        """
        kinds = self._preset.kinds
        learned = [kind.name for kind in kinds if not kind.plain and not kind.internal]
        return learned if len(learned) < len(kinds) else None

    def _derived_from(self, messages: Sequence[Message]) -> tuple[list[Memory], list[Memory]]:
        """Return two lists of memories that were extracted from messages which are now digested again.

        The first list contains retired memories, which must not be added again, and live memories that the new digest
        may replace. Rules extracted these live memories, and nobody changed or pinned them. The second list contains
        the other live memories. They are not changed.
        """
        found = self._store.memories(MemoryFilter(sources=[message.id for message in messages], statuses=None))
        earlier = [memory for memory in found if memory.origin == "auto" and self._is_untouched_rule_memory(memory)]
        return earlier, [memory for memory in found if memory.status == "live" and memory not in earlier]

    def _is_untouched_rule_memory(self, memory: Memory) -> bool:
        """Return True if a live memory was extracted by rules and never changed or pinned. Also True for every retired memory."""
        if memory.status != "live":
            return True
        changes = self._store.changes(memory=memory.id)
        return not memory.pinned and len(changes) == 1 and changes[0].author.model is None


def _erased_messages(tx: Transaction, messages: Sequence[Message]) -> set[str]:
    """Return the ids of the messages that were erased, forgotten or taken off the record after they were read."""
    ids = {message.id for message in messages}
    return ids - {message.id for message in tx.messages(MessageFilter(ids=list(ids))) if _is_usable(message)}


def _is_usable(message: Message) -> bool:
    """Return True if memories may be extracted from a message: it was not forgotten and is not off the record."""
    return not is_forgotten(message.action) and message.action != OFF_RECORD


def _any_erased(tx: Transaction, shown: Collection[str]) -> bool:
    """Return True if a memory in ``shown`` was erased since it was read. The model's output may then repeat erased content."""
    return len(tx.memories(MemoryFilter(ids=list(shown), statuses=None))) < len(set(shown)) if shown else False


def _replacing_earlier(puts: Sequence[Put], earlier: Sequence[Memory], fixed: Sequence[Memory], *, by_model: bool) -> list[Put]:
    """When messages are digested again, let a model's memories replace the earlier rule-based memories of the same messages.

    A memory is replaced if the new memory says the same, or if both summarize the same conversation. If an equal
    earlier memory was retired, for example forgotten, the new memory is dropped: both come from the same messages, so
    the user has not restated it. The new memory is also dropped if the user edited, pinned or stored a memory that says
    the same.
    """
    kept: list[Put] = []
    taken: set[str] = set()
    for put in puts:
        same = [memory for memory in earlier if memory.scope == put.scope and _says_the_same(memory, put)]
        known = [memory for memory in fixed if memory.scope == put.scope and _says_the_same(memory, put)]
        if put.id is None and (known or any(memory.status != "live" for memory in same)):
            continue
        replaced = [memory.id for memory in same if by_model and memory.id not in taken and memory.kind == put.kind]
        taken.update(replaced)
        kept.append(replace(put, replaces=tuple(dict.fromkeys((*put.replaces, *replaced)))) if replaced else put)
    return kept


def _says_the_same(memory: Memory, put: Put) -> bool:
    """Return True if two memories of the same messages say the same: one contains most words of the other."""
    if not set(memory.sources) & set(put.sources):
        return is_same_statement(memory.text, put.text)
    is_summary = memory.kind == put.kind and "conversation" in put.metadata and "conversation" in memory.metadata
    return is_summary or is_same_statement(memory.text, put.text) or is_same_statement(put.text, memory.text)


def _paragraph(
    messages: Sequence[Message],
    rules: Paragraph,
    model: ChatModel | None,
    trusts: Mapping[str, float],
    reader: SentenceReader | None,
) -> Outcome:
    """Return one memory that summarizes a whole conversation. Only the end of a very long conversation is used."""
    messages = newest_that_fit(messages, characters=_MAX_CONVERSATION_CHARACTERS)
    if model:
        made = paragraph_with(model, messages, max_characters=rules.max_characters, timeout=rules.timeout, reader=reader)
    else:
        text, flaws = paragraph_by_rules(messages, max_characters=rules.max_characters, reader=reader)
        importance, tags = rate_by_rules(messages)
        made = Summary(text=text, prompt=REPORT_RULES, importance=importance, tags=tags, flaws=flaws)
    put = Put(
        scope=messages[-1].scope,
        kind=rules.kind,
        text=made.text,
        importance=made.importance,
        tags=made.tags,
        sources=tuple(message.id for message in messages),
        valid_from=messages[-1].at,
        reason="a conversation ended",
        trust=lowest_trust(messages, trusts),
        metadata={"conversation": messages[-1].session},
    )
    return Outcome(
        changes=(put,) if made.text.strip() else (),
        model=made.model,
        failed=model is not None and made.model is None,
        away=made.away,
        prompt=made.prompt,
        flaws=made.flaws,
        usage=made.usage,
    )


def _language(messages: Sequence[Message]) -> str | None:
    """Return the language of most of the user's messages."""
    spoken = [message.language for message in messages if message.role == "user" and message.language]
    return max(set(spoken), key=spoken.count) if spoken else None
