"""Digesting: extract memories from the messages of a session and store them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.background.condense import Condenser
from holdfast.background.find_topic import TopicFinder
from holdfast.background.jobs import Work, new_job, session_of, session_payload
from holdfast.background.neighbors import find_known, find_neighbors
from holdfast.chat import ChatModel
from holdfast.errors import Conflict, ModelError
from holdfast.learning.ask_model import Outcome
from holdfast.learning.capture import ExtractionInput, extract, is_same_statement, newest_that_fit, reader_flaw
from holdfast.learning.changes.reconcile import Neighbor, calibration_for, reconcile
from holdfast.learning.input_filter import extractable
from holdfast.learning.related_conversations import with_neighbors
from holdfast.learning.summaries.extractive import RULE_VERSION as REPORT_RULES
from holdfast.learning.summaries.importance import importance_of, tags_of
from holdfast.learning.summaries.summaries import Summary, paragraph, paragraph_with
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.base import Paragraph, Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SentenceReader, SessionFilter, Store, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.recall.embedding import Embedding
from holdfast.types import Author, Job, Memory, Message, Put, SessionRecord, SessionStatus
from holdfast.write import Writer

_MAX_SHOWN_MEMORIES = 24
"""Maximum number of known memories in the extraction prompt."""
_MAX_CONVERSATION_CHARACTERS = 24_000
"""Maximum length of a conversation that is summarized in one paragraph, in characters."""
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
        """Return True if some messages of this span are not digested yet. A rerun is always due."""
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

    def close_session(
        self, tx: Transaction, session: SessionRecord, status: SessionStatus, *, at: datetime | None = None
    ) -> None:
        """Close a session, clear its list of recalled memories, and queue its digest, all in one transaction.

        ``at`` is the time at which an imported session ended. Other sessions end now.
        """
        last = tx.messages(MessageFilter(session=session.id, exactly=session.scope, newest=1))
        closed = with_state(session, closed_to=last[0].seq if last else None, recalled=None)
        tx.set_session(replace(closed, status=status, ended_at=at or self._clock.now()))
        self._queue(tx, closed)

    def after_message(self, tx: Transaction, session: SessionRecord, message: Message) -> None:
        """Queue the jobs for a new message: topic detection, and a digest if the preset extracts after each turn."""
        self._topics.queue(tx, session, message)
        if self._preset.extract_at == "turn" and message.role == "assistant":
            self._queue(tx, session)

    def digest_so_far(self, tx: Transaction, session: SessionRecord) -> None:
        """Queue a digest of the messages so far. The session stays open."""
        self._queue(tx, session)

    def _queue(self, tx: Transaction, session: SessionRecord) -> None:
        last = tx.messages(MessageFilter(session=session.id, exactly=session.scope, newest=1))
        if self._preset.extract_at != "never" and last and last[0].seq > session.digested_to:
            payload = {**session_payload(session), "from": session.digested_to, "to": last[0].seq}
            tx.add_job(new_job("digest", payload, effect=f"digest:{session.id}:{last[0].seq}", now=self._clock.now()))

    def close_idle_sessions(self) -> int:
        """Close sessions without recent messages, including those a killed process left open; returns how many."""
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
        """Extract memories from the messages that a job names. Return a ``Work`` whose effect stores the memories."""
        span = self._span(job)
        if span is None:
            return Work()
        extracted = self._extract_and_reconcile(span)
        outcome = extracted.outcome
        author = Author(actor="digest", model=outcome.model, prompt=outcome.prompt, job=job.id)
        return Work(
            effect=lambda tx: self._write(tx, span, extracted, author),
            flaws=outcome.flaws,
            model=self._chat.name if outcome.usage.calls else None,
            usage=outcome.usage,
        )

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
                made += writer.apply([put], shown=extracted.shown)  # one batch each, so that each can be undone alone
        if extracted.recent is not None and not erased:
            self._topics.note(writer, extracted.recent, made)
        tx.set_session(replace(session, digested_to=max(span.to, session.digested_to)))
        self._condenser.follow_up(tx, session.scope)

    def _extract_and_reconcile(self, span: _Span) -> _Extracted:
        """Extract memories from a span, and reconcile them with known ones."""
        messages = extractable(span.messages)
        if not messages:
            return _Extracted(puts=(), shown=(), outcome=Outcome())
        model, problem = self._chat.model()
        earlier = self._derived_from(messages) if span.rerun else []
        known = self._known(messages, without=earlier) if model is not None else []
        outcome = self._extract(messages, known, model)
        if problem is not None:
            outcome = replace(outcome, flaws=(f"{problem}; rules took over", *outcome.flaws))
        outcome, recent = self._topics.gather(outcome, messages, span.session, after=span.after, model=model)
        proposed = [change for change in outcome.changes if isinstance(change, Put)]
        related = self._neighbors(proposed, without=earlier)
        calibration = calibration_for(self._embedding.name or "")
        proposed = [with_neighbors(put, neighbors, calibration) for put, neighbors in zip(proposed, related, strict=True)]
        reconciled, flaws = self._reconciled(proposed, related)
        outcome = replace(outcome, flaws=tuple(dict.fromkeys((*outcome.flaws, *flaws))))
        puts = _replacing_earlier(reconciled, earlier, by_model=outcome.model is not None)
        shown = {memory.id for memory in known} | {neighbor.memory.id for neighbors in related for neighbor in neighbors}
        shown |= {id for put in puts for id in put.replaces}
        return _Extracted(puts=puts, shown=shown, outcome=outcome, recent=None if span.rerun else recent)

    def _neighbors(self, puts: Sequence[Put], *, without: Sequence[Memory]) -> list[list[Neighbor]]:
        """Return the known memories that are similar to each proposed one, except those in ``without``."""
        left_out = {memory.id for memory in without}
        found = find_neighbors(self._store, self._embedding, puts, self._clock.now(), kinds=self._learned_kinds())
        return [[neighbor for neighbor in neighbors if neighbor.memory.id not in left_out] for neighbors in found]

    def _extract(self, messages: Sequence[Message], known: Sequence[Memory], model: ChatModel | None) -> Outcome:
        if isinstance(self._preset.extractor, Paragraph):
            return _paragraph(messages, self._preset.extractor, model)
        conversation = ExtractionInput(messages=messages, known=known, language=_language(messages), reader=self._reader)
        return extract(self._preset.extractor, conversation, model)

    def _reconciled(self, proposed: Sequence[Put], related: Sequence[Sequence[Neighbor]]) -> tuple[list[Put], tuple[str, ...]]:
        """Reconcile new memories with known ones. If the sentence reader cannot be used, rules compare alone, and a note says so."""
        try:
            return self._reconciled_with(self._reader, proposed, related), ()
        except ModelError as error:
            return self._reconciled_with(None, proposed, related), (reader_flaw(error),)

    def _reconciled_with(
        self, reader: SentenceReader | None, proposed: Sequence[Put], related: Sequence[Sequence[Neighbor]]
    ) -> list[Put]:
        """Reconcile new memories with known ones, separately for each speaker."""
        calibration = calibration_for(self._embedding.name or "")
        puts: list[Put] = []
        for speaker in dict.fromkeys(put.metadata.get("speaker") for put in proposed):
            positions = [position for position, put in enumerate(proposed) if put.metadata.get("speaker") == speaker]
            known = [
                [neighbor for neighbor in related[position] if neighbor.memory.metadata.get("speaker") in (None, speaker)]
                for position in positions
            ]
            own = [proposed[position] for position in positions]
            puts += reconcile(own, known, self._preset.reconcile_rules, calibration=calibration, reader=reader)
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
        """Return the kinds that learning may read and change, or None for all. Plain kinds are left alone."""
        kinds = self._preset.kinds
        return [kind.name for kind in kinds if not kind.plain] if any(kind.plain for kind in kinds) else None

    def _derived_from(self, messages: Sequence[Message]) -> list[Memory]:
        """Return the automatic memories from these messages that matter when the messages are digested again.

        These are the retired memories, which must not be added again, and the live memories that the new digest may replace. A
        live memory may be replaced if it was extracted by rules and never changed or pinned.
        """
        found = self._store.memories(MemoryFilter(sources=[message.id for message in messages], statuses=None))
        return [memory for memory in found if memory.origin == "auto" and self._is_untouched_rule_memory(memory)]

    def _is_untouched_rule_memory(self, memory: Memory) -> bool:
        """Return True if a live memory was extracted by rules and never changed or pinned. Also True for every retired memory."""
        if memory.status != "live":
            return True
        changes = self._store.changes(memory=memory.id)
        return not memory.pinned and len(changes) == 1 and changes[0].author.model is None


def _erased_messages(tx: Transaction, messages: Sequence[Message]) -> set[str]:
    """Return the ids of the messages that were erased or forgotten after they were read."""
    ids = {message.id for message in messages}
    return ids - {message.id for message in tx.messages(MessageFilter(ids=list(ids))) if message.action != "forgotten"}


def _any_erased(tx: Transaction, shown: Collection[str]) -> bool:
    """Return True if a memory in ``shown`` was erased since it was read. The model's output may then repeat erased content."""
    return len(tx.memories(MemoryFilter(ids=list(shown), statuses=None))) < len(set(shown)) if shown else False


