"""A semaphore that serves waiting threads in order of arrival."""

import threading
import time

import pytest

from holdfast.runtime.fair_slots import FairSlots, TaskKind

pytestmark = pytest.mark.ledger("X28")


def wait_until_waiting(slots: FairSlots, number: int) -> None:
    until = time.monotonic() + 60
    while slots.waiting < number:
        assert time.monotonic() < until
        time.sleep(0.001)


def test_a_thread_that_takes_slots_in_a_row_lets_waiting_threads_in_between() -> None:
    slots, order = FairSlots(1), list[str]()

    def neighbor(name: str) -> None:
        with slots.slot():
            order.append(name)

    threads = [threading.Thread(target=neighbor, args=(name,)) for name in ("a", "b")]
    with slots.slot():
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until_waiting(slots, number)
    for _ in range(100):
        with slots.slot():
            order.append("loud")
    for thread in threads:
        thread.join(60)
    assert order == ["a", "b", *["loud"] * 100]


def test_no_more_threads_than_slots_are_inside_and_no_slot_is_lost() -> None:
    slots, inside, most, guard = FairSlots(2), [0], [0], threading.Lock()

    def work() -> None:
        for _ in range(50):
            with slots.slot():
                with guard:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                with guard:
                    inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most[0], slots._free, slots.waiting) == (2, 2, 0)


def test_short_tasks_go_first_and_long_ones_are_served_too() -> None:
    slots, order = FairSlots(1), list[str]()

    def work(name: str) -> None:
        with slots.slot("short" if name == "short" else "long"):
            order.append(name)

    names = ["long", "long", *["short"] * 20]
    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    with slots.slot():
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until_waiting(slots, number)
    for thread in threads:
        thread.join(10)
    assert order == [*["short"] * 8, "long", *["short"] * 8, "long", *["short"] * 4]


def test_tasks_of_low_priority_leave_one_slot_to_others() -> None:
    slots, order = FairSlots(2), list[str]()

    def work(kind: TaskKind) -> None:
        with slots.slot(kind):
            order.append(kind)

    low, short, long = (threading.Thread(target=work, args=(kind,)) for kind in ("low", "short", "long"))
    with slots.slot("low"):
        low.start()
        wait_until_waiting(slots, 1)
        for thread in (short, long):
            thread.start()
            thread.join(60)
        assert (order, slots.waiting) == (["short", "long"], 1)
    low.join(60)
    assert (order, slots._free, slots._free_for_low) == (["short", "long", "low"], 2, 1)
