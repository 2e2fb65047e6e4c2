"""The PostgreSQL store, which many processes and machines can use at once."""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.errors import InvalidInput
from holdfast.protocols import Match, MissingVector, ScrubTime, SearchFilter, Space, Unreachable
from holdfast.stores.postgres import fulltext, maintenance, scrub_schedule, scrubbing, vector_indexes, vectors
from holdfast.stores.postgres.connect import (
    PoolLimits,
    connect,
    connection_arguments,
    connection_setup,
    is_pooled,
    transaction_setup,
)
from holdfast.stores.postgres.dialect import POSTGRES
from holdfast.stores.postgres.errors import redact_address, translated
from holdfast.stores.postgres.fulltext import ItemFilter
from holdfast.stores.postgres.listening import Listener
from holdfast.stores.postgres.migrate import migrate
from holdfast.stores.postgres.pool import NO_DIRECT, PostgresConnections
from holdfast.stores.postgres.scrub_schedule import REQUESTED
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.postgres.transaction import PostgresTransaction
from holdfast.stores.sql import partitions, vector_tables
from holdfast.stores.sql.connection import R, fetch, guarded
from holdfast.stores.sql.filters import Clauses, item_clauses, said_in
from holdfast.stores.sql.reads import SQLReads
from holdfast.stores.sql.rows import SEARCHED_TEXT
from holdfast.types import Finding, Scope

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray

    from holdfast.stores.sql.connection import Row
    from holdfast.stores.sqlite.store import SQLiteStore

_MIN_INDEXED_VECTORS = 20_000
"""Minimum number of vectors for a partition to get a vector index.

In a smaller partition, comparing the query with every vector takes only a few milliseconds.
"""


