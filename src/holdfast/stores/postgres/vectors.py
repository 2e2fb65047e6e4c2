"""Vectors in PostgreSQL: half precision, ranked exactly in small scopes and by HNSW in large ones.

Vectors of different models live under different numbers and never meet. A partition that has grown large gets an index
of its own, so that nobody's search walks through the vectors of others.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pgvector import HalfVector

from holdfast.protocols import Match, Space
from holdfast.stores.postgres.fulltext import ItemFilter
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql import vector_tables
from holdfast.stores.sql.connection import Row, fetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

want = vector_tables.want


def put(
    connection: PostgresSession, tenant: str, name: str, chunks: Sequence[tuple[int, int]], vectors: "NDArray[np.float32]"
) -> int:
    """Store vectors for the windows that still wait for one; a text that went away meanwhile is passed over.

    Who takes a window out of the queue may store its vector: the queue's row is what two writers wait for each other by.
    """
    model = vector_tables.model_number(connection, tenant, name)
    if model is None or not chunks:
        return 0
    given = np.asarray(vectors, dtype=np.float32)
    if not np.isfinite(given).all():
        raise ValueError("a vector holds NaN or infinity")
    order = sorted(range(len(chunks)), key=lambda place: chunks[place])  # in one order, so that nobody waits in a circle
    taken = fetch(
        connection,
        "WITH wanted AS (SELECT queued.partition, queued.item, queued.window FROM unembedded AS queued "
        "JOIN units ON units.tenant = queued.tenant AND units.partition = queued.partition AND units.item = queued.item "
        "AND units.window = queued.window WHERE queued.tenant = ? AND queued.model = ? AND (queued.item, queued.window) IN "
        "(SELECT * FROM unnest(?::bigint[], ?::bigint[])) ORDER BY queued.item, queued.window FOR UPDATE OF queued) "
        "DELETE FROM unembedded AS queued USING wanted WHERE queued.tenant = ? AND queued.model = ? "
        "AND queued.partition = wanted.partition AND queued.item = wanted.item AND queued.window = wanted.window "
        "RETURNING queued.item, queued.window, queued.partition",
        (tenant, model, [chunks[place][0] for place in order], [chunks[place][1] for place in order], tenant, model),
    )
    places = {window: place for place, window in enumerate(chunks)}
    connection.executemany(
        "INSERT INTO vectors (tenant, partition, model, item, window, embedding) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (tenant, partition, model, item, window) DO UPDATE SET embedding = excluded.embedding",
        [
            (tenant, partition, model, item, window, HalfVector(given[places[item, window]]))
            for item, window, partition in sorted(taken)
        ],
    )
    return len(taken)


def remove(connection: PostgresSession, tenant: str, partition: int, item: int) -> int:
    """Remove an item's vectors; returns how many there were.

    First out of the queue: who is just storing one is waited for there, and its vector is seen after that.
    """
    where, values = "tenant = ? AND partition = ? AND item = ?", (tenant, partition, item)
    models = "model IN (SELECT model FROM models WHERE tenant = ?)"
    connection.execute(f"DELETE FROM unembedded WHERE {where} AND {models}", (*values, tenant))
    connection.execute(f"DELETE FROM vectors WHERE {where} AND {models}", (*values, tenant))
    return connection.changes()


def move(connection: PostgresSession, tenant: str, old: tuple[int, int], new: tuple[int, int]) -> None:
    """Give an item's vectors to another (partition, item): the same text under a new number; the queue first, as above."""
    for table in ("unembedded", "vectors"):
        connection.execute(
            f"UPDATE {table} SET partition = ?, item = ? WHERE tenant = ? AND partition = ? AND item = ? "
            "AND model IN (SELECT model FROM models WHERE tenant = ?)",
            (*new, tenant, *old, tenant),
        )


use_model = vector_tables.use_model
drop_model = vector_tables.drop_model


