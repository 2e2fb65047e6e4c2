"""Fit data to a schema: keep the valid parts, drop each invalid part, and report the flaws.

The schema is a subset of JSON Schema: ``type`` (one or several), ``properties``, ``required``, ``items``, ``enum``,
``minimum``, ``maximum``, ``maxItems``, ``minLength``, ``maxLength``, ``additionalProperties``. The report of a flaw
states the position and the problem but never the text, because flaws are logged.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.chat import Schema
from holdfast.text.json.parse import parse_container

_MAX_FLAWS = 20


class _Unfit(ValueError):
    """Raised for a value that cannot be converted safely to a valid one."""

    def __init__(self, where: str, why: str | None, more: Sequence[str] = ()) -> None:
        own = [] if why is None else [f"{where or 'the answer'} {why}"]
        super().__init__("; ".join([*own, *more]))


@dataclass(frozen=True, slots=True)
class _Fit:
    """Result of fitting a value to a schema: the fitting value, the flaws of the original, and the number of lost values.

    A lost value is a value that the schema defines but that was dropped as invalid.
    """

    value: Any
    flaws: tuple[str, ...] = ()
    lost: int = 0


def conform(data: Any, schema: Schema) -> tuple[Any, tuple[str, ...]]:
    """Fit data to a JSON schema. Return the valid part of the data, and messages about the flaws of the data.

    Raise ValueError if the data has values but none of them is valid.
    """
    fit = _fit(data, schema, "")
    dropped_all = isinstance(data, Mapping | list) and bool(data) and fit.value in ({}, [])
    if (fit.lost or dropped_all) and not _has_values(fit.value):
        raise ValueError("; ".join(_limit_flaws(fit.flaws)) or "nothing in the answer is what was asked for")
    return fit.value, _limit_flaws(fit.flaws)


def _limit_flaws(flaws: tuple[str, ...]) -> tuple[str, ...]:
    more = len(flaws) - _MAX_FLAWS
    return (*flaws[:_MAX_FLAWS], f"and {more} more") if more > 0 else flaws


def _has_values(value: Any) -> bool:
    """Return True if the data contains any scalar, at any depth."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, Mapping | list):
            return True
        waiting.extend(each.values() if isinstance(each, Mapping) else each)
    return False


def _fit(value: Any, schema: Schema, where: str) -> _Fit:
    """Fit a value to one of the schema's types. Types that accept the value unchanged are tried first.

    For the other types, the value is converted if that is safe. Raise ``_Unfit`` if no type fits. ``where`` is the path of the
    value in the data, for the error message.
    """
    types = _types(schema)
    if not types:
        return _Fit(_match_enum(value, schema, where))
    exact = [name for name in types if _CHECKS[name](value)]
    unfit: _Unfit | None = None
    for name in (*exact, *(name for name in types if name not in exact)):
        try:
            return _FITTERS[name](value, schema, where)
        except _Unfit as error:
            unfit = unfit or error
    assert unfit is not None
    raise unfit


def _types(schema: Schema) -> tuple[str, ...]:
    named = schema.get("type", ())
    if not named:
        named = "object" if "properties" in schema else "array" if "items" in schema else ()
    return (named,) if isinstance(named, str) else tuple(named)


def _match_enum(value: Any, schema: Schema, where: str) -> Any:
    """Return the enum value that equals the given value. Upper and lower case and surrounding spaces do not matter.

    If the schema has no enum, return the value. Raise ``_Unfit`` if no enum value is equal. ``where`` is the path of the
    value in the data, for the error message.
    """
    if "enum" not in schema:
        return value
    for allowed in schema["enum"]:
        if type(value) is type(allowed) and value == allowed:
            return allowed
    if isinstance(value, str):
        for allowed in schema["enum"]:
            if isinstance(allowed, str) and value.strip().casefold() == allowed.casefold():
                return allowed
    raise _Unfit(where, f"is not one of {', '.join(map(str, schema['enum']))}")


def _fit_object(value: Any, schema: Schema, where: str) -> _Fit:
    found = _as_object(value, schema, where)
    known: Mapping[str, Schema] = schema.get("properties", {})
    kept: dict[str, Any] = {}
    flaws: list[str] = []
    lost = 0
    for name, item in found.items():
        rule: Any = known.get(name, schema.get("additionalProperties", True))
        if rule is False:
            flaws.append(
                f"{where or 'the answer'} holds something that was not asked for"
            )  # the name comes from the model, so it is not logged
            continue
        if item is None and name in schema.get("required", ()) and "null" not in _types({} if rule is True else rule):
            continue  # "items": null is no empty list
        try:
            fit = _fit(item, {} if rule is True else rule, _inside(where, name))
        except _Unfit as unfit:
            if item is not None:  # many models write null for "none", which is no flaw
                flaws.append(str(unfit))
                lost += 1
            continue
        kept[name] = fit.value
        flaws += fit.flaws
        lost += fit.lost
    required = [name for name in schema.get("required", ()) if name not in kept]
    if required:
        missing = [name for name in required if found.get(name) is None]  # the others are among the flaws
        raise _Unfit(where, f"lacks {', '.join(missing)}" if missing else None, flaws[:_MAX_FLAWS])
    return _Fit(kept, tuple(flaws), lost)


