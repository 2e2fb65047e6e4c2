"""Scores of ranked ids against the evidence, with intervals that resample whole conversations."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast_bench.recall.datasets import Asked, Dataset, Talk

_DEPTHS = (1, 5, 10, 20)
BUDGETS = (1000, 4000)
"""Tokens of a context whose share of the evidence is told."""
_RESAMPLES = 1000
_FLOORS = (0.1, 0.2, 0.5)
"""Scores at which it is told for how many questions something is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question's scores."""

    talk: str
    category: str
    values: dict[str, float]


def score(data: Dataset, talk: Talk, question: Asked, ranked: Sequence[str], packed: Mapping[int, Collection[str]]) -> Row:
    """Compare what was found, and what a context of some size holds of it, with what should be.

    By session where the data set says so; what a context holds always goes by turns.
    """
    gold, turns = set(question.evidence), set(question.evidence)
    if data.by_session:
        home = {turn.id: sitting.id for sitting in talk.sittings for turn in sitting.turns}
        gold = set(question.sessions) or {home[id] for id in question.evidence}
        ranked = list(dict.fromkeys(home.get(id, id) for id in ranked))
    values: dict[str, float] = {}
    if gold:
        first = next((rank for rank, id in enumerate(ranked, 1) if id in gold), None)
        values["MRR"] = 1 / first if first else 0.0
        for depth in _DEPTHS:
            found = len(gold & set(ranked[:depth]))
            values[f"R@{depth}"] = found / len(gold)
            values[f"all@{depth}"] = float(found == len(gold))
        for budget in BUDGETS:
            values[_within(budget)] = len(turns & set(packed[budget])) / len(turns) if turns else 0.0
    return Row(talk=talk.id, category=question.category, values=values)


def _within(budget: int) -> str:
    return f"in {budget // 1000}k"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The means of groups of questions, with 95% intervals for all."""

    groups: dict[str, list[Row]] = field(default_factory=dict)

    def as_data(self) -> dict[str, dict[str, float]]:
        """Return the means by group."""
        return {name: {**_means(rows), "n": len(rows)} for name, rows in self.groups.items()}

    def __str__(self) -> str:
        names = [f"{kind}@{depth}" for kind in ("R", "all") for depth in _DEPTHS] + ["MRR", *map(_within, BUDGETS)]
        lines = [f"{'set':28} {'n':>5} " + " ".join(f"{name:>7}" for name in names)]
        for group, rows in self.groups.items():
            means = _means(rows)
            lines.append(f"{group:28} {len(rows):5} " + " ".join(f"{100 * means[name]:7.1f}" for name in names))
            if group == "all":
                low, high = _interval(rows, "R@10")
                lines.append(f"{'  R@10, 95% interval':28}       {100 * low:7.1f} - {100 * high:.1f} (resampled)")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention:
    """The best score of each question asked where its answer is, and where it is not: in another's conversation."""

    own: Sequence[float]
    foreign: Sequence[float]

    def __str__(self) -> str:
        pairs = [(one > other) + (one == other) / 2 for one in self.own for other in self.foreign]
        shown = "; ".join(
            f"at {floor}, something is shown for {_share(self.own, floor):.0f}% of its own, {_share(self.foreign, floor):.0f}% of others'"
            for floor in _FLOORS
        )
        return (
            f"nothing relevant: a question's own conversation scores higher than another's in {100 * sum(pairs) / len(pairs):.0f}% "
            f"of pairs; {shown}"
        )


def _share(scores: Sequence[float], floor: float) -> float:
    return 100 * sum(score >= floor for score in scores) / len(scores)


def table(rows: Sequence[Row]) -> Table:
    """Group the rows that have evidence: all, adversarial apart, and by category."""
    scored = [row for row in rows if row.values]
    groups: dict[str, list[Row]] = {"all": [row for row in scored if row.category != "adversarial"]}
    for row in scored:
        groups.setdefault(row.category if row.category == "adversarial" else f"  {row.category}", []).append(row)
    return Table(groups={name: found for name, found in groups.items() if found})


def _means(rows: Sequence[Row]) -> dict[str, float]:
    return {name: sum(row.values[name] for row in rows) / len(rows) for name in rows[0].values}


def _interval(rows: Sequence[Row], name: str) -> tuple[float, float]:
    """Return the middle 95% of the mean when whole conversations are drawn again; in one single pool, questions."""
    by_talk: dict[str, list[float]] = {}
    for row in rows:
        by_talk.setdefault(row.talk, []).append(row.values[name])
    talks, draw = list(by_talk.values()), random.Random(1)  # noqa: S311  (not for secrets)
    if len(talks) == 1:  # one pool of everything: questions are all there is to draw
        talks = [[value] for value in talks[0]]
    means = []
    for _ in range(_RESAMPLES):
        drawn = [value for values in draw.choices(talks, k=len(talks)) for value in values]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]
