"""Living through ``os.fork()``.

A fork copies a process with one thread of it. SQLite's own tables of open files and held locks would be copied
as well and lie to the child, and a lock that another thread holds would stay held there for ever. So a fork
waits until no thread is inside the store, the store lets go of its files before it, and in the child every
object that has locks makes new ones.
"""

import os
import threading
import weakref
from types import TracebackType
from typing import Protocol, runtime_checkable


@runtime_checkable
class BeforeFork(Protocol):
    """Something with files or threads that a fork must not copy."""

    def before_fork(self) -> None:
        """Let go of them; no thread is inside the gate, but for the one that forks."""
        ...


@runtime_checkable
class AfterFork(Protocol):
    """Something with locks, which a fork may copy while they are held."""

    def after_fork(self) -> None:
        """Make new locks, in the child."""
        ...


class _Gate:
    """Counts the threads inside; entering again from within is free."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._turn = threading.Condition(threading.Lock())
        self._inside = 0
        self._forking = False
        self._own = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        if depth == 0:
            with self._turn:
                while self._forking:
                    self._turn.wait()
                self._inside += 1
        self._own.depth = depth + 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._own.depth -= 1
        if self._own.depth == 0:
            with self._turn:
                self._inside -= 1
                if self._forking:
                    self._turn.notify_all()

    def shut(self) -> None:
        """Wait until everyone else is out, and keep them out."""
        with self._turn:
            while self._forking:
                self._turn.wait()
            self._forking = True
            while self._inside > (1 if getattr(self._own, "depth", 0) else 0):
                self._turn.wait()

    def open(self) -> None:
        """Let everyone in again."""
        with self._turn:
            self._forking = False
            self._turn.notify_all()


fork_guard = _Gate()
"""``with fork_guard:`` stands around everything that must not be under way during a fork."""

_watched: "weakref.WeakSet[BeforeFork | AfterFork]" = weakref.WeakSet()


def register(thing: BeforeFork | AfterFork) -> None:
    """Call the hooks that a thing has, ``before_fork`` and ``after_fork``, at every fork for as long as it lives."""
    _watched.add(thing)


def _before() -> None:
    fork_guard.shut()
    for thing in list(_watched):
        if isinstance(thing, BeforeFork):
            thing.before_fork()


def _in_child() -> None:
    fork_guard.renew()
    for thing in list(_watched):
        if isinstance(thing, AfterFork):
            thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=fork_guard.open, after_in_child=_in_child)
