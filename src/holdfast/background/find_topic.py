"""Topic detection: find the topic of a scope that a conversation is about.

Presets that detect the topic at each turn queue a job with each user message. The job runs while the assistant replies,
so that the next turn has the topic's page. For messages that no such job has read, the digest detects the topic.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from holdfast.background.jobs import Work, new_job, session_of, session_payload
from holdfast.chat import ChatModel, Usage
from holdfast.learning.ask_model import Outcome
from holdfast.learning.topics.assign import DetectedTopic, KnownTopic, assign, detect, topic_of
from holdfast.learning.topics.naming import prompt_language
from holdfast.learning.topics.recent import TopicSummary, summarize_topic, summarize_topic_with
from holdfast.learning.topics.subjects import is_device_talk, subject_texts
from holdfast.models.chat_budget import BudgetedChat
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, Store, Transaction, Vectors
from holdfast.recall.conversation_state import topic_found_since, with_state
from holdfast.recall.embedding import Embedding
from holdfast.types import Job, Memory, Message, Put, Retire, Scope, SessionRecord
from holdfast.write import Writer

_DETECT_PRIORITY = 10
"""Priority of a topic detection job. It is high, because the next turn needs the topic's page."""
_MAX_VECTORS = 4096
"""Maximum number of cached vectors of topic page lines."""
_MAX_EARLIER = 4
"""Maximum number of earlier messages that topic detection reads along with a message."""
_MAX_CONVERSATION_CHARACTERS = 2000
"""Maximum number of characters, counted from the end of a conversation, that topic detection reads."""
_CHANGED = "what the conversation said has changed"
"""Reason of a change to a note about a conversation's topic, after a memory of the conversation was superseded."""


