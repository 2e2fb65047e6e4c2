"""The tests of durability write to a disk. The other tests write to memory, where a system has a folder for that."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A new folder on a disk, removed after the test."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)
