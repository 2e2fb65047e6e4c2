"""Exports for people and for other programs: Markdown and Portable AI Memory."""

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.exporters.canonical_json import canonical

OpenMemory = Callable[..., Engine]


@pytest.mark.ledger("X13")
def test_markdown_shows_memories_earlier_ones_and_conversations(full: Engine) -> None:
    file = BytesIO()
    full.export(file, format="markdown", user="ana")
    text = file.getvalue().decode()
    assert '- drink: prefers green tea (fact, 2026-03-01, user ana, #Hot Drink, #té, a: {"b": [1.5, null, true]})' in text
    assert "  - earlier, until 2026-03-01: drink: prefers tea\n" in text
    earlier = text.partition("## Earlier memories")[2]
    assert "prefers coffee (fact, 2026-03-01 to 2026-03-01, forgotten, user ana, topic breakfast)" in earlier
    assert "- Ana María, 2026-03-01 12:00: I moved to Porto." in text.partition("## Conversations")[2]
    assert "of bob" not in text


def test_a_text_cannot_forge_the_structure_of_the_markdown(memory: Engine) -> None:
    memory.session(user="ana", id="one\n## Forged").add("user", "hello\n## Also forged\n- item\r# And this\u2028# And that")
    memory.remember("fine\n# Forged too", user="ana")
    file = BytesIO()
    memory.export(file, format="markdown")
    headings = [line for line in file.getvalue().decode().splitlines() if line.startswith("#")]
    assert headings == ["# Memories and conversations", "## Memories", "## Conversations", "### 2026-03-01 12:00, user ana, one ## Forged"]  # fmt: skip


@pytest.mark.ledger("X13")
@pytest.mark.parametrize("selection", [{}, {"user": "ana"}, {"user": "nobody"}], ids=["all", "ana", "nobody"])
def test_portable_ai_memory_passes_its_own_validator(full: Engine, tmp_path: Path, selection: dict[str, Any]) -> None:
    pam = pytest.importorskip("portable_ai_memory", reason="portable-ai-memory is not installed")
    jsonschema = pytest.importorskip("jsonschema")
    full.remember("numbers", metadata={"big": 2**70, "small": 1e-9, "large": 1e22, "whole": 3.0, "\U0001f600": 1, "\ufb01": 2})
    result = full.export(tmp_path / "all.zip", format="pam", **selection)
    zipfile.ZipFile(tmp_path / "all.zip").extractall(tmp_path / "bundle")
    files = sorted((tmp_path / "bundle").rglob("*.json"))
    assert len(files) == 1 + result.counts.get("sessions", 0)
    for file in files:
        document = pam.load(file)
        assert pam.validate(document).issues == [], file
        name = "portable-ai-memory" if file.name == "memory-store.json" else "portable-ai-memory-conversation"
        schema = json.loads((Path(pam.__file__).parent / "schemas" / f"{name}.schema.json").read_text())
        assert list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(file.read_text()))) == []


def test_portable_ai_memory_has_every_memory_and_message(full: Engine, tmp_path: Path) -> None:
    result = full.export(tmp_path / "all.zip", format="pam")
    with zipfile.ZipFile(tmp_path / "all.zip") as bundle:
        store = json.loads(bundle.read("memory-store.json"))
        talks = [json.loads(bundle.read(entry["storage"]["ref"])) for entry in store["conversations_index"]]
    assert store["integrity"]["total_memories"] == len(store["memories"]) == result.counts["memories"]
    assert sum(len(talk["messages"]) for talk in talks) == result.counts["messages"] == full.stats().messages
    (tea,) = [each for each in store["memories"] if each["content"] == "drink: prefers green tea"]
    assert tea["metadata"]["holdfast"]["earlier"][0]["text"] == "prefers tea"
    assert tea["tags"] == ["hot-drink", "t"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-6, "0.000001"), (1e-7, "1e-7"), (-0.0, "0"), (12.5, "12.5"),
     (-1.5e300, "-1.5e+300"), (123456789012345680000.0, "123456789012345680000"), (5e-324, "5e-324"), (0.1, "0.1")],
)  # fmt: skip
def test_numbers_are_written_as_javascript_writes_them(value: float, text: str) -> None:
    assert canonical([value]) == f"[{text}]"
