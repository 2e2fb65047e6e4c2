"""Write a reader as an ONNX file with 8-bit weights, and run such a file."""

import concurrent.futures
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from export import Graph, model_of, states_of
from model import Weights
from onnx import TensorProto

from reader.inputs import MAX_TOKENS, Input, best_span
from reader.network import ANSWERS, JUDGE
from reader.schema import columns

WORTH = columns()["worth"]
"""The columns of the answers for ``worth``. They are the last ones."""


def write(weights: Weights, path: Path) -> int:
    """Write a reader to a file and return its size in bytes. The outputs ``answers`` and ``span`` are scores.

    If the weights have a layer for verdicts (``fit_worth.py``), its scores take the place of those for ``worth``.
    """
    tensors = {**weights.tensors, "positions.weight": weights.tensors["positions.weight"][:MAX_TOKENS]}
    graph = Graph(Weights(tensors=tensors), per_token=True)
    states = states_of(graph, weights.layers, first_only=False)
    first = graph.add("Gather", states[-1], graph.constant("zero", np.array(0, np.int64)), axis=1)
    answers = _linear(graph, first, "answers")
    if f"{JUDGE}.weight" in tensors:
        rest = (graph.constant(f"at{number}", np.array([number], np.int64)) for number in (0, WORTH.start, 1))
        verdicts = _linear(graph, graph.add("Concat", first, *_means(graph, states[1:]), axis=-1), JUDGE)
        graph.add("Concat", graph.add("Slice", answers, *rest), verdicts, axis=-1)
    graph.nodes[-1].output[0] = "answers"
    scores = _linear(graph, states[-1], "span")
    graph.add("Squeeze", scores, graph.constant("last", np.array([-1], np.int64)))
    graph.nodes[-1].output[0] = "span"
    onnx.save(model_of(graph, {"answers": ["batch", ANSWERS], "span": ["batch", "tokens"]}), str(path))
    return path.stat().st_size


def _means(graph: Graph, layers: Sequence[str]) -> list[str]:
    """Add nodes for the mean state of the text's tokens after each layer. Tokens of the first part do not count."""
    is_text = graph.add("Cast", "token_type_ids", to=TensorProto.FLOAT)
    share = graph.add(
        "Div", is_text, graph.add("ReduceSum", is_text, graph.constant("rows", np.array([1], np.int64)), keepdims=1)
    )
    shares = graph.add("Unsqueeze", share, graph.constant("rows", np.array([1], np.int64)))
    return [
        graph.add("Squeeze", graph.add("MatMul", shares, states), graph.constant("rows", np.array([1], np.int64)))
        for states in layers
    ]


def _linear(graph: Graph, states: str, key: str) -> str:
    """Add nodes that multiply by a small matrix in float and add the bias. Return the name of the output."""
    matrix = graph.constant(f"holdfast.{key}.weight", np.ascontiguousarray(graph.weights[f"{key}.weight"].T.astype(np.float32)))
    return graph.add("Add", graph.add("MatMul", states, matrix), graph.floats(f"{key}.bias"))


class Session:
    """Runs the ONNX file of a reader on one text at a time, as the product does."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(path), sess_options=options, providers=["CPUExecutionProvider"])

    def read(self, one: Input) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of all answers, and the span score of each token."""
        ids = one.ids[None]
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": one.kinds[None]}
        answers, span = self._session.run(["answers", "span"], inputs)
        return answers[0], span[0]

    def predict(self, inputs: Sequence[Input], workers: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """Return the scores of all answers, and the span of each text."""
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(self.read, inputs))
        spans = [best_span(tokens, one) for (_, tokens), one in zip(found, inputs, strict=True)]
        return np.stack([answers for answers, _ in found]), spans

    def milliseconds(self, inputs: Sequence[Input]) -> dict[str, Any]:
        """Return the median and the 95th percentile of the time per text on one core, and the mean number of tokens."""
        self.read(inputs[0])
        times = []
        for one in inputs:
            start = time.perf_counter()
            self.read(one)
            times.append(1000 * (time.perf_counter() - start))
        tokens = float(np.mean([len(one.ids) for one in inputs]))
        return {"median": float(np.median(times)), "95th": float(np.percentile(times, 95)), "tokens": tokens}
