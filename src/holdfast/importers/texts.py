"""Read text files of any common encoding."""

from pathlib import Path

from holdfast.errors import InvalidInput
from holdfast.types.translatable import translatable


def read_text(path: Path, name: str | None = None) -> str:
    """Return the text of a file: UTF-8, UTF-16 with a byte order mark, or Windows-1252.

    Raise InvalidInput for binary data. The error names the file by ``name``, by default its name without folders.
    """
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\x00" in data:
        raise InvalidInput(translatable("import.not_text", "{file} is not text. Nothing was imported.", file=name or path.name))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
