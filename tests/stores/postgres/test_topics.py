"""Topic pages with a shared database: each machine has its own files."""

from dataclasses import replace
from pathlib import Path

import holdfast
from holdfast.presets import find_preset
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from tests.stores.postgres.support import server, url

__all__ = ["server", "url"]


def test_pages_that_another_machine_has_not_seen_do_not_count_as_removed(url: str, tmp_path: Path) -> None:
    here, away = tmp_path / "topics", tmp_path / "away"
    preset = replace(find_preset("rostro"), topics_dir=str(here))
    assert preset.topics is not None
    kind = preset.topics.kind

    def learn(*texts: str) -> list[str]:
        """Open an engine with the current folder, store the texts, and return the texts of all memories."""
        with holdfast.open(url, preset=preset, embedder="none", worker="none") as memory:
            for text in texts:
                memory.remember(text, kind=kind, topic="Tea")
            memory.drain()
            return [found.text for found in services(memory).store.memories(MemoryFilter())]

    learn("Ana likes green tea")
    here.rename(away)  # from here on this is another machine, with the same path
    learn("Ana buys tea on Mondays")
    here.rename(tmp_path / "other")
    away.rename(here)  # the first machine again
    assert sorted(learn()) == ["Ana buys tea on Mondays", "Ana likes green tea"]
    assert "Mondays" in "".join(page.read_text() for page in here.glob("*.md"))
