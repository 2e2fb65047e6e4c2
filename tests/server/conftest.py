"""Fixture: a server over a real socket, without a background worker."""

from collections.abc import Iterator

import pytest

from tests.places import Place
from tests.server.http_support import Served, serving


@pytest.fixture
def served(place: Place) -> Iterator[Served]:
    """A new store, served without access keys on loopback."""
    with serving(place) as server:
        yield server
