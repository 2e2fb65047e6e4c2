"""The knowledge graph, in Python and over MCP."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters import ITEM
from holdfast.adapters.mcp_memory import Entity, Graph, KnowledgeGraph, Relation, graph_tools

pytestmark = pytest.mark.ledger("X14")
ANA: Entity = {"name": "Ana", "entityType": "person", "observations": ["password: hunter2hunter2", " Éire\n"]}
MISO: Entity = {"name": "Miso", "entityType": "cat", "observations": []}
OWNS: Relation = {"from": "Ana", "to": "Miso", "relationType": "owns"}


@pytest.fixture
def memory(open_memory: Callable[..., holdfast.Engine]) -> holdfast.Engine:
    return open_memory(kinds=[ITEM])


@pytest.fixture
def graph(memory: holdfast.Engine) -> KnowledgeGraph:
    return KnowledgeGraph(memory, user="ana")


def test_texts_are_kept_exactly_and_survive_a_restart(graph: KnowledgeGraph, open_memory: Callable[..., holdfast.Engine]) -> None:
    assert graph.create_entities([ANA, MISO]) == [ANA, MISO]
    assert graph.create_relations([OWNS, OWNS]) == [OWNS]
    again = KnowledgeGraph(open_memory(), user="ana")
    assert again.read_graph() == {"entities": [ANA, MISO], "relations": [OWNS]}


def test_each_owner_has_a_graph_that_is_erased_with_the_owner(graph: KnowledgeGraph, memory: holdfast.Engine) -> None:
    shared = KnowledgeGraph(memory)
    graph.create_entities([ANA])
    shared.create_entities([MISO])
    assert shared.read_graph()["entities"] == [MISO]
    assert graph.read_graph()["entities"] == [ANA]
    memory.erase(user="ana")
    assert graph.read_graph() == Graph(entities=[], relations=[])
    assert shared.read_graph()["entities"] == [MISO]


def test_deleted_entities_are_gone_from_the_store(graph: KnowledgeGraph, memory: holdfast.Engine) -> None:
    graph.create_entities([ANA, MISO])
    graph.create_relations([OWNS])
    graph.delete_entities(["Miso"])
    assert graph.read_graph() == Graph(entities=[ANA], relations=[])
    assert memory.memories(user="ana", retired=True) == []


def test_an_unknown_entity_changes_nothing(graph: KnowledgeGraph) -> None:
    graph.create_entities([MISO])
    with pytest.raises(holdfast.NotFound, match="Entity with name Nobody not found"):
        graph.add_observations(
            [{"entityName": "Miso", "contents": ["is gray"]}, {"entityName": "Nobody", "contents": ["is nowhere"]}]
        )
    assert graph.read_graph()["entities"] == [MISO]


def test_writers_at_the_same_time_lose_nothing(memory: holdfast.Engine) -> None:
    graphs = [KnowledgeGraph(memory) for _ in range(4)]

    def write(number: int) -> None:
        graph = graphs[number % 4]
        graph.create_entities([{"name": "log", "entityType": "list", "observations": []}])
        graph.add_observations([{"entityName": "log", "contents": [f"line {number}"]}])
        graph.create_relations([{"from": "log", "to": str(number), "relationType": "has"}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(24)))
    (log,) = graphs[0].read_graph()["entities"]
    assert sorted(log["observations"]) == sorted(f"line {number}" for number in range(24))
    assert len(graphs[0].read_graph()["relations"]) == 24


def test_a_search_without_equal_words_goes_by_meaning(open_memory: Callable[..., holdfast.Engine]) -> None:
    graph = KnowledgeGraph(open_memory(kinds=[ITEM], embedder=_meaning))
    graph.create_entities([{"name": "Ana", "entityType": "person", "observations": ["builds boats", "likes tea"]}, MISO])
    assert [entity["name"] for entity in graph.search_nodes("shipwright")["entities"]] == ["Ana"]
    assert graph.search_nodes("astronomy")["entities"] == []


def _meaning(text: str) -> list[float]:
    """Embed a text as one of three unit vectors: for boats, for astronomy, or for anything else."""
    if "boat" in text or "shipwright" in text:
        return [1.0, 0.0, 0.0]
    return [0.0, 0.0, 1.0] if "astronomy" in text else [0.0, 1.0, 0.0]


def test_an_entity_may_have_many_observations(graph: KnowledgeGraph) -> None:
    many = [f"fact number {number}" for number in range(300)]
    graph.create_entities([{"name": "Ana", "entityType": "person", "observations": many}])
    assert graph.open_nodes(["Ana"])["entities"][0]["observations"] == many
    assert graph.search_nodes("number 299")["entities"][0]["name"] == "Ana"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("open_nodes", {}, "The argument names is missing"),
        ("search_nodes", {"query": 7}, "query must be a text, not int"),
        ("create_entities", {"entities": [{"name": "x", "observations": []}]}, r"entities\[0\].entityType is missing"),
        ("delete_entities", {"entityNames": "x"}, "entityNames must be a list"),
        ("create_relations", {"relations": [3]}, r"relations\[0\] must be an object"),
    ],
    ids=["missing", "text", "inner", "list", "object"],
)
def test_wrong_arguments_are_named(graph: KnowledgeGraph, name: str, arguments: dict[str, Any], problem: str) -> None:
    (tool,) = [tool for tool in graph_tools(graph) if tool.name == name]
    with pytest.raises(holdfast.InvalidInput, match=problem):
        tool.run(arguments)


def test_the_tools_return_text_and_data(graph: KnowledgeGraph) -> None:
    tools = {tool.name: tool for tool in graph_tools(graph)}
    assert len(tools) == 9
    text, data = tools["create_entities"].run({"entities": [ANA]})
    assert (json.loads(text), data) == ([ANA], {"entities": [ANA]})
    text, data = tools["delete_entities"].run({"entityNames": ["Ana"]})
    assert data == {"success": True, "message": text}


@pytest.mark.long
def test_the_command_serves_the_graph_over_mcp(graph: KnowledgeGraph, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from .stories import STORY, holdfast_server, play, tools_of  # noqa: PLC0415  (needs mcp)

    server = holdfast_server(tmp_path / "home", "--tools", "graph", "--user", "ana")
    results = play(server, STORY)
    assert [result["call"] for result in results if result["failed"]] == ["add_observations", "create_entities", "open_nodes"]
    names = {tool.name for tool in graph_tools(graph)}
    assert set(tools_of(server)) == names
    assert "memory_context" in tools_of(holdfast_server(tmp_path / "home"))
    assert {"memory_context", *names} <= set(tools_of(holdfast_server(tmp_path / "home", "--tools", "all")))
