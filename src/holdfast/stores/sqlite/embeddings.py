"""Vectors in the SQLite file, and the in-memory indexes that search them.

The vectors themselves are stored in the table ``vectors``; an index is only a copy of them. Each change of a
partition's vectors increments the partition's ``version`` and adds the changed item to a short log. Before a search,
each process reads which items were logged after the version of its index, and reloads these items. Vectors of
different models have different model ids and are never compared.
"""

import itertools
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.protocols import Match, Space
from holdfast.stores.sql import vector_tables
from holdfast.stores.sql.connection import Row, cached_fetch, fetch, fetch_value
from holdfast.stores.sql.rows import marks
from holdfast.stores.sql.vector_tables import model_number
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.vector_index.index import VectorIndex, quantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

drop_model = vector_tables.drop_model
use_model = vector_tables.use_model
want = vector_tables.want

_LOG_LENGTH = 1000
"""Number of changes to log per partition. An index that missed more changes is loaded again from the table of vectors."""
_CACHE_BYTES = 512 * 1024 * 1024
"""Maximum total size of all cached indexes, in bytes."""
_RECENT_INDEXES = 8
"""Number of recently used indexes in which ``codes_of`` looks for vectors."""


def put(
    connection: FileConnection, tenant: str, name: str, chunks: Sequence[tuple[int, int]], vectors: "NDArray[np.float32]"
) -> int:
    """Store the vectors of chunks that are still queued for embedding, and return the number of stored vectors.

    ``name`` is the name of the embedding model. A chunk is a pair of item number and chunk number. ``vectors`` has one row
    per chunk. Chunks that were removed meanwhile are skipped.
    """
    model = model_number(connection, tenant, name)
    if model is None or not chunks:
        return 0
    codes, scales = quantize(vector_tables.checked(vectors, len(chunks)))
    stored = 0
    for (item, window), code, scale in zip(chunks, codes, scales, strict=True):
        partition = fetch_value(
            connection, "SELECT partition FROM units WHERE tenant = ? AND item = ? AND window = ?", (tenant, item, window)
        )
        if partition is None:
            continue
        connection.execute(
            "DELETE FROM unembedded WHERE tenant = ? AND model = ? AND partition = ? AND item = ? AND window = ?",
            (tenant, model, partition, item, window),
        )
        if not connection.changes():
            continue
        connection.execute(
            "INSERT OR REPLACE INTO vectors (tenant, partition, model, item, window, scale, code) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (tenant, partition, model, item, window, float(scale), code.tobytes()),
        )
        log_change(connection, tenant, partition, item)
        stored += 1
    return stored


def remove(connection: FileConnection, tenant: str, partition: int, item: int) -> int:
    """Remove an item's vectors and return their number."""
    removed = 0
    for (model,) in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,)):
        where = (tenant, partition, model, item)
        connection.execute("DELETE FROM vectors WHERE tenant = ? AND partition = ? AND model = ? AND item = ?", where)
        removed += connection.changes()
        connection.execute("DELETE FROM unembedded WHERE tenant = ? AND partition = ? AND model = ? AND item = ?", where)
    if removed:
        log_change(connection, tenant, partition, item)
    return removed


def move(connection: FileConnection, tenant: str, old: tuple[int, int], new: tuple[int, int]) -> None:
    """Move an item's vectors to another partition and item number. The text must be the same.

    ``old`` and ``new`` are pairs of partition and item number.
    """
    for table in ("vectors", "unembedded"):
        for (model,) in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,)):
            connection.execute(
                f"UPDATE {table} SET partition = ?, item = ? WHERE tenant = ? AND partition = ? AND model = ? AND item = ?",
                (*new, tenant, old[0], model, old[1]),
            )
    log_change(connection, tenant, *old)
    log_change(connection, tenant, *new)


