"""Vectors in the file, and the in-memory indexes that search them.

The table is the truth. A partition's ``version`` grows with every change of its vectors and a short log
says which items changed, so each process brings its own index up to date before it searches. Vectors of
different models live under different numbers and never meet.
"""

import itertools
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.protocols import Match, Space
from holdfast.stores.sql import vector_tables
from holdfast.stores.sql.connection import cached_fetch, fetch, fetch_value
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
"""Changes a partition remembers; an index further behind is read anew."""
_CACHE_BYTES = 512 * 1024 * 1024
_RECENT_INDEXES = 8
"""Indexes in which the vectors of what was just found are looked for before the file is asked."""


def put(
    connection: FileConnection, tenant: str, name: str, chunks: Sequence[tuple[int, int]], vectors: "NDArray[np.float32]"
) -> int:
    """Store vectors for the windows that still wait for one; a text that went away meanwhile is passed over."""
    model = model_number(connection, tenant, name)
    if model is None or not chunks:
        return 0
    codes, scales = quantize(np.asarray(vectors, dtype=np.float32))
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
        _log(connection, tenant, partition, item)
        stored += 1
    return stored


def remove(connection: FileConnection, tenant: str, partition: int, item: int) -> int:
    """Remove an item's vectors; returns how many there were."""
    removed = 0
    for (model,) in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,)):
        where = (tenant, partition, model, item)
        connection.execute("DELETE FROM vectors WHERE tenant = ? AND partition = ? AND model = ? AND item = ?", where)
        removed += connection.changes()
        connection.execute("DELETE FROM unembedded WHERE tenant = ? AND partition = ? AND model = ? AND item = ?", where)
    if removed:
        _log(connection, tenant, partition, item)
    return removed


def move(connection: FileConnection, tenant: str, old: tuple[int, int], new: tuple[int, int]) -> None:
    """Give an item's vectors to another (partition, item): the same text under a new number."""
    for table in ("vectors", "unembedded"):
        for (model,) in fetch(connection, "SELECT model FROM models WHERE tenant = ?", (tenant,)):
            connection.execute(
                f"UPDATE {table} SET partition = ?, item = ? WHERE tenant = ? AND partition = ? AND model = ? AND item = ?",
                (*new, tenant, old[0], model, old[1]),
            )
    _log(connection, tenant, *old)
    _log(connection, tenant, *new)


def _log(connection: FileConnection, tenant: str, partition: int, item: int) -> None:
    # Without RETURNING, which would make many small segments of the full-text index: see SQLiteDialect.next_number.
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
    """This process's indexes, each as current as the last search that used it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indexes: OrderedDict[tuple[int, int], tuple[int, VectorIndex]] = OrderedDict()
        self._sizes: dict[tuple[int, int], int] = {}
        self._total = 0

    def clear(self) -> None:
        """Forget everything, so that nothing erased lives on in memory."""
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
        """Rank the items of the partitions by cosine."""
        found: list[Match] = []
        current = self._current(connection, tenant, model, list(partitions))
        for partition, index in current.items():
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
        """Return the partitions' indexes, brought up to date within one snapshot of the file where they are not."""
        ready = self._ready(model, _versions(connection, tenant, partitions))
        if ready is not None:
            return ready
        current: dict[int, VectorIndex] = {}
        with self._lock, connection:
            versions = _versions(connection, tenant, partitions)
            for partition, version in versions.items():
                index = self._follow(connection, tenant, model, partition, version) if version else None
                if index is not None:
                    current[partition] = index
            self._evict(keep=len(current))
        return current

    def _ready(self, model: int, versions: Mapping[int, int]) -> dict[int, VectorIndex] | None:
        """Return the indexes if all are current; most searches find them so, and must not wait for another's reading."""
        with self._lock:
            found = {partition: self._indexes.get((partition, model)) for partition, version in versions.items() if version}
            # One that another thread has brought further will do: what is not there yet, or no more, is not read afterwards.
            ready = {partition: have[1] for partition, have in found.items() if have and have[0] >= versions[partition]}
            if len(ready) < len(found):
                return None
            for partition, index in ready.items():
                self._indexes.move_to_end((partition, model))
                self._weigh((partition, model), index)
        return ready

    def _follow(self, connection: FileConnection, tenant: str, model: int, partition: int, version: int) -> VectorIndex | None:
        """Return a partition's index as of its present version; None while it has no vector of this model."""
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
                _refresh(connection, (tenant, partition, model, item), index)
        self._indexes[(partition, model)] = (max(have, version), index)
        self._indexes.move_to_end((partition, model))
        self._weigh((partition, model), index)
        return index

    def _weigh(self, key: tuple[int, int], index: VectorIndex) -> None:
        """Note an index's size, which a search may have changed; to ask all of them each time would cost more than a search."""
        size = index.nbytes
        self._total += size - self._sizes.get(key, 0)
        self._sizes[key] = size

    def _evict(self, *, keep: int) -> None:
        """Drop the longest unused indexes over the limit, but none that is needed right now."""
        while self._total > _CACHE_BYTES and len(self._indexes) > keep:
            key, _ = self._indexes.popitem(last=False)
            self._total -= self._sizes.pop(key, 0)

    def codes_of(self, model: int, items: Sequence[int]) -> "tuple[list[int], NDArray[np.int8]] | None":
        """Return the codes of the items' first windows, and which item each is of; None unless all are here in memory.

        Looked for in what was searched last: a vector stays the same as long as its item is there.
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
    """Return how often each partition's vectors have changed."""
    sql = f"SELECT partition, version FROM partitions WHERE tenant = ? AND partition IN ({marks(partitions)})"
    values = (tenant, *partitions)
    return cached_fetch(connection, ("versions", values), lambda: dict(connection.execute(sql, values)))


def _load(connection: FileConnection, tenant: str, model: int, partition: int) -> VectorIndex | None:
    """Read a partition's vectors whole; None if there are none."""
    rows = fetch(
        connection,
        "SELECT item, window, scale, code FROM vectors WHERE tenant = ? AND partition = ? AND model = ?",
        (tenant, partition, model),
    )
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


def _refresh(connection: FileConnection, owner: tuple[str, int, int, int], index: VectorIndex) -> None:
    """Bring one item of an index up to date."""
    rows = fetch(
        connection,
        "SELECT window, scale, code FROM vectors WHERE tenant = ? AND partition = ? AND model = ? AND item = ?",
        owner,
    )
    item = owner[-1]
    index.remove(item)
    for window, scale, code in rows:
        index.put(item, window, np.frombuffer(code, dtype=np.int8), scale)
