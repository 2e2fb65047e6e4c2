"""From the end of a conversation to memories."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from holdfast.background.condense import Condenser
from holdfast.background.find_topic import TopicFinder
from holdfast.background.jobs import Work, new_job
from holdfast.background.neighbors import find_known, find_neighbors
from holdfast.chat import ChatModel
from holdfast.errors import Conflict
from holdfast.learning.ask_model import Outcome
from holdfast.learning.capture import ExtractionInput, extract, is_same_statement, newest_that_fit
from holdfast.learning.changes.reconcile import Neighbor, calibration_for, reconcile
from holdfast.learning.input_filter import extractable
from holdfast.learning.related_conversations import with_neighbors
from holdfast.learning.summaries.extractive import RULE_VERSION as REPORT_RULES
from holdfast.learning.summaries.importance import importance_of, tags_of
from holdfast.learning.summaries.summaries import Summary, paragraph, paragraph_with
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.base import Paragraph, Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SessionFilter, Store, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.recall.embedding import Embedding
from holdfast.types import Author, Job, Memory, Message, Put, SessionRecord, SessionStatus
from holdfast.write import Writer

_MAX_SHOWN_MEMORIES = 24
"""Memories a model is shown beside a conversation."""
_MAX_CONVERSATION_CHARACTERS = 24_000
"""Characters of a conversation that one paragraph is made of."""
_MAX_QUERY_MESSAGES = 12
"""Messages whose neighbours are looked up for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Extracted:
    """What one stretch of a session leaves: memories to write, and which existing ones they may touch."""

    puts: Sequence[Put]
    shown: Collection[str]
    outcome: Outcome
    recent: Put | None = None
    """A note of which topic it was about."""


