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
_MIN_NEAREST_ENDS: Final = 0.94
"""Minimum probability for a claim of the nearest memory that shares a word with the new claim."""
_CERTAIN_ENDS: Final = 0.99
"""Probability from which an ending counts as certain. An uncertain one counts only if it is the only one."""
_MIN_UNSHARED_ENDS: Final = 0.955
"""Minimum probability for claims without a common word."""
_MIN_REPEATS: Final = 0.95
_MIN_COMMON_WORDS: Final = 2
"""Minimum number of common words if another memory is nearer to the new claim."""
_MAX_OLD_WORDS: Final = 14
_MAX_NEW_WORDS: Final = 25
"""Maximum lengths of claims that are compared. On long sentences of real conversations the reader is often wrong."""
_MAX_NEAREST_OLD_WORDS: Final = 32
_MAX_NEAREST_NEW_WORDS: Final = 40
"""Maximum lengths if the old claim is in the nearest of all known memories. The reader is rarely wrong there."""
_MAX_NEAREST_CLAIMS: Final = 2
"""Maximum number of claims of a memory or a statement that counts as nearest. That of a paragraph need not be nearest in each claim."""
_NARRATION: Final = re.compile(r"\b(?:the user|user|el usuario|la usuaria|usuari[oa])\b", re.IGNORECASE)
_MIN_STEM: Final = 4
_MAX_SUFFIX: Final = 4
"""Two words are the same if one begins with the other: minimum length of the shorter one, maximum length of the rest."""
_CHANGING: Final[frozenset[Area]] = frozenset({"event", "plan"})
_CHANGED: Final[frozenset[Area]] = frozenset({"home", "work", "family", "possession"})
"""Areas of a claim that an event or a plan can end: "we moved" ends where someone lives."""
_NUMBER: Final = re.compile(r"\d+")
_NAMING_NUMBER: Final = re.compile(r"(?:\b(?:number|numero|num|no|nro|n)\b\.?[oº°]?|[#nº°]) ?\d+")
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

    def change(self, old: str, new: str, *, nearest: bool = True, said: str = "", whole: str = "") -> ClaimChange | None:
        """Return how a new statement changes an old memory, or None if it ends none of the memory's claims.

        ``nearest`` is True if no other known memory is more similar to the new statement. Then two more texts are compared,
        because the sentence reader is often wrong if a claim was reworded. ``said`` is the sentence that the memory comes
        from, and ``whole`` is the message that contains the new statement.
        """
        before, words, after = spoken_words(old)
        claims = [claim for claim in split_sentences(words) if not claim.endswith("?")]
        news = _claims(spoken_words(new)[1])
        if not 0 < len(claims) <= _MAX_CLAIMS or not 0 < len(news) <= _MAX_CLAIMS:
            return None
        alone = len(news) == 1
        if nearest and max(len(claims), len(news)) > _MAX_NEAREST_CLAIMS:
            ends = [self._ends_in_paragraph(claim, claims, news) for claim in claims]
        else:
            compared = [*news, whole] if nearest and whole and whole not in news else news
            ends = [self._ends(claim, compared, alone=alone, nearest=nearest) for claim in claims]
        if nearest and said and len(claims) == 1 and not ends[0]:
            ends = [self._ends(said, [*news, whole] if whole else news, alone=alone, nearest=True)]
        if not any(ends):
            return None
        kept = [claim for claim, chance in zip(claims, ends, strict=True) if not chance]
        quoted = (f"{before}{' '.join(kept)}{after}",) if before and kept else tuple(kept)
        return ClaimChange(kept=quoted, certain=max(ends) >= _CERTAIN_ENDS)

    def repeats(self, old: str, new: str) -> bool:
        """Return True if a new statement says the same as an old one."""
        old, new = spoken_words(old)[1], spoken_words(new)[1]
        short = max(len(old.split()), len(new.split())) <= _MAX_OLD_WORDS
        return short and self._compare(old, new).repeats >= _MIN_REPEATS

    def _ends(self, old: str, news: Sequence[str], *, alone: bool, nearest: bool) -> float:
        """Return the highest probability with which one of the new claims ends the old claim.

        Probabilities below the threshold of :meth:`_least` count as 0. ``alone`` is True if the new statement consists of
        one claim.
        """
        limits = (_MAX_NEAREST_OLD_WORDS, _MAX_NEAREST_NEW_WORDS) if nearest else (_MAX_OLD_WORDS, _MAX_NEW_WORDS)
        if len(old.split()) > limits[0]:
            return 0.0
        sure = 0.0
        for new in news:
            least = self._least(old, new, alone=alone, nearest=nearest) if len(new.split()) <= limits[1] else None
            if least is not None and not _are_numbered(old, new) and (chance := self._compare(old, new).ends) >= least:
                sure = max(sure, chance)
        return sure

    def _ends_in_paragraph(self, old: str, claims: Sequence[str], news: Sequence[str]) -> float:
        """Return the highest probability with which one of the new claims ends ``old``, a claim of a paragraph.

        A new claim can end only the claim of the paragraph that has the most words in common with it. The result is 0 if no
        probability reaches its threshold.
        """
        sure = 0.0
        for new in news:
            shared = [common_words(claim, new) for claim in claims]
            most = max(shared)
            if most and shared.count(most) == 1 and claims[shared.index(most)] == old:
                sure = max(sure, self._ends(old, [new], alone=False, nearest=True))
        return sure

    def _least(self, old: str, new: str, *, alone: bool, nearest: bool) -> float | None:
        """Return the probability that is required before a new claim ends an old one. Return None if they are not to be compared.

        The reader is often wrong on claims that have no word in common, or if another memory is more similar to the new
        claim.
        """
        common = common_words(old, new)
        if nearest:
            if common:
                return _MIN_NEAREST_ENDS
            return _MIN_UNSHARED_ENDS if alone and self._share_area(old, new) else None
        return _MIN_ENDS if common >= _MIN_COMMON_WORDS else None

    def _share_area(self, old: str, new: str) -> bool:
        """Return True if two claims are about the same area of life, or if one tells of an event that can change the other."""
        areas = {self._reader.read(old).area, self._reader.read(new).area}
        return len(areas) == 1 or (not areas.isdisjoint(_CHANGING) and not areas.isdisjoint(_CHANGED))

    def _compare(self, old: str, new: str) -> Comparison:
        if (old, new) not in self._known:
            self._known[old, new] = self._reader.compare(old, new)
        return self._known[old, new]


def common_words(old: str, new: str) -> int:
    """Return how many words of an old claim a new one has, too. A word may have another ending: "vegan" and "vegana"."""
    olds, news = (
        {word if word.startswith("=") else word.partition("'")[0] for word in meaning(_own_words(text), None)}
        for text in (old, new)
    )
    return sum(any(_is_same_word(one, other) for other in news) for one in olds)


def _own_words(text: str) -> str:
    """Return a claim without words for the user: "the user lives in Lyon" becomes "lives in Lyon"."""
    return _NARRATION.sub(" ", spoken_words(text)[1].replace("’", "'"))


def _is_same_word(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    if one == other:
        return len(shorter) >= _MIN_STEM - 1
    return len(shorter) >= _MIN_STEM and longer.startswith(shorter) and len(longer) - len(shorter) <= _MAX_SUFFIX


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
