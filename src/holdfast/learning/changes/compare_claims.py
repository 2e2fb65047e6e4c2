"""Compare claims with the sentence reader, to find the claims of a known memory that a new statement ends or repeats.

A memory may contain several claims, one per sentence: "Lives in Berlin. Locker code 4411." Each claim is compared
separately, so that a move to Munich ends the first claim and leaves the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.parts.claims import split_claims
from holdfast.learning.changes.parts.rest import points_to_thing, rest_of
from holdfast.learning.changes.wording import shared_words, spoken_words
from holdfast.protocols import Comparison, SentenceReader
from holdfast.protocols.sentence_reader import Area
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences

_CERTAIN_ENDS: Final = 0.99
"""Probability from which an ending counts as certain. An uncertain one counts only if it is the only one."""
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
"""Maximum number of claims of a memory and a statement that are all compared.

With more claims, each is compared only with the claim that is most similar to it.
"""
_CHANGING: Final[frozenset[Area]] = frozenset({"event", "plan"})
_CHANGED: Final[frozenset[Area]] = frozenset({"home", "work", "family", "possession"})
"""Areas of a claim that an event or a plan can end: "we moved" ends where someone lives."""
_NUMBER: Final = regex(r"\d+")
_NAMING_NUMBER: Final = regex(r"(?:\b(?:number|numero|num|no|nro|n)\b\.?[oº°]?|[#nº°]) ?\d+")
"""Matches a number that names a thing instead of counting or measuring it. The text is folded."""
_OWN_THING: Final = regex(r"\b(?:my|our|mi|mis|nuestr[oa]s?) (?P<thing>\w{3,})")
_OF_SOMEBODY: Final = regex(
    r"(?:\b(?!(?:it|that|what|there|here|he|she|who|let)['’]s)\w{2,}['’]s |\b(?:his|her|their|sus?) )(?P<thing>\w{3,})"
)
"""Match a thing of the user, and a thing of somebody else. The text is folded."""
_MAX_CLAIMS: Final = 6
"""Maximum number of claims of a memory that are compared. A memory with more is a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Minimum probabilities with which a claim counts as ended. A memory retired by mistake is worse than one that stays.

    ``training/fit_changes.py`` fits them to a reader.
    """

    shared: float
    """For a claim of the nearest memory that has a word in common with the new claim."""
    unshared: float
    """For a claim of the nearest memory without a common word."""
    farther: float
    """For a claim of another memory."""


THRESHOLDS: Final = Thresholds(shared=0.9, unshared=0.93, farther=0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """The effect of a new statement on the claims of a memory."""

    kept: tuple[str, ...]
    """The claims that still hold. Empty if the whole memory has ended."""
    certain: bool


class ClaimComparer:
    """Compares claims. Each pair is compared only once."""

    def __init__(self, reader: SentenceReader, *, thresholds: Thresholds = THRESHOLDS) -> None:
        self._reader = reader
        self._thresholds = thresholds
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
        compared = [*news, whole] if whole and whole not in news else news
        if nearest and max(len(claims), len(news)) > _MAX_NEAREST_CLAIMS:
            ends = [self._ends_in_paragraph(claim, claims, news) for claim in claims]
        else:
            ends = [self._ends(claim, compared if nearest else news, alone=alone, nearest=nearest) for claim in claims]
        if nearest and said and len(claims) == 1 and not ends[0]:
            ends = [self._ends(said, compared, alone=alone, nearest=True)]
        kept: list[str] = []
        for claim, chance in zip(claims, ends, strict=True):
            kept += self._rest(claim, whole or new) if chance else [claim]
        if nearest and not any(ends) and len(claims) == 1:
            ends, kept = self._ended_parts(claims[0], compared, alone=alone)
        if not any(ends):
            return None
        quoted = (f"{before}{' '.join(kept)}{after}",) if before and kept else tuple(kept)
        return ClaimChange(kept=quoted, certain=max(ends) >= _CERTAIN_ENDS)

    def _ended_parts(self, claim: str, news: Sequence[str], *, alone: bool) -> tuple[list[float], list[str]]:
        """Return how likely each part of a compound claim has ended (0 if not sure enough), and the parts that still hold.

        The reader is less sure about a compound claim than about its parts: "my uncle, who works at the mint, has two dogs".
        """
        parts = split_claims(claim, detect_language(claim) or "en")
        ends = [self._ends(part, news, alone=alone, nearest=True) for part in parts] if len(parts) > 1 else [0.0]
        kept = []
        for place, (part, chance) in enumerate(zip(parts, ends, strict=True)):
            if place and not chance and ends[place - 1] and points_to_thing(part):
                return [0.0], []  # "my brother lives there" does not stand alone
            kept += [] if chance else [part if part.endswith((".", "!")) else f"{part}."]
        return ends, kept

    def _rest(self, claim: str, new: str) -> list[str]:
        """Return the parts of an ended claim that still hold, each as a sentence."""
        rest = rest_of(claim, new, detect_language(claim), self.chance)
        return [each if each.endswith((".", "!")) else f"{each}." for each in rest if rest != [claim]]

    def chance(self, old: str, new: str) -> float:
        """Return the probability with which a new claim ends an old one."""
        return self._compare(old, new).ends

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
            if least is None or _are_numbered(old, new) or have_other_owners(old, new):
                continue
            if (chance := self._compare(old, new).ends) >= least:
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
                return self._thresholds.shared
            if not alone:
                return None
            return self._thresholds.unshared if self._share_area(old, new) else _CERTAIN_ENDS
        return self._thresholds.farther if common >= _MIN_COMMON_WORDS else None

    def _share_area(self, old: str, new: str) -> bool:
        """Return True if two claims are about the same area of life, or if one tells of an event that can change the other."""
        areas = {self._reader.read(old).area, self._reader.read(new).area}
        return len(areas) == 1 or (not areas.isdisjoint(_CHANGING) and not areas.isdisjoint(_CHANGED))

    def _compare(self, old: str, new: str) -> Comparison:
        if (old, new) not in self._known:
            self._known[old, new] = self._reader.compare(old, new)
        return self._known[old, new]


def common_words(old: str, new: str) -> int:
    """Return how many words of an old claim also occur in a new claim. A word may have another ending: "vegan" and "vegana"."""
    return len(shared_words(old, new))


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


def have_other_owners(old: str, new: str) -> bool:
    """Return True if two claims are about the same sort of thing of two owners: "my manager" and "Deepa's manager"."""
    one, two = (fold(text) for text in (old, new))
    for this, other in ((one, two), (two, one)):
        owned = {match["thing"] for match in _OF_SOMEBODY.finditer(other)}
        own = {match["thing"] for match in _OWN_THING.finditer(this)}
        if owned & own and not owned & {match["thing"] for match in _OWN_THING.finditer(other)}:
            return True
    return False


def _are_numbered(old: str, new: str) -> bool:
    """Return True if two claims differ only in a number that names a thing, as in "shelf number 1 is for tea".

    One of them may begin with more words, such as "we decided that".
    """
    claims = [fold(claim).rstrip(" .!") for claim in (old, new)]
    shorter, longer = sorted((_NUMBER.sub("#", claim) for claim in claims), key=len)
    names = [[match.group() for match in _NAMING_NUMBER.finditer(claim)] for claim in claims]
    return longer.endswith(shorter) and names[0] != names[1]
