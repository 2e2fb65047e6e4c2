"""A folder of text files, stored in a memory. Models list, read and edit the files with tools.

Each file is stored as one memory of the kind ``ITEM``. The folders of its path are the namespace, and its name is the
key. A folder exists as long as it has files.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

import holdfast
from holdfast.adapters.shared import ITEM, Owner, check_items, root_label

ROOT = "/memories"
"""Path of the root folder. All files are below it."""
MAX_LINES = 999_999
_MAX_INDEXED_CHARACTERS = 100_000
"""Maximum number of characters of a file that are searched."""
_MAX_ATTEMPTS = 20
"""Maximum number of attempts to edit a file that others edit at the same time."""
_PAGE = 200
Parts = tuple[str, ...]


class FileError(Exception):
    """A command on a file failed. The message is for the model that sent the command."""


class MemoryFiles:
    """The files below ``/memories``. Every method returns the text to show to the model, or raises FileError."""

    def __init__(self, memory: holdfast.Engine, label: str, owner: Owner) -> None:
        """Keep the files of ``owner`` in namespaces that start with ``label``."""
        self.memory = check_items(memory)
        self._owner = owner
        self._root = root_label(label, owner)

    # Commands

    def view(self, path: str, lines: tuple[int, int] | None = None) -> str:
        """Show the files of a folder up to two levels deep, or the numbered lines of a file.

        ``lines`` are the numbers of the first and the last line to show. A last line of -1 means the end of the file.
        """
        parts = parts_of(path)
        found = self._file(parts)
        if found is None:
            return self._listing(path, parts)
        every = found.text.split("\n")
        if len(every) > MAX_LINES:
            raise FileError(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
        first, last = (1, -1) if lines is None else lines
        first = max(first, 1)
        shown = every[first - 1 : None if last == -1 else last]
        return f"Here's the content of {path} with line numbers:\n{_numbered(shown, first)}"

    def create(self, path: str, text: str) -> str:
        """Create a file. Its folders need not exist."""
        parts = parts_of(path)
        if not parts or self._file(parts) is not None or self._has_files(parts):
            raise FileError(f"File {path} already exists")
        self._check_folders(path, parts)
        self._store([(parts, text)], exists=f"File {path} already exists")
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text in a file. Raise FileError unless the text occurs exactly once."""

        def edit(text: str) -> str:
            count = text.count(old)
            if count == 0:
                raise FileError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
            if count > 1:
                places = ", ".join(map(str, _lines_with(text, old)))
                raise FileError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {places}. "
                    "Please ensure it is unique"
                )
            return text.replace(old, new)

        before, after = self._edit(path, edit)
        changed = before[: before.find(old)].count("\n") + 1
        first = max(changed - 2, 1)
        shown = after.split("\n")[first - 1 : changed + 2]
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{head}\n{_numbered(shown, first)}"

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert a text after a line of a file. Line 0 means the start of the file."""

        def edit(content: str) -> str:
            lines = content.removesuffix("\n").split("\n") if content else []
            if not 0 <= line <= len(lines):
                raise FileError(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
            lines.insert(line, text.rstrip("\n"))
            return "\n".join(lines) + "\n"

        self._edit(path, edit)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all its files. This cannot be undone."""
        parts = parts_of(path)
        if not parts:
            raise FileError(f"Cannot delete the {ROOT} directory itself")
        found = self._file(parts)
        gone = [found] if found else list(self._files(parts))
        if not gone:
            raise FileError(f"The path {path} does not exist")
        self._forget(gone)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a folder with all its files, to a path that does not exist."""
        source, target = parts_of(old_path), parts_of(new_path)
        if not source:
            raise FileError(f"Cannot rename the {ROOT} directory itself")
        if not target or self._file(target) is not None or self._has_files(target):
            raise FileError(f"The destination {new_path} already exists")
        if target[: len(source)] == source:
            raise FileError(f"Cannot move {old_path} into itself")
        self._check_folders(new_path, target)
        found = self._file(source)
        moved = [found] if found else list(self._files(source))
        if not moved:
            raise FileError(f"The path {old_path} does not exist")
        new = [((*target, *self._path(each)[len(source) :]), each.text) for each in moved]
        self._store(new, exists=f"The destination {new_path} already exists")
        self._forget(moved)
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Delete all files."""
        self._forget(list(self._files(())))
        return "All memory cleared"

    # Items

    def _file(self, parts: Parts) -> holdfast.Memory | None:
        if not parts:
            return None
        namespace = (self._root, *parts[:-1])
        found = self.memory.memories(kind=ITEM.name, key=parts[-1], namespace=namespace, limit=1, **self._owner)
        return found[0] if found else None

    def _has_files(self, folder: Parts) -> bool:
        prefix = (self._root, *folder)
        return self.memory.count_memories(kind=ITEM.name, namespace_prefix=prefix, **self._owner) > 0

    def _files(self, folder: Parts) -> Iterable[holdfast.Memory]:
        """Yield all files below a folder."""
        offset = 0
        while page := self.memory.memories(
            kind=ITEM.name, namespace_prefix=(self._root, *folder), limit=_PAGE, offset=offset, **self._owner
        ):
            yield from page
            offset += len(page)

    def _path(self, file: holdfast.Memory) -> Parts:
        return (*file.namespace[1:], file.key or "")

    def _store(self, files: Iterable[tuple[Parts, str]], *, exists: str) -> None:
        """Store new files in one transaction. If one of them already exists, raise FileError with the text ``exists``."""
        new: list[holdfast.NewMemory] = [
            {
                "text": text,
                "kind": ITEM.name,
                "key": parts[-1],
                "namespace": (self._root, *parts[:-1]),
                "index": indexed(text),
                "if_revision": 0,
            }
            for parts, text in files
        ]
        try:
            self.memory.remember_all(new, **self._owner)
        except holdfast.RevisionConflict as error:
            raise FileError(exists) from error

    def _forget(self, files: Iterable[holdfast.Memory]) -> None:
        for file in files:
            with suppress(holdfast.NotFound):  # somebody else deleted it
                self.memory.forget(file.id)

    def _edit(self, path: str, edit: Callable[[str], str]) -> tuple[str, str]:
        """Change the text of a file with the function ``edit``. Return the text before and after the change.

        If another writer changes the file at the same time, ``edit`` is called again with the new text. After several
        attempts, FileError is raised.
        """
        parts = parts_of(path)
        for _ in range(_MAX_ATTEMPTS):
            found = self._file(parts)
            if found is None:
                if not parts or self._has_files(parts):
                    raise FileError(f"The path {path} is not a file.")
                raise FileError(f"The path {path} does not exist. Please provide a valid path.")
            text = edit(found.text)
            with suppress(holdfast.RevisionConflict, holdfast.NotFound):
                self.memory.revise(found.id, text, index=indexed(text), if_revision=found.revision)
                return found.text, text
        raise FileError(f"The file {path} is being edited by others. Try again.")

    def _check_folders(self, path: str, parts: Parts) -> None:
        for depth in range(1, len(parts)):
            if self._file(parts[:depth]) is not None:
                raise FileError(f"Cannot create {path}: {ROOT}/{'/'.join(parts[:depth])} is a file")

    def _listing(self, path: str, folder: Parts) -> str:
        """Return a text that lists the files and folders below a folder, up to two levels deep, with their sizes.

        ``path`` is the path of the folder as text, and ``folder`` has its parts. Raise ``FileError`` if the folder does not
        exist.

        Files and folders in these two levels whose names start with a dot are not listed. Their sizes are part of the total
        size, but not of the size of a listed folder.
        """
        sizes: dict[Parts, int] = {}
        total = 0
        for file in self._files(folder):
            size = len(file.text.encode())
            total += size
            inside = self._path(file)[len(folder) :]
            if any(name.startswith(".") for name in inside[:2]):
                continue
            for depth in range(1, min(len(inside), 2) + 1):
                entry = (*inside[:depth], "") if depth < len(inside) else inside
                sizes[entry] = sizes.get(entry, 0) + size
        if folder and not total and not self._has_files(folder):
            raise FileError(f"The path {path} does not exist. Please provide a valid path.")
        top = path.rstrip("/")
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        rows = [f"{_size(sizes[entry])}\t{top}/{'/'.join(entry)}" for entry in sorted(sizes)]
        return "\n".join([head, f"{_size(total)}\t{path}", *rows])


