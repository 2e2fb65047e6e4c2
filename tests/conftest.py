"""What most tests need: a memory on real parts, a clock that stands still, and a look at the bytes on disk."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite(
    *(
        f"holdfast.testing.{name}"
        for name in (
            "embedders",
            "store_access",
            "store_apps",
            "store_care",
            "store_records",
            "store_search",
            "store_vectors",
            "store_writes",
        )
    )
)

import holdfast  # noqa: E402  (after the rewriting of its asserts was asked for)
from holdfast import Engine  # noqa: E402
from holdfast.testing import FrozenClock, HashEmbedder  # noqa: E402


@pytest.fixture
def clock() -> FrozenClock:
    """Noon on the first of March 2026, a Sunday."""
    return FrozenClock("2026-03-01T12:00:00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The only folder the memory writes to."""
    return tmp_path / "home"


@pytest.fixture
def open_memory(folder: Path, clock: FrozenClock) -> Iterator[Callable[..., Engine]]:
    """Open the same place again and again; everything is closed at the end."""
    opened: list[Engine] = []

    def open_one(**options: Any) -> Engine:
        options = {"worker": "none", "embedder": HashEmbedder(), "clock": clock, **options}
        opened.append(holdfast.open(options.pop("path", folder / "memory.db"), **options))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., Engine]) -> Engine:
    """A new memory with the default preset."""
    return open_memory()


@pytest.fixture
def files_with(folder: Path) -> Callable[[str | bytes], list[str]]:
    """Return the names of the files on disk that hold some bytes, in any case."""

    def look(needle: str | bytes) -> list[str]:
        wanted = (needle.encode() if isinstance(needle, str) else needle).lower()
        return sorted(file.name for file in folder.rglob("*") if file.is_file() and wanted in file.read_bytes().lower())

    return look
