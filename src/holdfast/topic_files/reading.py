"""Reading the folder: which files are not as they were, and which of those can be read at all."""

import codecs
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.learning.topics.page_names import INDEX_FILE
from holdfast.topic_files.folder import Folder, Stamp
from holdfast.topic_files.index import parse_index
from holdfast.topic_files.last_agreed import Record, bytes_mark, file_key
from holdfast.topic_files.markdown import mark, parse_page
from holdfast.topic_files.record import Doubt, File

MAX_UNCONFIRMED_BYTES: Final = 1024 * 1024
"""Bytes a file may have that is read without a question."""
MAX_FILE_BYTES: Final = 16 * MAX_UNCONFIRMED_BYTES
"""Bytes beyond which it is not read at all, whatever the answer."""


@dataclass(slots=True, kw_only=True)
class FolderChanges:
    """What differs from the record."""

    pages: dict[str, File] = field(default_factory=dict)
    index: dict[str, File] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    missing_index: set[str] = field(default_factory=set)
    doubts: list[Doubt] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Files a person said do not count, with the marks of their bytes."""
    stamps: dict[str, Stamp] = field(default_factory=dict)
    """What the files that count looked like when they were read."""

    @property
    def is_empty(self) -> bool:
        """Whether everything is as it was."""
        return not (self.pages or self.index or self.missing or self.missing_index or self.doubts or self.refused)


def read(folder: Folder, record: Record, answers: Mapping[str, bool]) -> FolderChanges:
    """Read every file, and keep what is not as the record has it; what is being written to is left for the next time."""
    reading = FolderChanges()
    listing = folder.listing()
    for name, stamp in listing.items():
        _read_one(folder, name, stamp, reading, record=record, answers=answers)
    keys = {file_key(name) for name in listing}
    reading.missing = {key for key in record.pages if key not in keys}
    reading.missing_index = {key for key in record.index if key not in keys}
    return reading


def settle(folder: Folder, reading: FolderChanges, seconds: float) -> None:
    """Wait a moment, and leave out what has changed meanwhile: someone is still writing it."""
    if not reading.stamps:
        return
    time.sleep(seconds)
    for name, stamp in reading.stamps.items():
        if folder.stamp(name) != stamp:
            key = file_key(name)
            reading.pages.pop(key, None)
            reading.index.pop(key, None)
            reading.refused.pop(key, None)
            reading.doubts = [doubt for doubt in reading.doubts if doubt.file != key]


def _read_one(
    folder: Folder, name: str, stamp: Stamp, reading: FolderChanges, *, record: Record, answers: Mapping[str, bool]
) -> None:
    key = file_key(name)
    known = (record.index if name == INDEX_FILE else record.pages).get(key)
    if stamp.size > MAX_FILE_BYTES:
        reading.doubts.append(Doubt(file=key, why="too big", sha=mark(str(stamp))))
        return
    data = folder.read(name)
    if data is None or (known is not None and known.sha == bytes_mark(data)):
        return
    reading.stamps[name] = stamp
    sha, text = bytes_mark(data), decode(data)
    if len(data) > MAX_UNCONFIRMED_BYTES and not _accepted(Doubt(file=key, why="too big", sha=sha), answers, reading):
        return
    if text is None:
        if not _accepted(Doubt(file=key, why="not text", sha=sha), answers, reading):
            return
        text = decode_anyhow(data)
    if known is None and not text.strip():
        return  # an empty new file is not a page yet
    if name == INDEX_FILE:
        reading.index[key] = File(page=parse_index(text), sha=sha, stem=INDEX_FILE)
    else:
        reading.pages[key] = File(page=parse_page(text), sha=sha, stem=name.rpartition(".")[0])


def _accepted(doubt: Doubt, answers: Mapping[str, bool], reading: FolderChanges) -> bool:
    answer = answers.get(doubt.id)
    if answer is None:
        reading.doubts.append(doubt)
    elif not answer:
        reading.refused[doubt.file] = doubt.sha
    return bool(answer)


def decode(data: bytes) -> str | None:
    """Return a file's text, or None if it holds what no text does."""
    for start, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"), (b"", "utf-8-sig")):
        if data.startswith(start):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                return None
            return None if "\0" in text else text
    return None


def decode_anyhow(data: bytes) -> str:
    """Return a text for any bytes: as UTF-8, else as the old Windows set, without what no text holds."""
    kept = data.replace(b"\0", b"")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return kept.decode(encoding)
        except UnicodeDecodeError:
            continue
    return kept.decode("latin-1")
