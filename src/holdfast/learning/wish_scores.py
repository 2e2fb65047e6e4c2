"""The wish about memory that the sentence reader (a small model) finds in a message, and how sure it must be."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.protocols.sentence_reader import SentenceReader, Wish
from holdfast.runtime.regex import regex
from holdfast.text.consent.cues import asks_to_forget, denies_secrecy, has_another_sense, may_wish, may_wish_by_form
from holdfast.text.consent.rules import WishName, fold_places, reports_nothing
from holdfast.text.sentences import split_sentences

__all__ = ["MAX_CHARACTERS", "certain_wish", "is_readable", "may_be_wish", "may_contain_wish", "may_forget", "wishes_of"]

_WISHES: Final[tuple[WishName, ...]] = ("off_record", "forget", "remember")
_MIN_WHOLE: Final = 0.92
"""Minimum probability of a wish in a whole message: the mean of the log odds of two readings, with and without the turn before.

A turn about something else hides a wish, and without its turn, a look-alike is mistaken more often. ``training/reader/README.md`` has
the figures.
"""
_MIN_KEPT: Final = 0.75
"""The same for a wish to remember, in a message with the usual words of such a wish."""
_MIN_UNUSUAL: Final = 0.85
"""The same for a message without the usual words of a wish, or with words of another sense: "I wanna forget this whole week"."""
_MIN_UNUSUAL_FORGET: Final = 0.95
"""The same for a wish to forget, which removes data: "Lo del IVA me lo confirmó Amparo" is none."""
_MIN_KEPT_BY_FORM: Final = 0.97
"""The same for a wish to remember that has the form of such a wish, but not its usual words. Without the form, it is none."""
_MIN_WORDS: Final = 4
"""Minimum number of words of a message with a wish, unless it has the usual words of one: "lo del viaje" is only a part of a wish."""
_MIN_SENTENCE: Final = 0.95
"""The same for one sentence of a message, read by itself. Only sentences with the usual words of a wish are read."""
_MAX_WORDS_ALONE: Final = 60
"""Maximum number of words of a message without the words and the form of a wish. Longer ones are not read, which saves time."""
_MIN_POSSIBLE: Final = 0.25
"""Minimum probability with which a message possibly asks to forget something. It does if a memory has what it asks to forget."""
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
    if found := _wish_of(readings, words):
        return found, 0.0
    for each in sentences if len(sentences) > 1 else ():
        words = _folded(each)
        if not reports_nothing(each) and any(may_wish(wish, words) for wish in _WISHES):
            readings.append(wishes_of(reader, each, ""))
            if found := _wish_of(readings[-1:], words, _MIN_SENTENCE):
                return found, 0.0
    return None, min(each["none"] for each in readings)


def _wish_of(readings: Sequence[Mapping[Wish, float]], words: str, least: float = 0.0) -> WishName | None:
    """Return the wish in the mean of some readings of a text with the folded words ``words``, or None if none is likely enough.

    Its probability must be at least ``least``.
    """
    unkept, kept = _chance(readings, "off_record", "forget"), _chance(readings, "remember")
    if kept > unkept:
        return "remember" if kept >= max(least, _min_kept(words)) else None
    wish: WishName = "forget" if _chance(readings, "forget") >= _chance(readings, "off_record") else "off_record"
    return wish if unkept >= max(least, _min_unkept(wish, words)) else None


def _chance(readings: Sequence[Mapping[Wish, float]], *wishes: WishName) -> float:
    """Return the mean of the readings' probabilities of some wishes, computed as log odds."""
    chances = [sum(each[wish] for wish in wishes) for each in readings]
    odds = sum(math.log(max(each, _NEARLY) / max(1 - each, _NEARLY)) for each in chances)
    return 1 / (1 + math.exp(-odds / len(chances)))


def _min_unkept(wish: WishName, words: str) -> float:
    """Return the minimum probability of a wish not to keep something in a message with these words. It is over 1 if it has none."""
    is_usual = any(may_wish(wish, words) for wish in _WISHES)
    is_part = not is_usual and len(words.split()) < _MIN_WORDS and not may_wish_by_form("off_record", words)
    if denies_secrecy(words) or is_part:
        return math.inf
    if is_usual and not has_another_sense(words):
        return _MIN_WHOLE
    return _MIN_UNUSUAL_FORGET if wish == "forget" else _MIN_UNUSUAL


def _min_kept(words: str) -> float:
    """Return the minimum probability of a wish to remember in a message with these words. It is over 1 if it has none."""
    if may_wish("remember", words):
        return _MIN_KEPT
    return _MIN_KEPT_BY_FORM if may_wish_by_form("remember", words) else math.inf


def may_be_wish(text: str, reader: SentenceReader | None) -> bool:
    """Return True if a wish in a text is likelier than none, or if there is no sentence reader."""
    return reader is None or wishes_of(reader, text[:MAX_CHARACTERS], "")["none"] < _MIN_LIKELY


def may_forget(text: str, before: str, reader: SentenceReader) -> bool:
    """Return True if a text possibly asks to forget something: it has words for it, or the reader is sure.

    ``before`` is the previous turn.
    """
    readings = [wishes_of(reader, text[:MAX_CHARACTERS], each) for each in dict.fromkeys((before, ""))]
    if asks_to_forget(fold_places(text)):
        return _chance(readings, "forget", "off_record") >= _MIN_POSSIBLE
    return _chance(readings, "forget") >= _MIN_UNUSUAL_FORGET


def is_readable(text: str) -> bool:
    """Return True if at least half of the letters of a text are Latin. The sentence reader cannot read other scripts."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) >= len(letters)


def wishes_of(reader: SentenceReader, text: str, before: str) -> Mapping[Wish, float]:
    """Return the probability of each wish in a text. ``before`` is the previous turn."""
    return reader.read(text, before=before).wishes
