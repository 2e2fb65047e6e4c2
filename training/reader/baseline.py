"""A baseline for the reader: one linear classifier per question, on the embedder's unchanged vectors."""

from collections.abc import Sequence

import numpy as np

from reader.examples import Example
from reader.inputs import MISSING
from reader.measure import softmax
from reader.schema import HEADS, columns

STRENGTHS = (0.03, 0.3, 2.0)
"""Strengths of the penalty on weights. For each question, the best one on the held-out examples is used."""
STEPS = 250


def features(examples: Sequence[Example], vectors: dict[str, np.ndarray]) -> np.ndarray:
    """Return the features of each example: the vector of its text, the vector of the text before it, and two combinations.

    The combinations are the absolute difference and the product of the two vectors.
    """
    first = np.stack([vectors[example.first] if example.first else np.zeros(384, dtype=np.float32) for example in examples])
    text = np.stack([vectors[example.text] for example in examples])
    return np.concatenate([first, text, np.abs(first - text), first * text], axis=1)


def predict(examples: Sequence[Example], rows: np.ndarray) -> np.ndarray:
    """Fit classifiers on the training split, and return the scores of all answers for all examples."""
    split = np.array([example.split for example in examples])
    train = rows[split == "train"]
    rows = (rows - train.mean(axis=0)) / (train.std(axis=0) + 1e-4)
    labels = {head: np.array([example.labels.get(head, MISSING) for example in examples]) for head in HEADS}
    learn = {head: answers[split == "train"] for head, answers in labels.items()}
    tried = [rows @ _fit(rows[split == "train"], learn, strength) for strength in STRENGTHS]
    scores = np.zeros_like(tried[0])
    for head, part in columns().items():
        choose = (split == "dev") & (labels[head] != MISSING)
        losses = [_loss(found[choose, part], labels[head][choose]) for found in tried]
        scores[:, part] = tried[int(np.argmin(losses))][:, part]
    return scores


def _loss(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(-np.log(softmax(scores)[np.arange(len(labels)), labels] + 1e-9).mean()) if len(labels) else 0.0


def _fit(rows: np.ndarray, labels: dict[str, np.ndarray], strength: float) -> np.ndarray:
    """Return the matrix of linear classifiers for all questions, fitted with Adam on all rows at once."""
    matrix = np.zeros((rows.shape[1], max(part.stop for part in columns().values())), dtype=np.float32)
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    for step in range(1, STEPS + 1):
        scores = rows @ matrix
        wrong = np.zeros_like(scores)
        for head, part in columns().items():
            known = labels[head] != MISSING
            wanted = np.eye(len(HEADS[head]), dtype=np.float32)[labels[head][known]]
            wrong[known, part] = (softmax(scores[known, part]) - wanted) / max(int(known.sum()), 1)
        slope = rows.T @ wrong + strength * matrix
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        matrix -= 0.01 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return matrix
