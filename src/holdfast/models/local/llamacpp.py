"""A chat model inside this process: llama.cpp, through the ``xllamacpp`` package, on the processor.

Made to live inside somebody else's program. Nothing is loaded before the first question. With the 1.5B models of
the registry and the default context, a process takes 1.5 GB: 1.1 GB is the weights' file, which the system shares
between processes and may take back, and 0.4 GB is the program's own. One question is answered at a time; others
wait within their timeout. A fork unloads the model, for its threads would not be in the child; each process loads
it again when it is asked.

llama.cpp comes as a server and insists on listening. It is given a socket that has no name any more when it is
ready, or where there are none a port of this machine and a random key, so nobody else can talk to it.
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
from holdfast.models.local.registry import GGUF, find_chat
from holdfast.models.local.weights import locate, verify
from holdfast.models.remote.exchange import ChatRequest, closed_schema
from holdfast.models.remote.openai_chat import OpenAIFormat
from holdfast.models.remote.prices import FREE
from holdfast.models.remote.retrying import CallBudget, RetryPolicy
from holdfast.runtime import forks

__all__ = ["LlamaCppChat"]

_BATCH: Final = 128
"""Tokens of a question read at once; a question that was given up is let go of between two batches."""
_MAX_THREADS: Final = 4
"""More threads than this gain little: the memory is the bottleneck."""
_PACKAGE: Final = "xllamacpp"
_NO_PACKAGE: Final = "{name} needs the package xllamacpp: pip install 'holdfast[llamacpp]'"
_SCHEMA: Final = "response_format"
_ONE_LINE: Final = MappingProxyType({"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "})
"""Blanks as most JSON on one line has them; written without any, arrays came out empty."""


class LlamaCppChat:
    """A :class:`holdfast.chat.ChatModel` that runs here. Safe to use from several threads and across forks.

    ``local:NAME`` is a chat model of the registry, whose weights are in ``directory``; ``gguf:/path/to/model.gguf`` is
    a file of your own. Answers are the likeliest ones unless ``temperature`` is more than 0.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        *,
        context: int = 8192,
        threads: int | None = None,
        temperature: float = 0.0,
        min_timeout: float = 0.0,
    ) -> None:
        """Remember what to load; missing weights or packages show with the first question, or with :meth:`load`.

        Callers mean their timeouts for servers with accelerators: no question gets less than ``min_timeout`` seconds.
        """
        if context < 1 or (threads is not None and threads < 1) or temperature < 0:
            raise InvalidInput("A context and threads are at least 1, and a temperature is at least 0.")
        self._weights = _Weights.of(name, directory)
        self._context = context
        self._threads = threads or min(_MAX_THREADS, _processors())
        self._temperature = temperature
        self._min_timeout = min_timeout
        self._dialect = OpenAIFormat(model=name)
        self._process = _ProcessModel()
        forks.register(self)

    @property
    def name(self) -> str:
        """Its full name, such as ``local:qwen2.5-1.5b``."""
        return self._weights.name

    def check(self) -> None:
        """Raise if the package or the weights are missing; loads nothing."""
        if importlib.util.find_spec(_PACKAGE) is None:
            raise ExtraMissing(_NO_PACKAGE.format(name=self.name))
        self._weights.locate()

    def load(self) -> None:
        """Load the model now rather than with the first question."""
        process = self._process
        with process.slot:
            self._load_into(process)

    def close(self) -> None:
        """Unload the model when the question under way is answered; the next one loads it again."""
        process = self._process
        with process.slot:
            process.server = None

    def before_fork(self) -> None:
        """Unload the model, in parent and child: its threads would be gone in the child, which could then never end."""
        self.close()

    def after_fork(self) -> None:
        """Make new locks, in the child."""
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
        """Answer; with ``schema``, every token is held to it, so only a cut-off answer can fail to fit."""
        question = ChatRequest(turns=tuple(turns), schema=schema, tools=tuple(tools), max_tokens=max_tokens, stream=True)
        *_, reply = self._answer(question, timeout)
        assert isinstance(reply, Reply)
        return reply

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Answer piece by piece; closing the iterator gives the question up."""
        yield from self._answer(ChatRequest(turns=tuple(turns), tools=tuple(tools), max_tokens=max_tokens, stream=True), timeout)

    def _answer(self, question: ChatRequest, timeout: float) -> Iterator[str | Reply]:
        budget = CallBudget(RetryPolicy(max_calls=1), timeout=max(timeout, self._min_timeout), price=FREE)
        # A grammar alone would be obeyed without being understood, so the schema is told in words as well.
        request = self._dialect.request(question, {_SCHEMA})
        # llama.cpp holds a model to a schema or lets it call tools, not both.
        schema = None if question.tools else question.schema
        try:
            yield from self._pieces(request, schema, budget)
        except ModelError as error:
            budget.fail(error)

    def _pieces(self, request: Mapping[str, Any], schema: Schema | None, budget: CallBudget) -> Iterator[str | Reply]:
        follower = self._dialect.follow()
        try:
            for event in self._events(request, schema, budget):
                if piece := follower.take(event):
                    yield piece
        finally:
            budget.spend(follower.tokens)
        answer = follower.answer()
        if answer is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer.")
        yield Reply(text=answer.text, tool_calls=answer.tool_calls, stop=answer.stop, usage=budget.usage)

    def _events(self, request: Mapping[str, Any], schema: Schema | None, budget: CallBudget) -> Iterator[Mapping[str, Any]]:
        """Ask in a thread of its own: so an interrupt or the end of the time is heard while llama.cpp computes."""
        process = self._process
        if not process.slot.acquire(timeout=budget.call()):
            raise ModelBusy(f"{self.name} was busy with another question until the time was over.")
        call = _Generation()
        try:
            self._load_into(process)
            # Reports on the reading of the question are what a call is given up by before its first word.
            asked = {**request, **_held_to(schema), "temperature": self._temperature, "return_progress": True}
            threading.Thread(target=call.run, args=(process, asked), name="holdfast-llamacpp").start()
        except BaseException:
            process.slot.release()
            raise
        try:
            while (event := call.next(budget.remaining, self.name)) is not None:
                yield event
        finally:
            call.given_up.set()

    def _load_into(self, process: "_ProcessModel") -> None:
        if process.server is None:
            process.server = _load(self._weights, context=self._context, threads=self._threads)


@dataclass(slots=True)
class _ProcessModel:
    """What one process holds: its model, and the lock of whoever uses it. Nothing else keeps the model."""

    server: Any = None
    slot: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class _Generation:
    """One question under way, between the thread that asked and the one that computes."""

    given_up: threading.Event = field(default_factory=threading.Event)
    _events: "queue.SimpleQueue[Mapping[str, Any] | str | None]" = field(default_factory=queue.SimpleQueue)

    def run(self, process: _ProcessModel, request: Mapping[str, Any]) -> None:
        """Compute, and let the next question have its turn."""
        try:
            process.server.handle_chat_completions(dict(request), self._take)
        except (ValueError, RuntimeError) as error:
            self._events.put(str(error))
        finally:
            process.slot.release()
            self._events.put(None)

    def next(self, seconds: float, name: str) -> Mapping[str, Any] | None:
        """Return what came next; None at the end."""
        try:
            event = self._events.get(timeout=seconds)
        except queue.Empty:
            raise ModelUnavailable(
                f"{name} had not finished its answer when the time was over; give it a longer timeout or a shorter question."
            ) from None
        if isinstance(event, str):
            raise ModelError(f"{name} cannot take this question: {event[:300]}")
        if event is not None and "error" in event:
            raise _complaint(name, event["error"])
        return event

    def _take(self, event: Mapping[str, Any]) -> bool:
        """Pass an event on; True ends the call."""
        self._events.put(event)
        return self.given_up.is_set()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    """The file to load, by the model's name."""

    name: str
    rest: str
    directory: Path
    own: bool

    @classmethod
    def of(cls, name: str, directory: Path) -> "_Weights":
        """Read a name, which must be one of ours or a path."""
        kind, _, rest = name.partition(":")
        if kind not in {"local", "gguf"} or not rest:
            raise ModelUnknown(f"A model that runs here is named local:NAME or gguf:/path/to/model.gguf, not {name!r}.")
        if kind == "local":
            find_chat(rest)
        return cls(name=name, rest=rest, directory=directory, own=kind == "gguf")

    def locate(self) -> Path:
        """Return where the file is."""
        if not self.own:
            return locate(find_chat(self.rest), self.directory)[GGUF]
        path = Path(self.rest).expanduser()
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            raise WeightsMissing(
                f"{path} cannot be read ({error.strerror}). Put a GGUF file there, or use one of `holdfast models list`."
            ) from error
        if magic != b"GGUF":
            raise WeightsCorrupt(
                f"{path} is not a GGUF file. Only that format can be loaded; models are often offered in several."
            )
        return path

    def blame(self) -> None:
        """Raise the error of a damaged file, if that is why it did not load."""
        if not self.own:
            verify(find_chat(self.rest), self.directory)


