"""Fork hooks: an object may have ``before_fork``, ``after_fork`` or both. Only the methods that it has are called."""

import os

import pytest

from holdfast.runtime import forks
from tests.runtime.forking import in_a_forked_child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


class OnlyBefore:
    """An object with ``before_fork`` only."""

    calls = 0

    def before_fork(self) -> None:
        """Count the call."""
        self.calls += 1


class OnlyAfter:
    """An object with ``after_fork`` only."""

    calls = 0

    def after_fork(self) -> None:
        """Count the call."""
        self.calls += 1


def test_an_object_may_have_only_one_of_the_two_fork_methods() -> None:
    before, after = OnlyBefore(), OnlyAfter()
    forks.register(before)
    forks.register(after)
    assert in_a_forked_child(lambda: bytes([before.calls, after.calls])) == bytes([1, 1])
    assert (before.calls, after.calls) == (1, 0)
