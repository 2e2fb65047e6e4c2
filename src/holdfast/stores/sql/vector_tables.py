"""The tables of vectors that both SQL stores share: models by number, and the queue of items without a vector."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.stores.sql.connection import Connection, cached_fetch, fetch, fetch_value
from holdfast.stores.sql.partitions import next_number

if TYPE_CHECKING:
    from numpy.typing import NDArray


def model_number(connection: Connection, tenant: str, name: str) -> int | None:
    """Return a wanted model's number."""
    sql = "SELECT model FROM models WHERE tenant = ? AND name = ?"
    found: int | None = cached_fetch(connection, ("model", tenant, name), lambda: fetch_value(connection, sql, (tenant, name)))
    return found


def use_model(connection: Connection, tenant: str, name: str) -> int:
    """Want a model's vectors for all there is and all to come; returns how many windows wait for one."""
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
    """Remove a model's vectors and want them no more."""
    number = model_number(connection, tenant, name)
    if number is None:
        return
    # First out of the queue: in PostgreSQL, who is just storing a vector is waited for there, and it is seen after that.
    connection.execute("DELETE FROM unembedded WHERE tenant = ? AND model = ?", (tenant, number))
    partitions = fetch(connection, "SELECT DISTINCT partition FROM units WHERE tenant = ?", (tenant,))
    for (partition,) in partitions:
        connection.execute("DELETE FROM vectors WHERE tenant = ? AND partition = ? AND model = ?", (tenant, partition, number))
    connection.execute("DELETE FROM models WHERE tenant = ? AND model = ?", (tenant, number))


def want(connection: Connection, tenant: str, partition: int, item: int, chunks: int) -> None:
    """Queue a new item's windows for every wanted model."""
    for (model,) in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,)):
        connection.executemany(
            "INSERT INTO unembedded (tenant, model, partition, item, window) VALUES (?, ?, ?, ?, ?)",
            [(tenant, model, partition, item, window) for window in range(chunks)],
        )


def pairwise(items: Sequence[int], found: Sequence[int], vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return the cosine of each pair of items, zero where none was found for one."""
    place = {item: n for n, item in enumerate(items)}
    matrix = np.zeros((len(items), vectors.shape[1]), dtype=np.float32)
    matrix[[place[item] for item in found]] = vectors
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    cosines: NDArray[np.float32] = np.vecdot(matrix[:, None, :], matrix[None, :, :])
    return cosines
