"""Keep the vectors of a store up to date, outside any transaction.

Without an embedder, or before its weights are downloaded, only text search works, and the log says so once. After a
change of the embedder, all texts are embedded again in the background. Until that is done, text search is used. Then
the vectors of the old model are dropped. The queue of texts to embed is in the store, so it survives a restart. All
texts are also embedded again if an embedder returns different vectors under the same name (see
``embedder/fingerprint.py``).
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from holdfast.errors import AnswerInvalid, ModelError
from holdfast.protocols import Embedder, MissingVector, Store, Vectors
from holdfast.recall.caches import QueryCache
from holdfast.recall.embedder.adoption import is_same_model, unit_vectors
from holdfast.recall.embedder.fingerprint import Fingerprint, read_fingerprint
from holdfast.recall.embedder.loaded import EmbedderSource, LoadedEmbedder
from holdfast.recall.lease import ProcessLease
from holdfast.recall.notices import embedding_again, words_only
from holdfast.runtime.wait_budget import current_budget
from holdfast.types import Scope

log = logging.getLogger("holdfast")
_BATCH = 32
_MAX_ADOPTED = 20_000
"""Maximum number of queued chunks that are compared with the texts of imported vectors."""

ChunkIds = Collection[tuple[int, int]]
"""Pairs of an item number and the number of a chunk in that item."""


class Embedding:
    """Embeds queries, and the stored texts that have no vector yet. The texts wait in a queue in the store."""

    def __init__(self, store: Store, source: EmbedderSource | None) -> None:
        self._store = store
        self.model = LoadedEmbedder(store, source, on_change=self._start_again)
        """The embedder, which is loaded on first use."""
        self.queries = QueryCache(store)
        """Cached vectors of recent queries."""
        # One process embeds in the background, so that no text is embedded twice.
        self._lease = ProcessLease(store, f"embedding by {self.name}")
        self._rejected: set[tuple[int, int]] = set()
        self._old_models = {name for name in store.models() if name != self.name}
        if not self.is_in_use:
            self.start_using()

    @property
    def name(self) -> str | None:
        """Name of the configured embedding model."""
        return self.model.name

    @property
    def computes(self) -> bool:
        """True if all vectors are computed in this process, without a server."""
        return self.model.computes

    @property
    def problem(self) -> str | None:
        """The reason why the embedder is not available now, as a message for people. None if it is available."""
        return self.model.problem

    def embedder(self) -> Embedder | None:
        """Return the embedder, and load it if necessary. Return None if it is not available."""
        return self.model.get()

    @property
    def notices(self) -> list[str]:
        """Messages for people: one if the embedder cannot be used now, and one while texts are being embedded again."""
        notices = [words_only(self.problem)] if self.problem is not None else []
        return [*notices, embedding_again(self.name)] if self.name is not None and self.is_embedding_again else notices

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The recorded fingerprint of the configured model. None before the model's first use."""
        return read_fingerprint(self._store, self.name) if self.name is not None else None

    @property
    def is_embedding_again(self) -> bool:
        """True while texts wait to be embedded again because the model now returns different vectors."""
        known = self.fingerprint
        return known is not None and not known.is_complete

    @property
    def rejected(self) -> int:
        """Number of chunks for which the embedder returned unusable vectors. This process does not try them again."""
        return len(self._rejected)

    @property
    def lengths(self) -> list[int]:
        """The different lengths of the stored vectors. If there are several, vectors of different models are mixed."""
        return sorted(self._store.vector_lengths(self.name)) if self.name is not None else []

    @property
    def is_in_use(self) -> bool:
        """True if the store keeps vectors of the configured model."""
        return self.name in self._store.models()

    def start_using(self) -> None:
        """Start keeping vectors of the configured model for all stored and future texts."""
        if self.name is not None:
            with self._store.write() as tx:
                tx.use_model(self.name)

    def query(self, text: str) -> "Vectors | None":
        """Return the vector of a query, or None if there is no embedder or it fails."""
        return self.try_query(text)[0]

    def try_query(self, text: str) -> "tuple[Vectors | None, str | None]":
        """Return two values: the vector of a query (None if the embedder fails), and the problem (None if there is none).

        If the query is empty or no embedder is configured, both are None.
        """
        embedder = self.embedder()
        if embedder is None or not text.strip():
            return None, self.model.load_problem if text.strip() else None
        known, token = self.queries.get(embedder.name, text)
        if known is not None and not self.model.fingerprint.is_due:
            return known, None

        def embed() -> "Vectors":
            found: Vectors = self.model.embed(embedder, [text], "query")[0]
            self.queries.put(embedder.name, text, found, token)  # also if the recall has stopped waiting
            return found

        try:
            vector = self.model.call(embedder, "query", embed)
        except ModelError as error:
            self.model.report(error)
            return None, str(error)
        self.model.succeed()
        return vector, None

    def documents(self, texts: Sequence[str]) -> "Vectors | None":
        """Return the vectors of texts, embedded as documents, or None if there is no embedder or it fails."""
        embedder = self.embedder()
        if embedder is None or not texts:
            return None
        try:
            return self.model.call(embedder, "document", lambda: self.model.embed(embedder, texts, "document"))
        except ModelError as error:
            self.model.report(error)
            return None

    def catch_up_under_lease(self, *, limit: int) -> bool:
        """Embed up to ``limit`` queued chunks, unless another process holds the lease. Return True if a chunk was embedded."""
        if self.name is None or not self.is_in_use or not self._missing(limit=1):
            return False
        # A process whose embedder is not available must not hold the lease.
        if self.embedder() is None or self.model.is_paused or not self._lease.acquire():
            return False
        return self.catch_up(limit=limit) > 0

    def release_lease(self) -> None:
        """Release the lease on embedding, so that another process can continue immediately."""
        self._lease.release()

    def catch_up(
        self,
        *,
        reader: Scope | None = None,
        limit: int | None = None,
        remote_seconds: float | None = None,
        candidates: Callable[[], ChunkIds] = tuple,
    ) -> int:
        """Embed at most ``limit`` queued chunks (None means all). Return the number of embedded chunks.

        With ``reader``, only chunks that this scope may read are embedded. If more than ``limit`` chunks are queued, the
        chunks that ``candidates`` returns are embedded, such as chunks that share words with a query. If there are fewer
        candidates than one batch holds, the batch is filled with the newest chunks.

        ``limit`` is a number of chunks and not a time, so that scores do not depend on the load of the machine. An embedder
        on a server also has a time limit. No further batch is sent after ``remote_seconds``, or when the current recall may
        wait no longer.
        """
        if reader is not None and self._is_complete(reader):
            return 0
        embedder = self.embedder()
        if embedder is None:
            return 0
        deadline = None if remote_seconds is None or self.computes else time.monotonic() + remote_seconds
        in_recall = current_budget() is not None
        if in_recall and self.model.is_query_failing:
            return 0
        done = 0
        for waiting in self._batches(reader, limit, candidates):
            try:
                self.model.call(embedder, "document", partial(self._embed_chunks, embedder, waiting))
            except ModelError as error:
                if not in_recall:
                    self.model.report(error)
                break
            done += len(waiting)
            if deadline is not None and time.monotonic() >= deadline:
                break
        return done

    def adopt(self, vectors: Mapping[str, bytes]) -> int:
        """Store vectors that another program computed, if the same model computed them. Return the number of stored vectors.

        ``vectors`` maps texts to vectors. To find out whether the model is the same, a sample of the texts is embedded and
        the vectors are compared.
        """
        embedder = self.embedder()
        waiting = self._missing(limit=_MAX_ADOPTED) if self.name is not None else ()
        found = unit_vectors(waiting, vectors, embedder.dimensions) if embedder is not None else {}
        if embedder is None or not found:
            return 0
        sample = [chunk for chunk in waiting if (chunk.item, chunk.chunk) in found][:: len(found) // 8 or 1]
        own = self.documents([chunk.text for chunk in sample])
        if own is None or not is_same_model(own, [found[chunk.item, chunk.chunk] for chunk in sample]):
            return 0
        with self._store.write(durable=False) as tx:
            self.model.fingerprint.confirm(tx)
            tx.put_vectors(embedder.name, list(found), np.stack(list(found.values())))
        return len(found)

    def catch_up_if_few(self, limit: int) -> None:
        """Embed all queued chunks, if they are at most ``limit`` and the embedder runs in this process."""
        if self.name is not None and self.computes and len(self._missing(limit=limit + 1)) <= limit:
            self.catch_up()

    def catch_up_for(self, reader: Scope, *, limit: int, candidates: Callable[[], ChunkIds]) -> int:
        """Embed at most ``limit`` queued chunks before a recall. Return the number of items that still lack a vector.

        ``reader`` and ``candidates`` are as in :meth:`catch_up`. If the query itself cannot be embedded, return 0, because the
        recall then searches only by words and needs no vectors.
        """
        if self._is_complete(reader):
            return 0
        self.catch_up(reader=reader, limit=limit, candidates=candidates)
        if self.name is None or not self.model.is_loaded or self.model.is_query_failing:
            return 0
        return self._store.count_missing_vectors(self.name, reader=reader)

    def _is_complete(self, reader: Scope) -> bool:
        """Return True if all texts that a reader may see have vectors."""
        return self.name is None or not self._missing(reader=reader, limit=1)

    def _missing(self, *, limit: int, reader: Scope | None = None, windows: ChunkIds | None = None) -> Sequence[MissingVector]:
        """List chunks that have no vector yet, except rejected chunks.

        The arguments are those of :meth:`holdfast.protocols.Store.missing_vectors`.
        """
        assert self.name is not None
        found = self._store.missing_vectors(self.name, reader=reader, windows=windows, limit=limit + len(self._rejected))
        return [chunk for chunk in found if (chunk.item, chunk.chunk) not in self._rejected][:limit]

    def _batches(
        self, reader: Scope | None, limit: int | None, candidates: Callable[[], ChunkIds]
    ) -> Iterator[Sequence[MissingVector]]:
        """Yield the chunks to embed, in batches.

        If more than ``limit`` chunks are queued, yield only the candidates. If the candidates do not fill one batch, also yield
        the newest chunks.
        """
        if limit is None:
            while waiting := self._missing(reader=reader, limit=_BATCH):
                yield waiting
            return
        waiting = self._missing(reader=reader, limit=limit + 1)
        if len(waiting) > limit:
            chosen = self._missing(reader=reader, windows=candidates(), limit=limit)
            newest = waiting[: max(min(limit, _BATCH) - len(chosen), 0)]  # the worker does the rest
            waiting = list(dict.fromkeys([*chosen, *newest]))
        for start in range(0, len(waiting), _BATCH):
            yield waiting[start : start + _BATCH]

    def _embed_chunks(self, embedder: Embedder, waiting: Sequence[MissingVector]) -> None:
        """Embed chunks and store their vectors. Raise ``ModelError`` if the embedder fails."""
        vectors = self._embed_each(embedder, waiting)
        with self._store.write(durable=False) as tx:
            self.model.fingerprint.confirm(tx)
            tx.put_vectors(embedder.name, list(vectors), np.stack(list(vectors.values())))

    def _embed_each(self, embedder: Embedder, waiting: Sequence[MissingVector]) -> "dict[tuple[int, int], Vectors]":
        """Return the vectors of chunks. Each key is a pair: the number of the item, and the number of the chunk in the item.

        If the embedder works in general but fails for some of the chunks, these chunks are left out. If the embedder fails
        for all chunks, raise ``AnswerInvalid``.
        """
        chunks = [(chunk.item, chunk.chunk) for chunk in waiting]
        try:
            return dict(zip(chunks, self.model.embed(embedder, [chunk.text for chunk in waiting], "document"), strict=True))
        except AnswerInvalid:
            self.model.embed(embedder, ["hello"], "document")  # raises if the embedder does not work at all
            found: dict[tuple[int, int], Vectors] = {}
            for chunk in waiting:
                try:
                    found[chunk.item, chunk.chunk] = self.model.embed(embedder, [chunk.text], "document")[0]
                except AnswerInvalid as error:
                    log.warning("A text is searched by words only: %s", error)
                    self._rejected.add((chunk.item, chunk.chunk))
            if not found:
                raise
            return found

    def _start_again(self) -> None:
        """Drop this process's state about the vectors, because the embedder now returns different vectors."""
        log.warning("%s", embedding_again(self.name or ""))
        self.queries.clear()
        self._rejected.clear()

    def forget_queries(self) -> None:
        """Clear the cached query vectors. The embedder stays loaded."""
        self.queries.clear()

    def retire_other_models(self) -> list[str]:
        """Drop the vectors of models that are no longer configured. Return the names of these models.

        Nothing is dropped before all texts have vectors of the configured model.
        """
        models = self._store.models()
        if self.name is not None and self.name not in models:  # another process dropped ours
            self.start_using()
            return []
        if self.is_embedding_again and not self._missing(limit=1):
            self.model.fingerprint.complete()
        others = [name for name in models if name in self._old_models]
        if not self.model.is_loaded or not others or self._missing(limit=1):
            return []
        with self._store.write() as tx:
            for name in others:
                tx.drop_model(name)
        self._old_models.clear()  # only once: a process that still uses one of them starts using it again
        return others
