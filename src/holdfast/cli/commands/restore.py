"""Putting a backup in the store's place.

The backup itself is only read: a copy of it is opened, brought to this version's schema and checked, and takes the
store's place in one step. What was there stays beside it, together with its log: an old log never meets a new file.
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

if TYPE_CHECKING:
    from holdfast.config.settings import Settings

_BESIDE = ("-wal", "-shm", "-journal")


@click.command(epilog="Example: holdfast restore memory-2026-03-01.db")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@yes_option
@with_flags(scope=False)
def restore(flags: Flags, file: Path, *, yes: bool) -> None:
    """Put a backup in the store's place.

    FILE is what `holdfast backup` wrote. It is checked first. The present store is kept beside the restored one,
    as NAME.before-restore-TIME. Stop the programs that use the store before.
    """
    from holdfast.config.settings import load_settings  # noqa: PLC0415  (heavy: not needed for help)
    from holdfast.config.stores import store_path  # noqa: PLC0415  (heavy: not needed for help)

    settings = load_settings(flags.settings, store=flags.store, preset=flags.preset, tenant=flags.tenant)
    target = store_path(settings)
    _refuse_what_is_no_backup(file, target)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    if target.exists():
        confirm(f"Put {file} in the place of {target}?", yes=yes)
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = target.with_name(f"{target.name}.restoring-{stamp}-{os.getpid()}.db")
    try:
        shutil.copyfile(file, copy)
        counts = _check(settings, copy, file)
        kept = _set_aside(settings, target, target.with_name(f"{target.name}.before-restore-{stamp}"))
        copy.replace(target)
    finally:
        _remove(_beside(copy, suffix) for suffix in ("", *_BESIDE))
    value = {"path": target, "from": file, "before": kept, **counts}
    lines = [f"Restored {target} from {file}: {count(counts['memories'], 'memory')}, {count(counts['messages'], 'message')}."]
    emit(value, [*lines, *([f"What was there before is in {kept}"] if kept else [])], as_json=flags.json)


def _refuse_what_is_no_backup(file: Path, target: Path) -> None:
    if target.exists() and file.samefile(target):
        raise InvalidInput(f"{file} is the store itself.")
    log = _beside(file, "-wal")
    if log.exists() and log.stat().st_size:
        raise InvalidInput(
            f"{file} has a log beside it ({log.name}): it is a store in use, or a copy of one, not a backup. "
            f"Make a backup of it first: holdfast backup --store {file} NEW-FILE"
        )


def _check(settings: "Settings", copy: Path, file: Path) -> dict[str, int]:
    """Open the copy as a store, and make sure that it is one and is sound."""
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for help)

    store = make_store(replace(settings, store=str(copy), index="memory"))  # an index outside is of the present store
    try:
        if store.setting("secret") is None:  # every store that was ever used has one
            raise InvalidInput(f"{file} is not a Holdfast backup, or holds nothing of the tenant {settings.tenant!r}.")
        wrong = [f"{each.check}: {each.detail}" for each in store.check(deep=True) if not each.ok]
        if wrong:
            raise StoreCorrupt(f"{file} is damaged, nothing was restored. {'; '.join(wrong)}")
        stats = store.stats()
        return {"memories": stats["memories"], "messages": stats["messages"]}
    finally:
        store.close()


def _set_aside(settings: "Settings", target: Path, kept: Path) -> Path | None:
    """Move the present store and what SQLite keeps beside it away; returns its new place, if there was one."""
    sound = True
    if target.exists() and _beside(target, "-wal").exists():
        # Opening folds the log into the file, also into a damaged one: what was there is copied before that.
        pairs = [(_beside(target, suffix), _beside(kept, suffix)) for suffix in ("", "-wal")]
        for present, copy in pairs:
            shutil.copyfile(present, copy)
        try:
            sound = _fold_log(settings, target)
        except BaseException:
            _remove(copy for _, copy in pairs)
            raise
        if sound:
            _remove(copy for _, copy in pairs)
    there = target.exists()
    for suffix in (*_BESIDE, ""):  # the file comes last: at no moment does a log stand beside a file it is not of
        present = _beside(target, suffix)
        if not sound:
            present.unlink(missing_ok=True)
        elif present.exists():
            present.replace(_beside(kept, suffix))
    return kept if there else None


def _fold_log(settings: "Settings", target: Path) -> bool:
    """Let SQLite put the log into the file; False where it cannot be opened, as it is damaged or of another key."""
    from holdfast.config.stores import make_store  # noqa: PLC0415  (heavy: not needed for help)

    try:
        make_store(settings).close()
    except StoreBusy:
        raise
    except StoreError:
        return False
    if _beside(target, "-wal").exists():  # the last one out would have removed it
        raise Conflict(f"Another program has {target} open. Stop it, then restore.")
    return True


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
