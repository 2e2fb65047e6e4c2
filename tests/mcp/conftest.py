"""Fixtures: a data directory, a pool of engines and a server over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from holdfast.server.tenants import EnginePool, open_pool
from holdfast.testing import HashEmbedder

from .support import Served, Stdio, serving


@pytest.fixture
def stdio(tmp_path: Path) -> Stdio:
    return Stdio(tmp_path / "home")


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[EnginePool]:
    with open_pool(tmp_path / "pool.db", embedder=HashEmbedder(), worker="none") as pool:
        yield pool


@pytest.fixture
def served(pool: EnginePool) -> Iterator[Served]:
    with serving(pool) as served:
        yield served
