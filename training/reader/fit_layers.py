"""Fit the layers that judge memories and find wishes, on the states of a trained reader, and write the reader with them.

``train.py`` trains all layers on verdicts, wishes and the other questions. Verdicts and wishes improve if they are then read from
the states of several layers. This step changes no other answer. It needs no GPU.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from model import Weights, dequantize
from tokenizers import Tokenizer
from tokens import read_vocabulary, tokenizer

from reader import measure, to_onnx
from reader.examples import MARKED, Example, read
from reader.inputs import Input, batch, encode
from reader.network import LAYERS, Reader, continued
from reader.schema import HEADS, columns

HERE = Path(__file__).resolve().parent
BATCH = 64
PENALTIES = {"judge": 0.1, "wish": 0.02}
"""Weight of the squared weights of each layer in its loss."""
NO_WISH = HEADS["consent"].index("none")
FORGET = HEADS["consent"].index("forget")
CLAUSES = 9000
MEMORIES = 7000
"""Number of texts of memories without a wish that the layer for wishes is fitted to. ``CLAUSES`` is the same for clauses."""
NO_WISH_BIAS = 1.0
"""Added to the score of "no wish" of the reader, from which the layer for wishes starts."""


def main() -> None:
    """Fit the layers, write the reader, and print how well it answers the held-out examples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", type=Path, help="folder with model.onnx and vocab.txt, as join.py writes them")
    parser.add_argument("into", type=Path, help="file to write")
    parser.add_argument("--labels", type=Path, default=HERE / "labels")
    parser.add_argument("--texts", type=Path, default=HERE / "bundle" / "texts.jsonl.xz", help="made by restore_text.py")
    parser.add_argument("--layers", nargs="+", choices=tuple(LAYERS), default=list(LAYERS), help="the others stay as they are")
    options = parser.parse_args()
    weights = dequantize(options.reader / "model.onnx")
    made = tokenizer(read_vocabulary(options.reader / "vocab.txt"))
    given = read(options.labels, options.texts)
    examples = {"judge": [each for each in given if each.labels.keys() == {"worth"}], "wish": list(of_wishes(given))}
    network, fitted = _network(weights), {}
    for name in options.layers:
        train = [each for each in examples[name] if each.split == "train"]
        found, right = features(network, encode(made, train)), np.array([each.labels[LAYERS[name]] for each in train])
        start = _start(weights, found, name)
        fitted |= fit(name, found, right, start)
        print(f"{name}: {len(train)} examples", flush=True)
    size = to_onnx.write(replace(weights, tensors=_written(weights) | fitted), options.into)
    print(f"{size / 1e6:.2f} MB")
    for title, path in (("before", options.reader / "model.onnx"), ("now", options.into)):
        print(title, _measured(path, examples, made))


def of_wishes(examples: Sequence[Example]) -> Iterator[Example]:
    """Yield messages with a wish and messages without one.

    They are the labeled wishes, the messages of the pairs with marked words (some ask to forget, most do not), and clauses and
    texts of memories without a wish.
    """
    chance, clauses, memories = random.Random(7), list[Example](), list[Example]()
    for each in examples:
        if each.labels.keys() == {"consent"}:
            yield each
        elif each.is_pair and each.source.startswith(MARKED) and " " not in each.id and each.how != "all":
            asks = FORGET if each.how == "forget" else NO_WISH
            yield replace(each, first="", labels={"consent": asks}, gone=None, is_pair=False)
            yield replace(each, first="", text=each.first, labels={"consent": NO_WISH}, gone=None, is_pair=False)
        elif (
            not each.is_pair
            and "keep" in each.labels
            and each.split == "train"
            and each.labels.get("consent", NO_WISH) == NO_WISH
        ):
            clauses.append(each)
        elif each.labels.keys() == {"worth"} and each.split == "train":
            memories.append(each)
    for texts, most in ((clauses, CLAUSES), (memories, MEMORIES)):
        for each in chance.sample(texts, min(most, len(texts))):
            yield replace(each, labels={"consent": NO_WISH})


