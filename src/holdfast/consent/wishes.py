"""Read the wishes about memory in new messages, and obey them in the transaction that stores the messages.

Reading a wish runs a model and recalls the memories and messages to forget. This is slow, so it is done before the
transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal

from holdfast.consent.forget import About, find_about, find_everything, find_known, without_reason
from holdfast.consent.off_record import (
    OFF_RECORD_UNTIL,
    after_pause,
    is_withheld,
    turn_before,
    turns_about,
    withhold,
    withhold_previous,
)
from holdfast.errors import ModelError
from holdfast.forgetting.targets import own_sources
from holdfast.learning.capture import Extractor
from holdfast.learning.dating import dated, dates_of, reading_of
from holdfast.learning.input_filter import own_words
from holdfast.learning.placement import PROJECT, placed
from holdfast.learning.wish_scores import may_be_wish
from holdfast.learning.wishes import ReadWish, asked_puts, lifts_off_record, named_subject, read_wish
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, SentenceReader, Store, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.recall.reader import Reader
from holdfast.runtime.priority import with_pauses
from holdfast.text.clean import fold
from holdfast.text.consent.cues import may_wish
from holdfast.text.consent.named import person_to_forget
from holdfast.text.consent.pointing import before_request
from holdfast.text.consent.rules import fold_places, leaves_mode, remembers_bare, subject_words
from holdfast.text.consent.told_part import told_part
from holdfast.text.sentences import split_sentences
from holdfast.text.terms import document_terms
from holdfast.types import (
    FORGETTING,
    FORGOTTEN,
    OFF_RECORD,
    Author,
    Change,
    Consent,
    Memory,
    Message,
    Put,
    Retire,
    Scope,
    SessionRecord,
)
from holdfast.values import make_put
from holdfast.write import Writer

__all__ = ["Plan", "Wishes"]

_ASKED_IMPORTANCE: Final = 8.0
_MIN_FACT: Final = 0.3
"""A message counts as stating a fact if the sentence reader gives it at least this probability of being worth keeping."""
_FORGET_REASON: Final = "the user asked to forget it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The wish in one message, and the data needed to obey it."""

    wish: ReadWish | None = None
    lifts: bool = False
    """True if the message ends an off-the-record wish, so that later messages are kept again."""
    about: About = field(default_factory=About)
    """The memories and messages to forget."""
    puts: tuple[Put, ...] = ()
    """The memories to store."""
    tells_more: bool = False
    """True if a wish to forget finds nothing, and a later sentence of the message states a fact: "Forget my ex. I live in Leeds"."""
    part: str = ""
    """The subject of the earlier messages that are withheld, too. It is empty if the wish names none."""

    @property
    def is_empty(self) -> bool:
        """True if the message contains no wish."""
        return self.wish is None and not self.lifts and not self.puts


