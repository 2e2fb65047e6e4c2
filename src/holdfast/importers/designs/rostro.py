"""Read the data of the design Rostro: ``memory.db``, and next to it the topic pages and the index of recent topics.

A conclusion (a memory of Rostro) is in the database and often also on a topic page. It is imported once.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from holdfast.errors import InvalidInput
from holdfast.importers.databases import rows
from holdfast.importers.fields import moment
from holdfast.importers.records import Note, Record
from holdfast.importers.texts import read_text
from holdfast.runtime.regex import regex

DATABASE = "memory.db"
COLUMNS = frozenset({"id", "text", "embedding", "topic", "created_at"})
_LINE = regex(r"\s*[-*+]\s+(.+?)\s*(?:\((\d{4}-\d{2}-\d{2})\))?\s*")
_INDEX = "index.txt"


def database(path: Path) -> Path:
    """Return the database in a data folder. If the path is a file, return the path itself."""
    return path / DATABASE if path.is_dir() else path


def read_rostro(path: Path) -> Iterator[Record]:
    """Yield the conclusions (Rostro's memories) in the database, then those on the topic pages, then the recent topics.

    A conclusion that is in both places is yielded twice. The importer skips the repetition.
    """
    file = database(path)
    if file.is_file():
        for row in rows(file, "SELECT id, text, topic, created_at FROM memories ORDER BY id"):
            yield Note(
                id=str(row["id"]),
                text=str(row["text"]),
                kind="conclusion",
                topic=row["topic"] or None,
                created_at=moment(row["created_at"]),
            )
    folder = file.parent / "topics"
    for page in sorted(folder.glob("*.md")):
        yield from _page(page)
    if (folder / _INDEX).is_file():
        yield from _recent(folder / _INDEX)


def _page(page: Path) -> Iterator[Note]:
    for line in read_text(page).splitlines():
        if found := _LINE.fullmatch(line):
            yield Note(
                id=f"topics/{page.name}#{_digest(found[1])}",
                text=found[1],
                kind="conclusion",
                topic=page.stem,
                created_at=moment(found[2]),
            )


def _recent(index: Path) -> Iterator[Note]:
    """Yield the recent topics from their index file. Each line of the file has the form ``TIME|TOPIC|SUMMARY``."""
    for number, line in enumerate(read_text(index).splitlines(), 1):
        if not line.strip():
            continue
        time, _, rest = line.partition("|")
        topic, bar, summary = rest.partition("|")
        try:
            at = moment(time)
        except InvalidInput as error:
            raise InvalidInput(f"{index.name}, line {number}: {error} Nothing was imported.") from error
        if not bar or at is None:
            raise InvalidInput(f"{index.name}, line {number}: expected TIME|TOPIC|SUMMARY. Nothing was imported.")
        yield Note(
            id=f"topics/{_INDEX}#{time}|{topic}",
            text=summary.strip(),
            kind="recent",
            other_kind="summary",
            key=f"import:{time.strip()}",
            topic=topic.strip() or None,
            created_at=at,
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