class TopicFinder:
    """Finds the topic page that a conversation is about."""

    def __init__(self, store: Store, preset: Preset, clock: Clock, *, embedding: Embedding, chat: BudgetedChat) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._embedding = embedding
        self._chat = chat
        self._vectors: dict[int, Vectors] = {}
        self._name_vectors: dict[str, Vectors] = {}
        self._subject_vectors: dict[str, Vectors] = {}
        self.handlers: Mapping[str, Callable[[Job], Work]] = {"topic": self._detect}

    def queue(self, tx: Transaction, session: SessionRecord, message: Message) -> None:
        """Queue topic detection for a user's message, unless the session's topic is already known."""
        rules = self._preset.topics
        if rules is None or rules.detect != "turn" or message.role != "user" or message.action is not None:
            return
        if topic_found_since(session, _closed_to(session)) is not None:
            return
        payload = {**session_payload(session), "seq": message.seq}
        effect = f"topic:{session.id}:{message.seq}"
        tx.add_job(new_job("topic", payload, effect=effect, now=self._clock.now(), priority=_DETECT_PRIORITY))

    def known(self, scope: Scope) -> dict[str, list[Memory]]:
        """Return the topic pages of a scope: the memories of each topic, oldest first."""
        kind = self._preset.topics.kind if self._preset.topics else ""
        pages: dict[str, list[Memory]] = {}
        wanted = MemoryFilter(exactly=scope, kinds=(kind,), has_topic=True, unexpired_at=self._clock.now())
        for memory in sorted(self._store.memories(wanted), key=_line_order):
            pages.setdefault(memory.topic or "", []).append(memory)
        return pages

    def about(self, text: str, scope: Scope, *, earlier: str = "") -> DetectedTopic:
        """Detect which topic of a scope a text is about, if any.

        If the preset creates topics automatically and there is a chat model, the model decides. The model sees only ``text``.
        Without a model, or if the model fails, the topic pages are compared with the text, by vectors and by words. This
        comparison also uses ``earlier``, the user's previous text.
        """
        pages = self.known(scope)
        if not pages:
            return DetectedTopic(None, Usage(), ())
        model, problem = self._chat.model() if self._preset.topics and self._preset.topics.opens else (None, None)
        latest = sorted(pages.values(), key=lambda page: page[-1].updated_at, reverse=True)
        topics = [self._described(page) for page in latest]
        embedder = self._embedding.embedder()
        found = detect(
            text,
            topics,
            model=model,
            vector=self._embedding.query(f"{earlier} {text}".strip()),
            calibration=embedder.calibration if embedder else (0.0, 1.0),
            subjects=self._subjects(text),
            earlier=earlier,
        )
        return found._replace(flaws=(f"{problem}; rules took over", *found.flaws)) if problem else found

    def of(self, session: SessionRecord, said: Sequence[Message], *, after: int) -> DetectedTopic:
        """Return the topic of the messages ``said``. They are the messages of a session with numbers above ``after``.

        If a topic was detected after message number ``after``, and the topic still has memories, return that topic. If not,
        detect the topic now, in the user's messages that no topic detection job has read. The result has no topic if there
        are no such messages, or if the preset has no topics.
        """
        if self._preset.topics is None:
            return DetectedTopic(None, Usage(), ())
        found = topic_found_since(session, after)
        if found is not None and found in self.known(session.scope):
            return DetectedTopic(found, Usage(), ())
        tried = max(after, int(session.metadata.get("tried_to", 0)))
        new = [message.text for message in said if message.role == "user" and message.seq > tried]
        return (
            self.about("\n".join(new)[-_MAX_CONVERSATION_CHARACTERS:], session.scope) if new else DetectedTopic(None, Usage(), ())
        )

    def gather(
        self, outcome: Outcome, messages: Sequence[Message], session: SessionRecord, *, after: int, model: ChatModel | None
    ) -> tuple[Outcome, Put | None]:
        """Assign extracted memories to the conversation's topic. Return the changed outcome, and a note about the topic.

        ``outcome`` has the extracted memories. ``messages`` are the messages of the session with numbers above ``after``.

        If no topic is detected, a new topic can be created. The preset must allow this, and there must be enough different
        memories (``min_conclusions``, a setting of the preset).

        The note records what the conversation said about the topic. It is None if there is no topic, or if the preset keeps
        no notes about topics. If the preset has no topics at all, the outcome is returned unchanged.
        """
        rules = self._preset.topics
        if rules is None:
            return outcome, None
        found = self.of(session, messages, after=after)
        conclusions = [change for change in outcome.changes if isinstance(change, Put) and change.kind == rules.kind]
        others = [change for change in outcome.changes if change not in conclusions]
        known = list(self.known(session.scope))
        min_conclusions = rules.min_conclusions if rules.opens else sys.maxsize
        named = assign(conclusions, found.topic, known=known, min_conclusions=min_conclusions, model=model)
        topic = found.topic or next((put.topic for put in named.changes if isinstance(put, Put) and put.topic), None)
        said = TopicSummary(text="")
        if topic is not None and rules.recent_kind is not None:
            said = summarize_topic_with(
                model, [put.text for put in conclusions] or [m.text for m in messages if m.role == "user"]
            )
        outcome = replace(
            outcome,
            changes=(*others, *named.changes),
            flaws=(*outcome.flaws, *found.flaws, *named.flaws, *said.flaws),
            usage=outcome.usage + found.usage + named.usage + said.usage,
        )
        if topic is None or rules.recent_kind is None:
            return outcome, None
        last = messages[-1]
        note = Put(
            scope=last.scope,
            kind=rules.recent_kind,
            text=said.text or topic,
            key=f"{last.session}:{last.seq}",
            topic=topic,
            sources=tuple(message.id for message in messages),
            valid_from=last.at,
            reason="a conversation closed",
        )
        return outcome, note

    def note(self, writer: Writer, note: Put, made: Sequence[Memory]) -> None:
        """Store a note that records a conversation's topic.

        ``made`` contains the memories extracted from the conversation. Those whose kind can be on topic pages become
        the sources of the note. If there are none, the sources are the conversation's messages. If there are now more
        notes than the preset allows, the oldest notes expire.
        """
        rules = self._preset.topics
        if rules is None:
            return
        sources = tuple(memory.id for memory in made if memory.kind == rules.kind) or note.sources
        writer.apply([replace(note, sources=sources)], shown=())
        notes = writer.tx.memories(MemoryFilter(exactly=note.scope, kinds=(note.kind,)))
        notes.sort(key=lambda memory: (memory.valid_from, memory.item), reverse=True)
        old = notes[rules.max_recent :]
        writer.apply([Retire(id=memory.id, status="expired", reason="newer topics took its place") for memory in old])

    def renew_notes(self, writer: Writer, scope: Scope, retired: Collection[str]) -> None:
        """Rewrite the notes that were derived from retired memories, by rules, from those sources that are still live.

        A note without a live source expires. ``retired`` are the ids of memories that were superseded.
        """
        kind = self._preset.topics.recent_kind if self._preset.topics else None
        if kind is None or not retired:
            return
        for note in writer.tx.memories(MemoryFilter(exactly=scope, kinds=(kind,), sources=retired)):
            live = writer.tx.memories(MemoryFilter(ids=note.sources))
            text = summarize_topic([memory.text for memory in live])
            revised = Put(id=note.id, scope=scope, kind=kind, text=text, key=note.key, topic=note.topic, reason=_CHANGED)
            writer.apply([revised if text else Retire(id=note.id, status="expired", reason=_CHANGED)])

    def _described(self, page: Sequence[Memory]) -> KnownTopic:
        name = page[0].topic or ""
        vector = self._embedding.documents([name.replace("-", " ")]) if name not in self._name_vectors else None
        if vector is not None:
            self._name_vectors[name] = vector[0]
        return topic_of(page, self._rows(page), name_vector=self._name_vectors.get(name))

    def _subjects(self, text: str) -> "Vectors | None":
        """Return the vectors of everyday subjects, such as food, in the language of a text. Return None without an embedder."""
        language = prompt_language([text])
        if language not in self._subject_vectors:
            made = self._embedding.documents(list(subject_texts(language)))
            if made is None:
                return None
            self._subject_vectors[language] = made
        return self._subject_vectors[language]

    def _rows(self, page: Sequence[Memory]) -> "Vectors | None":
        """Return the vectors of the memories on a topic page, cached in this process. Return None without an embedder."""
        missing = [memory for memory in page if memory.item not in self._vectors]
        made = self._embedding.documents([str(memory) for memory in missing])
        if missing and made is None:
            return None
        if len(self._vectors) > _MAX_VECTORS:
            self._vectors.clear()
            self._name_vectors.clear()
            return self._embedding.documents([str(memory) for memory in page])
        for place, memory in enumerate(missing):
            if made is not None:
                self._vectors[memory.item] = made[place]
        return np.stack([self._vectors[memory.item] for memory in page])

    def _said_before(self, session: SessionRecord, seq: int) -> str:
        """Return the user's last texts before the message ``seq`` of the same conversation. Small talk is left out."""
        after = _closed_to(session)
        wanted = MessageFilter(session=session.id, exactly=session.scope, after_seq=after, up_to_seq=seq - 1, newest=_MAX_EARLIER)
        said = [message for message in self._store.messages(wanted) if message.role == "user" and message.act != "small_talk"]
        texts = [message.text for message in said if not is_device_talk(message.text)]
        return " ".join(texts)[-_MAX_CONVERSATION_CHARACTERS:]

    def _detect(self, job: Job) -> Work:
        """Detect the topic of a user's message, and store it in the session."""
        session, seq = session_of(self._store, job), int(job.payload["seq"])
        said = self._store.messages(MessageFilter(session=str(job.payload["session"]), seqs=(seq,)))
        if (
            session is None
            or not said
            or said[0].action is not None
            or topic_found_since(session, _closed_to(session)) is not None
        ):
            return Work()
        found = self.about(said[0].text, session.scope, earlier=self._said_before(session, seq))

        def note(tx: Transaction) -> None:
            present = tx.session(session.id, session.scope)
            if present is None:
                return
            tried = max(seq, int(present.metadata.get("tried_to", 0)))
            if found.topic is None or topic_found_since(present, _closed_to(present)) is not None:
                tx.set_session(with_state(present, tried_to=tried))
            else:
                tx.set_session(with_state(present, topic=found.topic, topic_seq=seq, tried_to=tried))

        model = self._chat.name if found.usage.calls else None
        return Work(effect=note, flaws=found.flaws, model=model, usage=found.usage)


def _line_order(memory: Memory) -> tuple[datetime, int]:
    return memory.valid_from, memory.item


def _closed_to(session: SessionRecord) -> int:
    return int(session.metadata.get("closed_to", 0))
