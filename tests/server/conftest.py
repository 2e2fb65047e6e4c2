"""What the server's tests share: a server over a real socket, with no background worker unless asked for."""

from collections.abc import Iterator

import pytest

from tests.places import Place
from tests.server.http_support import Served, serving


@pytest.fixture
def served(place: Place) -> Iterator[Served]:
    """A new store, served without keys to this machine."""
    with serving(place) as server:
        yield server
