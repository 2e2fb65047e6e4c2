"""An engine with Chroma as its index, as a user opens it."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.config.folders import models_directory
from holdfast.config.settings import Settings
from holdfast.config.stores import make_store
from holdfast.errors import ModelError, SettingsError
from holdfast.models.local.registry import find
from holdfast.models.local.weights import locate
from holdfast.services import services
from tests.stores.chroma.support import build_folders, ids_in_chroma

pytest.importorskip("chromadb")

OpenMemory = Callable[..., Engine]


@pytest.fixture
def minilm() -> str:
    """The name of the Reachy preset's embedder. Skips the test if its weights are missing."""
    try:
        locate(find("all-minilm-l6-v2"), models_directory())
    except ModelError as error:
        pytest.skip(f"needs real weights: {error}")
    return "all-minilm-l6-v2"


@pytest.mark.ledger("C8", "C9")
def test_reachys_memory_is_searched_by_meaning_in_chroma(open_memory: OpenMemory, folder: Path, minilm: str) -> None:
    memory = open_memory(preset="reachy", settings={"index": "chroma"}, embedder=None)
    assert services(memory).embedding.name == minilm
    for text in ("User is interested in robotics and AI", "User plays the violin on Sundays", "User is allergic to peanuts"):
        memory.remember(text, user="ana")
    memory.drain()
    hits = memory.recall("which musical instrument?", user="ana")
    assert str(hits[0]) == "User plays the violin on Sundays"
    assert any(reason.arm == "meaning" for reason in hits[0].why)
    assert len(ids_in_chroma(services(memory).store)) == 3  # type: ignore[arg-type]
    assert not services(memory).store._indexes._indexes  # type: ignore[attr-defined]
    assert len(build_folders(folder / "memory.db")) == 1


@pytest.mark.ledger("C8")
def test_erasing_a_person_leaves_nothing_in_chromas_folder_and_is_verified(open_memory: OpenMemory, folder: Path) -> None:
    memory = open_memory(settings={"index": "chroma"})
    memory.remember("keeps a pangolin on the roof", user="ana")
    memory.remember("keeps a parrot in the hall", user="bob")
    memory.drain()
    before = build_folders(folder / "memory.db")
    receipt = memory.erase(user="ana")
    assert receipt.verified
    assert receipt.status == "erased"
    assert not any(build.exists() for build in before)
    memory.drain()
    assert len(ids_in_chroma(services(memory).store)) == 1  # type: ignore[arg-type]
    assert [str(hit) for hit in memory.recall("parrot", user="bob")] == ["keeps a parrot in the hall"]


@pytest.mark.ledger("C8")
def test_the_setting_comes_from_a_file_too(open_memory: OpenMemory, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("preset: reachy\nindex: chroma\n", "utf-8")
    memory = open_memory(settings=tmp_path / "settings.yaml")
    memory.remember("likes the sea")
    memory.drain()
    assert len(ids_in_chroma(services(memory).store)) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"index": "faiss"}, "memory, chroma or"),
        ({"index": "chroma:localhost:8000"}, "chroma:http://localhost:8000"),
        ({"index": "chroma:http://localhost:8000/api"}, "chroma:http://localhost:8000"),
        ({"index": "chroma", "key": "secret"}, "does not encrypt"),
    ],
)
def test_an_invalid_index_setting_is_refused(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        make_store(Settings(store=str(tmp_path / "memory.db"), **settings))


QUIET = """
import socket, sys

class Refusing(socket.socket):
    def connect(self, address):
        raise SystemExit(f"it wants to talk to {address}")

socket.socket = Refusing
import holdfast
from holdfast.testing import HashEmbedder
with holdfast.open(sys.argv[1], settings={"index": "chroma"}, embedder=HashEmbedder(), worker="none") as memory:
    memory.remember("likes the sea")
    memory.drain()
    assert str(memory.recall("sea")[0]) == "likes the sea"
"""


@pytest.mark.long
@pytest.mark.ledger("C8", "X1")
def test_chroma_downloads_nothing_and_sends_no_telemetry(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", QUIET, str(tmp_path / "memory.db")],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(home.rglob("*")) == []


@pytest.mark.long
def test_a_memory_is_restored_with_chroma_in_use(open_memory: OpenMemory, folder: Path, tmp_path: Path) -> None:
    with contextlib.closing(open_memory(settings={"index": "chroma"})) as memory:
        memory.remember("likes the sea", user="ana")
        memory.drain()
        memory.backup(tmp_path / "copy.db")
        memory.remember("likes the mountains", user="ana")
        memory.drain()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "holdfast.cli",
            "restore",
            str(tmp_path / "copy.db"),
            "--yes",
            "--store",
            str(folder / "memory.db"),
        ],
        env={**os.environ, "HOLDFAST_INDEX": "chroma", "HOLDFAST_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    memory = open_memory(settings={"index": "chroma"})
    assert [str(hit) for hit in memory.recall("what does she like?", user="ana")] == ["likes the sea"]
    memory.drain()
    assert len(ids_in_chroma(services(memory).store)) == 1  # type: ignore[arg-type]