def _inside(where: str, name: str) -> str:
    short = name if len(name) <= 40 else f"{name[:37]}..."
    return f"{where}.{short}" if where else short


def _as_object(value: Any, schema: Schema, where: str) -> Mapping[str, Any]:
    """Return the value as a mapping. Raise ``_Unfit`` if that is not possible.

    A JSON string is parsed. A list with one mapping becomes this mapping, if the mapping has a property of the schema. Any
    other list becomes the value of a property, if exactly one property of the schema is an array. ``where`` is the path of
    the value in the data, for the error message.
    """
    if isinstance(value, str):
        value = _parse_if_json(value)
    if isinstance(value, Mapping):
        return {name: item for name, item in value.items() if isinstance(name, str)}
    if isinstance(value, list):
        known: Mapping[str, Schema] = schema.get("properties", {})
        if len(value) == 1 and isinstance(value[0], Mapping) and any(name in known for name in value[0]):
            return _as_object(value[0], schema, where)
        lists = [name for name, rule in known.items() if "array" in _types(rule)]
        if len(lists) == 1:
            return {lists[0]: value}
    raise _Unfit(where, f"is {_type_name(value)}, not an object")


def _fit_array(value: Any, schema: Schema, where: str) -> _Fit:
    rule: Schema = schema.get("items", {})
    kept: list[Any] = []
    flaws: list[str] = []
    lost = 0
    max_items = schema.get("maxItems")
    for place, item in enumerate(_as_array(value, rule, where)):
        if max_items is not None and len(kept) >= max_items:
            flaws.append(f"{where or 'the answer'} has more than {max_items} items")
            break
        try:
            fit = _fit(item, rule, f"{where}[{place}]")
        except _Unfit as unfit:
            flaws.append(str(unfit))
            lost += 1
            continue
        kept.append(fit.value)
        flaws += fit.flaws
        lost += fit.lost
    return _Fit(kept, tuple(flaws), lost)


def _as_array(value: Any, rule: Schema, where: str) -> list[Any]:
    """Return the value as a list. Raise ``_Unfit`` if that is not possible. ``rule`` is the schema of the items.

    None becomes an empty list, and a JSON string with a list is parsed. A value that is valid as an item becomes a list with one
    item. An object that is not valid as an item, but contains exactly one list, becomes that list.
    """
    if isinstance(value, list):
        return value
    if value is None:
        return []
    unpacked = _parse_if_json(value) if isinstance(value, str) else value
    if isinstance(unpacked, list):
        return unpacked
    try:
        _fit(value, rule, where)
    except _Unfit:
        lists = [item for item in unpacked.values() if isinstance(item, list)] if isinstance(unpacked, Mapping) else []
        if len(lists) == 1:
            return lists[0]
        raise _Unfit(where, f"is {_type_name(value)}, not a list") from None
    return [value]


def _parse_if_json(text: str) -> Any:
    try:
        return parse_container(text)
    except ValueError:
        return text


def _fit_string(value: Any, schema: Schema, where: str) -> _Fit:
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str):
        raise _Unfit(where, f"is {_type_name(value)}, not a text")
    value = _match_enum(value, schema, where)
    if len(value) < schema.get("minLength", 0):
        raise _Unfit(where, f"is shorter than {schema['minLength']}")
    if len(value) > schema.get("maxLength", math.inf):
        raise _Unfit(where, f"is longer than {schema['maxLength']}")
    return _Fit(value)


def _fit_number(value: Any, schema: Schema, where: str) -> _Fit:
    number = _as_number(value)
    if number is None:
        raise _Unfit(where, f"is {_type_name(value)}, not a number")
    _match_enum(number, schema, where)
    if number < schema.get("minimum", -math.inf):
        raise _Unfit(where, f"is below {schema['minimum']}")
    if number > schema.get("maximum", math.inf):
        raise _Unfit(where, f"is above {schema['maximum']}")
    return _Fit(number)


def _as_number(value: Any) -> int | float | None:
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = float(value) if any(sign in value for sign in ".eE") else int(value)
        except ValueError:
            return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _fit_integer(value: Any, schema: Schema, where: str) -> _Fit:
    number = _as_number(value)
    if number is None or number != int(number):
        raise _Unfit(where, f"is {_type_name(value)}, not a whole number")
    return _fit_number(int(number), schema, where)


def _fit_boolean(value: Any, schema: Schema, where: str) -> _Fit:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().casefold(), value)
    if not isinstance(value, bool):
        raise _Unfit(where, f"is {_type_name(value)}, neither true nor false")
    return _Fit(_match_enum(value, schema, where))


def _fit_null(value: Any, schema: Schema, where: str) -> _Fit:
    del schema
    if value is not None:
        raise _Unfit(where, f"is {_type_name(value)}, not null")
    return _Fit(None)


def _type_name(value: Any) -> str:
    names = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", type(None): "null"}
    return names.get(type(value), "an object" if isinstance(value, Mapping) else "of another sort")


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_FITTERS: dict[str, Callable[[Any, Schema, str], _Fit]] = {
    "object": _fit_object,
    "array": _fit_array,
    "string": _fit_string,
    "number": _fit_number,
    "integer": _fit_integer,
    "boolean": _fit_boolean,
    "null": _fit_null,
}
