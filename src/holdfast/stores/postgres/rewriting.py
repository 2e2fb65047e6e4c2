"""Rewrite a table without its deleted rows, while others read and write it.

``VACUUM FULL`` locks a table until it is rewritten, so it is used for small tables only. A large table is copied to a new table,
which then takes its place:

1. A trigger records the keys of the rows that change from now on.
2. The rows are copied in batches, in the order of the primary key.
3. The recorded changes are applied to the copy, and its indexes are built. This is repeated until few changes are left.
4. In one transaction, the table is locked, the last changes are applied, and the copy replaces the table. This takes milliseconds.

If the process is killed, the next scrub removes the unfinished copy.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import psycopg
from psycopg import errors

from holdfast.errors import StoreError
from holdfast.stores.postgres.connect import APPLICATION, SCHEMA
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql.connection import Row, fetch, fetch_value

_BATCH_ROWS = 5000
"""Number of rows that one statement copies."""
_FEW_CHANGES = 500
"""Maximum number of recorded changes that may be left when the table is locked. They are applied under the lock."""
_MAX_ROUNDS = 20
"""Maximum number of times that recorded changes are applied to the copy before the copy replaces the table."""
_LOCK_MILLISECONDS = 300
"""Maximum time to wait for the table's lock, in milliseconds. During this time, new readers of the table wait, too."""
_SWAP_SECONDS = 10.0
"""Maximum time to keep trying to replace the table with its copy, in seconds."""
_SUFFIX = "_rewritten"
_LOG = "_rewriting_log"
_TRIGGER = "rewriting"
_POLICY = "rewriting_reads"


def full_vacuum(session: PostgresSession, table: str) -> None:
    """Rewrite a small table with ``VACUUM FULL``, which locks the table meanwhile."""
    session.execute(f"VACUUM FULL {SCHEMA}.{table}")


def obstacle(session: PostgresSession, table: str) -> str | None:
    """Return why a table cannot be replaced by a copy, or None if it can be replaced.

    A table cannot be replaced if an administrator attached an object to it, such as a trigger. The object would be lost.
    """
    attached = {
        "a publication": "SELECT 1 FROM pg_publication_rel WHERE prrelid = ?::regclass",
        "a foreign key": "SELECT 1 FROM pg_constraint WHERE contype = 'f' AND ?::regclass IN (conrelid, confrelid)",
        "a trigger": f"SELECT 1 FROM pg_trigger WHERE tgrelid = ?::regclass AND NOT tgisinternal AND tgname <> '{_TRIGGER}'",
        "a view": "SELECT 1 FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid WHERE refobjid = ?::regclass "
        "AND classid = 'pg_rewrite'::regclass",
        "extended statistics": "SELECT 1 FROM pg_statistic_ext WHERE stxrelid = ?::regclass",
        "inheritance": "SELECT 1 FROM pg_inherits WHERE ?::regclass IN (inhrelid, inhparent)",
    }
    name = f"{SCHEMA}.{table}"
    return next((what for what, sql in attached.items() if fetch_value(session, f"SELECT EXISTS ({sql})", (name,))), None)


def remove_unfinished(session: PostgresSession) -> None:
    """Remove the copies, triggers and policies that a killed scrub has left."""
    tables = [row[0] for row in fetch(session, f"SELECT tablename FROM pg_tables WHERE schemaname = '{SCHEMA}'")]
    for table in tables:
        if f"{table}{_SUFFIX}" in tables or f"{table}{_LOG}" in tables:
            TableCopy(session, table).abandon()


@dataclass(frozen=True)
class _Index:
    """An index of the table that is rewritten."""

    name: str
    definition: str
    is_primary: bool
    comment: str | None


