"""The folder beside a store that holds builds of an index, and who may use each: one process at a time.

A build is a folder with a name that is never given again, so a new build always starts with new files. Its lock is a
SQLite lock on a file beside it: the system lets go of it when a process ends, however it ends.
"""

import contextlib
import re
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import apsw

from holdfast.stores.chroma.protocol import IndexBusy, IndexUnavailable

_LOCK = ".lock"
_IS_BUILD = re.compile(r"[0-9a-f]{16}(\.lock)?")


class BuildLock:
    """The right to use a build, until it is released."""

    def __init__(self, build: Path) -> None:
        """Take it; raises `IndexBusy` while another process has it."""
        try:
            build.parent.mkdir(parents=True, exist_ok=True)
            self._connection = apsw.Connection(str(_lock_of(build)))
        except (OSError, apsw.Error) as error:
            raise IndexUnavailable(f"{build.parent} cannot be used: {error}") from error
        try:
            self._connection.pragma("journal_mode", "memory")  # nothing is ever written, and no other file is wanted
            self._connection.execute("BEGIN EXCLUSIVE")
        except apsw.Error as error:
            self._connection.close()
            if isinstance(error, apsw.BusyError):
                raise IndexBusy(f"another process uses {build}") from error
            raise IndexUnavailable(f"{_lock_of(build)} cannot be locked: {error}") from error

    def release(self) -> None:
        """Let others have it."""
        self._connection.close()


def folder_of(store: Path) -> Path:
    """Return the folder beside a store's file."""
    return store.with_name(store.name + ".chroma")


def remove_stale(folder: Path, current: Callable[[], Collection[str]]) -> bool:
    """Remove the builds that do not count any more; False while another process has one of them."""
    if not folder.is_dir():
        return True
    names = {entry.name.removesuffix(_LOCK) for entry in folder.iterdir() if _IS_BUILD.fullmatch(entry.name)}
    stale = names - set(current())  # asked after the names were read: what is begun meanwhile is not among them
    left = [name for name in sorted(stale) if not _remove(folder / name)]
    return not left


def _remove(build: Path) -> bool:
    try:
        hold = BuildLock(build)
    except IndexUnavailable:
        return False
    try:
        shutil.rmtree(build, ignore_errors=True)
    finally:
        hold.release()
    gone = not build.exists()
    if gone:
        with contextlib.suppress(OSError):  # on some systems not while someone looks at it; the next one to clean up will
            _lock_of(build).unlink(missing_ok=True)
    return gone


def _lock_of(build: Path) -> Path:
    return build.with_name(build.name + _LOCK)
