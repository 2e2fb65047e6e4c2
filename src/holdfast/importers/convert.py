"""Convert the store of another program in place: its file is renamed, and a new store gets the old path."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

_SUFFIXES = ("", "-wal", "-shm", "-journal")


@contextmanager
def moved_aside(file: Path, format: str) -> Iterator[Path]:
    """Context manager: rename a database, such as ``memory.db`` to ``memory.rumi.db``, and yield the new path.

    ``format`` is the name of the database's format, which becomes part of the new name. The database's write-ahead log
    is renamed, too. If the ``with`` block raises an error, the store that was created at the old path is removed, and
    the database gets its old name back.
    """
    names = (file.with_name(f"{file.stem}.{format}{f'-{number}' if number else ''}{file.suffix}") for number in count())
    kept = next(name for name in names if not name.exists())
    _move(file, kept)
    try:
        yield kept
    except BaseException:
        for suffix in _SUFFIXES:
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        _move(kept, file)
        raise


def _move(file: Path, target: Path) -> None:
    for suffix in _SUFFIXES:
        part = Path(f"{file}{suffix}")
        if part.exists():
            part.rename(f"{target}{suffix}")
