"""Tables that both SQL stores use for vectors: the embedding models with their ids, and the queue of chunks to embed."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.errors import AnswerInvalid
from holdfast.stores.sql.connection import Connection, cached_fetch, fetch, fetch_value
from holdfast.stores.sql.partitions import next_number
from holdfast.stores.sql.rows import marks

if TYPE_CHECKING:
    from numpy.typing import NDArray


def model_number(connection: Connection, tenant: str, name: str) -> int | None:
    """Return the id (column ``models.model``) of the embedding model ``name``, or None if the model is not in use."""
    sql = "SELECT model FROM models WHERE tenant = ? AND name = ?"
    found: int | None = cached_fetch(connection, ("model", tenant, name), lambda: fetch_value(connection, sql, (tenant, name)))
    return found


def use_model(connection: Connection, tenant: str, name: str) -> int:
    """Register the embedding model ``name``, and return the number of chunks left to embed.

    If the model is new, every chunk is queued for it.
    """
    number = model_number(connection, tenant, name)
    if number is None:
        number = next_number(connection, "model")
        connection.execute("INSERT INTO models (tenant, model, name) VALUES (?, ?, ?)", (tenant, number, name))
        connection.execute(
            "INSERT INTO unembedded (tenant, model, partition, item, window) "
            "SELECT tenant, ?, partition, item, window FROM units WHERE tenant = ?",
            (number, tenant),
        )
    waiting: int = fetch_value(connection, "SELECT count(*) FROM unembedded WHERE tenant = ? AND model = ?", (tenant, number))
    return waiting


def drop_model(connection: Connection, tenant: str, name: str) -> None:
    """Remove the embedding model ``name``, its vectors, and its queue of chunks to embed."""
    number = model_number(connection, tenant, name)
    if number is None:
        return
    # The queue first: in PostgreSQL this waits for a concurrent put, whose vector is visible afterwards.
    connection.execute("DELETE FROM unembedded WHERE tenant = ? AND model = ?", (tenant, number))
    partitions = fetch(connection, "SELECT DISTINCT partition FROM units WHERE tenant = ?", (tenant,))
    for (partition,) in partitions:
        connection.execute("DELETE FROM vectors WHERE tenant = ? AND partition = ? AND model = ?", (tenant, partition, number))
    connection.execute("DELETE FROM models WHERE tenant = ? AND model = ?", (tenant, number))


def checked(vectors: "NDArray[np.float32]", count: int) -> "NDArray[np.float32]":
    """Return vectors as a matrix with one row per chunk. Raise ``AnswerInvalid`` if a row is missing or a number is not finite.

    ``count`` is the expected number of rows.
    """
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != count or not array.shape[1]:
        raise AnswerInvalid(f"{count} vectors were expected, not an array of shape {array.shape}. None was stored.")
    if not np.isfinite(array).all():
        raise AnswerInvalid("A vector contains NaN or infinity. None was stored.")
    return array


def want(connection: Connection, tenant: str, partition: int, chunks: Sequence[tuple[int, int]]) -> None:
    """Queue chunks of new items for embedding with every model in use. A chunk is a pair of item number and chunk number."""
    for (model,) in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,)):
        connection.executemany(
            "INSERT INTO unembedded (tenant, model, partition, item, window) VALUES (?, ?, ?, ?, ?)",
            [(tenant, model, partition, item, window) for item, window in chunks],
        )


def count_missing(connection: Connection, tenant: str, name: str, partitions: Collection[int]) -> int:
    """Count the items in these partitions that have a chunk without a vector of the embedding model ``name``.

    Return 0 if the model is not in use.
    """
    number = model_number(connection, tenant, name)
    if number is None or not partitions:
        return 0
    listed = list(partitions)
    sql = f"SELECT count(DISTINCT item) FROM unembedded WHERE tenant = ? AND model = ? AND partition IN ({marks(listed)})"
    found: int = fetch_value(connection, sql, (tenant, number, *listed))
    return found


def pairwise(items: Sequence[int], found: Sequence[int], vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return a matrix with the cosine of each pair of items. The cosine is 0 if one of the two items has no vector.

    ``found`` are the items that have a vector. Row n of ``vectors`` is the vector of item n of ``found``.
    """
    place = {item: n for n, item in enumerate(items)}
    matrix = np.zeros((len(items), vectors.shape[1]), dtype=np.float32)
    matrix[[place[item] for item in found]] = vectors
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    cosines: NDArray[np.float32] = np.vecdot(matrix[:, None, :], matrix[None, :, :])
    return cosines
