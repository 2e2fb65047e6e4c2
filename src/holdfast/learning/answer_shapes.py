"""Convert a model's answer from a known format to the format that the prompt asks for.

A model that was set up for another design (assistant) answers in that design's format: ``{"facts": [{"key": ..., "value":
...}]}``, a list of ``{"fact": ..., "type": ...}``, a list of sentences, ``{"targetMemoryId": 3, "newContent": ...}``, or
plain text for a paragraph. Each function takes a parsed answer and returns it in the format of the schema. Unknown formats
are returned unchanged.
"""

from collections.abc import Mapping
from typing import Any, Final

_LIST_NAMES: Final = (
    "items",
    "facts",
    "memories",
    "conclusions",
    "statements",
    "hechos",
    "conclusiones",
    "recuerdos",
    "results",
    "data",
)
_TEXT_NAMES: Final = (
    "text",
    "fact",
    "value",
    "conclusion",
    "statement",
    "memory",
    "content",
    "sentence",
    "hecho",
    "valor",
    "texto",
)
_KEY_NAMES: Final = ("key", "clave", "name", "attribute")
_SOURCE_NAMES: Final = ("messages", "message", "sources", "source", "mensajes")
_TARGET_NAMES: Final = ("target", "targetMemoryId", "target_memory_id", "targetId", "target_id", "id")
_MERGED_NAMES: Final = ("text", "newContent", "new_content", "content")


def as_items(value: Any, *, text: str, key: str | None, defaults: Mapping[str, Any]) -> Any:
    """Return a parsed answer in the form ``{"items": [...]}``. An answer in an unknown format is returned unchanged.

    ``text`` and ``key`` are the field names of an item's text and key. ``defaults`` contains values for missing fields.
    """
    found = _list_in(value, is_pairs=key is not None)
    if found is None:
        return value
    return {"items": [_as_item(item, text, key, defaults) for item in found]}


def as_decision(value: Any) -> Any:
    """Return a compaction decision with the field names ``target`` and ``text``, whatever names the model used."""
    if not isinstance(value, Mapping):
        return value
    target, text = _first(value, _TARGET_NAMES), _first(value, _MERGED_NAMES)
    rest = {name: item for name, item in value.items() if name not in (*_TARGET_NAMES, *_MERGED_NAMES)}
    action = rest.get("action")
    if isinstance(action, str):
        rest["action"] = action.strip().casefold()
    return {**rest, "reason": rest.get("reason") or "-", "target": target, "text": text}


def _list_in(value: Any, *, is_pairs: bool) -> list[Any] | None:
    """Return the list of items in an answer, or None if there is no such list.

    An object with a text counts as a list of one item. With ``is_pairs``, an object whose values are all texts counts as a
    list of keys and values. If the answer itself is an empty list, return None.
    """
    if isinstance(value, list):
        return value or None
    if not isinstance(value, Mapping):
        return None
    named = [value[name] for name in _LIST_NAMES if name in value]
    if named:
        return named[0] if isinstance(named[0], list) else None
    if any(name in value for name in _TEXT_NAMES):
        return [value]
    pairs = is_pairs and value and all(isinstance(item, str) for item in value.values())
    return [{"key": name, "value": item} for name, item in value.items()] if pairs else None


def _as_item(item: Any, text: str, key: str | None, defaults: Mapping[str, Any]) -> Any:
    if isinstance(item, str) and key is None:
        item = {text: item}
    if not isinstance(item, Mapping):
        return item
    others = (*_TEXT_NAMES, *_SOURCE_NAMES, *(_KEY_NAMES if key else ()))
    made = {name: each for name, each in item.items() if name not in others}
    made |= {name: each for name, each in defaults.items() if made.get(name) is None}
    for name, names in ((text, (text, *_TEXT_NAMES)), (key, (key or "", *_KEY_NAMES)), ("messages", _SOURCE_NAMES)):
        found = _first(item, names) if name else None
        if name and found is not None:
            made[name] = found
    return made


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)