class PostgresStore(SQLReads):
    """Store of one tenant in a PostgreSQL database."""

    session_type: ClassVar[type[PostgresSession]] = PostgresSession
    """Class that wraps the connections. Tests can replace it with a subclass that records statements."""

    def __init__(
        self,
        url: str,
        *,
        tenant: str = "default",
        limits: PoolLimits | None = None,
        min_indexed_vectors: int = _MIN_INDEXED_VECTORS,
        direct: str | None = None,
        scrub_interval: float = 0.0,
        max_locked_bytes: int = scrubbing.MAX_LOCKED_BYTES,
    ) -> None:
        """Open the store of a tenant in the database at ``url``.

        If ``url`` names a pooler, ``direct`` is the address of the server itself. A partition with at least
        ``min_indexed_vectors`` vectors gets a vector index. ``scrub_interval`` is the minimum time between two scrubs, in
        seconds. With 0, each erasure scrubs at once. A scrub locks each table while it rewrites the table. Tables larger than
        ``max_locked_bytes`` are copied instead, and stay in use meanwhile.
        """
        self.tenant = tenant
        self.url = url
        self._place = redact_address(url)
        self._min_indexed_vectors = min_indexed_vectors
        self._scrub_interval = scrub_interval
        self._max_locked_bytes = max_locked_bytes
        limits = limits or PoolLimits()
        with translated(), contextlib.closing(connect(url, limits=limits)) as raw:
            self.is_pooled = is_pooled(raw)
            self._role = migrate(raw)
            arguments = connection_arguments(raw, limits, is_pooled=self.is_pooled)
            if direct is not None:
                _check_direct(raw, direct, limits)
        self._connections = PostgresConnections(
            url,
            tenant=tenant,
            limits=limits,
            arguments=arguments,
            setup=None if self.is_pooled else connection_setup(limits, role=self._role),
            session=self.session_type,
            direct=direct or (None if self.is_pooled else url),
            transaction_setup=transaction_setup(limits, role=self._role, tenant=tenant) if self.is_pooled else "",
        )
        self._listener = Listener(self._connections, tenant)
        self._indexes = vector_indexes.IndexCache()
        self._tidying = threading.Lock()

    @property
    def connection(self) -> PostgresSession:
        """The connection that the current read uses."""
        return self._connections.session

    @property
    def location(self) -> str:
        """The address of the database, without its password."""
        return self._place

    @property
    def is_local(self) -> bool:
        """Always False, because the data is on a server."""
        return False

    @property
    def search_notice(self) -> None:
        """Always None. A PostgreSQL store has no external vector index that could be unavailable."""
        return

    def preload(self) -> None:
        """Do nothing. All modules that a search needs were imported when the store was opened."""

    def guard(self, query: Callable[[], R]) -> R:
        """Call ``query`` with a connection of this tenant. PostgreSQL's errors are raised as Holdfast errors.

        If the connection was lost, ``query`` is called once more.
        """
        return self._connections.read(query)

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Context manager: run all reads inside it on one connection, and cache small lookups.

        This is not a database snapshot: each read sees the latest committed rows.
        """
        return self._connections.holding()

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[PostgresTransaction]:
        """Context manager for a write transaction. If its ``with`` block raises an error, the transaction is rolled back.

        When the ``with`` block ends, the transaction is on disk. With ``durable=False``, it may reach the disk a little
        later.
        """
        with self._connections.write(durable=durable) as session:
            transaction = PostgresTransaction(session, tenant=self.tenant)
            yield transaction
            transaction.finish()
        if transaction.has_new_jobs:
            self._listener.announce()

    def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until any process queues a job for this tenant. Return False if no job is queued within ``seconds``."""
        return self._listener.wait(seconds)

    def wait_for_tenants(self, seconds: float) -> Collection[str] | None:
        """Wait until a job of any tenant is queued and return the tenants with new jobs.

        Return None if a notification may have been missed.
        """
        return self._listener.tenants(seconds)

    @guarded
    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Return the ``limit`` items that match the words of a query best, ranked by BM25.

        Only the partitions that ``where.reader`` may see are searched. ``languages`` are the languages that the query may be
        in.
        """
        seen = partitions.visible(self.connection, where.reader, where.spaces)
        return fulltext.search(
            self.connection,
            self.tenant,
            seen,
            query,
            languages=languages,
            limit=limit,
            item_filter=self._item_filter(where, seen),
        )

    @guarded
    def find_vectors(self, model: str, query: "NDArray[np.float32]", where: SearchFilter, *, limit: int) -> list[Match]:
        """Return the ``limit`` items nearest to a query vector by cosine, each with its best chunk.

        Only the partitions that ``where.reader`` may see are searched. ``model`` is the name of the embedding model.
        """
        number = vector_tables.model_number(self.connection, self.tenant, model)
        seen = partitions.visible(self.connection, where.reader, where.spaces) if number is not None else {}
        if number is None or not seen:
            return []
        indexed = self._indexes.of(self.connection, self.tenant, number)
        return vectors.search(
            self.connection,
            self.tenant,
            number,
            query,
            seen,
            limit=limit,
            item_filter=self._item_filter(where, seen),
            indexed=indexed,
        )

    def _item_filter(self, where: SearchFilter, seen: Mapping[int, Space]) -> ItemFilter:
        """Return the SQL conditions of a search filter: on kind, metadata, namespace, time and the excluded session.

        ``seen`` maps the partitions to search to their spaces.
        """
        conditions = Clauses(POSTGRES, "true")
        filtered = where.selects_memories
        if filtered:
            clauses = item_clauses(POSTGRES, self.tenant, where, seen)
            conditions.add(f"item IN (SELECT item FROM memories WHERE {clauses.sql})", *clauses.values)
        if where.said and "message" in where.spaces:
            clauses = Clauses(POSTGRES, "tenant = ?", self.tenant)
            clauses.among("partition", list(seen))
            said_in(clauses, "at", where.said)
            conditions.add(f"item IN (SELECT seq FROM messages WHERE {clauses.sql})", *clauses.values)
            filtered = True
        if where.without_session is not None and "message" in where.spaces:
            sql = "item NOT IN (SELECT seq FROM messages WHERE tenant = ? AND session = ?)"
            conditions.add(sql, self.tenant, where.without_session)
        return ItemFilter(conditions, filtered)

    @guarded
    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List chunks that have no vector of this model yet.

        With ``reader``, list only the chunks that the reader may see. Chunks of memories come before chunks of messages, and
        newer chunks before older ones. With ``windows``, list only these chunks, given as pairs of item number and chunk
        number.
        """
        number = vector_tables.model_number(self.connection, self.tenant, model)
        if number is None or (windows is not None and not windows):
            return []
        clauses, order = Clauses(POSTGRES, "tenant = ? AND model = ?", self.tenant, number), "partition, item, window"
        values: list[Any] = []
        if reader is not None:
            seen = partitions.visible(self.connection, reader, ("memory", "message"))
            clauses.among("partition", list(seen))
            order = "partition = ANY(?), item DESC, window"
            values = [[partition for partition, space in seen.items() if space == "message"]]
        if windows is not None:
            clauses.pairs("item, window", windows)
        found = fetch(
            self.connection,
            "SELECT queued.item, queued.window, coalesce(messages.speaker || ': ', '') || coalesce(messages.asked || ' ', '') || "
            f"substr(coalesce(messages.text, memory.searched), (units.start + 1)::int, units.length::int) FROM ("
            # Numbered after the limit, so that the first rows are read by the key of the queue without scanning the rest.
            "SELECT tenant, item, window, row_number() OVER () AS number FROM ("
            f"SELECT tenant, item, window FROM unembedded WHERE {clauses.sql} ORDER BY {order} LIMIT ?) AS first) AS queued "
            "JOIN units ON units.tenant = queued.tenant AND units.item = queued.item AND units.window = queued.window "
            "LEFT JOIN messages ON messages.tenant = queued.tenant AND messages.seq = queued.item "
            f"LEFT JOIN LATERAL (SELECT {SEARCHED_TEXT} AS searched FROM memories WHERE memories.tenant = queued.tenant "
            "AND memories.item = queued.item) AS memory ON true ORDER BY queued.number",
            (*clauses.values, *values, limit),
        )
        return [MissingVector(item, window, text) for item, window, text in found if text is not None]

    @guarded
    def vector_lengths(self, model: str) -> set[int]:
        """Return the distinct lengths (numbers of dimensions) of a model's stored vectors."""
        number = vector_tables.model_number(self.connection, self.tenant, model)
        sql = "SELECT DISTINCT vector_dims(embedding) FROM vectors WHERE tenant = ? AND model = ?"
        return set() if number is None else {row[0] for row in self._rows(sql, (self.tenant, number))}

    @guarded
    def similarities(self, model: str, items: Sequence[int]) -> "NDArray[np.float32] | None":
        """Return a matrix with the cosine of each pair of items, computed from the vectors of their first chunks.

        If an item has no vector, its cosines are 0. Return None if none of the items has a vector.
        """
        number = vector_tables.model_number(self.connection, self.tenant, model)
        if number is None or not items:
            return None
        return vectors.similarities(self.connection, self.tenant, number, items)

    @guarded
    def stats(self) -> Mapping[str, Any]:
        """Return the counts of this tenant by name, for ``Stats.of``.

        ``bytes`` is the total size of the tables, including the rows of other tenants.
        """
        return maintenance.stats(self.connection, self.tenant)

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the server, its settings, the full-text index and the vectors. Return the findings.

        With ``deep``, also check the hash of every row.
        """
        pooler = [maintenance.pooler_finding(is_direct=self._connections.is_direct)] if self.is_pooled else []
        return [*self._check_rows(deep=deep), *pooler, maintenance.check_distance(self.url)]

    @guarded
    def _check_rows(self, *, deep: bool) -> list[Finding]:
        return maintenance.check(self.connection, self.tenant, deep=deep)

    def tidy(self) -> bool:
        """Build the vector index of one large partition, and drop unused indexes. Return True if anything was built or dropped."""
        if not self._connections.is_direct or not self._tidying.acquire(blocking=False):
            return False
        try:
            stale = self.guard(lambda: vector_indexes.stale(self.connection, self.tenant))
            missing = self.guard(lambda: vector_indexes.missing(self.connection, self.tenant, self._min_indexed_vectors))
            if missing is None and not stale:
                return False
            with self._connections.owner() as session:
                vector_indexes.drop(session, stale)
                built = missing is not None and vector_indexes.build(session, missing)
            self._indexes.clear()
            return built or bool(stale)
        finally:
            self._tidying.release()

    def rebuild_index(self) -> int:
        """Drop the vector indexes of this tenant, so that later calls of :meth:`tidy` build them again. Always return 0."""
        with self._connections.owner() as session:
            vector_indexes.drop(session, vector_indexes.existing(session, self.tenant))
        self._indexes.clear()
        return 0

    @contextlib.contextmanager
    def room(self) -> Iterator[Callable[[], object]]:
        """Context manager that changes nothing, and yields a function that does nothing.

        A SQLite store frees reserved disk space here. The disk of a database server is managed by its administrator.
        """
        yield lambda: None

    def scrub(
        self, needles: Sequence[bytes], *, rewrite: bool = True, files: Sequence[Path] = (), when: ScrubTime = "now"
    ) -> tuple[bool, tuple[str, ...]]:
        """Remove erased data from the tables and the write-ahead log, and search for the needles (byte strings from erased data).

        Return (complete, residue). ``complete`` is True if the erased data was removed. ``residue`` lists the places where a
        needle was found, and the places that the database user cannot reach. ``files`` are files outside the database that are
        searched, too.

        A scrub removes the erased data of all tenants. ``when`` says whether to scrub now:

        - ``now``: Scrub at once.
        - ``due``: Scrub if the last scrub began at least ``scrub_interval`` seconds ago, otherwise do nothing. If an earlier
          scrub has already removed this tenant's erased data, only search.
        - ``later``: Only search ``files``. If ``scrub_interval`` is 0, scrub at once instead.

        Nothing is done with ``rewrite=False``, because PostgreSQL removes erased data only by rewriting files. Nothing is done
        either if the server can be reached only through a pooler.
        """
        self._connections.check_open()
        if not rewrite or (when == "due" and not self._may_scrub()):
            return False, ()
        if not self._connections.is_direct:
            return False, (Unreachable(NO_DIRECT),)
        with self._connections.owner() as session:
            found = scrubbing.plain_residue(session, files, needles)
            if when == "later" and self._scrub_interval > 0:
                return False, tuple(found)
            unreachable = self._covered() if when == "due" else None
            if unreachable is None:
                unreachable = self._scrub_all(session)
            if unreachable is None:
                return False, tuple(found)
            return True, (*unreachable, *scrubbing.scan(session, needles), *found)

    def _covered(self) -> Sequence[Unreachable] | None:
        """Find the last scrub that covers this tenant's erasures. Return the places that this scrub could not reach.

        Return None if there is no such scrub, or if this tenant has erased nothing.
        """
        requested = self.setting(REQUESTED)
        return None if requested is None else self.guard(lambda: scrub_schedule.covering(self.connection, requested))

    def _may_scrub(self) -> bool:
        """Return True if a call of :meth:`scrub` with ``when="due"`` can do its work now, False if it is too early.

        The work can be done if the scrub interval has passed. It can also be done earlier if a scrub has already removed this
        tenant's erased data, because then only the search for needles is left.
        """
        if self._covered() is not None:
            return True
        return self.guard(lambda: scrub_schedule.is_due(self.connection, self._scrub_interval))

    def _scrub_all(self, session: PostgresSession) -> Sequence[Unreachable] | None:
        """Rewrite the tables and the write-ahead log for all tenants. Return the places that could not be overwritten.

        Return None if another scrub or transaction prevented the rewrite. Try again later.
        """
        with scrub_schedule.alone(session) as is_alone:
            if not is_alone:
                return None
            number = scrub_schedule.begin(session)
            complete, unreachable = scrubbing.rewrite(session, max_locked_bytes=self._max_locked_bytes)
            if complete:
                scrub_schedule.finish(session, number, unreachable)
            return unreachable if complete else None

    def backup(self, target: Path) -> None:
        """Always raise ``InvalidInput``, because a PostgreSQL database is backed up with PostgreSQL's own tools."""
        self._connections.check_open()
        raise InvalidInput(
            f"{target} was not written: Holdfast cannot back up a PostgreSQL store. Use pg_dump (schema holdfast), "
            "or copy the store into a file with `holdfast store copy`."
        )

    def open_copy(self, path: Path) -> "SQLiteStore":
        """Open a SQLite file that ``holdfast store copy`` has written as a copy of this store."""
        from holdfast.stores.sqlite.store import SQLiteStore  # noqa: PLC0415  (only for copies)

        return SQLiteStore(path, tenant=self.tenant, is_copy=True)

    @guarded
    def backups(self) -> list[str]:
        """List the recorded backups of this store, oldest first."""
        sql = "SELECT path FROM backups WHERE tenant = ? GROUP BY path ORDER BY max(at)"
        return [row[0] for row in self._rows(sql, (self.tenant,))]

    def close(self) -> None:
        """Stop listening for new jobs, and release the connections."""
        self._listener.close()
        self._connections.close()


def _check_direct(raw: "psycopg.Connection[Row]", direct: str, limits: PoolLimits) -> None:
    """Raise ``InvalidInput`` if the direct address leads to a pooler or to another database."""
    identity = "SELECT system_identifier, current_database() FROM pg_control_system()"
    with contextlib.closing(connect(direct, limits=limits)) as other:
        if is_pooled(other):
            raise InvalidInput("store_direct leads to a pooler. Nothing was changed. Set it to the address of the server itself.")
        if raw.execute(identity).fetchone() != other.execute(identity).fetchone():
            raise InvalidInput("store_direct leads to another database than store. Nothing was changed. Correct one of them.")


__all__ = ["PoolLimits", "PostgresStore"]
