"""Lets work that can wait give way to short requests.

The threads of a process share one interpreter lock and a few cores, so a long computation in one thread slows down the
others. Background work and large requests call :func:`lower_priority` at their start. Between two items, such as two
sentences to read, they call :func:`give_way`, which pauses them while short requests run (:class:`Urgent`). A pause is at
most three times as long as the work before it, and never longer than a tenth of a second. So this work takes at most
four times as long, however many requests arrive.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from holdfast.runtime import forks

__all__ = [
    "Pace",
    "Urgent",
    "at_full_speed",
    "give_way",
    "has_low_priority",
    "lower_priority",
    "start_pace",
    "urgent",
    "with_pauses",
]

T = TypeVar("T")
_MAX_PAUSE_RATIO: Final = 3.0
"""Maximum length of a pause, relative to the time of the work before it."""
_MAX_PAUSE_SECONDS: Final = 0.1
"""Maximum length of a pause, in seconds. It limits the pause after long work, for example after waiting for a chat model."""


class Urgent:
    """Counts the short requests that run in this process."""

    def __init__(self) -> None:
        self.after_fork()
        forks.register(self)

    def after_fork(self) -> None:
        """Start without requests in a forked child. The threads that ran them do not exist there."""
        self._changed = threading.Condition(threading.Lock())
        self._running = 0

    def enter(self) -> None:
        """Count a request that starts."""
        with self._changed:
            self._running += 1

    def leave(self) -> None:
        """Count a request that ends. If it was the last one, work of low priority goes on."""
        with self._changed:
            self._running -= 1
            if not self._running:
                self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait until no short request is running, but at most this many seconds."""
        if self._running:
            with self._changed:
                self._changed.wait_for(lambda: not self._running, seconds)


urgent: Final = Urgent()
"""The short requests of this process."""


class Pace:
    """The priority of a task and of the threads that work for it.

    The priority is usual until a thread calls :meth:`lower`. ``since`` is the time of the last call of :func:`give_way`.
    Before the first such call, ``since`` is the time when the priority became low.
    """

    __slots__ = ("is_low", "since")

    def __init__(self) -> None:
        self.is_low = False
        self.since = time.monotonic()

    def lower(self) -> None:
        """Give low priority to the task, and to the threads that work for it, from now on."""
        self.since = time.monotonic()
        self.is_low = True


_pace: ContextVar[Pace | None] = ContextVar("pace of work", default=None)


def start_pace() -> Pace:
    """Give usual priority to the current task, and to threads that run with a copy of its context.

    The returned object can lower the priority later.
    """
    pace = Pace()
    _pace.set(pace)
    return pace


def lower_priority() -> None:
    """Give low priority to the current thread or task from now on, and to threads that run with a copy of its context."""
    start_pace().lower()


def has_low_priority() -> bool:
    """Return True if the current thread or task has low priority."""
    pace = _pace.get()
    return pace is not None and pace.is_low


@contextmanager
def at_full_speed() -> Iterator[None]:
    """Run the ``with`` block without pauses, even in a thread with low priority.

    Use this context manager for work that other threads wait for, such as a write transaction.
    """
    if _pace.get() is None:
        yield
        return
    token = _pace.set(None)
    try:
        yield
    finally:
        _pace.reset(token)


def with_pauses(items: Iterable[T]) -> Iterator[T]:
    """Yield the items. Before each item, call :func:`give_way`."""
    for item in items:
        give_way()
        yield item


def give_way() -> None:
    """Pause while short requests run, if this thread has low priority. Must not be called while holding a lock."""
    pace = _pace.get()
    if pace is not None and pace.is_low:
        urgent.wait(min(_MAX_PAUSE_RATIO * (time.monotonic() - pace.since), _MAX_PAUSE_SECONDS))
        pace.since = time.monotonic()
