"""Keeps the heap of a long-running process small (with glibc on Linux), and its garbage collections short.

glibc keeps freed memory in several heaps, called arenas, which its threads share. It returns to the system only the memory at
the end of a heap. In a long load test of a server, the memory in use stayed the same, but the process grew by half in two
minutes. Therefore :func:`limit_heaps` limits the number of heaps, and :func:`return_free_memory` returns their free pages.

A full garbage collection visits all objects, and no other thread runs meanwhile. The modules, patterns and routes of a server
are 150,000 objects and more. Visiting them takes 90 ms and more on a slow core. Therefore :func:`freeze_objects` leaves these
objects out of later collections.
"""

import ctypes
import gc
from typing import Final

__all__ = ["freeze_objects", "limit_heaps", "return_free_memory"]

_ARENA_MAX: Final = -8
"""Number of the option ``M_ARENA_MAX`` of ``mallopt``."""
_MAX_HEAPS: Final = 4
"""Maximum number of heaps. By default, glibc creates up to eight per core."""


def limit_heaps() -> None:
    """Limit the number of heaps that glibc creates. Call this at the start of a process, before it has many threads."""
    function = _function("mallopt")
    if function is not None:
        function(_ARENA_MAX, _MAX_HEAPS)


def return_free_memory() -> None:
    """Return the free pages of all heaps of glibc to the operating system. Without glibc, do nothing."""
    function = _function("malloc_trim")
    if function is not None:
        function(0)


def freeze_objects() -> None:
    """Leave the objects that exist now out of later garbage collections. Call this once, when everything is loaded."""
    gc.collect()
    gc.freeze()


def _function(name: str) -> "ctypes._NamedFuncPointer | None":
    """Return a function of the C library, or None if it has no such function."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # Windows
        return None
