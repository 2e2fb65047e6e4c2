"""Score extracted memories against expected memories, and a judge's verdicts against the labels.

A verdict says whether a new statement replaces an old one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from holdfast.text.clean import fold
from holdfast.types import Message, Put
from holdfast_bench.learning.labelled_set import Case, ChangePair, Item

Learner: TypeAlias = Callable[[Sequence[Message]], Sequence[Put]]
"""Takes a conversation and returns the extracted memories. Can be rules, a model or a whole engine."""

Judge: TypeAlias = Callable[[str, str, str], bool]
"""Takes an old statement, a new statement and their language. Returns True if the new statement replaces the old one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts of extracted and expected memories, and ratios of these counts. A ratio is None if its denominator is 0."""

    right: int = 0
    """Number of extracted memories that match an expected item."""
    kept: int = 0
    found: int = 0
    """Number of expected items that were extracted."""
    expected: int = 0
    leaks: int = 0
    """Number of extracted memories that contain a forbidden string. These memories also count as wrong."""

    @property
    def precision(self) -> float | None:
        """Share of the extracted memories that are right."""
        return self.right / self.kept if self.kept else None

    @property
    def recall(self) -> float | None:
        """Share of the expected memories that were extracted."""
        return self.found / self.expected if self.expected else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None if either is None."""
        if self.precision is None or self.recall is None:
            return None
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def __add__(self, other: "Score") -> "Score":
        return Score(
            right=self.right + other.right,
            kept=self.kept + other.kept,
            found=self.found + other.found,
            expected=self.expected + other.expected,
            leaks=self.leaks + other.leaks,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The result of a learner on one case."""

    case: Case
    score: Score
    missed: tuple[Item, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeResult:
    """The verdict of a judge on one pair."""

    pair: ChangePair
    verdict: bool

    @property
    def score(self) -> Score:
        """The verdict as the counts of a binary classifier. Positive means that the new statement replaces the old one."""
        hit = int(self.verdict and self.pair.replaces)
        return Score(right=hit, kept=int(self.verdict), found=hit, expected=int(self.pair.replaces))


def total(scores: Iterable[Score]) -> Score:
    """Return the sum of scores."""
    return sum(scores, Score())


def score_case(case: Case, learner: Learner) -> CaseResult:
    """Run a learner on a case and compare the extracted memories with the labels.

    Memories with the same text count once. Memories that match the same expected items also count once. A memory that
    contains a forbidden string (listed in the case's ``drop``) is wrong, even if it matches an expected item.
    """
    kept = {fold(text): text for text in map(_full_text, learner(case.messages))}.values()
    leaking = [text for text in kept if any(fold(part) in fold(text) for part in case.drop)]
    matches = {text: frozenset(n for n, item in enumerate(case.keep) if item.is_in(text)) for text in kept if text not in leaking}
    right = {items for items in matches.values() if items}
    found = frozenset[int]().union(*right)
    wrong = [text for text, items in matches.items() if not items] + leaking
    return CaseResult(
        case=case,
        score=Score(
            right=len(right), kept=len(right) + len(wrong), found=len(found), expected=len(case.keep), leaks=len(leaking)
        ),
        missed=tuple(item for n, item in enumerate(case.keep) if n not in found),
        wrong=tuple(wrong),
    )


def score_change(pair: ChangePair, judge: Judge) -> ChangeResult:
    """Run a judge on a pair of statements and compare its verdict with the label."""
    return ChangeResult(pair=pair, verdict=judge(pair.old, pair.new, pair.language))


def _full_text(put: Put) -> str:
    return f"{put.key}: {put.text}" if put.key else put.text