def log_change(connection: FileConnection, tenant: str, partition: int, item: int) -> None:
    """Log that the vectors of an item changed, so that all processes update their cached indexes."""
    # No RETURNING: it would split the full-text index into many small segments (see SQLiteDialect.next_number).
    where = (tenant, partition)
    connection.execute("UPDATE partitions SET version = version + 1 WHERE tenant = ? AND partition = ?", where)
    version: int | None = fetch_value(connection, "SELECT version FROM partitions WHERE tenant = ? AND partition = ?", where)
    if version is None:
        return
    connection.execute(
        "INSERT INTO vector_log (tenant, partition, version, item) VALUES (?, ?, ?, ?)", (tenant, partition, version, item)
    )
    if version % 100 == 0:
        connection.execute(
            "DELETE FROM vector_log WHERE tenant = ? AND partition = ? AND version <= ?",
            (tenant, partition, version - _LOG_LENGTH),
        )


class IndexCache:
    """Caches the vector indexes of this process. An index is brought up to date when a search uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indexes: OrderedDict[tuple[int, int], tuple[int, VectorIndex]] = OrderedDict()
        self._sizes: dict[tuple[int, int], int] = {}
        self._total = 0

    def clear(self) -> None:
        """Drop all indexes, so that erased data does not stay in memory."""
        with self._lock:
            self._indexes.clear()
            self._sizes.clear()
            self._total = 0

    def search(
        self,
        connection: FileConnection,
        tenant: str,
        model: int,
        query: "NDArray[np.float32]",
        partitions: Mapping[int, Space],
        *,
        limit: int,
        allowed: "NDArray[np.int64] | None" = None,
        excluded: Collection[int] = (),
    ) -> list[Match]:
        """Rank the items of the partitions by cosine with the query, and return the best ``limit``.

        Only items in ``allowed`` are returned, or all items if it is None. Items in ``excluded`` are left out.
        """
        found: list[Match] = []
        current = self._current(connection, tenant, model, list(partitions))
        for partition, index in current.items():
            if index.dimensions != len(query):  # the model has changed, and its vectors are about to be computed again
                continue
            space = partitions[partition]
            found += [
                Match(item, window, similarity, space)
                for item, window, similarity in index.search(query, limit + len(excluded), allowed=allowed)
                if item not in excluded
            ]
        if len(current) > 1:
            found.sort(key=lambda match: (-match.score, match.item))
        return found[:limit]

    def _current(self, connection: FileConnection, tenant: str, model: int, partitions: Sequence[int]) -> dict[int, VectorIndex]:
        """Return the indexes of the partitions. Outdated indexes are first updated, within one snapshot of the file."""
        ready = self._ready(model, _versions(connection, tenant, partitions))
        if ready is not None:
            return ready
        current: dict[int, VectorIndex] = {}
        with self._lock, connection:
            versions = _versions(connection, tenant, partitions)
            for partition, version in versions.items():
                index = self._update(connection, tenant, model, partition, version) if version else None
                if index is not None:
                    current[partition] = index
            self._evict(keep=len(current))
        return current

    def _ready(self, model: int, versions: Mapping[int, int]) -> dict[int, VectorIndex] | None:
        """Return the cached indexes of the partitions if all of them are up to date, otherwise None.

        ``versions`` maps each partition to its current version. Up-to-date indexes are the common case, and need no snapshot of
        the file.
        """
        with self._lock:
            found = {partition: self._indexes.get((partition, model)) for partition, version in versions.items() if version}
            # A newer index is fine: items that this snapshot does not have are dropped when their rows are read.
            ready = {partition: have[1] for partition, have in found.items() if have and have[0] >= versions[partition]}
            if len(ready) < len(found):
                return None
            for partition, index in ready.items():
                self._indexes.move_to_end((partition, model))
                self._record_size((partition, model), index)
        return ready

    def _update(self, connection: FileConnection, tenant: str, model: int, partition: int, version: int) -> VectorIndex | None:
        """Return the vector index of a partition, at least as new as the partition's ``version``.

        If the cached index is outdated, reload only the changed items. If it is missing or has missed too many changes, load the
        whole index. Return None if the partition has no vectors of the model.
        """
        have, index = self._indexes.get((partition, model), (-1, None))
        if index is None or version - have > _LOG_LENGTH - 100:
            index = _load(connection, tenant, model, partition)
            if index is None:
                return None
        elif have < version:
            changed = fetch(
                connection,
                "SELECT DISTINCT item FROM vector_log WHERE tenant = ? AND partition = ? AND version > ?",
                (tenant, partition, have),
            )
            for (item,) in changed:
                _reload_item(connection, (tenant, partition, model, item), index)
        self._indexes[(partition, model)] = (max(have, version), index)
        self._indexes.move_to_end((partition, model))
        self._record_size((partition, model), index)
        return index

    def _record_size(self, key: tuple[int, int], index: VectorIndex) -> None:
        """Record the current size of one index, and adjust the total size of all indexes by the difference.

        This is done before each search, because the previous search may have changed the size. Adding up the sizes of all
        indexes would take longer than a search.
        """
        size = index.nbytes
        self._total += size - self._sizes.get(key, 0)
        self._sizes[key] = size

    def _evict(self, *, keep: int) -> None:
        """Evict the least recently used indexes until the cache is within its size limit.

        The ``keep`` most recently used indexes always stay.
        """
        while self._total > _CACHE_BYTES and len(self._indexes) > keep:
            key, _ = self._indexes.popitem(last=False)
            self._total -= self._sizes.pop(key, 0)

    def codes_of(self, model: int, items: Sequence[int]) -> "tuple[list[int], NDArray[np.int8]] | None":
        """Return two results in the same order: the items, and the int8 code (quantized vector) of each item's first chunk.

        The order can differ from the order of ``items``. Only the few most recently used indexes are searched. Return None if one
        of the items is in none of them. The indexes need not be up to date, because an item's vector never changes.
        """
        with self._lock:
            recent = itertools.islice(reversed(self._indexes.items()), _RECENT_INDEXES)
            indexes = [index for (_, number), (_, index) in recent if number == model]
        found: list[int] = []
        codes: list[NDArray[np.int8]] = []
        for index in indexes:
            some, theirs = index.first_codes(items)
            found += some
            codes.append(theirs)
            if len(found) >= len(items):
                break
        return (found, np.concatenate(codes)) if sorted(found) == sorted(items) else None


def _versions(connection: FileConnection, tenant: str, partitions: Sequence[int]) -> dict[int, int]:
    """Return the version of each partition. It increases with each change of the partition's vectors."""
    sql = f"SELECT partition, version FROM partitions WHERE tenant = ? AND partition IN ({marks(partitions)})"
    values = (tenant, *partitions)
    return cached_fetch(connection, ("versions", values), lambda: dict(connection.execute(sql, values)))