def parts_of(path: str) -> Parts:
    """Return the parts of a path below the root. Raise FileError if the path is not below the root."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise FileError(f"Path must start with {ROOT}, got: {path}")
    parts: list[str] = []
    for part in path.removeprefix(ROOT).split("/"):
        if part == ".." and not parts:
            raise FileError(f"Path {path} would escape {ROOT} directory")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


def _lines_with(text: str, part: str) -> list[int]:
    """Return, for each occurrence of ``part`` in a text, the number of the line in which the occurrence starts."""
    found, start = [], text.find(part)
    while start != -1:
        found.append(text.count("\n", 0, start) + 1)
        start = text.find(part, start + 1)
    return found


def _numbered(lines: Iterable[str], first: int) -> str:
    return "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(lines, first))


def indexed(text: str) -> list[str]:
    """Return the searchable part of a file's text, as a list of one text: its first 100,000 characters."""
    return [text[:_MAX_INDEXED_CHARACTERS]]


def _size(count: int) -> str:
    """Return a number of bytes as short text, such as ``12B`` or ``1.5K``."""
    size, units = float(count), iter("BKMG")
    unit = next(units)
    while size >= 1024 and unit != "G":
        size, unit = size / 1024, next(units)
    return f"{int(size)}{unit}" if size == int(size) else f"{size:.1f}{unit}"
