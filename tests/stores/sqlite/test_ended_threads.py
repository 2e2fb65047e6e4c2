"""Connections of threads that have ended are freed without a crash, even during a garbage collection."""

import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from holdfast.stores.sqlite.store import SQLiteStore

ENDING_THREADS = """
import gc, sys, threading, time
from pathlib import Path
from holdfast.stores.sqlite.store import SQLiteStore

store, over = SQLiteStore(Path(sys.argv[1])), threading.Event()
sys.setswitchinterval(1e-6)

def collect():
    while not over.is_set():
        gc.collect(0)

collectors = [threading.Thread(target=collect) for _ in range(2)]
for thread in collectors:
    thread.start()
until = time.monotonic() + 5
while time.monotonic() < until:
    readers = [threading.Thread(target=store.stats) for _ in range(4)]
    for thread in readers:
        thread.start()
    for thread in readers:
        thread.join()
over.set()
"""
"""A program whose threads read from a store and end, which frees their connections, while other threads collect garbage."""


def test_no_weak_reference_calls_back_while_a_connection_is_freed(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    store.stats()
    connection = store._connections.reader()
    assert [each.__callback__ for each in weakref.getweakrefs(connection) if each.__callback__ is not None] == []
    store.close()


@pytest.mark.long
def test_threads_that_end_during_garbage_collections_do_not_crash_the_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING_THREADS, str(tmp_path / "memory.db")], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
