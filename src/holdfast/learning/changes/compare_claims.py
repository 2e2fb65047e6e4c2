"""Compare statements with the sentence reader, to find what a new statement ends or repeats of a known memory.

To end a claim means to make it outdated. The reader says how probable it is that a new statement ends something in a memory, and
which words it ends: a move to Munich ends the first claim of "Lives in Berlin. Locker code 4411.", and leaves the second.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.parts.cut import cut_ended
from holdfast.learning.changes.parts.rest import rest_of
from holdfast.learning.changes.things.named_things import reports_role_holder
from holdfast.learning.changes.things.other_things import are_different
from holdfast.learning.changes.wording import shared_words, spoken_words
from holdfast.protocols import SentenceReader
from holdfast.text.clean import fold
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences
from holdfast.types import Memory

_CERTAIN_ENDS: Final = 0.97
"""Minimum probability with which an ending counts as certain. An uncertain ending counts only if it is the only ending.

Endings of memories that are neither the most similar one nor share two words with the new statement are always uncertain: "I no
longer use bomba rice for my paella" seems to end whatever else is known about the paella.
"""
_MIN_COMMON_WORDS: Final = 2
_MIN_REPEATS: Final = 0.85
_MAX_REPEATED_WORDS: Final = 14
"""Maximum number of words of two texts that are compared for a repetition. The reader is often wrong on longer texts."""
_MIN_POSSIBLE: Final = 0.75
"""Minimum probability with which an old claim possibly counts as ended.

A higher minimum explains fewer outdated facts, a lower one links more memories by mistake.
"""
_MIN_PART: Final = 0.3
"""Minimum probability of the words between two joints with which they are what has ended of a memory that has ended."""
_MIN_REST_ENDS: Final = 0.9
"""Minimum probability with which what stays of an ended claim counts as ended, too."""
_MAX_WORDS: Final = 60
"""Maximum number of words of a memory that is compared as a whole. The sentences of a longer one are compared one by one."""
_MAX_NEW_WORDS: Final = 80
_MAX_CLAIMS: Final = 6
"""Maximum number of sentences of a memory or statement. A text with more sentences is a summary and is not compared."""
_NEARLY: Final = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Minimum probabilities with which a new statement counts as ending something in a memory.

    They are high, because a memory retired by mistake is worse than one that stays.
    """

    nearest: float
    """Threshold for the most similar memory."""
    farther: float
    """Threshold for other memories."""


