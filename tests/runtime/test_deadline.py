"""Calls that do not return: no caller waits longer than the given time, and few such calls accumulate."""

import threading

import pytest

from holdfast.runtime.deadline import Deadline, Overdue


def fail() -> None:
    raise ValueError("no")


def test_the_caller_gets_the_result_or_the_error_of_a_call() -> None:
    deadline = Deadline()
    assert deadline.run(lambda: 7, 5.0) == 7
    with pytest.raises(ValueError, match="no"):
        deadline.run(fail, 5.0)


def test_an_overdue_call_is_given_up_and_too_many_of_them_stop_further_calls() -> None:
    deadline, released = Deadline(), threading.Event()
    for _ in range(8):
        with pytest.raises(Overdue, match=r"no answer within 0\.01 seconds"):
            deadline.run(lambda: released.wait(30), 0.01)
    with pytest.raises(Overdue, match="8 earlier calls"):
        deadline.run(lambda: True, 0.01)
    released.set()
    for thread in threading.enumerate():
        if thread.name == "holdfast-model-call":
            thread.join(5)
    assert deadline.run(lambda: True, 5.0)
