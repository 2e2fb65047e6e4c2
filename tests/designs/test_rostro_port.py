"""A controller written for Rostro's own manager runs after only its import is changed."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.designs.rostro import MemoryManager, RostroSettings
from holdfast.testing import FrozenClock, HashEmbedder, ScriptedChat


class Controller:
    """A controller as in Rostro. For each utterance, it reads the context first and then passes on the new message."""

    def __init__(self, config: Any, llm_provider: Any, embedding_provider: Any, **opening: Any) -> None:
        self.memory = MemoryManager(config, llm_provider, embedding_provider, **opening)
        self.contexts: list[str] = []

    def process_speech(self, transcription: str) -> None:
        self.contexts.append(self.memory.get_context())
        self.memory.on_user_message(transcription)


@pytest.fixture
def table(tmp_path: Path) -> dict[str, Any]:
    return {
        "session_timeout_minutes": 7,
        "topics_dir": str(tmp_path / "topics"),
        "topic_split_threshold_lines": 50,
        "min_conclusions_for_new_topic": 3,
        "db_path": str(tmp_path / "memory.db"),
        "embedding_similarity_threshold": 0.7,
        "max_memories_per_search": 5,
        "index_max_entries": 20,
    }


@pytest.mark.ledger("R11", "R12")
@pytest.mark.parametrize("shape", ["table", "whole", "file", "object"])
def test_the_controller_runs_with_each_form_of_the_config(
    table: dict[str, Any], shape: str, tmp_path: Path, clock: FrozenClock
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("memory:\n" + "".join(f"  {name}: {value}\n" for name, value in table.items()) + "face:\n  pack: happy\n")
    config: Any = {"table": table, "whole": {"memory": table}, "file": file, "object": RostroSettings(**table)}[shape]
    model = ScriptedChat(respond=lambda _: "{}")
    controller = Controller(config, model, HashEmbedder(), clock=clock, worker="none")
    controller.process_speech("I decided to use bomba rice for the paella.")
    controller.memory.on_assistant_message("Good choice.")
    controller.process_speech("And saffron.")
    assert "persistent memory" in controller.contexts[0]
    assert len(controller.memory.get_history()) == 3
    assert (tmp_path / "memory.db").is_file()
    controller.memory.close_session()
    assert controller.memory.get_history() == []
    controller.memory.close()
