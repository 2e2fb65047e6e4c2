"""Translate metadata filters into SQL. Names and values are bound as parameters and never part of the SQL text.

The operators mean the same as in MongoDB. A list matches if one of its elements matches. A missing entry equals None, and
matches ``$ne``, ``$nin`` and ``$not``. A name with dots is a path: ``a.b`` means the entry ``b`` of the object ``a``. If a
row has an entry that is itself named ``a.b``, that entry is used instead.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.stores.sql.connection import Part, SQLDialect
from holdfast.stores.sql.rows import dump
from holdfast.text.clean import clean_value, storable
from holdfast.types import Where

_ORDER = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_COMPARISONS = ("$eq", "$ne", *_ORDER, "$in", "$nin", "$exists", "$contains", "$not")
_LOGIC = ("$and", "$or", "$not")
_OPERATOR = re.compile(r"\$[A-Za-z]+")
_MAX_CONDITIONS = 500
"""Maximum number of comparisons in one filter. Databases limit the size of a statement."""
_MAX_DEPTH = 20
"""Maximum nesting depth of ``$and``, ``$or`` and ``$not``."""
_LISTS = (list, tuple, set, frozenset)


def metadata_condition(dialect: SQLDialect, where: Where) -> Part:
    """Return the SQL condition that a row's metadata matches a filter. Raise InvalidInput if the filter is invalid."""
    return _Translation(dialect).all_of(where, 0)


class _Translation:
    """Translates one metadata filter to SQL. A filter with too many comparisons raises ``InvalidInput``."""

    def __init__(self, dialect: SQLDialect) -> None:
        self._dialect = dialect
        self._left = _MAX_CONDITIONS

    def all_of(self, where: object, depth: int) -> Part:
        """Return the SQL condition that the metadata matches all entries of a filter.

        ``{"room": "kitchen", "floor": 2}`` has two entries. Both must match. ``depth`` is the nesting depth of this filter.
        """
        if depth > _MAX_DEPTH:
            raise InvalidInput(f"The filter is nested too deeply; the limit is {_MAX_DEPTH} levels.")
        if not isinstance(where, Mapping):
            raise InvalidInput(f'A filter is an object such as {{"room": "kitchen"}}, not {type(where).__name__}.')
        return _joined([self._part(name, wanted, depth) for name, wanted in where.items()], "AND", empty="1 = 1")

    def _part(self, name: object, wanted: object, depth: int) -> Part:
        if not isinstance(name, str):
            raise InvalidInput(f"The names in a filter are text, not {type(name).__name__}.")
        if name in ("$and", "$or"):
            if not isinstance(wanted, list | tuple) or not wanted:
                raise InvalidInput(f"{name} needs a list of at least one filter.")
            return _joined([self.all_of(each, depth + 1) for each in wanted], name[1:].upper())
        if name == "$not":
            return _negated(self.all_of(wanted, depth + 1))
        if _OPERATOR.fullmatch(name):
            raise InvalidInput(
                f"Unknown operator {name!r}. Around filters, use one of {', '.join(_LOGIC)}; for an entry, "
                f'write {{"name": {{"{name}": ...}}}} with one of {", ".join(_COMPARISONS)}.'
            )
        return self._entry(storable(name), wanted, depth)

    def _entry(self, name: str, wanted: object, depth: int) -> Part:
        """Return the SQL condition on the metadata entry ``name``.

        ``wanted`` maps operators to values. A list without an operator means ``$in``, and any other value means ``$eq``.
        ``depth`` is the nesting depth of the filter.
        """
        if isinstance(wanted, Mapping) and any(isinstance(key, str) and key.startswith("$") for key in wanted):
            return _joined([self._comparison(name, key, value, depth) for key, value in wanted.items()], "AND")
        return self._comparison(name, "$in" if isinstance(wanted, _LISTS) else "$eq", wanted, depth)

    def _comparison(self, name: str, operator: object, value: object, depth: int) -> Part:
        self._left -= 1
        if self._left < 0:
            raise InvalidInput(f"The filter has more than {_MAX_CONDITIONS} comparisons. Use $in for long lists of values.")
        if operator in ("$ne", "$nin"):
            return _negated(self._comparison(name, "$eq" if operator == "$ne" else "$in", value, depth))
        if operator == "$not":
            if not isinstance(value, Mapping) or depth >= _MAX_DEPTH:
                raise InvalidInput(f'$not for metadata {name!r} needs comparisons, such as {{"$gt": 3}}.')
            return _negated(self._entry(name, value, depth + 1))
        if operator in _ORDER:
            return self._ordered(name, str(operator), value)
        translate = {"$eq": self._is, "$in": self._is_in, "$exists": self._exists, "$contains": self._contains}.get(str(operator))
        if translate is None:
            raise InvalidInput(f"Unknown comparison {operator!r} for metadata {name!r}. Use one of {', '.join(_COMPARISONS)}.")
        return translate(name, value)

    def _is(self, name: str, value: object) -> Part:
        return self._equals(name, [value])

    def _is_in(self, name: str, values: object) -> Part:
        if not isinstance(values, _LISTS):
            raise InvalidInput(f"$in and $nin for metadata {name!r} need a list of values, not {type(values).__name__}.")
        return self._equals(name, list(values))

    def _exists(self, name: str, value: object) -> Part:
        if not isinstance(value, bool):
            raise InvalidInput(f"$exists for metadata {name!r} needs true or false, not {value!r}.")
        found = _at(name, self._dialect, self._dialect.metadata_exists)
        return found if value else _negated(found)

    def _equals(self, name: str, values: Sequence[object]) -> Part:
        dialect = self._dialect
        cleaned = [clean_value(name, value) for value in values]
        found = _at(name, dialect, lambda path: dialect.metadata_any(path, lambda entry: _is_one_of(dialect, entry, cleaned)))
        return _joined([found, _negated(_at(name, dialect, dialect.metadata_exists))], "OR") if None in cleaned else found

    def _ordered(self, name: str, operator: str, value: object) -> Part:
        if not isinstance(value, str | int | float):
            raise InvalidInput(f"{operator} for metadata {name!r} needs text, a number or a boolean, not {type(value).__name__}.")
        dialect, cleaned = self._dialect, clean_value(name, value)
        return _at(
            name,
            dialect,
            lambda path: dialect.metadata_any(path, lambda entry: dialect.entry_compares(entry, _ORDER[operator], cleaned)),
        )

    def _contains(self, name: str, value: object) -> Part:
        """Return the SQL condition that an entry contains ``value``. The entry can be a list or a string."""
        dialect, cleaned = self._dialect, clean_value(name, value)

        def within(path: Sequence[str]) -> Part:
            element = dialect.metadata_any(path, lambda entry: _is_one_of(dialect, entry, [cleaned]), of="elements")
            if not isinstance(cleaned, str):
                return element
            text = dialect.metadata_any(path, lambda entry: dialect.entry_has_text(entry, cleaned), of="entry")
            return _joined([element, text], "OR")

        return _at(name, dialect, within)


