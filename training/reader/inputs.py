"""Convert examples to token ids: ``[CLS] before [SEP] clause [SEP]``, or ``[MASK] old [SEP] new [SEP]`` for a pair."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from reader.examples import Example
from reader.noise import noisy
from reader.schema import HEADS

MAX_FIRST = 56
"""Maximum number of tokens of the previous turn. Its last tokens are read."""
MAX_OLD = 96
"""Maximum number of tokens of the old text of a pair. Its first tokens are read."""
MAX_TEXT = 128
MAX_TOKENS = MAX_FIRST + MAX_TEXT + 3
MISSING = -1


@dataclass(frozen=True, kw_only=True)
class Input:
    """One example in the form that the network takes."""

    ids: np.ndarray
    kinds: np.ndarray
    """0 for the first part, 1 for the text."""
    labels: np.ndarray
    """For each question, the number of the right answer, or -1 if it is unknown."""
    inside: np.ndarray
    """For each token: 1 if it belongs to the span, 0 if it does not, -1 if that is unknown.

    The span of a pair is what the new text ends in the old text.
    """
    places: np.ndarray
    """Start and end of each token in the text. Zeros for tokens outside the text."""
    is_held: bool = False


def shuffled(example: Example, chance: random.Random) -> Example:
    """Return an example with random spelling changes. If a clause is not a reply, its previous turn is sometimes left out."""
    text, spans = noisy(example.text, [example.span] if example.span else [], example.lang, chance)
    first, gone = noisy(example.first, example.gone or (), example.lang, chance) if example.first else ("", [])
    labels = example.labels
    if first and labels.get("reply") == HEADS["reply"].index("no") and chance.random() < 0.12:
        first, labels = "", {head: answer for head, answer in labels.items() if head != "act"}
    gone = None if example.gone is None else tuple(gone)
    return replace(example, first=first, text=text, span=spans[0] if spans else None, gone=gone, labels=labels)


def encode(made: Tokenizer, examples: Sequence[Example]) -> list[Input]:
    """Convert examples to inputs of the network."""
    made.no_truncation()
    firsts = made.encode_batch([example.first for example in examples], add_special_tokens=False)
    texts = made.encode_batch([example.text for example in examples], add_special_tokens=False)
    ends = [made.token_to_id(name) for name in ("[CLS]", "[MASK]", "[SEP]")]
    return [_input(example, first, text, ends) for example, first, text in zip(examples, firsts, texts, strict=True)]


def _input(example: Example, first: Any, text: Any, ends: list[int]) -> Input:
    clause, pair, end = ends
    head = first.ids[:MAX_OLD] if example.is_pair else first.ids[-MAX_FIRST:]
    most = min(MAX_TEXT, MAX_TOKENS - len(head) - 3)
    body, offsets = text.ids[:most], text.offsets[:most]
    lead = [pair if example.is_pair else clause, *head, end]
    inside = np.full(len(lead) + len(body) + 1, MISSING, dtype=np.int64)
    places = np.zeros((len(inside), 2), dtype=np.int64)
    if body:
        places[len(lead) : -1] = offsets
    if example.span is not None:
        start, stop = example.span
        inside[len(lead) : -1] = [start < high and low < stop for low, high in offsets]
    if example.gone is not None:
        old = first.offsets[: len(head)]
        inside[1 : len(lead) - 1] = [any(start < high and low < stop for start, stop in example.gone) for low, high in old]
    return Input(
        ids=np.array([*lead, *body, end], dtype=np.int64),
        kinds=np.array([0] * len(lead) + [1] * (len(body) + 1), dtype=np.int64),
        labels=np.array([example.labels.get(head, MISSING) for head in HEADS], dtype=np.int64),
        is_held=example.is_held is True,
        inside=inside,
        places=places,
    )


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Several inputs, padded to the longest."""

    ids: np.ndarray
    kinds: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    inside: np.ndarray
    held: np.ndarray


def batch(inputs: Sequence[Input], multiple: int = 1) -> Batch:
    """Pad inputs to one batch, whose width is a multiple of ``multiple``."""
    lengths = np.array([len(one.ids) for one in inputs])
    width = int(lengths.max())
    width += -width % multiple

    def padded(name: str, value: int) -> np.ndarray:
        rows = np.full((len(inputs), width), value, dtype=np.int64)
        for number, one in enumerate(inputs):
            rows[number, : len(one.ids)] = getattr(one, name)
        return rows

    labels = np.stack([one.labels for one in inputs])
    return Batch(
        ids=padded("ids", 0),
        kinds=padded("kinds", 0),
        lengths=lengths,
        labels=labels,
        inside=padded("inside", MISSING),
        held=np.array([one.is_held for one in inputs]),
    )


def best_span(scores: np.ndarray, one: Input) -> tuple[int, int]:
    """Return the run of tokens with the greatest sum of scores, as character positions. It has at least one token."""
    tokens = np.flatnonzero(one.kinds == 1)[:-1]
    if not len(tokens):
        return 0, 0
    best, best_sum, start, total = (tokens[0], tokens[0]), -np.inf, tokens[0], 0.0
    for token in tokens:
        if total <= 0:
            start, total = token, 0.0
        total += float(scores[token])
        if total > best_sum:
            best, best_sum = (start, token), total
    return int(one.places[best[0], 0]), int(one.places[best[1], 1])
