"""Measures learning: which memories are extracted from messages, and which new statements supersede old ones.

The caller passes the learner as a function. A learner can be a set of rules, a model or a whole engine. All are measured
in the same way.
"""

import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import click

from holdfast.config.opening import open_engine
from holdfast.engine import Engine
from holdfast.errors import ModelUnavailable
from holdfast.learning.changes.end_reason import replaces
from holdfast.services import services
from holdfast.types import Message, Put
from holdfast_bench.learning.labelled_set import Case, ChangePair, Split, changes, conversations, utterances
from holdfast_bench.learning.real_talk import real_talk, show_real_talk
from holdfast_bench.learning.scores import CaseResult, ChangeResult, Judge, Learner, Score, score_case, score_change, total

Result = TypeVar("Result", CaseResult, ChangeResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results of one run."""

    utterances: Mapping[Split, Sequence[CaseResult]]
    conversations: Sequence[CaseResult]
    changes: Sequence[ChangeResult]


class EngineLearner:
    """Runs the benchmark on a whole engine: adds each conversation as a session of a new user, and digests it."""

    def __init__(self, memory: Engine) -> None:
        self._memory = memory
        self._numbers = itertools.count()

    def learn(self, messages: Sequence[Message]) -> list[Put]:
        """Add and digest a conversation, and return the memories extracted from it."""
        user = f"user{next(self._numbers)}"
        self._digest(user, [(message.role, message.text, message.origin, message.action) for message in messages])
        kept = self._memory.memories(user=user)
        return [Put(scope=memory.scope, kind=memory.kind, text=str(memory)) for memory in kept]

    def judge(self, old: str, new: str, language: str) -> bool:
        """Store the old statement as a memory, digest the new statement, and return True if the old memory is retired."""
        del language
        user = f"user{next(self._numbers)}"
        known = self._memory.remember(old, user=user, origin="auto")
        self._digest(user, [("user", new, "user", None)])
        return self._memory.get(known.id).status != "live"

    def fallbacks(self) -> int:
        """Return the number of conversations that were digested by the rule-based fallback because the model failed."""
        return sum("rules took over" in (job.error or "") for job in self._memory.jobs(states=["done"], limit=100_000))

    def _digest(self, user: str, turns: Iterable[tuple[str, str, Any, str | None]]) -> None:
        session = self._memory.session(user=user)
        for role, text, origin, action in turns:
            session.add(role, text, origin=origin, action=action)
        session.end()
        self._memory.drain()


@contextmanager
def open_learner(chat: str | None) -> Iterator[EngineLearner]:
    """Open an engine on a temporary store, with a chat model or with rules only."""
    with tempfile.TemporaryDirectory() as folder, open_engine(folder, chat=chat or "none", worker="none") as memory:
        _, problem = services(memory).chat.model()
        if problem is not None:  # otherwise rules would be measured instead of the model
            raise ModelUnavailable(f"{problem}.")
        yield EngineLearner(memory)


def measure(learner: Learner, judge: Judge, splits: Sequence[Split], *, limit: int | None = None) -> Report:
    """Score a learner on the labeled messages, and a judge on the labeled pairs of statements.

    A learner extracts memories from messages. A judge decides whether a new statement replaces an old one. With
    ``limit``, use only that many cases of each part (single messages, conversations, pairs), alternating between
    languages.
    """

    def learn(cases: Sequence[Case]) -> list[CaseResult]:
        return [score_case(case, learner) for case in _first(cases, limit)]

    return Report(
        utterances={split: learn(utterances(split)) for split in splits},
        conversations=learn(conversations()),
        changes=[score_change(pair, judge) for pair in _first(changes(), limit)],
    )


Labelled = TypeVar("Labelled", Case, ChangePair)


def _first(cases: Sequence[Labelled], limit: int | None) -> list[Labelled]:
    """Return the first ``limit`` cases, alternating between languages."""
    if limit is None:
        return list(cases)
    by_language = [[case for case in cases if case.language == language] for language in ("en", "es")]
    mixed = [case for pair in itertools.zip_longest(*by_language) for case in pair if case is not None]
    return mixed[:limit]


def run(
    *,
    split: Literal["dev", "test", "both"],
    misses: bool,
    as_json: bool,
    chat: str | None = None,
    limit: int | None = None,
) -> None:
    """Measure rules or a chat model, and print a table or JSON."""
    splits: tuple[Split, ...] = ("dev", "test") if split == "both" else (split,)
    with open_learner(chat) as learner:
        # Rules judge the two statements directly; a model judges through the whole engine.
        report = measure(learner.learn, learner.judge if chat else replaces, splits, limit=limit)
        fallbacks = learner.fallbacks()
    show(report, misses=misses, as_json=as_json)
    if fallbacks:
        click.echo(f"In {fallbacks} cases the model failed and rules took over. The scores include these cases.", err=True)


def show(report: Report, *, misses: bool, as_json: bool) -> None:
    """Print a report as a table or JSON."""
    if as_json:
        click.echo(json.dumps(_as_json(report, with_misses=misses), ensure_ascii=False, indent=2))
    else:
        _print(report, with_misses=misses)


def by_language(results: Sequence[Result]) -> dict[str, tuple[int, Score]]:
    """Return the number of results and their total score for each language. The entry ``all`` is for all languages together."""
    languages = sorted({_language(result) for result in results})
    groups = {language: [result for result in results if _language(result) == language] for language in languages}
    return {name: (len(group), total(result.score for result in group)) for name, group in {**groups, "all": results}.items()}


def _language(result: CaseResult | ChangeResult) -> str:
    return result.case.language if isinstance(result, CaseResult) else result.pair.language


def _as_json(report: Report, *, with_misses: bool) -> dict[str, Any]:
    def part(results: Sequence[Result], show: Callable[[Result], dict[str, Any] | None]) -> dict[str, Any]:
        scores = {name: {"cases": count, **_numbers(score)} for name, (count, score) in by_language(results).items()}
        shown = [line for result in results if (line := show(result))]
        return {"scores": scores, **({"misses": shown} if with_misses else {})}

    return {
        "real": [each.as_json() for each in real_talk()],
        "utterances": {split: part(results, _case_miss) for split, results in report.utterances.items()},
        "conversations": part(report.conversations, _case_miss),
        "changes": part(report.changes, _change_miss),
    }


def _numbers(score: Score) -> dict[str, Any]:
    shares = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
    counts = {name: getattr(score, name) for name in ("right", "kept", "found", "expected", "leaks")}
    return {**{name: None if share is None else round(share, 4) for name, share in shares.items()}, **counts}


def _case_miss(result: CaseResult) -> dict[str, Any] | None:
    if not result.missed and not result.wrong:
        return None
    missed = [str(item) for item in result.missed]
    return {"id": result.case.id, "text": str(result.case), "missed": missed, "wrong": list(result.wrong)}


def _change_miss(result: ChangeResult) -> dict[str, Any] | None:
    pair = result.pair
    if result.verdict == pair.replaces:
        return None
    return {"id": pair.id, "old": pair.old, "new": pair.new, "why": pair.why, "said": "replaces" if result.verdict else "keeps"}


def _print(report: Report, *, with_misses: bool) -> None:
    show_real_talk()
    click.echo(f"{'':24} {'lang':4} {'cases':>5} {'precision':>9} {'recall':>7} {'F1':>7}   counts")
    for split, results in report.utterances.items():
        _print_scores(f"utterances, {split}", results)
    _print_scores("conversations", report.conversations)
    _print_scores("changes (replaces)", report.changes)
    if with_misses:
        case_results = [result for results in (*report.utterances.values(), report.conversations) for result in results]
        _print_misses(case_results, report.changes)


def _print_scores(title: str, results: Sequence[Result]) -> None:
    for language, (count, score) in by_language(results).items():
        shares = " ".join(
            f"{'-' if share is None else f'{share:.3f}':>{width}}"
            for share, width in ((score.precision, 9), (score.recall, 7), (score.f1, 7))
        )
        leaks = f", {score.leaks} leaked" if score.leaks else ""
        counts = f"{score.right} of {score.kept} right, {score.found} of {score.expected} found{leaks}"
        click.echo(f"{title:24} {language:4} {count:5} {shares}   {counts}")
        title = ""


def _print_misses(results: Sequence[CaseResult], changes: Sequence[ChangeResult]) -> None:
    for case in filter(None, map(_case_miss, results)):
        click.echo(f"\n{case['id']}  {case['text']!r}")
        for name in ("missed", "wrong"):
            for line in case[name]:
                click.echo(f"    {name}: {line}")
    for pair in filter(None, map(_change_miss, changes)):
        click.echo(f"\n{pair['id']}  {pair['old']!r} -> {pair['new']!r}\n    said {pair['said']} ({pair['why']})")
