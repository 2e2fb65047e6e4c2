"""Train a reader on several questions at once. An example counts only for the questions whose answer is known."""

import copy
import math
import random
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from stages import by_length
from tokenizers import Tokenizer
from tokens import Encoded
from torch import Tensor

from reader.examples import Example
from reader.inputs import MISSING, Batch, Input, batch, best_span, encode, shuffled
from reader.network import Reader
from reader.schema import HEADS, columns

WEIGHTS = {"keep": 2.0, "worth": 2.0, "consent": 2.0, "change": 2.0, "time": 0.7, "real": 0.7, "reply": 0.7}
"""Weight of each question in the loss. Questions that are not listed have weight 1."""


_MADE = ("unrelated", "crossed", "person")
"""Pairs made from other texts. All leave the old claim alone."""
_SCORES = 0.05
"""Weight of the squared distance of scores, next to that of the probabilities, if answers are held."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings of a training run: its length, learning rates and loss weights."""

    epochs: float
    batch: int
    rate: float
    rate_words: float
    rate_heads: float
    span: float
    """Loss weight of the span."""
    anchor: float
    """Loss weight of the distance between a text's vector and the embedder's vector. With 0, the layers may change freely."""
    repeats: int
    """Number of times that wishes and pairs are repeated in an epoch."""
    others: float
    """Share of the made pairs that an epoch draws: unrelated and crossed pairs, and a message and a person's other facts."""
    round_from: float
    """Share of the training after which the layers compute with 8 bits."""
    unknown: float
    """Share of the tokens that are masked in training."""
    steps: int | None
    """Maximum number of steps, for a trial run. None means no limit."""
    seconds: float
    """Seconds after which training ends, even if steps remain. The learning rate falls to its end by then."""
    hold: float
    """Loss weight of the distance from the answers of the reader that training starts from. With 0, no answer is held."""
    states: float
    """Loss weight of the distance from the features of that reader's clauses, from which verdicts on memories are read."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """Texts whose vectors should stay near the embedder's vectors, and these vectors. The texts have no previous turn."""

    encoded: Encoded
    vectors: np.ndarray


