"""Hashes of the files in a Chroma folder, so that Chroma never opens damaged files.

Chroma's native code does not verify its graph files. If a graph file is damaged, or was only half written by a killed
process, Chroma crashes the process instead of raising an error. Chroma's SQLite file is not hashed, because Chroma checks
that file itself.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

_NAME = "manifest.json"


class Manifest:
    """The recorded hashes of the files of one build (complete version) of an index."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recorded: dict[str, tuple[int, int]] | None = None

    def is_intact(self) -> bool:
        """Return True if the files match the recorded hashes."""
        try:
            expected = json.loads((self._folder / _NAME).read_bytes())
            return bool(expected == self._hashes())
        except (OSError, ValueError):
            return False

    def renew(self) -> None:
        """Record the hashes of the files again if a file was written since they were last recorded."""
        with contextlib.suppress(OSError):  # a file was removed meanwhile, or the disk is full: the next open finds a mismatch
            present = {name: (file.stat().st_size, file.stat().st_mtime_ns) for name, file in self._files()}
            if present == self._recorded:
                return
            written = self._folder / f"{_NAME}.new"
            written.write_text(json.dumps(self._hashes(), sort_keys=True), "utf-8")
            written.replace(self._folder / _NAME)
            self._recorded = present

    def _files(self) -> Iterator[tuple[str, Path]]:
        for file in sorted(self._folder.glob("*/*")):
            if file.is_file():
                yield file.relative_to(self._folder).as_posix(), file

    def _hashes(self) -> dict[str, str]:
        found = {}
        for name, file in self._files():
            with file.open("rb") as stream:
                found[name] = hashlib.file_digest(stream, "blake2b").hexdigest()
        return found
