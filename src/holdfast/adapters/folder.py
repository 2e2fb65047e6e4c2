"""Files of a memory that are also in a folder on disk, where people can read and edit them.

The folder and the memory are synchronized before and after each command. A separate memory records the hashes of the
files at the last synchronization. A comparison with these hashes shows whether a file has changed on disk, in the
memory, or in both.
"""

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import holdfast
from holdfast.adapters.files import ROOT, FileError, MemoryFiles, Parts, indexed, parts_of
from holdfast.adapters.shared import ITEM, Owner

_TEMPORARY = ".holdfast-"
"""Start of the names of files that are being written."""
_NOBODY: Owner = {"user": None, "app": None, "agent": None}


class FolderFiles(MemoryFiles):
    """The files below ``/memories``. They are stored as memories in Holdfast, and also as files in a folder on disk."""

    def __init__(self, memory: holdfast.Engine, label: str, owner: Owner, folder: Path) -> None:
        """Keep the files of ``owner`` in namespaces that start with ``label``, and in ``folder``."""
        super().__init__(memory, label, owner)
        self.folder = folder
        self._lock = threading.RLock()
        self._state_key = f"{self._root} {folder.absolute()}"
        _make_folders(folder)

    # Commands

    def view(self, path: str, lines: tuple[int, int] | None = None) -> str:
        """Show a folder up to two levels deep, or a file with line numbers."""
        return self._in_step(super().view, lines, paths=[path])

    def create(self, path: str, text: str) -> str:
        """Create a file."""
        return self._in_step(super().create, text, paths=[path])

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text in a file. Raise FileError unless the text occurs exactly once."""
        return self._in_step(super().str_replace, old, new, paths=[path])

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert a text after a line of a file."""
        return self._in_step(super().insert, line, text, paths=[path])

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all its files."""
        return self._in_step(super().delete, paths=[path])

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a folder with all its files."""
        return self._in_step(super().rename, paths=[old_path, new_path])

    def clear(self) -> str:
        """Delete all files."""
        return self._in_step(super().clear, paths=[])

    def place(self, path: str) -> Path:
        """Return the location on disk of a path below ``/memories``, with symbolic links resolved.

        Raise FileError if the location is outside the folder.
        """
        root = self.folder.resolve()
        try:
            found = root.joinpath(*parts_of(path)).resolve()
            with suppress(FileNotFoundError, NotADirectoryError):
                found.lstat()
        except (OSError, ValueError) as error:
            raise FileError(f"The path {path} is not possible on disk: {error}") from error
        if not found.is_relative_to(root):
            raise FileError(f"Path {path} would escape {ROOT} directory")
        return found

    def _in_step(self, command: Callable[..., str], *arguments: object, paths: list[str]) -> str:
        """Run a command. Before and after it, synchronize Holdfast with the folder on disk.

        Symbolic links in ``paths`` are resolved before the command runs.
        """
        with self._lock:
            real = [self._without_links(path) for path in paths]
            self.sync()
            try:
                return command(*real, *arguments)
            finally:
                self.sync()

    def _without_links(self, path: str) -> str:
        parts = self.place(path).relative_to(self.folder.resolve()).parts
        return path if parts == parts_of(path) else "/".join([ROOT, *parts])

    # Keeping the folder and the memory in step

    def sync(self) -> None:
        """Copy changed files from the folder on disk to Holdfast, and from Holdfast to the folder."""
        with self._lock:
            _make_folders(self.folder)
            known = self._state()  # read first, so that no later change is missed
            stored = {self._path(file): file for file in self._files(())}
            on_disk = self._read_folder()
            for parts in sorted({*stored, *on_disk}):
                self._sync_file(parts, known.get(_hash("/".join(parts))), stored.get(parts), on_disk.get(parts))
            self._keep_state(known)

    def _sync_file(self, parts: Parts, known: str | None, stored: holdfast.Memory | None, text: str | None) -> None:
        before = None if stored is None else stored.text
        if before == text:
            return
        if _unchanged(text, known):  # changed or deleted in the memory
            self._write(parts, before)
        elif stored is None and text is not None:
            self._store([(parts, text)], exists=f"{parts[-1]} was created twice. Try again.")
        elif stored is not None and text is None:
            if _unchanged(before, known):
                self._forget([stored])
            else:
                self._write(parts, before)
        elif stored is not None and text is not None:
            if not _unchanged(stored.text, known):  # changed on disk and in the memory: keep both versions
                other = (*parts[:-1], f"{parts[-1]}.conflict-{_hash(stored.text)[:8]}")
                with suppress(FileError):  # it is there already
                    self._store([(other, stored.text)], exists="")
                self._write(other, stored.text)
            with suppress(holdfast.RevisionConflict, holdfast.NotFound):  # the next synchronization sees the change
                self.memory.revise(stored.id, text, index=indexed(text), if_revision=stored.revision)

    def _state(self) -> dict[str, str]:
        """Return the state at the last synchronization: for each file, the hash of its path and the hash of its text."""
        found = self.memory.memories(kind=ITEM.name, key=self._state_key, namespace=(f"{self._root} folder",), limit=1, **_NOBODY)
        return dict(json.loads(found[0].text)) if found else {}

    def _keep_state(self, known: dict[str, str]) -> None:
        """Record the state after a synchronization: for each file that is equal on disk and in the memory, its hashes.

        ``known`` is the state recorded before. A file of the memory that is missing or different on disk keeps its hashes
        from ``known``. The recorded state has no owner, so it stays when the owner's data is erased. It contains only
        hashes, no file names or texts.
        """
        state = {}
        on_disk = self._read_folder()
        for file in self._files(()):
            parts = self._path(file)
            key = _hash("/".join(parts))
            if on_disk.get(parts) == file.text:
                state[key] = _hash(file.text)
            elif key in known:
                state[key] = known[key]
        if state != known:
            self.memory.remember(
                json.dumps(state), kind=ITEM.name, key=self._state_key, namespace=(f"{self._root} folder",), index=[], **_NOBODY
            )

    def _read_folder(self) -> dict[Parts, str]:
        """Return the text files in the folder. Symbolic links, and files that are not UTF-8 text, are left out."""
        found: dict[Parts, str] = {}
        for place, _, names in os.walk(self.folder):
            for name in names:
                path = Path(place, name)
                if name.startswith(_TEMPORARY) or path.is_symlink() or not path.is_file():
                    continue
                with suppress(UnicodeDecodeError, FileNotFoundError):
                    found[path.relative_to(self.folder).parts] = path.read_bytes().decode("utf-8")
        return found

    def _write(self, parts: Parts, text: str | None) -> None:
        """Write a file to disk atomically, or delete it if ``text`` is None. Only the user can read the file.

        Folders that are empty after the deletion are removed, too.
        """
        path = self.place("/".join([ROOT, *parts]))
        if text is None:
            path.unlink(missing_ok=True)
            for folder in path.parents:  # folders exist while they have files
                if folder == self.folder.resolve():
                    break
                with suppress(OSError):
                    folder.rmdir()
            return
        _make_folders(path.parent)
        handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _unchanged(text: str | None, known: str | None) -> bool:
    return known == (None if text is None else _hash(text))


def _make_folders(folder: Path) -> None:
    """Create a folder and its missing parents. Only the user can open the new folders, whatever the umask is."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # somebody else created it
            each.mkdir(mode=0o700)
            each.chmod(0o700)
