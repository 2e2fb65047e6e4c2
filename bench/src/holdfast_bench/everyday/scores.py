"""Outcomes of the everyday benchmark, and the tables of its scores."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from holdfast_bench.everyday.people import MISSING_ANSWER, Question

MAX_UNRELATED = 2
"""Maximum number of unrelated lines in an acceptable context block."""
_KINDS = ("direct", "dated", "changed", "reply", "needs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The results of recall and of the context block for one question."""

    person: str
    language: str
    size: int
    question: Question
    rank: int | None
    """Rank of the answer among the hits of a recall, starting at 1, or None if it is not there."""
    in_block: bool
    claims_answer: bool
    """True if the block shows lines under the heading for relevant lines, False if all its lines are only related, or none."""
    lines: int
    unrelated: int
    """Number of lines in the block that have nothing to do with the question."""
    scores: Sequence[float]
    shown: Sequence[str]

    @property
    def is_miss(self) -> bool:
        """True if the context block lacks the answer, or if it shows something although the question has no answer."""
        return bool(self.lines) if self.question.tier in MISSING_ANSWER else not self.in_block

    def __str__(self) -> str:
        best = f"best score {self.scores[0]:.2f}" if self.scores else "no hits"
        lines = "".join(f"\n    {text}" for text in self.shown)
        return f"{self.question.id} {self.question.tier} {self.question.kind}: {self.question.text} (rank {self.rank}, {best}){lines}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of scores. Each row has a name and values by column."""

    rows: dict[str, dict[str, float]] = field(default_factory=dict)

    def as_data(self) -> dict[str, dict[str, float]]:
        """Return the rows as JSON data."""
        return self.rows

    def __str__(self) -> str:
        lines = []
        for name, values in self.rows.items():
            lines.append(f"{name:34}" + "  ".join(f"{column} {value:5.1f}" for column, value in values.items()))
        return "\n".join(lines)


def table(outcomes: Sequence[Outcome]) -> Table:
    """Return the scores by store size, language, and the question's tier and kind. Nothing is averaged over sizes or languages.

    The tier of a question with an answer is ``plain`` if it shares a word with the answer, otherwise ``hard``. The tier
    of a question without an answer is ``near`` (near miss) or ``off`` (off-topic).
    """
    made = Table()
    for size in sorted({outcome.size for outcome in outcomes}):
        for language in sorted({outcome.language for outcome in outcomes}):
            part = [outcome for outcome in outcomes if outcome.size == size and outcome.language == language]
            name = f"{size or 'own'} items, {language}"
            for tier in ("plain", "hard"):
                of_tier = [outcome for outcome in part if outcome.question.tier == tier]
                made.rows[f"{name}, {tier}"] = _answered(of_tier)
                for kind in _KINDS:
                    made.rows[f"{name}, {tier} {kind}"] = _answered([each for each in of_tier if each.question.kind == kind])
            for tier in MISSING_ANSWER:
                made.rows[f"{name}, {tier}"] = _unanswered([each for each in part if each.question.tier == tier])
    return Table({name: values for name, values in made.rows.items() if values["n"]})


def _answered(outcomes: Sequence[Outcome]) -> dict[str, float]:
    return {
        "n": len(outcomes),
        "first": _share(outcomes, lambda outcome: outcome.rank == 1),
        "top ten": _share(outcomes, lambda outcome: outcome.rank is not None),
        "in block": _share(outcomes, lambda outcome: outcome.in_block),
        "as related": _share(outcomes, lambda outcome: outcome.in_block and not outcome.claims_answer),
        **_lines(outcomes),
    }


def _unanswered(outcomes: Sequence[Outcome]) -> dict[str, float]:
    return {
        "n": len(outcomes),
        "quiet": _share(outcomes, lambda outcome: not outcome.lines),
        "as related": _share(outcomes, lambda outcome: bool(outcome.lines) and not outcome.claims_answer),
        **_lines(outcomes),
    }


def _lines(outcomes: Sequence[Outcome]) -> dict[str, float]:
    total = max(len(outcomes), 1)
    return {
        "lines": sum(outcome.lines for outcome in outcomes) / total,
        "unrelated": sum(outcome.unrelated for outcome in outcomes) / total,
        f"at most {MAX_UNRELATED} unrelated": _share(outcomes, lambda outcome: outcome.unrelated <= MAX_UNRELATED),
    }


def _share(outcomes: Iterable[Outcome], counts: Callable[[Outcome], bool]) -> float:
    """Return the percentage of outcomes for which the function ``counts`` returns True."""
    marks = [counts(outcome) for outcome in outcomes]
    return 100 * sum(marks) / max(len(marks), 1)
