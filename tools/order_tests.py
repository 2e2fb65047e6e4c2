"""Order the tests that several workers share: long tests first, so that no worker is left with a long test at the end.

xdist gives each worker an equal part of the list, in order. A worker that has finished takes tests from the end of another
worker's part. So each part begins with long tests and ends with quick tests.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import groupby
from typing import TypeVar

Test = TypeVar("Test")


def shared_out(
    tests: Sequence[Test], workers: int, *, file: Callable[[Test], Hashable], limit: Callable[[Test], float | None]
) -> list[Test]:
    """Return the tests in a new order that consists of equal parts, one per worker. Long tests of the same file stay together.

    ``limit`` is a function that returns the time limit of a long test, or None for a quick test. Files with the highest
    limits come first.
    """
    long = [(test, seconds) for test in tests if (seconds := limit(test)) is not None]
    groups = [list(group) for _, group in groupby(long, key=lambda each: file(each[0]))]
    parts: list[list[Test]] = [[] for _ in range(workers)]
    for group in sorted(groups, key=lambda group: -max(seconds for _, seconds in group)):
        min(parts, key=len).extend(test for test, _ in group)
    quick = [test for test in tests if limit(test) is None]
    shared: list[Test] = []
    for number, part in enumerate(parts):
        size = (len(tests) - len(shared)) // (workers - number)
        shared += part + [quick.pop(0) for _ in range(min(size - len(part), len(quick)))]
    return shared + quick
