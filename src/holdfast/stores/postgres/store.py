"""The second store: PostgreSQL with pgvector, for many processes and machines at once."""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.errors import InvalidInput
from holdfast.protocols import Match, MissingVector, SearchFilter, Space
from holdfast.stores.postgres import fulltext, maintenance, scrubbing, vector_indexes, vectors
from holdfast.stores.postgres.connect import PoolLimits, confined, connect, plain_arguments
from holdfast.stores.postgres.dialect import POSTGRES
from holdfast.stores.postgres.errors import place_of, translated
from holdfast.stores.postgres.fulltext import ItemFilter
from holdfast.stores.postgres.listening import Listener
from holdfast.stores.postgres.migrate import migrate
from holdfast.stores.postgres.pool import PostgresConnections
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.postgres.transaction import PostgresTransaction
from holdfast.stores.sql import partitions, vector_tables
from holdfast.stores.sql.connection import R, fetch, guarded
from holdfast.stores.sql.filters import Clauses, add_metadata, said_in
from holdfast.stores.sql.reads import SQLReads
from holdfast.stores.sql.rows import SEARCHED_TEXT
from holdfast.types import Finding, Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_INDEX_FROM = 20_000
"""Vectors from which on a partition has an index of its own; fewer are ranked exactly in a few milliseconds."""


