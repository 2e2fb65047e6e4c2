"""An embedder that runs on this machine's processor, with ONNX Runtime.

Made to live inside somebody else's program: one thread that does not spin, about 160 MB with the default
model, nothing loaded before the first text. Each text is embedded on its own, because an int8 network scales
by its whole input: in a batch, a text's vector would change with its neighbours. Safe to use from several
threads; a forked child loads its own copy.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
)

from holdfast.errors import ModelError
from holdfast.models.described import Described, check_texts
from holdfast.models.registry import NETWORK, VOCABULARY, ModelSpec
from holdfast.models.weights import locate, verify
from holdfast.models.wordpiece import WordPiece
from holdfast.protocols import Role

__all__ = ["LocalEmbedder"]

Vector: TypeAlias = NDArray[np.float32]

_AT_ONCE: Final = 2
"""Runs at the same time. Each costs up to 35 MB; with two, a question need not wait for a long document."""
_CACHED_QUERIES: Final = 256
_LONGEST_CACHED: Final = 2000


class LocalEmbedder(Described):
    """Embeds texts with a model of the registry, whose weights must be in ``directory`` by the first use."""

    def __init__(self, spec: ModelSpec, directory: Path) -> None:
        """Remember what to load; ``WeightsMissing`` comes with the first text, or with :meth:`load`."""
        self._spec: ModelSpec = spec
        self._directory = directory
        self._process = _Process()

    def load(self) -> None:
        """Load the network now rather than with the first text."""
        self._loaded(self._here())

    def embed(self, texts: Sequence[str], *, role: Role) -> Vector:
        """Return a unit vector for each text, one a row; a text longer than the model reads is cut."""
        check_texts(texts, role)
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._query(text) if role == "query" else self._run(text)
        return vectors

    def _query(self, text: str) -> Vector:
        process = self._here()
        vector = process.recall(text)
        if vector is None:
            vector = self._run(self._spec.query_prefix + text)
            process.keep(text, vector)
        return vector

    def _run(self, text: str) -> Vector:
        process = self._here()
        network = self._loaded(process)
        ids = np.array([network.tokenizer.encode(text, max_tokens=self._spec.max_tokens)], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        with process.slots:
            tokens: Vector = network.session.run([network.output], inputs)[0][0]
        pooled = tokens[0] if self._spec.pooling == "cls" else tokens.mean(axis=0)
        unit: Vector = (pooled / max(float(np.linalg.norm(pooled)), 1e-12)).astype(np.float32)
        return unit

    def _here(self) -> "_Process":
        """Return this process's own state: after a fork, locks may be held by threads that are gone."""
        if self._process.pid != os.getpid():
            self._process = _Process()
        return self._process

    def _loaded(self, process: "_Process") -> "_Network":
        if process.network is None:
            with process.loading:
                if process.network is None:
                    process.network = _load(self._spec, self._directory)
        return process.network


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """A model in memory."""

    session: onnxruntime.InferenceSession
    output: str
    tokenizer: WordPiece


@dataclass(slots=True)
class _Process:
    """What one process holds: its network, its locks, and the questions it was asked last."""

    pid: int = field(default_factory=os.getpid)
    network: _Network | None = None
    loading: threading.Lock = field(default_factory=threading.Lock)
    slots: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(_AT_ONCE))
    _queries: OrderedDict[str, Vector] = field(default_factory=OrderedDict)
    _asking: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, text: str) -> Vector | None:
        """Return the vector of a question asked lately."""
        with self._asking:
            vector = self._queries.get(text)
            if vector is not None:
                self._queries.move_to_end(text)
            return vector

    def keep(self, text: str, vector: Vector) -> None:
        """Keep the vector of a question, at the cost of the one that was not asked for longest."""
        if len(text) > _LONGEST_CACHED:
            return
        with self._asking:
            self._queries[text] = vector
            while len(self._queries) > _CACHED_QUERIES:
                self._queries.popitem(last=False)


def _load(spec: ModelSpec, directory: Path) -> _Network:
    paths = locate(spec, directory)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Texts differ in length, and the runtime would keep a memory plan for each length it met. The arena stays
    # on: without it long texts take twice as long, and the allocator's holes cost more than it does.
    options.enable_mem_pattern = False
    try:
        session = onnxruntime.InferenceSession(
            os.fspath(paths[NETWORK]), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except (Fail, InvalidArgument, InvalidGraph, InvalidProtobuf) as error:
        verify(spec, directory)  # damaged bytes of the right size get their own error
        message = f"this machine's ONNX Runtime cannot load {spec.name}: {error}"
        raise ModelError(message) from error
    return _Network(session=session, output=session.get_outputs()[0].name, tokenizer=WordPiece.load(paths[VOCABULARY]))
