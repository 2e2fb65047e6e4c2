"""A flag that is set when the process shuts down, so that endless streamed responses can stop."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ShutdownFlag:
    """A flag that is set by SIGINT and SIGTERM. Previously installed handlers are still called."""

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._earlier: dict[int, Any] = {}

    def is_set(self) -> bool:
        """Return True if the process is shutting down."""
        return self._flag.is_set()

    def set(self) -> None:
        """Set the flag."""
        self._flag.set()

    def listen(self) -> None:
        """Install the signal handlers. Does nothing outside the main thread, because Python allows signal handlers only there."""
        if threading.current_thread() is threading.main_thread():
            self._earlier = {number: signal.signal(number, self._hear) for number in _SIGNALS}

    def restore(self) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._earlier.items():
            signal.signal(number, handler)
        self._earlier = {}

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.set()
        earlier: Callable[[int, FrameType | None], Any] | Any = self._earlier.get(number)
        if callable(earlier):
            earlier(number, frame)