class Fit:
    """Trains one reader on one device."""

    def __init__(self, reader: Reader, made: Tokenizer, device: str, seed: int) -> None:
        """Store the arguments."""
        self.reader, self.made, self.device = reader.to(device), made, device
        self.random, self.chance = np.random.default_rng(seed), random.Random(seed)
        self.history: list[dict[str, float]] = []
        self.first: Reader | None = None
        """The reader as it was when training started, if answers are held."""

    def run(self, examples: Sequence[Example], plan: Plan, anchor: Anchor | None = None) -> None:
        """Train the reader on examples."""
        rows = self._epoch(examples, plan)
        balance = _balance(rows, self.device)
        total = math.ceil(plan.epochs * math.ceil(len(rows) / plan.batch))
        total = min(total, plan.steps or total)
        optimizer, bases = self._optimizer(plan)
        if plan.hold:
            self.first = copy.deepcopy(self.reader).eval()
            self.first.round(rounds=True)
        step, start, done = 0, time.monotonic(), 0.0
        self.reader.train()
        while done < 1:
            rows = self._epoch(examples, plan)
            inputs = encode(self.made, [shuffled(row, self.chance) for row in rows])
            lengths = np.array([len(one.ids) for one in inputs])
            order = by_length(lengths, plan.batch, self.random)
            for _ in range(math.ceil(len(rows) / plan.batch)):
                self.reader.round(rounds=done >= plan.round_from)
                share = min(1.0, (step + 1) / max(1, 0.06 * total)) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
                for group, base in zip(optimizer.param_groups, bases, strict=True):
                    group["lr"] = base * share
                loss, parts = self._loss([inputs[row] for row in next(order)], balance, plan, anchor)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.reader.parameters(), 1.0)
                optimizer.step()
                step += 1
                done = max(step / total, (time.monotonic() - start) / plan.seconds)
                if step % 500 == 0 or step == 1 or done >= 1:
                    self._note(step, time.monotonic() - start, parts)
                if done >= 1:
                    break
        self.reader.round(rounds=False)

    def _epoch(self, examples: Sequence[Example], plan: Plan) -> list[Example]:
        """Return the examples of one epoch: some are repeated, and of the pairs made from other texts only some are drawn."""
        drawn = [example for example in examples if example.how not in _MADE or self.chance.random() < plan.others]
        return [example for example in drawn for _ in range(plan.repeats if _is_repeated(example) else 1)]

    def _note(self, step: int, seconds: float, parts: dict[str, Tensor]) -> None:
        row = {name: round(float(value.detach()), 4) for name, value in parts.items()}
        self.history.append({"step": step, "seconds": round(seconds, 1), **row})
        print(f"  step {step} {seconds:.0f} s {row}", flush=True)

    def _optimizer(self, plan: Plan) -> tuple[Any, list[float]]:
        words = self.reader.trunk.words.weight
        heads = [*self.reader.answers.parameters(), *self.reader.span.parameters()]
        known = {id(value) for value in (words, *heads)}
        rest = [value for value in self.reader.parameters() if id(value) not in known]
        groups = [
            {"params": rest, "lr": plan.rate},
            {"params": [words], "lr": plan.rate_words, "weight_decay": 0.0},
            {"params": heads, "lr": plan.rate_heads},
        ]
        bases = [plan.rate, plan.rate_words, plan.rate_heads]
        return torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98)), bases

    def autocast(self) -> Any:
        """Return the context of a forward pass: bfloat16 on a GPU, float elsewhere."""
        return torch.autocast("cuda", dtype=torch.bfloat16) if self.device == "cuda" else nullcontext()

    def _tensor(self, value: np.ndarray) -> Tensor:
        return torch.from_numpy(value).to(self.device)

    def _scores(self, one: Batch, ids: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        with self.autocast():
            return self.reader(self._tensor(ids), self._tensor(one.kinds), self._tensor(one.lengths))

    def _loss(
        self, inputs: list[Input], balance: "Balance", plan: Plan, anchor: Anchor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a batch of inputs, and the loss of each question."""
        one = batch(inputs, 8 if self.device == "cuda" else 1)
        hidden = (self.random.random(one.ids.shape) < plan.unknown) & (one.ids > self.made.token_to_id("[MASK]"))
        ids = np.where(hidden, self.made.token_to_id("[UNK]"), one.ids)
        found = self._scores(one, ids)
        scores, tokens, _ = found
        held, is_pair = one.held[:, None], self._is_pair(one)[:, None]
        answers = np.where(held, MISSING, one.labels)
        inside = np.where(held & ~is_pair, MISSING, one.inside)  # no earlier answer says which words of an old text end
        labels, parts = self._tensor(answers), {}
        for number, (head, part) in enumerate(columns().items()):
            if (answers[:, number] != MISSING).any():
                wrong = F.cross_entropy(
                    scores[:, part], labels[:, number], weight=balance.weights[head], ignore_index=MISSING, reduction="sum"
                )
                parts[head] = wrong / (len(inputs) * balance.known[head])
        known = inside != MISSING
        if known.any():
            mask = self._tensor(known.astype(np.float32))
            wrong = F.binary_cross_entropy_with_logits(tokens, self._tensor((inside == 1).astype(np.float32)), reduction="none")
            parts["span"] = (wrong * mask).sum() / mask.sum()
        if self.first is not None:
            parts["hold"], parts["states"] = self._moved(self.first, (one, ids), (answers == MISSING, ~known.any(1)), found)
        if anchor is not None:
            parts["anchor"] = self._away(anchor, self.random.integers(0, len(anchor.vectors), len(inputs)))
        weights = {**WEIGHTS, "span": plan.span, "anchor": plan.anchor, "hold": plan.hold, "states": plan.states}
        return sum(weights.get(name, 1.0) * value for name, value in parts.items()), parts  # type: ignore[return-value]

    def _is_pair(self, one: Batch) -> np.ndarray:
        return one.ids[:, 0] == self.made.token_to_id("[MASK]")

    def _moved(
        self,
        first: Reader,
        read: tuple[Batch, np.ndarray],
        unknown: tuple[np.ndarray, np.ndarray],
        found: tuple[Tensor, Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Return two distances from the first reader: of the answers and spans without a known label, and of the features.

        ``read`` are the batch and its tokens with those that are masked. The first reader reads the same, so that only what training
        changes counts.
        """
        one, ids = read
        with torch.no_grad(), self.autocast():
            old, old_tokens, old_features = first(*(self._tensor(part) for part in (ids, one.kinds, one.lengths)))
        scores, tokens, features = found
        is_pair = self._is_pair(one)
        total = torch.zeros((), device=scores.device)
        for number, (head, part) in enumerate(columns().items()):
            rows = np.flatnonzero(unknown[0][:, number] & (is_pair == (head == "change")))
            if len(rows):
                chosen = self._tensor(rows)
                now, then = scores[chosen, part].log_softmax(1), old[chosen, part].log_softmax(1)
                total = total + F.kl_div(now, then, log_target=True, reduction="batchmean")
                total = total + _SCORES * (now - then).clamp(-6, 6).square().mean()
        clauses = self._tensor(np.flatnonzero(~is_pair))
        width = old_features.std(0, keepdim=True) + 1e-3
        moved = ((features - old_features) / width)[clauses].square().mean() if len(clauses) else torch.zeros_like(total)
        rows = np.flatnonzero(unknown[1] & ~is_pair)
        if not len(rows):
            return total, moved
        places = np.arange(tokens.shape[1])[None]
        inside = self._tensor(((one.kinds == 1) & (places < one.lengths[:, None]))[rows])
        away = (tokens - old_tokens)[self._tensor(rows)].square()
        return total + _SCORES * (away * inside).sum() / inside.sum(), moved

    def _away(self, anchor: Anchor, rows: np.ndarray) -> Tensor:
        """Return the mean distance between the reader's vectors of some texts and the embedder's vectors."""
        ids, lengths = anchor.encoded.batch(rows)
        with self.autocast():
            states = self.reader.states(self._tensor(ids), self._tensor(np.zeros_like(ids)), self._tensor(lengths))
        vectors = F.normalize(states[-1][:, 0].float(), dim=-1)
        return (1 - (vectors * self._tensor(anchor.vectors[rows])).sum(-1)).mean()

    def predict(self, inputs: Sequence[Input], size: int = 256) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """Return the scores of all answers, and the span of each text. Rounds as the exported reader does."""
        order = np.argsort([len(one.ids) for one in inputs], kind="stable")
        scores = np.zeros((len(inputs), max(part.stop for part in columns().values())), dtype=np.float32)
        spans: list[tuple[int, int]] = [(0, 0)] * len(inputs)
        self.reader.eval()
        self.reader.round(rounds=True)
        with torch.no_grad():
            for start in range(0, len(order), size):
                rows = order[start : start + size]
                one = batch([inputs[row] for row in rows], 8 if self.device == "cuda" else 1)
                found, tokens = (part.float().cpu().numpy() for part in self._scores(one, one.ids)[:2])
                scores[rows] = found
                for row, token_scores in zip(rows, tokens, strict=True):
                    spans[row] = best_span(token_scores, inputs[row])
        return scores, spans


def _is_repeated(example: Example) -> bool:
    """Return True if an example is trained several times per epoch: labeled wishes and pairs. Pairs made from other texts count once.

    If answers are held, all others are repeated.
    """
    is_made = example.how in (*_MADE, "joined") or example.how.endswith("among others")
    return not is_made and (len(example.labels) == 1 if example.is_held is None else not example.is_held)


@dataclass(frozen=True, kw_only=True)
class Balance:
    """The share of examples in which each question has an answer, and the weight of each answer."""

    known: dict[str, float]
    weights: dict[str, Tensor]


def _balance(rows: Sequence[Example], device: str) -> Balance:
    """Return how often each question has an answer, and a weight for each answer.

    Rare answers weigh more. The weight is the square root of (mean count / count of the answer), at least 1/3 and at most 5,
    then scaled so that the mean weight of the examples is 1.
    """
    known, weights = {}, {}
    for head, answers in HEADS.items():
        counts = np.zeros(len(answers))
        for row in rows:
            if head in row.labels:
                counts[row.labels[head]] += 1
        total = max(counts.sum(), 1.0)
        raw = np.clip(np.sqrt(total / (len(answers) * np.maximum(counts, 1.0))), 1 / 3, 5.0)
        raw = raw * total / max((raw * counts).sum(), 1e-6)
        known[head] = total / len(rows)
        weights[head] = torch.from_numpy(raw.astype(np.float32)).to(device)
    return Balance(known=known, weights=weights)
