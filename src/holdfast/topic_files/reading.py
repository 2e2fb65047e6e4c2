"""Read the folder: find the files that changed since the last sync, and decode them."""

import codecs
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.learning.topics.page_names import INDEX_FILE
from holdfast.topic_files.folder import Folder, Stamp
from holdfast.topic_files.index import parse_index
from holdfast.topic_files.last_agreed import Record, bytes_digest, file_key
from holdfast.topic_files.markdown import digest, parse_page
from holdfast.topic_files.record import File, PendingQuestion

MAX_UNCONFIRMED_BYTES: Final = 1024 * 1024
"""Maximum size in bytes of a file that is imported without asking the user. A larger file waits until the user confirms it."""
MAX_FILE_BYTES: Final = 16 * MAX_UNCONFIRMED_BYTES
"""Maximum size in bytes of a file. A larger file is not read, even if the user confirms it."""


@dataclass(slots=True, kw_only=True)
class FolderChanges:
    """The files that were changed or deleted since the last sync. They are identified by the hash of the file name."""

    pages: dict[str, File] = field(default_factory=dict)
    index: dict[str, File] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    missing_index: set[str] = field(default_factory=set)
    questions: list[PendingQuestion] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Files whose edits the user rejected. Maps the hash of the file name to the hash of the content."""
    stamps: dict[str, Stamp] = field(default_factory=dict)
    """Stamps (see `Stamp`) of the changed files at the time they were read, by file name."""

    @property
    def is_empty(self) -> bool:
        """True if nothing has changed."""
        return not (self.pages or self.index or self.missing or self.missing_index or self.questions or self.refused)


def read(folder: Folder, record: Record, answers: Mapping[str, bool]) -> FolderChanges:
    """Read all files of a folder, and return the changes since the last sync. ``record`` is the state of the files at that sync.

    A file that is being written or cannot be read is left for the next sync. A new file without text is ignored. A file that
    is large, is not text or has a second hard link is imported only if the user agrees. The result then contains a question
    about the file, unless the user has already answered. A file with more than ``MAX_FILE_BYTES`` bytes is never imported,
    and the result always contains a question about it. ``answers`` maps question ids to the user's answers.
    """
    reading = FolderChanges()
    listing = folder.listing()
    for name, stamp in listing.items():
        _read_one(folder, name, stamp, reading, record=record, answers=answers)
    keys = {file_key(name) for name in listing}
    reading.missing = {key for key in record.pages if key not in keys}
    reading.missing_index = {key for key in record.index if key not in keys}
    return reading


def settle(folder: Folder, reading: FolderChanges, seconds: float) -> None:
    """Wait ``seconds``, then drop the files from ``reading`` that have changed meanwhile, because they are still being written."""
    if not reading.stamps:
        return
    time.sleep(seconds)
    for name, stamp in reading.stamps.items():
        if folder.stamp(name) != stamp:
            key = file_key(name)
            reading.pages.pop(key, None)
            reading.index.pop(key, None)
            reading.refused.pop(key, None)
            reading.questions = [question for question in reading.questions if question.file != key]


def _read_one(
    folder: Folder, name: str, stamp: Stamp, reading: FolderChanges, *, record: Record, answers: Mapping[str, bool]
) -> None:
    key = file_key(name)
    known = (record.index if name == INDEX_FILE else record.pages).get(key)
    if stamp.size > MAX_FILE_BYTES:
        reading.questions.append(PendingQuestion(file=key, why="too big", sha=digest(str(stamp))))
        return
    data = folder.read(name)
    if data is None or (known is not None and known.sha == bytes_digest(data)):
        return
    reading.stamps[name] = stamp
    sha, text = bytes_digest(data), decode(data)
    if folder.is_linked(name) and not _accepted(PendingQuestion(file=key, why="linked", sha=sha), answers, reading):
        return
    if len(data) > MAX_UNCONFIRMED_BYTES and not _accepted(PendingQuestion(file=key, why="too big", sha=sha), answers, reading):
        return
    if text is None:
        if not _accepted(PendingQuestion(file=key, why="not text", sha=sha), answers, reading):
            return
        text = decode_leniently(data)
    if known is None and not text.strip():
        return  # an empty new file is not a page yet
    if name == INDEX_FILE:
        reading.index[key] = File(page=parse_index(text), sha=sha, stem=INDEX_FILE)
    else:
        reading.pages[key] = File(page=parse_page(text), sha=sha, stem=name.rpartition(".")[0])


def _accepted(question: PendingQuestion, answers: Mapping[str, bool], reading: FolderChanges) -> bool:
    answer = answers.get(question.id)
    if answer is None:
        reading.questions.append(question)
    elif not answer:
        reading.refused[question.file] = question.sha
    return bool(answer)


def decode(data: bytes) -> str | None:
    """Decode a file as UTF-16 if it begins with a UTF-16 byte order mark, otherwise as UTF-8.

    Return None if that fails, or if the text contains a NUL character.
    """
    for start, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"), (b"", "utf-8-sig")):
        if data.startswith(start):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                return None
            return None if "\0" in text else text
    return None


def decode_leniently(data: bytes) -> str:
    """Decode any bytes. UTF-8, Windows-1252 and Latin-1 are tried in this order. NUL bytes are removed."""
    kept = data.replace(b"\0", b"")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return kept.decode(encoding)
        except UnicodeDecodeError:
            continue
    return kept.decode("latin-1")
