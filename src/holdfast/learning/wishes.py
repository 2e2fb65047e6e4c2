"""Read the user's wishes about memory: "don't save this", "forget ...", "remember ...".

Rules and the sentence reader (a small model) decide together. A wish that a rule finds counts, unless the sentence reader
finds that there is probably no wish. If the sentence reader is sure of a wish, no rule needs to match. Without a
sentence reader, only the rules decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from holdfast.errors import ModelError
from holdfast.learning.capture import Extractor
from holdfast.learning.wish_scores import MAX_CHARACTERS, certain_wish, is_readable, may_contain_wish, wishes_of
from holdfast.protocols.sentence_reader import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.consent.cues import (
    announced,
    is_of_a_text,
    may_wish,
    negates_keeping,
)
from holdfast.text.consent.named import find_named, person_to_forget, with_name
from holdfast.text.consent.reach import Reach, reach_of
from holdfast.text.consent.rules import (
    RuledWish,
    WishName,
    find_wish,
    fold_places,
    is_mistake,
    leaves_mode,
    names_no_subject,
    own_words,
    points_back,
    removes_bare,
    resumes,
    subject_words,
)
from holdfast.text.consent.spelling import respelled
from holdfast.types import Message, Put

__all__ = ["ReadWish", "asked_puts", "lifts_off_record", "named_subject", "read_wish"]

_MIN_PART: Final = 0.5
"""Minimum probability of ``off_record`` with which a part of a message counts as the wish itself.

A part with a lower probability can be the content that the user wants to keep off the record.
"""
_MIN_OR_OFF_RECORD: Final = 0.1
"""Minimum probability of ``off_record`` with which ``ReadWish.or_off_record`` is set for a wish to forget.

Such a wish counts as an off-the-record wish if nothing is stored about its subject.
"""
_MAX_NONE_OF_BARE: Final = 0.5
"""Maximum probability of "no wish". It applies to a message in which "delete that" is only one of several parts.

If the probability is higher, the message contains no wish.
"""
_MIN_TOLD: Final = 0.05
"""Minimum probability of being worth keeping, for a part of a message with an off-the-record wish.

A part with a lower probability does not count as content that the wish covers.
"""
_MIN_NONE: Final[Mapping[WishName, float]] = {"off_record": 0.6, "forget": 0.97, "remember": 0.97}
"""Minimum probability of "no wish" with which the sentence reader overrules a rule that found this wish.

A rule with plain words (``RuledWish.is_plain``) is never overruled.
"""
_MIN_DOUBTFUL: Final = 0.5
"""Minimum probability of "no wish" with which a wish to forget that a rule found is doubtful (``ReadWish.is_doubtful``)."""
_MIN_LIKELY: Final = 0.5
"""Minimum probability of a wish to forget that names its subject.

The message is a wish only if something stored contains all words of the subject.
"""
_MAX_NONE_OF_NAMED: Final = 0.995
"""Maximum probability of "no wish" for a message such as "forget the tattoo". If it is higher, the message is no wish."""
_MAX_NONE_OF_NAMED_WITH_MORE: Final = 0.9
"""The same maximum for a message that continues after the name: "forget the cottage, we sold it"."""
_MAX_REPLY_WORDS: Final = 8
"""If the assistant's previous turn has at most this many words, "delete that" refers to a message of the user.

After a longer turn, the user may mean the assistant's text.
"""
_MIN_RESUME: Final = 0.5
"""Minimum probability of the wish that messages are kept again. It is checked only while the user is off the record."""
_PART: Final = regex(r"[,.;:!]\s+")
_STATES: Final = regex(r"(?:que|that|the fact that|lo de que) \w")
"""Matches the subject of a wish to forget if the subject is a whole fact: "that I smoke".

