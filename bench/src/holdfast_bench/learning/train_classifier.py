"""Trains the clause classifier, which estimates whether a clause is worth keeping as a memory.

Run it with ``python -m holdfast_bench.learning.train_classifier``. It trains on the labeled set and writes the weights to
``words/classifier.json``. Each clause that the extraction rules would examine is a training example. An example is
positive if the clause contains an expected item.
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

_MIN_CLAUSES = 3
"""Minimum number of clauses that must contain a feature; rarer features are ignored."""
_PENALTY = 4.0
"""Strength of the L2 penalty on all weights except the bias."""
_ROUNDS = 30
"""Maximum number of Newton steps."""
_MIN_WEIGHT = 0.02
"""Weights with a smaller absolute value are not written to the file."""


def examples(from_cases: Iterable[Case], book: Rulebook, classifier: ClauseClassifier) -> Iterator[Example]:
    """Yield two values per clause: the features of the clause, and True if the clause contains an expected item."""
    for case in from_cases:
        if case.language != book.language:
            continue
        for sentence in spoken(str(case), book):
            for clause in sentence.clauses:
                features = classifier.features(read_clause(clause.text, clause.folded, book, book.find(clause.folded)))
                yield features, any(item.is_in(clause.text) for item in case.keep)


def fitted(labeled: Sequence[Example]) -> dict[str, float]:
    """Return the weights of a logistic regression, fitted with Newton's method."""
    counts = Counter(name for features, _ in labeled for name in features)
    names = sorted(name for name, count in counts.items() if count >= _MIN_CLAUSES)
    table = np.zeros((len(labeled), len(names) + 1))
    table[:, -1] = 1.0
    columns = {name: column for column, name in enumerate(names)}
    for row, (features, _) in enumerate(labeled):
        for name in columns.keys() & features.keys():
            table[row, columns[name]] = features[name]
    weights = _newton(table, np.array([positive for _, positive in labeled], dtype=float))
    rounded = {name: round(float(weights[column]), 3) for name, column in columns.items()}
    return {**{name: value for name, value in rounded.items() if abs(value) >= _MIN_WEIGHT}, BIAS: round(float(weights[-1]), 3)}


def _newton(table: NDArray[np.float64], positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit a logistic regression with an L2 penalty by Newton's method.

    A step of the method usually solves a linear system with one row per feature. Here, each step solves an equivalent
    system with one row per example.
    """
    penalty = np.full(table.shape[1], _PENALTY)
    penalty[-1] = 0.01
    weights = np.zeros(table.shape[1])
    for _ in range(_ROUNDS):
        probability = 1 / (1 + np.exp(-table @ weights))
        gradient = table.T @ (probability - positive) + penalty * weights
        scaled = table / penalty
        inner = np.diag(1 / (probability * (1 - probability) + 1e-6)) + scaled @ table.T
        step = gradient / penalty - (table.T @ np.linalg.solve(inner, scaled @ gradient)) / penalty
        weights -= step
        if np.abs(step).max() < 1e-5:
            break
    return weights


def train(from_cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Return the weights per language.

    How a sentence is split into clauses depends on the classifier, so training has two passes. In the first pass, only rules
    split the sentences. In the second pass, the classifier from the first pass helps to split them. Weights from earlier
    trainings are not used.
    """
    return {language: _train_language(from_cases, rulebook(language), clause_classifier(language)) for language in LANGUAGES}


def _train_language(from_cases: Sequence[Case], book: Rulebook, classifier: ClauseClassifier) -> dict[str, float]:
    first = fitted(list(examples(from_cases, replace(book, classifier=None), classifier)))
    second_pass = replace(book, classifier=replace(classifier, weights=first))
    return fitted(list(examples(from_cases, second_pass, classifier)))


def write(to: Path, weights: Mapping[str, Mapping[str, float]]) -> None:
    """Write the weights in the format that the classifier reads."""
    to.write_text(json.dumps(weights, ensure_ascii=False, sort_keys=True, indent=0) + "\n", "utf-8")


def main() -> None:
    """Train on the files of the set that are meant for tuning, and replace the classifier's weights in the package."""
    path = Path(str(files("holdfast.learning") / "words" / "classifier.json"))
    write(path, train([*cases("train"), *cases("dev")]))
    print(f"{path}: {path.stat().st_size} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