def _start(weights: Weights, found: np.ndarray, name: str) -> np.ndarray | None:
    """Return the part of the layer that reads the first token's last state, if the reader's answers to wishes are its start."""
    if name != "wish":
        return None
    heads, part = continued(weights, spread=False)[1], columns()["consent"]
    bias = heads["answers.bias"][part].copy()
    bias[NO_WISH] += NO_WISH_BIAS
    matrix = np.zeros((part.stop - part.start, found.shape[1] + 1), dtype=np.float32)
    matrix[:, : heads["answers.weight"].shape[1]] = heads["answers.weight"][part]
    matrix[:, -1] = bias
    return matrix


def _network(weights: Weights) -> Reader:
    """Return the reader's layers, without the random shift of weights with which further training begins."""
    trunk = continued(weights, spread=False)[0]
    network = Reader(trunk.encoder(), 0.0).eval()
    network.round(rounds=True)
    return network


def _written(weights: Weights) -> dict[str, np.ndarray]:
    """Return all weights of an exported reader, those of its heads and layers in the form that ``to_onnx.write`` takes."""
    layers = {name: value.T for name, value in weights.tensors.items() if name.removesuffix(".weight") in LAYERS}
    return weights.tensors | continued(weights, spread=False)[1] | layers


def features(network: Reader, inputs: Sequence[Input]) -> np.ndarray:
    """Return the features of each input."""
    order = np.argsort([len(one.ids) for one in inputs], kind="stable")
    found: list[np.ndarray] = [np.empty(0)] * len(inputs)
    with torch.no_grad():
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            one = batch([inputs[row] for row in rows])
            parts = (torch.from_numpy(part) for part in (one.ids, one.kinds, one.lengths))
            for row, values in zip(rows, network.features(*parts).numpy(), strict=True):
                found[row] = values
    return np.stack(found)


def fit(name: str, x: np.ndarray, y: np.ndarray, start: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the weights of a linear layer: a multinomial logistic regression on standardized features with an L2 penalty.

    ``start`` are weights and biases whose scores are added to those of the regression. They become part of the layer.
    """
    count = len(HEADS[LAYERS[name]])
    start = np.zeros((count, x.shape[1] + 1), dtype=np.float32) if start is None else start
    mean, width = x.mean(0), x.std(0) + 1e-6
    given, right = torch.from_numpy((x - mean) / width), torch.from_numpy(y)
    known = torch.from_numpy(x @ start[:, :-1].T + start[:, -1])
    weight = torch.zeros(x.shape[1], count, requires_grad=True)
    bias = torch.zeros(count, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=200, history_size=20, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = F.cross_entropy(known + given @ weight + bias, right) + PENALTIES[name] / 2 * weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    scaled = weight.detach().numpy() / width[:, None]
    return {
        f"{name}.weight": (scaled.T + start[:, :-1]).astype(np.float32),
        f"{name}.bias": (bias.detach().numpy() - mean @ scaled + start[:, -1]).astype(np.float32),
    }


def _measured(path: Path, examples: dict[str, list[Example]], made: Tokenizer) -> dict[str, float]:
    """Return the AUC of verdicts (the first one, and the first two) and of wishes on held-out examples, on an exported reader."""
    session, found = to_onnx.Session(path), {}
    for name, split in (("judge", "dev"), ("wish", "dev"), ("wish", "test")):
        held = [each for each in examples[name] if each.split == split]
        chances = measure.softmax(session.predict(encode(made, held), 2)[0][:, columns()[LAYERS[name]]])
        right = np.array([each.labels[LAYERS[name]] for each in held])
        if name == "judge":
            found |= {
                title: measure.auc(chances[:, :count].sum(1), right < count) for count, title in ((1, "lasting"), (2, "useful"))
            }
        else:
            found[f"wish, {split}"] = measure.auc(1 - chances[:, NO_WISH], right != NO_WISH)
    return {title: round(value, 4) for title, value in found.items()}


if __name__ == "__main__":
    main()
