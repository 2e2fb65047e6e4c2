"""The wish about memory that the sentence reader (a small model) finds in a message, and how sure it must be."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.protocols.sentence_reader import SentenceReader, Wish
from holdfast.runtime.regex import regex
from holdfast.text.consent.cues import denies_secrecy, has_another_sense, may_wish, may_wish_by_form
from holdfast.text.consent.rules import WishName, fold_places, reports_nothing
from holdfast.text.sentences import split_sentences

__all__ = ["MAX_CHARACTERS", "certain_wish", "is_readable", "may_be_wish", "may_contain_wish", "may_forget", "wishes_of"]

_WISHES: Final[tuple[WishName, ...]] = ("off_record", "forget", "remember")
_MIN_WHOLE: Final = 0.62
"""Minimum probability of a wish in a whole message: the mean of the log odds of two readings, with and without the turn before.

A turn about something else hides a wish, and without its turn, a look-alike is mistaken more often. ``training/reader/README.md`` has
the figures.
"""
_MIN_SENTENCE: Final = 0.95
"""The same for one sentence of a message, read by itself. Only sentences with the usual words of a wish are read."""
_MAX_WORDS_ALONE: Final = 60
"""Maximum number of words of a message without the words and the form of a wish. Longer ones are not read, which saves time."""
_MIN_LIKELY: Final = 0.5
"""Probability from which on a wish, or no wish, is likelier than not."""
_NEARLY: Final = 1e-5
_PAST: Final = regex(r"\b\w{2,}[óé]\b")
"""Matches a Spanish verb in the past tense, such as "guardó". Without its accent, it looks like "guardo" or "guarde"."""
MAX_CHARACTERS: Final = 600
"""Number of characters of a message that the sentence reader reads to find a wish."""
_MAX_SENTENCES: Final = 8


def may_contain_wish(text: str, before: str) -> bool:
    """Return True if the sentence reader should read a message: it is short, or it has the words or the form of a wish."""
    words = _said(text, before)
    if text.strip() and len(text.split()) <= _MAX_WORDS_ALONE and not denies_secrecy(words):
        return True
    return bool(text.strip()) and any(may_wish(wish, words) or may_wish_by_form(wish, words) for wish in _WISHES)


def _said(text: str, before: str) -> str:
    """Return the folded words of a message, together with those of the question that it answers: "Shall I note that?", "no"."""
    answered = before if before.rstrip().endswith("?") else ""
    return _folded(f"{answered} {text[:MAX_CHARACTERS]}")


def _folded(text: str) -> str:
    return fold_places(_PAST.sub(" ", text))


def certain_wish(text: str, before: str, reader: SentenceReader) -> tuple[WishName | None, float]:
    """Return two values: the wish that the sentence reader finds in a message, or None, and the probability that there is no wish.

    ``before`` is the previous turn. The reader is often sure that the user does not want something to be kept, but not whether it
    is stored already. So the probabilities of ``off_record`` and ``forget`` count together, and the likelier of the two is the wish.

    The second value is 0 if a wish is returned, or if the reader can read no part of the text.
    """
    whole = text[:MAX_CHARACTERS]
    sentences = split_sentences(whole)[:_MAX_SENTENCES]
    if not is_readable(whole) or not any(is_readable(each) and not reports_nothing(each) for each in sentences):
        return None, 0.0
    readings = [wishes_of(reader, whole, each) for each in dict.fromkeys((before, ""))]
    words = _said(text, before)
    if found := _wish_of(readings, _MIN_WHOLE):
        return (None, 0.0) if _has_another_sense(found, words) else (found, 0.0)
    for each in sentences if len(sentences) > 1 else ():
        words = _folded(each)
        if not reports_nothing(each) and any(may_wish(wish, words) for wish in _WISHES):
            readings.append(wishes_of(reader, each, ""))
            if (found := _wish_of(readings[-1:], _MIN_SENTENCE)) and not _has_another_sense(found, words):
                return found, 0.0
    return None, min(each["none"] for each in readings)


def _wish_of(readings: Sequence[Mapping[Wish, float]], least: float) -> WishName | None:
    """Return the wish whose probability is at least ``least`` in the mean of some readings, or None."""
    unkept, kept = _chance(readings, "off_record", "forget"), _chance(readings, "remember")
    if max(unkept, kept) < least:
        return None
    if kept > unkept:
        return "remember"
    return "forget" if _chance(readings, "forget") >= _chance(readings, "off_record") else "off_record"


def _chance(readings: Sequence[Mapping[Wish, float]], *wishes: WishName) -> float:
    """Return the mean of the readings' probabilities of some wishes, computed as log odds."""
    chances = [sum(each[wish] for wish in wishes) for each in readings]
    odds = sum(math.log(max(each, _NEARLY) / max(1 - each, _NEARLY)) for each in chances)
    return 1 / (1 + math.exp(-odds / len(chances)))


def _has_another_sense(wish: WishName, words: str) -> bool:
    """Return True if the folded words of a message have another sense than the wish: "it's no secret"."""
    if wish == "remember":
        return False
    return denies_secrecy(words) or (not any(may_wish(each, words) for each in _WISHES) and has_another_sense(words))


def _either(wishes: Mapping[Wish, float]) -> float:
    return wishes["off_record"] + wishes["forget"]


def may_be_wish(text: str, reader: SentenceReader | None) -> bool:
    """Return True if a wish in a text is likelier than none, or if there is no sentence reader."""
    return reader is None or wishes_of(reader, text[:MAX_CHARACTERS], "")["none"] < _MIN_LIKELY


def may_forget(text: str, reader: SentenceReader, *, or_off_record: bool = False) -> bool:
    """Return True if a text probably asks to forget something or, with ``or_off_record``, not to keep it."""
    wishes = wishes_of(reader, text[:MAX_CHARACTERS], "")
    return (_either(wishes) if or_off_record else wishes["forget"]) >= _MIN_LIKELY


def is_readable(text: str) -> bool:
    """Return True if at least half of the letters of a text are Latin. The sentence reader cannot read other scripts."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) >= len(letters)


def wishes_of(reader: SentenceReader, text: str, before: str) -> Mapping[Wish, float]:
    """Return the probability of each wish in a text. ``before`` is the previous turn."""
    return reader.read(text, before=before).wishes
