"""Create files and folders that only their owner can read. On Windows, the permissions of the parent folder apply instead."""

import contextlib
import os
import stat
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def create_folder(path: Path) -> None:
    """Create a folder and its missing parents with mode 0700. Existing folders keep their mode."""
    missing = [path, *path.parents]
    for folder in reversed(missing[: next((at for at, each in enumerate(missing) if each.exists()), len(missing))]):
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not path.is_dir():
        path.mkdir()  # raises the error that fits: a file has this name


def create_file(path: Path) -> bool:
    """Create an empty file with mode 0600. Return False if the path exists. An existing file is not opened.

    Opening and closing an existing SQLite file would release the locks that this process holds on it.
    """
    if path.exists():
        return False
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
        return True
    return False


def readers(path: Path) -> str | None:
    """Return who can read a file besides its owner: ``"everyone"``, ``"its group"``, or None for nobody."""
    if os.name == "nt":
        return None
    mode = path.stat().st_mode
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        return "everyone"
    return "its group" if mode & (stat.S_IRGRP | stat.S_IWGRP) else None