def search(
    connection: PostgresSession,
    tenant: str,
    model: int,
    query: "NDArray[np.float32]",
    partitions: Mapping[int, Space],
    *,
    limit: int,
    narrowed: ItemFilter,
    indexed: Mapping[int, int],
) -> list[Match]:
    """Rank the items of the partitions by cosine; ``indexed`` are the large partitions with an index, and their dimensions."""
    wanted = _Wanted(tenant, model, HalfVector(_unit(query)), limit, narrowed)
    rows = _exact(connection, wanted, [number for number in partitions if number not in indexed])
    for number in partitions:
        if number in indexed:
            rows += _nearest(connection, wanted, number, indexed[number])
    best: dict[int, Match] = {}
    for item, window, partition, distance in sorted(rows, key=lambda row: (row[3], row[0], row[1])):
        score = max(-1.0, min(1.0, 0.0 - distance))
        best.setdefault(item, Match(item, window, score, partitions[partition]))
    return list(best.values())[:limit]


class _Wanted(NamedTuple):
    """What is looked for."""

    tenant: str
    model: int
    query: HalfVector
    limit: int
    narrowed: ItemFilter


def _exact(connection: PostgresSession, wanted: _Wanted, partitions: list[int]) -> list[Row]:
    """Rank by looking at every vector."""
    if not partitions:
        return []
    narrowed = wanted.narrowed.clauses
    return fetch(
        connection,
        "SELECT item, window, partition, distance FROM (SELECT DISTINCT ON (item) item, window, partition, "
        "embedding <#> ? AS distance FROM vectors WHERE tenant = ? AND model = ? AND partition = ANY(?) "
        f"AND {narrowed.sql} ORDER BY item, distance, window) AS best ORDER BY distance, item LIMIT ?",
        (wanted.query, wanted.tenant, wanted.model, partitions, *narrowed.values, wanted.limit),
    )


def _nearest(connection: PostgresSession, wanted: _Wanted, partition: int, dimensions: int) -> list[Row]:
    """Rank by the partition's own index; what may not be found is passed over, and the search goes on behind it.

    It gives up after a while. If too little was found by then, few may be found at all, and these are soon looked at.
    """
    narrowed = wanted.narrowed.clauses
    found = connection.execute_planned(
        f"SELECT item, window, partition, embedding::halfvec({dimensions:d}) <#> ?::halfvec({dimensions:d}) AS distance "
        f"FROM vectors WHERE tenant = ? AND partition = {partition:d} AND model = {wanted.model:d} AND {narrowed.sql} "
        "ORDER BY distance LIMIT ?",
        (wanted.query, wanted.tenant, *narrowed.values, max(2 * wanted.limit, 40)),  # several windows of an item may come first
    ).fetchall()
    enough = len({row[0] for row in found}) >= wanted.limit
    return found if enough else _exact(connection, wanted, [partition])


def _unit(query: "NDArray[np.float32]") -> "NDArray[np.float32]":
    exact = np.asarray(query, dtype=np.float64)
    length = np.sqrt(exact @ exact)
    if not np.isfinite(length):
        raise ValueError("the query holds NaN or infinity")
    return (exact / length if length > 0 else exact).astype(np.float32)


def similarities(connection: PostgresSession, tenant: str, model: int, items: Sequence[int]) -> "NDArray[np.float32] | None":
    """Return the cosine of each pair of items by their first windows, zero where a vector is missing."""
    rows = connection.execute_binary(
        "SELECT units.item, vectors.embedding FROM units JOIN vectors ON vectors.tenant = units.tenant "
        "AND vectors.partition = units.partition AND vectors.model = ? AND vectors.item = units.item AND vectors.window = 0 "
        "WHERE units.tenant = ? AND units.item = ANY(?) AND units.window = 0",
        (model, tenant, list(items)),
    ).fetchall()
    if not rows:
        return None
    vectors = np.array([embedding.to_numpy() for _, embedding in rows], dtype=np.float32)
    return vector_tables.pairwise(items, [item for item, _ in rows], vectors)
