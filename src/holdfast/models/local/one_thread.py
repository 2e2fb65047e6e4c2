"""Lets numpy multiply on one thread for a moment.

The matrices of one sentence are small. Split among the threads of OpenBLAS, which wait for each other by spinning, they
take a little less time on an idle machine and many times more on a busy one (measured: 528 ms instead of 52 a question,
with two cores and a load of seven). Where numpy came with another library, nothing is changed.
"""

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np

__all__ = ["one_thread"]

_FOLDERS: Final = ("../numpy.libs", ".dylibs")
"""Where numpy's wheels keep their libraries, beside the package or in it."""
_NAMES: Final = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_")


@contextmanager
def one_thread() -> Iterator[None]:
    """Multiply on one thread inside the block; the callers see to it that only one of them is inside."""
    found = _threads()
    before = found[0]() if found else 1
    if found is None or before <= 1:
        yield
        return
    found[1](1)
    try:
        yield
    finally:
        found[1](before)


@functools.cache
def _threads() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return what asks for and what sets the number of threads; None where numpy uses another library."""
    package = Path(np.__file__).parent
    for folder in _FOLDERS:
        for path in sorted((package / folder).glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))  # loaded long since: this is the same one
            except OSError:
                continue
            for name in _NAMES:
                ask, tell = getattr(library, name.format("get"), None), getattr(library, name.format("set"), None)
                if ask is not None and tell is not None:
                    return ask, tell
    return None
