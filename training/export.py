"""Write an encoder as an ONNX file with 8-bit weights, and check it against the float encoder.

Weights are int8 with one scale per output channel, and token vectors are int8 with one scale per token. Activations are quantized
at run time, with one scale per text or one scale per token. The last layer of an embedder computes only the state of the first token, because the other states are not used.
"""

from pathlib import Path

import numpy as np
import onnx
from model import EPSILON, HEADS, INPUT_TOP, MATRIX_TOP, Weights
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
ROW_TOP = 127
"""Largest value in a quantized token vector. Token vectors are only looked up, not multiplied in 8 bits."""


class Graph:
    """Collects the nodes and the weights of an ONNX graph.

    With ``per_token``, the inputs of a layer are quantized with one scale per token. This takes about a tenth longer and is
    three times as close to float. Results are then the same on x86 and ARM. Otherwise, ONNX Runtime chooses: one scale per
    text on x86, one scale per token on many ARM processors.
    """

    def __init__(self, weights: Weights, *, per_token: bool = False) -> None:
        self.weights = weights.tensors
        self.per_token = per_token
        self.nodes: list[onnx.NodeProto] = []
        self.values: dict[str, np.ndarray] = {}

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        """Add a node and return the name of its (first) output."""
        name = f"{kind}_{len(self.nodes)}"
        names = [name, *(f"{name}.{number}" for number in range(1, outputs))]
        self.nodes.append(helper.make_node(kind, inputs, names, name=name, **attributes))
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        """Store a constant once and return its name."""
        self.values.setdefault(name, value)
        return name

    def floats(self, key: str) -> str:
        """Store a parameter in float, not quantized. Return its name in the graph."""
        return self.constant(f"holdfast.{key}", self.weights[key].astype(np.float32))

    def rows(self, key: str, ids: str) -> str:
        """Add nodes that look up rows of a table. The table is stored in int8 with a scale per row. Return the output's name."""
        quantized, scale = quantize(self.weights[f"{key}.weight"], ROW_TOP)
        table = self.constant(f"holdfast.{key}", quantized)
        scales = self.constant(f"holdfast.{key}_scale", scale[:, None])
        found = self.add("Cast", self.add("Gather", table, ids), to=TensorProto.FLOAT)
        return self.add("Mul", found, self.add("Gather", scales, ids))

    def linear(self, states: str, key: str, part: slice | None = None, suffix: str = "") -> str:
        """Add nodes that multiply by a matrix in 8 bits and add the bias. Return the name of the output.

        With ``part``, only these output channels are computed.
        """
        cut = part or slice(None)
        quantized, scale = quantize(self.weights[f"{key}.weight"][cut], MATRIX_TOP)
        name = f"holdfast.{key}{suffix}.weight"
        matrix = self.constant(name, np.ascontiguousarray(quantized.T))
        zero = self.constant(f"{name}_zero", np.zeros(len(scale), dtype=np.int8))
        scales = self.constant(f"{name}_scale", scale)
        bias = self.constant(f"holdfast.{key}{suffix}.bias", self.weights[f"{key}.bias"][cut].astype(np.float32))
        if self.per_token:
            small, middle, factor = self._tokens_in_8_bits(states)
            product = self.add("Cast", self.add("MatMulInteger", small, matrix, middle, zero), to=TensorProto.FLOAT)
            return self.add("Add", self.add("Mul", self.add("Mul", product, scales), factor), bias)
        if self.nodes[-1].op_type != "DynamicQuantizeLinear" or self.nodes[-1].input[0] != states:
            self.add("DynamicQuantizeLinear", states, outputs=3)
        small = self.nodes[-1].name
        product = self.add("MatMulInteger", small, matrix, f"{small}.2", zero)
        factor = self.add("Mul", f"{small}.1", scales)
        return self.add("Add", self.add("Mul", self.add("Cast", product, to=TensorProto.FLOAT), factor), bias)

    def _tokens_in_8_bits(self, states: str) -> tuple[str, str, str]:
        """Quantize the state of each token with its own scale, around zero.

        Return the names of the result, of its zero point, and of the scales. The graph can then read only one text at a
        time, because ``QuantizeLinear`` takes scales along a single axis.
        """
        largest = self.add("ReduceMax", states, axes=[-1], keepdims=1)
        smallest = self.add("Neg", self.add("ReduceMin", states, axes=[-1], keepdims=1))
        bound = self.add("Max", largest, smallest, self.constant("tiny", np.array(1e-6, np.float32)))
        scale = self.add("Mul", bound, self.constant("step", np.array(1 / INPUT_TOP, np.float32)))
        row = self.add("Reshape", scale, self.constant("flat", np.array([-1], np.int64)))
        middle = np.array(128, np.uint8)
        zeros = self.add("ConstantOfShape", self.add("Shape", row), value=numpy_helper.from_array(middle[None]))
        return self.add("QuantizeLinear", states, row, zeros, axis=1), self.constant("middle", middle), scale

    def norm(self, states: str, key: str) -> str:
        """Add a node for layer normalization of each state. Return the name of the output."""
        return self.add(
            "LayerNormalization", states, self.floats(f"{key}.weight"), self.floats(f"{key}.bias"), axis=-1, epsilon=EPSILON
        )


