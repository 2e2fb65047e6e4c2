"""The filters of mem0: check them, apply them to memories, and translate the conditions that the store can evaluate."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

import holdfast

Filters: TypeAlias = Mapping[str, Any]

ENTITIES = ("user_id", "agent_id", "run_id")
TIMES = ("created_at", "updated_at", "expiration_date")
_NOT_METADATA = frozenset({"user_id", "id", "data", "memory", "hash", "created_at", "updated_at"})
"""Names that a filter can use for fields outside the metadata of a memory."""
_OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "icontains")
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, limit: value > limit,
    "gte": lambda value, limit: value >= limit,
    "lt": lambda value, limit: value < limit,
    "lte": lambda value, limit: value <= limit,
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)")
ANY = "*"
"""Filter value that matches any value of an entry."""


def check(filters: Filters) -> None:
    """Raise InvalidInput if a filter has an unknown operator or the wrong format."""
    if not isinstance(filters, Mapping):
        raise holdfast.InvalidInput(f"filters is a dict, not {type(filters).__name__}.")
    for name, condition in filters.items():
        if name in ("AND", "OR", "NOT"):
            if not isinstance(condition, list | tuple) or (not condition and name != "AND"):
                raise holdfast.InvalidInput(f"{name} needs a list of conditions that is not empty.")
            for each in condition:
                check(each)
        elif isinstance(condition, Mapping):
            for operator, value in condition.items():
                _check_operator(operator, value)


def _check_operator(operator: str, value: Any) -> None:
    if operator not in _OPERATORS:
        known = ", ".join(_OPERATORS)
        raise holdfast.InvalidInput(f"Unsupported metadata filter operator: {operator}. The operators are: {known}.")
    if operator in ("in", "nin") and not isinstance(value, list | tuple | set):
        raise holdfast.InvalidInput(f"The operator {operator} needs a list of values.")


def conjuncts(filters: Filters) -> Iterator[tuple[str, Any]]:
    """Yield those conditions of a filter that must all hold: the conditions at its top level, and the conditions inside AND."""
    for name, condition in filters.items():
        if name == "AND":
            for each in condition:
                yield from conjuncts(each)
        else:
            yield name, condition


def entities_named(filters: Filters) -> set[str]:
    """Return which of ``user_id``, ``agent_id`` and ``run_id`` (the entities of mem0) occur anywhere in a filter."""
    found = {name for name in filters if name in ENTITIES}
    for name in ("AND", "OR"):
        for each in filters.get(name, ()):
            found |= entities_named(each)
    return found


def users_named(filters: Filters) -> list[str] | None:
    """Return the users whose ids the filter lists, or None if it does not restrict the users."""
    for name, condition in conjuncts(filters):
        if name == "user_id":
            values = _equal_values(condition)
            if values is not None:
                return [str(value).strip() for value in values]
    return None


def _equal_values(condition: Any) -> Sequence[Any] | None:
    """Return the values that a condition allows: one value, or the values of a list.

    Return None for any other condition, such as a comparison.
    """
    if isinstance(condition, Mapping):
        if "eq" in condition:
            return [condition["eq"]]
        return list(condition["in"]) if "in" in condition else None
    if condition == ANY or condition is None:
        return None
    return list(condition) if isinstance(condition, list | tuple | set) else [condition]


# Translation


def as_where(filters: Filters) -> dict[str, Any] | None:
    """Return a store filter for ``recall`` and ``memories`` that lets all matching memories through.

    It may also let other memories through. :func:`matches` removes these afterwards. Return None if the store can evaluate
    no part of ``filters``.
    """
    parts = [found for name, condition in conjuncts(filters) if (found := _translated(name, condition)) is not None]
    return {"$and": parts} if parts else None


def _translated(name: str, condition: Any) -> dict[str, Any] | None:
    """Return a condition of a mem0 filter in the store's format, or None if the store cannot evaluate it."""
    if name in ("OR", "NOT"):
        parts = [_all_of(each) for each in condition]
        either = None if any(part is None for part in parts) else {"$or": parts}
        return either if name == "OR" or either is None else {"$not": either}
    comparison = None if name in _NOT_METADATA else _comparison(condition)
    return None if comparison is None else {name: comparison}


