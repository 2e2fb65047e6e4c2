"""Bringing a database to this version's schema, whoever else is doing so at the same moment.

All that is missing is applied in one transaction under one lock, together with the record that it ran.
"""

import psycopg
from psycopg import errors

from holdfast.errors import StoreError
from holdfast.stores.postgres.connect import ROLE, SCHEMA
from holdfast.stores.sql.connection import Row
from holdfast.stores.sql.migrations import Migration, migrations, pending

_LOCK = 0x486F6C6466617374
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
    """Apply what is missing; returns the role to take on, or None where the user is bound by row level security anyway."""
    known = list(migrations("holdfast.stores.postgres"))
    if _pending(raw, known):
        with raw.transaction():
            raw.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
            raw.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            _have_vectors(raw)
            raw.execute(_RECORDS)
            for migration in _pending(raw, known):  # another process may have been faster
                raw.execute(migration.sql)
                raw.execute(
                    "INSERT INTO migrations (number, name, sha256) VALUES ($1, $2, $3)",
                    (migration.number, migration.name, migration.sha256),
                )
            if _is_above_policies(raw):
                _grant(raw)
    return ROLE if _is_above_policies(raw) and _may_become(raw) else None


def _pending(raw: "psycopg.Connection[Row]", known: list[Migration]) -> list[Migration]:
    if _value(raw, f"SELECT to_regclass('{SCHEMA}.migrations')") is None:
        return known
    recorded: dict[int, str] = dict(raw.execute("SELECT number, sha256 FROM migrations").fetchall())
    return pending(recorded, known, what="database")


def _have_vectors(raw: "psycopg.Connection[Row]") -> None:
    try:
        with raw.transaction():
            raw.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreError("This server does not have pgvector. Install it (0.8.2 or newer) and open the store again.") from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            "This user may not add pgvector to the database. Have an administrator run: CREATE EXTENSION vector;"
        ) from error


def _is_above_policies(raw: "psycopg.Connection[Row]") -> bool:
    return bool(_value(raw, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"))


def _may_become(raw: "psycopg.Connection[Row]") -> bool:
    sql = f"SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}' AND pg_has_role(oid, 'MEMBER'))"
    return bool(_value(raw, sql))


def _grant(raw: "psycopg.Connection[Row]") -> None:
    """Make the role that sees one tenant's rows, and let it use the tables; where that is not allowed, ``check`` says so."""
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
