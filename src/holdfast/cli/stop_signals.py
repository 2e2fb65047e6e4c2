"""Turns stop signals into an event, for commands that finish their current work before they stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_event() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C or SIGTERM sets inside the ``with`` block, instead of ending the process."""
    stop = threading.Event()

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    previous = {number: signal.signal(number, request_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
