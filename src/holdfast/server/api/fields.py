"""Types of request fields. Each accepts exactly the values that its OpenAPI schema describes, without converting other types."""

import re
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import available_timezones

from pydantic import BeforeValidator, Field, WithJsonSchema

from holdfast.text.clean import MAX_KEY, MAX_TEXT
from holdfast.text.language import TAG

_BLANK = r"\s\u0000-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\ufffb"
VISIBLE = f"[^{_BLANK}]"
"""Pattern of a text with at least one visible character. It is valid in JSON Schema, in Python and in pydantic."""
NOT_BLANK = r"[^\s\u001c-\u001f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""Pattern of a text that is not empty and has more than whitespace."""
FILTER = "Filter"
"""Name of the schema of metadata filters in the OpenAPI document."""
REFERENCE = "x-schema"
"""Placeholder for ``$ref`` in the schemas of this module, because pydantic rejects references to schemas that it does not know."""
KIND, RECALLED_KIND, MEMORY_TEXT, KEY = "KindName", "RecalledKindName", "MemoryText", "MemoryKey"
"""Names of the schemas that depend on the server's preset."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _text_of_time(value: Any) -> Any:
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("a time is text in the format of RFC 3339, such as 2026-03-01T12:00:00Z")


def _whole_number(value: Any) -> Any:
    """Return the value as an ``int``. Raise ValueError if it is not an integer.

    3.0 is an integer in JSON; true and "3" are not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError("Input should be a valid integer")
    return int(value)


Name = Annotated[str, Field(min_length=1, max_length=512, pattern=VISIBLE)]
Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY), WithJsonSchema({REFERENCE: KEY})]
Label = Annotated[str, Field(min_length=1, max_length=1023, pattern="^[^\u0000\u001f]+$")]
AnyLabel = Annotated[str, Field(max_length=1023, pattern="^[^\u0000\u001f]*$")]
Namespace = Annotated[list[Label], Field(max_length=500, examples=[["docs", "2026"]])]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=NOT_BLANK, examples=["I moved to Lyon last month."])]
AnyText = Annotated[str, Field(max_length=MAX_TEXT, examples=["I moved to Lyon last month."])]
Query = Annotated[str, Field(max_length=100_000, examples=["where does she live?"])]
User = Annotated[Name | None, Field(examples=["ana"])]
Flag = Annotated[bool, Field(strict=True)]
Whole = Annotated[int, BeforeValidator(_whole_number)]
Limit = Annotated[int, Field(ge=1, le=500), BeforeValidator(_whole_number)]
Offset = Annotated[int, Field(ge=0, le=100_000), BeforeValidator(_whole_number)]
Tokens = Annotated[int, Field(ge=0, le=1_000_000), BeforeValidator(_whole_number)] | None
Importance = Annotated[float, Field(strict=True, ge=0, le=10)] | None
Persona = Annotated[str | None, Field(max_length=100_000, examples=["You are a kitchen helper."])]
Moment = Annotated[datetime, BeforeValidator(_text_of_time)]
Index = Annotated[Flag | Annotated[list[AnyText], Field(max_length=100)], Field(examples=[True])]
Where = Annotated[dict[str, Any], WithJsonSchema({REFERENCE: FILTER}), Field(examples=[{"room": "kitchen"}])]
TimeZone = Annotated[
    Name, WithJsonSchema({"type": "string", "enum": sorted(available_timezones())}), Field(examples=["Europe/Madrid"])
]
Language = Annotated[Name, WithJsonSchema({"type": "string", "pattern": f"^{TAG}$"}), Field(examples=["es"])]
KindName = Annotated[str, Field(max_length=512), WithJsonSchema({REFERENCE: KIND})]
RecalledKind = Annotated[str, Field(max_length=512), WithJsonSchema({REFERENCE: RECALLED_KIND})]
MemoryText = Annotated[str, Field(max_length=MAX_TEXT), WithJsonSchema({REFERENCE: MEMORY_TEXT})]
Kinds = Annotated[
    KindName | Annotated[list[KindName], Field(max_length=50)] | None,
    Field(description="One kind or a list of kinds. `kind` and `kinds` are synonyms."),
]
RecalledKinds = Annotated[
    RecalledKind | Annotated[list[RecalledKind], Field(max_length=50)] | None,
    Field(description="One kind or a list of kinds; `message` stands for messages. `kind` and `kinds` are synonyms."),
]