class Digester:
    """Closes sessions and digests what was said in them."""

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
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._embedding = embedding
        self._chat = chat
        self._condenser = condenser
        self._topics = topics

    def close_session(self, tx: Transaction, session: SessionRecord, status: SessionStatus) -> None:
        """Close a session and queue its digestion in the same transaction; what it had in mind ends here."""
        last = tx.messages(MessageFilter(session=session.id, newest=1))
        closed = with_state(session, closed_to=last[0].seq if last else None, recalled=None)
        tx.set_session(replace(closed, status=status, ended_at=self._clock.now()))
        self._queue(tx, closed)

    def after_message(self, tx: Transaction, session: SessionRecord, message: Message) -> None:
        """Queue what a message causes: the search for the topic, and where the preset learns from each exchange, that."""
        self._topics.queue(tx, session, message)
        if self._preset.extract_at == "turn" and message.role == "assistant":
            self._queue(tx, session)

    def digest_so_far(self, tx: Transaction, session: SessionRecord) -> None:
        """Queue the digestion of what was said so far; the session stays as it is."""
        self._queue(tx, session)

    def _queue(self, tx: Transaction, session: SessionRecord) -> None:
        last = tx.messages(MessageFilter(session=session.id, newest=1))
        if self._preset.extract_at != "never" and last and last[0].seq > session.digested_to:
            payload = {"session": session.id, "from": session.digested_to, "to": last[0].seq}
            tx.add_job(new_job("digest", payload, effect=f"digest:{session.id}:{last[0].seq}", now=self._clock.now()))

    def close_idle_sessions(self) -> int:
        """Close the sessions nobody has spoken in for a while, also those a killed process left open."""
        if self._preset.idle_after is None:
            return 0
        silent = self._clock.now() - self._preset.idle_after
        wanted = SessionFilter(statuses=["open"], idle_since=silent)
        if not self._store.sessions(replace(wanted, limit=1)):
            return 0
        with self._store.write() as tx:
            idle = tx.sessions(wanted)
            for session in idle:
                self.close_session(tx, session, "idle")
        return len(idle)

    def digest(self, job: Job) -> Work:
        """Read a session's undigested messages and return the memories they leave."""
        session_id, last = str(job.payload["session"]), int(job.payload["to"])
        again = bool(job.payload.get("again"))
        session = self._store.session(session_id)
        if session is None or (session.digested_to >= last and not again):
            return Work()
        first = int(job.payload.get("from", 0)) if again else session.digested_to
        said = [m for m in self._store.messages(MessageFilter(session=session_id, after_seq=first)) if m.seq <= last]
        extracted = self._extract_and_reconcile(extractable(said), session, after=first, again=again)
        author = Author(actor="digest", model=extracted.outcome.model, prompt=extracted.outcome.prompt, job=job.id)

        def store_memories(tx: Transaction) -> None:
            present = tx.session(session_id)
            if present is None or (present.digested_to >= last and not again):
                return
            if present.digested_to != session.digested_to and not again:
                raise Conflict("another worker has digested a part of this session meanwhile")
            if extracted.outcome.model and _erased(tx, extracted.shown):
                raise Conflict("what the model was shown has been erased meanwhile")
            read = {message.id for message in said}
            left = tx.messages(MessageFilter(ids=list(read)))
            erased = read - {message.id for message in left if message.action != "forgotten"}
            writer = Writer(tx=tx, preset=self._preset, author=author, now=self._clock.now())
            made: list[Memory] = []
            for put in extracted.puts:
                if erased.isdisjoint(put.sources):
                    made += writer.apply([put], shown=extracted.shown)  # each a batch of its own: one can be undone alone
            if extracted.recent is not None and not erased:
                self._topics.note(writer, extracted.recent, made)
            tx.set_session(replace(present, digested_to=max(last, present.digested_to)))
            self._condenser.follow_up(tx, present.scope)

        outcome = extracted.outcome
        asked = self._chat.name if outcome.usage.calls else None
        return Work(effect=store_memories, flaws=outcome.flaws, model=asked, usage=outcome.usage)

    def _extract_and_reconcile(
        self, messages: Sequence[Message], session: SessionRecord, *, after: int, again: bool
    ) -> _Extracted:
        """Learn from fenced messages, and set what is new against what is known."""
        if not messages:
            return _Extracted(puts=(), shown=(), outcome=Outcome())
        model, problem = self._chat.model()
        earlier = self._derived_from(messages) if again else []
        known = self._known(messages, without=earlier) if model is not None else []
        outcome = self._extract(messages, known, model)
        if problem is not None:
            outcome = replace(outcome, flaws=(f"{problem}; rules took over", *outcome.flaws))
        outcome, recent = self._topics.gather(outcome, messages, session, after=after, model=model)
        proposed = [change for change in outcome.changes if isinstance(change, Put)]
        made_before = {memory.id for memory in earlier}
        related = [
            [each for each in some if each.memory.id not in made_before]
            for some in find_neighbors(self._store, self._embedding, proposed, self._clock.now())
        ]
        calibration = calibration_for(self._embedding.name or "")
        proposed = [with_neighbors(put, some, calibration) for put, some in zip(proposed, related, strict=True)]
        puts = self._reconciled(proposed, related)
        if again:
            puts = _replacing_earlier(puts, earlier, by_model=outcome.model is not None)
        shown = {memory.id for memory in known} | {each.memory.id for some in related for each in some}
        shown |= {id for put in puts for id in put.replaces}
        return _Extracted(puts=puts, shown=shown, outcome=outcome, recent=None if again else recent)

    def _extract(self, messages: Sequence[Message], known: Sequence[Memory], model: ChatModel | None) -> Outcome:
        if isinstance(self._preset.extractor, Paragraph):
            return _paragraph(messages, self._preset.extractor, model)
        return extract(
            self._preset.extractor, ExtractionInput(messages=messages, known=known, language=_language(messages)), model
        )

    def _reconciled(self, proposed: Sequence[Put], related: Sequence[Sequence[Neighbor]]) -> list[Put]:
        """Set new against known, speaker by speaker: what one says of themselves tells nothing of another."""
        calibration = calibration_for(self._embedding.name or "")
        puts: list[Put] = []
        for speaker in dict.fromkeys(put.metadata.get("speaker") for put in proposed):
            theirs = [place for place, put in enumerate(proposed) if put.metadata.get("speaker") == speaker]
            known = [
                [each for each in related[place] if each.memory.metadata.get("speaker") in (None, speaker)] for place in theirs
            ]
            puts += reconcile([proposed[place] for place in theirs], known, self._preset.reconcile_rules, calibration=calibration)
        return puts

    def _known(self, messages: Sequence[Message], *, without: Sequence[Memory]) -> list[Memory]:
        """Return what a model is shown beside a conversation; not what was made of this very conversation before."""
        texts = [message.text for message in messages if message.role == "user"][-_MAX_QUERY_MESSAGES:]
        left_out = {memory.id for memory in without}
        found = find_known(
            self._store,
            self._embedding,
            messages[-1].scope,
            texts,
            now=self._clock.now(),
            limit=_MAX_SHOWN_MEMORIES + len(left_out),
        )
        return [memory for memory in found if memory.id not in left_out][:_MAX_SHOWN_MEMORIES]

    def _derived_from(self, messages: Sequence[Message]) -> list[Memory]:
        """Return what was made of these messages before by rules, and what of it has been retired since."""
        found = self._store.memories(MemoryFilter(sources=[message.id for message in messages], statuses=None))
        return [memory for memory in found if memory.origin == "auto" and self._is_untouched_rule_memory(memory)]

    def _is_untouched_rule_memory(self, memory: Memory) -> bool:
        """Tell whether a memory is as rules made it: no model thought of it, and nobody has touched it."""
        if memory.status != "live":
            return True
        changes = self._store.changes(memory=memory.id)
        return not memory.pinned and len(changes) == 1 and changes[0].author.model is None