def quantize(matrix: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix in int8 and the scale of each row. The rounding is the same as in training."""
    matrix = matrix.astype(np.float32)
    scale = np.maximum(np.abs(matrix).max(axis=1), 1e-8) / limit
    return np.clip(np.round(matrix / scale[:, None]), -limit, limit).astype(np.int8), scale.astype(np.float32)


def build(weights: Weights) -> onnx.ModelProto:
    """Return the ONNX model of an encoder. The inputs are those of BERT. The output is one state per text."""
    graph = Graph(weights)
    states_of(graph, weights.layers, first_only=True)
    graph.nodes[-1].output[0] = "last_hidden_state"
    return model_of(graph, {"last_hidden_state": ["batch", 1, 384]})


def states_of(graph: Graph, layers: int, *, first_only: bool) -> list[str]:
    """Add the nodes of an encoder to a graph. Return the names of the states after each layer.

    With ``first_only``, the last states are those of the first token of each text, otherwise those of all tokens.
    """
    one, zero = graph.constant("one", np.array(1, np.int64)), graph.constant("zero", np.array(0, np.int64))
    length = graph.add("Gather", graph.add("Shape", "input_ids"), one)
    places = graph.add("Range", zero, length, one)
    words = graph.add("Add", graph.rows("words", "input_ids"), graph.rows("positions", places))
    states = graph.norm(graph.add("Add", words, graph.rows("kinds", "token_type_ids")), "norm")
    axes = graph.constant("axes", np.array([1, 2], np.int64))
    hidden = graph.add(
        "Sub", graph.constant("unit", np.array(1, np.float32)), graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    )
    mask = graph.add("Unsqueeze", graph.add("Mul", hidden, graph.constant("far", np.array(-1e4, np.float32))), axes)
    found = []
    for number in range(layers):
        states = layer(graph, states, mask, f"layers.{number}", is_last=first_only and number == layers - 1)
        found.append(states)
    return found


def model_of(graph: Graph, outputs: dict[str, list[str | int]]) -> onnx.ModelProto:
    """Return a graph as a model with BERT's inputs and the given outputs, each with its shape."""
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    initializers = [numpy_helper.from_array(value, name) for name, value in graph.values.items()]
    made = helper.make_graph(graph.nodes, "holdfast", inputs, results, initializers)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="holdfast")


def layer(graph: Graph, states: str, mask: str, key: str, *, is_last: bool) -> str:
    """Add the nodes of a layer, and return the name of its states. With ``is_last``, only the first token has a state."""
    width = graph.weights["norm.weight"].shape[0]
    if is_last:
        first = graph.add("Slice", states, *(graph.constant(f"at{number}", np.array([number], np.int64)) for number in (0, 1, 1)))
        kv = graph.linear(states, f"{key}.qkv", slice(width, None), ".kv")
        q = graph.linear(first, f"{key}.qkv", slice(0, width), ".q")
        k = graph.add("Split", kv, outputs=2, axis=-1)
        v, states = f"{k}.1", first
    else:
        q = graph.add("Split", graph.linear(states, f"{key}.qkv"), outputs=3, axis=-1)
        k, v = f"{q}.1", f"{q}.2"
    heads = graph.constant("heads", np.array([0, 0, HEADS, width // HEADS], np.int64))
    q, v = (graph.add("Transpose", graph.add("Reshape", part, heads), perm=[0, 2, 1, 3]) for part in (q, v))
    k = graph.add("Transpose", graph.add("Reshape", k, heads), perm=[0, 2, 3, 1])
    root = graph.constant("root", np.array((width // HEADS) ** -0.5, np.float32))
    scores = graph.add("Add", graph.add("Mul", graph.add("MatMul", q, k), root), mask)
    mixed = graph.add("Transpose", graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    mixed = graph.add("Reshape", mixed, graph.constant("joined", np.array([0, 0, width], np.int64)))
    states = graph.norm(graph.add("Add", states, graph.linear(mixed, f"{key}.mix")), f"{key}.norm1")
    up = graph.linear(states, f"{key}.up")
    bent = graph.add("Erf", graph.add("Div", up, graph.constant("root2", np.array(2**0.5, np.float32))))
    half = graph.add("Mul", up, graph.add("Add", bent, graph.constant("unit", np.array(1, np.float32))))
    inner = graph.add("Mul", half, graph.constant("half", np.array(0.5, np.float32)))
    return graph.norm(graph.add("Add", states, graph.linear(inner, f"{key}.down")), f"{key}.norm2")


def write(weights: Weights, path: Path) -> int:
    """Write an encoder to a file and return its size in bytes."""
    onnx.save(build(weights), str(path))
    return path.stat().st_size


class Session:
    """Runs an ONNX file that turns token ids into a vector, one text at a time."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(path), sess_options=options, providers=["CPUExecutionProvider"])

    def vector(self, ids: np.ndarray) -> np.ndarray:
        """Return the unit vector of one text."""
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        found = self._session.run(None, inputs)[0][0, 0]
        return found / np.linalg.norm(found)
