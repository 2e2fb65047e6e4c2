"""Helpers that run code in a forked child, for tests of objects that the child inherits."""

import os
from collections.abc import Callable

from holdfast.protocols import MemoryFilter, Store
from holdfast.testing.samples import a_memory, remember


def in_a_forked_child(work: Callable[[], bytes]) -> bytes:
    """Run a function in a forked child and return its result. Fails if the child fails."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, work())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        given = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return given


def write_in_a_forked_child(store: Store) -> None:
    """Write in the parent, then in a child that sees the parent's write, then in the parent again."""

    def write() -> bytes:
        remember(store, a_memory("from the child", id="mem_child"))
        return str(len(store.memories(MemoryFilter()))).encode()

    remember(store, a_memory("from the parent"))
    assert in_a_forked_child(write) == b"2"
    remember(store, a_memory("from the parent again"))
    assert len(store.memories(MemoryFilter())) == 3
