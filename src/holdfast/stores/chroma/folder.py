"""The folder next to a store that contains the builds of the store's Chroma index, and the locks of these builds.

A build is one complete version of the index, in a folder of its own. Folder names are never reused, so a new build always
starts with new files. Only one process at a time may use a build. The lock of a build is a SQLite lock on a file next to the
build's folder. The operating system releases the lock even if the process is killed.
"""

import contextlib
import re
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import apsw

from holdfast.runtime.private_files import create_folder
from holdfast.stores.chroma.protocol import IndexBusy, IndexUnavailable

_LOCK = ".lock"
_IS_BUILD = re.compile(r"[0-9a-f]{16}(\.lock)?")


class BuildLock:
    """An exclusive lock on one build (complete version) of the index. A process holds the lock until it calls :meth:`release`."""

    def __init__(self, build: Path) -> None:
        """Acquire the lock. Raises `IndexBusy` if another process holds it."""
        try:
            create_folder(build.parent)
            self._connection = apsw.Connection(str(_lock_of(build)))
        except (OSError, apsw.Error) as error:
            raise IndexUnavailable(f"{build.parent} cannot be used as the index folder: {error}") from error
        try:
            self._connection.pragma("journal_mode", "memory")  # nothing is ever written, so no journal file is needed
            self._connection.execute("BEGIN EXCLUSIVE")
        except apsw.Error as error:
            self._connection.close()
            if isinstance(error, apsw.BusyError):
                raise IndexBusy(f"another process is using {build}") from error
            raise IndexUnavailable(f"{_lock_of(build)} cannot be locked: {error}") from error

    def release(self) -> None:
        """Release the lock."""
        self._connection.close()


def folder_of(store: Path) -> Path:
    """Return the path of the folder that holds the Chroma index of a store. ``store`` is the path of the store's file."""
    return store.with_name(store.name + ".chroma")


def remove_stale(folder: Path, current: Callable[[], Collection[str]]) -> bool:
    """Remove all builds (versions of the index) in a folder, except those whose names ``current`` returns.

    Return False if a build could not be removed, for example because another process uses it.
    """
    if not folder.is_dir():
        return True
    names = {entry.name.removesuffix(_LOCK) for entry in folder.iterdir() if _IS_BUILD.fullmatch(entry.name)}
    stale = names - set(current())  # read after the folder, so that builds started meanwhile are not stale
    not_removed = [name for name in sorted(stale) if not _remove(folder / name)]
    return not not_removed


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
        with contextlib.suppress(OSError):  # some systems refuse while it is open; the next cleanup removes it
            _lock_of(build).unlink(missing_ok=True)
    return gone


def _lock_of(build: Path) -> Path:
    return build.with_name(build.name + _LOCK)
