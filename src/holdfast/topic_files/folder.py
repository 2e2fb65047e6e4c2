"""A folder of small files, read and written with care: nothing outside it is ever touched, and no link is followed."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from holdfast.errors import InvalidInput
from holdfast.learning.topics.page_names import INDEX_FILE, is_page

_TEMPORARY: Final = (".holdfast-", ".tmp")
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Stamp(NamedTuple):
    """By what a file is seen to have changed, without reading it."""

    modified: int
    size: int
    inode: int


class Folder:
    """One folder; what lies deeper in it, links and special files do not exist for it."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()

    def listing(self) -> dict[str, Stamp]:
        """Return the pages and the index that are there, in the order of their names."""
        found: dict[str, Stamp] = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(self.path) as entries:
            for entry in entries:
                if is_page(entry.name) or entry.name == INDEX_FILE:
                    known = self.stamp(entry.name)
                    if known is not None:
                        found[entry.name] = known
        return dict(sorted(found.items()))

    def names(self) -> set[str]:
        """Return every name in the folder, whatever it is the name of."""
        with contextlib.suppress(FileNotFoundError):
            return {path.name for path in self.path.iterdir()}
        return set()

    def stamp(self, name: str) -> Stamp | None:
        """Return what a regular file looks like from outside; None if there is none."""
        try:
            seen = os.lstat(self._inside(name))
        except FileNotFoundError:
            return None
        return Stamp(seen.st_mtime_ns, seen.st_size, seen.st_ino) if stat.S_ISREG(seen.st_mode) else None

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes, or None if it is not there, may not be read, or was written to meanwhile."""
        before = self.stamp(name)
        if before is None:
            return None
        try:
            handle = os.open(self._inside(name), _READ)
        except (FileNotFoundError, PermissionError):  # on Windows, an editor may have it for itself
            return None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read()
        return data if self.stamp(name) == before and len(data) == before.size else None

    def prepare(self, data: bytes, *, like: str | None = None) -> Path:
        """Write bytes to a new file beside the others that nobody reads yet; it is on disk when this returns."""
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / f"{_TEMPORARY[0]}{secrets.token_hex(8)}{_TEMPORARY[1]}"
        with os.fdopen(os.open(path, _WRITE, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if like is not None:
            with contextlib.suppress(FileNotFoundError):
                path.chmod(stat.S_IMODE(os.lstat(self._inside(like)).st_mode))
        return path

    def put(self, prepared: Path, name: str) -> None:
        """Let a prepared file take a name's place at once."""
        prepared.replace(self._inside(name))

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._inside(name).unlink(missing_ok=True)

    def settle(self) -> None:
        """Make sure that names that were put or removed are so on disk, where the system lets a folder be synced."""
        with contextlib.suppress(PermissionError, FileNotFoundError):  # Windows opens no folders
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def sweep(self) -> None:
        """Remove what a process left that was killed between preparing and putting."""
        for name in self._temporary():
            (self.path / name).unlink(missing_ok=True)

    def _temporary(self) -> Iterator[str]:
        begins, ends = _TEMPORARY
        return (name for name in sorted(self.names()) if name.startswith(begins) and name.endswith(ends))

    def _inside(self, name: str) -> Path:
        """Return the path of a name, which must be a plain one of this folder."""
        foreign = {"/", "\0", os.sep, *((os.altsep, ":") if os.altsep else ())}
        if name in ("", ".", "..") or any(sign in name for sign in foreign):
            raise InvalidInput(f"{name!r} is no name of a file in {self.path}.")
        return self.path / name
