"""A chat model that runs in this process on the CPU: llama.cpp, through the ``xllamacpp`` package.

It is designed to run inside another program: nothing is loaded before the first request. One request runs at a time;
other requests wait until their timeout. The model is unloaded before a fork, because its threads would not exist in the
child. Each process loads it again on its next request.

With the 1.5B models of the registry and the default context, a process takes 1.5 GB. Of this, 0.4 GB is private. The
other 1.1 GB is the memory-mapped weights file. The operating system shares this file between processes and can evict it.

xllamacpp starts llama.cpp as a server, which must listen somewhere. On POSIX, the server listens on a Unix socket. The path
of the socket is deleted as soon as the server is ready. On other systems, the server uses a local port and a random key.
No other program can use the server.
"""

import importlib
import importlib.util
import os
import queue
import secrets
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from holdfast.chat import Reply, Schema, Tool, Turn
from holdfast.errors import (
    ExtraMissing,
    InvalidInput,
    ModelBusy,
    ModelError,
    ModelUnavailable,
    ModelUnknown,
    WeightsCorrupt,
    WeightsMissing,
)
from holdfast.models.local.integrity import locate_verified
from holdfast.models.local.registry import GGUF, find_chat
from holdfast.models.local.weights import locate, verify
from holdfast.models.remote.exchange import ChatRequest, closed_schema
from holdfast.models.remote.openai_chat import OpenAIFormat
from holdfast.models.remote.prices import FREE
from holdfast.models.remote.retrying import CallBudget, RetryPolicy
from holdfast.runtime import forks

__all__ = ["LlamaCppChat"]

_BATCH: Final = 128
"""Number of prompt tokens processed per step. A canceled request stops between two steps."""
_MAX_THREADS: Final = 4
"""Maximum number of threads. More threads gain little, because memory bandwidth is the bottleneck."""
_PACKAGE: Final = "xllamacpp"
_NO_PACKAGE: Final = "{name} needs the package xllamacpp: pip install 'holdfast-memory[llamacpp]'"
_SCHEMA: Final = "response_format"
_ONE_LINE: Final = MappingProxyType({"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "})
"""Whitespace that the JSON grammar allows: one blank after "," and ":". Without these blanks, models returned empty arrays."""


