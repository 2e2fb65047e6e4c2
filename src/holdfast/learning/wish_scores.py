"""The wish about memory that the sentence reader (a small model) finds in a message, and how sure it must be."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from holdfast.protocols.sentence_reader import SentenceReader, Wish
from holdfast.runtime.regex import regex
from holdfast.text.consent.cues import (
    denies_secrecy,
    has_another_sense,
    is_of_a_text,
    may_wish,
    may_wish_by_form,
    parts_of,
    short_parts_of,
)
from holdfast.text.consent.rules import WishName, fold_places, reports_nothing
from holdfast.text.sentences import split_sentences

__all__ = ["MAX_CHARACTERS", "certain_wish", "is_readable", "may_be_wish", "may_contain_wish", "may_forget", "wishes_of"]

_MIN_SURE: Final[Mapping[WishName, float]] = {"off_record": 0.75, "forget": 0.9, "remember": 0.8}
"""Minimum probability of each wish in a message with the usual words of the wish. If it is reached, no rule needs to match.

It is highest for forgetting, which removes data.
"""
_MAX_WORDS_ALONE: Final = 40
"""Maximum number of words of a message without the words and the form of a wish. Longer ones are not read, which saves time."""
_MIN_WHOLE: Final = 0.982
"""Minimum probability that a whole message has a wish, if the likeliest wish is ``off_record`` or ``forget``.

If it is reached, no part of the message needs to confirm the wish. The sentence reader is often sure of a wish but not of its kind
("hush about this"), so all wishes count together. ``training/reader/README.md`` has the figures.
"""
_MIN_WORDS: Final = 4
"""Minimum number of words of such a message, unless it has the words of a wish or the form of an off-the-record wish.

"lo del viaje" is only a part of a wish.
"""
_MIN_BY_FORM: Final = 0.97
"""Minimum probability of a wish to remember that has the form of such a wish, but not its usual words."""
_MIN_EITHER: Final = 0.85
"""Minimum sum of two probabilities: that of ``off_record`` and that of ``forget``. The likelier wish is then obeyed.

The sentence reader is often sure that the user does not want something to be kept, but not whether it is stored already.
"""
_MIN_NEGATED: Final = 0.3
"""Minimum probability of ``off_record`` if the sentence reader hesitates between ``off_record`` and ``remember``.

The two probabilities must add up to at least ``_MIN_EITHER``, and the message must negate a word for keeping. The wish is
then ``off_record``.
"""
_MIN_OFF_RECORD_IN_PART: Final = 0.01
"""Minimum probability of an off-the-record wish in one part of a message, if the whole message has such a wish."""
_MIN_OFF_RECORD_IN_LONG: Final = 0.3
"""The same for a message of more than ``_MAX_SHORT_WORDS`` words. The part must also have the words or the form of the wish.

The longer a message, the likelier one of its parts looks like a wish. In 34,300 ordinary messages, this minimum halves the
false alarms. Of 375 wishes, none is lost.
"""
_MAX_SHORT_WORDS: Final = 20
_MIN_FORGET_IN_PART: Final = 0.15
"""Minimum probability of ``forget`` that at least one part of a message must reach.

