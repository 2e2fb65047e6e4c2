"""Train the embedder, with one command and one GPU, in less than nine minutes.

The large encoder (12 layers) is trained first: stage A teaches it Spanish without changing its English vectors, and stage B
trains it on the pairs. The small encoder (6 layers) starts from every second layer of the large one. Stage A makes it reproduce
the vectors of the large one, and stage B trains it on the pairs. Both are exported with 8-bit weights, compared with the float
version, and evaluated.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import corpus
import evaluate
import export
import numpy as np
import torch
import variants
from data.assemble import language
from model import Encoder, Weights, add_tokens, dequantize
from stages import Pairs, Plan, Trainer
from tokens import Encoded, encode, extend, join, read_new, read_vocabulary, tokenizer
from torch import Tensor

HERE = Path(__file__).resolve().parent
PART = 15 * 2**20
"""Maximum size of a file of results, in bytes."""


def main() -> None:
    """Run all steps."""
    options = _options()
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    options.out.mkdir(parents=True, exist_ok=True)
    run = Run(options)
    if options.load_large:
        large = dequantize(options.load_large).encoder()
        run.measure("large", large, run.tokenizer)
    else:
        large = run.large()
    if not options.no_small:
        run.small(large)
    run.say(f"done after {time.monotonic() - run.start:.0f} s")


class Run:
    """One execution of the script: the data, the models and the results."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Read the data and the old model."""
        self.options, self.start = options, time.monotonic()
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.results: dict[str, Any] = {"options": {key: str(value) for key, value in vars(options).items()}}
        vocabulary = read_vocabulary(options.vocabulary)
        new = read_new(options.bundle / "tokens.jsonl.xz", options.tokens)
        self.vocabulary = extend(vocabulary, new)
        self.new_rows = np.array(
            [number >= len(vocabulary) or token != vocabulary[number] for number, token in enumerate(self.vocabulary)]
        )
        self.old_tokenizer, self.tokenizer = tokenizer(vocabulary), tokenizer(self.vocabulary)
        self.new = new
        (options.out / "vocab.txt").write_text("\n".join(self.vocabulary) + "\n", encoding="utf-8")
        self.items = corpus.read_items(options.bundle / "pairs.jsonl.xz", options.limit)
        self.dev = corpus.read_items(options.bundle / "dev.jsonl.xz", options.limit)
        self.rows = corpus.read_rows(options.bundle, self.items, lambda text: language(text) == "en", options.limit)
        self.encoded = encode(self.tokenizer, self.rows.texts, max_tokens=options.max_tokens)
        self.say(
            f"{len(self.items)} items, {len(self.rows.texts)} rows, {len(self.rows.targets)} targets, {int(self.new_rows.sum())} new tokens"
        )

    def say(self, text: str) -> None:
        """Print a line with the time."""
        print(f"[{time.monotonic() - self.start:5.0f} s] {text}", flush=True)

    def large(self) -> Encoder:
        """Train the large encoder and return it."""
        options = self.options
        weights = dequantize(options.old)
        old = weights.encoder()
        self.measure("old", old, self.old_tokenizer)
        wanted = self._vectors(old, encode(self.old_tokenizer, self.rows.targets, max_tokens=options.max_tokens))
        table = torch.from_numpy(wanted).half().to(self.device)
        target = torch.from_numpy(self.rows.target).to(self.device)

        def teacher(rows: np.ndarray, _ids: Tensor, _lengths: Tensor) -> tuple[Tensor, None]:
            return table[target[torch.from_numpy(rows).to(self.device)]].float(), None

        self.say("teacher's vectors computed")
        first = add_tokens(weights, read_vocabulary(options.vocabulary), self.vocabulary, self.new)
        trainer = Trainer(first.encoder(), self.new_rows, self.device, options.seed)
        self.measure("large start", trainer.encoder, self.tokenizer)
        plan_a = Plan(steps=options.steps_a, seconds=options.seconds_a, batch=options.batch_a, rate=options.rate_a)
        trainer.distill(self.encoded, teacher, plan_a)
        self.measure("large A", trainer.encoder, self.tokenizer)
        trainer.contrast(self._pairs(old, self.old_tokenizer, only="en"), self.encoded, teacher, self._plan_b(options.rate_b))
        self._finish("large", trainer)
        return trainer.encoder

    def small(self, large: Encoder) -> None:
        """Train the small encoder."""
        options = self.options
        large = large.to(self.device).eval()
        trainer = Trainer(Weights.of(large).keep(options.keep).encoder(), self.new_rows, self.device, options.seed)

        def teacher(_rows: np.ndarray, ids: Tensor, lengths: Tensor) -> tuple[Tensor, list[Tensor]]:
            with torch.no_grad(), trainer.autocast():
                states = large.states(ids, lengths)
                return torch.nn.functional.normalize(states[-1][:, 0].float(), dim=-1), states

        pairs = self._pairs(large, self.tokenizer, only=None)
        encoded = self.encoded
        for _ in range(options.own_rounds):
            encoded = join(encoded, pairs.encoded)
        left = options.deadline - (time.monotonic() - self.start) - options.seconds_b - 40
        plan = Plan(
            steps=options.steps_small,
            seconds=max(20.0, min(options.seconds_small, left)),
            batch=options.batch_a,
            rate=options.rate_small,
            old_rows=1.0,
            states=options.states,
        )
        trainer.distill(encoded, teacher, plan)
        self.measure("small A", trainer.encoder, self.tokenizer)
        plan_b = replace(
            self._plan_b(options.rate_small_b), rounds=True, contrast=options.small_contrast, ranking=options.ranking
        )
        trainer.contrast(pairs, encoded, teacher, plan_b)
        self._finish("small", trainer)

    def _plan_b(self, rate: float) -> Plan:
        options = self.options
        steps = min(options.steps_b, int(options.epochs * sum(len(item["q"]) for item in self.items) / options.batch_b) + 1)
        return Plan(
            steps=steps,
            seconds=options.seconds_b,
            batch=options.batch_b,
            rate=rate,
            anchor=options.anchor,
            anchor_documents=options.anchor_documents,
            temperature=options.temperature,
            negatives=options.negatives,
        )

    def _pairs(self, teacher: Encoder, made: Any, *, only: str | None) -> Pairs:
        texts: dict[str, int] = {}
        made_of = variants.Maker([text for text in self.rows.texts if not text.startswith(corpus.QUERY_PREFIX)])
        plain = [item for item in self.items if not item["s"]]
        items = [[one.rows(texts) for one in made_of.variants(item)] for item in plain]
        talks = [
            [one.rows(texts) for one in talk]
            for talk in variants.talks(self.items, min(self.options.batch_b, len(self.items)), self.options.seed)
        ]
        kept = [only is None or language(text) == only for text in texts]
        wanted = self._vectors(teacher, encode(made, list(texts), max_tokens=self.options.max_tokens))
        encoded = encode(self.tokenizer, list(texts), max_tokens=self.options.max_tokens)
        return Pairs(
            items,
            talks,
            encoded,
            torch.from_numpy(wanted).to(self.device),
            torch.tensor(kept, dtype=torch.float32, device=self.device),
        )

    def _vectors(self, encoder: Encoder, encoded: Encoded) -> np.ndarray:
        return Trainer(encoder, np.zeros(1, dtype=bool), self.device, 0).vectors(encoded)

    def measure(self, name: str, encoder: Encoder, made: Any) -> None:
        """Evaluate an encoder in float on the held-out pairs."""

        def embed(texts: Sequence[str]) -> np.ndarray:
            return self._vectors(encoder, encode(made, texts, max_tokens=self.options.max_tokens))

        self._record(name, evaluate.evaluate(self.dev, embed))

    def _record(self, name: str, found: dict[str, dict[str, float]]) -> None:
        self.results[name] = found
        self.say(f"{name}\n{evaluate.table(found)}")
        (self.options.out / "metrics.json").write_text(json.dumps(self.results, indent=1))

    def _finish(self, name: str, trainer: Trainer) -> None:
        """Export an encoder in 8 bits, compare it with float, evaluate both, and write the file in parts."""
        self.results[f"{name} history"] = trainer.history
        self.measure(f"{name} B", trainer.encoder, self.tokenizer)
        path = Path(tempfile.mkdtemp()) / "model.onnx"
        size = export.write(Weights.of(trainer.encoder), path)
        content = path.read_bytes()
        for number, start in enumerate(range(0, len(content), PART)):
            (self.options.out / f"{name}.onnx.{number}").write_bytes(content[start : start + PART])
        workers = os.cpu_count() or 1
        embed = evaluate.network(path, self.options.out / "vocab.txt", workers)
        texts = [self.rows.texts[row] for row in np.random.default_rng(0).integers(0, len(self.rows.texts), 300)]
        exact = self._vectors(trainer.encoder, encode(self.tokenizer, texts))
        likeness = (embed(texts) * exact).sum(axis=1)
        self.say(f"{name}: {size / 1e6:.1f} MB, int8 to float cosine mean {likeness.mean():.4f}, least {likeness.min():.4f}")
        self.results[f"{name} int8 cosine"] = [float(likeness.mean()), float(likeness.min())]
        self._record(f"{name} B int8", evaluate.evaluate(self.dev, embed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--bundle", type=Path, default=HERE / "bundle")
    add("--old", type=Path, default=HERE / "bundle" / "old.onnx", help="int8 ONNX file to start from")
    add("--vocabulary", type=Path, default=HERE / "bundle" / "old-vocab.txt")
    add("--out", type=Path, default=Path(os.environ.get("OUT", HERE / "out" / "result")))
    add("--seed", type=int, default=1)
    add("--tokens", type=int, default=11_500, help="number of new tokens; 4,900 keep 12 layers under 35 MB")
    add("--max-tokens", type=int, default=128)
    add(
        "--keep",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[0, 2, 4, 7, 9, 11],
        help="layers of the small encoder",
    )
    add("--load-large", type=Path, help="an exported large encoder, instead of training one")
    add("--no-small", action="store_true")
    add("--limit", type=int, help="number of items and texts, for a trial")
    for name, steps, seconds in (("a", 100_000, 100.0), ("b", 100_000, 60.0), ("small", 100_000, 170.0)):
        add(f"--steps-{name}", type=int, default=steps)
        add(f"--seconds-{name}", type=float, default=seconds)
    add("--deadline", type=float, default=530.0, help="seconds for the whole run; the small encoder's stage A is cut to fit")
    add("--epochs", type=float, default=6.0, help="rounds over all questions in stage B, unless its seconds end first")
    add("--batch-a", type=int, default=512)
    add("--batch-b", type=int, default=256)
    add("--rate-a", type=float, default=1e-4)
    add("--rate-b", type=float, default=3e-5)
    add("--rate-small", type=float, default=3e-4)
    add("--rate-small-b", type=float, default=3e-5)
    add("--states", type=float, default=1.0, help="weight of the likeness of states when the small one copies the large one")
    add("--own-rounds", type=int, default=3, help="how often the pairs' texts count when the small one copies the large one")
    add("--small-contrast", type=float, default=0.5)
    add("--ranking", type=float, default=1.0, help="weight of the large one's ranking when the small one learns from the pairs")
    add("--anchor", type=float, default=2.0)
    add("--anchor-documents", type=float, default=1.0)
    add("--temperature", type=float, default=0.03)
    add("--negatives", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
