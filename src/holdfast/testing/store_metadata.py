"""Conformance tests for metadata filters, and a reference implementation that says which metadata a filter matches."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.protocols import MemoryFilter, Store
from holdfast.testing.samples import a_memory, remember

METADATA: dict[str, Any] = {
    "text": "b",
    "int": 3,
    "real": 2.5,
    "yes": True,
    "no": False,
    "none": None,
    "list": ["a", 7, None],
    "place": {"city": "Lyon", "at": {"x": 4}, "tags": ["old", "new"]},
    "place.city": "Paris",
    "big": 2**70,
}


class MetadataPromises:
    """Tests that every store must pass for metadata filters.

    They cover all JSON primitive types, all comparisons, and unusual keys.
    """

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            ({"text": "b"}, True),
            ({"text": "B"}, False),
            ({"int": 3}, True),
            ({"int": 3.0}, True),
            ({"int": "3"}, False),
            ({"real": 2.5}, True),
            ({"yes": True}, True),
            ({"yes": 1}, False),
            ({"no": False}, True),
            ({"no": 0}, False),
            ({"none": None}, True),
            ({"absent": None}, True),
            ({"text": ["a", "b"]}, True),
            ({"text": []}, False),
            ({"int": [1, "b", 3]}, True),
            ({"int": {"$gt": 2}}, True),
            ({"int": {"$gt": 3}}, False),
            ({"int": {"$gte": 3}}, True),
            ({"real": {"$lt": 2.6}}, True),
            ({"real": {"$lte": 2.4}}, False),
            ({"text": {"$ne": "a"}}, True),
            ({"text": {"$ne": "b"}}, False),
            ({"text": {"$gt": "a", "$lt": "c"}}, True),
            ({"int": {"$gt": 1, "$lt": 3}}, False),
            ({"text": "b", "int": 3}, True),
            ({"text": "b", "int": 4}, False),
            ({"text": {"$eq": "b"}}, True),
            ({"text": {"$in": ["a", "b"]}}, True),
            ({"text": {"$in": []}}, False),
            ({"text": {"$nin": ["a", "b"]}}, False),
            ({"text": {"$nin": []}}, True),
            ({"absent": {"$ne": "b"}}, True),
            ({"absent": {"$nin": ["b"]}}, True),
            ({"absent": {"$in": ["b", None]}}, True),
            ({"absent": {"$ne": None}}, False),
            ({"none": {"$ne": None}}, False),
            ({"absent": {"$gt": 0}}, False),
            ({"absent": {"$not": {"$gt": 0}}}, True),
            ({"int": {"$not": {"$gt": 5, "$lt": 9}}}, True),
            ({"int": {"$not": {"$gt": 1}}}, False),
            ({"absent": {"$exists": False}}, True),
            ({"none": {"$exists": True}}, True),
            ({"none": {"$exists": False}}, False),
            ({"text": {"$gt": 1}}, False),
            ({"yes": {"$gt": False}}, True),
            ({"list": "a"}, True),
            ({"list": 7}, True),
            ({"list": "b"}, False),
            ({"list": {"$ne": "a"}}, False),
            ({"list": {"$gt": 6}}, True),
            ({"list": {"$contains": 7}}, True),
            ({"list": {"$contains": 8}}, False),
            ({"int": {"$contains": 3}}, False),
            ({"place.city": "Paris"}, True),
            ({"place.city": "Lyon"}, False),
            ({"place.at.x": {"$gte": 4}}, True),
            ({"place.at.y": {"$exists": False}}, True),
            ({"text.x": {"$exists": True}}, False),
            ({"place.tags": {"$contains": "new"}}, True),
            ({"place.tags": {"$eq": ["old", "new"]}}, True),
            ({"place.tags": {"$eq": ["new", "old"]}}, False),
            ({"place.at": {"x": 4}}, True),
            ({"place.at": {"x": 5}}, False),
            ({"text": {"$contains": "b"}}, True),
            ({"text": {"$contains": "%"}}, False),
            ({"big": {"$gt": 2**69}}, True),
            ({"big": 2**70}, True),
            ({"big": {"$lt": 5}}, False),
            ({"$and": [{"text": "b"}, {"int": 3}]}, True),
            ({"$and": [{"text": "b"}, {"int": 4}]}, False),
            ({"$or": [{"text": "x"}, {"int": 3}]}, True),
            ({"$or": [{"text": "x"}, {"int": 4}]}, False),
            ({"$not": {"text": "x"}}, True),
            ({"$not": {"$or": [{"text": "b"}, {"int": 4}]}}, False),
            ({"text": "b", "$or": [{"absent": 1}, {"$and": [{"int": {"$gt": 1}}, {"real": 2.5}]}]}, True),
            ({"$and": [{}]}, True),
        ],
    )
    def test_a_filter_finds_matching_memories(self, store: Store, where: dict[str, Any], found: bool) -> None:  # noqa: FBT001
        """Comparisons respect JSON types: true is not 1, and "3" is not 3."""
        remember(store, a_memory("the one", metadata=METADATA))
        assert bool(store.memories(MemoryFilter(where=where))) is found

    @pytest.mark.parametrize(
        "key",
        [
            "a.b",
            "$.a",
            '"',
            "'",
            "'; DROP TABLE memories; --",
            "a'] OR 1=1 --",
            "ключ",
            "",
            " ",
            "[0]",
            "$",
            "%s",
            "{}",
            "?1",
            "\\",
            "\n",
        ],
    )
    def test_any_string_works_as_a_metadata_key(self, store: Store, key: str) -> None:
        """Any string works as a metadata key, even one that contains SQL or JSON path syntax."""
        remember(store, a_memory("the one", metadata={key: 1}), a_memory("another", metadata={"x": 1}))
        assert [m.text for m in store.memories(MemoryFilter(where={key: 1}))] == ["the one"]
        assert [m.text for m in store.memories(MemoryFilter(where={key: {"$gte": 1}}))] == ["the one"]

    def test_an_unknown_comparison_is_refused(self, store: Store) -> None:
        """An unknown comparison raises an error that lists the known ones."""
        with pytest.raises(InvalidInput, match=r"\$gte"):
            store.memories(MemoryFilter(where={"a": {"$regex": "x"}}))

    @pytest.mark.parametrize(
        ("where", "message"),
        [
            ({"$nor": [{"a": 1}]}, "Unknown operator '\\$nor'"),
            ({"a": {"$gt": 1, "b": 2}}, "Unknown comparison 'b'"),
            ({"$and": []}, "at least one filter"),
            ({"$or": {"a": 1}}, "list"),
            ({"$not": [{"a": 1}]}, "A filter is an object"),
            ({"$and": ["a"]}, "A filter is an object"),
            ({"a": {"$in": "b"}}, "need a list"),
            ({"a": {"$exists": 1}}, "true or false"),
            ({"a": {"$gt": None}}, "needs text, a number"),
            ({"a": {"$lt": [1]}}, "needs text, a number"),
            ({"a": {"$not": 3}}, "needs comparisons"),
            ({"a": float("nan")}, "finite"),
            ({"a": {"$gt": float("inf")}}, "finite"),
        ],
    )
    def test_a_wrong_filter_is_refused_with_a_reason(self, store: Store, where: dict[str, Any], message: str) -> None:
        """An operator that is unknown or used wrongly raises an error, whether or not there are memories."""
        with pytest.raises(InvalidInput, match=message):
            store.memories(MemoryFilter(where=where))

    def test_a_huge_filter_is_refused(self, store: Store) -> None:
        """A filter with too many conditions or levels is refused, but a list of values may be long."""
        deep: dict[str, Any] = {"a": 1}
        for _ in range(3000):
            deep = {"$not": deep}
        for where in (deep, {"$or": [{"a": n} for n in range(5000)]}):
            with pytest.raises(InvalidInput, match=r"limit|more than"):
                store.memories(MemoryFilter(where=where))
        remember(store, a_memory("the one", metadata={"n": 4999}))
        assert len(store.memories(MemoryFilter(where={"n": {"$in": list(range(5000))}}))) == 1

    def test_random_filters_agree_with_the_reference(self, store: Store) -> None:
        """Generated filters on generated metadata find exactly the memories that the reference implementation finds."""
        chance = random.Random(7)  # noqa: S311  (not for security)
        stored = remember(store, *(a_memory(f"number {n}", metadata=_some_metadata(chance)) for n in range(40)))
        for _ in range(150):
            where = _some_filter(chance)
            found = {memory.text for memory in store.memories(MemoryFilter(where=where))}
            assert found == {memory.text for memory in stored if matches(memory.metadata, where)}, where

    def test_a_value_that_is_not_a_json_primitive_is_refused(self, store: Store) -> None:
        """A filter value that is not a JSON primitive raises an error that names the key."""
        with pytest.raises(InvalidInput, match="'a'"):
            store.memories(MemoryFilter(where={"a": object()}))


_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    2,
    1.5,
    -3,
    "",
    "a",
    "b",
    "ab",
    "ñ",
    '"',
    [],
    ["a"],
    [1, "b"],
    [None],
    {},
    {"x": 1},
)
_NAMES = ("a", "b", "a.x", "c", "x")


def _some_metadata(chance: random.Random) -> dict[str, Any]:
    names = chance.sample(("a", "b", "c", "x", "a.x"), chance.randint(0, 4))
    return {name: {"x": chance.choice(_VALUES)} if chance.random() < 0.3 else chance.choice(_VALUES) for name in names}


def _some_filter(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    kind = chance.random()
    if depth < 3 and kind < 0.3:
        word = chance.choice(("$and", "$or", "$not"))
        some = [_some_filter(chance, depth + 1) for _ in range(chance.randint(1, 3))]
        return {word: some[0] if word == "$not" else some}
    value: Any = chance.choice(_VALUES)
    operator = chance.choice(("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$contains", "$not", ""))
    if operator in ("$gt", "$gte", "$lt", "$lte") and not isinstance(value, str | int | float):
        value = chance.choice((0, 1.5, "a", True))
    if operator in ("$in", "$nin"):
        value = chance.sample(_VALUES, 3)
    if operator == "$exists":
        value = chance.random() < 0.5
    if operator == "$not":
        value = {"$in": chance.sample(_VALUES, 2)}
    return {chance.choice(_NAMES): {operator: value} if operator else value}


_MISSING = object()


def matches(metadata: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Return True if metadata matches a filter. This reference implementation defines the result for every store."""
    return all(_part_matches(metadata, name, wanted) for name, wanted in where.items())


