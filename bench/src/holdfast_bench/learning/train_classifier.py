"""Making ``words/classifier.json`` again from the labelled set: ``python -m holdfast_bench.learning.train_classifier``.

Each clause that the rules would look at is an example; it is a good one when it holds something that should be kept.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.learning.statements.classifier import BIAS, ClauseClassifier, clause_classifier
from holdfast.learning.statements.rulebook import LANGUAGES, Rulebook, rulebook
from holdfast.learning.statements.spoken_clauses import spoken
from holdfast.learning.statements.threshold import read_clause
from holdfast_bench.learning.labelled_set import Case, cases

Example: TypeAlias = tuple[Mapping[str, float], bool]

_FEWEST = 3
"""In how many clauses something must be seen to be learnt from."""
_PENALTY = 4.0
_ROUNDS = 30
_LEAST = 0.02
"""Weights that say less are left out of the file."""


def examples(from_cases: Iterable[Case], book: Rulebook, sees: ClauseClassifier) -> Iterator[Example]:
    """Yield what a probe sees of each clause that a book cuts, and whether something in it should be kept."""
    for case in from_cases:
        if case.language != book.language:
            continue
        for sentence in spoken(str(case), book):
            for clause in sentence.clauses:
                seen = sees.features(read_clause(clause.text, clause.folded, book, book.find(clause.folded)))
                yield seen, any(item.is_in(clause.text) for item in case.keep)


def fitted(given: Sequence[Example]) -> dict[str, float]:
    """Return the weights of a logistic regression, found by Newton's method."""
    counts = Counter(name for seen, _ in given for name in seen)
    names = sorted(name for name, count in counts.items() if count >= _FEWEST)
    table = np.zeros((len(given), len(names) + 1))
    table[:, -1] = 1.0
    places = {name: place for place, name in enumerate(names)}
    for row, (seen, _) in enumerate(given):
        for name in places.keys() & seen.keys():
            table[row, places[name]] = seen[name]
    weights = _newton(table, np.array([good for _, good in given], dtype=float))
    found = {name: round(float(weights[place]), 3) for name, place in places.items()}
    return {**{name: value for name, value in found.items() if abs(value) >= _LEAST}, BIAS: round(float(weights[-1]), 3)}


def _newton(table: NDArray[np.float64], good: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit with a penalty on large weights; the matrix to solve is as large as the examples are many."""
    penalty = np.full(table.shape[1], _PENALTY)
    penalty[-1] = 0.01
    weights = np.zeros(table.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-table @ weights))
        slope = table.T @ (chance - good) + penalty * weights
        eased = table / penalty
        inner = np.diag(1 / (chance * (1 - chance) + 1e-6)) + eased @ table.T
        step = slope / penalty - (table.T @ np.linalg.solve(inner, eased @ slope)) / penalty
        weights -= step
        if np.abs(step).max() < 1e-5:
            break
    return weights


def train(from_cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Return the weights of each language.

    Where a sentence is cut depends on what the probe makes of its parts. So it is taught twice: with clauses that rules
    alone have cut, and then with those that it cuts itself. What was learnt before plays no part.
    """
    return {language: _taught(from_cases, rulebook(language), clause_classifier(language)) for language in LANGUAGES}


def _taught(from_cases: Sequence[Case], book: Rulebook, sees: ClauseClassifier) -> dict[str, float]:
    first = fitted(list(examples(from_cases, replace(book, classifier=None), sees)))
    taught = replace(book, classifier=replace(sees, weights=first))
    return fitted(list(examples(from_cases, taught, sees)))


def write(to: Path, learnt: Mapping[str, Mapping[str, float]]) -> None:
    """Write weights as the probe reads them."""
    to.write_text(json.dumps(learnt, ensure_ascii=False, sort_keys=True, indent=0) + "\n", "utf-8")


def main() -> None:
    """Learn from all that may be tuned on, and write the file in place."""
    path = Path(str(files("holdfast.learning") / "words" / "classifier.json"))
    write(path, train([*cases("train"), *cases("dev")]))
    print(f"{path}: {path.stat().st_size} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
