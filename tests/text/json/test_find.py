"""Tests of reading a model's JSON, wrapped, truncated, badly quoted or huge, and of fitting it to a schema."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.chat import Schema
from holdfast.text.json.find import MAX_CHARS, conform, read, read_json
from tests.sampling import Sample

FACTS: Schema = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": 5,
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "minLength": 1, "maxLength": 40},
                    "kind": {"type": "string", "enum": ["fact", "event"]},
                    "importance": {"type": "number", "minimum": 0, "maximum": 10},
                },
                "required": ["text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}

READ = [
    ('{"a": 1}', {"a": 1}),
    ('Here you are:\n```json\n{"a": [1, 2]}\n```\nAnything else?', {"a": [1, 2]}),
    ('~~~\n{"a": 1}\n~~~', {"a": 1}),
    ('Claro, aquí está: {"a": "sí"} ¡Listo!', {"a": "sí"}),
    ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
    ("{'a': 'b', 'c': ['d']}", {"a": "b", "c": ["d"]}),
    ("{'a': 'don't do it', 'b': 1}", {"a": "don't do it", "b": 1}),
    ('{"a": "he said "hi", then left", "b": 2}', {"a": 'he said "hi", then left', "b": 2}),
    ('{"a": "le dicen "Anita", "Nita" o "Ani"", "b": 2}', {"a": 'le dicen "Anita", "Nita" o "Ani"', "b": 2}),
    ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}),
    ('{"a": NaN, "b": -Infinity, "c": undefined}', {"a": None, "b": None, "c": None}),
    ('{"a": 1e999}', {"a": None}),
    ('{name: "x"}', {"name": "x"}),
    ("{“a”: “b”}", {"a": "b"}),
    ('{"path": "C:\\users\\dana"}', {"path": "C:\\users\\dana"}),
    ('{"a": "\\uZZ12 \\d"}', {"a": "\\uZZ12 \\d"}),
    ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
    ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
    ('{"a": "\ud83d",}', {"a": "\ufffd"}),
    ('{"a": "two\nlines"}', {"a": "two\nlines"}),
    ("[1 2 3]", [1, 2, 3]),
    ('{"a": "x"\n "b": "y"}', {"a": "x", "b": "y"}),
    ("[1, /* one */ 2, // two\n 3]", [1, 2, 3]),
    ('{"a": "x", // the name\n "b": "y" /* the other */, "c": "z" // the last\n}', {"a": "x", "b": "y", "c": "z"}),
    ('["x", // one\n "y" /* two */, "z"]', ["x", "y", "z"]),
    ('{"a": "see "docs" // here", "b": "y"}', {"a": 'see "docs" // here', "b": "y"}),
    ('{"a": "see "docs" // here"\n}', {"a": 'see "docs" // here'}),
    ('{{"facts": []}}', {"facts": []}),
    ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
    ('Message [3] says nothing: {"facts": []}', {"facts": []}),
    ('[don\'t know] {"a": 1}', {"a": 1}),
    ('<think>{"a": 0, "b": "a long draft of it all"}</think>{"a": 5}', {"a": 5}),
    ('<thinking>{"a": 0, "b": "a long draft of it all"}</thinking>{"a": 5}', {"a": 5}),
    ('Perhaps {"a": 0, "b": "a long draft"}\n</think>\n\n{"a": 5}', {"a": 5}),
    ('{"a": "the tag </think> ends it", "b": {"c": 1}}', {"a": "the tag </think> ends it", "b": {"c": 1}}),
    ('{"a": 5}</think>\n', {"a": 5}),
    ("42", 42),
    ("```\ntrue\n```", True),
    ('"see [1]"', "see [1]"),
    ('{"a": [{"b": 1]}', {"a": [{"b": 1}]}),
]

CUT = [
    ('[{"t": "x"}, {"t": "y"}, {"t": "unfin', [{"t": "x"}, {"t": "y"}]),
    ('{"a": "x", "b": "unfin', {"a": "x"}),
    ('{"a": "x", "b": 12', {"a": "x"}),
    ('{"a": "x", "b": tru', {"a": "x"}),
    ('{"a": "x", "b":', {"a": "x"}),
    ('{"a": "x", "b', {"a": "x"}),
    ('{"a": ["x", "y"', {"a": ["x", "y"]}),
    ('```json\n{"a": "x", "b": "unfin\n```\nThat is all "so far".', {"a": "x"}),
]


UNCLOSED = [
    ('{"a": "x, "b": "y"}', {"b": "y"}),
    ('{"a": "x\n "b": "y", "c": 3}', {"b": "y", "c": 3}),
    ('{"a": 1, "b": "x", // the "name"\n "c": "y"}', {"a": 1, "c": "y"}),
    ('[{"t": "x, "n": 6}, {"t": "y", "n": 2}]', [{"n": 6}, {"t": "y", "n": 2}]),
]


@pytest.mark.parametrize(("text", "value"), UNCLOSED)
def test_a_string_without_closing_quote_is_dropped_and_swallows_no_key(text: str, value: Any) -> None:
    reading = read(text)
    assert (reading.value, reading.whole) == (value, False)


@pytest.mark.parametrize(("text", "value"), READ)
def test_the_intended_json_of_an_answer_is_read(text: str, value: Any) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize(("text", "value"), CUT)
def test_of_an_answer_cut_off_only_whole_elements_are_kept(text: str, value: Any) -> None:
    reading = read(text)
    assert (reading.value, reading.whole) == (value, False)


@pytest.mark.parametrize(
    "text", ["", "   ", "Nothing to note.", "[as asked]", "{name}", '{"facts": [', "[", '{"a": 12', "<think>[1, 2]", "[" * 10_000]
)
def test_a_missing_value_is_not_invented(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON"):
        read_json(text)


HUGE: dict[str, Callable[[int], str]] = {
    "flat": lambda n: "[" + "1," * (n * 6_250_000),
    "one long string": lambda n: '{"a": "' + "x" * (n * 12_500_000),
    "quotes": lambda n: '["' * (n * 125_000),
    "texts never closed": lambda n: "['a' x " * (n * 37_500),
    "small objects": lambda n: '{"a":1}' * (n * 35_000),
    "spaces": lambda n: "[" + " " * (n * 500_000),
    "deep": lambda n: "[" * 10_000 + "]" * 10_000,
    "deep objects": lambda n: '{"a":' * 10_000 + "1" + "}" * 10_000,
    "texts without closing quotes": lambda n: "{" + '"a": "x, ' * (n * 25_000) + '"}',
    "stars in a comment": lambda n: '{"a": "x" /*' + "*" * (n * 250_000),
    "spaces after a text": lambda n: '{"a": "x"' + " " * (n * 247_500) + "y}",
    "backslashes": lambda n: '["' + "\\" * (n * 250_000 - 1),
}
"""Functions that return N quarters of a huge answer."""


@pytest.mark.long
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_or_deep_answer_takes_linear_time(sample: Sample, name: str) -> None:
    quarters = sample.size(4, short=1)
    text = HUGE[name](quarters)
    began = time.thread_time()
    try:
        value = read_json(text)
    except ValueError:
        value = None
    took = time.thread_time() - began
    assert took < 5 * quarters, f"{took:.1f} s"
    json.dumps(value)  # the result is not too deep for recursive code


def test_an_answer_beyond_the_limit_counts_as_cut_off() -> None:
    assert not read('{"a": 1}' + " " * MAX_CHARS).whole


KEPT = [
    ({"facts": [{"text": "x", "importance": "7"}]}, {"facts": [{"text": "x", "importance": 7}]}),
    ({"facts": {"text": "x"}}, {"facts": [{"text": "x"}]}),
    ([{"text": "x"}], {"facts": [{"text": "x"}]}),
    ([{"facts": [{"text": "x"}]}], {"facts": [{"text": "x"}]}),
    ('{"facts": [{"text": "x"}]}', {"facts": [{"text": "x"}]}),
    ({"facts": '[{"text": "x"}]'}, {"facts": [{"text": "x"}]}),
    ({"facts": [{"text": "x", "kind": " Event "}]}, {"facts": [{"text": "x", "kind": "event"}]}),
    ({"facts": [{"text": "x", "kind": None}]}, {"facts": [{"text": "x"}]}),
    ({"facts": [{"text": 7}]}, {"facts": [{"text": "7"}]}),
    ({"facts": []}, {"facts": []}),
]


@pytest.mark.parametrize(("data", "kept"), KEPT)
def test_harmless_differences_are_corrected_silently(data: Any, kept: Any) -> None:
    assert conform(data, FACTS) == (kept, ())


DROPPED = [
    ({"facts": [{"text": "x"}, {"kind": "fact"}]}, {"facts": [{"text": "x"}]}, "facts[1] lacks text"),
    ({"facts": [{"text": "x"}, "y"]}, {"facts": [{"text": "x"}]}, "facts[1] is a text, not an object"),
    ({"facts": [{"text": "x", "kind": "rumour"}]}, {"facts": [{"text": "x"}]}, "facts[0].kind is not one of fact, event"),
    ({"facts": [{"text": "x", "importance": 11}]}, {"facts": [{"text": "x"}]}, "facts[0].importance is above 10"),
    ({"facts": [{"text": "x", "why": "?"}]}, {"facts": [{"text": "x"}]}, "facts[0] holds something that was not asked for"),
    ({"facts": [{"text": "x"}] * 6}, {"facts": [{"text": "x"}] * 5}, "facts has more than 5 items"),
    ({"facts": [{"text": "x"}, {"text": ""}]}, {"facts": [{"text": "x"}]}, "facts[1].text is shorter than 1"),
    ({"facts": [], "note": "nothing new"}, {"facts": []}, "the answer holds something that was not asked for"),
]


@pytest.mark.parametrize(("data", "kept", "flaw"), DROPPED)
def test_parts_that_do_not_fit_are_dropped_and_named(data: Any, kept: Any, flaw: str) -> None:
    assert conform(data, FACTS) == (kept, (flaw,))


@pytest.mark.parametrize(
    "data",
    [{"facts": [{"kind": "fact"}]}, {"other": 1}, [1, 2], "text", 7, None, {"facts": None}, {"facts": [{"text": "y" * 41}]}, {}],
)
def test_an_answer_without_any_valid_part_is_an_error(data: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        conform(data, FACTS)


def test_descriptions_of_flaws_do_not_quote_the_data() -> None:
    data = {"facts": [{"text": "x"}, {"text": "my private diary " * 9}, "my private diary"]}
    assert "diary" not in " ".join(conform(data, FACTS)[1])


def test_many_flaws_are_reported_briefly() -> None:
    flaws = conform({"facts": [{"text": "x"}, *[None] * 100_000]}, FACTS)[1]
    assert len(flaws) == 21
    assert flaws[-1] == "and 99980 more"


def test_one_of_several_types_is_enough_and_the_exact_one_wins() -> None:
    assert conform(["7", 7, None, True], {"type": "array", "items": {"type": ["integer", "string", "null"]}}) == (
        ["7", 7, None, "true"],
        (),
    )


TEXTS = st.text(st.characters(codec=None), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)
FACT_LIKE = st.fixed_dictionaries(
    {}, optional={"text": SCALARS, "kind": st.sampled_from(["fact", "event", "x"]) | SCALARS, "importance": SCALARS, "y": VALUES}
)
ANSWERS = VALUES | st.fixed_dictionaries({"facts": st.lists(FACT_LIKE, max_size=7) | VALUES}) | st.lists(FACT_LIKE, max_size=3)
SCHEMAS: list[Schema] = [
    FACTS,
    FACTS["properties"]["facts"],
    {"type": "string", "minLength": 2, "maxLength": 6},
    {"type": ["integer", "null"], "minimum": -5},
    {"type": "boolean"},
    {"type": "array", "items": {"type": ["number", "array"], "items": {"type": "string"}}},
    {"type": "object", "properties": {"text": {"type": "number"}}, "additionalProperties": {"type": "integer"}},
    {},
]
PROSE = st.sampled_from(
    ["", "Sure! ", "Aquí está [como pediste]:\n", "It's {this}: ", "See [1].\n", '"Quoted" words, ', "don't "]
)
FENCES = st.sampled_from([("", ""), ("```json\n", "\n```"), ("```\n", "\n```"), ("~~~", "\n~~~"), ("`", "`")])


def fits(value: Any, schema: Schema) -> bool:
    """Return True if a value satisfies a schema exactly, without any repair."""
    types = schema.get("type", ())
    names = (types,) if isinstance(types, str) else tuple(types)
    if not names:
        return True
    return any(_fits_one(value, name, schema) for name in names)


def _fits_one(value: Any, name: str, schema: Schema) -> bool:
    if name == "null":
        return value is None
    if name == "boolean":
        return isinstance(value, bool)
    if name == "string":
        allowed = schema.get("enum", [value])
        return (
            isinstance(value, str)
            and value in allowed
            and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1e9)
        )
    if name in ("number", "integer"):
        sort = int if name == "integer" else (int, float)
        right = isinstance(value, sort) and not isinstance(value, bool)
        return right and schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if name == "array":
        return (
            isinstance(value, list)
            and len(value) <= schema.get("maxItems", 1e9)
            and all(fits(item, schema.get("items", {})) for item in value)
        )
    return isinstance(value, dict) and _fits_object(value, schema)


def _fits_object(value: dict[str, Any], schema: Schema) -> bool:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        rule = known.get(name, others)
        if rule is False or not fits(item, {} if rule is True else rule):
            return False
    return set(schema.get("required", ())) <= value.keys()


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(
    value=ANSWERS,
    schema=st.sampled_from(SCHEMAS),
    prose=st.tuples(PROSE, PROSE),
    fence=FENCES,
    cut=st.floats(0, 1),
    write=st.sampled_from([repr, json.dumps, partial(json.dumps, ensure_ascii=False)]),
)
def test_any_answer_wrapped_and_cut_anywhere_fits_or_is_refused(
    *, value: Any, schema: Schema, prose: tuple[str, str], fence: tuple[str, str], cut: float, write: Callable[[Any], str]
) -> None:
    text = f"{prose[0]}{fence[0]}{write(value)}{fence[1]}{prose[1]}"
    text = text[: int(len(text) * cut) + 1] if cut < 0.8 else text
    try:
        data, flaws = conform(read_json(text), schema)
    except ValueError:
        return
    assert fits(data, schema)
    assert all(flaws)
    json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.lists(VALUES, max_size=4) | st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([None, 2]))
def test_sound_json_is_read_exactly(value: Any, indent: int | None) -> None:
    written = json.dumps(value, ensure_ascii=indent is None, indent=indent)
    expected = json.loads(_storable(written), parse_constant=lambda name: None)
    assert read_json(f"Here it is:\n```json\n{written}\n```") == expected


def _storable(written: str) -> str:
    """Replace every character that cannot be stored, in all strings of a JSON text. The JSON reader must do the same."""
    walked = json.loads(written)

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return "".join("\ufffd" if c == "\0" or 0xD800 <= ord(c) < 0xE000 else c for c in value)
        if isinstance(value, list):
            return [walk(item) for item in value]
        return {walk(key): walk(item) for key, item in value.items()} if isinstance(value, dict) else value

    return json.dumps(walk(walked))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="[]{}\"'“”,:\\ \n`~abtnu01-./*é\ud800", max_size=80))
def test_invalid_text_raises_only_value_errors(text: str) -> None:
    try:
        reading = read(text)
    except ValueError:
        return
    json.dumps(reading.value, ensure_ascii=False).encode()
