"""Fixture: a store with data of every type."""

from collections.abc import Callable

import pytest

from holdfast import Engine
from tests.exporters.support import PRESET, fill, filled_store
from tests.places import Place


@pytest.fixture
def full(place: Place, open_memory: Callable[..., Engine]) -> Engine:
    """An engine whose store has data of every type. On SQLite, the file is a copy of a store that is filled only once."""
    if place.kind != "sqlite":
        memory = open_memory(preset=PRESET)
        fill(memory)
        return memory
    file = place.opening()["path"]
    file.write_bytes(filled_store())
    return open_memory(preset=PRESET)
