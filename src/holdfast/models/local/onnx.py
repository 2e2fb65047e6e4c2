"""BERT networks that run on the CPU with ONNX Runtime.

They are designed to run inside another program. They use one thread that does not spin, and load nothing before the first
use. They are safe to use from several threads. A forked child loads its own copy.
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ExtraMissing, ModelError
from holdfast.models.local.integrity import locate_verified
from holdfast.models.local.registry import NETWORK, VOCABULARY, Spec
from holdfast.models.local.runtime import RUNTIME_MISSING
from holdfast.models.local.weights import verify
from holdfast.models.local.wordpiece import WordPiece
from holdfast.runtime.fair_slots import FairSlots, TaskKind
from holdfast.runtime.native_calls import native_calls
from holdfast.runtime.priority import give_way, has_low_priority

try:
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import (
        Fail,
        InvalidArgument,
        InvalidGraph,
        InvalidProtobuf,
    )
except ImportError as error:
    raise ExtraMissing(RUNTIME_MISSING) from error

__all__ = ["Floats", "Network"]

Floats: TypeAlias = NDArray[np.float32]

_MAX_SHORT_TOKENS = 96
"""Maximum number of tokens of a short input. Short inputs run before longer inputs that wait.

Queries and ordinary messages are short.
"""
_MAX_PARALLEL_RUNS: Final = 2
"""Maximum number of inputs that run in parallel. Each run takes up to 35 MB.

Because of the second run, a query does not wait for a long document of another tenant or of background work.
"""


class Network:
    """The network of a registry model. Its weights must be in ``directory`` before the first use."""

    def __init__(self, spec: Spec, directory: Path) -> None:
        """Store the arguments. Nothing is loaded yet.

        The first use, or calling :meth:`load`, raises ``WeightsMissing`` if there are no weights.
        """
        self._spec = spec
        self._directory = directory
        self._process = _ProcessNetwork()

    def load(self) -> None:
        """Load the network now, instead of on first use."""
        self._loaded(self._current())

    def encode(self, text: str, *, max_tokens: int) -> list[int]:
        """Return the token ids of a text, including the start and end tokens."""
        return self._loaded(self._current()).tokenizer.encode(text, max_tokens=max_tokens)

    def pieces(self, text: str) -> list[int]:
        """Return the token ids of a text, without start and end tokens."""
        return self._loaded(self._current()).tokenizer.pieces(text)

    def special(self, token: str) -> int:
        """Return the id of a special token, such as ``[SEP]``."""
        return self._loaded(self._current()).tokenizer.special(token)

    def run(self, ids: Sequence[int], *, second: int | None = None) -> Floats:
        """Return the network's first output for one input, given as token ids.

        If the input is a pair of texts, ``second`` is the position of the first token of the second text.
        """
        return self.run_all(ids, second=second, limit=1)[0]

    def run_all(self, ids: Sequence[int], *, second: int | None = None, limit: int | None = None) -> list[Floats]:
        """Return the outputs of the network for one input: all outputs, or the first ``limit``.

        ``ids`` and ``second`` are as in :meth:`run`.
        """
        give_way()
        process = self._current()
        loaded = self._loaded(process)
        tokens = np.array([ids], dtype=np.int64)
        segments = np.zeros_like(tokens)
        if second is not None:
            segments[0, second:] = 1
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": segments}
        with process.slots.slot(_kind_of(len(ids))), native_calls:
            outputs = loaded.session.run(loaded.outputs[:limit], inputs)
        return [output[0] for output in outputs]

    def _current(self) -> "_ProcessNetwork":
        """Return this process's state: the network and its locks.

        A forked child creates its own state, because threads that exist only in the parent may hold the parent's locks.
        """
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
    """A network in memory, with its tokenizer and the names of its outputs."""

    session: onnxruntime.InferenceSession
    outputs: list[str]
    tokenizer: WordPiece


@dataclass(slots=True)
class _ProcessNetwork:
    """The network and the locks of one process."""

    pid: int = field(default_factory=os.getpid)
    loaded: _Loaded | None = None
    loading: threading.Lock = field(default_factory=threading.Lock)
    slots: FairSlots = field(default_factory=lambda: FairSlots(_MAX_PARALLEL_RUNS))


def _kind_of(tokens: int) -> TaskKind:
    if tokens <= _MAX_SHORT_TOKENS:
        return "short"
    return "low" if has_low_priority() else "long"


def _load(spec: Spec, directory: Path) -> _Loaded:
    paths = locate_verified(spec, directory)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Texts differ in length, and the runtime would keep a memory plan per length. The arena stays on:
    # without it long texts take twice as long, and heap fragmentation costs more than the arena.
    options.enable_mem_pattern = False
    try:
        with native_calls:
            session = onnxruntime.InferenceSession(
                os.fspath(paths[NETWORK]), sess_options=options, providers=["CPUExecutionProvider"]
            )
    except (Fail, InvalidArgument, InvalidGraph, InvalidProtobuf) as error:
        verify(spec, directory)  # raises WeightsCorrupt if the file was damaged without a new modification time
        raise ModelError(f"The installed ONNX Runtime cannot load {spec.name}: {error}") from error
    return _Loaded(
        session=session, outputs=[output.name for output in session.get_outputs()], tokenizer=WordPiece.load(paths[VOCABULARY])
    )
