"""Fixtures: a store with its mirrored folder, empty or with one page of three lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Engine
from tests.topic_files.support import BROTH, NUTS, PRESET, RICE, Workspace


@pytest.fixture
def workspace(open_memory: Callable[..., Engine], folder: Path) -> Workspace:
    return Workspace(open_memory(preset=PRESET), folder / "topics")


@pytest.fixture
def cooking(workspace: Workspace) -> Workspace:
    for text in (RICE, BROTH, NUTS):
        workspace.keep(text)
    workspace.files.sync()
    return workspace
