"""Maintenance of a SQLite file: checks and backups."""

import logging
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import apsw

from holdfast.errors import InvalidInput, StoreError
from holdfast.runtime.private_files import create_file, create_folder, readers
from holdfast.stores.sql import counts
from holdfast.stores.sql.connection import fetch_one, fetch_value
from holdfast.stores.sqlite import damaged_vectors
from holdfast.stores.sqlite.acked_rows import SUFFIX, AckedRows, last_item
from holdfast.stores.sqlite.connection import set_busy_timeout
from holdfast.stores.sqlite.dialect import FileConnection
from holdfast.types import Finding
from holdfast.types.translatable import translatable

log = logging.getLogger("holdfast")


def check(connection: FileConnection, tenant: str, path: Path, *, deep: bool) -> list[Finding]:
    """Check the file's structure, full-text index, vectors and permissions. Return the findings.

    With ``deep``, also check the hash of every row, and look for damaged vectors.
    """
    findings = [
        Finding(check="sqlite", ok=True, detail=_versions()),
        _attempt("structure", lambda: _structure(connection)),
        _attempt("full text", lambda: _full_text(connection)),
        _attempt("vectors", lambda: counts.vectors_finding(connection, tenant)),
        _attempt("acknowledged rows", lambda: _acknowledged(connection, path)),
    ]
    if deep:
        findings.append(_attempt("vector lengths", lambda: damaged_vectors.finding(connection, tenant)))
        findings += [_attempt(f"{table[0]} hashes", partial(_hashes, connection, tenant, *table)) for table in counts.HASHED]
    size = sum(file.stat().st_size for file in store_files(path))
    pages, free = (connection.pragma(name) for name in ("page_count", "freelist_count"))
    findings.append(_permissions(path))
    findings.append(
        Finding(
            check="size",
            ok=True,
            detail=translatable(
                "size.file",
                "{megabytes} MB, {free}% of pages free",
                megabytes=round(size / 1e6, 1),
                free=round(100 * free / max(pages, 1)),
            ),
        )
    )
    return findings


def _versions() -> str:
    return translatable("versions", "SQLite {sqlite}, apsw {apsw}", sqlite=apsw.sqlite_lib_version(), apsw=apsw.apsw_version())


_RESTORE = translatable("restore", "Restore a backup: holdfast restore FILE")
_DAMAGE = (apsw.Error, UnicodeError, LookupError, ValueError, TypeError, ArithmeticError)
"""Errors that reading a damaged page can raise: SQLite's errors, and Python's errors about values that Holdfast never writes."""


def _attempt(name: str, check: Callable[[], Finding]) -> Finding:
    """Run a check and return its finding. If the file is too damaged for the check, the finding says so.

    ``name`` is the name of the check.
    """
    try:
        return check()
    except apsw.BusyError:
        raise
    except _DAMAGE as error:
        return Finding(
            check=name,
            ok=False,
            detail=translatable("damaged.file", "cannot be checked, because the file is damaged: {error}", error=str(error)),
            remedy=_RESTORE,
        )


def _acknowledged(connection: FileConnection, path: Path) -> Finding:
    """Check that the file still contains the last row whose write was confirmed to a caller, and return the finding.

    See `AckedRows`.
    """
    present, promised = last_item(connection), AckedRows(path).read()
    if promised is not None and promised > present:
        return Finding(
            check="acknowledged rows",
            ok=False,
            detail=translatable(
                "rows.missing",
                "the newest rows are missing: row {promised} was stored, but the file ends with row {present}",
                promised=promised,
                present=present,
            ),
            remedy=translatable(
                "rows.restore",
                "The write-ahead log was removed or cut off, or an older copy of the file was put here. Restore a newer backup, "
                "or delete {file} if this is intended",
                file=f"{path.name}{SUFFIX}",
            ),
        )
    detail = translatable("rows.ok", "rows stored: {n}; none is missing at the end", n=present)
    return Finding(check="acknowledged rows", ok=True, detail=detail)


