"""Fork safety.

``os.fork()`` copies a process with only one of its threads. The child would inherit SQLite's records of open files and
locks, which are wrong there, and locks held by other threads would never be released. So a fork waits until no thread is
inside the store. Before it, stores close their files. In the child, every registered object creates new locks.
"""

import os
import threading
import weakref
from types import TracebackType
from typing import Protocol, runtime_checkable


@runtime_checkable
class BeforeFork(Protocol):
    """An object with files or threads that a fork must not copy."""

    def before_fork(self) -> None:
        """Close them. No other thread is inside ``fork_guard`` during this call."""
        ...


@runtime_checkable
class AfterFork(Protocol):
    """An object with locks, which a fork could copy while they are held."""

    def after_fork(self) -> None:
        """Create new locks. Runs in the child."""
        ...


class _ForkGuard:
    """A reentrant guard that many threads can hold at once, and that a fork waits for."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._threads = 0
        self._forking = False
        self._local = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._local, "depth", 0)
        if depth == 0:
            with self._condition:
                while self._forking:
                    self._condition.wait()
                self._threads += 1
        self._local.depth = depth + 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._local.depth -= 1
        if self._local.depth == 0:
            with self._condition:
                self._threads -= 1
                if self._forking:
                    self._condition.notify_all()

    def close(self) -> None:
        """Keep other threads out, and wait until those inside have left."""
        with self._condition:
            while self._forking:
                self._condition.wait()
            self._forking = True
            while self._threads > (1 if getattr(self._local, "depth", 0) else 0):
                self._condition.wait()

    def open(self) -> None:
        """Let threads in again."""
        with self._condition:
            self._forking = False
            self._condition.notify_all()


fork_guard = _ForkGuard()
"""Context manager for code during which no fork may happen."""

_registered: "weakref.WeakSet[BeforeFork | AfterFork]" = weakref.WeakSet()


def register(instance: BeforeFork | AfterFork) -> None:
    """Call the object's ``before_fork`` and ``after_fork``, where defined, at every fork. Holds only a weak reference."""
    _registered.add(instance)


def _before() -> None:
    fork_guard.close()
    for instance in list(_registered):
        if isinstance(instance, BeforeFork):
            instance.before_fork()


def _in_child() -> None:
    fork_guard.renew()
    for instance in list(_registered):
        if isinstance(instance, AfterFork):
            instance.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=fork_guard.open, after_in_child=_in_child)