def _package() -> Any:
    try:
        return importlib.import_module(_PACKAGE)
    except ImportError as error:
        raise ExtraMissing(_NO_PACKAGE.format(name="This model")) from error


def _held_to(schema: Schema | None) -> Mapping[str, Any]:
    """Hold the answer to a schema, in its order and on one line: indenting would be half of what a model writes."""
    if schema is None:
        return {}
    closed = closed_schema(schema)
    grammar = _package().json_schema_to_grammar({**closed, "x-guidance": dict(_ONE_LINE)})
    if grammar.startswith("%llguidance"):
        return {"grammar": grammar}
    # A build that only has llama.cpp's own way: any blanks, and fields by the alphabet.
    return {_SCHEMA: {"type": "json_schema", "json_schema": {"name": "answer", "schema": closed}}}


def _load(weights: _Weights, *, context: int, threads: int) -> Any:
    path = weights.locate()
    package = _package()
    params = _params(package.CommonParams(), path, context=context, threads=threads)
    try:
        with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
            _listen_nowhere(params, folder)
            return package.Server(params)
    except RuntimeError as error:
        weights.blame()
        raise ModelError(
            f"This machine's llama.cpp cannot load {path}: too new a model, too little memory, or a damaged file."
        ) from error


def _params(params: Any, path: Path, *, context: int, threads: int) -> Any:
    params.model.path = os.fspath(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads
        cpu.poll = 0  # threads that wait must not spin
    params.n_batch = params.n_ubatch = _BATCH
    # Weights rearranged for speed are a second copy: 0.6 GB, for questions read about a fifth faster.
    params.no_extra_bufts = True
    # The server would keep old questions in up to 8 GB.
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.fit_params = params.warmup = False
    params.verbosity = -1
    return params


def _listen_nowhere(params: Any, folder: str) -> None:
    """Have the server listen where nobody can call: the folder, and with it the socket's name, is removed at once."""
    params.api_keys = [secrets.token_urlsafe(32)]
    params.n_threads_http = 1
    if os.name != "posix":
        return
    address = os.path.join(folder, "unused.sock")  # noqa: PTH118  (a text is what the package takes)
    if hasattr(params, "hostnames"):
        params.hostnames = [address]
    else:
        params.hostname = address


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _complaint(name: str, error: Mapping[str, Any]) -> ModelError:
    said = str(error.get("message") or error)[:300]
    if error.get("type") == "exceed_context_size_error":
        return ModelError(f"The question is too long for {name}: {said}. Open the model with a larger context.")
    return ModelUnavailable(f"{name} failed: {said}")
