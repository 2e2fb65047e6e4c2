"""Durability tests write to a real disk. Other tests write to an in-memory file system if there is one."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A new folder on a disk, removed after the test."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)
