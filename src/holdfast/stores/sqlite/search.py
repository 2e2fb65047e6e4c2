"""Search in a SQLite file by words and by meaning. Also list the chunks that have no vector yet."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.protocols import Match, MissingVector, SearchFilter, Space
from holdfast.stores.sql import partitions, vector_tables
from holdfast.stores.sql.connection import cached_fetch, fetch, fetch_value, guarded
from holdfast.stores.sql.filters import Clauses, item_clauses, said_in
from holdfast.stores.sql.reads import SQLReads
from holdfast.stores.sql.rows import SEARCHED_TEXT, marks
from holdfast.stores.sqlite import embeddings, fulltext
from holdfast.stores.sqlite.allowed_items import AllowedItems, AllowedItemsCache
from holdfast.stores.sqlite.connection import SQLiteConnections
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.stores.sqlite.queued_index.index import QueuedIndex
from holdfast.stores.sqlite.word_cache import WordCache
from holdfast.types import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SQLiteSearch(SQLReads):
    """The searches of a SQLite store, with the caches that they use."""

    words: WordCache
    _connections: SQLiteConnections
    _indexes: embeddings.IndexCache
    _allowed_items: AllowedItemsCache
    _external: QueuedIndex | None
    """The external vector index, or None if the in-memory indexes (``_indexes``) are used."""

    @property
    def connection(self) -> FileConnection:
        """This thread's read-only connection."""
        return self._connections.reader()

    @guarded
    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Return the ``limit`` items that match the words of a query best, ranked by BM25.

        Only the partitions that ``where.reader`` may see are searched. ``languages`` are the languages that the query may be
        in.
        """
        seen = partitions.visible(self.connection, where.reader, where.spaces)
        chosen = self._allowed(where, seen)
        return fulltext.search(
            self.connection,
            self.tenant,
            seen,
            query,
            languages=languages,
            limit=limit,
            words=self.words,
            allowed=chosen,
            excluded=self._excluded(where),
        )

    @guarded
    def find_vectors(self, model: str, query: "NDArray[np.float32]", where: SearchFilter, *, limit: int) -> list[Match]:
        """Return the ``limit`` items nearest to a query vector by cosine, each with its best chunk.

        Only the partitions that ``where.reader`` may see are searched. ``model`` is the name of the embedding model.
        """
        number = vector_tables.model_number(self.connection, self.tenant, model)
        if number is None:
            return []
        seen = partitions.visible(self.connection, where.reader, where.spaces)
        if not seen:
            return []
        chosen = self._allowed(where, seen)
        return (self._external or self._indexes).search(
            self.connection,
            self.tenant,
            number,
            query,
            seen,
            limit=limit,
            allowed=chosen and chosen.ascending,
            excluded=self._excluded(where),
        )

    def _allowed(self, where: SearchFilter, seen: Mapping[int, Space]) -> AllowedItems | None:
        """Return the items that a search filter allows, or None if it allows all items.

        If the filter selects messages by time, these are the messages in its time ranges. Otherwise, these are the memories
        that match its kinds, metadata and namespace. ``seen`` maps the partitions to search to their spaces.
        """
        if where.said and "message" in where.spaces:
            return self._messages_in_periods(where, seen)
        if not where.selects_memories:
            return None
        clauses = item_clauses(self.connection.dialect, self.tenant, where, seen)
        sql = f"SELECT item FROM memories WHERE {clauses.sql}"
        query = (sql, repr(clauses.values))
        return self._allowed_items.get(self.connection, query, lambda: (row[0] for row in self._rows(sql, clauses.values)))

    def _messages_in_periods(self, where: SearchFilter, seen: Mapping[int, Space]) -> AllowedItems:
        """Return the messages in the time ranges of a filter. ``seen`` maps the partitions to search to their spaces."""
        clauses = Clauses(self.connection.dialect, "tenant = ?", self.tenant)
        clauses.among("partition", [number for number, space in seen.items() if space == "message"])
        said_in(clauses, "at", where.said)
        sql = f"SELECT seq FROM messages WHERE {clauses.sql}"
        query = (sql, repr(clauses.values))
        return cached_fetch(
            self.connection, query, lambda: AllowedItems.of(frozenset(row[0] for row in self._rows(sql, clauses.values)))
        )

    def _excluded(self, where: SearchFilter) -> set[int]:
        """Return the sequence numbers of all messages in the session that the filter excludes.

        The set is empty if the filter excludes no session.
        """
        if where.without_session is None or "message" not in where.spaces:
            return set()
        rows = self._rows("SELECT seq FROM messages WHERE tenant = ? AND session = ?", (self.tenant, where.without_session))
        return {row[0] for row in rows}

    @guarded
    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List up to ``limit`` chunks that have no vector of this model yet.

        With ``reader``, only chunks that the reader may see are listed. Then chunks of memories come before chunks of messages,
        and newer items before older ones. Without ``reader``, the order is not defined.

        With ``windows``, only the given chunks are listed. Each is given as a pair of item number and chunk number.
        """
        connection = self.connection
        number = vector_tables.model_number(connection, self.tenant, model)
        if number is None or (windows is not None and not windows):
            return []
        clauses, order = Clauses(connection.dialect, "tenant = ? AND model = ?", self.tenant, number), ""
        if reader is not None:
            seen = partitions.visible(connection, reader, ("memory", "message"))
            messages = ", ".join(str(partition) for partition, space in seen.items() if space == "message")
            clauses.among("partition", list(seen))
            order = f"ORDER BY partition IN ({messages}), item DESC, window"
        if windows is not None:
            clauses.pairs("item, window", windows)
        queued, values = f"SELECT item, window FROM unembedded WHERE {clauses.sql} {order} LIMIT ?", (*clauses.values, limit)
        found = cached_fetch(connection, (queued, *values), lambda: fetch(connection, queued, values))
        return [MissingVector(item, window, text) for item, window in found if (text := self._chunk(item, window)) is not None]

    @guarded
    def vector_lengths(self, model: str) -> set[int]:
        """Return the distinct lengths (numbers of dimensions) of a model's stored vectors."""
        number = vector_tables.model_number(self.connection, self.tenant, model)
        sql = "SELECT DISTINCT length(code) FROM vectors WHERE tenant = ? AND model = ?"
        return set() if number is None else {row[0] for row in self._rows(sql, (self.tenant, number))}

    def _chunk(self, item: int, window: int) -> str | None:
        """Return the text to embed for one chunk: the speaker's name, the question that the message answers, and the chunk itself.

        ``window`` is the number of the chunk in the item. Return None if the chunk was removed meanwhile.
        """
        found: str | None = fetch_value(
            self.connection,
            "SELECT owner.heading || substr(owner.text, units.start + 1, units.length) FROM units, ("
            f" SELECT '' AS heading, {SEARCHED_TEXT} AS text FROM memories WHERE tenant = ?1 AND item = ?2"
            " UNION ALL SELECT coalesce(speaker || ': ', '') || coalesce(asked || ' ', ''), text FROM messages WHERE tenant = ?1 AND seq = ?2"
            ") AS owner WHERE units.tenant = ?1 AND units.item = ?2 AND units.window = ?3",
            (self.tenant, item, window),
        )
        return found

    @guarded
    def similarities(self, model: str, items: Sequence[int]) -> "NDArray[np.float32] | None":
        """Return a matrix with the cosine of each pair of items, computed from the vectors of their first chunks.

        If an item has no vector, its cosines are 0. Return None if none of the items has a vector.
        """
        number = vector_tables.model_number(self.connection, self.tenant, model)
        if number is None or not items:
            return None
        known = self._indexes.codes_of(number, items)
        if known is not None:
            return vector_tables.pairwise(items, known[0], known[1].astype(np.float32))
        rows = self._rows(
            "SELECT units.item, vectors.code FROM units JOIN vectors ON vectors.tenant = units.tenant "
            "AND vectors.partition = units.partition AND vectors.model = ? AND vectors.item = units.item AND vectors.window = 0 "
            f"WHERE units.tenant = ? AND units.item IN ({marks(items)}) AND units.window = 0",
            (number, self.tenant, *items),
        )
        rows = embeddings.of_one_length(rows)
        if not rows:
            return None
        codes = np.frombuffer(b"".join(code for _, code in rows), dtype=np.int8).reshape(len(rows), -1)
        return vector_tables.pairwise(items, [item for item, _ in rows], codes.astype(np.float32))
