"""The two stages of training. Stage A reproduces a teacher's vectors. Stage B learns which document answers which question."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from model import Encoder
from tokens import Encoded
from torch import Tensor
from variants import Variant

Teacher = Callable[[np.ndarray, Tensor, Tensor], tuple[Tensor, list[Tensor] | None]]
"""Returns the vectors that rows should have and, if available, the states of the teacher's layers."""


TALKS = 0.3
"""Share of the batches of stage B that consist of a talk between two named people."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings of one stage. It ends after ``steps`` steps or ``seconds`` seconds, whichever comes first."""

    steps: int
    seconds: float
    batch: int
    rate: float
    old_rows: float = 0.2
    """Learning rate for vectors of old tokens, as a share of the rate for new tokens, which is five times that of the layers."""
    states: float = 0.0
    """Loss weight of the difference between the layers' states and the teacher's."""
    anchor: float = 2.0
    """Loss weight of the distance from the teacher's vectors in stage B."""
    anchor_documents: float = 1.0
    """The same, for the documents of the pairs."""
    temperature: float = 0.03
    negatives: int = 2
    contrast: float = 1.0
    """Loss weight of the contrast between right and wrong documents in stage B."""
    ranking: float = 0.0
    """Loss weight of the difference from the teacher's ranking in stage B."""
    rounds: bool = False
    """True if stage B computes with 8 bits, as the exported network does."""


class Trainer:
    """Trains one encoder on one device."""

    def __init__(self, encoder: Encoder, new_rows: np.ndarray, device: str, seed: int) -> None:
        """Store the arguments. ``new_rows`` has one boolean per token: True if its vector is new."""
        self.encoder, self.device = encoder.to(device), device
        self.random = np.random.default_rng(seed)
        self._new = torch.from_numpy(new_rows).to(device)
        self.history: list[dict[str, float]] = []

    def autocast(self) -> Any:
        """Return the context of a forward pass: bfloat16 on a GPU, float elsewhere."""
        return torch.autocast("cuda", dtype=torch.bfloat16) if self.device == "cuda" else nullcontext()

    def tensors(self, encoded: Encoded, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the token ids and lengths of some texts, on the device. On a GPU, the width is a multiple of eight."""
        ids, lengths = encoded.batch(rows)
        if self.device == "cuda":
            ids = np.pad(ids, ((0, 0), (0, -ids.shape[1] % 8)))
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)

    def vectors(self, encoded: Encoded, batch: int = 1024) -> np.ndarray:
        """Return the vectors of all texts."""
        order = np.argsort(encoded.lengths(), kind="stable")
        found = np.empty((len(encoded), 384), dtype=np.float32)
        self.encoder.eval()
        with torch.no_grad():
            for start in range(0, len(order), batch):
                rows = order[start : start + batch]
                found[rows] = self.encoder(*self.tensors(encoded, rows)).float().cpu().numpy()
        return found

    def distill(self, encoded: Encoded, teacher: Teacher, plan: Plan) -> None:
        """Run stage A: train the encoder to return the teacher's vector for each text."""

        def loss_of(rows: np.ndarray) -> tuple[Tensor, dict[str, Tensor]]:
            ids, lengths = self.tensors(encoded, rows)
            wanted, states = teacher(rows, ids, lengths)
            ours = self.encoder.states(ids, lengths)
            likeness = (F.normalize(ours[-1][:, 0].float(), dim=-1) * wanted).sum(dim=-1)
            loss = 10 * (1 - likeness).mean()
            if states is not None and plan.states:
                loss = loss + plan.states * _state_loss(ours, states, lengths)
            return loss, {"cosine": likeness.mean()}

        self._run("A", by_length(encoded.lengths(), plan.batch, self.random), loss_of, plan)

    def contrast(self, pairs: "Pairs", encoded: Encoded, teacher: Teacher, plan: Plan) -> None:
        """Run stage B: move a question's vector toward its own document and away from other documents.

        The loss also keeps the vectors of ordinary texts (``encoded``) near the teacher's vectors.
        """
        anchors = by_length(encoded.lengths(), plan.batch, self.random)

        def loss_of(chosen: np.ndarray) -> tuple[Tensor, dict[str, Tensor]]:
            questions, documents = pairs.draw(chosen, plan.negatives, self.random)
            q = self.encoder(*self.tensors(pairs.encoded, questions))
            d = self.encoder(*self.tensors(pairs.encoded, documents))
            right = torch.arange(len(questions), device=self.device)
            with torch.autocast(self.device, enabled=False):  # bfloat16 is too coarse for a low temperature
                scores = q.float() @ d.float().T / plan.temperature
            contrast = F.cross_entropy(scores, right)
            own = torch.from_numpy(documents).to(self.device)
            kept = ((1 - (d * pairs.wanted[own]).sum(-1)) * pairs.anchored[own])[: len(right)].mean()
            rows = next(anchors)
            ids, lengths = self.tensors(encoded, rows)
            away = (1 - (self.encoder(ids, lengths) * teacher(rows, ids, lengths)[0]).sum(-1)).mean()
            loss = plan.contrast * contrast + plan.anchor * away + plan.anchor_documents * kept
            parts = {"contrast": contrast, "away": away, "hit": (scores.argmax(1) == right).float().mean()}
            if plan.ranking:
                asked = pairs.wanted[torch.from_numpy(questions).to(self.device)]
                wanted = (asked @ pairs.wanted[own].T / plan.temperature).log_softmax(-1)
                ranking = F.kl_div(scores.log_softmax(-1), wanted, log_target=True, reduction="batchmean")
                loss = loss + plan.ranking * (ranking + (1 - (q * asked).sum(-1)).mean())
                parts["ranking"] = ranking
            return loss, parts

        self.encoder.round(rounds=plan.rounds)
        self._run("B", _epochs(len(pairs.items), plan.batch, self.random), loss_of, plan)
        self.encoder.round(rounds=False)

    def _run(
        self,
        stage: str,
        batches: Iterator[np.ndarray],
        loss_of: Callable[[np.ndarray], tuple[Tensor, dict[str, Tensor]]],
        plan: Plan,
    ) -> None:
        words = self.encoder.words.weight
        rest = [value for value in self.encoder.parameters() if value is not words]
        groups = [{"params": rest, "lr": plan.rate}, {"params": [words], "lr": 5 * plan.rate, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(
            groups, weight_decay=0.01, betas=(0.9, 0.98), **({"fused": True} if self.device == "cuda" else {})
        )
        share = torch.where(self._new, 1.0, plan.old_rows)[:, None]
        bases = [group["lr"] for group in groups]
        start, step, done = time.monotonic(), 0, 0.0
        self.encoder.train()
        while done < 1:
            for group, base in zip(optimizer.param_groups, bases, strict=True):
                group["lr"] = base * min(1.0, (step + 1) / 50) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(done, 1))))
            with self.autocast():
                loss, parts = loss_of(next(batches))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(rest, 1.0)
            before = words.detach().clone()
            optimizer.step()
            with torch.no_grad():
                words.copy_(before + share * (words - before))
            step += 1
            done = max(step / plan.steps, (time.monotonic() - start) / plan.seconds)
            if step % 100 == 0 or done >= 1 or step == 1:
                row = {name: round(float(value), 4) for name, value in parts.items()}
                self.history.append({"stage": stage, "step": step, "loss": round(float(loss), 4), **row})  # type: ignore[dict-item]
                if step % 500 == 0 or done >= 1 or step == 1:
                    print(f"  {stage} step {step} {time.monotonic() - start:.0f} s loss {float(loss):.4f} {row}", flush=True)


