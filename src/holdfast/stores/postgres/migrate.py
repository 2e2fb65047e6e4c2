"""Migrate a database to this version's schema.

All pending migrations are applied and recorded in one transaction under one lock, so several processes can open the same
database at once.
"""

import psycopg
from psycopg import errors

from holdfast.errors import StoreError
from holdfast.stores.postgres.connect import ROLE, SCHEMA
from holdfast.stores.sql.connection import Row
from holdfast.stores.sql.migrations import Migration, migrations, pending

_LOCK = 0x486F6C6466617374
"""Key of the advisory lock that prevents two migrations of one database at the same time."""
_RECORDS = """
CREATE TABLE IF NOT EXISTS migrations (
    number integer NOT NULL PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL
)
"""
_MAKE_ROLE = f"""
DO $$
BEGIN
    CREATE ROLE {ROLE} NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$
"""


def migrate(raw: "psycopg.Connection[Row]") -> str | None:
    """Apply the pending migrations. Return the role that connections must switch to, or None if they keep their own role.

    A database user who bypasses row level security would see the rows of all tenants. Connections of such a user must switch to
    Holdfast's restricted role, if the user is a member of it.
    """
    known = list(migrations("holdfast.stores.postgres"))
    if _pending(raw, known):
        with raw.transaction():
            raw.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
            raw.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            raw.execute(f"SELECT set_config('search_path', '{SCHEMA}, public', true)")
            _ensure_pgvector(raw)
            raw.execute(_RECORDS)
            for migration in _pending(raw, known):  # another process may have applied some
                raw.execute(migration.sql)
                raw.execute(
                    "INSERT INTO migrations (number, name, sha256) VALUES ($1, $2, $3)",
                    (migration.number, migration.name, migration.sha256),
                )
            if _bypasses_row_security(raw):
                _grant(raw)
    return ROLE if _bypasses_row_security(raw) and _is_member(raw) else None


def _pending(raw: "psycopg.Connection[Row]", known: list[Migration]) -> list[Migration]:
    if _value(raw, f"SELECT to_regclass('{SCHEMA}.migrations')") is None:
        return known
    recorded: dict[int, str] = dict(raw.execute(f"SELECT number, sha256 FROM {SCHEMA}.migrations").fetchall())
    return pending(recorded, known, what="database")


def _ensure_pgvector(raw: "psycopg.Connection[Row]") -> None:
    try:
        with raw.transaction():
            raw.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreError(
            "This server does not have pgvector. Nothing was changed. Install pgvector 0.8.2 or newer and open the store again."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            "This user may not add pgvector to the database. Nothing was changed. Have an administrator run: CREATE EXTENSION vector;"
        ) from error


def _bypasses_row_security(raw: "psycopg.Connection[Row]") -> bool:
    return bool(_value(raw, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"))


def _is_member(raw: "psycopg.Connection[Row]") -> bool:
    sql = f"SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}' AND pg_has_role(oid, 'MEMBER'))"
    return bool(_value(raw, sql))


def _grant(raw: "psycopg.Connection[Row]") -> None:
    """Create the role that row level security applies to, and grant it access to the tables.

    Do nothing if the database user has no right to create roles. In that case, ``check`` reports the problem.
    """
    try:
        with raw.transaction():
            raw.execute(_MAKE_ROLE)
            raw.execute(f"GRANT {ROLE} TO CURRENT_USER")
    except errors.InsufficientPrivilege:
        return
    raw.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE}")
    raw.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA} TO {ROLE}")
    raw.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {ROLE}")


def _value(raw: "psycopg.Connection[Row]", sql: str) -> object:
    row = raw.execute(sql).fetchone()
    return None if row is None else row[0]
