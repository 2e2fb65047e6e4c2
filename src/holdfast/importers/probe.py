"""Quick look at a file or folder, to detect its format."""

import json
import zipfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.importers.archives import opened
from holdfast.importers.databases import is_database, tables
from holdfast.importers.lines import json_items
from holdfast.importers.readers.chatgpt import files
from holdfast.importers.readers.letta import parse

_HEAD = 256 * 1024
"""Number of bytes that are read to recognize a format."""
_MAX_DOCUMENT = 64 << 20
"""Maximum size of a file that is parsed as one JSON object to recognize it."""


class Probe:
    """A file or folder whose format must be detected."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def head(self) -> bytes:
        """The first bytes of a file."""
        if not self.path.is_file():
            return b""
        with self.path.open("rb") as file:
            return file.read(_HEAD)

    @cached_property
    def text(self) -> str:
        """The first bytes of a file as text, or an empty text if the file is binary."""
        return "" if b"\x00" in self.head else self.head.decode("utf-8-sig", "replace")

    @cached_property
    def first_line(self) -> Any:
        """The first line of a file, parsed as JSON, or None if that fails. The line may be longer than :attr:`head`."""
        if not self.text.lstrip().startswith("{"):
            return None
        with self.path.open("rb") as file:
            lines = (line for line in iter(lambda: file.readline(_MAX_DOCUMENT), b"") if line.strip())
            try:
                return json.loads(next(lines, b"").decode("utf-8-sig"))
            except ValueError:
                return None

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """The tables of a SQLite database with their columns. Empty for other files."""
        return tables(self.path) if is_database(self.head) else {}

    def has_table(self, name: str, columns: frozenset[str]) -> bool:
        """Return True if the database has a table with these columns."""
        return name in self.tables and columns <= self.tables[name]

    @cached_property
    def first_item(self) -> Any:
        """The first item of the list in a JSON file, or the first conversation in an archive or folder.

        None if there is no item.
        """
        is_list = self.text.lstrip().startswith("[")
        if not (is_list or self.path.is_dir() or zipfile.is_zipfile(self.path)):
            return None
        for name in [self.path.name] if is_list else files(self.path):
            with opened(self.path, name) as file:
                try:
                    return next((item for _, item in json_items(file, name)), None)
                except InvalidInput:
                    return None
        return None

    @cached_property
    def document(self) -> Any:
        """The object in a JSON file. None if the file is no JSON object, or is larger than ``_MAX_DOCUMENT``.

        The object may be encoded as a JSON string.
        """
        if not self.text.lstrip().startswith(("{", '"{')) or self.path.stat().st_size > _MAX_DOCUMENT:
            return None
        try:
            return parse(self.path.read_text("utf-8-sig"))
        except ValueError:
            return None
