"""The background thread's end."""

import threading
import time

from holdfast.background.worker_thread import WorkerThread


class Hanging:
    """Work that comes to no end until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def work(self) -> bool:
        """Hang."""
        self.begun.set()
        self.let_go.wait(30)
        return False


def test_work_that_hangs_does_not_keep_the_program_from_ending() -> None:
    hanging = Hanging()
    worker = WorkerThread(hanging.work, patience=0.1)
    worker.wake()
    assert hanging.begun.wait(10)
    started = time.monotonic()
    worker.stop()
    hanging.let_go.set()
    assert time.monotonic() - started < 10
