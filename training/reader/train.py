"""Train the reader, with one command and one GPU, in less than nine minutes.

Training starts from the embedder's layers and covers all questions at once, with several seeds. Each run is measured on text that
it was not trained on, and compared with linear classifiers on the embedder's vectors. The run with the best result on the
held-out dialogues, or the mean of all runs' weights, is exported with 8-bit weights and measured again.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from model import Weights, dequantize
from stages import Trainer
from tokens import encode as encode_texts
from tokens import read_vocabulary, tokenizer

from reader import baseline
from reader.examples import Example, held, read
from reader.fit import Anchor, Fit, Plan
from reader.inputs import MAX_FIRST, MAX_TEXT, encode
from reader.network import Reader, continued, prune, start
from reader.report import Report, line, spread
from reader.schema import HEADS, columns

HERE = Path(__file__).resolve().parent
EMBEDDER = HERE.parents[1] / "src" / "holdfast_models" / "talk-embed-s"
PART = 15 * 2**20
"""Maximum size of a file of results, in bytes."""
Prediction = tuple[np.ndarray, list[tuple[int, int]]]


def main() -> None:
    """Run all steps."""
    options = _options()
    torch.backends.cuda.matmul.allow_tf32 = True
    options.out.mkdir(parents=True, exist_ok=True)
    run = Run(options)
    if not options.no_baseline:
        run.baseline()
    run.readers()
    if not options.no_export:
        run.export()
    run.say("done")


class Run:
    """One execution of the script: the examples, the readers and the results."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Read the examples and the embedder."""
        self.options, self.start = options, time.monotonic()
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.results: dict[str, Any] = {"options": {name: str(value) for name, value in vars(options).items()}}
        self.examples = read(options.labels, options.texts, own_chars=options.own_chars)
        if options.limit:
            self.examples = self.examples[:: max(1, len(self.examples) // options.limit)]
        self.train = [example for example in self.examples if example.split == "train"]
        if options.hold:
            self.train = list(held(self.train, options.new))
        kept = self._start()
        self.tokenizer = tokenizer(kept)
        (options.out / "vocab.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
        counts = {split: sum(example.split == split for example in self.examples) for split in ("train", "dev", "test")}
        if options.no_baseline:  # only the baseline needs the training examples as inputs
            self.examples = [example for example in self.examples if example.split != "train"]
        self.inputs = encode(self.tokenizer, self.examples)
        self.found: list[tuple[float, str, Weights]] = []
        self.say(f"{counts}, {len(kept)} tokens, {self.weights.layers} layers, on {self.device}")

    def say(self, text: str) -> None:
        """Print a line with the time."""
        print(f"[{time.monotonic() - self.start:5.0f} s] {text}", flush=True)

    def _start(self) -> list[str]:
        """Read the initial weights, from the embedder or from an earlier reader. Return the vocabulary."""
        options = self.options
        if options.reader:
            self.weights, self.heads = continued(dequantize(options.reader / "model.onnx"))
            return read_vocabulary(options.reader / "vocab.txt")
        self.embedder, self.vocabulary = dequantize(options.trunk), read_vocabulary(options.vocabulary)
        self.old_tokenizer = tokenizer(self.vocabulary)
        self.weights, self.heads = start(self.embedder, self.vocabulary, options.layers), {}
        self.weights, kept = prune(self.weights, self.vocabulary, self._used(), options.tokens)
        return kept

    def _used(self) -> set[str]:
        """Return the set of tokens that occur in the training text."""
        texts = [text for example in self.train for text in (example.first, example.text) if text]
        encoded = encode_texts(self.old_tokenizer, texts, max_tokens=512)
        return {self.vocabulary[number] for number in np.unique(encoded.ids)}

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return the embedder's vectors for some texts."""
        made = encode_texts(self.old_tokenizer, texts, max_tokens=MAX_TEXT)
        return Trainer(self.embedder.encoder(), np.zeros(1, dtype=bool), self.device, 0).vectors(made)

    def baseline(self) -> None:
        """Measure the baseline: linear classifiers on the embedder's vectors. It always predicts the whole clause as the span."""
        texts = list(dict.fromkeys(text for example in self.examples for text in (example.first, example.text) if text))
        vectors = dict(zip(texts, self._vectors(texts), strict=True))
        scores = baseline.predict(self.examples, baseline.features(self.examples, vectors))
        self.measure("linear", (scores, [(0, len(example.text)) for example in self.examples]))

    def measure(self, name: str, prediction: Prediction) -> Report:
        """Measure predictions and store the result."""
        report = Report(self.examples, *prediction)
        self.results[name] = {**report.all(), "dev": report.choice()}
        self.say(f"{name}: {line(self.results[name])}; dev {self.results[name]['dev']:.4f}")
        (self.options.out / "metrics.json").write_text(json.dumps(self.results, indent=1))
        return report

    def readers(self) -> None:
        """Train one reader per seed, all at the same time, and measure each and the mean of their weights."""
        seeds = self.options.seeds
        if self.options.reader:
            self.measure("start", self._reader(0, 0).predict(self.inputs))
        with ProcessPoolExecutor(len(seeds), multiprocessing.get_context("spawn")) as pool:
            for seed, (history, weights) in zip(seeds, pool.map(_train, [self.options] * len(seeds), seeds), strict=True):
                name = f"seed {seed}"
                report = self.measure(name, _loaded(self._reader(0, 0), weights).predict(self.inputs))
                self.results[name]["history"] = history
                self.found.append((report.choice(), name, weights))
        names = [name for _, name, _ in self.found]
        measures = ("keep", "heads", "span", "consent", "change")
        self.results["seeds"] = spread([{part: self.results[name][part] for part in measures} for name in names])
        if len(self.found) > 1:
            tensors = [weights.tensors for _, _, weights in self.found]
            mean = Weights(tensors={key: np.mean([one[key] for one in tensors], axis=0) for key in tensors[0]})
            report = self.measure("mean of the weights", _loaded(self._reader(0, 0), mean).predict(self.inputs))
            self.found.append((report.choice(), "mean of the weights", mean))

    def fit(self, seed: int) -> tuple[Any, Weights]:
        """Train one reader. Return the history of its loss, and its weights."""
        fit = self._reader(self.options.seeds[0], seed)
        fit.run(self.train, self._plan(), self._anchor())
        return fit.history, fit.reader.weights()

    def _reader(self, heads: int, seed: int) -> Fit:
        """Return an untrained reader. All runs start with the same weights, so that their weights can be averaged."""
        torch.manual_seed(heads)
        reader = Reader(self.weights.encoder(), self.options.dropout)
        reader.load_state_dict({name: torch.from_numpy(value) for name, value in self.heads.items()}, strict=False)
        torch.manual_seed(seed)
        return Fit(reader, self.tokenizer, self.device, seed)

    def _plan(self) -> Plan:
        options = self.options
        return Plan(
            epochs=options.epochs,
            batch=options.batch,
            rate=options.rate,
            rate_words=options.rate_words,
            rate_heads=options.rate_heads,
            span=options.span,
            anchor=options.anchor,
            repeats=options.repeats,
            others=options.others,
            round_from=options.round_from,
            seconds=options.seconds,
            hold=options.hold,
            states=options.hold_states,
            unknown=options.unknown,
            steps=options.steps,
        )

    def _anchor(self) -> Anchor | None:
        """Return the texts whose vectors should stay near the embedder's vectors.

        Return None if the option ``anchor``, the weight of this goal, is 0.
        """
        if not self.options.anchor:
            return None
        texts = list(dict.fromkeys(example.text for example in self.train))
        encoded = encode_texts(self.tokenizer, texts, max_tokens=MAX_TEXT)
        return Anchor(encoded=encoded, vectors=self._vectors(texts))

    def export(self) -> None:
        """Write the best reader in 8 bits, split into parts, and measure it."""
        from reader import to_onnx

        best = max(self.found, key=lambda one: one[0])
        _, name, weights = self.found[-1] if self.options.mean else best
        path = Path(tempfile.mkdtemp()) / "model.onnx"
        size = to_onnx.write(weights, path)
        content, out = path.read_bytes(), self.options.out
        for number, at in enumerate(range(0, len(content), PART)):
            (out / f"reader.onnx.{number}").write_bytes(content[at : at + PART])
        self.say(f"exported {name}: {size / 1e6:.2f} MB")
        self.results["exported"] = {"name": name, "bytes": size}
        thresholds = self.results[name]["thresholds"]
        if importlib.util.find_spec("onnxruntime") is None:
            self.say("onnxruntime is missing here: the 8-bit file is not measured")
        else:
            thresholds = self._check(to_onnx.Session(path), name, weights)
        about = {"heads": HEADS, "thresholds": thresholds, "max_first": MAX_FIRST, "max_text": MAX_TEXT}
        (out / "reader.json").write_text(json.dumps(about, indent=1))
        (out / "metrics.json").write_text(json.dumps(self.results, indent=1))

    def _check(self, session: Any, name: str, weights: Weights) -> dict[str, float]:
        """Measure the 8-bit file, compare it with the float reader, and return its thresholds."""
        found = session.predict(self.inputs, os.cpu_count() or 1)
        report = self.measure("int8", found)
        exact = _loaded(self._reader(0, 0), weights).predict(self.inputs)[0]
        same = {
            head: float((found[0][:, part].argmax(1) == exact[:, part].argmax(1)).mean())
            for head, part in _columns_of_known(self.examples).items()
        }
        tests = [one for one, example in zip(self.inputs, self.examples, strict=True) if example.split == "test"][:300]
        self.results["int8 and float"] = {"from": name, "same answer": same, "milliseconds": session.milliseconds(tests)}
        self.say(f"int8 and float: {self.results['int8 and float']}")
        self._predictions(report)
        return report.thresholds()

    def _predictions(self, report: Report) -> None:
        """Write the predictions for the test examples to a file, for people to read."""
        with (self.options.out / "predictions.jsonl").open("w", encoding="utf-8") as file:
            for row, example in enumerate(self.examples):
                if example.split == "test":
                    chances = {head: [round(float(one), 3) for one in report.chances[head][row]] for head in example.labels}
                    file.write(json.dumps({"id": example.id, "chances": chances, "span": report.spans[row]}) + "\n")


def _train(options: argparse.Namespace, seed: int) -> tuple[Any, Weights]:
    """Train one reader in a separate process."""
    torch.backends.cuda.matmul.allow_tf32 = True
    return Run(options).fit(seed)


def _loaded(fit: Fit, weights: Weights) -> Fit:
    """Load weights into the reader of a ``Fit``, and return the ``Fit``."""
    state = {
        name if name.split(".")[0] in ("answers", "span") else f"trunk.{name}": torch.from_numpy(
            np.array(value, dtype=np.float32)
        )
        for name, value in weights.tensors.items()
    }
    fit.reader.load_state_dict(state)
    return fit


def _columns_of_known(examples: Sequence[Example]) -> dict[str, slice]:
    """Return the output columns of the questions that have a label in at least one example."""
    return {head: part for head, part in columns().items() if any(head in example.labels for example in examples)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    add("--labels", type=Path, default=HERE / "labels")
    add("--texts", type=Path, default=HERE / "bundle" / "texts.jsonl.xz", help="made by restore_text.py")
    add("--trunk", type=Path, default=EMBEDDER / "model.onnx", help="int8 ONNX file to start from")
    add("--reader", type=Path, help="folder of an earlier reader to start from, with its vocabulary; needs --no-baseline")
    add("--vocabulary", type=Path, default=EMBEDDER / "vocab.txt")
    add("--out", type=Path, default=Path(os.environ.get("OUT", HERE / "bundle" / "out")))
    add("--seeds", type=numbers, default=[1, 2, 3, 4, 5, 6])
    add("--layers", type=numbers, default=[0, 1, 2, 3, 4, 5], help="layers of the embedder to start from")
    add("--tokens", type=int, default=35_000, help="size of the vocabulary; 35,000 keep six layers under 25 MB")
    add("--own-chars", type=int, default=0, help="characters of the user's own words before the clause that are read too")
    add("--epochs", type=float, default=14.0)
    add("--steps", type=int, help="most steps per seed, for a trial")
    add("--limit", type=int, help="number of examples, for a trial")
    add("--batch", type=int, default=64)
    add("--rate", type=float, default=1e-4)
    add("--rate-words", type=float, default=5e-5)
    add("--rate-heads", type=float, default=1e-3)
    add("--dropout", type=float, default=0.1)
    add("--unknown", type=float, default=0.04, help="share of the tokens that are hidden in training")
    add("--span", type=float, default=1.5, help="weight of the span")
    add("--anchor", type=float, default=0.0, help="weight of the likeness to the embedder; 0 leaves the layers free")
    add("--repeats", type=int, default=2, help="how often wishes and pairs count in an epoch")
    add("--others", type=float, default=0.33, help="share of the pairs with a person's other facts that an epoch draws")
    add("--seconds", type=float, default=420.0, help="most seconds of training")
    add("--round-from", type=float, default=0.5, help="share of the training after which training computes with 8 bits")
    add("--hold", type=float, default=0.0, help="weight of the answers of --reader; only wishes and --new have labels then")
    add("--hold-states", type=float, default=0.0, help="weight of the features of the clauses of --reader; needs --hold")
    new = 'sources whose labels count although others are held; "pairs" for all pairs, "marked" for those with marked words'
    add("--new", type=lambda text: text.split(","), default=[], help=new)
    add("--mean", action="store_true", help="export the mean of the runs' weights, even if one run answers better")
    add("--no-baseline", action="store_true")
    add("--no-export", action="store_true", help="measure only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
