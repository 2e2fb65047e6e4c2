"""Disk faults at any file operation: the engine acknowledges only what is stored, raises typed errors, and needs no restart."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

import holdfast
from holdfast import Engine
from holdfast.errors import HoldfastError, StoreError
from tests.sampling import Sample

pytestmark = [pytest.mark.long, pytest.mark.ledger("X27")]
Kind = Literal["error", "full", "torn"]
Act = Literal["read", "write", "sync", "truncate"]
FAILURES = {"read": apsw.SQLITE_IOERR_READ, "write": apsw.SQLITE_IOERR_WRITE, "sync": apsw.SQLITE_IOERR_FSYNC}


@dataclass(frozen=True, slots=True)
class Fault:
    """The nth operation of a kind fails: with an I/O error, because the disk is full, or after half of its bytes were written."""

    act: Act
    nth: int
    kind: Kind = "error"
    lasting: bool = False
    """True if all later operations of this kind fail, too, until the disk is repaired."""


class FaultyVFS(apsw.VFS):
    """A wrapper of SQLite's default VFS (file layer) in which operations on the store's file and log can fail."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self.counts: dict[str, int] = {}
        self._base = apsw.vfs_names()[0]
        super().__init__("faulty", self._base, makedefault=True)

    def arm(self, fault: Fault | None) -> None:
        """Install a fault, which replaces the previous one. None means that no operation fails any more."""
        self.fault = fault
        self.counts = {}

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if name is None or not flags[0] & (apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL):
            return apsw.VFSFile(self._base, name, flags)
        return _FaultyFile(self._base, name, flags, self)

    def fails(self, act: Act) -> Kind | None:
        """Count an operation. Return how it fails, or None."""
        self.counts[act] = self.counts.get(act, 0) + 1
        fault, number = self.fault, self.counts[act]
        if fault is None or fault.act != act or number < fault.nth or (number > fault.nth and not fault.lasting):
            return None
        return fault.kind


