"""The OpenAPI document of a server. It describes the kinds of memory of the server's own preset."""

import json
from collections.abc import Hashable
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from holdfast.presets.base import Preset
from holdfast.server.api.fields import FILTER, KEY, KIND, MEMORY_TEXT, NOT_BLANK, RECALLED_KIND, REFERENCE, VISIBLE
from holdfast.server.api.openapi import add_schemas
from holdfast.text.clean import MAX_KEY, MAX_TEXT
from holdfast.types import Kind

_WITH_KEYS = ("MemoryFields", "NewMemory")
"""Names of the schemas of new memories. Whether they may have a key depends on their kind."""

_BATCHES = (("NewMessages", "messages"), ("NewMemories", "memories"))
"""The list fields whose length the setting ``max_batch`` limits, each as the names of the schema and of the field."""


def describe(api: FastAPI, preset: Preset, *, max_batch: int) -> None:
    """Replace FastAPI's OpenAPI document with one that lists Holdfast's error responses instead of FastAPI's 422.

    The document is built on first use, and built again if a kind is added to the preset. ``max_batch`` is the maximum number
    of messages or memories in one request.
    """
    described: tuple[Kind, ...] = ()

    def document() -> dict[str, Any]:
        nonlocal described
        kinds = preset.kinds
        if api.openapi_schema is None or described != kinds:
            schema = _without_kinds(api)
            _add_kinds(schema["components"]["schemas"], preset)
            for name, field in _BATCHES:
                schema["components"]["schemas"][name]["properties"][field]["maxItems"] = max_batch
            api.openapi_schema, described = schema, kinds
        return api.openapi_schema

    api.openapi = document  # type: ignore[method-assign]


_made: Final[dict[Hashable, str]] = {}
"""Cache of OpenAPI documents without the kinds of memory, as JSON. Building one takes about a second."""


def _without_kinds(api: FastAPI) -> dict[str, Any]:
    """Return a new copy of the OpenAPI document, without the parts that depend on the kinds of memory.

    The document is built once for each set of operations, and then copied.
    """
    operations = tuple((getattr(route, "path", ""), getattr(route, "name", "")) for route in api.routes)
    key = (api.title, api.version, api.description, operations)
    if key not in _made:
        _made[key] = json.dumps(_make(api))
    copy: dict[str, Any] = json.loads(_made[key])
    return copy


def _make(api: FastAPI) -> dict[str, Any]:
    schema = get_openapi(
        title=api.title, version=api.version, description=api.description, routes=api.routes, openapi_version="3.1.0"
    )
    for operations in schema["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            _describe_filter(operation)
            _split_summary(operation)
    schema["components"].setdefault("securitySchemes", {})["key"] = {"type": "http", "scheme": "bearer"}
    schema["security"] = [{"key": []}, {}]
    for unused in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(unused, None)
    _resolve_references(schema)
    add_schemas(schema)
    return schema


def _add_kinds(schemas: dict[str, Any], preset: Preset) -> None:
    """Add the schemas that depend on the preset: the names of its kinds, and the texts and keys that the kinds allow."""
    names = [kind.name for kind in preset.kinds]
    schemas[KIND] = {"title": KIND, "type": "string", "description": "The name of a kind of memory.", "enum": names}
    schemas[RECALLED_KIND] = {
        "title": RECALLED_KIND,
        "type": "string",
        "description": "The name of a kind of memory, or `message` for messages.",
        "enum": [*names, *(() if "message" in names else ("message",))],
    }
    text: dict[str, Any] = {"title": MEMORY_TEXT, "type": "string", "description": "The text of a memory.", "maxLength": MAX_TEXT}
    key = {"title": KEY, "type": "string", "description": "The key of a memory.", "minLength": 1, "maxLength": MAX_KEY}
    if not any(kind.plain for kind in preset.kinds):  # only plain kinds have empty texts and invisible keys
        text |= {"minLength": 1, "pattern": NOT_BLANK}
        key |= {"pattern": VISIBLE}
    schemas |= {MEMORY_TEXT: text, KEY: key}
    keyless = [kind.name for kind in preset.kinds if kind.keyed == "no"]
    named = {"properties": {"kind": {"enum": keyless}}, "required": ["kind"]}
    chosen = {"properties": {"kind": {"enum": [*keyless, None]}}} if preset.default_kind in keyless else named
    for name in _WITH_KEYS if keyless else ():
        schemas[name] |= {"if": chosen, "then": {"properties": {"key": {"type": "null"}}}}


def _resolve_references(part: Any) -> None:
    """Replace the placeholders for schemas in a part of the OpenAPI document with ``$ref`` references.

    ``part`` is changed in place.
    """
    if isinstance(part, dict):
        if REFERENCE in part:
            part["$ref"] = f"#/components/schemas/{part.pop(REFERENCE)}"
        for each in part.values():
            _resolve_references(each)
    elif isinstance(part, list):
        for each in part:
            _resolve_references(each)


def _describe_filter(operation: dict[str, Any]) -> None:
    """Describe the query parameter ``where`` as JSON, because FastAPI treats it as plain text."""
    for parameter in operation.get("parameters", ()):
        if parameter["name"] == "where":
            parameter.pop("schema")
            parameter["content"] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{FILTER}"}}}


def _split_summary(operation: dict[str, Any]) -> None:
    """Use the first line of a route's docstring as the summary of its operation, and the rest as the description."""
    summary, _, description = operation.pop("description").partition("\n")
    operation |= {"summary": summary.rstrip("."), "description": description.strip()}
