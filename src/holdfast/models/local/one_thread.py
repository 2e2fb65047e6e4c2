"""Limits numpy's matrix multiplication to one thread.

The matrices of one sentence are small, and threads of OpenBLAS (numpy's matrix library) spin while they wait for each
other. Several threads are slightly faster on an idle machine and much slower on a busy one. With two cores and a load of
seven, a question took 528 ms with several threads and 52 ms with one. If numpy uses another matrix library, nothing
changes.
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
"""Folders in which numpy's wheels contain libraries, relative to the ``numpy`` package."""
_NAMES: Final = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_")
"""Names of OpenBLAS's thread functions in its different builds; ``{}`` is ``get`` or ``set``."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenBLAS to one thread inside the ``with`` block. Callers must hold a lock, because the setting is global."""
    functions = _thread_functions()
    if functions is None or (before := functions[0]()) <= 1:
        yield
        return
    _, set_threads = functions
    set_threads(1)
    try:
        yield
    finally:
        set_threads(before)


@functools.cache
def _thread_functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return OpenBLAS's functions that get and set the number of threads, or None if numpy uses another library."""
    package = Path(np.__file__).parent
    for folder in _FOLDERS:
        for path in sorted((package / folder).glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))  # numpy has loaded it already; this returns the same library
            except OSError:
                continue
            for name in _NAMES:
                getter, setter = getattr(library, name.format("get"), None), getattr(library, name.format("set"), None)
                if getter is not None and setter is not None:
                    return getter, setter
    return None
