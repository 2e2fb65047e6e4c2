"""A PostgreSQL database as one end of a copy.

A user above row level security sees every tenant's rows at once and writes them with COPY. One that is bound by it sees a
tenant at a time: the rows are read and written tenant by tenant, and who the tenants are is found out as the tables' owner.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pgvector import HalfVector
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg import sql
from psycopg.types import TypeInfo

from holdfast.errors import NotFound
from holdfast.stores.copying.side import Side
from holdfast.stores.copying.tables import COPIED, NUMBERS, TableLayout, layout_of
from holdfast.stores.postgres.connect import SCHEMA, PoolLimits, check_address, connect
from holdfast.stores.postgres.errors import NAME, redact_address, translated
from holdfast.stores.postgres.migrate import migrate
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import Connection, Row, fetch, fetch_value
from holdfast.stores.sql.migrations import COPYING, Migration, migrations
from holdfast.stores.sql.rows import marks
from holdfast.stores.vector_index.index import quantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POSTED = ("tenant", "partition", "term", "item", "window", "frequency", "length")
_LOCK_SECONDS = 10
_LOCK = 0x486F6C6443
"""Held by the one copy that may write into a database."""


class PostgresSide(Side):
    """Every tenant's rows in one database."""

    kind: ClassVar[str] = "postgresql"

    def __init__(self, url: str, *, new: bool = False) -> None:
        self._url = url
        self.place = redact_address(url)
        self.title = NAME
        check_address(url)
        self._types: dict[str, dict[str, str]] = {}
        self._tenants: set[str] | None = None
        with self.guard():
            self._reader = self._connect()
            if not new and not self._has_tables():
                self._reader.raw.close()
                raise NotFound("There is no store in the database of that address.")
            self._writer = self._connect()
            if not new or self._has_tables():
                self._know_vectors()

    def _connect(self) -> PostgresSession:
        """Open a connection that may take its time: a copy of millions of rows lasts longer than a server may allow others."""
        session = PostgresSession(connect(self._url, limits=PoolLimits()))
        for patience in ("statement_timeout", "idle_in_transaction_session_timeout"):
            session.execute(f"SET {patience} = 0")
        return session

    @property
    def reader(self) -> PostgresSession:
        """The connection that reads."""
        return self._reader

    def guard(self) -> contextlib.AbstractContextManager[None]:
        """Turn PostgreSQL's errors into ours."""
        return translated()

    def _has_tables(self) -> bool:
        return fetch_value(self._reader, f"SELECT to_regclass('{SCHEMA}.migrations')") is not None

    def _know_vectors(self) -> None:
        """Learn the type of vectors, and whether this user sees all rows."""
        for session in (self._reader, self._writer):
            info = TypeInfo.fetch(session.raw, "halfvec")
            if info is not None:
                register_halfvec_info(session.raw, info)
        self._bound = bool(fetch_value(self._reader, f"SELECT row_security_active('{SCHEMA}.memories')"))

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read everything as of one moment while this lasts: programs may go on writing."""
        with self.guard():
            migrate(self._writer.raw)
            self._know_vectors()
            self._reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._reader.execute("SELECT pg_current_snapshot()")  # the moment is that of the first question
        try:
            yield
        finally:
            with self.guard():
                self._reader.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self) -> Iterator[PostgresSession]:
        """Hold a transaction that is on disk when the block ends."""
        with self.guard(), self._writer.raw.transaction():
            yield self._writer

    def prepare(self) -> list[Migration]:
        """Make the tables if there are none; a copy under way is left as it is."""
        with self.guard():
            self._keep_others_out()
            sql = "SELECT count(*) FROM migrations WHERE number = ?"
            if not self._has_tables() or not fetch_value(self._reader, sql, (COPYING,)):
                migrate(self._writer.raw)
            self._know_vectors()
        return list(migrations("holdfast.stores.postgres"))

    def _keep_others_out(self) -> None:
        """Wait until the server has let go of a copy that was killed; one that is alive is not waited for."""
        self._writer.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
        self._writer.execute("SELECT pg_advisory_lock(?)", (_LOCK,))
        self._writer.execute("SET lock_timeout = 0")

    # --- reading ---

    def fetch(self, sql: str, values: Sequence[Any]) -> list[Row]:
        """Read rows as bytes: vectors are read several times as fast."""
        return self._reader.execute_binary(sql, values).fetchall()

    def passes(self) -> Iterator[None]:
        """Yield once, or for one tenant after the other where no more can be seen."""
        if not self._bound:
            yield None
            return
        if self._tenants is None:
            self._tenants = self._find_tenants()
        for tenant in sorted(self._tenants, key=lambda name: name.encode()):
            self._see(self._reader, tenant)
            yield None

    def _see(self, session: PostgresSession, tenant: str) -> None:
        session.execute("SELECT set_config('holdfast.tenant', ?, false)", (tenant,))

    def _find_tenants(self) -> set[str]:
        """Look past row level security for a moment, as the tables' owner may; nobody else sees the tables meanwhile."""
        found: set[str] = set()
        with contextlib.closing(connect(self._url, limits=PoolLimits())) as raw:
            session = PostgresSession(raw)
            session.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
            for table in COPIED:
                session.execute("BEGIN")
                session.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
                found.update(row[0] for row in fetch(session, _TENANTS.format(table=table)))
                session.execute("ROLLBACK")
        return found

    def layout(self, table: str) -> TableLayout:
        """Return a table's columns and key."""
        key = [
            row[0]
            for row in self._catalog(
                "SELECT attname FROM pg_index, unnest(indkey) WITH ORDINALITY AS part (number, place) JOIN pg_attribute "
                "ON attnum = part.number WHERE attrelid = indrelid AND indrelid = ?::regclass AND indisprimary ORDER BY part.place",
                table,
            )
        ]
        return layout_of(table, list(self._columns(table)), key)

    def _columns(self, table: str) -> dict[str, str]:
        """Return a table's columns with their types."""
        if table not in self._types:
            rows = self._catalog(
                "SELECT attname, typname FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
                "WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                table,
            )
            self._types[table] = dict(rows)
        return self._types[table]

    def _catalog(self, question: str, table: str) -> list[tuple[Any, ...]]:
        with self.guard():
            return fetch(self._reader, question, (f"{SCHEMA}.{table}",))

    def numbers(self) -> dict[str, int]:
        """Return the last number given of each kind."""
        with self.guard():
            found = {
                name: int(fetch_value(self._reader, f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}_numbers"))
                for name in NUMBERS
            }
            for _ in self.passes():
                for name, columns in NUMBERS.items():
                    for table, column in columns:
                        used = fetch_value(self._reader, f"SELECT coalesce(max({column}), 0) FROM {table}")
                        found[name] = max(found[name], used)
        return found

    def text_state(self) -> tuple[int, int]:
        """Return how many windows can be found by text, and how many should be: those that have terms."""
        with self.guard():
            indexed = windows = 0
            for _ in self.passes():
                indexed += fetch_value(
                    self._reader, "SELECT count(*) FROM (SELECT DISTINCT tenant, item, window FROM postings) AS found"
                )
                windows += fetch_value(self._reader, "SELECT count(*) FROM units WHERE terms <> ''")
        return indexed, windows

    # --- writing ---

    def insert(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add rows, within a transaction."""
        if not self._bound:
            self._copy_in(table, columns, rows)
            return
        tenant_at = list(columns).index("tenant")
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks(columns)})"
        for tenant, own in groupby(rows, key=lambda row: str(row[tenant_at])):
            self._see(self._writer, tenant)
            connection.executemany(statement, list(own))
            if self._tenants is not None:
                self._tenants.add(tenant)

    def _copy_in(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        types = self._columns(table)
        statement = sql.SQL("COPY {}.{} ({}) FROM STDIN (FORMAT binary)").format(
            sql.Identifier(SCHEMA), sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        with self._writer.raw.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([types[name] for name in columns])
            for row in rows:
                copy.write_row(row)

    def index_text(self, connection: Connection, layout: TableLayout, units: Sequence[Row]) -> None:
        """Make windows findable by their terms."""
        tenant, partition, item, window, terms = map(layout.columns.index, ("tenant", "partition", "item", "window", "terms"))
        posted = []
        for unit in units:
            words = unit[terms].split(" ") if unit[terms] else []
            for term, frequency in Counter(words).items():
                posted.append((unit[tenant], unit[partition], term, unit[item], unit[window], frequency, len(words)))
        posted.sort()  # neighbours in the index come together
        self.insert(connection, "postings", _POSTED, posted)

    def empty(self, connection: Connection, table: str) -> None:
        """Remove all rows of a table, and for windows also what finds them by text."""
        connection.execute(f"TRUNCATE {table}{', postings' if table == 'units' else ''}")

    def set_numbers(self, connection: Connection, numbers: Mapping[str, int]) -> None:
        """Go on counting after these."""
        for name, value in numbers.items():
            if value:
                connection.execute(
                    f"SELECT setval('{SCHEMA}.{name}_numbers', greatest(?, last_value)) FROM {name}_numbers", (value,)
                )

    def vectors(self, stored: Sequence[Row]) -> "list[NDArray[np.float32]]":
        """Return vectors as they are meant."""
        return [embedding.to_numpy().astype(np.float32) for (embedding,) in stored]

    def kept(self, vectors: "Sequence[NDArray[np.float32]]") -> list[Row]:
        """Return vectors in half precision."""
        return [(HalfVector(vector),) for vector in vectors]

    def codes(self, stored: Sequence[Row]) -> list[bytes]:
        """Return the codes a file would have for these vectors."""
        found: list[bytes] = []
        for _, same in groupby(self.vectors(stored), key=len):
            found += [code.tobytes() for code in quantize(np.stack(list(same)))[0]]
        return found

    def finish(self) -> None:
        """Let the planner know what is here."""
        with self.guard():
            for table in (*COPIED, "postings"):
                self._writer.execute(f"ANALYZE {SCHEMA}.{table}")

    def close(self) -> None:
        """Let go of the connections."""
        self._reader.raw.close()
        self._writer.raw.close()


_TENANTS = """
WITH RECURSIVE found AS (
    SELECT min(tenant) AS tenant FROM {table}
    UNION ALL
    SELECT (SELECT min(tenant) FROM {table} WHERE {table}.tenant > found.tenant) FROM found WHERE found.tenant IS NOT NULL
)
SELECT tenant FROM found WHERE tenant IS NOT NULL
"""
"""The tenants of a table, without reading all of it."""
