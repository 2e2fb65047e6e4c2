"""The ``restore`` command.

The backup is only read. A copy of the backup is opened, migrated to the current schema and checked. Then the copy replaces
the store in one step. The previous store is renamed together with its write-ahead log, so that the old log is never applied
to the new file.
"""

import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.options import Flags, confirm, with_flags, yes_option
from holdfast.cli.output import count, emit
from holdfast.errors import Conflict, InvalidInput, StoreBusy, StoreCorrupt, StoreError
from holdfast.runtime.private_files import create_file, create_folder

if TYPE_CHECKING:
    from holdfast.config.settings import Settings

_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")


@click.command(epilog="Example: holdfast restore memory-2026-03-01.db")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@yes_option
@with_flags(scope=False)
def restore(flags: Flags, file: Path, *, yes: bool) -> None:
    """Replace the store with a backup.

    FILE is a file written by `holdfast backup`. It is checked first. The present store is kept next to the restored one, as
    NAME.before-restore-TIME. Stop all programs that use the store before you restore.
    """
    from holdfast.config.settings import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.stores import store_path  # noqa: PLC0415  (heavy: not needed for --help)

    settings = load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    target = store_path(settings)
    _refuse_non_backup(file, target)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    if target.exists():
        confirm(f"Replace {target} with {file}?", yes=yes)
    create_folder(target.parent)
    copy = target.with_name(f"{target.name}.restoring-{stamp}-{os.getpid()}.db")
    try:
        _copy(file, copy)
        counts = _check(settings, copy, file)
        kept = _set_aside(settings, target, target.with_name(f"{target.name}.before-restore-{stamp}"))
        copy.replace(target)
    finally:
        _remove(_sibling(copy, suffix) for suffix in ("", *_SQLITE_SUFFIXES))
    value = {"path": target, "from": file, "before": kept, **counts}
    lines = [f"Restored {target} from {file}: {count(counts['memories'], 'memory')}, {count(counts['messages'], 'message')}."]
    emit(value, [*lines, *([f"The previous store is in {kept}"] if kept else [])], as_json=flags.json)


def _refuse_non_backup(file: Path, target: Path) -> None:
    if target.exists() and file.samefile(target):
        raise InvalidInput(f"{file} is the store itself, not a backup. Nothing was changed.")
    log = _sibling(file, "-wal")
    if log.exists() and log.stat().st_size:
        raise InvalidInput(
            f"{file} has a write-ahead log next to it ({log.name}): it is a store in use, or a copy of one, not a backup. "
            f"Nothing was changed. Make a backup of it first: holdfast backup --store {file} NEW-FILE"
        )


def _check(settings: "Settings", copy: Path, file: Path) -> dict[str, int]:
    """Open the copy of a backup as a store and check it. Return the store's counts. Raise an error if the backup is not sound."""
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for --help)

    store = make_store(replace(settings, store=str(copy), index="memory"))  # an external index belongs to the present store
    try:
        if store.setting("secret") is None:  # every used store has one
            raise InvalidInput(
                f"{file} is not a Holdfast backup, or has no data of the tenant {settings.tenant!r}. Nothing was changed."
            )
        problems = [f"{each.check}: {each.detail}" for each in store.check(deep=True) if not each.ok]
        if problems:
            raise StoreCorrupt(f"{file} is damaged. Nothing was changed. {'; '.join(problems)}")
        stats = store.stats()
        return {"memories": stats["memories"], "messages": stats["messages"]}
    finally:
        store.close()


def _set_aside(settings: "Settings", target: Path, kept: Path) -> Path | None:
    """Rename the present store together with SQLite's extra files. Return the new path, or None if there was no store."""
    sound = True
    if target.exists() and _sibling(target, "-wal").exists():
        # Opening a store checkpoints its log, even into a damaged file, so copy both first.
        pairs = [(_sibling(target, suffix), _sibling(kept, suffix)) for suffix in ("", "-wal")]
        for present, copy in pairs:
            _copy(present, copy)
        try:
            sound = _checkpoint(settings, target)
        except BaseException:
            _remove(copy for _, copy in pairs)
            raise
        if sound:
            _remove(copy for _, copy in pairs)
    existed = target.exists()
    for suffix in (*_SQLITE_SUFFIXES, ""):  # the file last: a log must never be next to a file it does not belong to
        present = _sibling(target, suffix)
        if not sound:
            present.unlink(missing_ok=True)
        elif present.exists():
            present.replace(_sibling(kept, suffix))
    return kept if existed else None


def _checkpoint(settings: "Settings", target: Path) -> bool:
    """Move the content of the write-ahead log into the store's file.

    Return False if the store is damaged or was encrypted with another key.
    """
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for --help)

    try:
        make_store(settings).close()
    except StoreBusy:
        raise
    except StoreError:
        return False
    if _sibling(target, "-wal").exists():  # the last connection removes the log when it closes
        raise Conflict(f"Another program has {target} open. Nothing was changed. Stop it, then restore again.")
    return True


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that only its owner can read the copy."""
    create_file(target)
    shutil.copyfile(source, target)


def _sibling(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
