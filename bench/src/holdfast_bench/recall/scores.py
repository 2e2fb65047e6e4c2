"""Compares ranked ids with the evidence, which is the set of turns or sessions that answer a question.

Confidence intervals are computed by resampling whole conversations.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast_bench.recall.datasets import Conversation, Dataset, Question

_DEPTHS = (1, 5, 10, 20)
BUDGETS = (1000, 4000)
"""Context sizes in tokens. For each, the report shows the share of the evidence that fits into the context."""
_RESAMPLES = 1000
"""Number of bootstrap samples."""
_FLOORS = (0.1, 0.2, 0.5)
"""Minimum scores. For each, the report shows the share of questions whose best hit has at least this score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The scores of one question."""

    conversation: str
    category: str
    values: dict[str, float]


def score(
    data: Dataset, conversation: Conversation, question: Question, ranked: Sequence[str], packed: Mapping[int, Collection[str]]
) -> Row:
    """Score the ranked ids of a question against its evidence (the turns or sessions that answer it).

    ``packed`` contains, for each size of a context block, the ids of the turns that fit into it. They are scored, too.
    If the data set has ``by_session``, each ranked id is first replaced with the id of its session. Contexts are always
    scored by turn.
    """
    gold, turns = set(question.evidence), set(question.evidence)
    if data.by_session:
        session_of = {turn.id: session.id for session in conversation.sessions for turn in session.turns}
        gold = set(question.sessions) or {session_of[id] for id in question.evidence}
        ranked = list(dict.fromkeys(session_of.get(id, id) for id in ranked))
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
    return Row(conversation=conversation.id, category=question.category, values=values)


def _within(budget: int) -> str:
    return f"in {budget // 1000}k"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Mean scores per group of questions, with a 95% confidence interval for the group of all questions."""

    groups: dict[str, list[Row]] = field(default_factory=dict)

    def as_data(self) -> dict[str, dict[str, float]]:
        """Return the mean scores and the number of questions of each group."""
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
    """Scores of the best hits, for two groups of questions.

    Questions in ``own`` were asked on the conversation they are about. Questions in ``foreign`` were asked on another
    conversation, which cannot answer them, so their scores should be lower.
    """

    own: Sequence[float]
    foreign: Sequence[float]

    def __str__(self) -> str:
        pairs = [(one > other) + (one == other) / 2 for one in self.own for other in self.foreign]
        shown = "; ".join(
            f"at {floor}, there is a hit for {_share(self.own, floor):.0f}% of own, {_share(self.foreign, floor):.0f}% of foreign questions"
            for floor in _FLOORS
        )
        return (
            f"nothing relevant: own questions score higher than foreign ones in {100 * sum(pairs) / len(pairs):.0f}% "
            f"of pairs; {shown}"
        )


def _share(scores: Sequence[float], floor: float) -> float:
    return 100 * sum(score >= floor for score in scores) / len(scores)


def table(rows: Sequence[Row]) -> Table:
    """Group the questions and return the mean scores of each group. Questions without evidence are left out.

    The group ``all`` contains all questions except those of the category ``adversarial``. In addition, each category is a
    group.
    """
    scored = [row for row in rows if row.values]
    groups: dict[str, list[Row]] = {"all": [row for row in scored if row.category != "adversarial"]}
    for row in scored:
        groups.setdefault(row.category if row.category == "adversarial" else f"  {row.category}", []).append(row)
    return Table(groups={name: found for name, found in groups.items() if found})


def _means(rows: Sequence[Row]) -> dict[str, float]:
    return {name: sum(row.values[name] for row in rows) / len(rows) for name in rows[0].values}


def _interval(rows: Sequence[Row], name: str) -> tuple[float, float]:
    """Return the 95% bootstrap interval of one score's mean over the questions.

    Whole conversations are resampled. If there is only one conversation, single questions are resampled.
    """
    by_conversation: dict[str, list[float]] = {}
    for row in rows:
        by_conversation.setdefault(row.conversation, []).append(row.values[name])
    conversations, rng = list(by_conversation.values()), random.Random(1)  # noqa: S311  (not for secrets)
    if len(conversations) == 1:  # one conversation: resample its questions instead
        conversations = [[value] for value in conversations[0]]
    means = []
    for _ in range(_RESAMPLES):
        drawn = [value for values in rng.choices(conversations, k=len(conversations)) for value in values]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]
