"""A BERT encoder with 384 dimensions in torch. It can be initialized from an int8 ONNX file of the same architecture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from tokens import NewToken, tokenizer
from torch import Tensor, nn

HEADS = 12
POSITIONS = 512
"""Number of positions that an encoder has a vector for."""
EPSILON = 1e-12
MATRIX_TOP = 64
"""Largest value of a quantized weight. With larger values, x86 processors without VNNI overflow when they add up products."""
INPUT_TOP = 127
"""Largest value of an input that is rounded around zero."""
Scale: TypeAlias = Literal["text", "token", "token around zero"]


class Dense(nn.Linear):
    """A linear layer that can round its input and weights as the exported network does. Gradients ignore the rounding."""

    rounds = False
    scale: Scale = "text"
    """How the input is rounded: with one scale per text, with one scale per token, or per token and symmetric around zero.

    The last layer of the exported embedder sees only one token. The exported reader rounds each token around zero.
    """

    def forward(self, states: Tensor) -> Tensor:
        """Multiply by the weights and add the bias."""
        if not self.rounds:
            return super().forward(states)
        with torch.autocast(states.device.type, enabled=False):
            return F.linear(_rounded_input(states.float(), self.scale), _rounded_matrix(self.weight), self.bias)


def _rounded_input(states: Tensor, per: Scale) -> Tensor:
    """Round the input of a layer to 8 bits. The range is from the minimum to the maximum, or symmetric around zero."""
    given = states.detach()
    if per == "token around zero":
        step = (given.abs().amax(2, keepdim=True) / INPUT_TOP).clamp(min=1e-8)
        return states + (torch.round(given / step) * step - given)
    over = (2,) if per == "token" else (1, 2)
    low, high = given.amin(over, keepdim=True).clamp(max=0.0), given.amax(over, keepdim=True).clamp(min=0.0)
    step = ((high - low) / 255).clamp(min=1e-8)
    zero = torch.round(-low / step)
    rounded = (torch.clamp(torch.round(given / step) + zero, 0, 255) - zero) * step
    return states + (rounded - given)


def _rounded_matrix(weights: Tensor) -> Tensor:
    """Round the weights of a layer to 7 bits, with one scale per output channel."""
    scale = (weights.detach().abs().amax(1, keepdim=True) / MATRIX_TOP).clamp(min=1e-10)
    return weights + (torch.round(weights.detach() / scale) * scale - weights.detach())


class Layer(nn.Module):
    """One layer: self-attention, then a feed-forward network, each with a residual and a norm."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.qkv = Dense(width, 3 * width)
        self.mix = Dense(width, width)
        self.norm1 = nn.LayerNorm(width, eps=EPSILON)
        self.up = Dense(width, inner)
        self.down = Dense(inner, width)
        self.norm2 = nn.LayerNorm(width, eps=EPSILON)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states of the next layer.

        The mask is True for tokens that can be attended to; its shape is (batch, 1, 1, tokens).
        """
        batch, length, width = states.shape
        q, k, v = (part.reshape(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(states).chunk(3, dim=-1))
        mixed = _attend(q, k, v, mask).transpose(1, 2).reshape(batch, length, width)
        states = self.norm1(states + self.mix(mixed))
        return self.norm2(states + self.down(F.gelu(self.up(states))))


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ v


class Encoder(nn.Module):
    """Turns token ids into one unit vector per text: the state of the first token."""

    def __init__(self, *, tokens: int, layers: int, width: int = 384, inner: int = 1536, positions: int = POSITIONS) -> None:
        super().__init__()
        self.words = nn.Embedding(tokens, width)
        self.positions = nn.Embedding(positions, width)
        self.kinds = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.layers = nn.ModuleList(Layer(width, inner) for _ in range(layers))

    def round(self, *, rounds: bool) -> None:
        """Switch on or off the rounding of inputs and weights in all layers. It imitates the exported network."""
        for module in self.modules():
            if isinstance(module, Dense):
                module.rounds = rounds
        last = self.layers[-1]
        last.mix.scale = last.up.scale = last.down.scale = "token"

    def states(self, ids: Tensor, lengths: Tensor) -> list[Tensor]:
        """Return the states after each layer."""
        places = torch.arange(ids.shape[1], device=ids.device)
        mask = (places[None, :] < lengths[:, None])[:, None, None, :]
        states = self.norm(self.words(ids) + self.positions(places)[None] + self.kinds.weight[0])
        found = []
        for layer in self.layers:
            states = layer(states, mask)
            found.append(states)
        return found

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return one unit vector per text."""
        return F.normalize(self.states(ids, lengths)[-1][:, 0].float(), dim=-1)


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The float weights of an encoder, by the names of its parameters."""

    tensors: dict[str, np.ndarray]

    @property
    def layers(self) -> int:
        """Return the number of layers."""
        return 1 + max(int(name.split(".")[1]) for name in self.tensors if name.startswith("layers."))

    def keep(self, layers: Sequence[int]) -> "Weights":
        """Return the weights with only the given layers, renumbered from 0. Weights outside the layers are kept."""
        kept = {name: value for name, value in self.tensors.items() if not name.startswith("layers.")}
        for number, layer in enumerate(layers):
            head = f"layers.{layer}."
            kept.update(
                {f"layers.{number}.{name[len(head) :]}": value for name, value in self.tensors.items() if name.startswith(head)}
            )
        return replace(self, tensors=kept)

    def encoder(self) -> Encoder:
        """Return an encoder with these weights."""
        made = Encoder(tokens=self.tensors["words.weight"].shape[0], layers=self.layers)
        made.load_state_dict({name: torch.from_numpy(np.array(value, dtype=np.float32)) for name, value in self.tensors.items()})
        return made

    @classmethod
    def of(cls, encoder: Encoder) -> "Weights":
        """Return the weights of an encoder."""
        return cls(tensors={name: value.detach().float().cpu().numpy() for name, value in encoder.state_dict().items()})


def dequantize(path: Path) -> Weights:
    """Read the weights of a BERT from an ONNX file that was quantized to 8 bits with ONNX Runtime's dynamic quantization."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    values = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    if "holdfast.words" in values:
        return _own(values)
    linear = {
        node.name: node.input[1].removesuffix("_quantized")
        for node in graph.node
        if node.op_type == "MatMulInteger" and node.input[1] in values
    }

    def float_of(name: str) -> np.ndarray:
        scale, zero = values[f"{name}_scale"], values[f"{name}_zero_point"]
        return (values[f"{name}_quantized"].astype(np.float32) - zero.astype(np.float32)) * scale

    def dense(layer: int, part: str) -> tuple[np.ndarray, np.ndarray]:
        name = linear[f"/encoder/layer.{layer}/{part.replace('.', '/')}/MatMul_quant"]
        return float_of(name).T, values[f"encoder.layer.{layer}.{part}.bias"]

    tensors = {
        "words.weight": float_of("embeddings.word_embeddings.weight"),
        "positions.weight": float_of("embeddings.position_embeddings.weight"),
        "kinds.weight": float_of("embeddings.token_type_embeddings.weight"),
        "norm.weight": values["embeddings.LayerNorm.weight"],
        "norm.bias": values["embeddings.LayerNorm.bias"],
    }
    for layer in range(sum(name.endswith("/query/MatMul_quant") for name in linear)):
        parts = [dense(layer, f"attention.self.{part}") for part in ("query", "key", "value")]
        tensors[f"layers.{layer}.qkv.weight"] = np.concatenate([weight for weight, _ in parts])
        tensors[f"layers.{layer}.qkv.bias"] = np.concatenate([bias for _, bias in parts])
        for ours, theirs in (("mix", "attention.output.dense"), ("up", "intermediate.dense"), ("down", "output.dense")):
            tensors[f"layers.{layer}.{ours}.weight"], tensors[f"layers.{layer}.{ours}.bias"] = dense(layer, theirs)
        for ours, theirs in (("norm1", "attention.output"), ("norm2", "output")):
            for part in ("weight", "bias"):
                tensors[f"layers.{layer}.{ours}.{part}"] = values[f"encoder.layer.{layer}.{theirs}.LayerNorm.{part}"]
    return Weights(tensors=tensors)