The message itself then states the fact that the user wants to hide.
"""
_ASKED_IMPORTANCE: Final = 8.0
_ASKED_REASON: Final = "asked to remember"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWish:
    """A user's wish about memory."""

    wish: WishName
    reach: Reach = "message"
    """Which messages an off-the-record wish covers."""
    subject: str = ""
    """What to forget or to remember, in the user's words."""
    everything: bool = False
    """True if the user wishes that everything about them is forgotten."""
    points_back: bool = False
    """True if a wish to forget refers to what was just said.

    If nothing is stored about the subject, the wish applies to the user's previous message.
    """
    or_off_record: bool = False
    """True if a wish to forget may be meant as an off-the-record wish: "what I say now, delete it at the end".

    It counts as an off-the-record wish if nothing is stored about its subject.
    """
    is_named: bool = False
    """True if a rule found the subject of a wish to forget. Otherwise ``subject`` has all words of the message."""
    is_doubtful: bool = False
    """True if a wish to forget is probably none: "forget my ex, I live in Leeds". It then counts only if something is stored."""


def read_wish(text: str, *, before: str = "", reader: SentenceReader | None = None) -> ReadWish | None:
    """Return the wish about memory in a user's message, or None. ``before`` is the previous turn."""
    text = respelled(text)
    ruled = find_wish(text)
    sure, none = None, 1.0
    if reader is not None and (ruled is not None or may_contain_wish(text, before)):
        sure, none = certain_wish(text, before, reader)
        if ruled is not None and sure is None and not ruled.is_plain:
            ruled = None if none >= _MIN_NONE[ruled.wish] else ruled
    chosen = _chosen(ruled, None if sure == "off_record" and leaves_mode(text) else sure)
    if chosen is None:
        return _bare(text, before, reader, none)
    if chosen == "remember" and ruled is None and negates_keeping(fold_places(own_words(text))):
        chosen = "off_record"
    reach = reach_of(text, partial(_tells, before=before, reader=reader)) if chosen != "remember" else "message"
    if chosen == "off_record":
        return ReadWish(wish="off_record", reach=reach)
    if chosen == "forget":
        wish = _forgetting(text, ruled if ruled is not None and ruled.wish == "forget" else None)
        if wish.wish == "off_record":
            return wish
        states = ruled is not None and _STATES.match(fold_places(wish.subject)) is not None
        chance = 0.0 if reader is None else wishes_of(reader, text[:MAX_CHARACTERS], before)["off_record"]
        is_doubtful = sure is None and reader is not None and none >= _MIN_DOUBTFUL
        return replace(
            wish, reach=reach, or_off_record=states or chance >= _MIN_OR_OFF_RECORD, is_doubtful=is_doubtful and not states
        )
    subject = ruled.subject if ruled is not None and ruled.wish == chosen else announced(text, fold_places(text))
    return ReadWish(wish=chosen, subject=subject)


def _bare(text: str, before: str, reader: SentenceReader | None, none: float) -> ReadWish | None:
    """Return the wish of a message that asks to delete "that" or "it". Return None if the message has no such wish.

    If a part of the message before the wish says something, the wish covers the message itself: "my PIN is 7719, delete
    that". Otherwise, the wish also covers the previous message: "delete that, my cousin wrote it". It does not if the
    assistant has just written a longer text, because "that" can mean this text.

    ``before`` is the previous turn. ``none`` is the probability that the message contains no wish.
    """
    is_short = len(before.split()) <= _MAX_REPLY_WORDS
    if not removes_bare(text):
        parts = [part for part in _PART.split(text[:MAX_CHARACTERS]) if part.strip()]
        removing = [removes_bare(part, is_part=True) for part in parts]
        if not any(removing) or (none > _MAX_NONE_OF_BARE and not is_mistake(text)):
            return None
        others = [part for part, removes in zip(parts, removing, strict=True) if not removes]
        if not is_mistake(text) and any(_tells(part, before=before, reader=reader) for part in others):
            return ReadWish(wish="off_record", reach="previous" if removing[0] and is_short else "message")
    return ReadWish(wish="off_record", reach="previous") if is_short else None


