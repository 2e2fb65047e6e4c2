"""The JSON Schema of the arguments of each memory tool."""

from collections.abc import Callable, Mapping, Sequence

from holdfast.chat import Schema
from holdfast.presets.base import Preset
from holdfast.types import Kind


def message_type_of(preset: Preset) -> str:
    """Return the value of the field ``type`` for messages in search results: ``conversation`` or ``message``."""
    return "conversation" if any(kind.name == "conversation" for kind in preset.learned_kinds) else "message"


def _object(required: Sequence[str], **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def types_schema(description: str, kinds: Sequence[Kind], *more: str, **values: str) -> Schema:
    """Return the JSON schema of an argument whose value is the name of a kind or one of the names in ``more``.

    ``description`` is a text with placeholders. ``{types}`` becomes the list of kinds with their meanings, and
    ``values`` fill in the other placeholders.
    """
    meanings = " ".join(f"{kind.name}: {kind.meaning}." for kind in kinds)
    names = [*(kind.name for kind in kinds), *more]
    return {"type": "string", "enum": names, "description": description.format(types=meanings, **values).strip()}


def _search_parameters(texts: Mapping[str, str], preset: Preset) -> Schema:
    message_type = message_type_of(preset)
    more = () if any(kind.name == message_type for kind in preset.learned_kinds) else (message_type,)
    return _object(
        ["query"],
        query=_text(texts["query"]),
        memory_type=types_schema(texts["memory_type"], preset.learned_kinds, *more),
        limit={"type": "integer", "description": texts["limit"]},
    )


def _store_parameters(texts: Mapping[str, str], preset: Preset) -> Schema:
    # Pinned memories are in every prompt, so only people may write them.
    kinds = [kind for kind in preset.learned_kinds if not kind.pinned]
    form = _object(
        ["content"],
        content=_text(texts["content"]),
        memory_type=types_schema(texts["memory_type"], kinds, default=preset.default_kind),
        metadata={"type": "object", "description": texts["metadata"].format()},
    )
    if not has_own_store_tool(preset):
        form["properties"]["key"] = _text(texts["key"])
    return form


def _forget_parameters(texts: Mapping[str, str], preset: Preset) -> Schema:
    if has_own_store_tool(preset):
        return _object(["memory_id"], memory_id=_text(texts["memory_id"]))
    return _object([], memory_id=_text(texts["memory_id"]), key=_text(texts["key"]))


def has_own_store_tool(preset: Preset) -> bool:
    """Return True if the preset has the tool ``store_memory``, which comes from the design that the preset implements.

    If it has this tool, all its tools take exactly the arguments that the design defined.
    """
    return "store_memory" in preset.tools


PARAMETERS: Mapping[str, Callable[[Mapping[str, str], Preset], Schema]] = {
    "remember": lambda texts, preset: _object(["key", "value"], key=_text(texts["key"]), value=_text(texts["value"])),
    "forget": lambda texts, preset: _object(["key"], key=_text(texts["key"])),
    "search_memories": _search_parameters,
    "store_memory": _store_parameters,
    "forget_memory": _forget_parameters,
}
"""Maps each tool to the function that returns the schema of its arguments, from its texts and the preset."""
