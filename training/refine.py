"""Continue stage B from a published model, with several variants and seeds at once on one GPU, in a few minutes.

Stage B learns which document answers which question. Here, the documents are also short memories in both languages, which is what a
store mostly holds. In talks between two people, the published model's ranking is kept.

``data/refine_data.py`` builds the input. Two results are written. ``metrics.json`` has the metrics of every run on the held-out
pairs. The weights of every variant (the mean of its seeds) are written in 8 bits. ``--apply`` writes a network from them.
"""

import argparse
import io
import json
import lzma
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evaluate
import export
import numpy as np
import torch
import torch.nn.functional as F
from corpus import read_items
from model import MATRIX_TOP, Encoder, Weights, dequantize
from stages import Trainer, by_length
from tokens import Encoded, encode, read_vocabulary, tokenizer
from torch import Tensor

HERE = Path(__file__).resolve().parent
NETWORK = HERE.parent / "src" / "holdfast_models" / "talk-embed-s"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings of one variant."""

    memories: float = 0.5
    """Share of draws in which the document is a short memory."""
    ranking: float = 0.0
    """Loss weight of the difference from the published model's ranking, in batches of talks."""
    words: bool = False
    """True if the token vectors are also trained."""
    rate: float = 1e-4
    anchor: float = 2.0
    """Loss weight of the distance from the published model's vectors."""
    hidden: float = 0.0
    """Share of the tokens that are hidden in questions and documents."""

    @property
    def learned(self) -> tuple[str, ...]:
        """Return the prefixes of the names of trained parameters."""
        return ("layers.", "norm.", "words.") if self.words else ("layers.", "norm.")


VARIANTS = {
    "utterances": Plan(memories=0.0),
    "memories": Plan(),
    "talks": Plan(ranking=1.0),
    "words": Plan(ranking=1.0, words=True),
    "fast": Plan(ranking=1.0, words=True, rate=2e-4, anchor=1.0),
    "faster": Plan(ranking=2.0, words=True, rate=4e-4, anchor=0.5),
    "fastest": Plan(ranking=2.0, words=True, rate=8e-4, anchor=0.25),
    "hidden": Plan(ranking=2.0, words=True, rate=8e-4, anchor=0.25, hidden=0.12),
}
CHOSEN_BY = tuple(
    f"{file} {kind}" for file in ("en4", "es2") for kind in ("direct", "other-language", "memory direct", "memory hard")
)
"""The variant is chosen by the mean R@1 and R@10 of these measures. They use held-out pairs, by author."""
TALKS = 0.35
"""Share of the batches that consist of a talk between two named people."""
OTHER_LANGUAGE = 0.4
"""Share of the memories that are drawn in the other language."""
THIRD_PERSON = 0.4
"""Share of the memories that are drawn in the third person, if the rules could rewrite them."""
LONGER = 0.4
"""Share of the utterances that are drawn within a longer message."""
TEMPERATURE = 0.03
DOUBTFUL = 0.9
"""Cosine of the old vectors above which the document of another item may answer the question, too. It then counts as no mistake."""
SPECIAL = 103
"""Number of the last special token in the vocabulary."""
UNROUNDED = 0.7
"""Share of the run before rounding to 8 bits begins."""