def _own(values: dict[str, np.ndarray]) -> Weights:
    """Read the weights of a file written by ``export.py``."""
    tensors = {}
    for name, value in values.items():
        if not name.startswith("holdfast.") or name.endswith(("_scale", "_zero")):
            continue
        key = name.removeprefix("holdfast.")
        scale = values.get(f"{name}_scale")
        if scale is None:
            tensors[key] = value.astype(np.float32)
        elif key in ("words", "positions", "kinds"):
            tensors[f"{key}.weight"] = value.astype(np.float32) * scale
        else:
            tensors[key] = (value.astype(np.float32) * scale).T
    for name in [name for name in tensors if ".qkv.q." in name]:
        whole = name.replace(".qkv.q.", ".qkv.")
        tensors[whole] = np.concatenate([tensors.pop(name), tensors.pop(name.replace(".qkv.q.", ".qkv.kv."))])
    return Weights(tensors=tensors)


def add_tokens(weights: Weights, old: Sequence[str], extended: Sequence[str], new: Sequence[NewToken]) -> Weights:
    """Return weights with a vector for each token of the extended vocabulary.

    The vector of a new token starts as the weighted mean of the vectors of its English words, scaled to the usual length. Without
    English words, it starts as the mean of the pieces into which the old vocabulary splits the token.
    """
    vectors = weights.tensors["words.weight"]
    made = np.zeros((len(extended), vectors.shape[1]), dtype=np.float32)
    made[: len(vectors)] = vectors
    cutter = tokenizer(old)
    known = {token.token: token for token in new}
    length = float(np.median(np.linalg.norm(vectors[2000:20000], axis=1)))
    for number, token in enumerate(extended):
        if number < len(old) and old[number] == token:
            continue
        start = _start(known[token], cutter, vectors)
        made[number] = start * (length / max(float(np.linalg.norm(start)), 1e-6))
    return replace(weights, tensors={**weights.tensors, "words.weight": made})


def _start(token: NewToken, cutter: object, vectors: np.ndarray) -> np.ndarray:
    words = token.english or {token.token.removeprefix("##"): 1.0}
    total = np.zeros(vectors.shape[1], dtype=np.float32)
    for word, weight in words.items():
        ids = cutter.encode(word, add_special_tokens=False).ids  # type: ignore[attr-defined]
        if ids:
            total += weight * vectors[ids].mean(axis=0)
    return total