class Pairs:
    """The training data of stage B: questions, each with the document that answers it and with near misses.

    Texts are given as row numbers of ``encoded``.
    """

    def __init__(
        self, items: list[list[Variant]], talks: list[list[Variant]], encoded: Encoded, wanted: Tensor, anchored: Tensor
    ) -> None:
        """Store the arguments. ``items`` has the variants of each item.

        ``wanted`` has the teacher's vector of each text. ``anchored`` is 1 for texts that should keep this vector, otherwise 0.
        """
        self.items, self.talks, self.encoded, self.wanted, self.anchored = items, talks, encoded, wanted, anchored

    def draw(self, chosen: np.ndarray, negatives: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a batch: one question per item, the right document of each question, and near misses.

        Return the questions, and the documents with the near misses at the end. The items are those in ``chosen``. Some
        batches instead have the items of one talk between two people.
        """
        if self.talks and random.random() < TALKS:
            some = self.talks[random.integers(len(self.talks))]
        else:
            some = [self.items[number][random.integers(len(self.items[number]))] for number in chosen]
        questions = np.array([random.choice(one.questions) for one in some])
        misses = [miss for one in some for miss in random.permutation(one.misses)[:negatives]]
        return questions, np.array([*(one.document for one in some), *misses], dtype=np.int64)


def _state_loss(ours: list[Tensor], states: list[Tensor], lengths: Tensor) -> Tensor:
    """Return the mean squared difference between the states of each layer and of the teacher's layer at the same relative depth."""
    mask = (torch.arange(ours[0].shape[1], device=lengths.device)[None] < lengths[:, None])[..., None]
    total = torch.zeros((), device=lengths.device)
    for number, state in enumerate(ours):
        other = states[(number + 1) * len(states) // len(ours) - 1]
        total = total + (((state.float() - other.float()) ** 2) * mask).sum() / (mask.sum() * state.shape[-1])
    return total / len(ours)


def by_length(lengths: np.ndarray, batch: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches of rows of similar length, endlessly. Each row occurs once per epoch."""
    while True:
        order = random.permutation(len(lengths))
        for start in range(0, len(order), batch * 32):
            part = order[start : start + batch * 32]
            part = part[np.argsort(lengths[part], kind="stable")]
            cuts = [part[at : at + batch] for at in range(0, len(part), batch)]
            for number in random.permutation(len(cuts)):
                yield cuts[number]


def _epochs(size: int, batch: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield batches of items, endlessly. Each item occurs once per epoch."""
    while True:
        order = random.permutation(size)
        for start in range(0, max(size - batch + 1, 1), batch):
            yield order[start : start + batch]
