"""Simulate power cuts: record every write to the store's file and its log, and rebuild the disk content after a cut.

SQLite relies on a write only after a sync. After a cut, the disk therefore contains all synced writes. Of the later
writes, it contains any part in any order: none, all, the first few, or random sectors.
"""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import apsw

from holdfast.runtime.private_files import create_file

Remains = Literal["nothing", "everything", "a beginning", "some sectors"]
"""The part of the unsynced writes that a cut leaves on disk."""

SECTOR = 512
_RECORDED = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


@dataclass(frozen=True, slots=True)
class Event:
    """An operation on a file. If ``file`` is empty, the event marks that a call to the engine has returned."""

    kind: Literal["write", "truncate", "sync", "delete", "acknowledged", "drained"]
    file: str = ""
    offset: int = 0
    """For a write, its offset in bytes. For a truncation, the new size in bytes. For an acknowledgement, the operation's number.

    For a sync or deletion, 1 if the folder was synced too, else 0.
    """
    data: bytes = b""
    id: str = ""


class RecordingVFS(apsw.VFS):
    """A wrapper of SQLite's default VFS (file layer) that records every file operation. All new connections use it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._base = apsw.vfs_names()[0]
        super().__init__("recording", self._base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if name is None or not flags[0] & _RECORDED:
            return apsw.VFSFile(self._base, name, flags)
        return _RecordingFile(self._base, name, flags, self.events)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        super().xDelete(filename, syncdir)
        self.events.append(Event("delete", Path(filename).name, offset=int(syncdir)))


class _RecordingFile(apsw.VFSFile):
    def __init__(self, base: str, name: str | apsw.URIFilename, flags: list[int], events: list[Event]) -> None:
        self._name = Path(name if isinstance(name, str) else name.filename()).name
        self._events = events
        # Like SQLite: the first sync of a log or journal that it created also syncs the folder.
        self._syncs_folder = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and not flags[0] & apsw.SQLITE_OPEN_MAIN_DB)
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._events.append(Event("write", self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._events.append(Event("truncate", self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._events.append(Event("sync", self._name, int(self._syncs_folder)))
        self._syncs_folder = False


@dataclass
class _File:
    """The synced content of a file, and the events since the last sync."""

    content: bytearray | None = None
    pending: list[Event] = field(default_factory=list)

    def apply(self, event: Event) -> None:
        if event.kind == "delete":
            self.content = None
            return
        if self.content is None:
            self.content = bytearray()
        if event.kind == "truncate":
            del self.content[event.offset :]
            return
        end = event.offset + len(event.data)
        self.content.extend(bytes(max(0, end - len(self.content))))
        self.content[event.offset : end] = event.data

    def settle(self) -> None:
        for event in self.pending:
            self.apply(event)
        self.pending.clear()
        if self.content is None:
            self.content = bytearray()

    def settle_deletions(self) -> None:
        gone = [place for place, event in enumerate(self.pending) if event.kind == "delete"]
        if gone:
            self.content = None
            del self.pending[: gone[-1] + 1]


def write_disk(events: Sequence[Event], folder: Path, *, remains: Remains, chance: random.Random, honest: bool = True) -> None:
    """Write the files that would be on the disk if the power were cut after these events.

    With ``honest=False``, the disk ignores syncs of the write-ahead log.
    """
    files: dict[str, _File] = {}
    for event in events:
        if not event.file:
            continue
        file = files.setdefault(event.file, _File())
        if event.kind != "sync":
            file.pending.append(event)
        elif honest or not event.file.endswith("-wal"):
            file.settle()
        if event.offset == 1 and event.kind in ("sync", "delete"):
            for each in files.values():
                each.settle_deletions()
    for name, file in files.items():
        for event in _left(file.pending, remains, chance):
            file.apply(event)
        if file.content is not None:
            create_file(folder / name)  # the store creates its files with this mode, and a cut does not change it
            (folder / name).write_bytes(file.content)


def _left(pending: Sequence[Event], remains: Remains, chance: random.Random) -> list[Event]:
    """Return the unsynced events that still reached the disk."""
    match remains:
        case "nothing":
            return []
        case "everything":
            return list(pending)
        case "a beginning":
            whole = list(pending[: chance.randint(0, len(pending))])
            torn = pending[len(whole) : len(whole) + 1]
            return [*whole, *(sector for event in torn for sector in _sectors(event)[: chance.randint(0, 8)])]
        case "some sectors":
            kept = chance.choice((0.1, 0.5, 0.9))
            return [sector for event in pending for sector in _sectors(event) if chance.random() < kept]


def _sectors(event: Event) -> list[Event]:
    """Split a write into sectors. A power cut can lose some sectors of a write and keep others."""
    if event.kind != "write":
        return [event]
    edges = [0, *range(SECTOR - event.offset % SECTOR, len(event.data), SECTOR), len(event.data)]
    return [
        Event("write", event.file, event.offset + start, event.data[start:end])
        for start, end in itertools.pairwise(edges)
        if end > start
    ]