def _permissions(path: Path) -> Finding:
    others = readers(path)
    if others == "everyone":
        return Finding(
            check="permissions",
            ok=False,
            detail=translatable("readers.everyone", "every user of this machine can read the store"),
            remedy=translatable(
                "readers.chmod", "chmod 600 {path}, and check its backups and topic pages", path=shlex.quote(str(path))
            ),
        )
    group, owner = (
        translatable("readers.group", "readable by its group"),
        translatable("readers.owner", "readable by its owner only"),
    )
    return Finding(check="permissions", ok=True, detail=group if others else owner)


def _structure(connection: FileConnection) -> Finding:
    problems = [row[0] for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    if problems:
        return Finding(check="structure", ok=False, detail="; ".join(problems), remedy=_RESTORE)
    return Finding(check="structure", ok=True, detail=translatable("structure.ok", "integrity check passed"))


def _full_text(connection: FileConnection) -> Finding:
    units = fetch_value(connection, "SELECT count(*) FROM units")
    indexed = fetch_value(connection, "SELECT count(*) FROM fulltext_docsize")
    if units != indexed:
        return Finding(
            check="full text",
            ok=False,
            detail=translatable("text.missing", "chunks indexed: {indexed} of {n}", indexed=indexed, n=units),
            remedy=_RESTORE,
        )
    return Finding(check="full text", ok=True, detail=translatable("text.ok", "chunks indexed: {n}", n=units))


def _hashes(connection: FileConnection, tenant: str, table: str, columns: str, expected: counts.Expected) -> Finding:
    key = columns.split(",", 1)[0]
    bad, seen = [], 0
    for (number,) in connection.execute(f"SELECT {key} FROM {table} WHERE tenant = ?", (tenant,)):
        seen += 1
        try:
            row = fetch_one(connection, f"SELECT {columns} FROM {table} WHERE tenant = ? AND {key} = ?", (tenant, number))
            if row is None or expected(row) != row[-1]:  # an index can name a row that the table has lost
                bad.append(f"{key} {number}" if row is None else str(row[1]))
        except _DAMAGE:  # such as invalid UTF-8
            bad.append(f"{key} {number}")
    return counts.hashes_finding(table, seen, bad)


def try_checkpoint(connection: FileConnection) -> bool:
    """Move the write-ahead log into the file and truncate the log. Return False if a reader or a full disk prevents this."""
    connection.set_busy_timeout(2000)
    try:
        return not fetch_value(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    except apsw.Error:
        return False
    finally:
        set_busy_timeout(connection)


def store_files(path: Path) -> list[Path]:
    """Return the store's file, and its log and journal if they exist."""
    return [file for suffix in ("", "-wal", "-journal") if (file := path.with_name(path.name + suffix)).exists()]


def backup(connection: FileConnection, target: Path) -> None:
    """Write a compact copy of the file to ``target``, without removed data. The copy needs no log file."""
    if target.exists():
        raise InvalidInput(f"{target} already exists. No backup was written; choose a new file name.")
    try:
        create_folder(target.parent)
        create_file(target)  # VACUUM INTO keeps the mode of an empty file
        connection.execute("VACUUM INTO ?", (str(target),))
    except (apsw.Error, OSError) as error:
        with suppress(OSError):  # the folder may be a file
            target.unlink(missing_ok=True)
        raise StoreError(
            translatable(
                "backup.failed",
                "The backup to {path} failed: {error}. The store is unchanged. Check the folder, its permissions and free space.",
                path=str(target),
                error=str(error),
            )
        ) from error


def back_up_before_upgrade(connection: FileConnection, path: Path, schema: int) -> Path | None:
    """Back up the store to ``<name>.schema-<schema>`` in its folder and return that path.

    Return None if that file already exists, or if the backup fails.
    """
    target = path.with_name(f"{path.name}.schema-{schema}")
    if target.exists():
        return None
    try:
        backup(connection, target)
    except StoreError as error:
        log.warning("The store is upgraded without a backup: %s", error)
        return None
    return target


def note_backup(connection: FileConnection, tenant: str, target: Path) -> None:
    """Record the path of a backup, so that later erasures also erase in the backup."""
    connection.execute(
        "INSERT OR REPLACE INTO backups (tenant, path, at) VALUES (?, ?, ?)",
        (tenant, str(target.resolve()), time.time_ns() // 1000),
    )
