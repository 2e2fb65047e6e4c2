"""Compare claims with the sentence reader, to find the claims of a known memory that a new statement ends or repeats.

A claim is one sentence of a memory or statement: "Lives in Berlin. Locker code 4411." has two. Each claim is compared
separately, so that a move to Munich ends the first claim and leaves the second. To end a claim means to make it outdated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.parts.claims import split_claims
from holdfast.learning.changes.parts.rest import points_to_thing, rest_of
from holdfast.learning.changes.things.named_things import reports_role_holder
from holdfast.learning.changes.things.other_things import are_different
from holdfast.learning.changes.wording import shared_words, spoken_words
from holdfast.protocols import SentenceReader
from holdfast.protocols.sentence_reader import Area
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences
from holdfast.types import Memory

_CERTAIN_ENDS: Final = 0.97
"""Minimum probability with which an ending counts as certain. An uncertain ending counts only if it is the only ending.

Endings of memories that are neither the most similar one nor share two words with the new statement are always uncertain: "I no
longer use bomba rice for my paella" seems to end whatever else is known about the paella.
"""
_MIN_REPEATS: Final = 0.85
_MIN_COMMON_WORDS: Final = 2
"""Minimum number of words that an old claim and a new claim must have in common to count as similar.

It does not apply to claims of the most similar memory.
"""
_MAX_OLD_WORDS: Final = 14
_MAX_NEW_WORDS: Final = 25
"""Maximum number of words of a new claim that is compared; ``_MAX_OLD_WORDS`` is the same for an old claim.

The sentence reader is often wrong on long sentences.
"""
_MAX_NEAREST_OLD_WORDS: Final = 32
_MAX_NEAREST_NEW_WORDS: Final = 40
"""Maximum number of words of a new claim that is compared with the most similar memory.

``_MAX_NEAREST_OLD_WORDS`` is the same for the old claim. The sentence reader is rarely wrong on such pairs.
"""
_MAX_NEAREST_CLAIMS: Final = 2
"""If a memory and a new statement have at most this many claims each, all pairs of claims are compared.

With more claims, each new claim is compared only with the old claim that has the most words in common with it.
"""
_MIN_POSSIBLE: Final = 0.75
"""Minimum probability with which an old claim possibly counts as ended by a new claim that shares a word with it.

