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
    from holdfast.forgetting.records import Registry, Tombstone

_SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
_ACKED = ".acked"
"""Suffix of the file next to a store that holds the number of its newest row. The file is removed when a backup is restored."""


@click.command(epilog="Example: holdfast restore memory-2026-03-01.db")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@yes_option
@with_flags(scope=False)
def restore(flags: Flags, file: Path, *, yes: bool) -> None:
    """Replace the store with a backup.

    FILE is a file written by `holdfast backup`. It is checked first. The current store is kept next to the restored
    store, as NAME.before-restore-TIME. Data that was erased after the backup was made is erased from the restored store
    again. Stop all programs that use the store before you restore.
    """
    from holdfast.config.loading import load_settings  # noqa: PLC0415  (heavy: not needed for --help)
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
        erased = _erase_again(settings, copy, target)
        _release_jobs(settings, copy, target)
        kept = _set_aside(settings, target, target.with_name(f"{target.name}.before-restore-{stamp}"))
        copy.replace(target)
    finally:
        _remove(_sibling(copy, suffix) for suffix in ("", *_SQLITE_SUFFIXES, _ACKED))
    if kept is not None:
        _registry(target).add_copy(kept)
    value = {"path": target, "from": file, "before": kept, "erased_again": erased, **counts}
    lines = [f"Restored {target} from {file}: {count(counts['memories'], 'memory')}, {count(counts['messages'], 'message')}."]
    lines.append(_erasures_line(erased))
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
    """Open the copy of a backup as a store and check it. Return the numbers of memories and messages.

    Raise an error if the backup is damaged. ``file`` is the path of the backup, for error messages.
    """
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for --help)

    # An external index belongs to the present store. The backup itself stays as it is, so its copy needs no further backup.
    try:
        store = make_store(replace(settings, store=str(copy), index="memory"), is_copy=True)
    except StoreError as error:  # its message names the copy instead of the backup
        raise type(error)(f"{str(error).replace(str(copy), str(file))} Nothing was changed.") from error
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


def _erase_again(settings: "Settings", copy: Path, target: Path) -> int | None:
    """Erase from the copy of a backup the data that was erased after the backup was made. Return the number of erasures.

    ``copy`` is the copy, and ``target`` is the current store, which lists the erasures. Return None if neither the
    current store nor the file with its tombstones can be read.
    """
    from holdfast.config.opening import make_preset  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.config.stores import make_store  # noqa: PLC0415  (as above)
    from holdfast.forgetting.tombstones import apply_tombstones, later_tombstones  # noqa: PLC0415  (as above)

    registry = _registry(target)
    present = _tombstones_of(settings, target)
    if present is None and registry.path is not None and not registry.path.exists():
        return None
    done = 0
    for tenant in {settings.tenant, *registry.tenants()}:
        store = make_store(replace(settings, store=str(copy), index="memory", tenant=tenant), is_copy=True)
        try:
            known = [*registry.tombstones(tenant), *((present or []) if tenant == settings.tenant else [])]
            later = later_tombstones(store, known)
            left = apply_tombstones(store, make_preset(settings), later, datetime.now(UTC))
            if left:
                raise StoreError(
                    f"What was erased after this backup could not be removed from it: {'; '.join(left)}. Nothing was changed."
                )
            done += len(later)
        finally:
            store.close()
    return done


def _release_jobs(settings: "Settings", copy: Path, target: Path) -> None:
    """Put running jobs back in the queue, in the copy of a backup that is being restored.

    These jobs were running when the backup was made, but their workers do not use the restored store. Jobs are changed for
    the configured tenant, and for each tenant that has an erasure in the registry file of the current store (``target``).
    """
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for --help)

    for tenant in {settings.tenant, *_registry(target).tenants()}:
        store = make_store(replace(settings, store=str(copy), index="memory", tenant=tenant), is_copy=True)
        try:
            running = store.jobs(states=["running"])
            with store.write() as tx:
                for job in running:
                    tx.set_job(replace(job, state="queued", worker=None, lease_until=None, attempt=max(0, job.attempt - 1)))
        finally:
            store.close()


def _tombstones_of(settings: "Settings", target: Path) -> "list[Tombstone] | None":
    """Return the tombstones (records of erased data) of the current store, whose file is ``target``.

    Return None if the file does not exist, is in use or cannot be read.
    """
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for --help)
    from holdfast.forgetting.records import tombstones  # noqa: PLC0415  (as above)

    if not target.exists() or _sibling(target, "-wal").exists():  # in use or damaged: its log must not be touched here
        return None
    try:
        store = make_store(replace(settings, store=str(target), index="memory"))
    except StoreError:
        return None
    try:
        return tombstones(store)
    finally:
        store.close()


def _registry(target: Path) -> "Registry":
    from holdfast.forgetting.records import Registry  # noqa: PLC0415  (heavy: not needed for --help)

    return Registry(str(target))


def _erasures_line(erased: int | None) -> str:
    if erased is None:
        return "No list of erasures was found. If something was erased after this backup was made, erase it again."
    if not erased:
        return "No erasure is later than this backup."
    return f"Erased again, because it was erased after this backup was made: {count(erased, 'erasure')}."


def _set_aside(settings: "Settings", target: Path, kept: Path) -> Path | None:
    """Rename the current store and SQLite's extra files to ``kept``. Return ``kept``, or None if there was no store."""
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
    _remove([_sibling(target, _ACKED)])
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
    """Copy a file. Only its owner can read the copy."""
    create_file(target)
    shutil.copyfile(source, target)


def _sibling(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
