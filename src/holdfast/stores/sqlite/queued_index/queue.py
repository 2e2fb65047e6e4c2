"""The tables for external vector indexes in the SQLite file: the current builds, and the queue of changes for each build.

A build is one complete construction of an index from the stored vectors.
"""

import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import apsw

from holdfast.stores.chroma.protocol import Build, VectorKey
from holdfast.stores.sql.connection import fetch, fetch_value
from holdfast.stores.sql.rows import marks


class VectorChange(NamedTuple):
    """A queued change of one vector. ``mark`` is a random number that identifies the change.

    If the vector changes again, the entry in the queue gets a new mark. After a batch was applied, an entry is removed from
    the queue only if its mark is still the same. So a newer change stays queued.
    """

    key: VectorKey
    mark: int


class StoredVector(NamedTuple):
    """A vector as it is stored in the file: a scale and int8 codes."""

    scale: float
    code: bytes


def builds(connection: apsw.Connection, tenant: str) -> dict[int, Build]:
    """Return the tenant's current builds (complete versions of an external index), keyed by the id of their embedding model."""
    rows = fetch(connection, "SELECT model, place, home, build, mark, next, removed FROM indexes WHERE tenant = ?", (tenant,))
    return {row[0]: Build(*row) for row in rows}


def builds_of_all(connection: apsw.Connection) -> set[str]:
    """Return the names of the current builds of all tenants."""
    return {row[0] for row in connection.execute("SELECT build FROM indexes")}


def models(connection: apsw.Connection, tenant: str) -> list[int]:
    """Return the ids of the tenant's embedding models (column ``models.model``)."""
    return [row[0] for row in connection.execute("SELECT model FROM models WHERE tenant = ?", (tenant,))]


def start_build(connection: apsw.Connection, tenant: str, model: int, *, place: str, home: str) -> Build:
    """Record a new build (complete version) of a model's external index, and queue all vectors of the model for it.

    ``place`` is the name of the folder or server that stores the build. ``home`` is the path of the store, or empty for an
    index in a folder. Needs a write transaction.
    """
    build = Build(model, place, home, secrets.token_hex(8), "", "", 0)
    connection.execute(
        "INSERT OR REPLACE INTO indexes (tenant, model, place, home, build, mark, next, removed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (tenant, *build),
    )
    connection.execute("DELETE FROM index_queue WHERE tenant = ? AND model = ?", (tenant, model))
    connection.execute(
        "INSERT INTO index_queue (tenant, model, partition, item, window, mark) "
        "SELECT tenant, model, partition, item, window, random() FROM vectors WHERE tenant = ? AND model = ?",
        (tenant, model),
    )
    return build


def drop_build(connection: apsw.Connection, tenant: str, model: int) -> None:
    """Delete the record of a model's build, and the changes queued for it. Needs a write transaction."""
    for table in ("indexes", "index_queue"):
        connection.execute(f"DELETE FROM {table} WHERE tenant = ? AND model = ?", (tenant, model))


def waiting(
    connection: apsw.Connection, tenant: str, model: int, *, partitions: Collection[int] | None = None, limit: int
) -> list[VectorChange]:
    """Return up to ``limit`` queued changes of an embedding model's vectors. If ``limit`` is -1, return all.

    With ``partitions``, return only changes of these partitions.
    """
    chosen = "" if partitions is None else f" AND partition IN ({marks(list(partitions))})"
    rows = fetch(
        connection,
        f"SELECT partition, item, window, mark FROM index_queue WHERE tenant = ? AND model = ?{chosen} LIMIT ?",
        (tenant, model, *(partitions or ()), limit),
    )
    return [VectorChange(VectorKey(*row[:3]), row[3]) for row in rows]


def count_waiting(connection: apsw.Connection, tenant: str, model: int) -> int:
    """Count the queued changes of an embedding model's vectors."""
    total: int = fetch_value(connection, "SELECT count(*) FROM index_queue WHERE tenant = ? AND model = ?", (tenant, model))
    return total


