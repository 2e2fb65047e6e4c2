"""Counting and checking what every store on SQL has: statistics, and rows against their hashes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from holdfast.stores.sql.connection import Connection, fetch_value
from holdfast.stores.sql.rows import MEMORY_COLUMNS, MESSAGE_COLUMNS, memory_hash, message_hash
from holdfast.types import Finding

Expected: TypeAlias = Callable[[Sequence[Any]], bytes]

HASHED: tuple[tuple[str, str, Expected], ...] = (
    ("memories", MEMORY_COLUMNS, memory_hash),
    ("messages", MESSAGE_COLUMNS, message_hash),
)
"""The tables whose rows carry a hash, with their columns and what a row's hash must be."""


def stats(connection: Connection, tenant: str) -> dict[str, Any]:
    """Count what a tenant has."""

    def one(sql: str) -> Any:
        return fetch_value(connection, sql, (tenant,))

    def by(sql: str) -> Mapping[str, int]:
        return {row[0]: row[1] for row in connection.execute(f"{sql} GROUP BY 1", (tenant,))}

    present = "FROM memories WHERE tenant = ? AND recorded_to IS NULL"
    return {
        "messages": one("SELECT count(*) FROM messages WHERE tenant = ?"),
        "sessions": by("SELECT status, count(*) FROM sessions WHERE tenant = ?"),
        "memories": one(f"SELECT count(*) {present} AND status = 'live'"),
        "memories_by_kind": by(f"SELECT kind, count(*) {present} AND status = 'live'"),
        "retired": by(f"SELECT status, count(*) {present} AND status <> 'live'"),
        "users": one("SELECT count(DISTINCT user) FROM partitions WHERE tenant = ? AND user <> ''"),
        "apps": one("SELECT count(DISTINCT app) FROM partitions WHERE tenant = ? AND app <> ''"),
        "jobs": by("SELECT state, count(*) FROM jobs WHERE tenant = ?"),
        "vectors": one("SELECT count(*) FROM vectors WHERE tenant = ?"),
        "waiting_for_vectors": one("SELECT count(*) FROM unembedded WHERE tenant = ?"),
        "models": [row[0] for row in connection.execute("SELECT name FROM models WHERE tenant = ? ORDER BY model", (tenant,))],
    }


def vectors_finding(connection: Connection, tenant: str) -> Finding:
    """Check that every vector belongs to a window."""
    waiting = fetch_value(connection, "SELECT count(*) FROM unembedded WHERE tenant = ?", (tenant,))
    stray = fetch_value(
        connection,
        "SELECT count(*) FROM vectors WHERE tenant = ? AND NOT EXISTS (SELECT 1 FROM units WHERE units.tenant = vectors.tenant "
        "AND units.item = vectors.item AND units.window = vectors.window AND units.partition = vectors.partition)",
        (tenant,),
    )
    if stray:
        return Finding(
            check="vectors", ok=False, detail=f"{stray} vectors of nothing", remedy="Report this; searches are unaffected"
        )
    return Finding(check="vectors", ok=True, detail=f"in order, {waiting} windows wait for one")


def hashes_finding(table: str, seen: int, bad: Sequence[str]) -> Finding:
    """Say how many rows of a table are not what was written."""
    if bad:
        shown = ", ".join(bad[:5]) + (" ..." if len(bad) > 5 else "")
        return Finding(
            check=f"{table} hashes", ok=False, detail=f"{len(bad)} of {seen} rows altered: {shown}",
            remedy="Compare with a backup: these rows changed on disk without Holdfast",
        )  # fmt: skip
    return Finding(check=f"{table} hashes", ok=True, detail=f"{seen} rows as written")


def altered(rows: Iterable[Sequence[Any]], expected: Expected) -> tuple[int, list[str]]:
    """Return how many rows there are, and the ids of those whose hash is not theirs."""
    seen, bad = 0, []
    for row in rows:
        seen += 1
        if expected(row) != row[-1]:
            bad.append(row[1])
    return seen, bad