def _load(connection: FileConnection, tenant: str, model: int, partition: int) -> VectorIndex | None:
    """Load all vectors of a partition into a new index. Return None if there are no vectors."""
    rows = fetch(
        connection,
        "SELECT item, window, scale, code FROM vectors WHERE tenant = ? AND partition = ? AND model = ?",
        (tenant, partition, model),
    )
    rows = of_one_length(rows)
    if not rows:
        return None
    items, windows, scales, codes = zip(*rows, strict=True)
    index = VectorIndex(len(codes[0]))
    index.load(
        np.array(items, dtype=np.int64),
        np.array(windows, dtype=np.int32),
        np.frombuffer(b"".join(codes), dtype=np.int8).reshape(len(rows), -1),
        np.array(scales, dtype=np.float32),
    )
    return index


def of_one_length(rows: Sequence[Row]) -> list[Row]:
    """Return only the rows whose vector has the most common number of dimensions. The last column of a row is the vector's code.

    All vectors of a model should have the same number of dimensions. An earlier version of Holdfast allowed another model
    under the same name, so its stores can contain vectors of different lengths.
    """
    lengths = Counter(len(row[-1]) for row in rows)
    if len(lengths) <= 1:
        return list(rows)
    ((common, _),) = lengths.most_common(1)
    return [row for row in rows if len(row[-1]) == common]


def _reload_item(connection: FileConnection, owner: tuple[str, int, int, int], index: VectorIndex) -> None:
    """Replace the vectors of one item in an index with the vectors in the file. ``owner`` is (tenant, partition, model, item)."""
    rows = fetch(
        connection,
        "SELECT window, scale, code FROM vectors WHERE tenant = ? AND partition = ? AND model = ? AND item = ?",
        owner,
    )
    item = owner[-1]
    index.remove(item)
    for window, scale, code in rows:
        if len(code) == index.dimensions:
            index.put(item, window, np.frombuffer(code, dtype=np.int8), scale)
