"""The reader network: the embedder's layers, a classifier per question on the first token, and a span score per token."""

from collections.abc import Sequence

import numpy as np
import torch
from model import MATRIX_TOP, POSITIONS, Dense, Encoder, Weights
from torch import Tensor, nn

from reader.schema import columns

WIDTH = 384
JUDGE = "judge"
"""Name of the layer that ``fit_worth.py`` adds for verdicts on memories."""
ANSWERS = max(part.stop for part in columns().values())


class Reader(nn.Module):
    """Reads a text together with the text before it. Returns the scores of all answers, and a span score per token."""

    def __init__(self, trunk: Encoder, dropout: float) -> None:
        super().__init__()
        self.trunk = trunk
        self.answers = nn.Linear(WIDTH, ANSWERS)
        self.span = nn.Linear(WIDTH, 1)
        self.dropout = nn.Dropout(dropout)

    def round(self, *, rounds: bool) -> None:
        """Switch rounding to 8 bits on or off. Each token is rounded on its own, as in the exported reader."""
        self.trunk.round(rounds=rounds)
        for module in self.trunk.modules():
            if isinstance(module, Dense):
                module.scale = "token around zero"

    def states(self, ids: Tensor, kinds: Tensor, lengths: Tensor) -> list[Tensor]:
        """Return the states after each layer."""
        trunk = self.trunk
        places = torch.arange(ids.shape[1], device=ids.device)
        mask = (places[None, :] < lengths[:, None])[:, None, None, :]
        found = [self.dropout(trunk.norm(trunk.words(ids) + trunk.positions(places)[None] + trunk.kinds(kinds)))]
        for layer in trunk.layers:
            found.append(layer(found[-1], mask))
        return found[1:]

    def features(self, ids: Tensor, kinds: Tensor, lengths: Tensor) -> Tensor:
        """Return what verdicts on memories are read from, as :func:`features_of` does."""
        return features_of(self.states(ids, kinds, lengths), kinds, lengths)

    def forward(self, ids: Tensor, kinds: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores of all answers, for each token a score for being part of the span, and the features."""
        layers = self.states(ids, kinds, lengths)
        states = self.dropout(layers[-1].float())
        with torch.autocast(ids.device.type, enabled=False):
            return self.answers(states[:, 0]), self.span(states)[:, :, 0], features_of(layers, kinds, lengths)

    def weights(self) -> Weights:
        """Return all weights by name. The embedder's layers keep the names that they have in the embedder."""
        own = {name: value.detach().float().cpu().numpy() for name, value in self.state_dict().items()}
        return Weights(tensors={name.removeprefix("trunk."): value for name, value in own.items()})


def features_of(layers: Sequence[Tensor], kinds: Tensor, lengths: Tensor) -> Tensor:
    """Return what verdicts on memories are read from: the first token's state, and mean states of the text.

    The state is that after the last layer. The means are those after each layer but the first. ``layers`` are the states after each
    layer.
    """
    known = torch.arange(kinds.shape[1], device=kinds.device)[None, :] < lengths[:, None]
    is_text = (known & (kinds == 1)).float()[:, :, None]
    means = [(states.float() * is_text).sum(1) / is_text.sum(1) for states in layers[1:]]
    return torch.cat([layers[-1][:, 0].float(), *means], dim=1)


def start(weights: Weights, vocabulary: Sequence[str], layers: Sequence[int]) -> Weights:
    """Return the initial weights of the reader, taken from the embedder.

    Only the given layers are used. Both segment kinds start with the same vector, and ``[MASK]``, which marks a pair, starts with
    the vector of ``[CLS]``.
    """
    tensors = dict(weights.keep(layers).tensors)
    tensors["kinds.weight"] = np.repeat(tensors["kinds.weight"][:1], 2, axis=0)
    words = tensors["words.weight"].copy()
    words[vocabulary.index("[MASK]")] = words[vocabulary.index("[CLS]")]
    return Weights(tensors={**tensors, "words.weight": words})


def continued(weights: Weights, *, spread: bool = True) -> tuple[Weights, dict[str, np.ndarray]]:
    """Return the layers and the heads of an exported reader, to train them further.

    The exported reader has as many positions as it needs; the missing ones are added as zeros and never used. An older reader
    has no answers for ``worth``. Those of the verdicts ``useful`` and ``minor`` start as "yes" of ``keep``, the others as "no".
    """
    known = {name: value for name, value in weights.tensors.items() if not name.startswith(JUDGE)}
    trunk = {name: value for name, value in known.items() if name.split(".")[0] not in ("answers", "span")}
    if spread:
        chance = np.random.default_rng(0)
        trunk |= {name: _spread(value, chance) for name, value in trunk.items() if name.startswith("layers.") and value.ndim == 2}
    heads = {name: value for name, value in known.items() if name not in trunk}
    positions = trunk["positions.weight"]
    trunk["positions.weight"] = np.pad(positions, ((0, POSITIONS - len(positions)), (0, 0)))
    answers = len(heads["answers.bias"])
    if answers < ANSWERS:
        no, yes = range(*columns()["keep"].indices(answers))
        for name in ("answers.weight", "answers.bias"):
            heads[name] = np.concatenate([heads[name], heads[name][..., [yes, yes, no, no]]], axis=-1)
    return Weights(tensors=trunk), {
        name: np.ascontiguousarray(value.T if name.endswith("weight") else value) for name, value in heads.items()
    }


def _spread(matrix: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """Return a matrix that was read from 8 bits, with each weight moved at random within the range that is rounded to it.

    Rounded, the matrix is the same. Without this, each weight lies in the middle of its range, so rounding undoes all small changes
    of a further training. The largest weight of each row stays, because it is the row's scale.
    """
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    moved = matrix + chance.uniform(-0.49, 0.49, matrix.shape) * largest / MATRIX_TOP
    return np.where(np.abs(matrix) < 0.999 * largest, moved, matrix).astype(np.float32).clip(-largest, largest)


def prune(weights: Weights, vocabulary: Sequence[str], used: set[str], size: int) -> tuple[Weights, list[str]]:
    """Return the weights and the vocabulary of the ``size`` most useful tokens, in their old order.

    Tokens of the training text, and single ASCII characters, are kept first. Other tokens in Latin script follow by frequency,
    which is their position in the vocabulary: English tokens and, from ``ENGLISH_END`` on, Spanish tokens.
    """
    order = sorted(range(len(vocabulary)), key=lambda number: _rank(number, vocabulary, used))
    kept = sorted(order[:size])
    words = weights.tensors["words.weight"][kept]
    return Weights(tensors={**weights.tensors, "words.weight": words}), [vocabulary[number] for number in kept]


ENGLISH_END = 30_522
"""The first position after the tokens of BERT's English vocabulary."""


def _rank(number: int, vocabulary: Sequence[str], used: set[str]) -> tuple[int, float]:
    token = vocabulary[number]
    plain = token.removeprefix("##")
    if token.startswith("[") or token in used or (len(plain) == 1 and plain.isascii()):
        return 0, number
    if not all(ord(letter) < 0x250 for letter in plain):
        return 2, number
    place = number - ENGLISH_END if number >= ENGLISH_END else number
    total = len(vocabulary) - ENGLISH_END if number >= ENGLISH_END else ENGLISH_END
    return 1, place / total
