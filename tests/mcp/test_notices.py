"""Over MCP, a response says if the search could not use the embedder, and never claims that nothing is remembered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine

from .support import Stdio, in_process, tell, text_of

OpenMemory = Callable[..., Engine]
NOTICE = "Searched by words only: The weights of arctic-embed-s are not on this machine"


@pytest.fixture
def memory(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Engine:
    """A memory whose embedder has no weights."""
    monkeypatch.setenv("HOLDFAST_MODELS", str(folder / "no-models"))
    memory = open_memory(embedder="arctic-embed-s")
    memory.remember("the parrot is called Basil", key="pet")
    return memory


def _call(memory: Engine, name: str, arguments: dict[str, Any]) -> Any:
    return tell(in_process(memory), lambda client: client.call_tool(name, arguments))


def test_a_search_that_finds_something_says_it_searched_by_words(memory: Engine) -> None:
    result = _call(memory, "search_memories", {"query": "parrot"})
    assert [each["content"] for each in result.structured_content["result"]] == ["the parrot is called Basil"]
    assert result.structured_content["notices"][0].startswith(NOTICE)
    first, last = (part.text for part in result.content)
    assert json.loads(first)["content"] == "the parrot is called Basil"
    assert last.startswith(NOTICE)


@pytest.mark.parametrize("name", ["search_memories", "memory_context"])
def test_a_search_that_finds_nothing_says_it_searched_by_words(open_memory: OpenMemory, memory: Engine, name: str) -> None:
    del memory  # only for the environment
    empty = open_memory(embedder="arctic-embed-s", tenant="empty")
    result = _call(empty, name, {"query": "which animal lives here?"})
    assert NOTICE in text_of(result)
    assert "No memory is relevant" not in text_of(result)
    assert result.structured_content["notices"][0].startswith(NOTICE)


def test_a_prompt_about_a_subject_says_it_searched_by_words(open_memory: OpenMemory, memory: Engine) -> None:
    empty = open_memory(embedder="arctic-embed-s", tenant="empty")
    for asked in (memory, empty):
        story = tell(in_process(asked), lambda client: client.get_prompt("what_do_you_know", {"about": "animals"}))
        assert NOTICE in text_of(story)
        assert "Nothing is remembered" not in text_of(story)


def test_forgetting_an_unknown_key_says_it_searched_by_words(memory: Engine) -> None:
    result = _call(memory, "forget_memory", {"key": "animals"})
    assert text_of(result).count(NOTICE) == 1
    assert result.structured_content["notices"][0].startswith(NOTICE)


@pytest.mark.long
def test_the_notice_is_shown_over_stdio_too(stdio: Stdio) -> None:
    assert NOTICE in text_of(tell(stdio(), lambda client: client.call_tool("memory_context", {"query": "animals"})))