class PostgresStore(SQLReads):
    """One tenant's rows in a database."""

    session_type: ClassVar[type[PostgresSession]] = PostgresSession
    """What statements go through; a subclass may watch them."""

    def __init__(
        self, url: str, *, tenant: str = "default", limits: PoolLimits | None = None, index_from: int = _INDEX_FROM
    ) -> None:
        self.tenant = tenant
        self.url = url
        self._place = place_of(url)
        self._index_from = index_from
        chosen = limits or PoolLimits()
        with translated(), contextlib.closing(connect(url, limits=chosen)) as raw:
            self._role = migrate(raw)
            arguments = plain_arguments(raw, chosen)
        confine = confined(chosen, role=self._role)
        self._connections = PostgresConnections(
            url, tenant=tenant, limits=chosen, arguments=arguments, confine=confine, session=self.session_type
        )
        self._listener = Listener(self._connections, tenant)
        self._indexes = vector_indexes.ReadyIndexes()
        self._tidying = threading.Lock()

    @property
    def connection(self) -> PostgresSession:
        """The connection of the question that is under way."""
        return self._connections.session

    @property
    def location(self) -> str:
        """The address, without its password."""
        return self._place

    @property
    def is_local(self) -> bool:
        """False: a server answers."""
        return False

    def guard(self, ask: Callable[[], R]) -> R:
        """Ask with a connection of this tenant, once more if it was lost, and turn PostgreSQL's errors into ours."""
        return self._connections.read(ask)

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Run several reads on one connection; small lookups are made once. Each read sees what is committed when it runs."""
        return self._connections.holding()

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[PostgresTransaction]:
        """Begin a transaction; it is on disk when the block ends, and undone if the block raises."""
        with self._connections.write(durable=durable) as session:
            transaction = PostgresTransaction(session, tenant=self.tenant)
            yield transaction
            transaction.finish()
        if transaction.has_new_jobs:
            self._listener.announce()

    def wait_for_jobs(self, seconds: float) -> bool:
        """Wait until a job is queued, by whatever process; False if none was for so long."""
        return self._listener.wait(seconds)

    def wait_for_tenants(self, seconds: float) -> Collection[str] | None:
        """Wait until a job of any tenant is queued, and tell whose; None where something may have been missed."""
        return self._listener.tenants(seconds)

    @guarded
    def find_text(self, query: str, where: SearchFilter, *, languages: Sequence[str], limit: int) -> list[Match]:
        """Rank by BM25 within the reader's own partitions."""
        seen = partitions.visible(self.connection, where.reader, where.spaces)
        return fulltext.search(
            self.connection, self.tenant, seen, query, languages=languages, limit=limit, narrowed=self._narrowed(where, seen)
        )

    @guarded
    def find_vectors(self, model: str, query: "NDArray[np.float32]", where: SearchFilter, *, limit: int) -> list[Match]:
        """Rank by cosine within the reader's own partitions, the best window of each item."""
        number = vector_tables.model_number(self.connection, self.tenant, model)
        seen = partitions.visible(self.connection, where.reader, where.spaces) if number is not None else {}
        if number is None or not seen:
            return []
        indexed = self._indexes.of(self.connection, self.tenant, number)
        return vectors.search(
            self.connection, self.tenant, number, query, seen,
            limit=limit, narrowed=self._narrowed(where, seen), indexed=indexed,
        )  # fmt: skip

    def _narrowed(self, where: SearchFilter, seen: Mapping[int, Space]) -> ItemFilter:
        """Return which items may be found: by kind and metadata, and not in the session that is to be left out."""
        narrowed = Clauses(POSTGRES, "true")
        filtered = where.kinds is not None or bool(where.where)
        if filtered:
            clauses = Clauses(POSTGRES, "tenant = ?", self.tenant)
            clauses.among("partition", list(seen))
            clauses.add("recorded_to IS NULL")
            if where.kinds is not None:
                clauses.among("kind", list(where.kinds))
            if where.where:
                add_metadata(clauses, where.where)
            narrowed.add(f"item IN (SELECT item FROM memories WHERE {clauses.sql})", *clauses.values)
        if where.said and "message" in where.spaces:
            clauses = Clauses(POSTGRES, "tenant = ?", self.tenant)
            clauses.among("partition", list(seen))
            said_in(clauses, "at", where.said)
            narrowed.add(f"item IN (SELECT seq FROM messages WHERE {clauses.sql})", *clauses.values)
            filtered = True
        if where.without_session is not None and "message" in where.spaces:
            sql = "item NOT IN (SELECT seq FROM messages WHERE tenant = ? AND session = ?)"
            narrowed.add(sql, self.tenant, where.without_session)
        return ItemFilter(narrowed, filtered)

    @guarded
    def missing_vectors(
        self, model: str, *, reader: Scope | None = None, windows: Collection[tuple[int, int]] | None = None, limit: int
    ) -> list[MissingVector]:
        """List windows that have no vector of this model yet: a reader's memories first, and the newest first."""
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
            "SELECT queued.item, queued.window, coalesce(messages.speaker || ': ', '') || "
            f"substr(coalesce(messages.text, memory.searched), (units.start + 1)::int, units.length::int) FROM ("
            # Numbered after the limit: the first few of a long queue are found by its key, without a look at the rest.
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
    def similarities(self, model: str, items: Sequence[int]) -> "NDArray[np.float32] | None":
        """Return the cosine of each pair of items by their first windows, zero where a vector is missing."""
        number = vector_tables.model_number(self.connection, self.tenant, model)
        if number is None or not items:
            return None
        return vectors.similarities(self.connection, self.tenant, number, items)

    @guarded
    def stats(self) -> Mapping[str, Any]:
        """Count what is stored; the bytes are those of all tenants."""
        return maintenance.stats(self.connection, self.tenant)

    def check(self, *, deep: bool = True) -> list[Finding]:
        """Check the server and its settings, and with ``deep`` every row's hash."""
        return [*self._check_rows(deep=deep), maintenance.check_distance(self.url)]

    @guarded
    def _check_rows(self, *, deep: bool) -> list[Finding]:
        return maintenance.check(self.connection, self.tenant, deep=deep)

    def tidy(self) -> bool:
        """Give one partition that has grown large an index of its own, or remove what is of no more use; True while there may be more."""
        if not self._tidying.acquire(blocking=False):
            return False
        try:
            stale = self.guard(lambda: vector_indexes.stale(self.connection, self.tenant))
            wanted = self.guard(lambda: vector_indexes.wanted(self.connection, self.tenant, self._index_from))
            if wanted is None and not stale:
                return False
            with self._connections.owner() as session:
                vector_indexes.remove(session, stale)
                made = wanted is not None and vector_indexes.make(session, wanted)
            self._indexes.forget()
            return made or bool(stale)
        finally:
            self._tidying.release()

    def rebuild_index(self) -> int:
        """Remove the indexes of this tenant's vectors; they are made again when the store is tidied."""
        with self._connections.owner() as session:
            vector_indexes.remove(session, vector_indexes.ready(session, self.tenant))
        self._indexes.forget()
        return 0

    def scrub(self, needles: Sequence[bytes]) -> tuple[bool, tuple[str, ...]]:
        """Rewrite the tables and the log as far as this user may; what cannot be seen from here is named."""
        self._connections.check_open()
        with self._connections.owner() as session:
            return scrubbing.scrub(session, needles)

    def backup(self, target: Path) -> None:
        """Refuse: a database is backed up by its own tools."""
        self._connections.check_open()
        raise InvalidInput(
            f"{target} was not written: back up a PostgreSQL store with pg_dump (schema holdfast), "
            "or copy it into a file with `holdfast store copy`."
        )

    @guarded
    def backups(self) -> list[str]:
        """List the backups this store knows of."""
        sql = "SELECT path FROM backups WHERE tenant = ? GROUP BY path ORDER BY max(at)"
        return [row[0] for row in self._rows(sql, (self.tenant,))]

    def close(self) -> None:
        """Let go of the connections; what was written stays."""
        self._listener.close()
        self._connections.close()


__all__ = ["PoolLimits", "PostgresStore"]