def _at(name: str, dialect: SQLDialect, condition: Callable[[Sequence[str]], Part]) -> Part:
    """Return the SQL condition that the metadata entry ``name`` fulfills ``condition``.

    ``condition`` is a function: it gets the path of an entry and returns the SQL condition on this entry. A name with dots is
    a path: ``a.b`` means the entry ``b`` of the object ``a``. If a row has an entry that is itself named ``a.b``, that entry
    is used instead.
    """
    whole = condition([name])
    if "." not in name:
        return whole
    exists, nested = dialect.metadata_exists([name]), condition(name.split("."))
    return f"CASE WHEN {exists[0]} THEN {whole[0]} ELSE {nested[0]} END", *exists[1:], *whole[1:], *nested[1:]


def _is_one_of(dialect: SQLDialect, entry: str, values: Collection[Any]) -> Part:
    """Return the SQL condition that an entry equals one of the values. An entry never equals a value of another JSON type."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    objects = [dump(value) for value in values if isinstance(value, Mapping | list)]
    parts = [
        dialect.entry_is_text(entry, [value for value in values if isinstance(value, str)]),
        dialect.entry_is_number(entry, numbers),
        *(dialect.entry_is_literal(entry, value) for value in (None, True, False) if any(each is value for each in values)),
        dialect.entry_is_json(entry, objects),
    ]
    return _joined([part for part in parts if part is not None], "OR", empty="1 = 0")


def _joined(parts: Sequence[Part], word: str, *, empty: str = "1 = 0") -> Part:
    if len(parts) == 1:
        return parts[0]
    sql = f" {word} ".join(f"({part[0]})" for part in parts) or empty
    return f"({sql})", *(value for part in parts for value in part[1:])


def _negated(part: Part) -> Part:
    return f"NOT ({part[0]})", *part[1:]
