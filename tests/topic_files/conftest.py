"""Fixtures: a store with its mirrored folder, empty or with one page of three lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Engine
from tests.topic_files.support import BROTH, NUTS, PRESET, RICE, Desk


@pytest.fixture
def desk(open_memory: Callable[..., Engine], folder: Path) -> Desk:
    return Desk(open_memory(preset=PRESET), folder / "topics")


@pytest.fixture
def cooking(desk: Desk) -> Desk:
    for text in (RICE, BROTH, NUTS):
        desk.keep(text)
    desk.files.sync()
    return desk
