"""Fit the query gate of an embedder: a linear classifier on query vectors that separates personal from general queries.

Run it as ``python training/fit_query_gate.py MODEL``. The gate's other two settings, floor and slope, are not fitted here. They
were chosen on the tuning half of the everyday benchmark: see docs/project/decisions/recall.md.
"""

import argparse
import json
import random
from pathlib import Path

import numpy as np

import holdfast.recall.relevance
from holdfast.config.models import make_embedder

HERE = Path(__file__).resolve().parent
GATES = Path(holdfast.recall.relevance.__file__).parent / "query_gates"
FLOOR = {"floor": 3.0, "slope": 5.0}
_MAX_PERSONAL = 6000
_RIDGE = 1e-3
_STEPS = 25
_REPEATS = 4


def personal_queries(folder: Path, count: int) -> list[str]:
    """Return questions and remarks about a person's life, in both languages."""
    chance = random.Random(1)
    found: list[str] = []
    for file in sorted(folder.rglob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            asked = json.loads(line).get("q")
            found += [asked[0], asked[1], chance.choice(asked[2:])] if asked else []
    chance.shuffle(found)
    return found[:count]


def general_queries(folder: Path) -> list[str]:
    """Return requests that are unrelated to a person's life."""
    lines = [line for file in sorted(folder.rglob("general_*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line)["g"] for line in lines]


def short_queries(folder: Path, field: str) -> list[str]:
    """Return short queries, several times. The field ``p`` contains queries about a person, and ``g`` general ones.

    The other queries are whole sentences. Without these, the gate takes "my birthday" for a general query.
    """
    lines = (folder / "general" / f"short_{'personal' if field == 'p' else 'general'}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)[field] for line in lines] * _REPEATS


def fit(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic regression with an L2 penalty. The last weight is the bias.

    Both classes count the same, whatever their numbers of examples.
    """
    design = np.c_[vectors, np.ones(len(vectors))]
    ridge = np.eye(design.shape[1]) * _RIDGE
    ridge[-1, -1] = 1e-9
    balance = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-design @ weights))
        slope = design.T @ (balance * (chance - labels)) / len(labels) + ridge @ weights
        curvature = (design * (balance * chance * (1 - chance))[:, None]).T @ design / len(labels) + ridge
        weights -= np.linalg.solve(curvature, slope)
    return weights


def main() -> None:
    """Fit the gate of the model named on the command line, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--foreign-shift", type=float, default=1.0, help="2.5 for a model that knows English alone")
    options = parser.parse_args()
    model = options.model
    source = make_embedder(model)
    if source is None:
        parser.error(f"{model} is no embedder")
    pairs = HERE / "pairs"
    personal = [*personal_queries(pairs, _MAX_PERSONAL), *short_queries(pairs, "p")]
    general = [*general_queries(pairs), *short_queries(pairs, "g")]
    vectors = np.asarray(source.load().embed([*personal, *general], role="query"))
    weights = fit(vectors, np.r_[np.ones(len(personal)), np.zeros(len(general))])
    gate = {"weights": [round(float(value), 4) for value in weights[:-1]], "bias": round(float(weights[-1]), 4)}
    gate |= {**FLOOR, "foreign_shift": options.foreign_shift}
    (GATES / f"{model}.json").write_text(json.dumps(gate), "utf-8")


if __name__ == "__main__":
    main()