def _erased(tx: Transaction, shown: Collection[str]) -> bool:
    """Tell whether any of these memories is no more: what was made with it in view must not keep it alive."""
    return len(tx.memories(MemoryFilter(ids=list(shown), statuses=None))) < len(set(shown)) if shown else False


def _replacing_earlier(puts: Sequence[Put], earlier: Sequence[Memory], *, by_model: bool) -> list[Put]:
    """Let what a model makes of messages again take the place of what rules made that says the same.

    What was retired since stays retired: saying it again of the same messages is no news.
    """
    kept: list[Put] = []
    taken: set[str] = set()
    for put in puts:
        alike = [memory for memory in earlier if memory.scope == put.scope and is_same_statement(memory.text, put.text)]
        if any(memory.status != "live" for memory in alike):
            continue
        same = [memory.id for memory in alike if by_model and memory.id not in taken and memory.kind == put.kind]
        taken.update(same)
        kept.append(replace(put, replaces=tuple(dict.fromkeys((*put.replaces, *same)))) if same else put)
    return kept


def _paragraph(messages: Sequence[Message], wanted: Paragraph, model: ChatModel | None) -> Outcome:
    """Make one memory of a whole conversation; of a very long one, of its end."""
    messages = newest_that_fit(messages, characters=_MAX_CONVERSATION_CHARACTERS)
    texts = [message.text for message in messages]
    made = (
        paragraph_with(model, messages, max_characters=wanted.max_characters, timeout=wanted.timeout)
        if model
        else Summary(
            text=paragraph(messages, max_characters=wanted.max_characters),
            prompt=REPORT_RULES,
            importance=importance_of(" ".join(texts)),
            tags=tags_of(texts),
        )
    )
    put = Put(
        scope=messages[-1].scope,
        kind=wanted.kind,
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
    """Return the language most of a conversation's users speak in."""
    spoken = [message.language for message in messages if message.role == "user" and message.language]
    return max(set(spoken), key=spoken.count) if spoken else None
