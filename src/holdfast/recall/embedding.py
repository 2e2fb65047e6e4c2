"""Keeping vectors up to date, outside any transaction.

Without an embedder, or before its weights are on the machine, everything works by text; the log says so
once. A changed embedder re-embeds in the background while text search serves: the queue is in the store,
so it goes on where it stopped, and the old model's vectors go when the new ones are complete.

Beside an embedder that reads English may stand a second that reads other languages. Its vectors are wanted from the
first text or question that is not in English, and then for all there is: a store in English never loads it.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from holdfast.errors import ModelError
from holdfast.protocols import Embedder, MissingVector, Role, Store, Vectors
from holdfast.recall.caches import QueryCache
from holdfast.recall.lease import ProcessLease
from holdfast.runtime import forks
from holdfast.text.language import is_foreign
from holdfast.types import Scope

log = logging.getLogger("holdfast")
_RETRY_SECONDS = 30.0
_BATCH = 32

Windows = Collection[tuple[int, int]]
"""Pairs of an item and the number of one of its windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSource:
    """An embedder by name, loaded when it is first needed."""

    name: str
    load: Callable[[], Embedder]
    computes: bool = False
    """Whether it computes in this process; another may wait for an answer from elsewhere."""


class Embedding:
    """The embedder of one engine, and the queue of texts that wait for it."""

    def __init__(
        self,
        store: Store,
        source: EmbedderSource | None,
        second: EmbedderSource | None = None,
        *,
        at_once: bool = True,
        queries: QueryCache | None = None,
    ) -> None:
        self._store = store
        self._source = source
        self.queries = queries or QueryCache(store)
        """The vectors of recent queries, of both embedders."""
        beside = second if source and second and source.name != second.name else None
        self.second = Embedding(store, beside, at_once=False, queries=self.queries) if beside else None
        """The embedder for what is not in English, where there is one."""
        self.foreign: dict[int, bool] = {}
        """Which items are in another language than English, of those that were looked at."""
        self._lock = threading.Lock()
        forks.register(self)
        # One process embeds in the background for all, or each text would be embedded by each.
        self._turn = ProcessLease(store, f"embedding by {self.name}")
        self._embedder: Embedder | None = None
        self._not_before = 0.0
        self._told = False
        self.problem: str | None = None
        """Why there is no embedder right now, for people."""
        self._older = {name for name in store.models() if name not in (self.name, self.second and self.second.name)}
        if at_once and not self.is_wanted:
            self.want()

    def after_fork(self) -> None:
        """Make a new lock: the old one may be held by a thread that is not here."""
        self._lock = threading.Lock()

    @property
    def name(self) -> str | None:
        """The configured model's name."""
        return self._source.name if self._source else None

    @property
    def computes(self) -> bool:
        """Whether vectors are computed in this process, if there are any at all."""
        return (self._source is None or self._source.computes) and (self.second is None or self.second.computes)

    @property
    def is_wanted(self) -> bool:
        """Whether the store wants this model's vectors."""
        return self.name in self._store.models()

    def want(self) -> None:
        """Want this model's vectors for all there is and all to come."""
        if self.name is not None:
            with self._store.write() as tx:
                tx.use_model(self.name)

    def embedder(self) -> Embedder | None:
        """Return the embedder, loading it if that is possible now."""
        if self._embedder is not None or self._source is None:
            return self._embedder
        with self._lock:
            if self._embedder is None and time.monotonic() >= self._not_before:
                try:
                    self._embedder = self._source.load()
                    self.problem = None
                except ModelError as error:
                    self._not_before = time.monotonic() + _RETRY_SECONDS
                    self._tell(error)
        return self._embedder

    def _tell(self, error: ModelError) -> None:
        """Say once that meaning has to wait; text search serves."""
        self.problem = str(error)
        if not self._told:
            self._told = True
            log.warning("Searching by text alone: %s", error)

    def query(self, text: str) -> "Vectors | None":
        """Embed a question, if there is an embedder."""
        embedder = self.embedder()
        if embedder is None or not text.strip():
            return None
        known, token = self.queries.get(embedder.name, text)
        if known is not None:
            return known
        try:
            vector: Vectors = _embed(embedder, [text], "query")[0]
        except ModelError as error:
            self._tell(error)
            return None
        self.queries.put(embedder.name, text, vector, token)
        return vector

    def documents(self, texts: Sequence[str]) -> "Vectors | None":
        """Embed texts as they would be stored, if there is an embedder."""
        embedder = self.embedder()
        if embedder is None or not texts:
            return None
        try:
            return _embed(embedder, texts, "document")
        except ModelError as error:
            self._tell(error)
            return None

    def catch_up_under_lease(self, *, limit: int) -> int:
        """Embed some of what waits, unless another process is at it."""
        second = 0 if self.second is None else self.second.catch_up_under_lease(limit=limit)
        if self.name is None or not self.is_wanted or not self._store.missing_vectors(self.name, limit=1):
            return second
        # Who cannot embed must not keep the turn from those who can.
        return second + (self._catch_up(None, limit) if self.embedder() is not None and self._turn.acquire() else 0)

    def release_lease(self) -> None:
        """Let another process go on at once."""
        self._turn.release()
        if self.second is not None:
            self.second.release_lease()

    def catch_up(
        self,
        *,
        reader: Scope | None = None,
        limit: int | None = None,
        remote_seconds: float | None = None,
        candidates: Callable[[], Windows] = tuple,
    ) -> int:
        """Embed up to ``limit`` windows per model of what waits, or of what a reader may see; returns the number of windows.

        Of a longer backlog, it embeds the ``candidates``, and the newest up to one batch. The bound is a count, so that no score depends
        on the load of the machine; only an embedder that waits for a server stops after ``remote_seconds`` as well.
        """
        if reader is not None:
            with self._store.snapshot():
                owes = self._owes(reader)
            if not owes:
                return 0
        done = self._catch_up(reader, limit, remote_seconds, candidates)
        if self.second is not None and self.second.is_wanted:
            done += self.second._catch_up(reader, limit, remote_seconds, candidates)  # noqa: SLF001  (its own kind)
        return done

    def _owes(self, reader: Scope) -> bool:
        """Tell whether anything that a reader may see waits for a wanted model."""
        names = (self.name, self.second.name if self.second is not None and self.second.is_wanted else None)
        return any(self._store.missing_vectors(name, reader=reader, limit=1) for name in names if name is not None)

    def _catch_up(
        self,
        reader: Scope | None,
        limit: int | None,
        remote_seconds: float | None = None,
        candidates: Callable[[], Windows] = tuple,
    ) -> int:
        embedder = self.embedder()
        if embedder is None:
            return 0
        computes = self._source is not None and self._source.computes
        deadline = None if remote_seconds is None or computes else time.monotonic() + remote_seconds
        done = 0
        for waiting in self._batches(embedder.name, reader, limit, candidates):
            if not self._embed_windows(embedder, waiting):
                break
            done += len(waiting)
            if deadline is not None and time.monotonic() >= deadline:
                break
        return done

    def _batches(
        self, model: str, reader: Scope | None, limit: int | None, candidates: Callable[[], Windows]
    ) -> Iterator[Sequence[MissingVector]]:
        """Yield the windows to embed: all that wait if they are within the limit, else candidates and one batch of the newest."""
        if limit is None:
            while waiting := self._store.missing_vectors(model, reader=reader, limit=_BATCH):
                yield waiting
            return
        waiting = self._store.missing_vectors(model, reader=reader, limit=limit + 1)
        if len(waiting) > limit:
            chosen = self._store.missing_vectors(model, reader=reader, windows=candidates(), limit=limit)
            newest = waiting[: max(min(limit, _BATCH) - len(chosen), 0)]  # the worker does the rest
            waiting = list(dict.fromkeys([*chosen, *newest]))
        for start in range(0, len(waiting), _BATCH):
            yield waiting[start : start + _BATCH]

    def _embed_windows(self, embedder: Embedder, waiting: Sequence[MissingVector]) -> bool:
        """Embed windows and store their vectors; False if the embedder fails."""
        texts = [window.text for window in waiting]
        try:
            vectors = _embed(embedder, texts, "document")
        except ModelError as error:
            self._tell(error)
            return False
        second = self._newly_needed(texts)
        with self._store.write(durable=False) as tx:
            if second is not None:
                tx.use_model(second)
            tx.put_vectors(embedder.name, [(window.item, window.chunk) for window in waiting], vectors)
        return True

    def _newly_needed(self, texts: Sequence[str]) -> str | None:
        """Return the second embedder's name if these are the first texts that need it."""
        second = self.second
        # Once it is wanted there is nothing to find out: to want it again counts all that waits.
        if second is None or second.is_wanted or not any(map(is_foreign, texts)):
            return None
        return second.name

    def forget_queries(self) -> None:
        """Empty the cache of queries. The embedder stays loaded."""
        self.queries.clear()

    def retire_other_models(self) -> list[str]:
        """Drop the vectors of models that are not configured any more, once this one's are complete."""
        models = self._store.models()
        if self._source is not None and self._source.name not in models:  # another process dropped ours
            self.want()
            return []
        others = [name for name in models if name in self._older]
        if self._embedder is None or not others or self._store.missing_vectors(self._embedder.name, limit=1):
            return []
        with self._store.write() as tx:
            for name in others:
                tx.drop_model(name)
        self._older.clear()  # once: should a process still use one, it asks for it again and keeps it
        return others


def _embed(embedder: Embedder, texts: Sequence[str], role: Role) -> "Vectors":
    """Embed; an embedder of a user's own may raise anything, and nothing but meaning may suffer from it."""
    try:
        return embedder.embed(texts, role=role)
    except ModelError:
        raise
    except Exception as error:  # the edge to foreign code
        log.exception("The embedder %s failed", embedder.name)
        raise ModelError(f"{embedder.name} failed: {type(error).__name__}: {error}") from error
