"""Statistics and checks that work on every SQL store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from holdfast.stores.sql.connection import Connection, fetch_value
from holdfast.stores.sql.rows import MEMORY_COLUMNS, MESSAGE_COLUMNS, memory_hash, message_hash
from holdfast.types import REDO, Finding
from holdfast.types.translatable import translatable

Expected: TypeAlias = Callable[[Sequence[Any]], bytes]

HASHED: tuple[tuple[str, str, Expected], ...] = (
    ("memories", MEMORY_COLUMNS, memory_hash),
    ("messages", MESSAGE_COLUMNS, message_hash),
)
"""Tables whose rows contain a hash, as (table, columns, function that computes the expected hash)."""


def stats(connection: Connection, tenant: str) -> dict[str, Any]:
    """Return the counts of a tenant by name: the fields of ``Stats``, except ``bytes``."""

    def single(sql: str) -> Any:
        return fetch_value(connection, sql, (tenant,))

    def grouped(sql: str) -> Mapping[str, int]:
        return {row[0]: row[1] for row in connection.execute(f"{sql} GROUP BY 1", (tenant,))}

    present = "FROM memories WHERE tenant = ? AND recorded_to IS NULL"
    live = grouped(f"SELECT kind, count(*) {present} AND status = 'live'")
    return {
        "messages": single("SELECT count(*) FROM messages WHERE tenant = ?"),
        "sessions": grouped("SELECT status, count(*) FROM sessions WHERE tenant = ?"),
        "memories": sum(live.values()),
        "memories_by_kind": live,
        "retired": grouped(f"SELECT status, count(*) {present} AND status <> 'live'"),
        "users": single("SELECT count(DISTINCT user) FROM partitions WHERE tenant = ? AND user <> ''"),
        "apps": single("SELECT count(DISTINCT app) FROM partitions WHERE tenant = ? AND app <> ''"),
        "jobs": grouped("SELECT state, count(*) FROM jobs WHERE tenant = ?"),
        "waiting_for_model": single(f"SELECT count(*) FROM jobs WHERE tenant = ? AND state = 'queued' AND kind = '{REDO}'"),
        "vectors": single("SELECT count(*) FROM vectors WHERE tenant = ?"),
        "waiting_for_vectors": single("SELECT count(*) FROM unembedded WHERE tenant = ?"),
        "models": [row[0] for row in connection.execute("SELECT name FROM models WHERE tenant = ? ORDER BY model", (tenant,))],
    }


def vectors_finding(connection: Connection, tenant: str) -> Finding:
    """Check that every stored vector belongs to a chunk, and return the finding."""
    waiting = fetch_value(connection, "SELECT count(*) FROM unembedded WHERE tenant = ?", (tenant,))
    stray = fetch_value(
        connection,
        "SELECT count(*) FROM vectors WHERE tenant = ? AND NOT EXISTS (SELECT 1 FROM units WHERE units.tenant = vectors.tenant "
        "AND units.item = vectors.item AND units.window = vectors.window AND units.partition = vectors.partition)",
        (tenant,),
    )
    if stray:
        return Finding(
            check="vectors",
            ok=False,
            detail=translatable("vectors.stray", "vectors without a chunk: {n}", n=stray),
            remedy=translatable("vectors.report", "Report this; searches are unaffected"),
        )
    return Finding(
        check="vectors", ok=True, detail=translatable("vectors.ok", "in order; chunks that wait for one: {n}", n=waiting)
    )


def hashes_finding(table: str, seen: int, bad: Sequence[str]) -> Finding:
    """Return the finding of a check of row hashes in a table.

    ``seen`` is the number of rows checked. ``bad`` contains the ids of the rows that do not match their hash.
    """
    if bad:
        shown = ", ".join(bad[:5]) + (" ..." if len(bad) > 5 else "")
        return Finding(
            check=f"{table} hashes",
            ok=False,
            detail=translatable(
                "hashes.bad", "rows that do not match their hash: {bad} of {n}: {shown}", bad=len(bad), n=seen, shown=shown
            ),
            remedy=translatable("hashes.compare", "Compare with a backup: something other than Holdfast changed these rows"),
        )
    return Finding(check=f"{table} hashes", ok=True, detail=translatable("hashes.ok", "rows that match their hash: {n}", n=seen))


def altered(rows: Iterable[Sequence[Any]], expected: Expected) -> tuple[int, list[str]]:
    """Check the hashes of rows. Return the number of rows, and the ids of the rows that do not match their hash.

    ``expected`` computes the hash that a row should have.
    """
    seen, bad = 0, []
    for row in rows:
        seen += 1
        if expected(row) != row[-1]:
            bad.append(row[1])
    return seen, bad
