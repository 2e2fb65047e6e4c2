"""An HNSW index for each large partition, made beside the writes and removed when nothing needs it any more."""

import itertools
import threading
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdfast.stores.postgres.connect import SCHEMA
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import fetch, fetch_one, fetch_value

_REFRESH_SECONDS = 30.0
_MAX_DIMENSIONS = 4000
"""Numbers a half vector may have to be indexed."""
_BUILDING = 0x486F6C6448
_NAME = "vectors_{partition}_{model}_hnsw"


class IndexRequest(NamedTuple):
    """A partition that has grown large."""

    tenant: str
    partition: int
    model: int
    dimensions: int


class ReadyIndexes:
    """Which partitions have an index, as of a short while ago: a new one is used a little later, a lost one is only slower."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[int, tuple[float, dict[int, int]]] = {}

    def of(self, connection: PostgresSession, tenant: str, model: int) -> Mapping[int, int]:
        """Return the partitions that have an index for a model's vectors, with the numbers a vector has."""
        with self._lock:
            at, found = self._seen.get(model, (0.0, {}))
        if time.monotonic() - at > _REFRESH_SECONDS or not at:
            found = {wanted.partition: wanted.dimensions for wanted in ready(connection, tenant) if wanted.model == model}
            with self._lock:
                self._seen[model] = (time.monotonic(), found)
        return found

    def forget(self) -> None:
        """Look again before the next search."""
        with self._lock:
            self._seen.clear()


def ready(connection: PostgresSession, tenant: str) -> list[IndexRequest]:
    """Return what has an index: what it is for is noted in the index's comment."""
    rows = fetch(
        connection,
        "SELECT obj_description(pg_class.oid, 'pg_class') FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid "
        f"WHERE indrelid = '{SCHEMA}.vectors'::regclass AND indisvalid AND relname LIKE '%_hnsw'",
    )
    notes = [row[0].split(" ", 3) for row in rows if row[0]]
    return [IndexRequest(note[3], int(note[0]), int(note[1]), int(note[2])) for note in notes if note[3] == tenant]


def wanted(connection: PostgresSession, tenant: str, min_vectors: int) -> IndexRequest | None:
    """Return one partition that has at least so many vectors of a model and no index for them.

    Workers ask this again and again: what has an index is not counted any more, and nothing further than need be.
    """
    large = fetch(connection, "SELECT partition FROM partitions WHERE tenant = ? AND units >= ?", (tenant, min_vectors))
    if not large:
        return None
    models = fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,))
    indexed = {(each.partition, each.model) for each in ready(connection, tenant)}
    for (partition,), (model,) in itertools.product(large, models):
        if (partition, model) not in indexed and _has(connection, (tenant, partition, model), min_vectors):
            sql = "SELECT vector_dims(embedding) FROM vectors WHERE tenant = ? AND partition = ? AND model = ? LIMIT 1"
            dimensions = fetch_value(connection, sql, (tenant, partition, model))
            if dimensions is not None and dimensions <= _MAX_DIMENSIONS:
                return IndexRequest(tenant, partition, model, dimensions)
    return None


def _has(connection: PostgresSession, place: tuple[str, int, int], min_vectors: int) -> bool:
    """Tell whether a partition has at least so many vectors of a model."""
    some = "SELECT 1 FROM vectors WHERE tenant = ? AND partition = ? AND model = ? LIMIT ?"
    found: int = fetch_value(connection, f"SELECT count(*) FROM ({some}) AS found", (*place, min_vectors))
    return found >= min_vectors


def stale(connection: PostgresSession, tenant: str) -> list[IndexRequest]:
    """Return the indexes of partitions or models that are gone."""
    made = ready(connection, tenant)
    if not made:
        return []
    numbers = [each.partition for each in made]
    rows = fetch(connection, "SELECT partition FROM partitions WHERE tenant = ? AND partition = ANY(?)", (tenant, numbers))
    partitions = {row[0] for row in rows}
    models = {row[0] for row in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,))}
    return [each for each in made if each.partition not in partitions or each.model not in models]


def make(session: PostgresSession, wanted: IndexRequest) -> bool:
    """Build an index while others write, and what a killed process left is removed first; False while another builds one."""
    if not fetch_value(session, "SELECT pg_try_advisory_lock(?)", (_BUILDING,)):
        return False
    name = _NAME.format(partition=wanted.partition, model=wanted.model)
    try:
        session.execute("SET statement_timeout = 0")
        session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {SCHEMA}.{name}")
        tenant, note = (_literal(session, text) for text in (wanted.tenant, " ".join(map(str, (*wanted[1:], wanted.tenant)))))
        session.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON {SCHEMA}.vectors USING hnsw "
            f"((embedding::halfvec({wanted.dimensions:d})) halfvec_ip_ops) "
            f"WHERE tenant = {tenant} AND partition = {wanted.partition:d} AND model = {wanted.model:d}"
        )
        session.execute(f"COMMENT ON INDEX {SCHEMA}.{name} IS {note}")
        session.execute(f"ANALYZE {SCHEMA}.vectors")  # or the planner may not see that it pays
    finally:
        session.execute("SELECT pg_advisory_unlock(?)", (_BUILDING,))
    return True


def remove(session: PostgresSession, indexes: Iterable[IndexRequest]) -> None:
    """Remove indexes, beside other work."""
    for each in indexes:
        name = _NAME.format(partition=each.partition, model=each.model)
        session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {SCHEMA}.{name}")


def _literal(session: PostgresSession, text: str) -> str:
    """Return a text as it stands in a statement that takes no values apart."""
    row = fetch_one(session, "SELECT quote_literal(?::text)", (text,))
    assert row is not None
    return str(row[0])
