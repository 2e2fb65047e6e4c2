"""Make ``os.fork()`` safe for stores and locks.

A fork copies a process with only one of its threads. In the child process, SQLite's records of open files and locks would
be wrong. Locks held by other threads would never be released. Therefore, a fork waits until no thread uses a store, and
stores close their files before the fork. In the child, every registered object creates new locks.
"""

import os
import threading
import weakref
from types import TracebackType
from typing import Protocol, runtime_checkable


@runtime_checkable
class BeforeFork(Protocol):
    """An object with open files or threads that must be closed before a fork."""

    def before_fork(self) -> None:
        """Close the files and stop the threads. No other thread uses a store during this call (none is inside ``fork_guard``)."""
        ...


@runtime_checkable
class AfterFork(Protocol):
    """An object with locks. A fork may copy a lock that is held, so the child process needs new locks."""

    def after_fork(self) -> None:
        """Create new locks. Called in the child process."""
        ...


class _ForkGuard:
    """A reentrant guard that many threads can hold at the same time. A fork waits until no thread holds it."""

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
        """Prevent other threads from acquiring the guard, and wait until no other thread holds it."""
        with self._condition:
            while self._forking:
                self._condition.wait()
            self._forking = True
            while self._threads > (1 if getattr(self._local, "depth", 0) else 0):
                self._condition.wait()

    def open(self) -> None:
        """Allow other threads to acquire the guard again."""
        with self._condition:
            self._forking = False
            self._condition.notify_all()


fork_guard = _ForkGuard()
"""Context manager that delays forks until its block has ended."""

_registered: "weakref.WeakSet[BeforeFork | AfterFork]" = weakref.WeakSet()


def register(instance: BeforeFork | AfterFork) -> None:
    """Register an object for forks. Its methods ``before_fork`` and ``after_fork``, if present, are called at every fork.

    Only a weak reference to the object is kept.
    """
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
