"""A browser for the tests of the dashboard. Without one, these tests are skipped."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.dashboard.support import launched


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Return one headless browser for all tests of the dashboard that run in a row."""
    with launched() as found:
        yield found
