"""Temporary folders with user data, such as the file of an import, that are removed even if their process was killed.

A process locks its folder while it uses it. If the process is killed, its folder stays, but the operating system releases
the lock. The next server start or import of the same user account finds the folder without a lock and removes it.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from holdfast.runtime.file_locks import lock_file
from holdfast.runtime.private_files import FOLDER_MODE

_PREFIX: Final = "holdfast-private-"
_LOCK: Final = "lock"
_FILES: Final = "files"
"""Name of the folder with the user data, next to the lock file. It is created after the file was locked."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """Context manager: yield a new, empty folder that only its owner can open, and remove it at the end of the ``with`` block.

    Folders of killed processes are removed first.
    """
    remove_abandoned_folders()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = lock_file(folder / _LOCK)
    try:
        (folder / _FILES).mkdir(mode=FOLDER_MODE)
        yield folder / _FILES
    finally:
        _remove(folder, lock)


def remove_abandoned_folders() -> None:
    """Remove the folders that killed processes of this user account have left. Folders of running processes stay."""
    try:
        parent = Path(tempfile.gettempdir())
    except FileNotFoundError:  # there is no folder for temporary files
        return
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # its process has just removed it
            if _is_own(folder) and (folder / _FILES).exists() and (lock := lock_file(folder / _LOCK)) is not None:
                _remove(folder, lock)


def _is_own(folder: Path) -> bool:
    """Return False for symbolic links and for folders of other users, which could make this process remove other files."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and (os.name == "nt" or found.st_uid == os.getuid())


def _remove(folder: Path, lock: IO[bytes] | None) -> None:
    """Remove a folder that this process has locked. ``lock`` is None if the file system has no locks.

    If a file in it cannot be removed, the lock file stays as well, and the next process tries again.
    """
    shutil.rmtree(folder / _FILES, ignore_errors=True)
    if lock is not None:
        lock.close()  # Windows does not remove open files
    if not (folder / _FILES).exists():
        shutil.rmtree(folder, ignore_errors=True)
