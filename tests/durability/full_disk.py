"""A program that fills its disk and then reads, forgets and erases. It prints the results as JSON.

Run it in a small file system, or with a limit on file sizes: ``python -m tests.durability.full_disk FOLDER [BYTES]``.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast import Engine
from holdfast.config.opening import open_engine
from holdfast.errors import HoldfastError, StoreFull

NEEDLE, CONTROL = "zanzibarquartz", "amberlighthouse"
_FREED_BYTES = 256 << 10
"""Size of a file that another program removes at the end, so that there is room again."""


def main(folder: Path, limit: int | None) -> dict[str, Any]:
    """Fill the disk, then read, forget and erase, all in one process. Return the result of each step."""
    if limit is not None:
        import resource  # noqa: PLC0415  (Unix only)

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    else:
        (folder / "ballast-first").write_bytes(b"x" * _FREED_BYTES)
    memory = _open(folder)
    _begin(memory)
    acknowledged = _fill(memory, folder, limit)
    seen: dict[str, Any] = {"acknowledged": acknowledged, "stored": memory.count_memories(user="keep")}
    seen["refused"] = _code(lambda: memory.remember(f"one more {'x' * 20_000}", user="keep"))
    seen["recalled"] = len(memory.recall(CONTROL, user="keep", limit=3))
    seen["context"] = CONTROL in memory.context(CONTROL, user="keep").text
    forgotten = memory.memories(user="vic", limit=1)[0]
    seen["forgotten"] = _code(lambda: memory.forget(forgotten.id))
    acknowledged += _fill(memory, folder, limit, start=acknowledged)
    receipt = memory.erase(user="vic")
    seen["erased"], seen["receipt"] = receipt.memories, receipt.status
    seen["left"] = memory.count_memories(user="vic") + len(memory.memories(user="vic", retired=True))
    acknowledged += _fill(memory, folder, limit, start=acknowledged)
    memory.close()
    memory = _open(folder)  # on the full disk
    seen["lost"] = acknowledged - memory.count_memories(user="keep")
    seen["session"] = _code(lambda: memory.erase(session="s1"))
    for ballast in folder.glob("ballast-*"):
        ballast.unlink()
    seen["resumed"] = _code(lambda: memory.remember("there is room again", user="keep")) if limit is None else "done"
    return seen | {"close": _code(memory.close)}


def _open(folder: Path) -> Engine:
    return open_engine(folder / "memory.db", embedder="none", worker="none")


def _begin(memory: Engine) -> None:
    for number in range(40):
        memory.remember(f"{NEEDLE} fact number {number}", user="vic")
    with memory.session(user="other", id="s1") as session:
        session.add("user", f"My word is {NEEDLE}.")


def _fill(memory: Engine, folder: Path, limit: int | None, *, start: int = 0) -> int:
    """Store memories until the disk is full, and return how many were stored.

    On a real disk (``limit`` is None), the space that is left is then filled with another file, as another program would.
    """
    number = start
    try:
        while True:
            memory.remember(f"{CONTROL} fact number {number} {'lorem ipsum ' * 8}", user="keep")
            number += 1
    except StoreFull:
        if limit is None:
            _fill_with(folder / f"ballast-{number}-{time.monotonic_ns()}")
        return number - start


def _fill_with(ballast: Path) -> None:
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def _code(act: Callable[[], object]) -> str:
    try:
        act()
    except HoldfastError as error:
        return error.code
    return "done"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)) + "\n")