def _replacing_earlier(puts: Sequence[Put], earlier: Sequence[Memory], *, by_model: bool) -> list[Put]:
    """When messages are digested again, let a model's memories replace the earlier rule-based memories that say the same.

    If an equal earlier memory was retired, for example forgotten, the new memory is dropped. Both come from the same messages,
    so the user has not restated it.
    """
    kept: list[Put] = []
    taken: set[str] = set()
    for put in puts:
        same = [memory for memory in earlier if memory.scope == put.scope and is_same_statement(memory.text, put.text)]
        if any(memory.status != "live" for memory in same):
            continue
        replaced = [memory.id for memory in same if by_model and memory.id not in taken and memory.kind == put.kind]
        taken.update(replaced)
        kept.append(replace(put, replaces=tuple(dict.fromkeys((*put.replaces, *replaced)))) if replaced else put)
    return kept


def _paragraph(messages: Sequence[Message], rules: Paragraph, model: ChatModel | None) -> Outcome:
    """Return one memory that summarizes a whole conversation. Only the end of a very long conversation is used."""
    messages = newest_that_fit(messages, characters=_MAX_CONVERSATION_CHARACTERS)
    texts = [message.text for message in messages]
    made = (
        paragraph_with(model, messages, max_characters=rules.max_characters, timeout=rules.timeout)
        if model
        else Summary(
            text=paragraph(messages, max_characters=rules.max_characters),
            prompt=REPORT_RULES,
            importance=importance_of(" ".join(texts)),
            tags=tags_of(texts),
        )
    )
    put = Put(
        scope=messages[-1].scope,
        kind=rules.kind,
        text=made.text,
        importance=made.importance,
        tags=made.tags,
        sources=tuple(message.id for message in messages),
        valid_from=messages[-1].at,
        reason="a conversation ended",
        trust=min(message.trust for message in messages),
        metadata={"conversation": messages[-1].session},
    )
    return Outcome(
        changes=(put,) if made.text.strip() else (), model=made.model, prompt=made.prompt, flaws=made.flaws, usage=made.usage
    )


def _language(messages: Sequence[Message]) -> str | None:
    """Return the language of most of the user's messages."""
    spoken = [message.language for message in messages if message.role == "user" and message.language]
    return max(set(spoken), key=spoken.count) if spoken else None