class _FaultyFile(apsw.VFSFile):
    def __init__(self, base: str, name: str | apsw.URIFilename, flags: list[int], vfs: FaultyVFS) -> None:
        self._vfs = vfs
        super().__init__(base, name, flags)

    def _check(self, act: Act) -> None:
        kind = self._vfs.fails(act)
        if kind == "full":
            raise apsw.FullError("the disk is full")
        if kind is not None:
            error = apsw.IOError(f"no {act}")
            vars(error)["extendedresult"] = FAILURES.get(act, apsw.SQLITE_IOERR)
            raise error

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._check("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        fault = self._vfs.fault
        before = self._vfs.counts.get("write", 0) + 1
        if fault is not None and fault.kind == "torn" and fault.act == "write" and before == fault.nth:
            super().xWrite(data[: len(data) // 2], offset)
        self._check("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._check("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._check("truncate")
        super().xTruncate(newsize)


@dataclass
class Play:
    """Calls the engine, and records the acknowledged ids and the problems."""

    memory: Engine
    kept: set[str] = field(default_factory=set)
    """Ids of the memories and messages that the engine reported as stored."""
    errors: int = 0
    wrong: list[str] = field(default_factory=list)

    def call(self, what: Callable[[], Any]) -> Any:
        try:
            return what()
        except StoreError:
            self.errors += 1
        except HoldfastError as error:
            self.wrong.append(f"not a StoreError: {error!r}")
        except Exception as error:  # noqa: BLE001  (this is what is tested)
            self.wrong.append(f"an untyped error: {error!r}")
        return None

    def remember(self, text: str, user: str) -> str | None:
        made = self.call(lambda: self.memory.remember(text, user=user))
        if made is not None:
            self.kept.add(made.id)
        return made.id if made is not None else None

    def remove(self, ids: set[str], what: Callable[[], Any]) -> None:
        self.call(what)
        self.kept -= ids  # if the call failed, they may be there or not

    def run(self) -> None:
        """Store, digest, forget and erase."""
        self.remember("keeps a walrus", "ana")
        wiped = {id for number in range(3) if (id := self.remember(f"keeps pangolin {number}", "bob"))}
        session = self.call(lambda: self.memory.session(user="ana"))
        for number in range(3 if session else 0):
            message = self.call(partial(session.add, "user", f"My otter {number} lives in Porto."))
            if message is not None:
                self.kept.add(message.id)
        if session:
            self.call(session.end)
        self.call(self.memory.drain)
        self.remove(wiped, lambda: self.memory.erase(user="bob"))
        self.remember("keeps a heron", "ana")

    def check(self, when: str) -> None:
        """Check that everything acknowledged is stored."""
        found = {each.id for user in ("ana", "bob") for each in self.memory.memories(user=user)}
        found |= {
            each.id for session in self.memory.sessions() for each in self.memory.session(user="ana", id=session.id).messages()
        }
        if lost := self.kept - found:
            self.wrong.append(f"{when}: {len(lost)} acknowledged rows are missing")
        if "walrus" not in {word for each in self.memory.memories(user="ana") for word in each.text.split()}:
            self.wrong.append(f"{when}: data from before is missing")


@contextmanager
def faulty() -> Iterator[FaultyVFS]:
    vfs = FaultyVFS()
    try:
        yield vfs
    finally:
        vfs.unregister()


def open_store(folder: Path) -> Engine:
    return holdfast.open(folder / "memory.db", embedder="none", worker="none")


def outcome(fault: Fault, template: Path, folder: Path, vfs: FaultyVFS) -> tuple[int, list[str]]:
    """Run the calls with a fault, repair the disk, and go on. Return the number of calls that failed, and what was wrong."""
    shutil.copytree(template, folder)
    with open_store(folder) as memory:
        play = Play(memory)
        vfs.arm(fault)
        play.run()
        vfs.arm(None)
        play.check("after the repair")
        if play.remember("keeps a badger", "ana") is None:
            play.wrong.append("no write succeeds after the repair")
        memory.drain()
        if not memory.recall("badger", user="ana"):
            play.wrong.append("recall finds nothing after the repair")
    with open_store(folder) as again:
        play.memory = again
        play.check("after a restart")
        again.drain()
        play.wrong += [f"{finding.check}: {finding.detail}" for finding in again.doctor() if not finding.ok]
        if not again.memories(user="bob") and any(b"pangolin" in file.read_bytes() for file in folder.glob("memory.db*")):
            play.wrong.append("the rows of the erased user are gone, but not their bytes")
    shutil.rmtree(folder)
    return play.errors, [f"{fault}: {each}" for each in play.wrong]


def sweep(counts: dict[str, int], sample: Sample) -> list[Fault]:
    """Return faults of every kind, spread over a whole run. ``counts`` is the number of operations of each kind in a run.

    A sample has every third fault of each kind. The kinds start at different operations.
    """
    kinds: dict[str, tuple[Kind, ...]] = {
        "read": ("error",),
        "write": ("error", "full", "torn"),
        "sync": ("error",),
        "truncate": ("error",),
    }
    return [
        Fault(act, nth, kind, lasting)  # type: ignore[arg-type]
        for act, possible in kinds.items()
        for place, (kind, lasting) in enumerate((kind, lasting) for kind in possible for lasting in (False, True))
        for nth in sample.of(range(1 + place, counts.get(act, 0) + 1, max(1, counts.get(act, 0) // 40)), start=place)
    ]


def test_a_fault_of_the_disk_at_any_operation_loses_nothing_acknowledged(tmp_path: Path, sample: Sample) -> None:
    with faulty() as vfs:
        with open_store(tmp_path / "template") as memory:
            Play(memory).run()
        vfs.arm(None)
        shutil.copytree(tmp_path / "template", tmp_path / "healthy")
        with open_store(tmp_path / "healthy") as memory:
            vfs.arm(None)
            Play(memory).run()
            counts = dict(vfs.counts)
        faults = sweep(counts, sample)
        assert len(faults) >= sample.size(200, short=66)
        outcomes = [outcome(fault, tmp_path / "template", tmp_path / str(number), vfs) for number, fault in enumerate(faults)]
    assert [line for _, wrong in outcomes for line in wrong] == []
    assert sum(errors > 0 for errors, _ in outcomes) > len(faults) // 2, "the faults reach the callers as errors"