class Data:
    """The data of all runs: texts as token ids, and items that refer to their texts by position."""

    def __init__(self, path: Path) -> None:
        file = np.load(io.BytesIO(lzma.decompress(path.read_bytes())))
        self.encoded = Encoded(ids=file["ids"], starts=file["starts"])
        made = json.loads(bytes(file["items"]))
        self.items, self.talks = made["items"], made["talks"]
        self.anchors, self.targets = file["anchors"], file["targets"]

    def draw(self, chosen: np.ndarray, plan: Plan, random: np.random.Generator) -> "Batch":
        """Draw a batch: one question per item, the right document of each question, and two near misses per item.

        The items are those in ``chosen``. Some batches instead have the items of one talk between two people.
        """
        is_talk = random.random() < TALKS
        some = (
            self.talks[random.integers(len(self.talks))]
            if is_talk
            else [_one(self.items[number], plan, random) for number in chosen]
        )
        questions = np.array([random.choice(one[0]) for one in some])
        misses = [miss for one in some for miss in random.permutation(one[2])[:2]]
        documents = np.array([*(one[1] for one in some), *misses], dtype=np.int64)
        return Batch(questions=questions, documents=documents, is_talk=is_talk)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Questions and documents, as text numbers. The first documents answer the questions; the others are near misses."""

    questions: np.ndarray
    documents: np.ndarray
    is_talk: bool


def _one(item: dict[str, Any], plan: Plan, random: np.random.Generator) -> tuple[Any, ...]:
    """Return the questions of an item, and its document and near misses in a random form."""
    forms = item["forms"]
    if "memory" in forms and random.random() < plan.memories:
        name = "other" if random.random() < OTHER_LANGUAGE else "memory"
        return item["q"], *forms[f"{name} third" if f"{name} third" in forms and random.random() < THIRD_PERSON else name]
    return item["q"], *forms["longer" if "longer" in forms and random.random() < LONGER else "plain"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The data and options that all runs share."""

    data: Data
    weights: Weights
    dev: list[dict[str, Any]]
    tokenizer: Any
    options: argparse.Namespace
    scratch: Path
    start: float

    @property
    def runs(self) -> list[tuple[str, int]]:
        """Return the pairs of variant and seed to run."""
        return [(name, seed) for name in self.options.variants for seed in self.options.seeds]

    def say(self, text: str) -> None:
        """Print a line with the time."""
        print(f"[{time.monotonic() - self.start:.0f} s] {text}", flush=True)


def main() -> None:
    """Run all variants, or write a network from a result."""
    options = _options()
    weights = dequantize(options.network / "model.onnx")
    if options.apply:
        print(f"{export.write(apply(weights, options.apply), options.out) / 1e6:.1f} MB")
        return
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(
            start=time.monotonic(),
            data=Data(options.data / "refine.npz.xz"),
            weights=weights,
            dev=read_items(options.data / "dev.jsonl.xz"),
            tokenizer=tokenizer(read_vocabulary(options.network / "vocab.txt")),
            options=options,
            scratch=Path(folder),
        )
        setup.say(f"{len(setup.data.items)} items, {len(setup.data.anchors)} anchors, {len(setup.runs)} runs")
        # Fork before CUDA starts: the data are shared.
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=_train, args=(setup, name, seed)) for name, seed in setup.runs]
        for child in children:
            child.start()
        for child in children:
            child.join()
        _collect(setup)
        setup.say("done")


def _train(setup: Setup, name: str, seed: int) -> None:
    Run(setup, name, seed).run(setup.scratch / f"{name}-{seed}.npz")