def _part_matches(metadata: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name == "$and":
        return all(matches(metadata, each) for each in wanted)
    if name == "$or":
        return any(matches(metadata, each) for each in wanted)
    if name == "$not":
        return not matches(metadata, wanted)
    entry = _entry(metadata, name)
    if isinstance(wanted, Mapping) and any(key.startswith("$") for key in wanted):
        return all(_compare(entry, operator, value) for operator, value in wanted.items())
    return _compare(entry, "$in" if isinstance(wanted, list) else "$eq", wanted)


def _entry(metadata: Mapping[str, Any], name: str) -> Any:
    if name in metadata:
        return metadata[name]
    found: Any = metadata
    for part in name.split("."):
        found = found.get(part, _MISSING) if isinstance(found, Mapping) else _MISSING
    return found


def _compare(entry: Any, operator: str, value: Any) -> bool:
    if operator == "$exists":
        return (entry is not _MISSING) is value
    if operator == "$not":
        return not all(_compare(entry, inner, each) for inner, each in value.items())
    if operator in ("$ne", "$nin"):
        return not _compare(entry, "$eq" if operator == "$ne" else "$in", value)
    elements = entry if isinstance(entry, list) else []
    if operator == "$contains":
        has_part = isinstance(entry, str) and isinstance(value, str) and value in entry
        return has_part or any(_equal(each, value) for each in elements)
    if operator in ("$eq", "$in"):
        values = [value] if operator == "$eq" else value
        return any(_equal(each, one) for each in (entry, *elements) for one in values)
    return any(_ordered(each, operator, value) for each in (entry, *elements))


def _equal(one: Any, two: Any) -> bool:
    if one is _MISSING:
        return two is None
    return one == two and _type(one) == _type(two)


def _ordered(one: Any, operator: str, two: Any) -> bool:
    if one is _MISSING or _type(one) != _type(two):
        return False
    return bool({"$gt": one > two, "$gte": one >= two, "$lt": one < two, "$lte": one <= two}[operator])


def _type(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(type(value))
    return "number" if isinstance(value, int | float) else type(value).__name__
