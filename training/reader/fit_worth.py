"""Fit the layer that judges memories, on the states of a trained reader, and write the reader with it.

``train.py`` trains all layers on verdicts, wishes and the other questions. The verdicts improve if they are then read from the
states of several layers. This step changes no other answer. It needs no GPU.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from model import Weights, dequantize
from tokens import read_vocabulary, tokenizer

from reader import measure, to_onnx
from reader.examples import Example, read
from reader.inputs import Input, batch, encode
from reader.network import JUDGE, Reader, continued
from reader.schema import HEADS, columns

HERE = Path(__file__).resolve().parent
BATCH = 64


def main() -> None:
    """Fit the layer, write the reader, and print how well it separates the held-out memories."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", type=Path, help="folder with model.onnx and vocab.txt, as join.py writes them")
    parser.add_argument("into", type=Path, help="file to write")
    parser.add_argument("--labels", type=Path, default=HERE / "labels")
    parser.add_argument("--texts", type=Path, default=HERE / "bundle" / "texts.jsonl.xz", help="made by restore_text.py")
    parser.add_argument("--penalty", type=float, default=0.1, help="weight of the squared weights in the loss")
    parser.add_argument(
        "--no-wish", type=float, default=0.0, help="added to the score of no wish, so that fewer messages are withheld"
    )
    options = parser.parse_args()
    weights = dequantize(options.reader / "model.onnx")
    made = tokenizer(read_vocabulary(options.reader / "vocab.txt"))
    memories = [each for each in read(options.labels, options.texts) if each.labels.keys() == {"worth"}]
    train = [each for each in memories if each.split == "train"]
    network = _network(weights)
    found = features(network, encode(made, train))
    fitted = fit(found, np.array([each.labels["worth"] for each in train]), options.penalty)
    size = to_onnx.write(replace(weights, tensors=_heads(weights, options.no_wish) | fitted), options.into)
    print(f"{len(train)} memories; {size / 1e6:.2f} MB")
    held = [each for each in memories if each.split == "dev"]
    for name, path in (("before", options.reader / "model.onnx"), ("now", options.into)):
        print(name, _measured(path, held, encode(made, held)))


def _network(weights: Weights) -> Reader:
    """Return the reader's layers, without the random shift of weights with which further training begins."""
    trunk = continued(weights, spread=False)[0]
    network = Reader(trunk.encoder(), 0.0).eval()
    network.round(rounds=True)
    return network


def _heads(weights: Weights, no_wish: float) -> dict[str, np.ndarray]:
    """Return all weights, with those of the heads in the form that ``to_onnx.write`` takes.

    ``no_wish`` is added to the score of the answer that a message has no wish.
    """
    heads = continued(weights, spread=False)[1]
    heads["answers.bias"] = heads["answers.bias"].copy()
    heads["answers.bias"][columns()["consent"].start + HEADS["consent"].index("none")] += no_wish
    return {name: value for name, value in weights.tensors.items() if not name.startswith(JUDGE)} | heads


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


def fit(x: np.ndarray, y: np.ndarray, penalty: float) -> dict[str, np.ndarray]:
    """Return the weights of a linear layer: a multinomial logistic regression on standardized features with an L2 penalty."""
    mean, width = x.mean(0), x.std(0)
    given, right = torch.from_numpy((x - mean) / width), torch.from_numpy(y)
    weight = torch.zeros(x.shape[1], len(np.unique(y)), requires_grad=True)
    bias = torch.zeros(weight.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=200, history_size=20, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = F.cross_entropy(given @ weight + bias, right) + penalty / 2 * weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    scaled = weight.detach().numpy() / width[:, None]
    return {f"{JUDGE}.weight": scaled.T.copy(), f"{JUDGE}.bias": bias.detach().numpy() - mean @ scaled}


def _measured(path: Path, memories: Sequence[Example], inputs: Sequence[Input]) -> dict[str, float]:
    """Return the AUC of the sum of the first one and the first two verdicts, on the exported reader."""
    scores = to_onnx.Session(path).predict(inputs, 2)[0]
    chances = measure.softmax(scores[:, columns()["worth"]])
    verdicts = np.array([each.labels["worth"] for each in memories])
    names = ((1, "lasting"), (2, "useful"))
    return {name: round(measure.auc(chances[:, :count].sum(1), verdicts < count), 3) for count, name in names}


if __name__ == "__main__":
    main()
