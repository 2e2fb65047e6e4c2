"""Keeps some disk space free, so that data can be erased and forgotten even if the disk is full.

Removing rows needs space: SQLite first writes the changed pages to its log. When disk space gets low, a reserve file is created
next to the store. If the disk is full, the reserve file is deleted during an erasure and created again afterwards.
"""

import contextlib
import logging
import os
import shutil
import time
from pathlib import Path

from holdfast.runtime.private_files import FILE_MODE

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

log = logging.getLogger("holdfast")
_LOW_BYTES = 1 << 30
"""If fewer bytes than this are free on the disk, a reserve file is created."""
_VERY_LOW_BYTES = 64 << 20
"""If fewer bytes than this are free on the disk, the write-ahead log is kept small."""
_MAX_RESERVE_BYTES = 4 << 20
_MIN_RESERVE_BYTES = 32 << 10
_WATCH_SECONDS = 5.0
_CHECKPOINT_PAGES, _CHECKPOINT_PAGES_IF_LOW = 1000, 32


def file_size_limit() -> int | None:
    """Return the maximum size of a file that this process may write (``ulimit -f``), in bytes. None if there is no limit."""
    if resource is None:
        return None
    limit: int = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


class DiskSpace:
    """Watches the free space on the disk of a store, and manages the reserve file.

    The reserve file occupies some disk space. If the disk is full, the file is deleted, so that data can still be erased.
    """

    def __init__(self, store: Path) -> None:
        self.reserve = store.with_name(store.name + ".reserve")
        self._next_look = 0.0
        self._very_low = False

    def watch(self) -> None:
        """Create the reserve file if disk space is low. The free space is checked at most every few seconds."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _WATCH_SECONDS
            self.keep_reserve()

    @property
    def is_very_low(self) -> bool:
        """True if disk space is so low that optional files are no longer written."""
        return self._very_low

    @property
    def checkpoint_pages(self) -> int:
        """Maximum number of pages in the write-ahead log. When the log reaches it, SQLite moves the log into the file."""
        return _CHECKPOINT_PAGES_IF_LOW if self._very_low else _CHECKPOINT_PAGES

    def keep_reserve(self) -> None:
        """Create the reserve file if disk space is low and the file does not exist yet.

        The file takes at most a quarter of the free space.
        """
        free = self._free()
        self._very_low = min(free, file_size_limit() or free) < _VERY_LOW_BYTES
        size = min(_MAX_RESERVE_BYTES, free // 4)
        if free >= _LOW_BYTES or size < _MIN_RESERVE_BYTES or self.reserve.exists():
            return
        try:
            with os.fdopen(os.open(self.reserve, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as file:
                file.write(bytes(size))
        except FileExistsError:
            return
        except OSError as error:  # the disk filled up meanwhile
            log.warning("No disk space could be reserved for erasing: %s", error)
            self.release_reserve()

    def release_reserve(self) -> None:
        """Delete the reserve file, so that its disk space can be used."""
        with contextlib.suppress(OSError):
            self.reserve.unlink()

    def _free(self) -> int:
        try:
            return shutil.disk_usage(self.reserve.parent).free
        except OSError:
            return _LOW_BYTES
