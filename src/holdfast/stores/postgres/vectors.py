"""Vectors in PostgreSQL, stored in half precision.

A search compares the query with every vector of a small partition. A large partition has its own HNSW index (an
approximate nearest-neighbor index), so a search never reads the vectors of other users. Vectors of different models
are stored under different model ids and never compared.
"""

from collections import Counter
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
    """Store the vectors of chunks that are still queued for embedding, and return the number of stored vectors.

    ``name`` is the name of the embedding model. A chunk is a pair of item number and chunk number. ``vectors`` has one row
    per chunk. Chunks that were removed meanwhile are skipped. The same transaction deletes the chunks from the queue, so
    that concurrent writers of one chunk wait for each other.
    """
    model = vector_tables.model_number(connection, tenant, name)
    if model is None or not chunks:
        return 0
    array = vector_tables.checked(vectors, len(chunks))
    order = sorted(range(len(chunks)), key=lambda place: chunks[place])  # a fixed order, so that writers cannot deadlock
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
            (tenant, partition, model, item, window, HalfVector(array[places[item, window]]))
            for item, window, partition in sorted(taken)
        ],
    )
    return len(taken)


def remove(connection: PostgresSession, tenant: str, partition: int, item: int) -> int:
    """Remove an item's vectors and return their number.

    The item is first removed from the queue of chunks to embed. If another transaction is storing a vector of the item with
    :func:`put`, this waits for that transaction. The new vector is then removed, too.
    """
    where, values = "tenant = ? AND partition = ? AND item = ?", (tenant, partition, item)
    models = "model IN (SELECT model FROM models WHERE tenant = ?)"
    connection.execute(f"DELETE FROM unembedded WHERE {where} AND {models}", (*values, tenant))
    connection.execute(f"DELETE FROM vectors WHERE {where} AND {models}", (*values, tenant))
    return connection.changes()


def move(connection: PostgresSession, tenant: str, old: tuple[int, int], new: tuple[int, int]) -> None:
    """Move an item's vectors to another partition and item number. The text must be the same.

    ``old`` and ``new`` are pairs of partition and item number. The item's entries in the queue of chunks to embed are moved
    first. If another transaction is storing a vector of the item with :func:`put`, this waits for that transaction. The new
    vector is then moved, too.
    """
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
    item_filter: ItemFilter,
    indexed: Mapping[int, int],
) -> list[Match]:
    """Rank the items of the partitions by cosine with the query, and return the best ``limit``.

    ``indexed`` maps each partition that has an HNSW index to the number of dimensions of its vectors.
    """
    parameters = _VectorQuery(tenant, model, HalfVector(_unit(query)), limit, item_filter)
    rows = _exact(connection, parameters, [number for number in partitions if number not in indexed])
    for number in partitions:
        if indexed.get(number) == len(query):
            rows += _nearest(connection, parameters, number, indexed[number])
    best: dict[int, Match] = {}
    for item, window, partition, distance in sorted(rows, key=lambda row: (row[3], row[0], row[1])):
        score = max(-1.0, min(1.0, 0.0 - distance))
        best.setdefault(item, Match(item, window, score, partitions[partition]))
    return list(best.values())[:limit]


class _VectorQuery(NamedTuple):
    """The parameters of one vector search."""

    tenant: str
    model: int
    query: HalfVector
    limit: int
    item_filter: ItemFilter


def _exact(connection: PostgresSession, parameters: _VectorQuery, partitions: list[int]) -> list[Row]:
    """Rank the items of the partitions by comparing the query with every vector. Items that the filter excludes are skipped.

    Return rows of (item, chunk, partition, distance), nearest first.
    """
    if not partitions:
        return []
    item_filter = parameters.item_filter.clauses
    return fetch(
        connection,
        "SELECT item, window, partition, distance FROM (SELECT DISTINCT ON (item) item, window, partition, "
        "embedding <#> ? AS distance FROM vectors WHERE tenant = ? AND model = ? AND partition = ANY(?) "
        # Vectors of another length are those of a model that was replaced behind its name.
        f"AND vector_dims(embedding) = vector_dims(?) AND {item_filter.sql} ORDER BY item, distance, window) AS best ORDER BY distance, item LIMIT ?",
        (
            parameters.query,
            parameters.tenant,
            parameters.model,
            partitions,
            parameters.query,
            *item_filter.values,
            parameters.limit,
        ),
    )


def _nearest(connection: PostgresSession, parameters: _VectorQuery, partition: int, dimensions: int) -> list[Row]:
    """Rank the items of a partition with its HNSW index. Items that the filter excludes are skipped.

    ``dimensions`` is the number of dimensions of the indexed vectors. Return rows of (item, chunk, partition, distance),
    nearest first.

    The index scan ends after a limited number of vectors. If it has found fewer than ``limit`` items by then, only few items
    pass the filter. The query is then compared with the vectors of all items that pass, which is fast.
    """
    item_filter = parameters.item_filter.clauses
    found = connection.execute_planned(
        f"SELECT item, window, partition, embedding::halfvec({dimensions:d}) <#> ?::halfvec({dimensions:d}) AS distance "
        f"FROM vectors WHERE tenant = ? AND partition = {partition:d} AND model = {parameters.model:d} AND {item_filter.sql} "
        "ORDER BY distance LIMIT ?",
        # More than the limit: several of the nearest chunks may belong to one item.
        (parameters.query, parameters.tenant, *item_filter.values, max(2 * parameters.limit, 40)),
    ).fetchall()
    enough = len({row[0] for row in found}) >= parameters.limit
    return found if enough else _exact(connection, parameters, [partition])


def _unit(query: "NDArray[np.float32]") -> "NDArray[np.float32]":
    exact = np.asarray(query, dtype=np.float64)
    length = np.sqrt(exact @ exact)
    if not np.isfinite(length):
        raise ValueError("the query holds NaN or infinity")
    return (exact / length if length > 0 else exact).astype(np.float32)


def similarities(connection: PostgresSession, tenant: str, model: int, items: Sequence[int]) -> "NDArray[np.float32] | None":
    """Return a matrix with the cosine of each pair of items, computed from the vectors of their first chunks.

    If an item has no vector, its cosines are 0. Return None if none of the items has a vector.
    """
    rows = connection.execute_binary(
        "SELECT units.item, vectors.embedding FROM units JOIN vectors ON vectors.tenant = units.tenant "
        "AND vectors.partition = units.partition AND vectors.model = ? AND vectors.item = units.item AND vectors.window = 0 "
        "WHERE units.tenant = ? AND units.item = ANY(?) AND units.window = 0",
        (model, tenant, list(items)),
    ).fetchall()
    if not rows:
        return None
    arrays = [(item, embedding.to_numpy()) for item, embedding in rows]
    ((common, _),) = Counter(len(array) for _, array in arrays).most_common(1)
    rows = [(item, array) for item, array in arrays if len(array) == common]
    vectors = np.array([array for _, array in rows], dtype=np.float32)
    return vector_tables.pairwise(items, [item for item, _ in rows], vectors)