class LlamaCppChat:
    """A :class:`holdfast.chat.ChatModel` that runs in this process. Safe to use from several threads and across forks.

    ``local:NAME`` is a chat model of the registry, with its weights in ``directory``. ``gguf:/path/to/model.gguf`` is any
    GGUF file. Decoding is greedy unless ``temperature`` is greater than 0.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        *,
        context: int = 8192,
        threads: int | None = None,
        temperature: float = 0.0,
    ) -> None:
        """Store the arguments. Nothing is loaded yet.

        The first request, or calling :meth:`load`, raises an error if the package or the weights are missing.
        """
        if context < 1 or (threads is not None and threads < 1) or temperature < 0:
            raise InvalidInput("context and threads must be at least 1, and temperature at least 0.")
        self._weights = _Weights.of(name, directory)
        self._context = context
        self._threads = threads or min(_MAX_THREADS, _cpu_count())
        self._temperature = temperature
        self._format = OpenAIFormat(model=name)
        self._process = _ProcessModel()
        forks.register(self)

    @property
    def name(self) -> str:
        """The full name, such as ``local:qwen2.5-1.5b``."""
        return self._weights.name

    def check(self) -> None:
        """Raise an error if the package or the weights are missing. This loads nothing."""
        if importlib.util.find_spec(_PACKAGE) is None:
            raise ExtraMissing(_NO_PACKAGE.format(name=self.name))
        self._weights.locate()

    def load(self) -> None:
        """Load the model now, instead of with the first request."""
        process = self._process
        with process.slot:
            self._load_into(process)

    def close(self) -> None:
        """Unload the model after the current request. The next request loads it again."""
        process = self._process
        with process.slot:
            process.server = None

    def before_fork(self) -> None:
        """Unload the model. Otherwise the child would have the model's state but not its threads, and could never exit."""
        self.close()

    def after_fork(self) -> None:
        """Create new locks in the child process."""
        self._process = _ProcessModel()

    def chat(
        self,
        turns: Sequence[Turn],
        *,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> Reply:
        """Return a reply. If a schema is given, every token must fit the schema, so only a truncated reply can violate it."""
        chat_request = ChatRequest(turns=tuple(turns), schema=schema, tools=tuple(tools), max_tokens=max_tokens, stream=True)
        *_, reply = self._run(chat_request, timeout)
        assert isinstance(reply, Reply)
        return reply

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Yield a reply in pieces. Closing the iterator cancels the request."""
        yield from self._run(ChatRequest(turns=tuple(turns), tools=tuple(tools), max_tokens=max_tokens, stream=True), timeout)

    def _run(self, chat_request: ChatRequest, timeout: float) -> Iterator[str | Reply]:
        budget = CallBudget(RetryPolicy(max_calls=1), timeout=timeout, price=FREE)
        # The grammar forces the form, but the model never sees it. So the schema is added to the prompt as well.
        request = self._format.request(chat_request, {_SCHEMA})
        # llama.cpp supports a schema or tools in one request, not both.
        schema = None if chat_request.tools else chat_request.schema
        try:
            yield from self._pieces(request, schema, budget)
        except ModelError as error:
            budget.fail(error)

    def _pieces(self, request: Mapping[str, Any], schema: Schema | None, budget: CallBudget) -> Iterator[str | Reply]:
        assembler = self._format.assembler()
        try:
            for event in self._events(request, schema, budget):
                if piece := assembler.add(event):
                    yield piece
        finally:
            budget.spend(assembler.tokens)
        raw = assembler.reply()
        if raw is None:
            raise ModelUnavailable(f"{self.name} ended in the middle of its reply. Try again.")
        yield Reply(text=raw.text, tool_calls=raw.tool_calls, stop=raw.stop, usage=budget.usage)

    def _events(self, request: Mapping[str, Any], schema: Schema | None, budget: CallBudget) -> Iterator[Mapping[str, Any]]:
        """Yield the events of a request.

        The request runs in its own thread, so that interrupts and timeouts work while llama.cpp is computing.
        """
        process = self._process
        if not process.slot.acquire(timeout=budget.call()):
            raise ModelBusy(f"{self.name} was busy with another request until the timeout. Try again later.")
        call = _Generation()
        try:
            self._load_into(process)
            # Progress events arrive while the prompt is read; without them, a call could not be canceled until its first token.
            full_request = {**request, **_constrain(schema), "temperature": self._temperature, "return_progress": True}
            threading.Thread(target=call.run, args=(process, full_request), name="holdfast-llamacpp").start()
        except BaseException:
            process.slot.release()
            raise
        try:
            while (event := call.next(budget.remaining, self.name)) is not None:
                yield event
        finally:
            call.canceled.set()

    def _load_into(self, process: "_ProcessModel") -> None:
        if process.server is None:
            process.server = _load(self._weights, context=self._context, threads=self._threads)


@dataclass(slots=True)
class _ProcessModel:
    """The loaded model of one process, and the lock that a thread holds during a request.

    No other object refers to the model, so setting ``server`` to None frees its memory.
    """

    server: Any = None
    slot: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class _Generation:
    """One running request. It passes the model's events from the computing thread to the thread that made the request."""

    canceled: threading.Event = field(default_factory=threading.Event)
    _events: "queue.SimpleQueue[Mapping[str, Any] | str | None]" = field(default_factory=queue.SimpleQueue)

    def run(self, process: _ProcessModel, request: Mapping[str, Any]) -> None:
        """Compute the reply, then release the lock for the next request."""
        try:
            process.server.handle_chat_completions(dict(request), self._take)
        except (ValueError, RuntimeError) as error:
            self._events.put(str(error))
        finally:
            process.slot.release()
            self._events.put(None)

    def next(self, seconds: float, name: str) -> Mapping[str, Any] | None:
        """Return the next event of the model, or None after the last event.

        Raise ``ModelUnavailable`` if no event comes within ``seconds``. Raise ``ModelError`` if the model reports an error.
        ``name`` is the name of the model in error messages.
        """
        try:
            event = self._events.get(timeout=seconds)
        except queue.Empty:
            raise ModelUnavailable(
                f"{name} did not finish its reply within the timeout. Use a longer timeout or a shorter prompt."
            ) from None
        if isinstance(event, str):
            raise ModelError(f"{name} cannot process this request: {event[:300]}")
        if event is not None and "error" in event:
            raise _model_error(name, event["error"])
        return event

    def _take(self, event: Mapping[str, Any]) -> bool:
        """Queue an event of the model. Return True if the request was canceled.

        The model calls this function with each event, and stops when the result is True.
        """
        self._events.put(event)
        return self.canceled.is_set()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    """The weights file that belongs to a model name."""

    name: str
    name_or_path: str
    directory: Path
    is_path: bool

    @classmethod
    def of(cls, name: str, directory: Path) -> "_Weights":
        """Parse a model name: ``local:NAME`` for a model of the registry, or ``gguf:PATH`` for a file."""
        kind, _, rest = name.partition(":")
        if kind not in {"local", "gguf"} or not rest:
            raise ModelUnknown(f"A local chat model is named local:NAME or gguf:/path/to/model.gguf, not {name!r}.")
        if kind == "local":
            find_chat(rest)
        return cls(name=name, name_or_path=rest, directory=directory, is_path=kind == "gguf")

    def locate(self, *, verified: bool = False) -> Path:
        """Return the path of the weights file. With ``verified``, check the hash of a file from the registry."""
        if not self.is_path:
            find = locate_verified if verified else locate
            return find(find_chat(self.name_or_path), self.directory)[GGUF]
        path = Path(self.name_or_path).expanduser()
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise WeightsMissing(
                f"{path} cannot be read ({error.strerror}). Put a GGUF file there, or use one of `holdfast models list`."
            ) from error
        if magic != b"GGUF":
            raise WeightsCorrupt(f"{path} is not a GGUF file. Only this format can be loaded: download the model as GGUF.")
        return path

    def raise_if_damaged(self) -> None:
        """Raise ``WeightsCorrupt`` if the file of a registry model is damaged."""
        if not self.is_path:
            verify(find_chat(self.name_or_path), self.directory)


def _package() -> Any:
    try:
        return importlib.import_module(_PACKAGE)
    except ImportError as error:
        raise ExtraMissing(_NO_PACKAGE.format(name="This model")) from error


def _constrain(schema: Schema | None) -> Mapping[str, Any]:
    """Return the request fields that force a reply to match a schema.

    They also make the model write the JSON on one line, if possible. Otherwise half of the generated text would be
    indentation.
    """
    if schema is None:
        return {}
    closed = closed_schema(schema)
    grammar = _package().json_schema_to_grammar({**closed, "x-guidance": dict(_ONE_LINE)})
    if grammar.startswith("%llguidance"):
        return {"grammar": grammar}
    # This build has only llama.cpp's own grammar, which allows any whitespace and orders fields alphabetically.
    return {_SCHEMA: {"type": "json_schema", "json_schema": {"name": "answer", "schema": closed}}}


def _load(weights: _Weights, *, context: int, threads: int) -> Any:
    path = weights.locate(verified=True)
    package = _package()
    params = _params(package.CommonParams(), path, context=context, threads=threads)
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
            _make_unreachable(params, folder)
            return package.Server(params)
    except RuntimeError as error:
        weights.raise_if_damaged()
        raise ModelError(
            f"llama.cpp cannot load {path}. The model may be too new, the memory too small, or the file damaged."
        ) from error


def _params(params: Any, path: Path, *, context: int, threads: int) -> Any:
    params.model.path = os.fspath(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads
        cpu.poll = 0  # waiting threads must not spin
    params.n_batch = params.n_ubatch = _BATCH
    # Repacked weights would read prompts about a fifth faster, but are a second copy of 0.6 GB.
    params.no_extra_bufts = True
    # By default the server caches old prompts in up to 8 GB.
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.fit_params = params.warmup = False
    params.verbosity = -1
    return params


def _make_unreachable(params: Any, folder: str) -> None:
    """Configure the server so that no other program can use it.

    The server requires a random key. On POSIX, its socket is also placed in a folder that is deleted right after the
    start.
    """
    params.api_keys = [secrets.token_urlsafe(32)]
    params.n_threads_http = 1
    if os.name != "posix":
        return
    address = os.path.join(folder, "unused.sock")  # noqa: PTH118  (the package takes a str)
    if hasattr(params, "hostnames"):
        params.hostnames = [address]
    else:
        params.hostname = address


def _cpu_count() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _model_error(name: str, error: Mapping[str, Any]) -> ModelError:
    message = str(error.get("message") or error)[:300]
    if error.get("type") == "exceed_context_size_error":
        return ModelError(f"The prompt is too long for {name}: {message}. Load the model with a larger context.")
    return ModelUnavailable(f"{name} failed: {message}")