class Wishes:
    """Reads and obeys users' wishes about memory."""

    def __init__(
        self, store: Store, preset: Preset, clock: Clock, *, reader: Reader, sentence_reader: SentenceReader | None = None
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._reader = reader
        self._sentence_reader = sentence_reader

    def read(self, messages: Sequence[Message], session: str, scope: Scope, *, last: Message | None) -> list[Plan]:
        """Return, for each message, its wish and the data needed to obey the wish.

        Only the user's own words can contain a wish. ``last`` is the last stored message of the session.
        """
        if not any(map(_may_wish, messages)):
            return [Plan()] * len(messages)
        # While the user is off the record, the last message is withheld. Otherwise the session need not be read.
        record = self._store.session(session, scope) if last is not None and last.action == OFF_RECORD else None
        paused = record is not None and self.after_pause(record).metadata.get(OFF_RECORD_UNTIL) == "rest"
        plans: list[Plan] = []
        for message in with_pauses(messages):
            plan = Plan()
            if _may_wish(message):
                own = replace(message, text=own_words(message.text))  # the sender of a pasted e-mail makes no wishes
                plan = self._plan(own, last, paused=paused) if _may_wish(own) else plan
            plans.append(plan)
            paused = (paused or (plan.wish is not None and plan.wish.reach == "rest")) and not plan.lifts
            last = message
        return plans

    def after_pause(self, session: SessionRecord) -> SessionRecord:
        """Return the session, without its off-the-record wish if that wish has lapsed.

        A wish lapses only in a session that never ends, after seven minutes without a message.
        """
        return after_pause(session, self._preset, self._clock.now())

    def _plan(self, message: Message, before: Message | None, *, paused: bool) -> Plan:
        turn = before if before is not None and before.role == "assistant" else None
        said = "" if turn is None else turn.text
        wish, reader = self._read(message.text, said)
        if paused and (wish is None or wish.wish != "off_record" or leaves_mode(message.text)):
            lifts = lifts_off_record(message.text, before=said, reader=reader)
            return Plan(wish=wish if lifts else None, lifts=lifts)
        if (wish is None or wish.wish == "remember" or remembers_bare(message.text)) and (
            told := self._told(message, wish, reader)
        ):
            wish, message, turn = ReadWish(wish="remember", subject=told.text), told, None
        if wish is None or (wish.wish == "off_record" and person_to_forget(message.text)):
            named = self._plan_named(message, said, reader)
            if wish is None or named.wish is not None:
                return named
        if wish.wish == "off_record":
            return self._plan_part(wish, message)
        if wish.wish == "forget":
            return self._plan_forget(wish, message, reader)
        return Plan(wish=wish, puts=tuple(self._puts(wish, message, turn, reader)))

    def _plan_forget(self, wish: ReadWish, message: Message, reader: SentenceReader | None) -> Plan:
        """Return the plan for a wish to forget. If nothing is stored about its subject, it can be another wish, or none."""
        about = self._about(wish, message.scope)
        if about.memories or about.messages:
            return Plan(wish=wish, about=about)
        if wish.is_doubtful:
            return Plan()
        if wish.points_back or wish.or_off_record:
            return Plan(wish=replace(wish, wish="off_record", reach="previous" if wish.points_back else wish.reach))
        after = split_sentences(message.text.partition(wish.subject)[2])[1:]
        others = [each for each in after if not may_wish("forget", fold_places(each))]
        tells_more = not wish.everything and any(_is_fact(each, reader=reader) for each in others)
        return Plan(wish=wish, tells_more=tells_more)

    def _told(self, message: Message, wish: ReadWish | None, reader: SentenceReader | None) -> Message | None:
        """Return what a request to remember "that" points to: a message with the fact, or None if there is no such request.

        The fact is the last one before the request, in the same message or in the user's message before it. ``wish`` is the wish in
        the message. If it is None, the sentence reader must doubt that the message has no wish.
        """
        before = "" if remembers_bare(message.text) else before_request(message.text)
        if before is None or (before and wish is None and not may_be_wish(message.text, reader)):
            return None
        said = split_sentences(before)
        fact = next((each for each in reversed(said) if _is_fact(each, reader=reader)), "")
        if fact:
            return replace(message, text=fact)
        earlier = turn_before(self._store, message)
        if not earlier or not _may_wish(earlier[0]):
            return None
        facts = [each for each in split_sentences(earlier[0].text) if _is_fact(each, reader=reader)]
        return replace(earlier[0], text=" ".join(facts)) if facts else None

    def _plan_part(self, wish: ReadWish, message: Message) -> Plan:
        """Return the plan for a wish not to save something. It can name an earlier part of the session, such as "the bit about Tom".

        If the session has such a part, the wish covers it and its own message, and not the messages next to it.
        """
        part = told_part(message.text) if wish.reach != "rest" else ""
        if not part or not turns_about(self._store, message, part, self._preset):
            return Plan(wish=wish)
        return Plan(wish=replace(wish, reach="message"), part=part)

    def _plan_named(self, message: Message, before: str, reader: SentenceReader | None) -> Plan:
        """Return the plan for a message such as "forget the tattoo".

        The message is a wish only if a memory or message of the user is about a tattoo. If it is no wish, the plan is empty.
        ``before`` is the text of the assistant's message directly before, or empty.
        """
        name = named_subject(message.text, before=before, reader=reader)
        if not name:
            return Plan()
        is_fact = partial(_is_fact, reader=reader)
        about = find_known(self._reader, message.scope, subject_words(name), is_fact=is_fact)
        if not about.memories and not about.messages:
            return Plan()
        return Plan(wish=ReadWish(wish="forget", subject=name), about=about)

    def _read(self, text: str, before: str) -> tuple[ReadWish | None, SentenceReader | None]:
        """Return the wish in a text, and the sentence reader that read it. Without a wish, the first value is None.

        ``before`` is the text of the assistant's message directly before, or empty. If the sentence reader cannot be
        used, rules read the text, and None is returned instead of the reader.
        """
        try:
            return read_wish(text, before=before, reader=self._sentence_reader), self._sentence_reader
        except ModelError:
            return read_wish(text), None

    def _about(self, wish: ReadWish, scope: Scope) -> About:
        if wish.everything:
            return find_everything(self._store, self._preset, scope, self._clock.now())
        found, short = About(), without_reason(wish.subject)
        ways: Sequence[tuple[str, Literal["words", "meaning"]]] = ((wish.subject, "words"), (short, "words"), (short, "meaning"))
        for said, by in dict.fromkeys(ways):  # the words of a reason need not occur in a memory
            subject = (by == "words" and subject_words(said)) or said
            found = find_about(self._reader, scope, subject, by=by) if subject.strip() else About()
            if found.memories or found.messages:
                break
        return found

    def _puts(self, wish: ReadWish, message: Message, before: Message | None, reader: SentenceReader | None) -> list[Put]:
        """Return the memories that a message asks to store, as the extractor words them.

        Return one memory in the user's words if the extractor finds none, if the preset has no extractor with rules, or if the
        preset gives the memory a key of its own. Return an empty list if new memories would be of a plain kind.

        ``wish`` is the wish in the message. ``before`` is the assistant's message directly before, or None. ``reader`` is the
        sentence reader that read the wish, or None.
        """
        said = wish.subject or message.text
        reading = reading_of(said, reader)
        default = make_put(
            self._preset,
            message.scope,
            text=dated(said, message.at, reading),
            importance=_ASKED_IMPORTANCE,
            sources=(message.id,),
            valid_from=message.at,
        )
        default = replace(
            default, reason="asked to remember", trust=message.trust, metadata=dates_of(default.text, message.at, reading)
        )
        extractor = self._preset.extractor
        if self._preset.is_plain(default.kind):  # nothing is learned for a preset that only stores values
            return []
        named = default.key is not None and default.key != self._preset.default_key
        if named or not isinstance(extractor, Extractor):
            return [default]
        found = asked_puts(extractor, message, before=before, reader=reader)
        if wish.subject:
            found = _with_all(
                [_without_wish(put, wish.subject, default.text) for put in found if _is_about(put, default.text)], default.text
            )
        return found or [default]

    def mark(self, session: SessionRecord, message: Message, last: Message | None, plan: Plan) -> tuple[Message, SessionRecord]:
        """Mark a message if it is off the record or asks to forget something. Return the message and the session.

        If the wish changes which later messages are off the record, the returned session's metadata says so. ``last`` is the
        previous message of the session, or None. ``plan`` has the wish in the message.
        """
        off_record = plan.wish is not None and plan.wish.wish == "off_record"
        withheld, until = is_withheld(
            message.role,
            session.metadata.get(OFF_RECORD_UNTIL),
            plan.wish.reach if plan.wish is not None and off_record else None,
            after_withheld=last is not None and last.action == OFF_RECORD,
            lifts=plan.lifts or (plan.wish is not None and not off_record and session.metadata.get(OFF_RECORD_UNTIL) == "next"),
        )
        if session.metadata.get(OFF_RECORD_UNTIL) != until:
            session = with_state(session, **{OFF_RECORD_UNTIL: until})
        if withheld:
            return replace(message, action=OFF_RECORD), session
        if plan.wish is not None and plan.wish.wish == "forget" and message.action is None and not plan.tells_more:
            return replace(message, action=FORGETTING), session
        return message, session

    def obey(self, tx: Transaction, session: SessionRecord, stored: Message, plan: Plan) -> Message:
        """Obey the wish in a stored message. Return the message with a record of what was done in its field ``consent``."""
        if stored.action == OFF_RECORD:
            if plan.wish is None:
                return stored
            ids = [stored.id]
            if plan.part:
                about = turns_about(tx, stored, plan.part, self._preset)
                ids = [*withhold(tx, about, self._preset, self._clock.now()), *ids]
            if plan.wish.reach in ("previous", "around"):
                ids = [*withhold_previous(tx, stored, self._preset, self._clock.now()), *ids]
            return replace(stored, consent=Consent(wish="off_record", messages=tuple(ids)))
        consent = Consent(wish="resume") if plan.lifts else None
        if plan.wish is not None and plan.wish.wish == "forget":
            consent = self._forget(tx, plan.about)
        elif plan.puts:
            consent = self._remember(tx, placed(plan.puts, project=session.metadata.get(PROJECT)))
        return replace(stored, consent=consent) if consent else stored

    def _remember(self, tx: Transaction, puts: Sequence[Put]) -> Consent:
        writer = self._writer(tx)
        batch = writer.new_batch()
        memories = writer.apply(puts, batch=batch)
        return Consent(wish="remember", memories=tuple(memories), undo=batch if tx.changes(batch=batch) else None)

    def _forget(self, tx: Transaction, about: About) -> Consent:
        """Retire the memories about a subject, or remove the subject from their text. Hide the messages about the subject.

        The source messages of retired memories are hidden, too. Notes that the preset derived from them are forgotten.
        """
        ids = [memory.id for memory, _ in about.memories]
        present = {memory.id: memory.revision for memory in tx.memories(MemoryFilter(ids=ids))} if ids else {}
        taken = [each for each in about.memories if present.get(each[0].id) == each[0].revision]
        writer = self._writer(tx)
        batch = writer.new_batch()
        memories = writer.apply([_cut(writer, memory, remainder) for memory, remainder in taken], batch=batch)
        retired = [memory for memory in memories if memory.status == "forgotten"]
        writer.apply(self._notes_on(tx, retired), batch=batch)
        sources = own_sources(tx, retired) | {message.id for message in about.messages}
        hidden = tx.messages(MessageFilter(ids=list(sources), actions=[None])) if sources else []
        tx.set_action([message.id for message in hidden], f"{FORGOTTEN}:{batch}")
        return Consent(
            wish="forget",
            memories=tuple(memory for memory, _ in taken),
            messages=tuple(message.id for message in hidden),
            undo=batch if memories or hidden else None,
        )

    def _notes_on(self, tx: Transaction, retired: Sequence[Memory]) -> list[Retire]:
        """Return the changes that forget the preset's own notes, such as those on recent topics, about forgotten memories."""
        internal = [kind.name for kind in self._preset.kinds if kind.internal]
        if not internal or not retired:
            return []
        notes = tx.memories(MemoryFilter(kinds=internal, sources=[memory.id for memory in retired]))
        return [Retire(id=note.id, status="forgotten", reason=_FORGET_REASON) for note in notes]

    def _writer(self, tx: Transaction) -> Writer:
        return Writer(tx=tx, preset=self._preset, author=Author(actor="user"), now=self._clock.now())


def _is_about(put: Put, fact: str) -> bool:
    """Return True if a memory shares a term with the fact that the user asks to remember.

    A memory that only announces the fact, such as "one thing about me", shares no term with it and is dropped.
    """
    return not set(document_terms(put.text, None)).isdisjoint(document_terms(fact, None))


def _without_wish(put: Put, said: str, fact: str) -> Put:
    """Return a memory without the words of the wish: "I'm vegan, don't forget it" becomes "I'm vegan".

    ``said`` is the text without these words, and ``fact`` the same text with its dates. If neither is part of the memory's text,
    return the memory unchanged.
    """
    return replace(put, text=fact) if any(fold(each) in fold(put.text) for each in (said, fact)) else put


def _with_all(puts: Sequence[Put], fact: str) -> list[Put]:
    """Return memories that contain everything that the user asks to remember.

    The extractor may cut "my son is called Leo and his school is St Mary's" in two, so that only the first half counts as asked for.
    The first of the memories that are parts of the first sentence of ``fact`` then gets the text of the whole sentence.
    """
    asked = next(iter(split_sentences(fact)), fact)
    parts = [put for put in puts if fold(put.text).rstrip(".") in fold(asked)]
    said = {term for put in puts for term in document_terms(put.text, None)}
    if not parts or said.issuperset(document_terms(asked, None)):
        return list(puts)
    return [replace(parts[0], text=asked), *(put for put in puts if put not in parts)]


def _cut(writer: Writer, memory: Memory, remainder: str) -> Change:
    """Return the change that shortens a memory to ``remainder``, the text to keep.

    If ``remainder`` is empty, or if another memory already has this text, return the change that forgets the memory.
    """
    retire = Retire(id=memory.id, status="forgotten", reason=_FORGET_REASON)
    if not remainder:
        return retire
    put = Put(id=memory.id, scope=memory.scope, kind=memory.kind, key=memory.key, text=remainder, reason=_FORGET_REASON)
    twins = writer.tx.memories(MemoryFilter(exactly=memory.scope, content_hash=writer.identity(put)))
    return retire if any(twin.id != memory.id for twin in twins) else put


def _is_fact(text: str, *, reader: SentenceReader | None) -> bool:
    return reader is not None and reader.read(text).keep >= _MIN_FACT


def _may_wish(message: Message) -> bool:
    return message.role == "user" and message.origin == "user" and message.action is None and bool(message.text.strip())
