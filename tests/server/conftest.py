"""What the server's tests share: a server over a real socket, with no background worker unless asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.http_support import Served, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A new store, served without keys to this machine."""
    with serving(tmp_path / "home") as server:
        yield server