It applies if the sentence reader finds a wish to forget in the whole message.
"""
_MIN_LIKELY: Final = 0.5
"""Probability from which on a wish, or no wish, is likelier than not."""
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
    return bool(text.strip()) and any(may_wish(wish, words) or may_wish_by_form(wish, words) for wish in _MIN_SURE)


def _said(text: str, before: str) -> str:
    """Return the folded words of a message, together with those of the question that it answers: "Shall I note that?", "no"."""
    answered = before if before.rstrip().endswith("?") else ""
    return _folded(f"{answered} {text[:MAX_CHARACTERS]}")


def _folded(text: str) -> str:
    return fold_places(_PAST.sub(" ", text))


def certain_wish(text: str, before: str, reader: SentenceReader) -> tuple[WishName | None, float]:
    """Return two values: the wish that the sentence reader is sure of, or None, and the probability that there is no wish.

    ``before`` is the previous turn. If the reader is almost sure that the whole message asks not to keep something, that decides.
    Otherwise the message must have the usual words of the wish, and a part of it must confirm the wish (:func:`_confirms`). Then
    two sums of probabilities are enough, too. In the first case, those of ``forget`` and ``off_record`` have a high sum, and the
    likelier of the two is the wish. In the second case, those of ``off_record`` and ``remember`` have one, and the wish is
    ``off_record``.

    The second value is 0 if a wish is returned, or if the reader can read no part of the text.
    """
    whole, words = text[:MAX_CHARACTERS], _said(text, before)
    sentences = split_sentences(whole)[:_MAX_SENTENCES]
    texts = [
        part for part in (whole, *(sentences if len(sentences) > 1 else ())) if is_readable(part) and not reports_nothing(part)
    ]
    if not texts:
        return None, 0.0
    first = wishes_of(reader, texts[0], before)
    if before and _MIN_LIKELY <= _either(first) < _MIN_WHOLE:  # a turn about something else misleads the reader
        alone = wishes_of(reader, texts[0], "")
        first = alone if _either(alone) >= _MIN_WHOLE else first
    possible = [wish for wish in _MIN_SURE if may_wish(wish, words)]
    if found := _of_whole(first, whole, words, possible):
        return found, 0.0
    readings = [first, *(wishes_of(reader, part, before) for part in texts[1:] if _has_words(part, possible))]
    found = _of_parts(whole, readings, possible, before=before, reader=reader)
    return (found, 0.0) if found else (None, min(each["none"] for each in readings))


def _has_words(part: str, wishes: Sequence[WishName]) -> bool:
    folded = _folded(part)
    return any(may_wish(wish, folded) for wish in wishes)


def _of_whole(wishes: Mapping[Wish, float], whole: str, words: str, possible: Sequence[WishName]) -> WishName | None:
    """Return the wish that a whole message almost certainly has, or None.

    ``wishes`` are the probabilities of the wishes, ``words`` the folded words of the message. ``possible`` contains the wishes
    whose usual words it has.
    """
    if wishes["remember"] >= wishes[_likelier(wishes)]:
        return "remember" if wishes["remember"] >= _MIN_BY_FORM and may_wish_by_form("remember", words) else None
    if not possible and has_another_sense(words):
        return None
    is_whole = possible or may_wish_by_form("off_record", words) or len(whole.split()) >= _MIN_WORDS
    is_sure = _either(wishes) + wishes["remember"] >= _MIN_WHOLE
    return _likelier(wishes) if is_whole and is_sure and not denies_secrecy(words) else None


def _of_parts(
    whole: str, readings: Sequence[Mapping[Wish, float]], possible: Sequence[WishName], *, before: str, reader: SentenceReader
) -> WishName | None:
    """Return the wish that the sentence reader finds in a message or one of its sentences, and that a part confirms, or None.

    ``readings`` are the probabilities of the wishes in each of them. Only wishes whose usual words the message has are
    ``possible``. ``before`` is the previous turn.
    """
    confirms = partial(_confirms, whole, before=before, reader=reader)
    for wish in possible:
        if any(each[wish] >= _MIN_SURE[wish] for each in readings) and confirms(wish):
            return wish
    either = max(readings, key=_either)
    if _either(either) >= _MIN_EITHER and _likelier(either) in possible and confirms(_likelier(either)):
        return _likelier(either)
    kept = max(readings, key=_keeping)
    is_negated = "off_record" in possible and kept["off_record"] >= _MIN_NEGATED
    return "off_record" if is_negated and _keeping(kept) >= _MIN_EITHER and confirms("off_record") else None


def _confirms(whole: str, wish: WishName, *, before: str, reader: SentenceReader) -> bool:
    """Return True if a part of a message confirms the wish that the sentence reader found in the whole message.

    A wish to remember needs no confirmation, nor does a message that has only one part. A wish to forget is never confirmed
    if the message mentions a text such as a letter: "delete the last line of the letter".

    In "don't save this, I'm pregnant", the first part confirms the wish. In "don't save the file yet, I live in Porto", no
    part does, so the message contains no wish.
    """
    if wish == "remember":
        return True
    if wish == "forget":
        parts, least = parts_of(whole), _MIN_FORGET_IN_PART
        return not is_of_a_text(fold_places(whole)) and (len(parts) <= 1 or _any_wishes(parts, wish, least, before, reader))
    parts = short_parts_of(whole)
    if len(parts) <= 1:
        return True
    if len(whole.split()) <= _MAX_SHORT_WORDS:
        return _any_wishes(parts, wish, _MIN_OFF_RECORD_IN_PART, before, reader)
    likely = [part for part in parts if may_wish(wish, _folded(part)) or may_wish_by_form(wish, _folded(part))]
    return _any_wishes(likely, wish, _MIN_OFF_RECORD_IN_LONG, before, reader)


def _any_wishes(parts: Sequence[str], wish: Wish, least: float, before: str, reader: SentenceReader) -> bool:
    return any(wishes_of(reader, part, before)[wish] >= least for part in parts)


def _likelier(wishes: Mapping[Wish, float]) -> WishName:
    """Return the likelier one of the wishes ``forget`` and ``off_record``."""
    return "forget" if wishes["forget"] >= wishes["off_record"] else "off_record"


def _either(wishes: Mapping[Wish, float]) -> float:
    return wishes["off_record"] + wishes["forget"]


def _keeping(wishes: Mapping[Wish, float]) -> float:
    return wishes["off_record"] + wishes["remember"]


def may_be_wish(text: str, reader: SentenceReader | None) -> bool:
    """Return True if a wish in a text is likelier than none, or if there is no sentence reader."""
    return reader is None or wishes_of(reader, text[:MAX_CHARACTERS], "")["none"] < _MIN_LIKELY


def may_forget(text: str, reader: SentenceReader | None) -> bool:
    """Return True if a text probably asks to forget something. Without a sentence reader, the result is False."""
    return reader is not None and wishes_of(reader, text[:MAX_CHARACTERS], "")["forget"] >= _MIN_LIKELY


def is_readable(text: str) -> bool:
    """Return True if at least half of the letters of a text are Latin. The sentence reader cannot read other scripts."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) >= len(letters)


def wishes_of(reader: SentenceReader, text: str, before: str) -> Mapping[Wish, float]:
    """Return the probability of each wish in a text. ``before`` is the previous turn."""
    return reader.read(text, before=before).wishes
