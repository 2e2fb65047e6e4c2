"""The order of tests that several workers share."""

import pytest

from tools.order_tests import shared_out

LIMITS = {"soak": 360.0, "kill 1": 240.0, "kill 2": 0.0, "bench": 0.0}
TESTS = ["a 1", "bench", "a 2", "kill 1", "kill 2", "b 1", "soak", "b 2", "b 3", "b 4"]


def _shared(workers: int) -> list[str]:
    return shared_out(TESTS, workers, file=lambda test: test.split()[0], limit=LIMITS.get)


@pytest.mark.parametrize("workers", [1, 2, 3, 10])
def test_every_test_is_in_the_list_once(workers: int) -> None:
    assert sorted(_shared(workers)) == sorted(TESTS)


def test_the_part_of_each_worker_begins_with_long_tests_and_the_longest_is_the_first() -> None:
    shared = _shared(2)
    assert shared[:5] == ["soak", "bench", "a 1", "a 2", "b 1"]
    assert shared[5:] == ["kill 1", "kill 2", "b 2", "b 3", "b 4"]


def test_quick_tests_alone_keep_their_order() -> None:
    quick = [test for test in TESTS if test not in LIMITS]
    assert shared_out(quick, 2, file=lambda test: test.split()[0], limit=LIMITS.get) == quick
