"""Continue stage B from a published model, with several variants and seeds at once on one GPU, in about two minutes.

Stage B learns which document answers which question. No variant was better than the published model in ``frozen.py``;
``README.md`` has the numbers.

The token vectors stay fixed, and only the layers are trained. ``data/refine_data.py`` builds the input. Two results are
written. ``metrics.json`` has the metrics of every run on the held-out pairs. The layers of the best variant (each seed, and
the mean of the seeds' weights) are written in 8 bits. ``--apply`` writes a network from such a file.
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
from collections.abc import Iterator
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
VARIANTS: dict[str, dict[str, Any]] = {
    "same": {"translated": 0.0, "long": 0.0, "rate": 1e-4, "anchor": 2.0},
    "translated": {"translated": 0.5, "long": 0.0, "rate": 1e-4, "anchor": 2.0},
    "long": {"translated": 0.5, "long": 0.2, "rate": 1e-4, "anchor": 2.0},
    "fast": {"translated": 0.5, "long": 0.2, "rate": 2.5e-4, "anchor": 1.0},
}
"""For each variant: share of draws with a translated side, share of batches of long messages, learning rate, anchor weight."""
CHOSEN_BY = ("en4 direct", "en4 other-language", "es2 direct", "es2 other-language")
"""The variant is chosen by the mean R@1 and R@10 of these measures. They use held-out pairs, by author."""
TALKS = 0.2
TEMPERATURE = 0.03
LONG_BATCH = 64
UNROUNDED = 0.7
"""Share of the run before rounding to 8 bits begins."""
LEARNED = ("layers.", "norm.")
"""Prefixes of the names of trained parameters."""


class Data:
    """The data of all runs: texts as token ids, and items that refer to their texts by position."""

    def __init__(self, path: Path) -> None:
        file = np.load(io.BytesIO(lzma.decompress(path.read_bytes())))
        self.encoded = Encoded(ids=file["ids"], starts=file["starts"])
        made = json.loads(bytes(file["items"]))
        self.items, self.talks = made["items"], made["talks"]
        self.long = [item for item in self.items if item["long"]]
        self.anchors, self.targets = file["anchors"], file["targets"]

    def draw(self, chosen: np.ndarray, plan: dict[str, Any], random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a batch: one question per item, the right document of each question, and two near misses per item.

        Return the questions, and the documents with the near misses at the end. The items are those in ``chosen``. Some
        batches instead have random items within long messages, or the items of one talk between two people.
        """
        chance = random.random()
        if chance < plan["long"]:
            some = [
                (self.long[number]["q"], *self.long[number]["long"])
                for number in random.choice(len(self.long), min(LONG_BATCH, len(self.long)), False)
            ]
        elif chance < plan["long"] + TALKS:
            some = self.talks[random.integers(len(self.talks))]
        else:
            some = [self._one(self.items[number], plan, random) for number in chosen]
        questions = np.array([random.choice(one[0]) for one in some])
        misses = [miss for one in some for miss in random.permutation(one[2])[:2]]
        return questions, np.array([*(one[1] for one in some), *misses], dtype=np.int64)

    def _one(self, item: dict[str, Any], plan: dict[str, Any], random: np.random.Generator) -> tuple[Any, ...]:
        if item["other"] and random.random() < plan["translated"]:
            if random.random() < 0.5:
                return item["other_q"] or item["q"], *item["plain"]
            return [*item["q"], *item["other_q"]], *item["other"]
        return item["q"], *item["plain" if random.random() < 0.6 or not item["longer"] else "longer"]


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
        """Return the pairs of variant and seed to run. The control variant has one seed."""
        seeds = self.options.seeds
        return [(name, seed) for name in self.options.variants for seed in range(1, (1 if name == "same" else seeds) + 1)]

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
        self.encoder, self.teacher = (setup.weights.encoder().to(self.device) for _ in range(2))

    def run(self, path: Path) -> None:
        """Train until the deadline, measure, and write the layers."""
        began, step, done = time.monotonic(), 0, 0.0
        seconds = self.options.deadline - (began - self.setup.start)
        for name, value in self.encoder.named_parameters():
            value.requires_grad_(name.startswith(LEARNED))
        learned = [value for value in self.encoder.parameters() if value.requires_grad]
        optimizer = torch.optim.AdamW(learned, lr=self.plan["rate"], weight_decay=0.01, betas=(0.9, 0.98))
        batches, anchors = _epochs(len(self.data.items), self.options.batch, self.random), self._anchors()
        while done < 1:
            self.encoder.round(rounds=done > UNROUNDED)
            share = min(1.0, (step + 1) / 20) * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))
            optimizer.param_groups[0]["lr"] = self.plan["rate"] * share
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
        np.savez(path, **{name: value for name, value in tensors.items() if name.startswith(LEARNED)})  # type: ignore[arg-type]
        path.with_suffix(".json").write_text(json.dumps({"steps": step, **measure(self.encoder, self.setup)}))

    def _anchors(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for rows in by_length(self.data.encoded.lengths()[self.data.anchors], self.options.batch, self.random):
            yield self.data.anchors[rows], self.data.targets[rows]

    def _backward(self, chosen: np.ndarray, anchor: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
        """Run a forward and a backward pass, and return the parts of the loss."""
        questions, documents = self.data.draw(chosen, self.plan, self.random)
        right = torch.arange(len(questions), device=self.device)
        q, d = self._embed(self.encoder, questions), self._embed(self.encoder, documents)
        contrast = F.cross_entropy(q @ d.T / TEMPERATURE, right)
        with torch.no_grad():
            wanted, old = self._embed(self.teacher, anchor[1]), self._embed(self.teacher, documents[: len(right)])
        kept = (1 - (d[: len(right)] * old).sum(-1)).mean()
        (contrast + 0.5 * self.plan["anchor"] * kept).backward()
        away = (1 - (self._embed(self.encoder, anchor[0]) * wanted).sum(-1)).mean()
        (self.plan["anchor"] * away).backward()
        return {"contrast": contrast.item(), "away": away.item(), "kept": kept.item()}

    def _embed(self, encoder: Encoder, rows: np.ndarray) -> Tensor:
        """Return the vectors of some texts. Texts of similar length are computed together."""
        order = np.argsort(self.data.encoded.lengths()[rows], kind="stable")
        found = []
        for part in np.array_split(order, max(1, len(order) // 128)):
            ids, lengths = self.data.encoded.batch(rows[part])
            ids = np.pad(ids, ((0, 0), (0, -ids.shape[1] % 8)))
            with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.device == "cuda"):
                found.append(encoder(torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)).float())
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
    best = max(setup.options.variants, key=lambda name: results[name])
    for stem, value in layers.items():
        if stem.startswith(f"{best}-"):
            pack(value, setup.options.out / f"{stem}.npz")


def pack(layers: dict[str, np.ndarray], path: Path) -> None:
    """Write layers to a file: matrices in 8 bits, as in the exported network, and other parameters in float."""
    packed = {}
    for name, value in layers.items():
        if value.ndim == 2:
            packed[name], packed[f"{name}_scale"] = export.quantize(value, MATRIX_TOP)
        else:
            packed[name] = value.astype(np.float32)
    np.savez_compressed(path, **packed)  # type: ignore[arg-type]


def apply(weights: Weights, path: Path) -> Weights:
    """Return the weights, with the layers replaced by those in a file that ``pack`` wrote."""
    file = np.load(path)
    layers = {}
    for name in file.files:
        if not name.endswith("_scale"):
            layers[name] = file[name].astype(np.float32)
            if f"{name}_scale" in file.files:
                layers[name] *= file[f"{name}_scale"][:, None]
    return Weights(tensors={**weights.tensors, **layers})


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
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--deadline", type=float, default=110.0, help="seconds after which training ends")
    parser.add_argument("--apply", type=Path, help="write the network with these layers to --out instead")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