def start_batch(connection: apsw.Connection, tenant: str, build: Build, mark: str) -> None:
    """Record that a batch is about to be applied to a build. Needs a write transaction.

    ``mark`` is the random id of the batch.
    """
    connection.execute(
        "UPDATE indexes SET next = ? WHERE tenant = ? AND model = ? AND build = ?", (mark, tenant, build.model, build.build)
    )


def finish_batch(connection: apsw.Connection, tenant: str, build: Build, changes: Iterable[VectorChange], mark: str) -> None:
    """Record that a batch was applied, and remove its changes from the queue. Needs a write transaction.

    ``mark`` is the random id of the batch. If a vector changed again in the meantime, its newer change stays queued. If a new
    build was started in the meantime, all changes stay queued.
    """
    connection.execute(
        "UPDATE indexes SET mark = ?, next = '' WHERE tenant = ? AND model = ? AND build = ?",
        (mark, tenant, build.model, build.build),
    )
    if connection.changes():  # otherwise a new build was started meanwhile, which does not have these changes
        connection.executemany(
            "DELETE FROM index_queue WHERE tenant = ? AND model = ? AND partition = ? AND item = ? AND window = ? AND mark = ?",
            [(tenant, build.model, *change.key, change.mark) for change in changes],
        )


def stored(connection: apsw.Connection, tenant: str, model: int, keys: Iterable[VectorKey]) -> dict[VectorKey, StoredVector]:
    """Return the stored vectors with these keys. Keys without a vector are left out."""
    rows = connection.executemany(
        "SELECT partition, item, window, scale, code FROM vectors "
        "WHERE tenant = ? AND model = ? AND partition = ? AND item = ? AND window = ?",
        [(tenant, model, *key) for key in keys],
    )
    return {VectorKey(*row[:3]): StoredVector(*row[3:]) for row in rows}


def some_stored(connection: apsw.Connection, tenant: str, model: int, limit: int) -> dict[VectorKey, StoredVector]:
    """Return up to ``limit`` nonzero vectors that are stored for an embedding model."""
    rows = fetch(
        connection,
        "SELECT partition, item, window, scale, code FROM vectors WHERE tenant = ? AND model = ? AND scale > 0 LIMIT ?",
        (tenant, model, limit),
    )
    return {VectorKey(*row[:3]): StoredVector(*row[3:]) for row in rows}


def keys_of(connection: apsw.Connection, tenant: str, model: int) -> set[VectorKey]:
    """Return the keys of all stored vectors of an embedding model."""
    rows = connection.execute("SELECT partition, item, window FROM vectors WHERE tenant = ? AND model = ?", (tenant, model))
    return {VectorKey(*row) for row in rows}


def count(connection: apsw.Connection, tenant: str, model: int) -> int:
    """Count all stored vectors of an embedding model, whether queued or already indexed."""
    total: int = fetch_value(connection, "SELECT count(*) FROM vectors WHERE tenant = ? AND model = ?", (tenant, model))
    return total


def indexed_keys(connection: apsw.Connection, tenant: str, model: int, partitions: Sequence[int]) -> set[VectorKey]:
    """Return the keys of the vectors that the index should contain now: the stored vectors without a queued change.

    Only vectors in the given partitions are included.
    """
    rows = connection.execute(
        "SELECT partition, item, window FROM vectors "
        f"WHERE tenant = ? AND model = ? AND partition IN ({marks(partitions)}) AND NOT EXISTS ("
        "SELECT 1 FROM index_queue AS queue WHERE queue.tenant = vectors.tenant AND queue.model = vectors.model "
        "AND queue.partition = vectors.partition AND queue.item = vectors.item AND queue.window = vectors.window)",
        (tenant, model, *partitions),
    )
    return {VectorKey(*row) for row in rows}


def subtract_removed(connection: apsw.Connection, tenant: str, model: int, *, up_to: int) -> None:
    """Subtract ``up_to`` from the recorded number of vectors that were removed from a model's index.

    The number counts removed vectors whose data the index may still contain. Needs a write transaction.
    """
    connection.execute("UPDATE indexes SET removed = removed - ? WHERE tenant = ? AND model = ?", (up_to, tenant, model))
