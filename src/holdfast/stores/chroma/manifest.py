"""Hashes of an embedded index's files, so that damaged ones are never handed to the library that made them.

Chroma's native code trusts its graph files: given damaged ones, or some that were half written when a process was
killed, it does not raise an error but ends the process. Its SQLite file it does check.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

_NAME = "manifest.json"


class Manifest:
    """What the files of one build should be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[int, int]] | None = None

    def is_intact(self) -> bool:
        """Tell whether the files are as they were when they were last looked at."""
        try:
            expected = json.loads((self._folder / _NAME).read_bytes())
            return bool(expected == self._hashes())
        except (OSError, ValueError):
            return False

    def renew(self) -> None:
        """Look at the files again, if any was written since."""
        with contextlib.suppress(OSError):  # a file that vanishes meanwhile, or a full disk: the next open sees a difference
            present = {name: (file.stat().st_size, file.stat().st_mtime_ns) for name, file in self._files()}
            if present == self._seen:
                return
            written = self._folder / f"{_NAME}.new"
            written.write_text(json.dumps(self._hashes(), sort_keys=True), "utf-8")
            written.replace(self._folder / _NAME)
            self._seen = present

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
