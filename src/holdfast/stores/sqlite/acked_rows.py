"""A small file next to the store with the number of the last row that Holdfast reported as stored.

If SQLite's write-ahead log is removed or cut off, SQLite opens an older state of the store without an error. The
highest row number in the store is then lower than the number in this file, and ``holdfast doctor`` reports it. This
file is not synced to disk, so after a power cut its number may be too low, but never too high.
"""

import contextlib
import logging
import os
from pathlib import Path

from holdfast.runtime.private_files import FILE_MODE
from holdfast.stores.sql.connection import Executor, fetch_value

__all__ = ["SUFFIX", "AckedRows", "last_item"]

log = logging.getLogger("holdfast")
SUFFIX = ".acked"
_DIGITS = 20


def last_item(connection: Executor) -> int:
    """Return the highest row number that the store has ever assigned."""
    return int(fetch_value(connection, "SELECT value FROM sequences WHERE name = 'item'") or 0)


class AckedRows:
    """The file that records the number of the last row whose write was confirmed to a caller.

    A check compares this number with the last row in the store. If the file is missing or damaged, the number is unknown.
    """

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(store.name + SUFFIX)
        self._noted = 0

    def note(self, item: int) -> None:
        """Record the number of a row whose write is confirmed to a caller. A number that is not the highest so far is ignored.

        A failure is only logged, because only a later check needs the number.
        """
        if item <= self._noted:
            return
        self._noted = item
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, FILE_MODE)
            try:
                os.write(handle, f"{item:0{_DIGITS}}".encode())
            finally:
                os.close(handle)
        except OSError as error:
            log.debug("%s could not be written: %s", self._path, error)

    def read(self) -> int | None:
        """Return the number of the last confirmed row, or None if the file that records it is missing or damaged."""
        with contextlib.suppress(OSError, ValueError):
            return int(self._path.read_bytes()[:_DIGITS])
        return None

    def forget(self) -> None:
        """Remove the file that records the last confirmed row. Call this when another store replaces this one."""
        self._noted = 0
        self._path.unlink(missing_ok=True)
