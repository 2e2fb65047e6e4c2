"""Fixtures that find real model weights. Tests that need weights are skipped without them."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.errors import ModelError
from holdfast.models.local.registry import find_any
from holdfast.models.local.weights import locate


def _cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


@pytest.fixture(scope="session")
def weights_dir() -> Path:
    return Path(os.environ.get("HOLDFAST_MODELS") or _cache() / "holdfast" / "models")


@pytest.fixture(scope="session")
def weights_of(weights_dir: Path) -> Callable[[str], Path]:
    """Return a function that returns the folder with a model's weights. The function skips the test if there are none."""

    def directory(name: str) -> Path:
        try:
            locate(find_any(name), weights_dir)
        except ModelError as error:
            pytest.skip(f"needs real weights: {error}")
        return weights_dir

    return directory