def merged_kinds(kind: str | list[str] | None, kinds: str | list[str] | None) -> list[str] | None:
    """Return the kinds given by either of two synonymous arguments, or None if both are missing."""
    if kind is None and kinds is None:
        return None
    both = [[each] if isinstance(each, str) else each or [] for each in (kind, kinds)]
    return list(dict.fromkeys(name for names in both for name in names))


def is_given(name: str) -> dict[str, Any]:
    """Return a JSON Schema that accepts objects in which a field is neither missing nor null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def is_absent(*names: str) -> dict[str, Any]:
    """Return a JSON Schema that accepts objects in which each of these fields is missing or null."""
    return {"properties": {name: {"type": "null"} for name in names}}


_SCALAR: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_VALUE: dict[str, Any] = {
    "anyOf": [
        {"type": ["string", "number", "boolean", "null", "array"]},
        {"type": "object", "propertyNames": {"pattern": "^(?!\\$)"}},
    ]
}
_FILTER_REF = {"$ref": f"#/components/schemas/{FILTER}"}
_COMPARISONS_REF = {"$ref": "#/components/schemas/Comparisons"}


def _filters(description: str) -> dict[str, Any]:
    return {"type": "array", "items": _FILTER_REF, "minItems": 1, "maxItems": 50, "description": description}


FILTER_SCHEMAS: dict[str, Any] = {
    FILTER: {
        "title": FILTER,
        "type": "object",
        "description": (
            "A metadata filter with the operators of MongoDB. A value stands for `$eq`, and a list of values for `$in`. A dot in "
            "a name leads into a nested object. An entry that is missing equals null and matches `$ne`, `$nin` and `$not`. A "
            "list matches if one of its elements does."
        ),
        "properties": {
            "$and": _filters("All of these filters match."),
            "$or": _filters("At least one of these filters matches."),
            "$not": {**_FILTER_REF, "description": "This filter does not match."},
        },
        "propertyNames": {"pattern": "^(\\$and|\\$or|\\$not|[^$][\\s\\S]*)$"},
        "additionalProperties": {"anyOf": [_COMPARISONS_REF, _VALUE]},
        "examples": [{"room": "kitchen"}, {"$or": [{"level": {"$gte": 3}}, {"tags": {"$contains": "urgent"}}]}],
    },
    "Comparisons": {
        "title": "Comparisons",
        "type": "object",
        "description": "Comparisons of one metadata entry. All must hold.",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            "$eq": {**_VALUE, "description": "The entry, or one of its elements, equals this value."},
            "$ne": {**_VALUE, "description": "The opposite of `$eq`."},
            "$gt": {**_SCALAR, "description": "The entry is greater."},
            "$gte": {**_SCALAR, "description": "The entry is greater or equal."},
            "$lt": {**_SCALAR, "description": "The entry is less."},
            "$lte": {**_SCALAR, "description": "The entry is less or equal."},
            "$in": {"type": "array", "items": _VALUE, "description": "The entry equals one of these values."},
            "$nin": {"type": "array", "items": _VALUE, "description": "The opposite of `$in`."},
            "$exists": {"type": "boolean", "description": "Whether there is such an entry. An entry that is null exists."},
            "$contains": {**_VALUE, "description": "The entry is a list with this element, or a text with this part."},
            "$not": {**_COMPARISONS_REF, "description": "Not all of these comparisons hold."},
        },
    },
}
"""Schemas of metadata filters for the OpenAPI document. They refer to themselves, which no Python type can express."""
