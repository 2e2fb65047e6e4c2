"""Bounded calls: a caller never waits longer than its budget, and a failing service is not called for a while."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from holdfast.runtime.bounded_calls import BoundedCalls, NotAnswered
from holdfast.runtime.circuit_breaker import CircuitBreaker
from holdfast.runtime.wait_budget import WaitBudget, current_budget, note, wait_budget
from tests.server.http_support import eventually

HANG_SECONDS = 60.0
"""Time for which a hanging service does not answer: much longer than any call may take, on a busy machine, too."""


class Ticks:
    """A clock that tests advance."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def calls(ticks: Ticks) -> BoundedCalls:
    return BoundedCalls(CircuitBreaker(clock=ticks))


@pytest.fixture
def hanging() -> Iterator[Callable[[], str]]:
    """A service that hangs until the end of the test, or until ``hanging.release`` is set."""
    release = threading.Event()

    def hang() -> str:
        release.wait(HANG_SECONDS)
        return "late"

    hang.release = release  # type: ignore[attr-defined]
    yield hang
    release.set()


def fail() -> NoReturn:
    raise ValueError("broken")


def run(calls: BoundedCalls, work: Callable[[], str], seconds: float = 0.05) -> str:
    return calls.run(work, WaitBudget(seconds), service="the model")


def test_a_result_in_time_is_returned(calls: BoundedCalls) -> None:
    assert run(calls, lambda: "yes", 10) == "yes"
    assert calls.problem is None


def test_a_caller_waits_no_longer_than_its_budget(calls: BoundedCalls, hanging: Callable[[], str]) -> None:
    started = time.monotonic()
    with pytest.raises(NotAnswered, match=r"the model did not answer in time. A recall waits at most 0.05 s"):
        run(calls, hanging)
    assert time.monotonic() - started < HANG_SECONDS / 2, "the caller waited for the service"


def test_two_calls_share_one_budget(hanging: Callable[[], str]) -> None:
    budget, called = WaitBudget(0.1), threading.Event()
    with pytest.raises(NotAnswered):
        BoundedCalls().run(hanging, budget, service="the model")
    assert budget.remaining == 0
    with pytest.raises(NotAnswered):
        BoundedCalls().run(called.set, budget, service="the index")
    assert not called.is_set(), "nothing of the budget was left for a second call"


def test_no_call_starts_while_an_overdue_one_runs_even_after_the_pause(
    calls: BoundedCalls, ticks: Ticks, hanging: Callable[[], str]
) -> None:
    started: list[int] = []
    with pytest.raises(NotAnswered):
        run(calls, hanging)
    for _ in range(5):
        ticks.now += 1000
        with pytest.raises(NotAnswered):
            run(calls, lambda: started.append(1) or "no")  # type: ignore[func-returns-value]
    assert started == []
    hanging.release.set()  # type: ignore[attr-defined]
    eventually(lambda: not calls._running)
    assert run(calls, lambda: "yes", 10) == "yes"


def test_the_success_of_another_call_starts_no_call_while_an_overdue_one_runs(
    calls: BoundedCalls, hanging: Callable[[], str]
) -> None:
    entered, release, results = threading.Event(), threading.Event(), []

    def slower() -> str:
        entered.set()
        release.wait(60)
        return "yes"

    thread = threading.Thread(target=lambda: results.append(run(calls, slower, 10)))
    thread.start()
    assert entered.wait(60)
    with pytest.raises(NotAnswered):
        run(calls, hanging)
    release.set()
    thread.join()
    assert (results, calls.problem) == (["yes"], None)
    with pytest.raises(NotAnswered, match="did not answer in time"):
        run(calls, lambda: "no", 10)


def test_an_error_is_raised_as_it_is_and_starts_a_pause(calls: BoundedCalls, ticks: Ticks) -> None:
    with pytest.raises(ValueError, match="broken"):
        run(calls, fail, 10)
    with pytest.raises(NotAnswered, match="broken"):
        run(calls, lambda: "not called", 10)
    ticks.now += 1
    assert run(calls, lambda: "called", 10) == "called"
    assert calls.problem is None


def test_pauses_double_up_to_a_minute_and_start_over_after_a_success(ticks: Ticks) -> None:
    breaker = CircuitBreaker(clock=ticks)
    pauses = []
    for _ in range(9):
        breaker.fail("down")
        breaker.fail("down, says a call that began before the pause")
        before = ticks.now
        while breaker.is_open:
            ticks.now += 1
        pauses.append(ticks.now - before)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    breaker.succeed()
    breaker.fail("down again")
    ticks.now += 1
    assert not breaker.is_open


def test_after_a_pause_one_caller_tries_and_the_others_go_on_without(calls: BoundedCalls, ticks: Ticks) -> None:
    with pytest.raises(ValueError, match="broken"):
        run(calls, fail, 10)
    ticks.now += 1
    entered, release = threading.Event(), threading.Event()

    def probe() -> str:
        entered.set()
        release.wait(60)
        return "yes"

    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(run(calls, probe, 10)))
    thread.start()
    assert entered.wait(60)
    with pytest.raises(NotAnswered, match="broken"):
        run(calls, lambda: "second", 10)
    release.set()
    thread.join()
    assert results == ["yes"]


def test_many_callers_of_a_healthy_service_all_get_their_answer(calls: BoundedCalls) -> None:
    results: list[str] = []

    def work() -> str:
        time.sleep(0.01)
        return "yes"

    threads = [threading.Thread(target=lambda: results.append(run(calls, work, 30))) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["yes"] * 50


def test_a_recall_within_a_recall_shares_its_budget_and_its_notices() -> None:
    with wait_budget(1.0) as outer:
        with wait_budget(5.0) as inner:
            note("words only")
            note("words only")
        assert inner is outer
    assert outer.notices == ("words only",)
    assert current_budget() is None
    note("outside: nobody listens")
