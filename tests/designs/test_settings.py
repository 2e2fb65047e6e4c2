"""Settings of the designs: their names and defaults. Each design's original YAML file can be used unchanged."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import holdfast
from holdfast import Engine
from holdfast.cli.app import app
from holdfast.config.loading import load_settings
from holdfast.config.opening import make_preset
from holdfast.errors import SettingsError
from holdfast.presets import PRESETS
from holdfast.presets.settings import DESIGNS, DesignSettings, MemoryConfig, ReachySettings, RostroSettings, read_design
from holdfast.services import services
from holdfast.testing import FrozenClock, HashEmbedder

OpenMemory = Callable[..., Engine]

ROSTRO_YAML = """\
memory:
  session_timeout_minutes: 7
  topics_dir: data/topics
  topic_split_threshold_lines: 50
  min_conclusions_for_new_topic: 3
  db_path: data/memory.db
  embedding_similarity_threshold: 0.7
  max_memories_per_search: 5
  index_max_entries: 20
"""
REACHY_YAML = """\
# config/default.yaml
memory:
  path: ~/.reachy/memory
  context_window_size: 5
  embedding_model: all-MiniLM-L6-v2
  cleanup_interval: 3600  # seconds, run cleanup hourly
"""


def written(folder: Path, text: str, name: str = "config.yaml") -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def defaults(kind: type[DesignSettings]) -> dict[str, Any]:
    return {item.name: item.default for item in fields(kind)}


@pytest.mark.ledger("L12")
def test_lo_bugs_settings_are_one_object_with_the_designs_ten_names_and_defaults() -> None:
    assert defaults(MemoryConfig) == {
        "db_path": "lobug_memory.db",
        "short_term_threshold": 30,
        "short_term_keep": 10,
        "long_term_threshold": 20,
        "long_term_keep": 10,
        "retrieval_top_k": 5,
        "retrieval_min_similarity": 0.3,
        "embedding_model": "nomic-embed-text",
        "embedding_dim": 768,
        "duplicate_distance_threshold": 0.15,
    }


@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_the_default_settings_of_a_design_do_not_change_its_preset(name: str) -> None:
    applied = DESIGNS[name]().applied_to(PRESETS[name])
    changed = {item.name for item in fields(applied) if getattr(applied, item.name) != getattr(PRESETS[name], item.name)}
    assert changed <= {"topics_dir"}, "a folder for pages is the one thing that needs settings"


@pytest.mark.ledger("L12")
def test_each_of_lo_bugs_settings_is_applied_to_the_engine(tmp_path: Path) -> None:
    config = MemoryConfig(
        db_path=str(tmp_path / "bug.db"),
        short_term_threshold=50,
        short_term_keep=7,
        long_term_threshold=9,
        long_term_keep=3,
        retrieval_top_k=10,
        retrieval_min_similarity=0.2,
        embedding_model="mxbai-embed-large",
        embedding_dim=3,
        duplicate_distance_threshold=0.1,
    )
    with holdfast.open(settings=config, worker="none") as memory:
        preset = memory.preset
        assert services(memory).store.location == str(tmp_path / "bug.db")
        assert services(memory).embedding.name == "ollama:mxbai-embed-large"
        assert preset.roll_up is not None
        assert preset.base is not None
        assert (preset.roll_up.threshold, preset.roll_up.keep) == (50, 7)
        assert (preset.base.when.threshold, preset.base.when.keep) == (9, 3)
        assert (preset.recall.limit, preset.recall.min_cosine) == (10, 0.2)
        assert preset.reconcile_rules.same_distance == 0.1
    with holdfast.open(settings=config, embedder=lambda text: [1.0, float(len(text)), 0.5], worker="none") as memory:
        embedder = services(memory).embedding.embedder()
        assert embedder is not None
        assert embedder.dimensions == 3


def test_if_the_embedding_function_fails_recall_searches_by_words(tmp_path: Path) -> None:
    def away(text: str) -> list[float]:
        raise ConnectionError(text)

    with holdfast.open(settings=MemoryConfig(db_path=str(tmp_path / "bug.db")), embedder=away, worker="none") as memory:
        memory.remember("The user grows a ginkgo")
        assert [hit.text for hit in memory.recall("ginkgo")] == ["The user grows a ginkgo"]


@pytest.mark.ledger("R11")
def test_rostros_original_yaml_file_works_unchanged(tmp_path: Path) -> None:
    file = written(tmp_path, ROSTRO_YAML)
    with (
        contextlib.chdir(tmp_path),
        holdfast.open(preset="rostro", settings=file, embedder=HashEmbedder(), worker="none") as memory,
    ):
        assert Path(services(memory).store.location).resolve() == (tmp_path / "data" / "memory.db").resolve()
        assert memory.preset.topics_dir == str(Path("data/topics").absolute())
        memory.remember("Prefers bomba rice for paella")
    assert (tmp_path / "data" / "memory.db").is_file()


@pytest.mark.ledger("R11")
def test_each_of_rostros_settings_is_applied_to_the_preset() -> None:
    assert defaults(RostroSettings) == {
        "session_timeout_minutes": 7,
        "topics_dir": "data/topics",
        "topic_split_threshold_lines": 50,
        "min_conclusions_for_new_topic": 3,
        "db_path": "data/memory.db",
        "embedding_similarity_threshold": 0.7,
        "max_memories_per_search": 5,
        "index_max_entries": 20,
    }
    table = {
        "session_timeout_minutes": 5,
        "topics_dir": "~/pages",
        "topic_split_threshold_lines": 30,
        "min_conclusions_for_new_topic": 2,
        "db_path": "~/rostro.db",
        "embedding_similarity_threshold": 0.6,
        "max_memories_per_search": 3,
        "index_max_entries": 12,
    }
    settings = load_settings(table, preset="rostro")
    preset = make_preset(settings)
    assert settings.store == "~/rostro.db"
    assert preset.idle_after == timedelta(minutes=5)
    assert preset.topics_dir == str(Path.home() / "pages")
    assert preset.topics is not None
    assert (preset.topics.max_lines, preset.topics.min_conclusions, preset.topics.max_recent) == (30, 2, 12)
    assert (preset.recall.min_cosine, preset.recall.limit) == (0.6, 3)
    assert preset.layout is not None
    assert [section.max_items for section in preset.layout.sections if section.words == "recent_topics"] == [12]


def test_reachys_original_yaml_file_works_unchanged(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, REACHY_YAML), preset="reachy")
    preset = make_preset(settings)
    assert settings.store == "~/.reachy/memory"
    assert (preset.window, preset.embedder, preset.clean_every) == (10, "all-minilm-l6-v2", timedelta(hours=1))


def test_each_of_reachys_settings_is_applied_to_the_engine(open_memory: OpenMemory, clock: FrozenClock, tmp_path: Path) -> None:
    settings = ReachySettings(
        path=str(tmp_path / "robot"), context_window_size=2, cleanup_interval=60, embedding_model="arctic-embed-s"
    )
    memory = open_memory(path=None, settings=settings, embedder=None)
    assert services(memory).store.location == str(tmp_path / "robot" / "memory.db")
    assert services(memory).embedding.name == "arctic-embed-s"
    session = memory.session()
    for number in range(5):
        session.add("user", f"question {number}")
    assert [message.text for message in session.window()] == ["question 1", "question 2", "question 3", "question 4"]
    kept = memory.remember("soon over", expires_at=clock.now() + timedelta(seconds=1))
    clock.advance(timedelta(seconds=61))
    memory.drain()
    with pytest.raises(holdfast.HoldfastError):
        memory.get(kept.id)


def test_the_embedder_comes_from_the_argument_then_the_settings_then_the_preset(tmp_path: Path) -> None:
    def used(**given: Any) -> str | None:
        with holdfast.open(tmp_path / "memory.db", worker="none", **given) as memory:
            return services(memory).embedding.name

    assert used(settings={"preset": "reachy", "embedder": "none"}, embedder="arctic-embed-s") == "arctic-embed-s"
    assert used(settings={"preset": "reachy", "embedder": "none"}) is None
    assert used(settings={"preset": "reachy"}) == "all-minilm-l6-v2"
    assert used(settings={"preset": "apps"}) == "talk-embed-s"


def test_design_settings_may_be_a_table_named_memory_next_to_our_own_settings() -> None:
    settings = load_settings({"preset": "lobug", "idle_minutes": 3, "memory": {"retrieval_top_k": 9}})
    assert make_preset(settings).recall.limit == 9
    assert make_preset(settings).idle_after == timedelta(minutes=3)


def test_other_tables_of_a_programs_file_are_left_alone(tmp_path: Path) -> None:
    file = written(tmp_path, "llm:\n  model: gpt-4o-mini\nmemory:\n  max_memories_per_search: 2\n")
    assert make_preset(load_settings(file, preset="rostro")).recall.limit == 2


def test_a_toml_file_is_accepted_too(tmp_path: Path) -> None:
    file = written(tmp_path, 'preset = "apps"\n[memory]\nmax_memories = 4\n', "memory.toml")
    preset = make_preset(load_settings(file))
    assert preset.cap is not None
    assert preset.cap.max_memories == 4


def test_design_settings_in_a_file_are_ignored_for_another_preset(tmp_path: Path) -> None:
    file = written(tmp_path, f"preset: rostro\n{ROSTRO_YAML}")
    settings = load_settings(file, preset="rumi")
    assert settings.memory is None
    assert settings.store is None


def test_the_store_setting_and_the_path_argument_come_before_the_designs_own_path(tmp_path: Path) -> None:
    table = {"preset": "rumi", "memory": {"db_path": "~/elsewhere.db"}}
    assert load_settings(table).store == "~/elsewhere.db"
    assert load_settings({**table, "store": "here.db"}).store == "here.db"
    with holdfast.open(tmp_path / "mine.db", settings=table, embedder="none", worker="none") as memory:
        assert services(memory).store.location == str(tmp_path / "mine.db")


@pytest.mark.parametrize(
    ("preset", "table", "words"),
    [
        ("reachy", {"context_windows": 5}, "context_windows.*path, context_window_size, embedding_model, cleanup_interval"),
        ("rostro", {"index_max_entries": 2.5}, "index_max_entries must be a whole number, not 2.5"),
        ("rostro", {"embedding_similarity_threshold": 1.5}, "at least 0 and at most 1, not 1.5"),
        ("rostro", {"session_timeout_minutes": 0}, "more than 0, not 0"),
        ("rostro", {"max_memories_per_search": True}, "must be a whole number, not True"),
        ("lobug", {"short_term_keep": 30}, r"short_term_keep must be less than short_term_threshold \(30\)"),
        ("lobug", {"embedding_model": 5}, "embedding_model must be text, not 5"),
        ("reachy", {"cleanup_interval": "hourly"}, "must be a number, not 'hourly'"),
        ("reachy", ["path"], "a table of names and values"),
        ("default", {"path": "x"}, "'default' has no settings of its own"),
    ],
)
def test_an_invalid_setting_is_refused_with_the_valid_values(preset: str, table: object, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read_design(preset, table)


def test_settings_of_one_design_are_refused_for_another() -> None:
    with pytest.raises(SettingsError, match="RostroSettings configures the preset 'rostro', not 'lobug'"):
        load_settings(RostroSettings(), preset="lobug")


def test_design_settings_for_a_preset_without_a_design_raise_an_error() -> None:
    with pytest.raises(SettingsError, match="has no design settings"):
        load_settings({"session_timeout_minutes": 5})


def test_a_missing_file_is_named() -> None:
    with pytest.raises(SettingsError, match="no-such-file"):
        load_settings("no-such-file.yaml")


def run(home: Path, *args: str) -> Any:
    environment = {"HOLDFAST_HOME": str(home), "HOLDFAST_MODELS": str(home / "no-weights")}
    result = CliRunner(env=environment).invoke(app, [*args, "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_command_line_takes_the_designs_yaml(tmp_path: Path) -> None:
    file = written(tmp_path, f"memory:\n  path: {tmp_path / 'robot'}\n")
    run(tmp_path / "home", "remember", "likes the sea", "--preset", "reachy", "--settings", str(file))
    assert (tmp_path / "robot" / "memory.db").is_file()
    assert not (tmp_path / "home" / "memory.db").exists()


def test_a_settings_file_in_the_data_directory_may_hold_a_designs_table(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    written(home, f"preset: rumi\nmemory:\n  db_path: {tmp_path / 'rumi.db'}\n", "holdfast.yaml")
    assert run(home, "remember", "mascota: tiene un gato")["key"] == "mascota"
    assert (tmp_path / "rumi.db").is_file()