class TableCopy:
    """Copies a table without its deleted rows, and then replaces the table with the copy."""

    def __init__(self, session: PostgresSession, table: str) -> None:
        self._session = session
        self._table = table
        self._name = f"{SCHEMA}.{table}"
        self._copy = f"{SCHEMA}.{table}{_SUFFIX}"
        self._log = f"{SCHEMA}.{table}{_LOG}"

    def replace(self) -> None:
        """Copy the table and replace it with the copy.

        If other connections use the table all the time, raise ``LockNotAvailable`` and leave the table unchanged.
        """
        self._prepare()
        try:
            self._build()
            self._swap()
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Remove the unfinished copy, and stop recording changes of the table."""
        with contextlib.suppress(psycopg.OperationalError), self._session.raw.transaction():
            self._session.execute(f"DROP TRIGGER IF EXISTS {_TRIGGER} ON {self._name}")
            self._session.execute(f"DROP POLICY IF EXISTS {_POLICY} ON {self._name}")
            self._session.execute(f"DROP FUNCTION IF EXISTS {self._log}()")
            self._session.execute(f"DROP TABLE IF EXISTS {self._log}, {self._copy}")

    # --- preparation ------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Create the empty copy, and record the keys of changed rows from now on."""
        key, names = self._key, self._columns
        old, new = (", ".join(f"{row}.{column}" for column in key) for row in ("OLD", "NEW"))
        listed = ", ".join(key)
        with self._session.raw.transaction():
            self._session.execute(f"SET LOCAL lock_timeout = '{_LOCK_MILLISECONDS * 7}ms'")
            self._session.execute(f"CREATE TABLE {self._log} AS SELECT {listed} FROM {self._name} WITH NO DATA")
            self._session.execute(f"CREATE TABLE {self._copy} (LIKE {self._name} INCLUDING ALL EXCLUDING INDEXES)")
            # As the owner: the role of ordinary connections has no rights on the log.
            self._session.execute(
                f"CREATE FUNCTION {self._log}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$ BEGIN "
                f"IF TG_OP <> 'INSERT' THEN INSERT INTO {self._log} ({listed}) VALUES ({old}); END IF; "
                f"IF TG_OP <> 'DELETE' THEN INSERT INTO {self._log} ({listed}) VALUES ({new}); END IF; RETURN NULL; END $$"
            )
            self._session.execute(
                f"CREATE TRIGGER {_TRIGGER} AFTER INSERT OR UPDATE OR DELETE ON {self._name} FOR EACH ROW EXECUTE FUNCTION {self._log}()"
            )
            if self._is_filtered:
                # Row level security hides all rows from the owner. This setting shows them while the table is copied.
                self._session.execute(
                    f"CREATE POLICY {_POLICY} ON {self._name} FOR SELECT USING (current_setting('holdfast.rewriting', true) = 'on')"
                )
            for column, target in names.items():
                if target is not None and target >= 0:
                    self._session.execute(f"ALTER TABLE {self._copy} ALTER COLUMN {column} SET STATISTICS {target:d}")
            options = fetch_value(
                self._session, "SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = ?::regclass", (self._name,)
            )
            if options:
                self._session.execute(f"ALTER TABLE {self._copy} SET ({options})")

    @cached_property
    def _columns(self) -> dict[str, int | None]:
        """The columns of the table. Each quoted name is mapped to the column's statistics target."""
        sql = (
            "SELECT quote_ident(attname), attstattarget FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0 "
            "AND NOT attisdropped ORDER BY attnum"
        )
        return {row[0]: row[1] for row in fetch(self._session, sql, (self._name,))}

    @cached_property
    def _key(self) -> list[str]:
        """The quoted columns of the primary key."""
        sql = (
            "SELECT quote_ident(attname) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey) "
            "WHERE indrelid = ?::regclass AND indisprimary ORDER BY array_position(indkey::int2[], attnum)"
        )
        return [row[0] for row in fetch(self._session, sql, (self._name,))]

    @cached_property
    def _indexes(self) -> list[_Index]:
        sql = (
            "SELECT relname, pg_get_indexdef(pg_class.oid), indisprimary, obj_description(pg_class.oid, 'pg_class') FROM pg_index "
            "JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = ?::regclass AND indisvalid ORDER BY NOT indisprimary, relname"
        )
        return [_Index(*row) for row in fetch(self._session, sql, (self._name,))]

    @cached_property
    def _is_filtered(self) -> bool:
        """True if row level security applies to this database user."""
        return bool(fetch_value(self._session, f"SELECT row_security_active('{self._name}')"))

    # --- copying ----------------------------------------------------------------------------------------

    def _build(self) -> None:
        with self._all_rows():
            self._build_index(self._indexes[0])
            self._copy_rows()
            self._apply_changes(check=True)
        for index in self._indexes[1:]:
            self._build_index(index)
        self._session.execute(f"VACUUM (ANALYZE) {self._copy}")
        for _ in range(_MAX_ROUNDS):
            with self._all_rows():
                if self._apply_changes() <= _FEW_CHANGES:
                    return

    @contextlib.contextmanager
    def _all_rows(self) -> Iterator[None]:
        """Context manager: make the rows of all tenants visible to this connection.

        If row level security applies to the database user, a setting makes the policies of the tables admit all rows. Otherwise
        ``row_security`` is set to off, so that PostgreSQL raises an error if it would hide a row.
        """
        if self._is_filtered:
            self._session.execute("SET holdfast.rewriting = 'on'")
            self._session.execute("SET holdfast.tenant = ''")  # the policies of the tables need a value
        else:
            self._session.execute("SET row_security = off")
        try:
            yield
        finally:
            if not self._session.raw.closed:
                self._session.execute("RESET holdfast.rewriting")
                self._session.execute("RESET row_security")

    def _copy_rows(self) -> None:
        """Copy all rows in batches. Each batch is one transaction, so that the server can vacuum other tables meanwhile."""
        key, columns = ", ".join(self._key), ", ".join(self._columns)
        last: Row | None = None
        while True:
            marks = ", ".join("?" for _ in self._key)
            after = f"WHERE ({key}) > ({marks})" if last is not None else ""
            rows = fetch(
                self._session,
                f"WITH batch AS (INSERT INTO {self._copy} ({columns}) SELECT {columns} FROM {self._name} {after} "
                f"ORDER BY {key} LIMIT {_BATCH_ROWS} RETURNING {key}), "
                f"numbered AS (SELECT {key}, count(*) OVER () AS copied_rows FROM batch) SELECT {key}, copied_rows FROM numbered "
                f"ORDER BY {', '.join(f'{column} DESC' for column in self._key)} LIMIT 1",
                last or (),
            )
            if not rows or rows[0][-1] < _BATCH_ROWS:
                return
            last = tuple(rows[0][:-1])

    def _apply_changes(self, *, check: bool = False) -> int:
        """Apply the recorded changes to the copy in one transaction, and return their number.

        With ``check``, count the rows of both tables, and raise ``StoreError`` if the numbers differ.
        """
        with self._session.raw.transaction():
            self._session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            applied = self._apply()
            if check:
                counts = fetch(self._session, f"SELECT (SELECT count(*) FROM {self._name}), (SELECT count(*) FROM {self._copy})")
                if counts[0][0] != counts[0][1]:
                    raise StoreError(
                        f"The copy of {self._name} has {counts[0][1]} rows instead of {counts[0][0]}. Nothing was changed."
                    )
        return applied

    def _apply(self) -> int:
        """Apply the recorded changes: remove each changed row from the copy, and copy it again if it still exists."""
        key, columns, run = ", ".join(self._key), ", ".join(self._columns), self._session.execute
        run(f"CREATE TEMPORARY TABLE changed ON COMMIT DROP AS SELECT DISTINCT {key} FROM {self._log}")
        run(f"DELETE FROM {self._log}")
        number: int = fetch_value(self._session, "SELECT count(*) FROM pg_temp.changed")
        if number:
            # Look up each changed row in the primary key: without this, the planner may read the whole table under its lock.
            for method in ("hashjoin", "mergejoin"):
                run(f"SET LOCAL enable_{method} = off")
            same = " AND ".join(f"changed.{column} = stored.{column}" for column in self._key)
            stored = ", ".join(f"stored.{column}" for column in self._columns)
            run(f"DELETE FROM {self._copy} AS stored USING pg_temp.changed WHERE {same}")
            run(
                f"INSERT INTO {self._copy} ({columns}) SELECT {stored} FROM pg_temp.changed JOIN {self._name} AS stored ON {same}"
            )
        run("DROP TABLE pg_temp.changed")
        return number

    def _build_index(self, index: _Index) -> None:
        name, definition = f"{index.name}{_SUFFIX}", index.definition
        made = re.sub(
            r"^CREATE (UNIQUE )?INDEX \S+ ON (?:ONLY )?\S+ ",
            lambda found: f"CREATE {found[1] or ''}INDEX {name} ON {self._copy} ",
            definition,
        )
        self._session.execute(made)
        if index.is_primary:
            self._session.execute(f"ALTER TABLE {self._copy} ADD CONSTRAINT {name} PRIMARY KEY USING INDEX {name}")

    # --- replacing --------------------------------------------------------------------------------------

    def _swap(self, seconds: float = _SWAP_SECONDS) -> None:
        """Replace the table with its copy, under an exclusive lock on the table.

        While a request for this lock waits, all later readers of the table wait behind it. So each request has a short
        timeout. If the lock is not free in time, the request is repeated. After ``seconds`` without success, the error of the
        last request is raised.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                with self._all_rows(), self._session.raw.transaction():
                    self._session.execute(f"SET LOCAL lock_timeout = '{_LOCK_MILLISECONDS}ms'")
                    self._session.execute(f"LOCK TABLE {self._name} IN ACCESS EXCLUSIVE MODE")
                    self._check_snapshots()
                    self._apply()
                    self._take_place()
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_MILLISECONDS / 1000)
                with self._all_rows():
                    self._apply_changes()
            else:
                return

    def _check_snapshots(self) -> None:
        """Raise ``LockNotAvailable`` if another program holds a snapshot, for example a dump that has just begun.

        With its older snapshot, that program would not see the rows of the copy. Holdfast's own connections see them, because
        they take a new snapshot for each statement.
        """
        if fetch_value(
            self._session,
            "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() "
            f"AND backend_type = 'client backend' AND backend_xmin IS NOT NULL AND application_name <> '{APPLICATION}')",
        ):
            raise errors.LockNotAvailable("another program reads the database")

    def _take_place(self) -> None:
        """Give the copy the names, access rights and policies of the original table, and drop the original table."""
        run = self._session.execute
        for statement in [*self._rights(), *self._policies()]:
            run(statement)
        run(f"DROP TABLE {self._name}")
        run(f"DROP FUNCTION {self._log}()")
        run(f"DROP TABLE {self._log}")
        run(f"ALTER TABLE {self._copy} RENAME TO {self._table}")
        for index in self._indexes:
            run(f"ALTER INDEX {SCHEMA}.{index.name}{_SUFFIX} RENAME TO {index.name}")
            if index.comment:
                quoted = fetch_value(self._session, "SELECT quote_literal(?::text)", (index.comment,))
                run(f"COMMENT ON INDEX {SCHEMA}.{index.name} IS {quoted}")

    def _rights(self) -> list[str]:
        granted = fetch(
            self._session,
            "SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, privilege_type, is_grantable "
            "FROM pg_class, aclexplode(relacl) WHERE oid = ?::regclass",
            (self._name,),
        )
        owner = fetch_value(
            self._session, "SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = ?::regclass", (self._name,)
        )
        return [
            f"ALTER TABLE {self._copy} OWNER TO {owner}",
            *(
                f"GRANT {privilege} ON {self._copy} TO {who}{' WITH GRANT OPTION' if grantable else ''}"
                for who, privilege, grantable in granted
            ),
        ]

    def _policies(self) -> list[str]:
        enabled, forced = fetch(
            self._session, "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = ?::regclass", (self._name,)
        )[0]
        found = fetch(
            self._session,
            "SELECT quote_ident(policyname), permissive, array_to_string(ARRAY(SELECT quote_ident(role) FROM unnest(roles) AS role), ', '), "
            f"cmd, qual, with_check FROM pg_policies WHERE schemaname = '{SCHEMA}' AND tablename = ? AND policyname <> '{_POLICY}'",
            (self._table,),
        )
        policies = [
            f"CREATE POLICY {name} ON {self._copy} AS {permissive} FOR {command} TO {roles}"
            + (f" USING ({using})" if using else "")
            + (f" WITH CHECK ({check})" if check else "")
            for name, permissive, roles, command, using, check in found
        ]
        return [
            *policies,
            *([f"ALTER TABLE {self._copy} ENABLE ROW LEVEL SECURITY"] if enabled else []),
            *([f"ALTER TABLE {self._copy} FORCE ROW LEVEL SECURITY"] if forced else []),
        ]
