"""Access to the folder of topic pages. No file outside the folder is read or written, and no link is followed."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from holdfast.errors import InvalidInput
from holdfast.learning.topics.page_names import INDEX_FILE, is_page
from holdfast.runtime.private_files import FILE_MODE, create_folder

_TEMPORARY: Final = (".holdfast-", ".tmp")
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Stamp(NamedTuple):
    """File metadata that shows whether a file has changed, without reading it."""

    modified: int
    size: int
    inode: int


class Folder:
    """Access to the files of one folder. Subfolders, links and special files are ignored."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()

    def listing(self) -> dict[str, Stamp]:
        """Return the stamps (see `Stamp`) of the pages and the index, keyed and sorted by file name."""
        found: dict[str, Stamp] = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(self.path) as entries:
            for entry in entries:
                if is_page(entry.name) or entry.name == INDEX_FILE:
                    stamp = self.stamp(entry.name)
                    if stamp is not None:
                        found[entry.name] = stamp
        return dict(sorted(found.items()))

    def names(self) -> set[str]:
        """Return all names in the folder, including those of subfolders and links."""
        with contextlib.suppress(FileNotFoundError):
            return {path.name for path in self.path.iterdir()}
        return set()

    def stamp(self, name: str) -> Stamp | None:
        """Return the stamp (see `Stamp`) of a regular file, or None if there is no such file."""
        try:
            status = os.lstat(self._inside(name))
        except FileNotFoundError:
            return None
        return Stamp(status.st_mtime_ns, status.st_size, status.st_ino) if stat.S_ISREG(status.st_mode) else None

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes, or None if the file is missing, is unreadable, or changed while it was read."""
        before = self.stamp(name)
        if before is None:
            return None
        try:
            handle = os.open(self._inside(name), _READ)
        except (FileNotFoundError, PermissionError):  # on Windows, an editor may lock it
            return None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read()
        return data if self.stamp(name) == before and len(data) == before.size else None

    def is_linked(self, name: str) -> bool:
        """Return True if a file has a second name (a hard link), which may be outside the folder."""
        with contextlib.suppress(FileNotFoundError):
            return os.lstat(self._inside(name)).st_nlink > 1
        return False

    def prepare(self, data: bytes, *, like: str | None = None) -> Path:
        """Write bytes to a temporary file in the folder, sync it to disk, and return its path. :meth:`put` gives it its final name.

        If a file named ``like`` exists, the temporary file gets the same permissions.
        """
        create_folder(self.path)
        path = self.path / f"{_TEMPORARY[0]}{secrets.token_hex(8)}{_TEMPORARY[1]}"
        with os.fdopen(os.open(path, _WRITE, FILE_MODE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if like is not None:
            with contextlib.suppress(FileNotFoundError):
                path.chmod(stat.S_IMODE(os.lstat(self._inside(like)).st_mode))
        return path

    def put(self, prepared: Path, name: str) -> None:
        """Rename a prepared file to its final name, in one atomic step."""
        prepared.replace(self._inside(name))

    def remove(self, name: str) -> None:
        """Remove a file from the folder."""
        self._inside(name).unlink(missing_ok=True)

    def settle(self) -> None:
        """Sync the folder to disk, so that renames and removals survive a power cut. Does nothing on Windows."""
        with contextlib.suppress(PermissionError, FileNotFoundError):  # Windows cannot open folders
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def sweep(self) -> None:
        """Remove the temporary files that a killed process has left."""
        for name in self._temporary():
            (self.path / name).unlink(missing_ok=True)

    def _temporary(self) -> Iterator[str]:
        prefix, suffix = _TEMPORARY
        return (name for name in sorted(self.names()) if name.startswith(prefix) and name.endswith(suffix))

    def _inside(self, name: str) -> Path:
        """Return the path of a name in this folder. Raise ``InvalidInput`` if the name is not a plain file name."""
        forbidden = {"/", "\0", os.sep, *((os.altsep, ":") if os.altsep else ())}
        if name in ("", ".", "..") or any(character in name for character in forbidden):
            raise InvalidInput(f"{name!r} is not the name of a file in {self.path}. Use a name without path separators.")
        return self.path / name
