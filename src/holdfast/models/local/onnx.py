"""BERT networks on this machine's processor, with ONNX Runtime.

Made to live inside somebody else's program: one thread that does not spin, nothing loaded before the first use. Safe to use from
several threads; a forked child loads its own copy.
"""

import os
import threading
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
from holdfast.models.local.registry import NETWORK, VOCABULARY, Spec
from holdfast.models.local.weights import locate, verify
from holdfast.models.local.wordpiece import WordPiece

__all__ = ["Floats", "Network"]

Floats: TypeAlias = NDArray[np.float32]

_MAX_PARALLEL_RUNS: Final = 2
"""Runs at the same time. Each costs up to 35 MB; with two, a question need not wait for a long document."""


class Network:
    """A model of the registry, whose weights must be in ``directory`` by the first use."""

    def __init__(self, spec: Spec, directory: Path) -> None:
        """Remember what to load; ``WeightsMissing`` comes with the first use, or with :meth:`load`."""
        self._spec = spec
        self._directory = directory
        self._process = _ProcessNetwork()

    def load(self) -> None:
        """Load the network now rather than with the first use."""
        self._loaded(self._here())

    def encode(self, text: str, *, max_tokens: int) -> list[int]:
        """Return the ids of a text's tokens, between the marks of its beginning and its end."""
        return self._loaded(self._here()).tokenizer.encode(text, max_tokens=max_tokens)

    def run(self, ids: Sequence[int], *, second: int | None = None) -> Floats:
        """Return the network's first output for one input; from the token ``second`` on, it is the other text of a pair."""
        process = self._here()
        loaded = self._loaded(process)
        tokens = np.array([ids], dtype=np.int64)
        parts = np.zeros_like(tokens)
        if second is not None:
            parts[0, second:] = 1
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": parts}
        with process.slots:
            found: Floats = loaded.session.run([loaded.output], inputs)[0][0]
        return found

    def _here(self) -> "_ProcessNetwork":
        """Return this process's own state: after a fork, locks may be held by threads that are gone."""
        if self._process.pid != os.getpid():
            self._process = _ProcessNetwork()
        return self._process

    def _loaded(self, process: "_ProcessNetwork") -> "_Loaded":
        if process.loaded is None:
            with process.loading:
                if process.loaded is None:
                    process.loaded = _load(self._spec, self._directory)
        return process.loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """A model in memory."""

    session: onnxruntime.InferenceSession
    output: str
    tokenizer: WordPiece


@dataclass(slots=True)
class _ProcessNetwork:
    """What one process holds: its network and its locks."""

    pid: int = field(default_factory=os.getpid)
    loaded: _Loaded | None = None
    loading: threading.Lock = field(default_factory=threading.Lock)
    slots: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(_MAX_PARALLEL_RUNS))


def _load(spec: Spec, directory: Path) -> _Loaded:
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
    return _Loaded(session=session, output=session.get_outputs()[0].name, tokenizer=WordPiece.load(paths[VOCABULARY]))
