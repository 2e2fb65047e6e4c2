"""Stopping the background thread."""

import threading
import time

from holdfast.background.worker_thread import WorkerThread


class Hanging:
    """Work that does not end until it is released."""

    def __init__(self) -> None:
        self.started_event = threading.Event()
        self.released = threading.Event()

    def work(self) -> bool:
        """Wait until released."""
        self.started_event.set()
        self.released.wait(30)
        return False


def test_work_that_hangs_does_not_keep_the_program_from_ending() -> None:
    hanging = Hanging()
    worker = WorkerThread(hanging.work, stop_timeout=0.1)
    worker.wake()
    assert hanging.started_event.wait(10)
    started = time.monotonic()
    worker.stop()
    hanging.released.set()
    assert time.monotonic() - started < 10
