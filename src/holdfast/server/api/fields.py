"""Types of request fields. Each accepts only what its schema in the OpenAPI document describes: no coercion of other types."""

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from holdfast.text.clean import MAX_KEY, MAX_TEXT

_BLANK = r"\s\u0000-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\ufffb"
VISIBLE = f"[^{_BLANK}]"
"""Pattern of a text with at least one visible character. It is valid in JSON Schema, in Python and in pydantic."""
FILTER = "Filter"
"""Name of the schema of metadata filters in the OpenAPI document."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _text_of_time(value: Any) -> Any:
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("a time is text in the format of RFC 3339, such as 2026-03-01T12:00:00Z")


Name = Annotated[str, Field(min_length=1, max_length=512, pattern=VISIBLE)]
Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY)]
Label = Annotated[str, Field(min_length=1, max_length=1023, pattern="^[^\u0000\u001f]+$")]
AnyLabel = Annotated[str, Field(max_length=1023, pattern="^[^\u0000\u001f]*$")]
Namespace = Annotated[list[Label], Field(max_length=500, examples=[["docs", "2026"]])]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=VISIBLE, examples=["I moved to Lyon last month."])]
AnyText = Annotated[str, Field(max_length=MAX_TEXT, examples=["I moved to Lyon last month."])]
Query = Annotated[str, Field(max_length=100_000, examples=["where does she live?"])]
User = Annotated[Name | None, Field(examples=["ana"])]
Flag = Annotated[bool, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Limit = Annotated[int, Field(strict=True, ge=1, le=500)]
Offset = Annotated[int, Field(strict=True, ge=0, le=100_000)]
Tokens = Annotated[Annotated[int, Field(strict=True, ge=0, le=1_000_000)] | None, Field()]
Importance = Annotated[Annotated[float, Field(strict=True, ge=0, le=10)] | None, Field()]
Persona = Annotated[str | None, Field(max_length=100_000, examples=["You are a kitchen helper."])]
Moment = Annotated[datetime, BeforeValidator(_text_of_time, json_schema_input_type=datetime)]
Index = Annotated[Flag | Annotated[list[AnyText], Field(max_length=100)], Field(examples=[True])]
Where = Annotated[
    dict[str, Any], WithJsonSchema({"$ref": f"#/components/schemas/{FILTER}"}), Field(examples=[{"room": "kitchen"}])
]
Kinds = Annotated[
    Name | Annotated[list[Name], Field(max_length=50)] | None,
    Field(description="One kind or a list of kinds. `kind` and `kinds` are synonyms."),
]

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
