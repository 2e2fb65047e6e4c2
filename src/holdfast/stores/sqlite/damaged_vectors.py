"""Find stored vectors that were damaged on disk, and queue their texts to be embedded again.

Stored vectors have unit length, so damage shows in the length. If the length has grown, every search would rank the vector too
high. Damage that keeps the length changes the vector so little that search results hardly change.
"""

from collections.abc import Iterator

import numpy as np

from holdfast.stores.sql.connection import fetch
from holdfast.stores.sqlite import embeddings
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.types import Finding
from holdfast.types.translatable import translatable

_TOLERANCE = 0.05
"""Maximum difference of a vector's length from 1. Storing a vector as int8 codes changes the length by less than 0.01."""


def damaged(connection: FileConnection, tenant: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the partition, model, item and chunk of each damaged vector.

    Stored vectors have the Euclidean norm 1, or are zero. A vector with another norm is damaged.
    """
    rows = fetch(connection, "SELECT partition, model, item, window, scale, code FROM vectors WHERE tenant = ?", (tenant,))
    for partition, model, item, window, scale, code in rows:
        codes = np.frombuffer(code, dtype=np.int8).astype(np.float64)
        length = abs(scale) * np.sqrt(codes @ codes)
        if scale and not abs(length - 1) <= _TOLERANCE:
            yield partition, model, item, window


def finding(connection: FileConnection, tenant: str) -> Finding:
    """Check that no stored vector is damaged, and return the finding."""
    number = sum(1 for _ in damaged(connection, tenant))
    if number:
        detail = translatable("vectors.damaged", "vectors that a damaged disk changed: {n}", n=number)
        return Finding(
            check="vector lengths",
            ok=False,
            detail=detail,
            remedy=translatable("index.rebuild", "holdfast doctor --rebuild-index"),
        )
    return Finding(check="vector lengths", ok=True, detail=translatable("vectors.undamaged", "no vector is damaged"))


def remove(connection: FileConnection, tenant: str) -> int:
    """Remove the damaged vectors, and queue their texts to be embedded again. Return the number of removed vectors."""
    found = list(damaged(connection, tenant))
    for partition, model, item, window in found:
        where = (tenant, partition, model, item, window)
        connection.execute(
            "DELETE FROM vectors WHERE tenant = ? AND partition = ? AND model = ? AND item = ? AND window = ?", where
        )
        connection.execute(
            "INSERT OR IGNORE INTO unembedded (tenant, partition, model, item, window) VALUES (?, ?, ?, ?, ?)", where
        )
        embeddings.log_change(connection, tenant, partition, item)
    return len(found)
