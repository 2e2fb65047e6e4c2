"""A browser for the tests of the dashboard. Without one, these tests are skipped."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.dashboard.support import launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return one headless browser for all tests of a module."""
    with launched() as found:
        yield found
