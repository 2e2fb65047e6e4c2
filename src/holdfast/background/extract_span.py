"""Extract memories from the messages of one digest job, and reconcile them with known memories. Nothing is written here."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.background.changes.ended_messages import ended_messages
from holdfast.background.changes.possible_changes import PossibleChange, possible_changes
from holdfast.background.changes.siblings import with_siblings
from holdfast.background.changes.told_changes import ChangeFinder
from holdfast.background.find_topic import TopicFinder
from holdfast.background.jobs import SUSPECT_DEATHS
from holdfast.background.neighbors import find_known, find_neighbors
from holdfast.background.redo import earlier_memories, replacing_earlier
from holdfast.background.session_trusts import session_trusts
from holdfast.chat import ChatModel
from holdfast.errors import ModelError
from holdfast.learning.ask_model import Outcome
from holdfast.learning.capture import ExtractionInput, extract, is_same_statement, newest_that_fit, reader_flaw
from holdfast.learning.change_reader import ChangeReader
from holdfast.learning.changes.reconcile import Neighbor, reconcile
from holdfast.learning.changes.sameness import calibration_for
from holdfast.learning.input_filter import extractable
from holdfast.learning.placement import PROJECT, placed
from holdfast.learning.provenance import lowest_trust
from holdfast.learning.related_conversations import with_neighbors
from holdfast.learning.statements.project_reader import ProjectReader
from holdfast.learning.summaries.extractive import RULE_VERSION as REPORT_RULES
from holdfast.learning.summaries.kept_sentences import without_sentences
from holdfast.learning.summaries.summaries import Summary, paragraph_by_rules, paragraph_with, rate_by_rules
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.base import Paragraph, Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SentenceReader, Store
from holdfast.recall.embedding import Embedding
from holdfast.text.clean import fold
from holdfast.types import Memory, Message, Put, SessionRecord

_MAX_SHOWN_MEMORIES = 24
"""Maximum number of known memories in the extraction prompt."""
_MAX_CONVERSATION_CHARACTERS = 24_000
"""Maximum length of a conversation that is summarized in one paragraph, in characters."""
_MAX_QUERY_MESSAGES = 12
"""Maximum number of messages that are used as queries to find known memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
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
class Extracted:
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
    """Pairs of a new memory and a claim of an earlier message that it makes outdated. The claim is stored as superseded."""
    possible: Sequence[PossibleChange] = ()
    """Known memories that sentences of the span may have made outdated."""


