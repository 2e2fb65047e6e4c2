"""Compare claims with the sentence reader, to find the claims of a known memory that a new statement ends or repeats.

A memory may contain several claims, one per sentence: "Lives in Berlin. Locker code 4411." Each claim is compared
separately, so that a move to Munich ends the first claim and leaves the second.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.wording import meaning, spoken_words
from holdfast.protocols import Comparison, SentenceReader
from holdfast.protocols.sentence_reader import Area
from holdfast.text.clean import fold
from holdfast.text.sentences import split_sentences

_MIN_ENDS: Final = 0.95
"""Minimum probability with which a claim counts as ended. A memory retired by mistake is worse than one that stays."""
_CERTAIN_ENDS: Final = 0.99
_MIN_REPEATS: Final = 0.95
_MAX_OLD_WORDS: Final = 14
_MAX_NEW_WORDS: Final = 25
"""Maximum lengths of claims that are compared. On long sentences of real conversations the reader is often wrong."""
_CHANGING: Final[frozenset[Area]] = frozenset({"event", "plan"})
_CHANGED: Final[frozenset[Area]] = frozenset({"home", "work", "family", "possession"})
"""Areas of a claim that an event or a plan can end: "we moved" ends where someone lives."""
_NUMBER: Final = re.compile(r"\d+")
_NAMING_NUMBER: Final = re.compile(r"(?:\b(?:number|numero|num|no|nro|n)\b\.?|[#nº°]) ?\d+")
"""Matches a number that names a thing instead of counting or measuring it. The text is folded."""
_MAX_CLAIMS: Final = 6
"""Maximum number of claims of a memory that are compared. A memory with more is a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """The effect of a new statement on the claims of a memory."""

    kept: tuple[str, ...]
    """The claims that still hold. Empty if the whole memory has ended."""
    certain: bool


class ClaimComparer:
    """Compares claims. Each pair is compared only once."""

    def __init__(self, reader: SentenceReader) -> None:
        self._reader = reader
        self._known: dict[tuple[str, str], Comparison] = {}

    def change(self, old: str, new: str) -> ClaimChange | None:
        """Return how a new statement changes an old memory, or None if it ends none of its claims."""
        before, words, after = spoken_words(old)
        claims = [claim for claim in split_sentences(words) if not claim.endswith("?")]
        news = _claims(spoken_words(new)[1])
        if not 0 < len(claims) <= _MAX_CLAIMS or not 0 < len(news) <= _MAX_CLAIMS:
            return None
        ends = [self._ends(claim, news, alone=len(news) == 1) for claim in claims]
        if max(ends) < _MIN_ENDS:
            return None
        kept = [claim for claim, chance in zip(claims, ends, strict=True) if chance < _MIN_ENDS]
        quoted = (f"{before}{' '.join(kept)}{after}",) if before and kept else tuple(kept)
        return ClaimChange(kept=quoted, certain=max(ends) >= _CERTAIN_ENDS)

    def repeats(self, old: str, new: str) -> bool:
        """Return True if a new statement says the same as an old one."""
        old, new = spoken_words(old)[1], spoken_words(new)[1]
        short = max(len(old.split()), len(new.split())) <= _MAX_OLD_WORDS
        return short and self._compare(old, new).repeats >= _MIN_REPEATS

    def _ends(self, old: str, news: Sequence[str], *, alone: bool) -> float:
        """Return the probability that one of the new claims ends an old one. ``alone`` is True if there is only one new claim."""
        if len(old.split()) > _MAX_OLD_WORDS:
            return 0.0
        related = [
            new
            for new in news
            if len(new.split()) <= _MAX_NEW_WORDS and self._are_related(old, new, alone=alone) and not _are_numbered(old, new)
        ]
        return max((self._compare(old, new).ends for new in related), default=0.0)

    def _are_related(self, old: str, new: str, *, alone: bool) -> bool:
        """Return True if two claims share a word. If there is only one new claim, the same area of life is enough.

        Unrelated claims are not compared, because the sentence reader often judges them wrongly.
        """
        if meaning(old, None) & meaning(new, None):
            return True
        if not alone:
            return False
        areas = {self._reader.read(old).area, self._reader.read(new).area}
        return len(areas) == 1 or (not areas.isdisjoint(_CHANGING) and not areas.isdisjoint(_CHANGED))

    def _compare(self, old: str, new: str) -> Comparison:
        if (old, new) not in self._known:
            self._known[old, new] = self._reader.compare(old, new)
        return self._known[old, new]


def _claims(text: str) -> list[str]:
    """Return the claims of a statement. The answer to a question is kept together with the question."""
    claims: list[str] = []
    question = ""
    for sentence in split_sentences(text):
        if sentence.endswith("?"):
            question = sentence
            continue
        claims.append(f"{question} {sentence}".strip())
        question = ""
    return claims


def _are_numbered(old: str, new: str) -> bool:
    """Return True if two claims differ only in a number that names a thing, as in "shelf number 1 is for tea".

    One of them may begin with more words, such as "we decided that".
    """
    claims = [fold(claim).rstrip(" .!") for claim in (old, new)]
    shorter, longer = sorted((_NUMBER.sub("#", claim) for claim in claims), key=len)
    names = [[match.group() for match in _NAMING_NUMBER.finditer(claim)] for claim in claims]
    return longer.endswith(shorter) and names[0] != names[1]
