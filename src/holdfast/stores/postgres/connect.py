"""Open connections to PostgreSQL and set them up: timeouts, row level security, and the pgvector type.

A pooler such as PgBouncer in transaction mode can run each transaction on a different server connection. A setting of
one client would then affect other clients. Behind a pooler, Holdfast therefore sets everything at the beginning of each
transaction, for this transaction only, and uses no prepared statements.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg import sql
from psycopg.adapt import AdaptersMap
from psycopg.conninfo import conninfo_to_dict
from psycopg.types import TypeInfo

from holdfast.errors import InvalidInput
from holdfast.stores.sql.connection import Row

ROLE = "holdfast_rows"
"""Database role that a connection switches to if its database user would bypass row level security.

The role can use only Holdfast's tables.
"""
SCHEMA = "holdfast"
"""Schema that contains the tables. A separate schema avoids name clashes with other software in the database."""

APPLICATION = "holdfast"
"""Application name of Holdfast's connections. The server lists it in ``pg_stat_activity``.

``rewriting.py`` ignores connections with this name when it looks for old snapshots, because Holdfast's connections never
hold a snapshot for longer than a statement.
"""

_SEARCH_PATH = f"SELECT set_config('search_path', '{SCHEMA}, ' || current_setting('search_path'), false)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """Maximum number of connections of one process, and timeouts in seconds."""

    connections: int = 16
    statement_timeout: float = 120.0
    lock_timeout: float = 60.0
    connect_timeout: float = 30.0


class _Adapters:
    """A set of psycopg type adapters that is independent of a connection, so that all pooled connections can share it."""

    connection = None

    def __init__(self) -> None:
        self.adapters = AdaptersMap(psycopg.adapters)


def check_address(url: str) -> None:
    """Raise ``InvalidInput`` if an address cannot be parsed.

    The error message does not contain the address, because it may include a password.
    """
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput("The database address cannot be parsed. Write it as postgresql://USER@HOST:PORT/DATABASE.") from None


def connect(url: str, *, limits: PoolLimits, application: str = APPLICATION) -> "psycopg.Connection[Row]":
    """Open a connection as the user named in the address. The connection has all privileges of that user.

    Behind a pooler, the search path is not set, so statements must name the schema.
    """
    check_address(url)
    raw = psycopg.Connection.connect(
        url,
        autocommit=True,
        connect_timeout=int(limits.connect_timeout),
        cursor_factory=psycopg.RawCursor,
        application_name=application,
    )
    if is_pooled(raw):
        raw.prepare_threshold = None
    else:
        raw.execute(_SEARCH_PATH)
    return raw


def is_pooled(raw: "psycopg.Connection[Row]") -> bool:
    """Return True if a pooler such as PgBouncer stands between this process and the server.

    When a client connects, it is told the number of its server process. A pooler reports a number of its own, which differs
    from the number of the process that runs the statements.
    """
    row = raw.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row is not None and row[0] != raw.info.backend_pid


def connection_arguments(raw: "psycopg.Connection[Row]", limits: PoolLimits, *, is_pooled: bool = False) -> dict[str, Any]:
    """Return the keyword arguments with which the pool opens its connections.

    The pgvector type is looked up once, on the open connection ``raw``, instead of once per pooled connection.
    """
    context = _Adapters()
    info = TypeInfo.fetch(raw, "halfvec")
    if info is not None:
        register_halfvec_info(context, info)  # type: ignore[arg-type]  # it only uses the adapters
    return {
        "autocommit": True,
        "connect_timeout": int(limits.connect_timeout),
        "cursor_factory": psycopg.RawCursor,
        "application_name": APPLICATION,
        "context": context,
        **({"prepare_threshold": None} if is_pooled else {}),
    }


def _values(limits: PoolLimits) -> Mapping[str, str]:
    """Return the settings, by name, that every connection gets. Search path, tenant and role are set elsewhere."""
    return {
        "statement_timeout": str(int(limits.statement_timeout * 1000)),
        "lock_timeout": str(int(limits.lock_timeout * 1000)),
        "jit": "off",  # compiling takes longer than these queries run
        "hnsw.ef_search": "100",
        "hnsw.iterative_scan": "strict_order",
    }


def connection_setup(limits: PoolLimits, *, role: str | None) -> "Callable[[psycopg.Connection[Row]], None]":
    """Return a function that prepares a new connection. It sets timeouts, planner settings and, if given, the restricted role.

    The function selects no tenant. Until a tenant is selected, a connection with the restricted role cannot read any rows.
    """
    statements: list[sql.Composable] = [
        sql.SQL(_SEARCH_PATH),
        *(sql.SQL("SET {} = {}").format(sql.SQL(name), sql.Literal(value)) for name, value in _values(limits).items()),
    ]
    if role is not None:
        statements.append(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    script = sql.SQL("; ").join(statements)

    def setup(raw: "psycopg.Connection[Row]") -> None:
        raw.execute(script)

    return setup


def transaction_setup(limits: PoolLimits, *, role: str | None, tenant: str) -> str:
    """Return the statements that begin each transaction behind a pooler, as one text. They set timeouts, role and tenant.

    The text ends with a semicolon.
    """
    path = f"set_config('search_path', '{SCHEMA}, ' || current_setting('search_path'), true)"
    named = {**_values(limits), "holdfast.tenant": tenant}
    values = (sql.SQL("set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value)) for name, value in named.items())
    script = sql.SQL("SELECT {}, {}; ").format(sql.SQL(path), sql.SQL(", ").join(values))
    if role is not None:
        script += sql.SQL("SET LOCAL ROLE {}; ").format(sql.Identifier(role))
    return script.as_string(None)
