"""Shared parts of these tests: a small embedder, a clock shared by processes, numbered operations, and an audit of the result.

Children are real processes, started by a fork server that has imported the package and has no file open.
"""

import contextlib
import hashlib
import mmap
import multiprocessing
import os
import signal
import struct
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.engine import Engine
from holdfast.errors import NotFound
from holdfast.learning.capture_by_rules import extract_statements
from holdfast.learning.capture_kinds import STATEMENTS
from holdfast.learning.changes.reconcile import ReconcileRules
from holdfast.presets.base import Preset
from holdfast.presets.default import DEFAULT
from holdfast.protocols import MemoryFilter, MessageFilter, Role, SentenceReader
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore, SQLiteTransaction
from holdfast.testing import FrozenClock
from holdfast.testing.engines import build_engine
from holdfast.types import Memory, Message, Put

posix_only = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="kills with SIGKILL and starts children from a fork server: POSIX only"
)

USER = "ana"
_processes: Any = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
_PRELOADED = [
    f"{__package__}.{name}" for name in ("support", "test_jobs", "test_kill", "test_power_cut", "test_processes", "warm")
]


def start(target: Callable[..., None], *args: object) -> tuple[Any, Connection]:
    """Start a child process. Return the process and one end of a pipe. The child gets the other end as its last argument."""
    if hasattr(os, "fork"):
        _start_fork_server()
    ours, theirs = _processes.Pipe()
    child = _processes.Process(target=target, args=(*args, theirs), daemon=True)
    child.start()
    theirs.close()
    return child, ours


