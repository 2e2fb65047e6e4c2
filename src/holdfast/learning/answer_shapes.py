"""Convert a model's answer from a known format to the format that the prompt asks for.

A model that was set up for another design (assistant) can answer in that design's format. Examples are
``{"facts": [{"key": ..., "value": ...}]}``, a list of ``{"fact": ..., "type": ...}``, a list of sentences, and
``{"targetMemoryId": 3, "newContent": ...}``. A summary can be plain text instead of JSON. Each function takes a parsed
answer and returns it in the format of the schema. Unknown formats are returned unchanged.
"""

from collections.abc import Mapping, Sequence
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
_SUMMARY_NAMES: Final = ("summary", "paragraph", "document", "resumen", "parrafo", "documento")
_KEY_NAMES: Final = ("key", "clave", "name", "attribute")
_SOURCE_NAMES: Final = ("messages", "message", "sources", "source", "mensajes")
_TARGET_NAMES: Final = ("target", "targetMemoryId", "target_memory_id", "targetId", "target_id", "id")
_TOPIC_NAMES: Final = ("topic", "topics", "name", "tema", "file")
_MERGED_NAMES: Final = ("text", "newContent", "new_content", "content")


def as_items(
    value: Any,
    *,
    text: str,
    key: str | None,
    defaults: Mapping[str, Any],
    enums: Mapping[str, Sequence[str]] = {},
    empty: Any = None,
) -> Any:
    """Return a parsed answer in the form ``{"items": [...]}``. An answer in an unknown format is returned unchanged.

    Each entry of the list is one statement of the model. ``text`` and ``key`` are the names of its fields for the text and
    the key. ``defaults`` contains values for missing fields, and for fields whose value is not in ``enums``. ``empty`` is an
    answer that means "nothing to keep" in the prompt of another design.
    """
    if empty is not None and value == empty:
        return {"items": []}
    found = _list_in(value, is_pairs=key is not None)
    if found is None:
        return value
    return {"items": [_as_item(item, text, key, defaults, enums) for item in found]}


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


def as_text(value: Any, *, name: str) -> Any:
    """Return an answer in the form ``{name: text}``. The answer consists of one text, under any name that the model chose."""
    if isinstance(value, str):
        return {name: value}
    if not isinstance(value, Mapping) or name in value:
        return value
    found = _first(value, (*_TEXT_NAMES, *_SUMMARY_NAMES))
    return value if found is None else {**value, name: found}


def as_topic(value: Any) -> Any:
    """Return a detected topic in the form ``{"topic": ...}``. An answer in an unknown format is returned unchanged.

    Known formats are a name, a list of one name, and an object whose field has another name, such as ``topics``.
    """
    named = value
    if isinstance(value, Mapping):
        fields = {str(name).casefold(): each for name, each in value.items()}
        named = next((fields[name] for name in _TOPIC_NAMES if name in fields), value)
    if isinstance(named, list) and len(named) == 1:
        named = named[0]
    return {"topic": named} if named is None or isinstance(named, str) else value


def _list_in(value: Any, *, is_pairs: bool) -> list[Any] | None:
    """Return the list of the model's statements in an answer, or None if there is no such list.

    An object with a text counts as a list of one statement. With ``is_pairs``, an object whose values are all texts counts as
    a list of keys and values. If the answer itself is an empty list, return None.
    """
    if isinstance(value, list):
        return value or None
    if not isinstance(value, Mapping):
        return None
    named = [value[name] for name in _LIST_NAMES if name in value]
    if named:
        return [named[0]] if isinstance(named[0], Mapping) else named[0] if isinstance(named[0], list) else None
    if any(name in value for name in _TEXT_NAMES):
        return [value]
    pairs = is_pairs and value and all(isinstance(item, str) for item in value.values())
    return [{"key": name, "value": item} for name, item in value.items()] if pairs else None


def _as_item(item: Any, text: str, key: str | None, defaults: Mapping[str, Any], enums: Mapping[str, Sequence[str]]) -> Any:
    if isinstance(item, str) and key is None:
        item = {text: item}
    if not isinstance(item, Mapping):
        return item
    others = (*_TEXT_NAMES, *_SOURCE_NAMES, *(_KEY_NAMES if key else ()))
    made = {name: each for name, each in item.items() if name not in others}
    made |= {name: each for name, each in defaults.items() if not _is_allowed(made.get(name), enums.get(name))}
    for name, names in ((text, (text, *_TEXT_NAMES)), (key, (key or "", *_KEY_NAMES)), ("messages", _SOURCE_NAMES)):
        found = _first(item, names) if name else None
        if name and found is not None:
            made[name] = found
    return made


def _is_allowed(value: Any, allowed: Sequence[str] | None) -> bool:
    if allowed is None or not isinstance(value, str):
        return value is not None
    return value.strip().casefold() in allowed


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)
