"""Find out what the user wishes about memory in one message, and which data the wish is about. Nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal

from holdfast.consent.forget import About, find_about, find_everything, find_known, find_mentioned, without_reason
from holdfast.consent.off_record import (
    turn_before,
    turns_about,
)
from holdfast.errors import ModelError
from holdfast.learning.capture import Extractor
from holdfast.learning.dating import dated, dates_of, reading_of
from holdfast.learning.wish_scores import may_be_wish
from holdfast.learning.wishes import ReadWish, asked_puts, lifts_off_record, named_subject, read_wish
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, SentenceReader, Store
from holdfast.recall.reader import Reader
from holdfast.text.clean import fold
from holdfast.text.consent.cues import asks_to_forget, may_wish, parts_of, points_to_something
from holdfast.text.consent.named import find_named, person_to_forget
from holdfast.text.consent.pointing import before_request
from holdfast.text.consent.rules import fold_places, leaves_mode, remembers_bare, subject_words
from holdfast.text.consent.told_part import told_part
from holdfast.text.sentences import split_sentences
from holdfast.text.terms import document_terms
from holdfast.types import (
    Message,
    Put,
    Scope,
)
from holdfast.values import make_put

__all__ = ["Plan", "Planner", "may_wish_in"]

_ASKED_IMPORTANCE: Final = 8.0
_MIN_FACT: Final = 0.3
"""A message counts as stating a fact if the sentence reader gives it at least this probability of being worth keeping."""


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


class Planner:
    """Reads the wish in a message, and finds the memories and messages that it is about."""

    def __init__(
        self, store: Store, preset: Preset, clock: Clock, *, reader: Reader, sentence_reader: SentenceReader | None = None
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._reader = reader
        self._sentence_reader = sentence_reader

    def plan(self, message: Message, before: Message | None, *, paused: bool) -> Plan:
        """Return the plan for a message. ``before`` is the message before it. ``paused`` is True if the user is off the record."""
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
            return self._plan_part(wish, message, reader)
        if wish.wish == "forget":
            return self._plan_forget(wish, message, reader)
        return Plan(wish=wish, puts=tuple(self._puts(wish, message, turn, reader)))

    def _plan_forget(self, wish: ReadWish, message: Message, reader: SentenceReader | None) -> Plan:
        """Return the plan for a wish to forget. If nothing is stored about its subject, it can be another wish, or none."""
        about = self._about(wish, message, reader)
        if not about.is_empty:
            return Plan(wish=wish, about=about)
        if wish.is_doubtful:
            return Plan()
        if wish.points_back or wish.or_off_record:
            return Plan(wish=replace(wish, wish="off_record", reach="previous" if wish.points_back else wish.reach))
        after = split_sentences(message.text.partition(wish.subject)[2])[1:]
        others = [each for each in after if not may_wish("forget", fold_places(each))]
        tells_more = not wish.everything and any(_is_fact(each, reader=reader) for each in others)
        return Plan(wish=wish, tells_more=tells_more)

    def _mentioned(self, message: Message, reader: SentenceReader | None) -> About:
        """Return the memories that a wish to forget mentions in its clause, or before it if the clause only says "it"."""
        clauses = parts_of(message.text) or [message.text]
        place = len(clauses) - 1
        if reader is not None:
            chances = [reader.read(each).wishes for each in clauses]
            place = max(range(len(clauses)), key=lambda number: chances[number]["forget"] + chances[number]["off_record"])
        before = clauses[:place][::-1] if points_to_something(fold_places(clauses[place])) else []
        is_fact = partial(_is_fact, reader=reader)
        return find_mentioned(self._reader, message.scope, [clauses[place], *before], is_fact=is_fact)

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
        if not earlier or not may_wish_in(earlier[0]):
            return None
        facts = [each for each in split_sentences(earlier[0].text) if _is_fact(each, reader=reader)]
        return replace(earlier[0], text=" ".join(facts)) if facts else None

    def _plan_part(self, wish: ReadWish, message: Message, reader: SentenceReader | None) -> Plan:
        """Return the plan for a wish not to save something. It can name an earlier part of the session, such as "the bit about Tom".

        If the session has such a part, the wish covers it and its own message, and not the messages next to it. If the message asks to
        forget something that memories of other sessions mention, it is a wish to forget.
        """
        part = told_part(message.text) if wish.reach not in ("rest", "all") else ""
        if part and turns_about(self._store, message, part, self._preset):
            return Plan(wish=replace(wish, reach="message"), part=part)
        if (
            wish.reach not in ("rest", "all")
            and asks_to_forget(fold_places(message.text))
            and (about := self._mentioned(message, reader)).memories
        ):
            return Plan(wish=ReadWish(wish="forget"), about=about)
        is_elsewhere = bool(part) and wish.reach == "message"  # other words for what was said just before
        return Plan(wish=replace(wish, reach="previous") if is_elsewhere else wish)

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
        if about.is_empty and find_named(message.text) is None and asks_to_forget(fold_places(message.text)):
            about = self._mentioned(message, reader)
        if about.is_empty:
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

    def _about(self, wish: ReadWish, message: Message, reader: SentenceReader | None) -> About:
        """Return the memories and messages that a wish to forget is about: by its words, by words of its clause, or by meaning."""
        scope = message.scope
        if wish.everything:
            return find_everything(self._store, self._preset, scope, self._clock.now())
        short = without_reason(wish.subject)  # the words of a reason need not occur in a memory
        found = self._by(wish.subject, scope, "words")
        if found.is_empty:
            found = self._by(short, scope, "words")
        if not found.memories and not wish.is_named and not (mentioned := self._mentioned(message, reader)).is_empty:
            found = About(
                memories=mentioned.memories,
                messages=tuple({each.id: each for each in (*found.messages, *mentioned.messages)}.values()),
            )
        return self._by(short, scope, "meaning") if found.is_empty else found

    def _by(self, said: str, scope: Scope, by: Literal["words", "meaning"]) -> About:
        subject = (by == "words" and subject_words(said)) or said
        return find_about(self._reader, scope, subject, by=by) if subject.strip() else About()

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


def _is_fact(text: str, *, reader: SentenceReader | None) -> bool:
    return reader is not None and reader.read(text).keep >= _MIN_FACT


def may_wish_in(message: Message) -> bool:
    """Return True if a message can contain a wish: the user wrote it, and it is not withheld."""
    return message.role == "user" and message.origin == "user" and message.action is None and bool(message.text.strip())
