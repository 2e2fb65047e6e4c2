"""The process returns freed memory to the operating system, and its garbage collector skips long-lived objects."""

import ctypes
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from holdfast.runtime.heap import return_free_memory
from holdfast.server.tenants import open_pool

pytestmark = [
    pytest.mark.ledger("X28"),
    pytest.mark.skipif(
        not Path("/proc/self/statm").exists() or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc on Linux"
    ),
]
_MB = 1 << 20


def _resident_mb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // _MB


def _fragmented() -> list[bytes]:
    """Allocate 150 MB in another thread, and free nearly all of it. Return the few blocks that are not freed.

    These blocks are spread over the heap, so the heap does not shrink by itself.
    """
    kept: list[bytes] = []

    def fill() -> None:
        blocks = [bytes([number % 256]) * 4000 for number in range(150 * _MB // 4000)]
        kept.extend(blocks[::500])
        kept.append(blocks[-1])

    thread = threading.Thread(target=fill)
    thread.start()
    thread.join()
    return kept


def test_free_memory_between_used_blocks_is_returned() -> None:
    return_free_memory()
    before = _resident_mb()
    kept = _fragmented()
    assert _resident_mb() > before + 100, "the memory is free, but the process still has it"
    return_free_memory()
    assert _resident_mb() < before + 50
    assert len(kept) > 50


FREEZE = """
import gc
from holdfast.runtime.heap import freeze_objects

lasting = [[number] for number in range(50_000)]
assert len(gc.get_objects()) > 50_000
freeze_objects()
print(len(gc.get_objects()), gc.get_freeze_count())
"""


def test_objects_that_stay_are_left_out_of_later_garbage_collections() -> None:
    ran = subprocess.run([sys.executable, "-c", FREEZE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    visited, frozen = map(int, ran.stdout.split())
    assert visited < 1000
    assert frozen > 50_000


def test_a_server_returns_free_memory_regularly(tmp_path: Path) -> None:
    with open_pool(tmp_path / "memory.db", embedder="none", worker="none", flush_seconds=0.5):
        return_free_memory()
        before = _resident_mb()
        kept = _fragmented()
        until = time.monotonic() + 60
        while _resident_mb() > before + 50:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert len(kept) > 50