def import_paths() -> str:
    """Return the value of ``PYTHONPATH`` for a child that imports the tests."""
    return os.pathsep.join(dict.fromkeys([*sys.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))


def _start_fork_server() -> None:
    """Start a fork server that has imported everything, so that a child starts in milliseconds.

    The server inherits the import path of the tests through ``PYTHONPATH``.
    """
    _processes.set_forkserver_preload(_PRELOADED)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = import_paths()
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


# A small embedder: words are hashed to dimensions, and a few words are synonyms.

_SAME_WORD = {"feline": "cat", "dwell": "live", "beverage": "drink"}


class TinyEmbedder:
    """A fast deterministic embedder."""

    name = "tiny-256"
    dimensions = 256
    calibration = (0.0, 0.9)

    def __init__(self, reached: Callable[[str], None] = lambda point: None) -> None:
        self._reached = reached

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        if role == "document":
            self._reached("embedding")
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split() or [""]:
                digest = hashlib.blake2b(_SAME_WORD.get(word, word).encode(), digest_size=4).digest()
                vectors[row, int.from_bytes(digest, "big") % self.dimensions] += 1
            vectors[row] /= np.linalg.norm(vectors[row])
        return vectors


# A running clock that all processes of one test share and that can be moved forward.


class SharedClock:
    """The system time plus an offset that the test sets, stored in a file that every process maps."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(bytes(16))
        with file.open("r+b") as stream:
            self._shared = mmap.mmap(stream.fileno(), 16)

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=struct.unpack_from("q", self._shared, 0)[0])

    def advance(self, step: timedelta) -> None:
        (before,) = struct.unpack_from("q", self._shared, 0)
        struct.pack_into("q", self._shared, 0, before + int(step.total_seconds()))

    @property
    def stage(self) -> int:
        """Stage of the run. 0: all processes work. 1: the writers stop. 2: the worker stops."""
        return int(struct.unpack_from("q", self._shared, 8)[0])

    @stage.setter
    def stage(self, value: int) -> None:
        struct.pack_into("q", self._shared, 8, value)


# Points at which a process is killed.


@dataclass(frozen=True, slots=True)
class KillPoint:
    """A named point in the code. The process kills itself when it reaches this point for the n-th time."""

    point: str
    nth: int = 1


class KillSwitch:
    """Counts how often a process reaches each named point, and kills the process at the chosen point."""

    def __init__(self, kill_point: KillPoint | None = None) -> None:
        self._kill_point = kill_point
        self._seen: Counter[str] = Counter()
        self.captured = False
        """True while a digestion has been computed but not stored."""

    def reach(self, point: str) -> None:
        self._seen[point] += 1
        if self._kill_point is not None and self._kill_point.point == point and self._seen[point] >= self._kill_point.nth:
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """If the kill point is a file operation, count the file operations of all connections opened from now on."""
        if self._kill_point is not None and self._kill_point.point.startswith("file:"):
            _KillingVFS(self)


class _KillingVFS(apsw.VFS):
    """A wrapper of SQLite's default VFS (file layer). It reports each file operation to the kill switch before the operation."""

    def __init__(self, kill_switch: KillSwitch) -> None:
        self._base = apsw.vfs_names()[0]
        self._kill_switch = kill_switch
        super().__init__("killing", self._base, makedefault=True)
        _kept.append(self)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "_KillingFile":  # noqa: N802
        return _KillingFile(self._base, name, flags, self._kill_switch)


class _KillingFile(apsw.VFSFile):
    def __init__(self, base: str, name: str | apsw.URIFilename | None, flags: list[int], kill_switch: KillSwitch) -> None:
        super().__init__(base, name, flags)
        self._kill_switch = kill_switch
        self._kind = "log" if flags[0] & apsw.SQLITE_OPEN_WAL else "database" if flags[0] & apsw.SQLITE_OPEN_MAIN_DB else "other"

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._kill_switch.reach(f"file:{self._kind} write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._kill_switch.reach(f"file:{self._kind} sync")
        super().xSync(flags)


_kept: list[object] = []
"""References to registered VFS objects, which must live as long as the process."""


class KillableStore(SQLiteStore):
    """A SQLite store whose process can be killed before any statement or commit."""

    kill_switch = KillSwitch()
    checkpoint_pages = 0
    before_commit: Callable[[], None] = staticmethod(lambda: None)

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator[SQLiteTransaction]:
        kill_switch = self.kill_switch
        finishing = durable and kill_switch.captured  # what a job costs is stored before its result, and not durably
        with super().write(durable=durable) as tx:

            def trace(cursor: object, sql: str, bindings: object) -> bool:
                if sql == "COMMIT":
                    self.before_commit()
                point = "commit" if sql == "COMMIT" else "statement"
                kill_switch.reach(f"before {point}")
                if finishing:
                    kill_switch.reach(f"before finishing {point}")
                return True

            assert isinstance(tx.connection, apsw.Connection)
            tx.connection.set_exec_trace(trace)
            if self.checkpoint_pages:
                tx.connection.wal_autocheckpoint(self.checkpoint_pages)
            yield tx
        kill_switch.reach("after commit")
        if finishing:
            kill_switch.captured = False
            kill_switch.reach("after finishing commit")


def killable_engine(
    path: Path,
    clock: Any,
    kill_switch: KillSwitch,
    *,
    worker: Literal["thread", "inline", "none"] = "none",
    checkpoint_pages: int = 0,
    capture: Callable[[Sequence[Message]], list[Put]] | None = None,
) -> Engine:
    """Open an engine whose process is killed at the chosen point."""
    kill_switch.install()
    store = KillableStore(path)
    store.kill_switch, store.checkpoint_pages = kill_switch, checkpoint_pages
    preset = tagging_preset(kill_switch, capture or extract_statements)
    return build_engine(store, preset=preset, embedder=tiny_source(kill_switch), clock=clock, worker=worker)


def tiny_source(kill_switch: KillSwitch | None = None) -> EmbedderSource:
    embedder = TinyEmbedder((kill_switch or KillSwitch()).reach)
    return EmbedderSource(name=embedder.name, load=lambda: embedder, computes=True)


def tagging_preset(
    kill_switch: KillSwitch | None = None, capture: Callable[[Sequence[Message]], list[Put]] = extract_statements
) -> Preset:
    """Return the default preset with a random tag in every extracted text, so that a repeated digestion shows as two memories."""
    kill_switch = kill_switch or KillSwitch()

    def tagged(messages: Sequence[Message], _reader: SentenceReader | None = None) -> list[Put]:
        kill_switch.reach("digesting")
        tag = uuid.uuid4().hex[:8]
        puts = [replace(put, text=f"{put.text} ({tag})") for put in capture(messages)]
        kill_switch.captured = True
        kill_switch.reach("digested")
        return puts

    # Nothing is merged, superseded or summarized, so that a repeated digestion shows.
    loose = ReconcileRules(supersede=False, same_distance=None)
    capture_tagged = replace(STATEMENTS, rules=tagged)
    return replace(DEFAULT, name="tagging", extractor=capture_tagged, reconcile_rules=loose, roll_up=None, base=None, topics=None)


# The plan of a writer: the n-th operation is always the same, so that a restarted writer can continue.


@dataclass(frozen=True, slots=True)
class Operation:
    """One call that changes data."""

    index: int
    kind: Literal["add", "remember", "forget", "end"]
    session: str
    client_id: str
    role: str = "user"
    text: str = ""
    key: str = ""
    captured: bool = False
    """True if digestion extracts memories from the operation's text."""


OPERATIONS_PER_SESSION = 8


def operation(writer: str, index: int) -> Operation:
    """Return the operation with this number. A writer performs its operations in the order of their numbers."""
    number, step = divmod(index, OPERATIONS_PER_SESSION)
    name = f"{writer}{number}x{step}"
    steps: tuple[dict[str, Any], ...] = (
        {"text": f"I live in town{name}.", "captured": True},
        {"text": f"Noted, town{name}.", "role": "assistant"},
        {"kind": "remember", "text": f"prefers drink{name}", "key": f"drink-{writer}-{number}"},
        {"text": f"My cat is called tom{name}. I work in office{name}.", "captured": True},
        {"text": f"What is the weather in town{name}?"},
        {"kind": "forget", "key": f"drink-{writer}-{number - 1}"}
        if number % 2
        else {"kind": "remember", "text": f"owns bike{name}", "key": f"bike-{writer}-{number}"},
        {"text": f"I collect stamps from land{name}.", "captured": True},
        {"kind": "end"},
    )
    base = Operation(index=index, kind="add", session=f"{writer}-{number}", client_id=f"{writer}:{index}")
    return replace(base, **steps[step])


def statements(planned: Operation) -> int:
    """Return the number of memories that the digestion of a message must extract."""
    return len([part for part in planned.text.split(". ") if part]) if planned.captured else 0


def perform(engine: Engine, planned: Operation) -> str:
    """Run one operation. Return the id of the message, memory or session, or an empty string after ``forget``."""
    talk = engine.session(user=USER, id=planned.session)
    match planned.kind:
        case "add":
            return talk.add(planned.role, planned.text, id=planned.client_id).id
        case "remember":
            return engine.remember(planned.text, key=planned.key, user=USER).id
        case "forget":
            with contextlib.suppress(NotFound):  # already forgotten before the kill
                engine.forget(key=planned.key, user=USER)
            return ""
        case "end":
            talk.end()
            return planned.session


Acknowledged = Mapping[Operation, str]
"""The operations that were acknowledged as durable, with the returned ids."""


# The audit: each function returns a list of problems, empty if there are none.


def lost(engine: Engine, acknowledged: Acknowledged) -> list[str]:
    """Return the acknowledged operations whose effect is missing."""
    wrong: list[str] = []
    forgotten = {planned.key for planned in [*acknowledged, *_under_way(acknowledged)] if planned.kind == "forget"}
    sessions = {record.id: record for record in engine.sessions(limit=100_000)}
    messages = {(m.session, m.client_id): m for m in services(engine).store.messages(MessageFilter())}
    facts = Counter((m.key, m.text) for m in services(engine).store.memories(MemoryFilter()) if m.key)
    for planned, id in acknowledged.items():
        match planned.kind:
            case "add":
                found = messages.get((planned.session, planned.client_id))
                if found is None or (found.id, found.text, found.role) != (id, planned.text, planned.role):
                    wrong.append(f"message {planned.client_id} is lost or altered: {found}")
            case "remember":
                count = facts[planned.key, planned.text]
                if planned.key not in forgotten and count != 1:
                    wrong.append(f"memory {planned.key} is there {count} times")
            case "forget":
                if any(key == planned.key for key, _ in facts):
                    wrong.append(f"forgotten memory {planned.key} is back")
            case "end":
                record = sessions.get(planned.session)
                if record is None or record.status != "ended":
                    wrong.append(f"session {planned.session} is not ended: {record}")
    return wrong


def _under_way(acknowledged: Acknowledged) -> list[Operation]:
    """Return the operation that each writer may have been running when it was killed.

    The effect of such an operation may or may not be in the store.
    """
    newest: dict[str, int] = {}
    for planned in acknowledged:
        writer = planned.client_id.split(":")[0]
        newest[writer] = max(newest.get(writer, 0), planned.index)
    return [operation(writer, index + 1) for writer, index in newest.items()]


def half_applied(path: Path) -> list[str]:
    """Read the tables directly, and return the rows whose related rows are missing."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    wrong = []
    try:
        if not connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'partitions'").get:
            return []  # cut before the schema was created
        for what, sql in _INVARIANTS.items():
            broken = connection.execute(sql).fetchall()
            if broken:
                wrong.append(f"{what}: {broken[:5]}")
    finally:
        connection.close()
    return wrong


_LAST = "(SELECT max(seq) FROM messages AS m WHERE m.tenant = s.tenant AND m.session = s.id)"
_INVARIANTS = {
    "messages that cannot be searched": "SELECT seq FROM messages AS m WHERE NOT EXISTS (SELECT 1 FROM units WHERE item = m.seq)",
    "memories that cannot be searched": "SELECT item FROM memories AS m WHERE recorded_to IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM units WHERE units.item = m.item)",
    "windows of nothing": "SELECT item FROM units WHERE item NOT IN (SELECT seq FROM messages UNION SELECT item FROM memories)",
    "windows not in the full text": "SELECT item FROM units WHERE item * 4096 + window NOT IN (SELECT id FROM fulltext_docsize)",
    "full text of no window": "SELECT id FROM fulltext_docsize WHERE id NOT IN (SELECT item * 4096 + window FROM units)",
    "partition counts": "SELECT partition, units, n FROM (SELECT partition, units, (SELECT count(*) FROM units AS u "
    "WHERE u.partition = p.partition) AS n FROM partitions AS p) WHERE units <> n",
    "windows with neither a vector nor a place in the queue, or both": "SELECT u.item, m.model FROM units AS u, models AS m WHERE "
    "(SELECT count(*) FROM vectors AS v WHERE v.item = u.item AND v.window = u.window AND v.model = m.model) + "
    "(SELECT count(*) FROM unembedded AS q WHERE q.item = u.item AND q.window = u.window AND q.model = m.model) <> 1",
    "messages without a session": "SELECT seq FROM messages WHERE session NOT IN (SELECT id FROM sessions)",
    "sessions without a message": "SELECT id FROM sessions WHERE id NOT IN (SELECT session FROM messages)",
    "messages told twice": "SELECT session, client_id, count(*) FROM messages GROUP BY 1, 2 HAVING count(*) > 1",
    "closed sessions without a digestion": f"SELECT id FROM sessions AS s WHERE status <> 'open' AND digested_to < {_LAST} "
    f"AND NOT EXISTS (SELECT 1 FROM jobs WHERE effect = 'digest:' || s.id || ':' || {_LAST} AND state <> 'done')",
    "digestions done that left no mark": "SELECT j.id FROM jobs AS j, sessions AS s WHERE j.kind = 'digest' AND j.state = 'done' "
    "AND s.id = json_extract(j.payload, '$.session') AND s.digested_to < json_extract(j.payload, '$.to')",
    "revisions without a change": "SELECT id, revision FROM memories AS m WHERE NOT EXISTS "
    "(SELECT 1 FROM changes AS c WHERE c.memory = m.id AND c.revision = m.revision)",
    "changes without a revision": "SELECT id FROM changes AS c WHERE NOT EXISTS "
    "(SELECT 1 FROM memories AS m WHERE m.id = c.memory AND m.revision = c.revision)",
    "two present revisions": "SELECT id FROM memories WHERE recorded_to IS NULL GROUP BY id HAVING count(*) > 1",
    "memories without their sources": "SELECT m.id FROM memories AS m, json_each(m.sources) AS e WHERE NOT EXISTS "
    "(SELECT 1 FROM provenance AS p WHERE p.memory = m.id AND p.source = e.value)",
}


def unsound(engine: Engine) -> list[str]:
    """Return the failed checks of the doctor, which include SQLite's integrity check and the full-text check."""
    return [f"{finding.check}: {finding.detail}" for finding in engine.doctor() if not finding.ok]


def unfinished(engine: Engine, acknowledged: Acknowledged) -> list[str]:
    """Return the work that is still open after a run, such as jobs that are not done, and chunks without a vector.

    Sessions that were not digested exactly once are listed, too.
    """
    wrong = [f"job {job.id} is {job.state}: {job.error}" for job in engine.jobs(limit=100_000) if job.state != "done"]
    messages = services(engine).store.messages(MessageFilter())
    last = {message.session: message.seq for message in messages}
    wrong += [
        f"session {record.id} is digested to {record.digested_to} of {last[record.id]}"
        for record in engine.sessions(limit=100_000)
        if record.status != "open" and record.digested_to != last[record.id]
    ]
    made = Counter(source for memory in services(engine).store.memories(MemoryFilter(statuses=None)) for source in memory.sources)
    ended = {planned.session for planned in acknowledged if planned.kind == "end"}
    for planned, id in acknowledged.items():
        if planned.kind == "add" and planned.session in ended and made[id] != statements(planned):
            wrong.append(f"message {planned.client_id} left {made[id]} memories, not {statements(planned)}")
    return wrong + repeated(services(engine).store.memories(MemoryFilter(statuses=None)))


def repeated(memories: Sequence[Memory]) -> list[str]:
    """Return the statements that were digested more than once. Each digestion adds a different tag to the text."""
    said = Counter((memory.sources, memory.text.rsplit(" (", 1)[0]) for memory in memories if memory.sources)
    return [f"{text!r} was digested {count} times" for (_, text), count in said.items() if count > 1]


def full_text_agrees(path: Path) -> None:
    """Run the FTS5 integrity check. Raises an error if the index is damaged."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("INSERT INTO fulltext (fulltext) VALUES ('integrity-check')")


def finish(engine: Engine, clock: SharedClock | FrozenClock) -> int:
    """Let leases expire and do all remaining work. Return the number of jobs that were marked dead."""
    clock.advance(timedelta(minutes=10))
    engine.drain()
    dead = engine.jobs(states=["dead"], limit=100_000)
    for job in dead:
        engine.rerun(job.id)
    engine.drain()
    return len(dead)


def audit(path: Path, clock: SharedClock | FrozenClock, acknowledged: Acknowledged) -> list[str]:
    """Open the store in the way a new process would, do the remaining work, and return all problems found."""
    with build_engine(SQLiteStore(path), preset=tagging_preset(), embedder=tiny_source(), clock=clock, worker="none") as engine:
        wrong = lost(engine, acknowledged) + half_applied(path)
        finish(engine, clock)
        wrong += lost(engine, acknowledged) + half_applied(path) + unsound(engine) + unfinished(engine, acknowledged)
        newest = [planned for planned in acknowledged if planned.kind == "add" and planned.role == "user"][-1:]
        for planned in newest:
            if not any(hit.similarity for hit in engine.recall(planned.text, user=USER)):
                wrong.append(f"{planned.client_id} is not found by meaning")
    full_text_agrees(path)
    return wrong


def child_log(folder: Path) -> Path:
    """Return the log file of a test's children. A killed child writes nothing to it."""
    return folder / "child_log"


def log_to_file(folder: Path) -> None:
    """Write a child's log and tracebacks to a file instead of the test's output."""
    sys.stderr = child_log(folder).open("a", buffering=1)
