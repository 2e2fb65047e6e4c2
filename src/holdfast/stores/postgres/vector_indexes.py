"""HNSW indexes (approximate nearest-neighbor indexes of pgvector), one for the vectors of each large partition.

Indexes are built without blocking writes, and dropped when they are no longer needed.
"""

import itertools
import threading
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdfast.stores.postgres.connect import SCHEMA
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import fetch, fetch_one, fetch_value

_CACHE_SECONDS = 30.0
"""Time for which the list of indexes is cached, in seconds."""
_MAX_DIMENSIONS = 4000
"""Maximum number of dimensions of a half-precision vector that pgvector can index."""
_BUILD_LOCK = 0x486F6C6448
"""Key of the advisory lock that prevents two index builds in one database at the same time."""


class PartitionIndex(NamedTuple):
    """Identifies the HNSW index of one partition, for the vectors of one model."""

    tenant: str
    partition: int
    model: int
    dimensions: int


class IndexCache:
    """Caches the list of existing indexes for a short time.

    Searches therefore begin to use a new index with a short delay. If a listed index was dropped, searches still work,
    but more slowly.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[int, tuple[float, dict[int, int]]] = {}

    def of(self, connection: PostgresSession, tenant: str, model: int) -> Mapping[int, int]:
        """Return the partitions that have an index for a model, each with the number of dimensions of its vectors."""
        with self._lock:
            at, found = self._seen.get(model, (0.0, {}))
        if time.monotonic() - at > _CACHE_SECONDS or not at:
            found = {index.partition: index.dimensions for index in existing(connection, tenant) if index.model == model}
            with self._lock:
                self._seen[model] = (time.monotonic(), found)
        return found

    def clear(self) -> None:
        """Empty the cache, so that the next search reads the list of indexes again."""
        with self._lock:
            self._seen.clear()


def existing(connection: PostgresSession, tenant: str) -> list[PartitionIndex]:
    """List the valid indexes of a tenant. Partition, model and dimensions are read from the comment of each index."""
    rows = fetch(
        connection,
        "SELECT obj_description(pg_class.oid, 'pg_class') FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid "
        f"WHERE indrelid = '{SCHEMA}.vectors'::regclass AND indisvalid AND relname LIKE '%_hnsw'",
    )
    comments = [row[0].split(" ", 3) for row in rows if row[0]]
    return [
        PartitionIndex(owner, int(partition), int(model), int(dimensions))
        for partition, model, dimensions, owner in comments
        if owner == tenant
    ]


def missing(connection: PostgresSession, tenant: str, min_vectors: int) -> PartitionIndex | None:
    """Find a partition that needs an index and has none. Return the index to build, or None if there is no such partition.

    A partition needs an index for a model if it has at least ``min_vectors`` vectors of this model. Workers call this function
    often. For speed, it counts vectors only where an index is missing, and stops counting at ``min_vectors``.
    """
    large = fetch(connection, "SELECT partition FROM partitions WHERE tenant = ? AND units >= ?", (tenant, min_vectors))
    if not large:
        return None
    models = fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,))
    indexed = {(index.partition, index.model) for index in existing(connection, tenant)}
    for (partition,), (model,) in itertools.product(large, models):
        if (partition, model) not in indexed and _has(connection, (tenant, partition, model), min_vectors):
            sql = "SELECT vector_dims(embedding) FROM vectors WHERE tenant = ? AND partition = ? AND model = ? LIMIT 1"
            dimensions = fetch_value(connection, sql, (tenant, partition, model))
            if dimensions is not None and dimensions <= _MAX_DIMENSIONS:
                return PartitionIndex(tenant, partition, model, dimensions)
    return None


def _has(connection: PostgresSession, place: tuple[str, int, int], min_vectors: int) -> bool:
    """Return True if a partition has at least ``min_vectors`` vectors of a model. ``place`` is (tenant, partition, model)."""
    some = "SELECT 1 FROM vectors WHERE tenant = ? AND partition = ? AND model = ? LIMIT ?"
    found: int = fetch_value(connection, f"SELECT count(*) FROM ({some}) AS found", (*place, min_vectors))
    return found >= min_vectors


def stale(connection: PostgresSession, tenant: str) -> list[PartitionIndex]:
    """List the indexes of a tenant whose partition or model no longer exists."""
    indexes = existing(connection, tenant)
    if not indexes:
        return []
    numbers = [index.partition for index in indexes]
    rows = fetch(connection, "SELECT partition FROM partitions WHERE tenant = ? AND partition = ANY(?)", (tenant, numbers))
    partitions = {row[0] for row in rows}
    models = {row[0] for row in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,))}
    return [index for index in indexes if index.partition not in partitions or index.model not in models]


def build(session: PostgresSession, index: PartitionIndex) -> bool:
    """Build an index without blocking writes. The remains of an interrupted build are dropped first.

    Return False if another process is building an index.
    """
    if not fetch_value(session, "SELECT pg_try_advisory_lock(?)", (_BUILD_LOCK,)):
        return False
    name = _name(index)
    try:
        session.execute("SET statement_timeout = 0")
        session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {SCHEMA}.{name}")
        tenant, note = (_literal(session, text) for text in (index.tenant, " ".join(map(str, (*index[1:], index.tenant)))))
        session.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON {SCHEMA}.vectors USING hnsw "
            f"((embedding::halfvec({index.dimensions:d})) halfvec_ip_ops) "
            f"WHERE tenant = {tenant} AND partition = {index.partition:d} AND model = {index.model:d}"
        )
        session.execute(f"COMMENT ON INDEX {SCHEMA}.{name} IS {note}")
        session.execute(f"ANALYZE {SCHEMA}.vectors")  # without statistics the planner may not choose the index
    finally:
        session.execute("SELECT pg_advisory_unlock(?)", (_BUILD_LOCK,))
    return True


def drop(session: PostgresSession, indexes: Iterable[PartitionIndex]) -> None:
    """Drop indexes without blocking other work."""
    for index in indexes:
        session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {SCHEMA}.{_name(index)}")


def _name(index: PartitionIndex) -> str:
    return f"vectors_{index.partition}_{index.model}_hnsw"


def _literal(session: PostgresSession, text: str) -> str:
    """Return a text as a quoted SQL literal, for statements that do not accept parameters."""
    row = fetch_one(session, "SELECT quote_literal(?::text)", (text,))
    assert row is not None
    return str(row[0])
