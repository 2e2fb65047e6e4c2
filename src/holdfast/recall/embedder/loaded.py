"""Load the embedder of an engine on first use, call it within time limits, and check its vectors."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from holdfast.errors import AnswerInvalid, InvalidInput, ModelError, ModelUnavailable
from holdfast.protocols import Embedder, Role, Store, Vectors
from holdfast.recall.embedder.calls import EmbedderCalls
from holdfast.recall.embedder.fingerprint import FingerprintCheck, checked_vectors
from holdfast.recall.notices import words_only
from holdfast.runtime import forks
from holdfast.runtime.bounded_calls import BoundedCalls, NotAnswered
from holdfast.runtime.wait_budget import WaitBudget

__all__ = ["EmbedderSource", "LoadedEmbedder"]

log = logging.getLogger("holdfast")
T = TypeVar("T")
_RETRY_SECONDS = 30.0
"""Time in seconds after which a failed load is tried again."""
_PROBE_SECONDS = 5.0
"""Maximum time in seconds that a check waits for an embedder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSource:
    """The name of an embedder and the function that loads it on first use."""

    name: str
    load: Callable[[], Embedder]
    computes: bool = False
    """True if the embedder runs in this process, False if it may wait for a server.

    A recall always waits for an embedder in this process. It waits for any other embedder only as long as the setting
    ``recall_timeout`` allows.
    """
    calls: EmbedderCalls = field(default_factory=EmbedderCalls, compare=False, repr=False)
    """Calls the embedder, with time limits and with pauses after failures. Copies of this source share the object."""


class LoadedEmbedder:
    """An embedder that is loaded on first use. If loading or a call fails, ``problem`` says why."""

    def __init__(self, store: Store, source: EmbedderSource | None, *, on_change: Callable[[], None]) -> None:
        self._source = source
        self._embedder: Embedder | None = None
        self._retry_at = 0.0
        self._reported = False
        self._load_problem: str | None = None
        self.fingerprint = FingerprintCheck(store, self.name or "", computes=self.computes, on_change=on_change)
        """The check that calls ``on_change`` when the embedder returns different vectors under the same name."""
        self._lock = threading.Lock()
        forks.register(self)

    def after_fork(self) -> None:
        """Create a new lock, because a thread of the parent process may hold the old lock."""
        self._lock = threading.Lock()

    @property
    def name(self) -> str | None:
        """Name of the configured embedding model. None if none is configured."""
        return self._source.name if self._source else None

    @property
    def computes(self) -> bool:
        """True if all vectors are computed in this process, without a server."""
        return self._source is None or self._source.computes

    @property
    def problem(self) -> str | None:
        """The reason why the embedder is not available now, as a message for people. None if it is available."""
        return self._load_problem or (self._source.calls.problem if self._source is not None else None)

    @property
    def load_problem(self) -> str | None:
        """The reason why the embedder could not be loaded, as a message for people. None if loading did not fail."""
        return self._load_problem

    @property
    def is_loaded(self) -> bool:
        """True if the embedder was loaded in this process."""
        return self._embedder is not None

    @property
    def is_paused(self) -> bool:
        """True if background work must not call the embedder now."""
        return self._source is not None and self._source.calls.is_paused

    @property
    def is_query_failing(self) -> bool:
        """True if the embedder failed when a recall last asked it for the vector of a query."""
        return self._source is not None and self._source.calls.is_query_failing

    def get(self) -> Embedder | None:
        """Return the embedder, and load it if necessary. Return None if it is not available."""
        if self._embedder is not None or self._source is None:
            return self._embedder
        with self._lock:
            if self._embedder is None and time.monotonic() >= self._retry_at:
                try:
                    self._embedder = self._source.load()
                    self._load_problem = None
                except ModelError as error:
                    self._retry_at = time.monotonic() + _RETRY_SECONDS
                    self._load_problem = str(error)
                    self.report(error)
        return self._embedder

    def call(self, embedder: Embedder, role: Role, work: Callable[[], T]) -> T:
        """Run ``work``, which calls the embedder, and return its result. ``role`` says whether queries or documents are embedded.

        During a recall, the time limit of the recall applies. An embedder that runs in this process has no time limit.
        """
        assert self._source is not None
        return self._source.calls.run(work, role, service=embedder.name, computes=self._source.computes)

    def report(self, error: ModelError) -> None:
        """Log that the embedder failed, once per outage. Until the embedder works again, recall searches only by words."""
        if not self._reported:
            self._reported = True
            log.warning("%s", words_only(str(error)))

    def succeed(self) -> None:
        """Note that a call succeeded, so that the next failure is logged again."""
        self._reported = False

    def embed(self, embedder: Embedder, texts: Sequence[str], role: Role) -> "Vectors":
        """Embed texts. If the result is unusable, load the embedder again and check whether its vectors have changed.

        Any error of a custom embedder is raised as ``ModelError``, so that only search by meaning fails.
        """
        try:
            return self.fingerprint.embed(self._embedder or embedder, texts, role)
        except AnswerInvalid:
            assert self._source is not None
            self._embedder = self._source.load()  # a remote embedder has fixed the length of its vectors
            self.fingerprint.recheck()
            return self.fingerprint.embed(self._embedder, texts, role)

    def given(self, vector: "Sequence[float] | Vectors") -> "Vectors":
        """Check a vector that the caller computed for a query, and return it scaled to unit length.

        Raise ``InvalidInput`` if it does not fit the embedder.
        """
        embedder = self.get()
        if embedder is None:
            raise InvalidInput("A search with a vector needs an embedder, and none is in use. Search by text instead.")
        try:
            array = np.asarray(vector, dtype=np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"vector must be a list of numbers: {error}.") from error
        if array.shape != (embedder.dimensions,):
            raise InvalidInput(
                f"vector has the shape {array.shape}, but {embedder.name} needs {embedder.dimensions} numbers. Use the same embedder."
            )
        length = float(np.linalg.norm(array))
        if not np.isfinite(length) or length == 0:
            raise InvalidInput("vector must have finite numbers that are not all 0.")
        unit: Vectors = array / length
        return unit

    def end_pauses(self) -> None:
        """Allow calls of the embedder now, even if it has just failed."""
        if self._source is not None:
            self._source.calls.end_pauses()

    def preload(self) -> None:
        """Load the embedder now. A failure is reported in the same way as a failure during a recall."""
        self.get()

    def retry(self) -> None:
        """If the last call of the embedder failed, call it once to find out whether it works again.

        No call is made during the back-off after a failure. The call takes at most the time that the current recall may
        wait.
        """
        embedder = self.get()
        if embedder is not None and self.problem is not None:
            with contextlib.suppress(ModelError):  # ``problem`` still says why
                self.call(embedder, "query", lambda: self.embed(embedder, ["hello"], "query"))

    def query_seconds(self) -> float | None:
        """Measure how long an embedder outside this process takes for a query. Return None for an embedder in this process.

        Raise ``ModelError`` if the embedder fails or takes too long.
        """
        embedder = self.get()
        if embedder is None or self._source is None or self._source.computes:
            return None
        budget = WaitBudget(_PROBE_SECONDS)
        started = time.monotonic()
        try:
            for _ in range(2):  # the first call may open a connection or load a model
                started = time.monotonic()
                BoundedCalls().run(lambda: checked_vectors(embedder, ["probe"], "query"), budget, service=embedder.name)
        except NotAnswered as error:
            raise ModelUnavailable(f"{embedder.name} did not answer within {_PROBE_SECONDS:g} s.") from error
        return time.monotonic() - started
