"""The file's side of an index outside it: which builds count, and what has not reached them yet."""

import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import apsw

from holdfast.stores.chroma.protocol import Build, VectorKey
from holdfast.stores.sql.connection import fetch, fetch_value
from holdfast.stores.sql.rows import marks


class VectorChange(NamedTuple):
    """A vector whose state is to be carried over; the mark says as of which change."""

    key: VectorKey
    mark: int


class StoredVector(NamedTuple):
    """A vector as the file has it."""

    scale: float
    code: bytes


def builds(connection: apsw.Connection, tenant: str) -> dict[int, Build]:
    """Return the builds that count, by their models."""
    rows = fetch(connection, "SELECT model, place, home, build, mark, next, removed FROM indexes WHERE tenant = ?", (tenant,))
    return {row[0]: Build(*row) for row in rows}


def builds_of_all(connection: apsw.Connection) -> set[str]:
    """Return the names of the builds that count, whichever tenant has them."""
    return {row[0] for row in connection.execute("SELECT build FROM indexes")}


def models(connection: apsw.Connection, tenant: str) -> list[int]:
    """Return the models whose vectors are wanted."""
    return [row[0] for row in connection.execute("SELECT model FROM models WHERE tenant = ?", (tenant,))]


def begin(connection: apsw.Connection, tenant: str, model: int, *, place: str, home: str) -> Build:
    """Begin a new build in a write: every vector of the model waits for it."""
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


def end(connection: apsw.Connection, tenant: str, model: int) -> None:
    """Want no index of a model any more, in a write."""
    for table in ("indexes", "index_queue"):
        connection.execute(f"DELETE FROM {table} WHERE tenant = ? AND model = ?", (tenant, model))


def waiting(
    connection: apsw.Connection, tenant: str, model: int, *, partitions: Collection[int] | None = None, limit: int
) -> list[VectorChange]:
    """Return what waits, of these partitions or of all."""
    chosen = "" if partitions is None else f" AND partition IN ({marks(list(partitions))})"
    rows = fetch(
        connection,
        f"SELECT partition, item, window, mark FROM index_queue WHERE tenant = ? AND model = ?{chosen} LIMIT ?",
        (tenant, model, *(partitions or ()), limit),
    )
    return [VectorChange(VectorKey(*row[:3]), row[3]) for row in rows]


def count_waiting(connection: apsw.Connection, tenant: str, model: int) -> int:
    """Count what waits for a model's index."""
    number: int = fetch_value(connection, "SELECT count(*) FROM index_queue WHERE tenant = ? AND model = ?", (tenant, model))
    return number


def intend(connection: apsw.Connection, tenant: str, build: Build, mark: str) -> None:
    """Note in a write that changes of this mark are on their way to a build."""
    connection.execute(
        "UPDATE indexes SET next = ? WHERE tenant = ? AND model = ? AND build = ?", (mark, tenant, build.model, build.build)
    )


def done(connection: apsw.Connection, tenant: str, build: Build, changes: Iterable[VectorChange], mark: str) -> None:
    """Note in a write that changes have reached a build; what changed again meanwhile goes on waiting."""
    connection.execute(
        "UPDATE indexes SET mark = ?, next = '' WHERE tenant = ? AND model = ? AND build = ?",
        (mark, tenant, build.model, build.build),
    )
    if connection.changes():  # another build may have been begun meanwhile, and knows nothing of these changes
        connection.executemany(
            "DELETE FROM index_queue WHERE tenant = ? AND model = ? AND partition = ? AND item = ? AND window = ? AND mark = ?",
            [(tenant, build.model, *change.key, change.mark) for change in changes],
        )


def stored(connection: apsw.Connection, tenant: str, model: int, keys: Iterable[VectorKey]) -> dict[VectorKey, StoredVector]:
    """Return the vectors under these keys that there are."""
    rows = connection.executemany(
        "SELECT partition, item, window, scale, code FROM vectors "
        "WHERE tenant = ? AND model = ? AND partition = ? AND item = ? AND window = ?",
        [(tenant, model, *key) for key in keys],
    )
    return {VectorKey(*row[:3]): StoredVector(*row[3:]) for row in rows}


def some_stored(connection: apsw.Connection, tenant: str, model: int, limit: int) -> dict[VectorKey, StoredVector]:
    """Return a few of a model's vectors."""
    rows = fetch(
        connection,
        "SELECT partition, item, window, scale, code FROM vectors WHERE tenant = ? AND model = ? AND scale > 0 LIMIT ?",
        (tenant, model, limit),
    )
    return {VectorKey(*row[:3]): StoredVector(*row[3:]) for row in rows}


def keys_of(connection: apsw.Connection, tenant: str, model: int) -> set[VectorKey]:
    """Return the key of every vector of a model."""
    rows = connection.execute("SELECT partition, item, window FROM vectors WHERE tenant = ? AND model = ?", (tenant, model))
    return {VectorKey(*row) for row in rows}


def count(connection: apsw.Connection, tenant: str, model: int) -> int:
    """Count a model's vectors."""
    number: int = fetch_value(connection, "SELECT count(*) FROM vectors WHERE tenant = ? AND model = ?", (tenant, model))
    return number


def settled(connection: apsw.Connection, tenant: str, model: int, partitions: Sequence[int]) -> set[VectorKey]:
    """Return the keys of the vectors of some partitions that do not wait."""
    rows = connection.execute(
        f"SELECT partition, item, window FROM vectors WHERE tenant = ? AND model = ? AND partition IN ({marks(partitions)}) AND NOT EXISTS ("
        "SELECT 1 FROM index_queue AS queue WHERE queue.tenant = vectors.tenant AND queue.model = vectors.model "
        "AND queue.partition = vectors.partition AND queue.item = vectors.item AND queue.window = vectors.window)",
        (tenant, model, *partitions),
    )
    return {VectorKey(*row) for row in rows}


def none_removed(connection: apsw.Connection, tenant: str, model: int, *, up_to: int) -> None:
    """Note in a write that a build holds nothing of what was removed before."""
    connection.execute("UPDATE indexes SET removed = removed - ? WHERE tenant = ? AND model = ?", (up_to, tenant, model))
