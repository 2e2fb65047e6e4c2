"""Metrics: kappa, precision, recall, F1 and the area under the ROC curve."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the probability of each answer, row by row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def kappa(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return Cohen's kappa of two labelers: agreement beyond chance. It is 1 if both always give the same single answer."""
    agreed = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
    chance = sum(one.count(answer) * other.count(answer) for answer in {*one, *other}) / len(one) ** 2
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def precision_recall(found: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Return the precision, recall and F1 of yes-or-no answers, and the number of examples whose label is yes."""
    hits = float((found & right).sum())
    precision = hits / max(float(found.sum()), 1.0)
    recall = hits / max(float(right.sum()), 1.0)
    return {"P": precision, "R": recall, "F1": 2 * hits / max(float(found.sum() + right.sum()), 1.0), "n": int(right.sum())}


def auc(scores: np.ndarray, right: np.ndarray) -> float:
    """Return the probability that a positive example scores above a negative one; ties count half.

    NaN if one class is missing.
    """
    ups, downs = scores[right], scores[~right]
    if not len(ups) or not len(downs):
        return float("nan")
    values, places, counts = np.unique(np.concatenate([ups, downs]), return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    total = ranks[places[: len(ups)]].sum() - len(ups) * (len(ups) + 1) / 2
    return float(total / (len(ups) * len(downs))) if len(values) else float("nan")


def answers(probabilities: np.ndarray, right: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Return the metrics of a question with several answers: overall, and for each answer that occurs."""
    chosen = probabilities.argmax(axis=1)
    each = {}
    for number, name in enumerate(names):
        is_right = right == number
        if is_right.any() or (chosen == number).any():
            each[name] = {**precision_recall(chosen == number, is_right), "AUC": auc(probabilities[:, number], is_right)}
    macro = float(np.mean([row["F1"] for row in each.values() if row["n"]])) if len(right) else float("nan")
    return {"n": len(right), "accuracy": float((chosen == right).mean()), "macro F1": macro, "answers": each}


def at_false_alarms(scores: np.ndarray, is_alarm: np.ndarray, share: float) -> tuple[float, float]:
    """Return the lowest threshold whose share of false alarms is at most ``share``, and the recall at that threshold."""
    quiet = np.sort(scores[~is_alarm])[::-1]
    allowed = int(share * len(quiet))
    threshold = float(quiet[allowed]) if allowed < len(quiet) else 0.0
    return threshold, float((scores[is_alarm] > threshold).mean())


def best_threshold(scores: np.ndarray, right: np.ndarray) -> float:
    """Return the threshold with the best F1."""
    tried = np.unique(np.concatenate([np.linspace(0.05, 0.95, 91), [0.5]]))
    return float(max(tried, key=lambda one: precision_recall(scores > one, right)["F1"]))


def overlap(found: tuple[int, int], right: tuple[int, int]) -> float:
    """Return the F1 score of two spans, counted in characters."""
    common = max(0, min(found[1], right[1]) - max(found[0], right[0]))
    return 2 * common / max(found[1] - found[0] + right[1] - right[0], 1)