def _comparison(condition: Any) -> dict[str, Any] | None:
    """Convert a condition on one entry of the metadata to the store's format.

    Return None if the store cannot evaluate the condition. The store cannot search text without regard to case, and
    cannot compare dates.
    """
    if isinstance(condition, Mapping):
        if "icontains" in condition or any(isinstance(value, str) and _DATE.match(value) for value in condition.values()):
            return None
        return {f"${operator}": _plain(value) for operator, value in condition.items()}
    if condition == ANY:
        return {"$exists": True}
    return {"$in": list(condition)} if isinstance(condition, list | tuple | set) else {"$eq": condition}


def _all_of(filters: Filters) -> dict[str, Any] | None:
    parts = [_translated(name, condition) for name, condition in conjuncts(filters)]
    return None if any(part is None for part in parts) else {"$and": parts}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | set) else value


# Evaluation


def matches(filters: Filters, payload: Mapping[str, Any]) -> bool:
    """Return True if a memory matches the filters.

    ``payload`` contains the memory's metadata, ids, times and text under mem0's names.
    """
    return all(_matches(name, condition, payload) for name, condition in filters.items())


def _matches(name: str, condition: Any, payload: Mapping[str, Any]) -> bool:
    if name == "AND":
        return all(matches(each, payload) for each in condition)
    if name == "OR":
        return any(matches(each, payload) for each in condition)
    if name == "NOT":
        return not any(matches(each, payload) for each in condition)
    value = _entry(payload, name)
    if isinstance(condition, Mapping):
        return all(_compare(operator, value, given) for operator, given in condition.items())
    if condition == ANY:
        return value is not None
    return _compare("in" if isinstance(condition, list | tuple | set) else "eq", value, condition)


def _entry(payload: Mapping[str, Any], name: str) -> Any:
    """Return the payload's entry with this name, or None if there is none.

    A name with dots is a path: ``a.b`` means the entry ``b`` of the object ``a``. If an entry is itself named ``a.b``,
    that entry is returned instead.
    """
    if name in payload:
        return payload[name]
    value: Any = payload
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _compare(operator: str, value: Any, given: Any) -> bool:
    if operator in ("ne", "nin"):
        return not _compare({"ne": "eq", "nin": "in"}[operator], value, given)
    if operator in ("contains", "icontains"):
        return _contains(value, given, fold=operator == "icontains")
    candidates = value if isinstance(value, list) else [value]
    if operator == "in":
        return any(_equal(each, other) for each in candidates for other in given)
    if operator == "eq":
        return value == given if isinstance(given, list) else any(_equal(each, given) for each in candidates)
    return any(_ordered(operator, each, given) for each in candidates)


def _equal(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _ordered(operator: str, value: Any, limit: Any) -> bool:
    """Return True if ``value`` and ``limit`` have the order that the operator asks for, such as ``value`` < ``limit``.

    Both must be numbers, or both must be times or texts. Return False for other types.
    """
    if isinstance(value, str) and isinstance(limit, str | datetime):
        times = _time(value), _time(limit)
        pair: tuple[Any, Any] = times if None not in times else (value, str(limit))
        return _ORDER[operator](*pair)
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (value, limit))
    return numbers and _ORDER[operator](value, limit)


def _time(value: str | datetime) -> datetime | None:
    """Return a date or time as a time in UTC, or None if it is neither."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _contains(value: Any, part: Any, *, fold: bool) -> bool:
    def folded(each: Any) -> Any:
        return each.casefold() if fold and isinstance(each, str) else each

    if isinstance(value, list):
        return any(_equal(folded(each), folded(part)) for each in value)
    return isinstance(value, str) and isinstance(part, str) and folded(part) in folded(value)
