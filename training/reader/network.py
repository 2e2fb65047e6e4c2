"""The reader network: the embedder's layers, a classifier per question on the first token, and a span score per token."""

from collections.abc import Sequence

import numpy as np
import torch
from model import POSITIONS, Dense, Encoder, Weights
from torch import Tensor, nn

from reader.schema import columns

WIDTH = 384
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

    def states(self, ids: Tensor, kinds: Tensor, lengths: Tensor) -> Tensor:
        """Return the states after the last layer."""
        trunk = self.trunk
        places = torch.arange(ids.shape[1], device=ids.device)
        mask = (places[None, :] < lengths[:, None])[:, None, None, :]
        states = self.dropout(trunk.norm(trunk.words(ids) + trunk.positions(places)[None] + trunk.kinds(kinds)))
        for layer in trunk.layers:
            states = layer(states, mask)
        return states

    def forward(self, ids: Tensor, kinds: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of all answers, and for each token a score for being part of the span."""
        states = self.dropout(self.states(ids, kinds, lengths).float())
        with torch.autocast(ids.device.type, enabled=False):
            return self.answers(states[:, 0]), self.span(states)[:, :, 0]

    def weights(self) -> Weights:
        """Return all weights by name. The embedder's layers keep the names that they have in the embedder."""
        own = {name: value.detach().float().cpu().numpy() for name, value in self.state_dict().items()}
        return Weights(tensors={name.removeprefix("trunk."): value for name, value in own.items()})


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


def continued(weights: Weights) -> tuple[Weights, dict[str, np.ndarray]]:
    """Return the layers and the heads of an exported reader, to train them further.

    The exported reader has as many positions as it needs; the missing ones are added as zeros and never used.
    """
    trunk = {name: value for name, value in weights.tensors.items() if name.split(".")[0] not in ("answers", "span")}
    heads = {name: value for name, value in weights.tensors.items() if name not in trunk}
    positions = trunk["positions.weight"]
    trunk["positions.weight"] = np.pad(positions, ((0, POSITIONS - len(positions)), (0, 0)))
    return Weights(tensors=trunk), {
        name: np.ascontiguousarray(value.T if name.endswith("weight") else value) for name, value in heads.items()
    }


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
