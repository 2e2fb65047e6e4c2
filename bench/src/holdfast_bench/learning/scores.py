"""Scoring what a learner kept, and what a judge said, against the labels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from holdfast.text.clean import fold
from holdfast.types import Message, Put
from holdfast_bench.learning.labelled_set import Case, ChangePair, Item

Learner: TypeAlias = Callable[[Sequence[Message]], Sequence[Put]]
"""Reads a conversation and says what to keep: rules, a model, or a whole engine."""

Judge: TypeAlias = Callable[[str, str, str], bool]
"""Reads an old statement, a new one and their language, and says whether the new one takes the old one's place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts, and the shares they make. A share of nothing is None."""

    right: int = 0
    """What was kept and counts as something expected."""
    kept: int = 0
    found: int = 0
    """What was expected and was kept."""
    expected: int = 0
    leaks: int = 0
    """Memories that contain what must never be kept; they are among the wrong ones, too."""

    @property
    def precision(self) -> float | None:
        """The share of what was kept that is right."""
        return self.right / self.kept if self.kept else None

    @property
    def recall(self) -> float | None:
        """The share of what was expected that was kept."""
        return self.found / self.expected if self.expected else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall; None where either is."""
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
    """What a learner made of one case."""

    case: Case
    score: Score
    missed: tuple[Item, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeResult:
    """What a judge made of one pair."""

    pair: ChangePair
    said: bool

    @property
    def score(self) -> Score:
        """A verdict as counts: what is kept here is a verdict that the old statement goes."""
        both = int(self.said and self.pair.replaces)
        return Score(right=both, kept=int(self.said), found=both, expected=int(self.pair.replaces))


def total(scores: Iterable[Score]) -> Score:
    """Return the sum."""
    return sum(scores, Score())


def score_case(case: Case, learner: Learner) -> CaseResult:
    """Let a learner read a case, and compare what it keeps with the labels.

    The same memory twice counts once, and so do two wordings of the same items. A memory with a string of ``drop``
    is wrong whatever else it says.
    """
    kept = {fold(text): text for text in map(_said, learner(case.messages))}.values()
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
    """Let a judge read a pair."""
    return ChangeResult(pair=pair, said=judge(pair.old, pair.new, pair.language))


def _said(put: Put) -> str:
    return f"{put.key}: {put.text}" if put.key else put.text