class Run:
    """One variant with one seed."""

    def __init__(self, setup: Setup, name: str, seed: int) -> None:
        """Start from the published weights."""
        torch.manual_seed(seed)
        self.device = _device()
        if self.device == "cuda":
            torch.cuda.set_per_process_memory_fraction(0.93 / len(setup.runs))
        self.setup, self.data, self.options, self.name = setup, setup.data, setup.options, f"{name}-{seed}"
        self.plan, self.random = VARIANTS[name], np.random.default_rng(seed)
        self.encoder, self.mask = setup.weights.encoder().to(self.device), setup.tokenizer.token_to_id("[MASK]")
        with torch.no_grad():
            self.old = self._embed(np.arange(len(self.data.encoded)))

    def run(self, path: Path) -> None:
        """Train until the deadline, measure, and write the layers."""
        began, step, done = time.monotonic(), 0, 0.0
        seconds = self.options.deadline - (began - self.setup.start)
        for name, value in self.encoder.named_parameters():
            value.requires_grad_(name.startswith(self.plan.learned))
        learned = [value for value in self.encoder.parameters() if value.requires_grad]
        optimizer = torch.optim.AdamW(learned, lr=self.plan.rate, weight_decay=0.01, betas=(0.9, 0.98))
        batches, anchors = _epochs(len(self.data.items), self.options.batch, self.random), self._anchors()
        while done < 1:
            self.encoder.round(rounds=done > UNROUNDED)
            share = min(1.0, (step + 1) / 20) * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))
            optimizer.param_groups[0]["lr"] = self.plan.rate * share
            optimizer.zero_grad(set_to_none=True)
            parts = self._backward(next(batches), next(anchors))
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            step += 1
            done = max(step / self.options.steps, (time.monotonic() - began) / seconds)
            if step % 100 == 0 or done >= 1:
                self.setup.say(f"{self.name} step {step} {' '.join(f'{key} {value:.3f}' for key, value in parts.items())}")
        self.encoder.round(rounds=False)
        tensors = Weights.of(self.encoder).tensors
        np.savez(path, **{name: value for name, value in tensors.items() if name.startswith(self.plan.learned)})  # type: ignore[arg-type]
        path.with_suffix(".json").write_text(json.dumps({"steps": step, **measure(self.encoder, self.setup)}))

    def _anchors(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for rows in by_length(self.data.encoded.lengths()[self.data.anchors], self.options.batch, self.random):
            yield self.data.anchors[rows], self.data.targets[rows]

    def _backward(self, chosen: np.ndarray, anchor: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
        """Run a forward and a backward pass, and return the parts of the loss."""
        batch = self.data.draw(chosen, self.plan, self.random)
        right = torch.arange(len(batch.questions), device=self.device)
        q, d = (self._embed(rows, hidden=self.plan.hidden) for rows in (batch.questions, batch.documents))
        old_q, old_d = self.old[batch.questions], self.old[batch.documents]
        scores = q @ d.T / TEMPERATURE
        contrast = F.cross_entropy(scores.masked_fill(self._doubtful(old_d, len(right)), float("-inf")), right)
        kept = (1 - (d * old_d).sum(-1))[: len(right)].mean()
        loss = contrast + 0.5 * self.plan.anchor * kept
        parts = {"contrast": contrast.item(), "kept": kept.item()}
        if batch.is_talk and self.plan.ranking:
            wanted = (old_q @ old_d.T / TEMPERATURE).log_softmax(-1)
            ranking = F.kl_div(scores.log_softmax(-1), wanted, log_target=True, reduction="batchmean")
            loss = loss + self.plan.ranking * ranking
            parts["ranking"] = ranking.item()
        loss.backward()
        away = (1 - (self._embed(anchor[0]) * self.old[anchor[1]]).sum(-1)).mean()
        (self.plan.anchor * away).backward()
        return {**parts, "away": away.item()}

    def _doubtful(self, old: Tensor, asked: int) -> Tensor:
        """Return True for each question and each document of another item that says nearly the same as the right one."""
        near = old[:asked] @ old[:asked].T >= DOUBTFUL
        near.fill_diagonal_(False)
        return F.pad(near, (0, len(old) - asked))

    def _embed(self, rows: np.ndarray, *, hidden: float = 0.0) -> Tensor:
        """Return the vectors of some texts. Texts of similar length are computed together.

        A share of the tokens, ``hidden``, is replaced with ``[MASK]``.
        """
        order = np.argsort(self.data.encoded.lengths()[rows], kind="stable")
        found = []
        for part in np.array_split(order, max(1, len(order) // 256)):
            ids, lengths = self.data.encoded.batch(rows[part])
            ids = np.pad(ids, ((0, 0), (0, -ids.shape[1] % 8)))
            if hidden:
                ids = np.where((self.random.random(ids.shape) < hidden) & (ids > SPECIAL), self.mask, ids)
            with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.device == "cuda"):
                found.append(
                    self.encoder(torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)).float()
                )
        return torch.cat(found)[torch.from_numpy(np.argsort(order)).to(self.device)]


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def measure(encoder: Encoder, setup: Setup) -> dict[str, Any]:
    """Evaluate an encoder in float on the held-out pairs."""
    trainer = Trainer(encoder, np.zeros(1, dtype=bool), _device(), 0)
    return evaluate.evaluate(setup.dev, lambda texts: trainer.vectors(encode(setup.tokenizer, texts, max_tokens=128), 512))


def score(found: dict[str, Any]) -> float:
    """Return the score by which the best variant is chosen: the mean of R@1 and R@10 over the sets in ``CHOSEN_BY``."""
    return float(np.mean([found[name][depth] for name in CHOSEN_BY for depth in ("R@1", "R@10")]))


def _collect(setup: Setup) -> None:
    """Average the seeds' weights, print a table, and write the results."""
    results: dict[str, Any] = {"published": measure(setup.weights.encoder(), setup)}
    layers: dict[str, dict[str, np.ndarray]] = {}
    for name in setup.options.variants:
        stems = [f"{name}-{seed}" for other, seed in setup.runs if other == name]
        layers |= {stem: dict(np.load(setup.scratch / f"{stem}.npz")) for stem in stems}
        results |= {stem: json.loads((setup.scratch / f"{stem}.json").read_text()) for stem in stems}
        mean = {key: np.mean([layers[stem][key] for stem in stems], axis=0) for key in layers[stems[0]]}
        layers[f"{name}-mean"] = mean
        results[f"{name}-mean"] = measure(Weights(tensors={**setup.weights.tensors, **mean}).encoder(), setup)
        results[name] = float(np.mean([score(results[stem]) for stem in stems]))
    for name, found in results.items():
        if isinstance(found, dict):
            shown = " ".join(f"{key} {found[key]['R@1']:.3f}/{found[key]['R@10']:.3f}" for key in CHOSEN_BY)
            print(f"{name:16} steps {found.get('steps', 0):5} score {score(found):.4f} {shown}", flush=True)
    (setup.options.out / "metrics.json").write_text(json.dumps(results, indent=1))
    for name in setup.options.variants:
        pack(layers[f"{name}-mean"], setup.options.out / f"{name}.npz")


def pack(layers: dict[str, np.ndarray], path: Path) -> None:
    """Write weights in 8 bits, as in the exported network. The vectors of tokens get a file of their own, because of its size."""
    words = layers.get("words.weight")
    if words is not None:
        values, scale = export.quantize(words, export.ROW_TOP)
        np.savez_compressed(path.with_name(f"{path.stem}-words.npz"), **{"words.weight": values, "words.weight_scale": scale})
    packed = {}
    for name, value in layers.items():
        if name == "words.weight":
            continue
        if value.ndim == 2:
            packed[name], packed[f"{name}_scale"] = export.quantize(value, MATRIX_TOP)
        else:
            packed[name] = value.astype(np.float32)
    np.savez_compressed(path, **packed)  # type: ignore[arg-type]


def apply(weights: Weights, paths: Sequence[Path]) -> Weights:
    """Return the weights, with those in files that ``pack`` wrote replaced."""
    replaced = {}
    for file in map(np.load, paths):
        for name in file.files:
            if not name.endswith("_scale"):
                replaced[name] = file[name].astype(np.float32)
                if f"{name}_scale" in file.files:
                    replaced[name] *= file[f"{name}_scale"][:, None]
    return Weights(tensors={**weights.tensors, **replaced})


def _epochs(size: int, batch: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    while True:
        order = random.permutation(size)
        for at in range(0, max(size - batch + 1, 1), batch):
            yield order[at : at + batch]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "bundle")
    parser.add_argument("--network", type=Path, default=NETWORK)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", HERE / "out")))
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--deadline", type=float, default=110.0, help="seconds after which training ends")
    parser.add_argument("--apply", type=Path, nargs="+", help="write the network with these weights to --out instead")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
