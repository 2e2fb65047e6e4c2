"""Knowing early that the process is to end, so that answers without an end of their own can come to one."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ShutdownFlag:
    """A flag that goes up with the signal that ends the process; the handlers there were are called all the same."""

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._earlier: dict[int, Any] = {}

    def is_set(self) -> bool:
        """Tell whether the end is near."""
        return self._flag.is_set()

    def set(self) -> None:
        """Say that it is."""
        self._flag.set()

    def listen(self) -> None:
        """Listen to signals; only a main thread can."""
        if threading.current_thread() is threading.main_thread():
            self._earlier = {number: signal.signal(number, self._hear) for number in _SIGNALS}

    def restore(self) -> None:
        """Put the handlers back."""
        for number, handler in self._earlier.items():
            signal.signal(number, handler)
        self._earlier = {}

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.set()
        earlier: Callable[[int, FrameType | None], Any] | Any = self._earlier.get(number)
        if callable(earlier):
            earlier(number, frame)
