"""The places a memory may live in: a file, a file with Chroma as its index, a PostgreSQL database.

A test that is marked ``everywhere`` runs in each of them, or in those that the mark names; ``--places postgres,chroma`` runs every test that can move
there instead. What cannot be had on this machine is skipped.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from holdfast.presets import find_preset

Kind = Literal["sqlite", "postgres", "chroma"]
KINDS: Sequence[Kind] = ("sqlite", "postgres", "chroma")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One of them, empty when a test begins."""

    kind: Kind
    folder: Path
    address: str | None = None

    def opening(self, **options: Any) -> dict[str, Any]:
        """Return what ``holdfast.open`` takes to open the memory here; a path that a test chose by itself stays."""
        if "path" in options:
            return options
        if self.address is None:
            chosen = {"settings": {"index": "chroma"}} if self.kind == "chroma" else {}
            return {"path": self.folder / "memory.db", **chosen, **options}
        preset = find_preset(options["preset"]) if isinstance(options.get("preset"), str) else options.get("preset")
        if preset is not None and preset.topics_dir is not None and not Path(preset.topics_dir).is_absolute():
            options["preset"] = replace(preset, topics_dir=str(self.folder / preset.topics_dir))  # else in the data directory
        return {"path": self.address, **options}

    @property
    def arguments(self) -> list[str]:
        """What the command line takes to name it."""
        return ["--store", self.address or str(self.folder / "memory.db")]


@contextmanager
def a_place(kind: Kind, folder: Path, *, own: bool = False) -> Iterator[Place]:
    """Give an empty place; a database is shared with the tests before and after, unless it is to be one's ``own``."""
    if kind == "chroma":
        pytest.importorskip("chromadb", reason="the extra chroma is not installed")
    if kind != "postgres":
        yield Place(kind=kind, folder=folder)
        return
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    from tests.stores.postgres.support import running  # noqa: PLC0415  (starts nothing, but needs the extra)

    server = running()
    address = server.new() if own else server.emptied()
    try:
        yield Place(kind=kind, folder=folder, address=address)
    finally:
        if own:
            server.drop(address)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Let a test that uses a place run in all it is meant for."""
    if "place" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--places")
    marked = metafunc.definition.get_closest_marker("everywhere")
    kinds = chosen.split(",") if chosen else () if marked is None else marked.args or KINDS
    if kinds:
        metafunc.parametrize("place", [_case(kind) for kind in kinds], indirect=True)


def _case(kind: str) -> Any:
    """Return one case; on PostgreSQL every one of them shows that the second store behaves as the first."""
    return pytest.param(kind, id=kind, marks=[pytest.mark.ledger("X9")] if kind == "postgres" else [])