class SpanExtractor:
    """Extracts memories from spans of messages, with the chat model if there is one."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        *,
        embedding: Embedding,
        chat: BudgetedChat,
        topics: TopicFinder,
        reader: SentenceReader | None,
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._embedding = embedding
        self._chat = chat
        self._topics = topics
        self.reader = reader
        """The model that reads the user's sentences. None if only rules read them."""

    def extract(self, span: Span, *, by_rules: bool) -> Extracted:
        """Extract memories from a span, and reconcile them with known memories. With ``by_rules``, no model is used."""
        messages = extractable(span.messages)
        if not messages:
            return Extracted(puts=(), shown=(), outcome=Outcome())
        if not isinstance(self._preset.extractor, Paragraph):
            messages = [*self._turn_before(span), *messages]
        model, problem = self._chat.model()
        if by_rules and model is not None:
            model, problem = None, f"{SUSPECT_DEATHS} workers died during this job"
        earlier, fixed = earlier_memories(self._store, messages) if span.rerun else ([], [])
        known = self._known(messages, without=earlier) if model is not None else []
        project = span.session.metadata.get(PROJECT)
        conversation = ExtractionInput(
            messages=messages,
            known=known,
            trusts=session_trusts(self._store, span.messages),
            language=_language(messages),
            reader=self._reader_for(messages, in_project=project is not None, model=model),
        )
        outcome = self._extract(conversation, model)
        if problem is not None:
            failed = not by_rules
            outcome = replace(outcome, flaws=(f"{problem}; rules took over", *outcome.flaws), failed=failed, away=failed)
        outcome, recent = self._topics.gather(outcome, messages, span.session, after=span.after, model=model)
        proposed = self._not_explicit([change for change in outcome.changes if isinstance(change, Put)], messages)
        proposed = placed(proposed, project=project, reader=self.reader)
        related = self._neighbors(proposed, without=earlier)
        calibration = calibration_for(self._embedding.name or "")
        proposed = [with_neighbors(put, neighbors, calibration) for put, neighbors in zip(proposed, related, strict=True)]
        reconciled, flaws = self._reconciled(proposed, related, {message.id: message.text for message in messages})
        outcome = replace(outcome, flaws=tuple(dict.fromkeys((*outcome.flaws, *flaws))))
        puts = replacing_earlier(reconciled, earlier, fixed, by_model=outcome.model is not None)
        shown = {memory.id for memory in known} | {neighbor.memory.id for neighbors in related for neighbor in neighbors}
        ended = self._ended_messages(puts, messages) if model is None else []
        puts, ended = self._with_siblings(puts, ended, messages) if model is None else (puts, ended)
        shown |= {id for put in puts for id in put.replaces}
        possible = self._possible_changes(messages) if model is None else []
        note = None if span.rerun else recent
        return Extracted(puts=puts, shown=shown, outcome=outcome, recent=note, ended=ended, possible=possible)

    def _reader_for(self, messages: Sequence[Message], *, in_project: bool, model: ChatModel | None) -> SentenceReader | None:
        """Return the sentence reader for a conversation, or None if there is no sentence reader.

        With ``in_project``, the conversation is about a project, and the returned reader also keeps facts about the
        project. Without a chat model (``model``), the returned reader also rates a sentence as worth keeping if the
        sentence makes a known memory outdated.
        """
        if self.reader is None:
            return None
        reader = ProjectReader(self.reader) if in_project else self.reader
        if model is not None:
            return reader
        finder = ChangeFinder(
            {message.id: message.text for message in messages},
            store=self._store,
            embedding=self._embedding,
            reader=reader,
            now=self._clock.now(),
            kinds=self._learned_kinds(),
            in_messages=self._preset.shows_messages,
        )
        return ChangeReader(reader, finder)

    def _ended_messages(self, puts: Sequence[Put], messages: Sequence[Message]) -> list[tuple[Put, Put]]:
        """Find claims in earlier messages that the new memories ``puts`` make outdated. See :func:`ended_messages`.

        Return an empty list if the preset never shows messages in context blocks, or if there is no sentence reader.
        """
        if self.reader is None or not self._preset.shows_messages:
            return []
        said = {message.id: message.text for message in messages}
        try:
            return ended_messages(puts, said, store=self._store, embedding=self._embedding, reader=self.reader)
        except ModelError:  # the flaw is noted already
            return []

    def _with_siblings(
        self, puts: list[Put], ended: list[tuple[Put, Put]], messages: Sequence[Message]
    ) -> tuple[list[Put], list[tuple[Put, Put]]]:
        """Return ``puts`` and ``ended``, changed so that they also retire the siblings of outdated claims.

        Siblings are other memories from the same message that state the claim, too. See :func:`with_siblings`. Without a sentence
        reader, nothing is changed.
        """
        if self.reader is None or not self._preset.reconcile_rules.supersede:
            return puts, ended
        said = {message.id: message.text for message in messages}
        try:
            return with_siblings(puts, ended, said, store=self._store, reader=self.reader)
        except ModelError:  # the flaw is noted already
            return puts, ended

    def _possible_changes(self, messages: Sequence[Message]) -> list[PossibleChange]:
        """Find known memories that the user's sentences may have made outdated. Without a sentence reader, find nothing."""
        if self.reader is None or not self._preset.reconcile_rules.supersede:
            return []
        try:
            return possible_changes(
                messages,
                store=self._store,
                embedding=self._embedding,
                reader=self.reader,
                now=self._clock.now(),
                kinds=self._learned_kinds(),
            )
        except ModelError:  # the flaw is noted already
            return []

    def _turn_before(self, span: Span) -> list[Message]:
        """Return the assistant's message directly before a span, as a list of one, or an empty list.

        The first message of the span may answer it.
        """
        wanted = MessageFilter(session=span.session.id, exactly=span.session.scope, up_to_seq=span.after, newest=1)
        before = extractable(self._store.messages(wanted)) if span.after else []
        return [message for message in before if message.role == "assistant"]

    def _not_explicit(self, puts: Sequence[Put], messages: Sequence[Message]) -> list[Put]:
        """Return the proposed memories, without those that were already stored because the user asked to remember them.

        A proposed memory that summarizes the conversation is kept. Only its sentences that were already stored are
        removed. It is dropped if no sentence is left.
        """
        asked = self._store.memories(MemoryFilter(sources=[message.id for message in messages], statuses=None))
        explicit = [memory.text for memory in asked if memory.origin == "explicit"]
        kept = []
        for put in puts:
            if "conversation" in put.metadata:
                text = without_sentences(put.text, lambda sentence: any(is_same_statement(sentence, each) for each in explicit))
                kept += [replace(put, text=text)] if text else []
            elif not any(is_same_statement(each, put.text) or fold(put.text).rstrip(".") in fold(each) for each in explicit):
                kept.append(put)
        return kept

    def _neighbors(self, puts: Sequence[Put], *, without: Sequence[Memory]) -> list[list[Neighbor]]:
        """For each proposed memory, return the known memories that are similar to it, except those in ``without``."""
        left_out = {memory.id for memory in without}
        found = find_neighbors(self._store, self._embedding, puts, self._clock.now(), kinds=self._learned_kinds())
        return [[neighbor for neighbor in neighbors if neighbor.memory.id not in left_out] for neighbors in found]

    def _extract(self, conversation: ExtractionInput, model: ChatModel | None) -> Outcome:
        if not isinstance(self._preset.extractor, Paragraph):
            return extract(self._preset.extractor, conversation, model)
        messages, trusts = conversation.messages, conversation.trusts
        own = [message for message in messages if trusts.get(message.id, 1.0) >= self._preset.min_trust]
        return _paragraph(own, self._preset.extractor, model, trusts, conversation.reader) if own else Outcome()

    def _reconciled(
        self, proposed: Sequence[Put], related: Sequence[Sequence[Neighbor]], said: Mapping[str, str]
    ) -> tuple[list[Put], tuple[str, ...]]:
        """Reconcile new memories with known memories. Return the memories to store, and a list of problems.

        ``proposed`` are the new memories. ``related`` contains, for each of them, the known memories that are similar
        to it. ``said`` maps ids of messages to their texts. If the sentence reader cannot be used, rules compare the
        memories, and the list of problems says so.
        """
        try:
            return self._reconciled_with(self.reader, proposed, related, said), ()
        except ModelError as error:
            return self._reconciled_with(None, proposed, related, said), (reader_flaw(error),)

    def _reconciled_with(
        self,
        reader: SentenceReader | None,
        proposed: Sequence[Put],
        related: Sequence[Sequence[Neighbor]],
        said: Mapping[str, str],
    ) -> list[Put]:
        """Reconcile new memories with known memories, separately for each speaker.

        ``related`` contains, for each new memory, the known memories that are similar to it. ``said`` maps ids of
        messages to their texts.
        """
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


def _paragraph(
    messages: Sequence[Message],
    rules: Paragraph,
    model: ChatModel | None,
    trusts: Mapping[str, float],
    reader: SentenceReader | None,
) -> Outcome:
    """Return an outcome with one memory, which summarizes a whole conversation.

    The chat model writes the summary. Without a model, or if the model fails, rules write it. If the summary is empty, the
    outcome has no memory. Only the end of a very long conversation is used. ``rules`` has the preset's settings for the
    summary, such as its maximum length. ``trusts`` maps message ids to the trust of the messages.
    """
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
