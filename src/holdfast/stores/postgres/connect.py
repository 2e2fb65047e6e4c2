"""How this store's connections are made: limits, the tenant they see, and the type of vectors."""

from collections.abc import Callable
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
"""A role without rights of its own that the store takes on where its user would not be bound by row level security."""
SCHEMA = "holdfast"
"""Where the tables are, so that they meet nobody else's."""

_SEARCH_PATH = f"SELECT set_config('search_path', '{SCHEMA}, ' || current_setting('search_path'), false)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """How many connections a store may have at once, and for how long it waits, in seconds."""

    connections: int = 16
    statement_timeout: float = 120.0
    lock_timeout: float = 60.0
    connect_timeout: float = 30.0


class _Adapters:
    """What psycopg asks for how values are sent and read."""

    connection = None

    def __init__(self) -> None:
        self.adapters = AdaptersMap(psycopg.adapters)


def check_address(url: str) -> None:
    """Raise if an address cannot be read. What cannot be read is not repeated: it may hold a password."""
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise InvalidInput("This is not the address of a database: postgresql://USER@HOST:PORT/DATABASE is one.") from None


def connect(url: str, *, limits: PoolLimits) -> "psycopg.Connection[Row]":
    """Open a connection as the user of the address, with all of that user's rights."""
    check_address(url)
    raw = psycopg.Connection.connect(
        url, autocommit=True, connect_timeout=int(limits.connect_timeout), cursor_factory=psycopg.RawCursor,
        application_name="holdfast",
    )  # fmt: skip
    raw.execute(_SEARCH_PATH)
    return raw


def plain_arguments(raw: "psycopg.Connection[Row]", limits: PoolLimits) -> dict[str, Any]:
    """Return what the store's own connections are opened with; ``raw`` is asked once for the type of vectors."""
    known = _Adapters()
    info = TypeInfo.fetch(raw, "halfvec")
    if info is not None:
        register_halfvec_info(known, info)  # type: ignore[arg-type]  # it needs no more than the adapters
    return {
        "autocommit": True,
        "connect_timeout": int(limits.connect_timeout),
        "cursor_factory": psycopg.RawCursor,
        "application_name": "holdfast",
        "context": known,
    }


def confined(limits: PoolLimits, *, role: str | None) -> "Callable[[psycopg.Connection[Row]], None]":
    """Return what makes a new connection see no tenant's rows as yet, and wait no longer than allowed."""
    statements: list[sql.Composable] = [
        sql.SQL(_SEARCH_PATH),
        sql.SQL("SET statement_timeout = {}").format(int(limits.statement_timeout * 1000)),
        sql.SQL("SET lock_timeout = {}").format(int(limits.lock_timeout * 1000)),
        sql.SQL("SET jit = off"),  # its compiler takes longer than our questions
        sql.SQL("SET hnsw.ef_search = 100"),
        sql.SQL("SET hnsw.iterative_scan = strict_order"),
    ]
    if role is not None:
        statements.append(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    whole = sql.SQL("; ").join(statements)

    def confine(raw: "psycopg.Connection[Row]") -> None:
        raw.execute(whole)

    return confine
