"""Read files that contain one JSON object per line, or one JSON value that is too large to parse at once."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from holdfast.errors import InvalidInput
from holdfast.importers.fields import Fields
from holdfast.types.translatable import translatable

_CHUNK = 1 << 20
"""Number of characters per read."""
_MAX_ITEM = 512 << 20
"""Maximum number of characters of one item of a list. A file with a longer item counts as damaged."""


def json_lines(path: Path, *, growing: bool = False) -> Iterator[tuple[int, Fields]]:
    """Yield the number and the object of each line. Blank lines are skipped.

    Set ``growing`` if another program may still be writing to the file. The last line is then skipped if it is incomplete,
    which means that it has no line end and is not valid JSON.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = translatable("import.line", "{file}, line {line}", file=path.name, line=str(number))
            try:
                fields = parse_line(line, place)
            except InvalidInput:
                if growing and not line.endswith(b"\n"):
                    return
                raise
            yield number, fields


_END = translatable("import.end", "the end of the file")


def parse_line(line: bytes, place: str) -> Fields:
    """Return the object in a line. Raise InvalidInput if the line is not a JSON object.

    ``place`` names the line in error messages, such as ``line 7``.
    """
    try:
        return Fields(json.loads(line.decode("utf-8-sig")), place)
    except UnicodeDecodeError as error:
        raise InvalidInput(translatable("import.line_not_utf8", "{place}: the line is not UTF-8.", place=place)) from error
    except ValueError as error:
        raise InvalidInput(
            translatable("import.line_not_json", "{place}: the line is not valid JSON: {error}.", place=place, error=str(error))
        ) from error


def json_items(file: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
    """Yield the position and the value of each item of a JSON list, one at a time. Positions start at 1.

    ``name`` is the name of the file, for error messages.
    """
    text = _Text(file, name)
    if text.peek() != "[":
        raise InvalidInput(
            translatable(
                "import.not_list", "{file}: expected a JSON list, found {found!r}.", file=name, found=text.peek() or _END
            )
        )
    text.skip(1)
    number = 0
    while (sign := text.peek()) != "]":
        if number and sign != ",":
            raise InvalidInput(
                translatable(
                    "import.no_comma",
                    "{file}, item {item}: expected a comma, found {found!r}.",
                    file=name,
                    item=number + 1,
                    found=sign or _END,
                )
            )
        text.skip(1 if number else 0)
        number += 1
        yield number, text.value(translatable("import.item", "{file}, item {item}", file=name, item=str(number)))


class _Text:
    """Decodes a file piece by piece, and parses JSON values from it."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._parser = json.JSONDecoder()
        self._buffer = ""
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not whitespace, or an empty text at the end."""
        while True:
            self._buffer = self._buffer.lstrip(" \t\r\n")
            if self._buffer or not self._read():
                return self._buffer[:1]

    def skip(self, count: int) -> None:
        self._buffer = self._buffer[count:]

    def value(self, place: str) -> Any:
        """Return the next JSON value. ``place`` names the file and the item in error messages."""
        self.peek()
        while True:
            try:
                value, end = self._parser.raw_decode(self._buffer)
            except ValueError as error:
                if len(self._buffer) > _MAX_ITEM or not self._read():
                    raise InvalidInput(
                        translatable("import.not_json", "{file} is not valid JSON: {error}.", file=place, error=str(error))
                    ) from error
            else:
                if end < len(self._buffer) or not self._read():  # a number at the end of the buffer may continue
                    self._buffer = self._buffer[end:]
                    return value

    def _read(self) -> bool:
        """Read the next piece into the buffer. Each piece is twice as long as the previous one.

        Return False at the end of the file.
        """
        if self._ended:
            return False
        piece = self._file.read(max(_CHUNK, len(self._buffer)))
        self._ended = not piece
        try:
            self._buffer += self._decoder.decode(piece, final=self._ended)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                translatable("import.not_utf8", "{file} is not UTF-8: {error}.", file=self._name, error=error.reason)
            ) from error
        return True