THRESHOLDS: Final = Thresholds(nearest=0.92, farther=0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """The effect of a new statement on the claims of a memory."""

    kept: tuple[str, ...]
    """What is still true of the memory, as sentences. Empty if the whole memory is outdated."""
    certain: bool
    chance: float = 1.0
    """Probability of the ending."""


class ClaimComparer:
    """Compares statements with the sentence reader."""

    def __init__(self, reader: SentenceReader, *, thresholds: Thresholds = THRESHOLDS) -> None:
        self._reader = reader
        self._thresholds = thresholds

    def change(self, old: str, new: str, *, nearest: bool = True, said: str = "", whole: str = "") -> ClaimChange | None:
        """Return how a new statement changes an old memory, or None if it ends none of the memory's claims.

        Also return None if the memory or the statement has no claim, or more than ``_MAX_CLAIMS`` sentences.

        ``nearest`` is True if the memory is the best match for the new statement. ``said`` is the user's sentence that the memory
        comes from, and ``whole`` the message that contains the new statement. Both are compared, too: the reader is often wrong
        about a reworded claim, and about a sentence without the rest of its message.
        """
        before, words, after = spoken_words(old)
        claims = [claim for claim in split_sentences(words) if not claim.endswith("?")]
        news = self._news(new, whole)
        if not 0 < len(claims) <= _MAX_CLAIMS or not news:
            return None
        least = self._thresholds.nearest if nearest else self._thresholds.farther
        kept: list[str] = []
        chance = 0.0
        for unit in [words] if len(words.split()) <= _MAX_WORDS else claims:
            ends = max(self._chance(unit, news), self._chance(said, news) if said and unit is words else 0.0)
            kept += self._rest(unit, news) if ends >= least else [unit]
            chance = max(chance, ends)
        if chance < least:
            return None
        quoted = (f"{before}{' '.join(kept)}{after}",) if before and kept else tuple(kept)
        near = nearest or any(common_words(words, each) >= _MIN_COMMON_WORDS for each in news)
        return ClaimChange(kept=quoted, certain=near and chance >= _CERTAIN_ENDS, chance=chance)

    def may_end(self, old: str, new: str, *, nearest: bool = True, whole: str = "") -> bool:
        """Return True if a new statement possibly ends a claim of an old memory. ``nearest`` and ``whole`` are as in :meth:`change`.

        This is wrong far more often than :meth:`change`, so a memory must not be retired because of it.
        """
        words = spoken_words(old)[1]
        news = self._news(new, whole)
        if not 0 < len(split_sentences(words)) <= _MAX_CLAIMS or not news or len(words.split()) > _MAX_WORDS:
            return False
        if not nearest and not any(common_words(words, each) for each in news):
            return False
        return any(self.chance(words, each) >= _MIN_POSSIBLE for each in news if not are_different(words, each))

    def rest(self, old: str, new: str) -> list[str]:
        """Return what is still true of an old sentence that a new statement ends, as sentences."""
        return self._rest(old, [new])

    def chance(self, old: str, new: str) -> float:
        """Return the probability that a new claim ends an old claim."""
        return self._reader.compare(old, new).ends

    def repeats(self, old: str, new: str) -> bool:
        """Return True if a new statement says the same as an old statement."""
        old, new = spoken_words(old)[1], spoken_words(new)[1]
        short = max(len(old.split()), len(new.split())) <= _MAX_REPEATED_WORDS
        return short and self._reader.compare(old, new).repeats >= _MIN_REPEATS

    def _news(self, new: str, whole: str) -> list[str]:
        """Return the texts to compare with a memory: the new statement, and the message that contains it."""
        told = spoken_words(new)[1]
        texts = [each for each in dict.fromkeys((told, whole)) if each.strip() and len(each.split()) <= _MAX_NEW_WORDS]
        return texts if len(split_sentences(told)) <= _MAX_CLAIMS else []

    def _chance(self, old: str, news: Sequence[str]) -> float:
        """Return the probability that new texts end something in an old text: the mean of their log odds, as a probability.

        Texts about another thing are left out. It is 0 if no text is left.
        """
        about = [new for new in news if not (are_different(old, new) or reports_role_holder(old, new))]
        return _mean(self.chance(old, new) for new in about) if about else 0.0

    def _rest(self, old: str, news: Sequence[str]) -> list[str]:
        """Return those parts of an old text that are still true after new texts, each as a sentence.

        Parts that the new texts end, too, or repeat, are left out. Without probabilities of the words, rules find the parts.
        """
        compared = [self._reader.compare(old, new).gone for new in news]
        gone = [sum(chances) / len(chances) for chances in zip(*compared, strict=True)]
        if gone:
            rest = list(cut_ended(old, gone, least=_MIN_PART).kept)
        else:
            rest = [each for claim in split_sentences(old) for each in rest_of(claim, news[0], detect_language(claim))]
        said = fold(" ".join(news))
        rest = [each for each in rest if fold(each).rstrip(" .") not in said and each != old]
        left = [each for each in rest if self.chance(each, news[0]) < _MIN_REST_ENDS]
        return [each if each.endswith((".", "!", "?")) else f"{each}." for each in left]


def _mean(chances: Iterable[float]) -> float:
    """Return the probability whose log odds are the mean of those of some probabilities."""
    odds = [math.log(max(each, _NEARLY) / max(1 - each, _NEARLY)) for each in chances]
    return 1 / (1 + math.exp(-sum(odds) / len(odds)))


def common_words(old: str, new: str) -> int:
    """Return how many words of an old claim also occur in a new claim. A word can have another ending: "vegan" and "vegana"."""
    return len(shared_words(old, new))


def is_guess(change: ClaimChange, old: Memory, *news: str) -> bool:
    """Return True if a change is too uncertain to end a memory that the user explicitly asked to remember.

    ``news`` are the new texts. The sentence reader must be certain, and a new text must share a word with the memory. Otherwise
    the reader may mistake a related matter for a change: a broken oven does not end the date of the boiler's inspection.
    """
    return old.origin == "explicit" and not (change.certain and any(common_words(old.text, new) for new in news))
