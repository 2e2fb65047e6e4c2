"""A storage backend for CrewAI's memory. Requires the extra ``holdfast-memory[crewai]``.

CrewAI computes the vectors. The backend stores them with the records, and searches with the vector of the query.
"""

import asyncio
import base64
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import holdfast
from holdfast.adapters.shared import ITEM, Owner, extra_missing, root_label

try:
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ImportError as error:
    raise extra_missing("CrewAI", "crewai", error) from error

__all__ = ["HoldfastStorage"]

Vector: TypeAlias = NDArray[np.float32]
_PAGE = 500
_VECTOR = "vector"
"""Key in the metadata of a record. The value is the record's vector in base64."""
_VECTOR_ID = "vector_id"
"""Key in the metadata of a record. The value is a hash of the record's vector. Holdfast indexes this hash instead of the text."""


class HoldfastStorage:
    """A CrewAI ``StorageBackend`` in a Holdfast store.

    ::

        memory = Memory(storage=HoldfastStorage("crew.db"))

    Use a separate file for this store, because it contains the vectors of CrewAI's embedder. Scopes become namespaces, and
    records are stored unchanged. Several threads and processes can use one store.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        **options: Any,
    ) -> None:
        """Open the store. ``options`` are further arguments of ``holdfast.open``, such as ``key``."""
        self._owner: Owner = {"user": user, "app": app, "agent": agent}
        self._root = root_label("crewai", self._owner)
        self._path, self._options = path, options
        self._vectors = _GivenVectors(self._stored_vector, self._stored_dimensions)
        self._lock = threading.Lock()
        self._opened: holdfast.Engine | None = None
        assert self._memory is not None  # a store that cannot be opened is an error now, not later

    @property
    def _memory(self) -> holdfast.Engine:
        with self._lock:
            if self._opened is None:
                self._opened = holdfast.open(self._path, kinds=[ITEM], embedder=self._vectors, **self._options)
            return self._opened

    def close(self) -> None:
        """Close the store. CrewAI calls this when it closes a memory. The next call opens the store again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    # Writing

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records, all or none. A record with an existing id is replaced."""
        self._check_dimensions([record.embedding for record in records])
        self._store(records)

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id, or add the record if there is none. The new record can be in another scope."""
        self._check_dimensions([record.embedding])
        self._store([record])

    def touch_records(self, record_ids: list[str]) -> None:
        """Set the last access of these records to the current time."""
        now = datetime.now(UTC).replace(tzinfo=None)
        found = [_record(memory) for memory in self._by_id(record_ids)]
        self._store([record.model_copy(update={"last_accessed": now}) for record in found])

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that match all given criteria. Return their number."""
        found = self._listed(scope_prefix, categories=categories, record_ids=record_ids)
        gone = [
            memory
            for memory in found
            if _matches(_record(memory), categories, metadata_filter)
            and (older_than is None or _utc(_record(memory).created_at) < _utc(older_than))
        ]
        return self._forget(gone)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records of a scope and of the scopes below it. Without a scope, delete all records."""
        self._forget(self._listed(scope_prefix))
        if not self._labels(scope_prefix):  # vectors of another length may follow: start with an empty index
            self._vectors.forget()
            self.close()

    # Reading

    def search(  # noqa: PLR0917  (CrewAI passes them by position)
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records nearest to a vector, best first, each with its score: the cosine, or 0 if the cosine is negative.

        Only records that match all given criteria and have at least the score ``min_score`` are returned.
        """
        if not self._vectors.dimensions or not any(query_embedding):
            return []
        self._check_dimensions([query_embedding])
        found: list[tuple[MemoryRecord, float]] = []
        for hit in self._nearest(query_embedding, scope_prefix, _where(categories, metadata_filter)):
            assert hit.memory is not None
            record, score = _record(hit.memory), max(0.0, hit.similarity or 0.0)
            if score >= min_score and _matches(record, categories, metadata_filter):
                found.append((record, score))
            if len(found) == limit:
                break
        return sorted(found, key=lambda pair: -pair[1])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return the record with an id, or None."""
        found = self._by_id([record_id])
        return _record(found[0]) if found else None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """List the records of a scope and of the scopes below it, newest first."""
        if limit <= 0 or offset < 0:
            return []
        return [_record(memory) for memory in self._page(scope_prefix, limit=limit, offset=offset)]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return the number of records, the categories, the dates and the child scopes of a scope."""
        records = [_record(memory) for memory in self._listed(scope)]
        dates = [record.created_at for record in records]
        return ScopeInfo(
            path=_path(_split(scope)),
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=min(dates, default=None, key=_utc),
            newest_record=max(dates, default=None, key=_utc),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """List the scopes directly below ``parent``. A scope without records, in itself or below it, is not listed."""
        labels = self._labels(parent)
        depth = len(labels) + 1
        children = set()
        for offset in count(0, _PAGE):
            page = self._memory.namespaces(
                prefix=(self._root, *labels), max_depth=depth + 1, kind=ITEM.name, limit=_PAGE, offset=offset, **self._owner
            )
            children |= {namespace[1 : depth + 1] for namespace in page if len(namespace) > depth}
            if len(page) < _PAGE:
                break
        return sorted(_path(child) for child in children)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the number of records of each category in a scope and the scopes below it."""
        return dict(Counter(category for memory in self._listed(scope_prefix) for category in _record(memory).categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return the number of records in a scope and the scopes below it."""
        return self._memory.count_memories(
            kind=ITEM.name, namespace_prefix=(self._root, *self._labels(scope_prefix)), **self._owner
        )

    # Async

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Store records, in a thread."""
        await asyncio.to_thread(self.save, records)

    async def asearch(self, query_embedding: list[float], *args: Any, **criteria: Any) -> list[tuple[MemoryRecord, float]]:
        """Search in a thread. Takes the arguments of :meth:`search`."""
        return await asyncio.to_thread(self.search, query_embedding, *args, **criteria)

    async def adelete(self, *args: Any, **criteria: Any) -> int:
        """Delete in a thread. Takes the arguments of :meth:`delete`."""
        return await asyncio.to_thread(self.delete, *args, **criteria)

    # The store

    def _labels(self, scope: str | None) -> tuple[str, ...]:
        return _split(scope or "/")

    def _page(
        self, scope: str | None, *, limit: int, offset: int, where: Mapping[str, Any] | None = None
    ) -> list[holdfast.Memory]:
        prefix = (self._root, *self._labels(scope))
        return self._memory.memories(
            kind=ITEM.name, namespace_prefix=prefix, where=where, limit=limit, offset=offset, **self._owner
        )

    def _listed(
        self, scope: str | None = None, *, categories: Sequence[str] | None = None, record_ids: Sequence[str] | None = None
    ) -> list[holdfast.Memory]:
        ids = {} if record_ids is None else {"id": {"$in": list(record_ids)}}
        where = {**ids, **(_where(categories, None) or {})} or None
        found: list[holdfast.Memory] = []
        for offset in count(0, _PAGE):
            page = self._page(scope, limit=_PAGE, offset=offset, where=where)
            found += page
            if len(page) < _PAGE:
                break
        return found

    def _by_id(self, ids: Sequence[str]) -> list[holdfast.Memory]:
        if len(ids) > 1:
            return self._listed(record_ids=ids)
        return [
            memory
            for id in ids
            for memory in self._memory.memories(kind=ITEM.name, key=id, namespace_prefix=(self._root,), **self._owner)
        ]

    def _nearest(self, vector: Sequence[float], scope: str | None, where: Mapping[str, Any] | None) -> Iterator[holdfast.Hit]:
        prefix = (self._root, *self._labels(scope))
        for offset in count(0, _PAGE):
            page = self._memory.recall(
                "",
                vector=list(vector),
                kind=ITEM.name,
                namespace_prefix=prefix,
                where=where,
                limit=_PAGE,
                offset=offset,
                distinct=False,
                **self._owner,
            )
            yield from sorted(page, key=lambda hit: -(hit.similarity or 0.0))
            if len(page) < _PAGE:
                break

    def _store(self, records: Sequence[MemoryRecord]) -> None:
        if not records:
            return
        wanted = {record.id: (self._root, *self._labels(record.scope)) for record in records}
        moved = [memory for memory in self._by_id(list(wanted)) if memory.namespace != wanted[memory.key or ""]]
        self._memory.remember_all([self._fields(record) for record in records], **self._owner)
        self._forget(moved)

    def _fields(self, record: MemoryRecord) -> holdfast.NewMemory:
        token = self._vectors.keep(record.embedding)
        stored = record.model_dump(mode="json", exclude={"metadata"}) | {"metadata": json.loads(json.dumps(record.metadata))}
        if token is not None:
            stored |= {_VECTOR_ID: token, _VECTOR: _encoded(record.embedding)}
        return holdfast.NewMemory(
            text=record.content,
            kind=ITEM.name,
            key=record.id,
            namespace=(self._root, *self._labels(record.scope)),
            metadata=stored,
            created_at=_utc(record.created_at),
            index=False if token is None else [token],
        )

    def _forget(self, memories: Sequence[holdfast.Memory]) -> int:
        gone = 0
        for memory in memories:
            with suppress(holdfast.NotFound):  # another process was faster
                gone += self._memory.forget(memory.id)
        return gone

    def _check_dimensions(self, vectors: Sequence[Sequence[float] | None]) -> None:
        known = self._vectors.dimensions
        for vector in vectors:
            if not vector:
                continue
            if known and len(vector) != known:
                raise EmbeddingDimensionMismatchError(known, len(vector))
            known = len(vector)

    def _stored_vector(self, token: str) -> Vector:
        (found,) = self._page(None, limit=1, offset=0, where={_VECTOR_ID: token})
        return _decoded(found.metadata[_VECTOR])

    def _stored_dimensions(self) -> int:
        found = self._page(None, limit=1, offset=0, where={_VECTOR_ID: {"$exists": True}})
        return len(_decoded(found[0].metadata[_VECTOR])) if found else 0


class _GivenVectors:
    """An embedder that computes nothing: it looks up vectors that CrewAI has computed.

    Holdfast passes texts to an embedder. This adapter passes the hash of a vector instead of a text, and the embedder
    returns the vector with that hash.
    """

    name = "crewai"
    calibration = (0.2, 0.6)
    computes = True

    def __init__(self, stored_vector: Callable[[str], Vector], stored_dimensions: Callable[[], int]) -> None:
        self._stored_vector = stored_vector
        self._stored_dimensions = stored_dimensions
        self._kept: dict[str, Vector] = {}
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """Length of the vectors, or 0 if the store has no vectors."""
        self._dimensions = self._dimensions or self._stored_dimensions()
        return self._dimensions

    def forget(self) -> None:
        """Drop all vectors kept in memory, so that later vectors can have another length."""
        self._kept.clear()
        self._dimensions = 0

    def keep(self, vector: Sequence[float] | None) -> str | None:
        """Keep a vector in memory, so that :meth:`embed` can return it for its hash.

        Return the hash, or None if the vector is missing or zero.
        """
        if vector is None or not any(vector):
            return None
        array = np.asarray(vector, dtype=np.float32)
        token = hashlib.sha256(array.tobytes()).hexdigest()
        self._kept[token] = array
        self._dimensions = len(array)
        return token

    def embed(self, texts: Sequence[str], *, role: str) -> Any:
        """Return the unit vectors for texts.

        A text without spaces is the hash of a vector, and gets that vector. A text with spaces is one of the sample
        sentences that Holdfast embeds to identify the model. All sample sentences get the same vector.
        """
        del role
        found = [self._vector(text) for text in texts]
        return np.stack([vector / np.linalg.norm(vector) for vector in found]).astype(np.float32)

    def _vector(self, text: str) -> Vector:
        if " " in text:
            return np.ones(self.dimensions, dtype=np.float32)
        kept = self._kept.pop(text, None)
        return self._stored_vector(text) if kept is None else kept


def _encoded(vector: Sequence[float] | None) -> str:
    return base64.b64encode(np.asarray(vector, dtype=np.float32).tobytes()).decode()


def _decoded(text: str) -> Vector:
    return np.frombuffer(base64.b64decode(text), dtype=np.float32)


def _record(memory: holdfast.Memory) -> MemoryRecord:
    stored = dict(memory.metadata)
    vector = stored.pop(_VECTOR, None)
    stored.pop(_VECTOR_ID, None)
    return MemoryRecord(**stored, embedding=None if vector is None else _decoded(vector).tolist())


def _where(categories: Sequence[str] | None, metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a store filter for records that have one of the categories and all the metadata.

    The store compares only metadata values that are texts, numbers or booleans. So the filter can let through records that do
    not match. :func:`_matches` removes these records afterwards. Return None if the store has nothing to compare.
    """
    found: dict[str, Any] = {"categories": {"$in": list(categories)}} if categories else {}
    plain = {name: value for name, value in (metadata or {}).items() if isinstance(value, str | int | float | bool)}
    return {**found, **{f"metadata.{name}": {"$eq": value} for name, value in plain.items()}} or None


def _matches(record: MemoryRecord, categories: Sequence[str] | None, metadata: Mapping[str, Any] | None) -> bool:
    if categories and not set(categories) & set(record.categories):
        return False
    return all(record.metadata.get(name) == value for name, value in (metadata or {}).items())


def _utc(moment: datetime) -> datetime:
    """Return a time with its zone. CrewAI's times without a zone are treated as UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _split(scope: str) -> tuple[str, ...]:
    return tuple(label for label in scope.split("/") if label)


def _path(labels: Sequence[str]) -> str:
    return "/" + "/".join(labels)
