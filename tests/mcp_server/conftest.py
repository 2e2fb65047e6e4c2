"""A data directory, a house and a server over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from holdfast.server.house import House, open_house
from holdfast.testing import HashEmbedder

from .support import Served, Stdio, serving


@pytest.fixture
def stdio(tmp_path: Path) -> Stdio:
    return Stdio(tmp_path / "home")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with open_house(tmp_path / "house.db", embedder=HashEmbedder(), worker="none") as house:
        yield house


@pytest.fixture
def served(house: House) -> Iterator[Served]:
    with serving(house) as served:
        yield served
