"""A PostgreSQL database as the source or the target of a copy.

If the database user bypasses row level security, all tenants are read at once and written with COPY. Other database users can
see only one tenant at a time, so rows are read and written tenant by tenant. Only the owner of the tables can list the tenants.
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

from holdfast.errors import InvalidInput, NotFound
from holdfast.stores.copying.side import Side
from holdfast.stores.copying.tables import COPIED, NUMBERS, TableLayout, layout_of
from holdfast.stores.postgres.connect import APPLICATION, SCHEMA, PoolLimits, check_address, connect, is_pooled
from holdfast.stores.postgres.errors import NAME, redact_address, translated
from holdfast.stores.postgres.migrate import migrate
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import Connection, Row, fetch, fetch_value
from holdfast.stores.sql.migrations import COPYING, Migration, migrations
from holdfast.stores.sql.rows import marks
from holdfast.stores.vector_index.index import quantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POSTING_COLUMNS = ("tenant", "partition", "term", "item", "window", "frequency", "length")
_LOCK_SECONDS = 10
"""Maximum time to wait for a lock, in seconds."""
_LOCK = 0x486F6C6443
"""Key of the advisory lock that prevents two copies into one database at the same time."""


class PostgresSide(Side):
    """Reads and writes the rows of all tenants in a PostgreSQL database."""

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
                raise NotFound("There is no store in the database at that address. Nothing was copied; check the address.")
            self._writer = self._connect()
            if not new or self._has_tables():
                self._inspect()

    def _connect(self) -> PostgresSession:
        """Open a connection without timeouts, because copying millions of rows takes longer than the timeouts of most servers."""
        session = PostgresSession(connect(self._url, limits=PoolLimits(), application=f"{APPLICATION}-copy"))
        if is_pooled(session.raw):
            session.raw.close()
            raise InvalidInput("A copy needs the address of the server itself, not of a pooler. Nothing was copied.")
        for timeout in ("statement_timeout", "idle_in_transaction_session_timeout"):
            session.execute(f"SET {timeout} = 0")
        return session

    @property
    def reader(self) -> PostgresSession:
        """The connection for reads."""
        return self._reader

    def guard(self) -> contextlib.AbstractContextManager[None]:
        """Context manager: raise PostgreSQL's errors as Holdfast errors."""
        return translated()

    def _has_tables(self) -> bool:
        return fetch_value(self._reader, f"SELECT to_regclass('{SCHEMA}.migrations')") is not None

    def _inspect(self) -> None:
        """Register the pgvector type, and find out whether row level security applies to the database user."""
        for session in (self._reader, self._writer):
            info = TypeInfo.fetch(session.raw, "halfvec")
            if info is not None:
                register_halfvec_info(session.raw, info)
        self._bound = bool(fetch_value(self._reader, f"SELECT row_security_active('{SCHEMA}.memories')"))

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Context manager: run all reads inside it in one snapshot. Other programs can write meanwhile."""
        with self.guard():
            migrate(self._writer.raw)
            self._inspect()
            self._reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._reader.execute("SELECT pg_current_snapshot()")  # the snapshot is taken by the first query
        try:
            yield
        finally:
            with self.guard():
                self._reader.execute("ROLLBACK")

    @contextlib.contextmanager
    def writing(self) -> Iterator[PostgresSession]:
        """Context manager for a transaction. When its ``with`` block ends, the transaction is committed and on disk."""
        with self.guard(), self._writer.raw.transaction():
            yield self._writer

    def prepare(self) -> list[Migration]:
        """Create the tables, or migrate them to the schema of this version. Return all migrations that this version knows.

        The tables of an unfinished copy are not migrated. :meth:`check_schema` checks their schema instead.
        """
        with self.guard():
            self._lock_out_other_copies()
            sql = "SELECT count(*) FROM migrations WHERE number = ?"
            if not self._has_tables() or not fetch_value(self._reader, sql, (COPYING,)):
                migrate(self._writer.raw)
            self._inspect()
        return list(migrations("holdfast.stores.postgres"))

    def _lock_out_other_copies(self) -> None:
        """Take the lock that prevents other copies into this database.

        If a copy was killed, the server may still hold its lock for a moment. So wait a few seconds before failing.
        """
        self._writer.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
        self._writer.execute("SELECT pg_advisory_lock(?)", (_LOCK,))
        self._writer.execute("SET lock_timeout = 0")

    # --- reads ---

    def fetch(self, sql: str, values: Sequence[Any]) -> list[Row]:
        """Run a query and return its rows. The rows are sent in binary format, which is several times as fast for vectors."""
        return self._reader.execute_binary(sql, values).fetchall()

    def passes(self) -> Iterator[None]:
        """Yield once for each pass that is needed to read all rows of a table.

        If the database user sees all rows, one pass is enough. Otherwise, each tenant needs its own pass. The tenant is
        selected before the yield, so the caller then sees only the rows of this tenant.
        """
        if not self._bound:
            yield None
            return
        if self._tenants is None:
            self._tenants = self._find_tenants()
        for tenant in sorted(self._tenants, key=lambda name: name.encode()):
            self._select_tenant(self._reader, tenant)
            yield None

    def _select_tenant(self, session: PostgresSession, tenant: str) -> None:
        session.execute("SELECT set_config('holdfast.tenant', ?, false)", (tenant,))

    def _find_tenants(self) -> set[str]:
        """List the tenants. Only the owner of the tables can do this.

        For each table in turn, row level security is switched off in a transaction that is rolled back after the query.
        Meanwhile, the table is locked exclusively.
        """
        tenants: set[str] = set()
        with contextlib.closing(connect(self._url, limits=PoolLimits())) as raw:
            session = PostgresSession(raw)
            session.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
            for table in COPIED:
                session.execute("BEGIN")
                session.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
                tenants.update(row[0] for row in fetch(session, _TENANTS.format(table=table)))
                session.execute("ROLLBACK")
        return tenants

    def layout(self, table: str) -> TableLayout:
        """Return the columns and the primary key of a table."""
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
        """Return the columns of a table with their types."""
        if table not in self._types:
            rows = self._catalog(
                "SELECT attname, typname FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
                "WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                table,
            )
            self._types[table] = dict(rows)
        return self._types[table]

    def _catalog(self, query: str, table: str) -> list[tuple[Any, ...]]:
        with self.guard():
            return fetch(self._reader, query, (f"{SCHEMA}.{table}",))

    def numbers(self) -> dict[str, int]:
        """Return the last number that each sequence has issued, by the name of the sequence."""
        with self.guard():
            last = {
                name: int(fetch_value(self._reader, f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}_numbers"))
                for name in NUMBERS
            }
            for _ in self.passes():
                for name, columns in NUMBERS.items():
                    for table, column in columns:
                        used = fetch_value(self._reader, f"SELECT coalesce(max({column}), 0) FROM {table}")
                        last[name] = max(last[name], used)
        return last

    def text_state(self) -> tuple[int, int]:
        """Return two counts: the chunks in the full-text index, and the chunks that should be in it because they have terms."""
        with self.guard():
            indexed = expected = 0
            for _ in self.passes():
                indexed += fetch_value(
                    self._reader, "SELECT count(*) FROM (SELECT DISTINCT tenant, item, window FROM postings) AS found"
                )
                expected += fetch_value(self._reader, "SELECT count(*) FROM units WHERE terms <> ''")
        return indexed, expected

    # --- writes ---

    def insert(self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert rows into a table. ``connection`` is the connection that :meth:`writing` yields."""
        if not self._bound:
            self._copy_in(table, columns, rows)
            return
        tenant_at = list(columns).index("tenant")
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks(columns)})"
        for tenant, tenant_rows in groupby(rows, key=lambda row: str(row[tenant_at])):
            self._select_tenant(self._writer, tenant)
            connection.executemany(statement, list(tenant_rows))
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
        """Add chunks to the full-text index, using their stored terms.

        ``units`` are rows of the chunk table, and ``layout`` is the layout of this table.
        """
        tenant, partition, item, window, terms = map(layout.columns.index, ("tenant", "partition", "item", "window", "terms"))
        postings = []
        for unit in units:
            chunk_terms = unit[terms].split(" ") if unit[terms] else []
            for term, frequency in Counter(chunk_terms).items():
                postings.append((unit[tenant], unit[partition], term, unit[item], unit[window], frequency, len(chunk_terms)))
        postings.sort()  # in index order, so that inserts touch neighboring pages
        self.insert(connection, "postings", _POSTING_COLUMNS, postings)

    def empty(self, connection: Connection, table: str) -> None:
        """Delete all rows of a table. For the table of chunks, also empty the full-text index."""
        connection.execute(f"TRUNCATE {table}{', postings' if table == 'units' else ''}")

    def set_numbers(self, connection: Connection, numbers: Mapping[str, int]) -> None:
        """Set each sequence so that it continues after the given number."""
        for name, value in numbers.items():
            if value:
                connection.execute(
                    f"SELECT setval('{SCHEMA}.{name}_numbers', greatest(?, last_value)) FROM {name}_numbers", (value,)
                )

    def decode_vectors(self, stored: Sequence[Row]) -> "list[NDArray[np.float32]]":
        """Convert stored vectors to float32 arrays."""
        return [embedding.to_numpy().astype(np.float32) for (embedding,) in stored]

    def encode_vectors(self, vectors: "Sequence[NDArray[np.float32]]") -> list[Row]:
        """Convert vectors to half precision, the format of PostgreSQL stores."""
        return [(HalfVector(vector),) for vector in vectors]

    def vector_codes(self, stored: Sequence[Row]) -> list[bytes]:
        """Return the int8 codes (quantized form) that a SQLite store would contain for these vectors."""
        codes: list[bytes] = []
        for _, same in groupby(self.decode_vectors(stored), key=len):
            codes += [code.tobytes() for code in quantize(np.stack(list(same)))[0]]
        return codes

    def finish(self) -> None:
        """Update the planner's statistics for the new rows."""
        with self.guard():
            for table in (*COPIED, "postings"):
                self._writer.execute(f"ANALYZE {SCHEMA}.{table}")

    def close(self) -> None:
        """Close the connections."""
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
"""Query for the distinct tenants of a table. It uses index lookups instead of a full scan."""
