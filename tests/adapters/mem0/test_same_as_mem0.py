"""Holdfast's client returns the same results as mem0. mem0 has no test suite to download, so both get the same calls."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast

pytest.importorskip("mem0", reason="mem0 is not installed: make test-adapters runs its tests")

import holdfast.adapters.mem0 as ours

pytestmark = [
    pytest.mark.ledger("X14"),
    pytest.mark.filterwarnings("ignore"),  # mem0 and Qdrant
]
CALLS = ["add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset"]


class SameVector:
    """An embedder for mem0 that returns one vector for every text, so that a search finds everything."""

    def embed(self, _text: str, _action: str | None = None, **_more: Any) -> list[float]:
        return [1.0, 0.5]


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "mem0"))
    import mem0  # noqa: PLC0415  (reads the environment)

    model = {"provider": "openai", "config": {"api_key": "unused"}}
    store = {"provider": "qdrant", "config": {"path": str(tmp_path / "qdrant"), "embedding_model_dims": 2, "on_disk": True}}
    settings = {"vector_store": store, "llm": model, "embedder": model, "history_db_path": str(tmp_path / "history.db")}
    client = mem0.Memory.from_config(settings)
    client.embedding_model = SameVector()
    yield client
    client.close()


def _shown(value: Any, ids: list[str]) -> Any:
    """Return a result without the values that differ between the clients: times, scores and ids. Ids become numbers."""
    if isinstance(value, list):
        return [_shown(each, ids) for each in value]
    if not isinstance(value, dict):
        return ids.index(value) if value in ids else value
    hidden = ("created_at", "updated_at", "score")
    shown = {name: "..." if name in hidden and each is not None else _shown(each, ids) for name, each in value.items()}
    if "memory_id" in shown:
        shown["id"] = "..."
    return shown


def _play(client: Any) -> list[Any]:
    """Call every method of a client in a fixed order, and return the results."""
    results = []
    talk = [
        {"role": "system", "content": "You are a sailor."},
        {"role": "user", "content": "prefers tea", "name": "ana"},
        {"role": "assistant", "content": "tea is ready"},
    ]
    added = client.add(talk, user_id="ana", agent_id="cook", metadata={"a": 1, "b": {"c": [2]}}, infer=False)
    other = client.add("prefers juice", user_id="bob", run_id="r", infer=False, expiration_date="2099-01-01")
    ids = [item["id"] for item in (*added["results"], *other["results"])]
    first = ids[0]
    results += [added, other, client.get(first), client.get(ids[2])]
    results += [client.get_all(filters={"user_id": "bob"}), client.search("prefers juice", filters={"user_id": "bob"})]
    results += [client.update(first, "prefers coffee", metadata={"d": 4}), client.get(first)]
    results += [client.update(first, metadata={"a": 5}), client.history(first)]
    results += [client.delete(first), client.get(first), client.history(first), client.history("nothing")]
    results += [client.delete_all(user_id="bob"), client.get_all(filters={"user_id": "bob"})]
    results += [client.reset(), client.get_all(filters={"user_id": "ana"})]
    return [_shown(result, ids) for result in results]


def test_the_results_are_those_of_mem0(theirs: Any, memory: holdfast.Engine) -> None:
    for mine, expected in zip(_play(ours.Memory(memory)), _play(theirs), strict=True):
        assert mine == expected


FILTERS: list[dict[str, Any]] = [
    {"price": 20},
    {"price": {"eq": 7}},
    {"price": {"gt": 7}},
    {"price": {"gte": 7, "lt": 20}},
    {"price": {"in": [7, 8]}},
    {"name": {"contains": "lamp"}},
    {"tags": "water"},
    {"AND": [{"price": {"gt": 1}}, {"name": "tap"}]},
    {"OR": [{"price": {"gt": 10}}, {"name": "rug"}]},
    {"NOT": [{"price": {"gt": 10}}, {"name": "rug"}]},
    {"day": {"gte": "2026-03-01", "lt": "2026-04-01"}},
]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_the_filters_select_what_those_of_mem0_select(theirs: Any, memory: holdfast.Engine, filters: dict[str, Any]) -> None:
    goods: list[dict[str, Any]] = [
        {"name": "brass lamp", "price": 20, "tags": ["light"], "day": "2026-03-05"},
        {"name": "tap", "price": 7, "tags": ["water", "old"], "day": "2026-04-05"},
        {"name": "rug"},
    ]
    found = []
    for client in (ours.Memory(memory), theirs):
        for metadata in goods:
            client.add(f"a {metadata['name']} for sale", user_id="ana", metadata=metadata, infer=False)
        results = client.search("for sale", filters={"user_id": "ana", **filters}, threshold=0.0)["results"]
        found.append({item["memory"] for item in results})
    assert found[0] == found[1]


@pytest.mark.parametrize("name", CALLS)
def test_every_argument_of_mem0_is_an_argument_of_ours(name: str) -> None:
    import mem0  # noqa: PLC0415  (as above)

    for own, other in ((ours.Memory, mem0.Memory), (ours.AsyncMemory, mem0.AsyncMemory)):
        wanted = [each for each in inspect.signature(getattr(other, name)).parameters if each not in ("kwargs", "llm")]
        assert set(wanted) <= set(inspect.signature(getattr(own, name)).parameters)
