"""The filters of mem0, evaluated by the client and by the store."""

from typing import Any

import pytest

import holdfast
from holdfast.adapters.mem0 import Memory
from holdfast.adapters.mem0.filters import as_where

pytestmark = pytest.mark.ledger("X14")
ENTRIES: dict[str, dict[str, Any]] = {
    "lamp": {"price": 20, "name": "Brass Lamp", "tags": ["light", "old"], "place": {"floor": 1}, "day": "2026-03-01"},
    "tap": {"price": 7.5, "name": "tap", "tags": ["water"], "place": {"floor": 0}, "sold": True, "day": "2026-04-01T10:00:00Z"},
    "rug": {"name": "Rug"},
}


@pytest.fixture
def client(memory: holdfast.Engine) -> Memory:
    client = Memory(memory)
    for name, metadata in ENTRIES.items():
        client.add(f"a {name} for sale", user_id="ana", metadata=metadata, infer=False)
    return client


CASES: list[tuple[dict[str, Any], set[str]]] = [
    ({"price": 20}, {"lamp"}),
    ({"price": {"eq": 7.5}}, {"tap"}),
    ({"price": {"ne": 20}}, {"tap", "rug"}),
    ({"price": {"gt": 7.5}}, {"lamp"}),
    ({"price": {"gte": 7.5, "lt": 20}}, {"tap"}),
    ({"price": {"lte": 20}}, {"lamp", "tap"}),
    ({"price": {"in": [7.5, 8]}}, {"tap"}),
    ({"price": [20, 8]}, {"lamp"}),
    ({"price": {"nin": [20]}}, {"tap", "rug"}),
    ({"name": {"contains": "Lamp"}}, {"lamp"}),
    ({"name": {"contains": "lamp"}}, set()),
    ({"name": {"icontains": "LAMP"}}, {"lamp"}),
    ({"tags": {"contains": "old"}}, {"lamp"}),
    ({"tags": {"icontains": "OLD"}}, {"lamp"}),
    ({"tags": "water"}, {"tap"}),
    ({"tags": {"in": ["water", "light"]}}, {"lamp", "tap"}),
    ({"place.floor": {"gte": 0}}, {"lamp", "tap"}),
    ({"sold": True}, {"tap"}),
    ({"sold": 1}, set()),
    ({"price": "*"}, {"lamp", "tap"}),
    ({"AND": [{"price": {"gt": 1}}, {"name": "tap"}]}, {"tap"}),
    ({"OR": [{"price": {"gt": 10}}, {"name": "Rug"}]}, {"lamp", "rug"}),
    ({"NOT": [{"price": {"gt": 10}}, {"name": "Rug"}]}, {"tap"}),
    ({"OR": [{"name": {"icontains": "rug"}}, {"AND": [{"price": 20}, {"NOT": [{"sold": True}]}]}]}, {"lamp", "rug"}),
    ({"NOT": [{"name": {"icontains": "rug"}}]}, {"lamp", "tap"}),
    ({"day": {"gte": "2026-03-01", "lt": "2026-04-01"}}, {"lamp"}),
    ({"day": {"gt": "2026-04-01T09:00:00+00:00"}}, {"tap"}),
    ({"memory": {"icontains": "RUG"}}, {"rug"}),
    ({"NOT": [{"user_id": "ana"}]}, set()),
    ({"price": {"gt": "10"}}, set()),
    ({"missing": {"lt": 3}}, set()),
]


@pytest.mark.parametrize(("filters", "expected"), CASES, ids=[str(filters) for filters, _ in CASES])
def test_a_filter_selects_the_same_memories_in_lists_and_searches(
    client: Memory, filters: dict[str, Any], expected: set[str]
) -> None:
    wanted = {"user_id": "ana", **filters}
    listed = client.get_all(filters=wanted)["results"]
    found = client.search("for sale", filters=wanted, threshold=0)["results"]
    assert {item["memory"].split()[1] for item in listed} == expected
    assert {item["memory"].split()[1] for item in found} == expected


def test_the_store_filters_as_much_as_it_can() -> None:
    filters = {"user_id": "ana", "a": 1, "b": {"icontains": "x"}, "NOT": [{"c": 2}], "OR": [{"user_id": "bob"}, {"d": 3}]}
    assert as_where(filters) == {"$and": [{"a": {"$eq": 1}}, {"$not": {"$or": [{"$and": [{"c": {"$eq": 2}}]}]}}]}
    assert as_where({"user_id": "ana"}) is None


def test_a_filter_reads_beyond_the_first_page(memory: holdfast.Engine) -> None:
    memory.remember_all([{"text": f"note {number}", "metadata": {"name": f"N{number}"}} for number in range(450)], user="ana")
    client = Memory(memory)
    wanted = {"user_id": "ana", "name": {"icontains": "n0"}}
    assert len(client.get_all(filters=wanted)["results"]) == 1
    assert len(client.get_all(filters={"user_id": "ana"}, top_k=1000)["results"]) == 450
