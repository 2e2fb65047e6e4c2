"""Looking after a SQLite file: counting, checking, overwriting what was removed, copying."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from holdfast.errors import InvalidInput, StoreError
from holdfast.stores.sql import counts
from holdfast.stores.sql.connection import fetch, fetch_value
from holdfast.stores.sql.partitions import next_number
from holdfast.stores.sql.scrubbing import held
from holdfast.stores.sqlite.connection import set_busy_timeout
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.types import Finding

_REWRITE_UP_TO = 256 * 1024 * 1024
"""Files up to this size are rewritten whole after an erasure; larger ones only if the scan finds something."""


def stats(connection: FileConnection, tenant: str, path: Path) -> Mapping[str, Any]:
    """Count what a tenant has in the file."""
    return {**counts.stats(connection, tenant), "bytes": sum(file.stat().st_size for file in store_files(path))}


def check(connection: FileConnection, tenant: str, path: Path, *, deep: bool) -> list[Finding]:
    """Check structure, full text, vectors, and with ``deep`` every row's hash."""
    findings = [
        Finding(check="sqlite", ok=True, detail=f"SQLite {apsw.sqlite_lib_version()}, apsw {apsw.apsw_version()}"),
        _structure(connection),
        _full_text(connection),
        counts.vectors_finding(connection, tenant),
    ]
    if deep:
        findings += [_hashes(connection, tenant, *table) for table in counts.HASHED]
    size = sum(file.stat().st_size for file in store_files(path))
    pages, free = (connection.pragma(name) for name in ("page_count", "freelist_count"))
    findings.append(
        Finding(check="size", ok=True, detail=f"{size / 1e6:.1f} MB, {100 * free / max(pages, 1):.0f}% of pages free")
    )
    return findings


def _structure(connection: FileConnection) -> Finding:
    problems = [row[0] for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    if problems:
        return Finding(check="structure", ok=False, detail="; ".join(problems), remedy="Restore a backup: holdfast restore FILE")
    return Finding(check="structure", ok=True, detail="integrity check passed")


def _full_text(connection: FileConnection) -> Finding:
    units = fetch_value(connection, "SELECT count(*) FROM units")
    indexed = fetch_value(connection, "SELECT count(*) FROM fulltext_docsize")
    if units != indexed:
        return Finding(
            check="full text", ok=False, detail=f"{indexed} of {units} windows indexed", remedy="Restore a backup, or report this"
        )
    return Finding(check="full text", ok=True, detail=f"{units} windows indexed")


def _hashes(connection: FileConnection, tenant: str, table: str, columns: str, expected: counts.Expected) -> Finding:
    key = columns.split(",", 1)[0]
    bad, seen = [], 0
    for (number,) in connection.execute(f"SELECT {key} FROM {table} WHERE tenant = ?", (tenant,)):
        seen += 1
        try:
            row = fetch(connection, f"SELECT {columns} FROM {table} WHERE tenant = ? AND {key} = ?", (tenant, number))[0]
            if expected(row) != row[-1]:
                bad.append(row[1])
        except UnicodeDecodeError:  # flipped bits need not make valid text
            bad.append(f"{key} {number}")
    return counts.hashes_finding(table, seen, bad)


def scrub(connection: FileConnection, path: Path, needles: Sequence[bytes]) -> tuple[bool, tuple[str, ...]]:
    """Make removed bytes unreadable; tells whether the log could be emptied, and which files hold a needle."""
    connection.execute("PRAGMA synchronous = FULL")
    if path.stat().st_size <= _REWRITE_UP_TO:
        connection.execute("VACUUM")
    complete = _empty_log(connection)
    residue = _residue(connection, path, needles)
    if residue and complete:
        connection.execute("INSERT INTO fulltext (fulltext) VALUES ('optimize')")
        connection.execute("VACUUM")
        complete = _empty_log(connection)
        residue = _residue(connection, path, needles)
    return complete, residue


def _residue(connection: FileConnection, path: Path, needles: Sequence[bytes]) -> tuple[str, ...]:
    """Return the files that hold a needle which no living row explains: others may have said the same."""
    found = files_holding(connection, path, needles)
    explained = {needle for needle in set().union(*found.values()) if _lives(connection, needle)}
    return tuple(file for file, here in found.items() if here - explained)


def _lives(connection: FileConnection, needle: bytes) -> bool:
    """Tell whether any row of any tenant holds these bytes."""
    return bool(
        fetch_value(
            connection,
            "SELECT EXISTS (SELECT 1 FROM messages WHERE instr(CAST(concat_ws(char(10), text, speaker) AS BLOB), ?1)) "
            "OR EXISTS (SELECT 1 FROM memories WHERE "
            "instr(CAST(concat_ws(char(10), text, metadata, key, topic, tags, reason) AS BLOB), ?1)) "
            "OR EXISTS (SELECT 1 FROM keys WHERE instr(CAST(concat_ws(char(10), label, user, app, agent) AS BLOB), ?1)) "
            "OR EXISTS (SELECT 1 FROM idempotency WHERE instr(body, ?1)) "
            "OR EXISTS (SELECT 1 FROM units WHERE instr(CAST(terms AS BLOB), ?1)) "
            "OR EXISTS (SELECT 1 FROM partitions WHERE instr(CAST(concat_ws(char(10), user, app, agent) AS BLOB), ?1))",
            (needle,),
        )
    )


def _empty_log(connection: FileConnection) -> bool:
    """Fold the write-ahead log into the file; False while a reader still needs it."""
    connection.set_busy_timeout(2000)
    try:
        busy = bool(fetch_value(connection, "PRAGMA wal_checkpoint(TRUNCATE)"))
    finally:
        set_busy_timeout(connection)
    # Nobody syncs the truncated log before the next write: without one, a power cut would bring it back.
    next_number(connection, "scrub")
    return not busy


def store_files(path: Path) -> list[Path]:
    """Return the file and those SQLite keeps beside it."""
    return [file for suffix in ("", "-wal", "-journal") if (file := path.with_name(path.name + suffix)).exists()]


def files_holding(connection: FileConnection, path: Path, needles: Sequence[bytes]) -> dict[str, set[bytes]]:
    """Return which of the needles (of at least 8 bytes) occur in the file and in its log."""
    wanted = [needle for needle in needles if len(needle) >= 8]
    if not wanted:
        return {}
    files = (path, path.with_name(path.name + "-wal"))
    found = {str(file): held(_blocks(connection, which, file), wanted) for which, file in enumerate(files) if file.exists()}
    return {file: here for file, here in found.items() if here}


def _blocks(connection: FileConnection, which: int, file: Path, step: int = 1 << 22) -> Iterator[bytes]:
    """Read a file through SQLite: a process that opens and closes it by itself lets go of its locks on it."""
    size = file.stat().st_size
    for offset in range(0, size, step):
        yield connection.read("main", which, offset, min(step, size - offset))[1]


def backup(connection: FileConnection, target: Path) -> None:
    """Write a compact copy: no removed data, no log beside it."""
    if target.exists():
        raise InvalidInput(f"{target} exists already; name a new file.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        connection.execute("VACUUM INTO ?", (str(target),))
    except (apsw.SQLError, apsw.CantOpenError, OSError) as error:
        raise StoreError(f"The backup to {target} failed: {error}. Check the folder and its permissions.") from error


def note_backup(connection: FileConnection, tenant: str, target: Path) -> None:
    """Remember that a backup exists, so that erasing can name it."""
    connection.execute(
        "INSERT OR REPLACE INTO backups (tenant, path, at) VALUES (?, ?, ?)",
        (tenant, str(target.resolve()), time.time_ns() // 1000),
    )
