"""The PostgreSQL versions of SQL expressions, and the translation of statements that are shared with SQLite."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from holdfast.stores.sql.connection import Candidates, Connection, Part, fetch

_OUTSIDE_QUOTES = re.compile(r"('(?:[^']|'')*')")
_MARK = re.compile(r"\?(\d*)")
_RESERVED = re.compile(r'(?<![\w"])(user|window)(?![\w"])')
_NO_VALUES = re.compile(r"\bIN \(\)")


@lru_cache(maxsize=4096)
def translate(sql: str) -> str:
    """Translate a statement that is shared with SQLite: number its parameters, and quote columns that are reserved words."""
    parts = _OUTSIDE_QUOTES.split(sql)
    count = 0

    def number(mark: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${mark[1] or count}"

    for place in range(0, len(parts), 2):  # odd parts are quoted strings
        plain = _MARK.sub(number, parts[place]).replace("CROSS JOIN", "JOIN")
        parts[place] = _RESERVED.sub(r'"\1"', _NO_VALUES.sub("IN (NULL)", plain))
    return "".join(parts)


class PostgresDialect:
    """The PostgreSQL versions of SQL expressions that SQLite writes differently."""

    no_limit: int | None = None

    def next_numbers(self, connection: Connection, name: str, count: int) -> Sequence[int]:
        """Return the next ``count`` numbers of the sequence ``name``.

        Numbers are never reused. After a rollback, they stay unused.
        """
        rows = fetch(connection, f"SELECT nextval('{name}_numbers') FROM generate_series(1, ?)", (count,))
        return sorted(row[0] for row in rows)

    def among(self, column: str, values: Sequence[object]) -> Part:
        """Return the SQL condition that a column equals one of the values. The values are bound as one array."""
        return f"{column} = ANY(?)", list(values)

    def key_equals(self, key: str) -> Part:
        """Return the SQL condition that a memory has this key. It uses an index of key hashes, because keys may be long."""
        return "hashtextextended(key, 0) = hashtextextended(?::text, 0) AND key = ?", key, key

    def metadata_exists(self, path: Sequence[str]) -> Part:
        """Return the SQL condition that the metadata has an entry at a path, which may lead through nested objects."""
        return f"({_entry_at(path)}) IS NOT NULL", *path

    def metadata_any(self, path: Sequence[str], condition: Callable[[str], Part], *, of: Candidates = "both") -> Part:
        """Return the SQL condition that the metadata entry at a path fulfills ``condition``.

        ``condition`` is a function: it gets the SQL name of a value and returns the SQL condition on this value. ``of`` says
        which values are tested: the entry itself, the elements of an entry that is a list, or both. It is enough that one of
        the tested values fulfills the condition.
        """
        sql, *values = condition("entry.value")
        elements = "json_array_elements(CASE WHEN json_typeof(found.value) = 'array' THEN found.value ELSE '[]'::json END)"
        chosen = {"entry": "SELECT found.value", "elements": f"SELECT {elements}"}
        both = f"{chosen['entry']} UNION ALL {chosen['elements']}"
        entries = f"(SELECT {_entry_at(path)} AS value) AS found, LATERAL ({chosen.get(of, both)}) AS entry (value)"
        return f"EXISTS (SELECT 1 FROM {entries} WHERE entry.value IS NOT NULL AND ({sql}))", *path, *values

    def entry_is_text(self, entry: str, values: Sequence[str]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of the strings in ``values``.

        Return None if ``values`` is empty.
        """
        if not values:
            return None
        return _typed(entry, "string", f"({entry} #>> '{{}}') COLLATE \"C\" = ANY(?::text[])"), list(values)

    def entry_is_number(self, entry: str, values: Sequence[float]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of the numbers in ``values``.

        Return None if ``values`` is empty.
        """
        # Integers of any size compare exactly. Floats compare as double precision, like in Python.
        parts: list[tuple[str, list[str]]] = []
        for number, kind in (("numeric", int), ("float8", float)):
            if some := [str(value) for value in values if isinstance(value, kind)]:
                sql = f"({entry} #>> '{{}}')::{number} = ANY(?::text[]::{number}[])"
                parts.append((_typed(entry, "number", sql), some))
        return (" OR ".join(sql for sql, _ in parts), *(bound for _, bound in parts)) if parts else None

    def entry_is_literal(self, entry: str, value: bool | None) -> Part:  # noqa: FBT001  (one of three JSON values)
        """Return the SQL condition that a metadata entry equals ``value``: true, false, or JSON null for None."""
        if value is None:
            return (f"json_typeof({entry}) = 'null'",)
        return _typed(entry, "boolean", f"({entry} #>> '{{}}') = ?::text"), str(value).lower()

    def entry_is_json(self, entry: str, values: Sequence[str]) -> Part | None:
        """Return the SQL condition that a metadata entry is one of these objects or lists, given as canonical JSON.

        Return None if ``values`` is empty.
        """
        if not values:
            return None
        return f"json_typeof({entry}) IN ('object', 'array') AND {entry}::text = ANY(?::text[])", list(values)

    def entry_compares(self, entry: str, operator: str, value: str | float) -> Part:
        """Return the SQL condition that compares a metadata entry with a value. ``operator`` is ``<``, ``<=``, ``>`` or ``>=``.

        The condition is false if the entry and the value have different JSON types.
        """
        text = f"({entry} #>> '{{}}')"
        if isinstance(value, str):
            return _typed(entry, "string", f'{text} COLLATE "C" {operator} ?::text'), value
        if isinstance(value, bool):
            return _typed(entry, "boolean", f"{text} {operator} ?::text"), str(value).lower()
        number = "numeric" if isinstance(value, int) else "float8"
        return _typed(entry, "number", f"{text}::{number} {operator} ?::text::{number}"), str(value)

    def entry_has_text(self, entry: str, part: str) -> Part:
        """Return the SQL condition that a metadata entry is a string that contains ``part``."""
        return _typed(entry, "string", f"position(?::text IN ({entry} #>> '{{}}')) > 0"), part

    def in_payload(self, part: str) -> str:
        """Return the SQL expression for a field of a job's JSON payload, such as ``user`` or ``session``."""
        return f"(payload::json ->> '{part}')"

    def day_of(self, column: str) -> str:
        """Return the SQL expression for the UTC day of a timestamp column, as YYYY-MM-DD."""
        return f"to_char(to_timestamp({column} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"

    def is_shared_with(self) -> str:
        """Return the SQL condition that an app shares its memories with another app. The other app is bound as a parameter.

        The condition is true if the app's ``sharing`` list contains ``*`` or the other app.
        """
        return "EXISTS (SELECT 1 FROM json_array_elements_text(sharing::json) AS one (name) WHERE one.name IN (?, '*'))"


def _entry_at(path: Sequence[str]) -> str:
    """Return the SQL expression for the metadata entry at a path. Its value is NULL if there is no such entry."""
    return "metadata::json" + " -> ?::text" * len(path)


def _typed(entry: str, kind: str, condition: str) -> str:
    """Return the SQL condition that a metadata entry has the JSON type ``kind`` and fulfills ``condition``.

    ``condition`` can contain a cast that fails for entries of another type. CASE makes PostgreSQL check the type first. AND would
    not guarantee this order.
    """
    return f"CASE WHEN json_typeof({entry}) = '{kind}' THEN {condition} ELSE false END"


POSTGRES = PostgresDialect()
