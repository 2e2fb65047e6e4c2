"""Writes to a shared file: tenants take turns, and no slow work happens during a tenant's write."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import holdfast
from holdfast.importers.records import Conversation, Note, Record, Said
from holdfast.importers.run import Import, Source
from holdfast.services import services
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.stores.sqlite.write_turns import WriteTurns, turns_of
from holdfast.types import Scope
from tests.runtime.forking import in_a_forked_child

pytestmark = pytest.mark.ledger("X28")


def _queue(turns: WriteTurns, tenants: str) -> tuple[list[threading.Thread], list[str]]:
    """Start one thread per letter, each of which stands for a tenant and waits for the lock.

    Return the threads, and a list that records the order in which the tenants get the lock.
    """
    served: list[str] = []

    def write(tenant: str) -> None:
        turns.acquire(tenant)
        served.append(tenant)
        turns.release()

    threads = []
    for number, tenant in enumerate(tenants, 1):
        threads.append(threading.Thread(target=write, args=(tenant,)))
        threads[-1].start()
        while turns.waiting() < number:
            time.sleep(0.001)
    return threads, served


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [("aaaab", "abaaa"), ("aaabbc", "abcaba"), ("abc", "abc"), ("aaa", "aaa")],
    ids=["one neighbor", "two neighbors", "one each", "alone"],
)
def test_tenants_take_turns_however_many_writes_of_one_wait(waiting: str, expected: str) -> None:
    turns = WriteTurns()
    turns.acquire("a")
    threads, served = _queue(turns, waiting)
    turns.release()
    for thread in threads:
        thread.join(60)
    assert "".join(served) == expected
    assert turns.waiting() == 0


def test_the_lock_is_reentrant_and_a_non_blocking_acquire_does_not_wait() -> None:
    turns = WriteTurns()
    assert turns.acquire("a")
    assert turns.acquire("a", blocking=False)
    refused: list[bool] = []
    thread = threading.Thread(target=lambda: refused.append(turns.acquire("b", blocking=False)))
    thread.start()
    thread.join()
    turns.release()
    turns.release()
    assert refused == [False]
    assert turns.acquire("b", blocking=False)


class _Interrupted(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts the main thread")
def test_a_waiting_thread_that_is_interrupted_leaves_the_line() -> None:
    turns = WriteTurns()
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        turns.acquire("a")
        taken.set()
        done.wait(60)
        turns.release()

    def interrupt(*_: object) -> None:
        raise _Interrupted

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(60)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(_Interrupted):
            turns.acquire("b")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert turns.waiting() == 0
    done.set()
    thread.join(60)
    assert turns.acquire("c", blocking=False)


def test_all_tenants_of_a_file_share_one_line(tmp_path: Path) -> None:
    one, other = SQLiteStore(tmp_path / "m.db", tenant="one"), SQLiteStore(tmp_path / "m.db", tenant="other")
    turns = turns_of(tmp_path / "m.db")
    started = threading.Event()

    def write() -> None:
        started.set()
        with other.write():
            pass

    with one.write():
        thread = threading.Thread(target=write)
        thread.start()
        started.wait(60)
        while not turns.waiting():
            time.sleep(0.001)
    thread.join(60)
    assert turns.waiting() == 0
    one.close()
    other.close()


@contextmanager
def _calls_while_writing(memory: holdfast.Engine, *names: str) -> Iterator[list[str]]:
    """Record the calls of these functions that happen while this thread has a write transaction."""
    connections: Any = services(memory).store._connections  # type: ignore[attr-defined]
    seen: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name in names:
            writer = connections._writer
            if writer is not None and writer.in_transaction:
                seen.append(f"{frame.f_code.co_name} of {len(str(frame.f_locals.get('text', '')))} characters")

    sys.setprofile(watch)
    try:
        yield seen
    finally:
        sys.setprofile(None)


LONG = "The quick brown fox keeps 17 jars of honey behind the old barn door. " * 500


@pytest.mark.parametrize("way", ["add", "remember", "revise"])
def test_a_long_text_is_read_before_the_transaction(tmp_path: Path, way: str) -> None:
    with holdfast.open(tmp_path / "m.db", embedder="none", worker="none") as memory:
        id = memory.remember("short", user="ana").id
        session = memory.session(user="ana")
        with _calls_while_writing(memory, "document_terms", "redact", "split_sentences") as seen:
            if way == "add":
                session.add("user", LONG)
            elif way == "remember":
                memory.remember(LONG, user="ana", key="honey")
            else:
                memory.revise(id, LONG)
        long_ones = [call for call in seen if int(call.split()[2]) > 10_000]
        assert long_ones == []
        assert memory.recall("jars of honey behind the barn", user="ana")


_SLOW = ("classify_act", "detect_language", "document_terms", "read_wish", "redact", "split_acts")


def _add_batch(memory: holdfast.Engine) -> None:
    texts = [f"I keep jar {number} of the honey behind the door of barn {number}." for number in range(40)]
    roles = ("user", "assistant")
    memory.session(user="ana").add_all({"role": roles[number % 2], "text": text} for number, text in enumerate(texts))


def _import_batch(memory: holdfast.Engine) -> None:
    turns = [f"I keep jar {number} of the honey behind the door of barn {number}." for number in range(40)]
    notes = [Note(id=f"n{number}", text=f"My ladder number {number} is in the shed.") for number in range(20)]
    said = [Said(id=str(number), role="user", text=text) for number, text in enumerate(turns)]
    records: list[Record] = [Conversation(id="c"), *said, *notes]
    parts = services(memory)
    source = Source(name="test", records=lambda: iter(records), scope=Scope(user="ana"))
    done = Import(parts.store, parts.preset, parts.clock, parts.digester, source).run()
    assert (done.messages.imported, done.memories.imported) == (40, 20)


@pytest.mark.parametrize("write", [_add_batch, _import_batch], ids=["messages", "an import"])
def test_the_texts_of_a_batch_are_read_before_the_transaction(tmp_path: Path, write: Callable[[holdfast.Engine], None]) -> None:
    with holdfast.open(tmp_path / "m.db", embedder="none", worker="none") as memory:
        with _calls_while_writing(memory, *_SLOW) as seen:
            write(memory)
        assert len(seen) < 10, seen  # such as the terms of the day, once for all messages of the day


def test_the_session_of_a_batch_is_read_and_written_once(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", embedder="none", worker="none") as memory:
        with _calls_while_writing(memory, "session", "set_session") as seen:
            _add_batch(memory)
        assert sorted(call.split()[0] for call in seen) == ["session", "set_session"]


def test_a_write_lock_that_was_held_at_a_fork_is_free_in_the_child(tmp_path: Path) -> None:
    turns = WriteTurns()
    turns.acquire("a")

    def child() -> bytes:
        turns.release()  # the parent's block ends in the child, too
        return str(turns.acquire("b", blocking=False)).encode()

    assert in_a_forked_child(child) == b"True"
    turns.release()
