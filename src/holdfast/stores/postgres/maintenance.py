"""Statistics of a tenant, and checks of the server, its settings and the stored rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg

from holdfast.stores.postgres.connect import SCHEMA, PoolLimits, connect
from holdfast.stores.postgres.session import PostgresSession
from holdfast.stores.sql import counts
from holdfast.stores.sql.connection import Row, fetch, fetch_value
from holdfast.types import Finding
from holdfast.types.translatable import translatable

_MIN_SERVER_VERSION = 140000
_MIN_PGVECTOR = (0, 8, 2)
"""Minimum version of pgvector. In earlier versions, the parallel build of an HNSW index can overflow its buffer."""
_BATCH_ROWS = 2000
"""Number of rows per read when a whole table is checked."""


def stats(connection: PostgresSession, tenant: str) -> Mapping[str, Any]:
    """Return the counts of a tenant by name, for ``Stats.of``.

    ``bytes`` is the total size of the tables, including the rows of other tenants.
    """
    size = fetch_value(
        connection,
        "SELECT sum(pg_total_relation_size(pg_class.oid))::bigint FROM pg_class "
        f"WHERE relkind = 'r' AND relnamespace = '{SCHEMA}'::regnamespace",
    )
    return {**counts.stats(connection, tenant), "bytes": size}


_FSYNC = translatable("postgres.fsync", "Set fsync = on in postgresql.conf: without it a power cut can lose stored data")
_FULL_PAGE_WRITES = translatable(
    "postgres.full_page_writes", "Set full_page_writes = on in postgresql.conf: a power cut may tear pages"
)


def check(connection: PostgresSession, tenant: str, *, deep: bool) -> list[Finding]:
    """Check the server's version and settings, the full-text index and the vectors. Return the findings.

    With ``deep``, also check the hash of every row.
    """
    findings = [
        _server(connection),
        _vector_extension(connection),
        _setting(connection, "fsync", remedy=_FSYNC),
        _setting(connection, "full_page_writes", remedy=_FULL_PAGE_WRITES),
        _checksums(connection),
        _row_security(connection),
        _full_text(connection, tenant),
        counts.vectors_finding(connection, tenant),
    ]
    if deep:
        for table, columns, expected in counts.HASHED:
            rows = _rows(connection, tenant, table, columns)
            findings.append(counts.hashes_finding(table, *counts.altered(rows, expected)))
    size = stats(connection, tenant)["bytes"]
    detail = translatable("size.all_tenants", "{megabytes} MB for all tenants", megabytes=round(size / 1e6, 1))
    findings.append(Finding(check="size", ok=True, detail=detail))
    return findings


def _server(connection: PostgresSession) -> Finding:
    number, name = int(_show(connection, "server_version_num")), _show(connection, "server_version")
    if number < _MIN_SERVER_VERSION:
        remedy = translatable("postgres.upgrade", "Upgrade to PostgreSQL 14 or newer")
        return Finding(check="server", ok=False, detail=_version("PostgreSQL", name), remedy=remedy)
    return Finding(check="server", ok=True, detail=_version("PostgreSQL", name))


def _version(program: str, version: str) -> str:
    return translatable("version", "{program} {version}", program=program, version=version)


def _vector_extension(connection: PostgresSession) -> Finding:
    version = str(fetch_value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'") or "0")
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < _MIN_PGVECTOR:
        return Finding(
            check="pgvector",
            ok=False,
            detail=_version("pgvector", version),
            remedy=translatable(
                "pgvector.upgrade", "Install pgvector 0.8.2 or newer on the server, then run: ALTER EXTENSION vector UPDATE"
            ),
        )
    return Finding(check="pgvector", ok=True, detail=_version("pgvector", version))


def check_distance(url: str) -> Finding:
    """Check that pgvector can compute a vector distance on this server. Return the finding.

    This uses a separate connection, because a pgvector build for another CPU would kill the server process.
    """
    try:
        with connect(url, limits=PoolLimits()) as raw:
            raw.execute("SELECT '[1,2,3]'::halfvec(3) <#> '[4,5,6]'::halfvec(3)")
    except psycopg.OperationalError:
        return Finding(
            check="vector search",
            ok=False,
            detail=translatable("pgvector.killed", "computing a distance kills the server process"),
            remedy=translatable(
                "pgvector.rebuild",
                "The pgvector on the server was built for CPU instructions that the CPU lacks (SVE or AVX-512): install a build "
                'for this CPU, or compile pgvector with OPTFLAGS=""',
            ),
        )
    return Finding(check="vector search", ok=True, detail=translatable("pgvector.ok", "a distance was computed"))


def pooler_finding(*, is_direct: bool) -> Finding:
    """Return the finding of the check "pooler", for a store that is connected through a pooler such as PgBouncer.

    ``is_direct`` is True if maintenance can also connect to the server directly. Only then does the check pass.
    """
    if is_direct:
        detail = translatable("pooler.ok", "connected through a pooler; maintenance connects directly")
        return Finding(check="pooler", ok=True, detail=detail)
    return Finding(
        check="pooler",
        ok=False,
        detail=translatable(
            "pooler.only", "connected through a pooler only: erased bytes stay in the files, and no vector indexes are built"
        ),
        remedy=translatable("pooler.direct", "Set store_direct to the address of the server itself"),
    )


def _setting(connection: PostgresSession, name: str, *, remedy: str) -> Finding:
    value = _show(connection, name)
    return Finding(check=name, ok=value == "on", detail=value, remedy=None if value == "on" else remedy)


def _checksums(connection: PostgresSession) -> Finding:
    """Return the finding about data checksums. If the server does not use them, the finding recommends them.

    The check passes even then, because each message and memory row has its own hash.
    """
    value = _show(connection, "data_checksums")
    advice = translatable(
        "postgres.checksums", "Stop the server and run pg_checksums --enable: reading a damaged page is then an error"
    )
    return Finding(check="data checksums", ok=True, detail=value, remedy=None if value == "on" else advice)


def _row_security(connection: PostgresSession) -> Finding:
    if fetch_value(connection, f"SELECT row_security_active('{SCHEMA}.memories')"):
        return Finding(check="row level security", ok=True, detail=translatable("row_security.ok", "active on this connection"))
    return Finding(
        check="row level security",
        ok=False,
        detail=translatable("row_security.bypassed", "this user bypasses it"),
        remedy=translatable(
            "row_security.other_user",
            "Connect as a user that is neither superuser nor has BYPASSRLS, or one that may create the role holdfast_rows",
        ),
    )


def _full_text(connection: PostgresSession, tenant: str) -> Finding:
    units = fetch_value(connection, "SELECT count(*) FROM units WHERE tenant = ?", (tenant,))
    unindexed = fetch_value(
        connection,
        "SELECT count(*) FROM units WHERE tenant = ? AND terms <> '' AND NOT EXISTS (SELECT 1 FROM postings "
        "WHERE postings.tenant = units.tenant AND postings.partition = units.partition AND postings.item = units.item "
        "AND postings.window = units.window AND postings.term = split_part(units.terms, ' ', 1))",
        (tenant,),
    )
    if unindexed:
        return Finding(
            check="full text",
            ok=False,
            detail=translatable("text.missing", "chunks indexed: {indexed} of {n}", indexed=units - unindexed, n=units),
            remedy=translatable("text.restore", "Text search misses the other chunks: restore a backup, or report this"),
        )
    return Finding(check="full text", ok=True, detail=translatable("text.ok", "chunks indexed: {n}", n=units))


def _rows(connection: PostgresSession, tenant: str, table: str, columns: str) -> Iterator[Row]:
    """Yield the rows of a table in key order, read in batches."""
    key, last = columns.split(",", 1)[0], -1
    while rows := fetch(
        connection,
        f"SELECT {columns} FROM {table} WHERE tenant = ? AND {key} > ? ORDER BY {key} LIMIT ?",
        (tenant, last, _BATCH_ROWS),
    ):
        yield from rows
        last = rows[-1][0]


def _show(connection: PostgresSession, name: str) -> str:
    return str(fetch_value(connection, "SELECT current_setting(?)", (name,)))