A higher minimum explains fewer outdated facts, a lower one links more memories by mistake.
"""
_MIN_POSSIBLE_UNSHARED: Final = 0.75
"""The same minimum for claims that share no word. Only claims of the most similar memory are then compared."""
_CHANGING: Final[frozenset[Area]] = frozenset({"event", "plan"})
_CHANGED: Final[frozenset[Area]] = frozenset({"home", "work", "family", "possession"})
"""Areas of life whose claims an event or a plan can end: "we moved" ends a claim about the home."""
_MAX_CLAIMS: Final = 6
"""Maximum number of claims of a memory or statement. A text with more claims is a summary and is not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Minimum probabilities with which an old claim counts as ended by a new claim.

    They are high, because a memory retired by mistake is worse than one that stays. ``training/fit_changes.py`` fits them
    to a sentence reader.
    """

    shared: float
    """Threshold for the most similar memory, if the old claim and the new claim have a word in common."""
    unshared: float
    """Threshold for the most similar memory, if the old claim and the new claim have no word in common."""
    unrelated: float
    """The same, if they are also about different areas of life."""
    farther: float
    """Threshold for memories other than the most similar one, if the claims have two words in common."""
    farther_shared: float
    """The same, if they have one word in common."""
    farther_unshared: float
    """The same, if they have no word in common."""


THRESHOLDS: Final = Thresholds(shared=0.85, unshared=0.8, unrelated=0.9, farther=0.9, farther_shared=0.95, farther_unshared=0.97)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """The effect of a new statement on the claims of a memory."""

    kept: tuple[str, ...]
    """The claims of the memory that are still true. Empty if the whole memory is outdated."""
    certain: bool
    chance: float = 1.0
    """Probability of the most probable ending."""


class ClaimComparer:
    """Compares claims with the sentence reader."""

    def __init__(self, reader: SentenceReader, *, thresholds: Thresholds = THRESHOLDS) -> None:
        self._reader = reader
        self._thresholds = thresholds

    def change(self, old: str, new: str, *, nearest: bool = True, said: str = "", whole: str = "") -> ClaimChange | None:
        """Return how a new statement changes an old memory, or None if it ends none of the memory's claims.

        Also return None if the memory or the statement has no claim, or more than ``_MAX_CLAIMS`` claims.

        ``nearest`` is True if the memory is the best match for the new statement. Only then are two further texts compared,
        because the sentence reader is often wrong about a reworded claim. ``said`` is the user's sentence that the memory comes
        from. It is compared with the new claims if the memory has only one claim, and that claim was not ended. ``whole`` is
        the message that contains the new statement. It is compared like a further new claim, except for a memory of several
        claims if the memory or the statement has more than ``_MAX_NEAREST_CLAIMS`` claims.
        """
        before, words, after = spoken_words(old)
        told = spoken_words(new)[1]
        claims = [claim for claim in split_sentences(words) if not claim.endswith("?")]
        news = _claims(told)
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
        for place, (claim, asked, chance) in enumerate(zip(claims, _with_questions(words, claims), ends, strict=True)):
            if chance:
                kept += self._rest(claim, whole or told)
            elif not (place and ends[place - 1] and asked != claim and points_to_thing(asked)):
                kept.append(asked)  # not "eight years" of "I live in Leeds. How long have you lived there? eight years"
        if nearest and not any(ends) and len(claims) == 1:
            ends, kept = self._ended_parts(claims[0], compared, alone=alone)
        if not any(ends):
            return None
        quoted = (f"{before}{' '.join(kept)}{after}",) if before and kept else tuple(kept)
        near = nearest or any(common_words(claim, each) >= _MIN_COMMON_WORDS for claim in claims for each in news)
        return ClaimChange(kept=quoted, certain=near and max(ends) >= _CERTAIN_ENDS, chance=max(ends))

    def may_end(self, old: str, new: str, *, nearest: bool = True, whole: str = "") -> bool:
        """Return True if a new statement possibly ends a claim of an old memory. ``nearest`` and ``whole`` are as in :meth:`change`.

        This is wrong far more often than :meth:`change`, so a memory must not be retired because of it.
        """
        claims = [claim for claim in split_sentences(spoken_words(old)[1]) if not claim.endswith("?")]
        news = _claims(spoken_words(new)[1])
        if not 0 < len(claims) <= _MAX_CLAIMS or not 0 < len(news) <= _MAX_CLAIMS:
            return False
        news = [*news, whole] if whole else news
        return any(self._may_end(claim, each, nearest=nearest) for claim in claims for each in news)

    def _may_end(self, old: str, new: str, *, nearest: bool) -> bool:
        if len(old.split()) > _MAX_NEAREST_OLD_WORDS or len(new.split()) > _MAX_NEAREST_NEW_WORDS:
            return False
        shared = bool(common_words(old, new))
        if not (shared or nearest) or are_different(old, new):
            return False
        return self._reader.compare(old, new).ends >= (_MIN_POSSIBLE if shared else _MIN_POSSIBLE_UNSHARED)

    def _ended_parts(self, claim: str, news: Sequence[str], *, alone: bool) -> tuple[list[float], list[str]]:
        """Split a compound claim, and compare each part with the new claims (``news``). Return two lists.

        The first list has, for each part, the probability that the part has ended. A probability below the threshold becomes
        0. The second list has the parts that are still true.

        The sentence reader is less sure about a whole compound claim, such as "my uncle, who works at the mint, has two
        dogs". ``alone`` is True if the new statement consists of one claim.
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
        """Return those parts of an ended claim that are still true, each as a sentence. ``new`` is the new claim.

        If it is unclear which part of the claim has ended, the result is empty.
        """
        rest = rest_of(claim, new, detect_language(claim) or detect_language(new), self.chance)
        return [each if each.endswith((".", "!")) else f"{each}." for each in rest if rest != [claim]]

    def chance(self, old: str, new: str) -> float:
        """Return the probability that a new claim ends an old claim."""
        return self._reader.compare(old, new).ends

    def repeats(self, old: str, new: str) -> bool:
        """Return True if a new statement says the same as an old statement."""
        old, new = spoken_words(old)[1], spoken_words(new)[1]
        short = max(len(old.split()), len(new.split())) <= _MAX_OLD_WORDS
        return short and self._reader.compare(old, new).repeats >= _MIN_REPEATS

    def _ends(self, old: str, news: Sequence[str], *, alone: bool, nearest: bool) -> float:
        """Return the highest probability that one of the new claims ends the old claim.

        Probabilities below the threshold of :meth:`_least` count as 0. ``alone`` is True if the new statement consists of
        one claim. ``nearest`` is True if the old claim belongs to the most similar memory.
        """
        limits = (_MAX_NEAREST_OLD_WORDS, _MAX_NEAREST_NEW_WORDS) if nearest else (_MAX_OLD_WORDS, _MAX_NEW_WORDS)
        if len(old.split()) > limits[0]:
            return 0.0
        sure = 0.0
        for new in news:
            least = self._least(old, new, alone=alone, nearest=nearest) if len(new.split()) <= limits[1] else None
            if least is None or are_different(old, new) or reports_role_holder(old, new):
                continue
            if (chance := self._reader.compare(old, new).ends) >= least:
                sure = max(sure, chance)
        return sure

    def _ends_in_paragraph(self, old: str, claims: Sequence[str], news: Sequence[str]) -> float:
        """Return the highest probability that one of the new claims ends ``old``. ``claims`` are all claims of the old memory.

        A new claim is compared only with the old claim that has the most words in common with it. The result is 0 if no new
        claim is compared with ``old``, or if no probability reaches its threshold.
        """
        sure = 0.0
        for new in news:
            shared = [common_words(claim, new) for claim in claims]
            most = max(shared)
            if most and shared.count(most) == 1 and claims[shared.index(most)] == old:
                sure = max(sure, self._ends(old, [new], alone=False, nearest=True))
        return sure

    def _least(self, old: str, new: str, *, alone: bool, nearest: bool) -> float | None:
        """Return the minimum probability with which the new claim counts as ending the old claim.

        Return None if the two claims must not be compared. ``alone`` is True if the new statement consists of one claim.
        ``nearest`` is True if the old claim belongs to the memory that is most similar to the new statement.

        The sentence reader is often wrong if the claims have no word in common, or if ``nearest`` is False. The minimum is
        then higher, or the claims are not compared.
        """
        common, least = common_words(old, new), self._thresholds
        if not common and not alone:
            return None
        if not nearest:
            return least.farther_unshared if not common else least.farther_shared if common == 1 else least.farther
        return least.shared if common else least.unshared if self._share_area(old, new) else least.unrelated

    def _share_area(self, old: str, new: str) -> bool:
        """Return True if two claims are about the same area of life, or if one is an event that can change the other."""
        areas = {self._reader.read(old).area, self._reader.read(new).area}
        return len(areas) == 1 or (not areas.isdisjoint(_CHANGING) and not areas.isdisjoint(_CHANGED))


def common_words(old: str, new: str) -> int:
    """Return how many words of an old claim also occur in a new claim. A word can have another ending: "vegan" and "vegana"."""
    return len(shared_words(old, new))


def is_guess(change: ClaimChange, old: Memory, *news: str) -> bool:
    """Return True if a change is too uncertain to end a memory that the user explicitly asked to remember.

    ``news`` are the new texts. The sentence reader must be certain, and a new text must share a word with the memory. Otherwise
    the reader may mistake a related matter for a change: a broken oven does not end the date of the boiler's inspection.
    """
    return old.origin == "explicit" and not (change.certain and any(common_words(old.text, new) for new in news))


def _with_questions(words: str, claims: Sequence[str]) -> Sequence[str]:
    """Return the claims of a memory, each with the question that it answers. ``words`` is the text of the memory."""
    asked = _claims(words)
    return asked if len(asked) == len(claims) else claims


def _claims(text: str) -> list[str]:
    """Return the claims (sentences) of a statement. A question is joined with the sentence that answers it."""
    claims: list[str] = []
    question = ""
    for sentence in split_sentences(text):
        if sentence.endswith("?"):
            question = sentence
            continue
        claims.append(f"{question} {sentence}".strip())
        question = ""
    return claims
