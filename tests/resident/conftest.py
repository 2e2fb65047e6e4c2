"""Fixtures: a data directory and a repository for coding agents."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .support import Agents


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    repository = tmp_path / "shop"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n', "utf-8")
    agents = Agents(home=tmp_path / "home", repository=repository)
    yield agents
    subprocess.run(agents.command("resident", "--stop"), env=agents.environment, capture_output=True, timeout=60, check=False)