def _forgetting(text: str, ruled: RuledWish | None) -> ReadWish:
    """Return the wish of a message that asks to forget something.

    If the message names no subject, as in "forget that", the result is an off-the-record wish for the previous message. It is
    one, too, if the message calls the previous one a mistake: "I should not have told you that, take it out of your memory".
    """
    person = person_to_forget(own_words(text)) if ruled is None else ""
    subject = with_name(ruled.subject, text) if ruled is not None else person or subject_words(own_words(text))
    everything = ruled is not None and ruled.everything
    if not everything and (names_no_subject(subject) or (ruled is None and is_mistake(text))):
        return ReadWish(wish="off_record", reach="previous")
    points = points_back(text) or (ruled is None and any(removes_bare(part, is_part=True) for part in _PART.split(text)))
    is_named = (ruled is not None and not names_no_subject(subject)) or bool(person)
    return ReadWish(wish="forget", subject=subject, everything=everything, points_back=points and not person, is_named=is_named)


def named_subject(text: str, *, before: str = "", reader: SentenceReader | None = None) -> str:
    """Return the name of the thing that a message may ask to forget, as in "forget the tattoo".

    The message is a wish only if something stored contains every word of the name. ``before`` is the previous turn. Return an
    empty text if the message does not ask to forget a named thing. Also return an empty text if the assistant has just used a
    word of the name in a longer text, because the user may mean that text.
    """
    if len(text) > MAX_CHARACTERS:
        return ""
    named = find_named(text)
    if named is None:
        name = subject_words(own_words(text)) if _may_forget(text, before, reader) else ""
    elif reader is None:
        name = named.name if named.is_alone else ""
    else:
        limit = _MAX_NONE_OF_NAMED if named.is_alone else _MAX_NONE_OF_NAMED_WITH_MORE
        name = named.name if wishes_of(reader, text, before)["none"] <= limit else ""
    said = set(fold_places(before).split()) if len(before.split()) > _MAX_REPLY_WORDS else set()
    return name if said.isdisjoint(subject_words(fold_places(name)).split()) else ""


def _may_forget(text: str, before: str, reader: SentenceReader | None) -> bool:
    """Return True if a wish to forget is likelier than not, although the sentence reader is not sure of it."""
    folded = fold_places(text)
    if reader is None or not may_wish("forget", folded) or is_of_a_text(folded) or not is_readable(text):
        return False
    return wishes_of(reader, text, before)["forget"] >= _MIN_LIKELY


def _tells(part: str, *, before: str, reader: SentenceReader | None) -> bool:
    """Return True if a part of a message says something besides the wish to stay off the record.

    ``before`` is the previous turn. Without a reader, the result is True.
    """
    if reader is None:
        return True
    reading = reader.read(part, before=before)
    return reading.keep >= _MIN_TOLD and reading.wishes["off_record"] < _MIN_PART


def _chosen(ruled: RuledWish | None, sure: WishName | None) -> WishName | None:
    """Return the wish to obey. A rule found the wish ``ruled``, and the sentence reader is sure of the wish ``sure``.

    Each of them can be None. If the two differ, a wish to stay off the record comes first, then a wish to forget. There is
    one exception: a wish to forget that the rule found is always obeyed.
    """
    if ruled is not None and ruled.wish == "forget":
        return "forget"
    named = {wish for wish in (ruled.wish if ruled else None, sure) if wish is not None}
    order: Sequence[WishName] = ("off_record", "forget", "remember")
    return next((wish for wish in order if wish in named), None)


def lifts_off_record(text: str, *, before: str = "", reader: SentenceReader | None = None) -> bool:
    """Return True if a message ends an off-the-record wish, so that the following messages are kept again.

    ``before`` is the previous turn.
    """
    if resumes(text):
        return True
    return reader is not None and wishes_of(reader, text[:MAX_CHARACTERS], before)["resume"] >= _MIN_RESUME


def asked_puts(extractor: Extractor, message: Message, *, before: Message | None, reader: SentenceReader | None) -> list[Put]:
    """Return the memories that a message asks to store. The extractor's rules write the text of these memories.

    ``before`` is the turn before the message. It is needed for a reply such as "yes, do".
    """
    messages = [message] if before is None else [before, message]
    try:
        found = extractor.rules(messages, reader)
    except ModelError:
        found = extractor.rules(messages, None)
    own = [put for put in found if message.id in put.sources]
    asked = [put for put in own if put.reason == _ASKED_REASON]
    return [replace(put, origin="explicit", importance=max(put.importance or 0.0, _ASKED_IMPORTANCE)) for put in asked]
