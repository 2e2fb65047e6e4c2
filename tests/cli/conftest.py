"""Fixtures: the command line with a temporary data directory, with and without weights."""

from pathlib import Path

import pytest

from holdfast.config.folders import models_directory
from holdfast.errors import ModelError
from holdfast.models.local.registry import DEFAULT_MODEL, find
from holdfast.models.local.weights import locate

from .support import Holdfast


@pytest.fixture
def holdfast(tmp_path: Path) -> Holdfast:
    """The command line with an embedder whose weights are missing."""
    return Holdfast(home=tmp_path / "home", models=tmp_path / "no-weights", embedder="arctic-embed-s")


@pytest.fixture
def holdfast_with_weights(tmp_path: Path) -> Holdfast:
    try:
        locate(find(DEFAULT_MODEL), models_directory())
    except ModelError as error:
        pytest.skip(f"needs real weights: {error}")
    return Holdfast(home=tmp_path / "home", models=models_directory())
