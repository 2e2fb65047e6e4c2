"""PostgreSQL's SQL dialect, and the translation of statements that both SQL stores share."""

import re
from collections.abc import Sequence
from functools import lru_cache

from holdfast.stores.sql.connection import Connection, Part, Primitive, fetch_value

_OUTSIDE_QUOTES = re.compile(r"('(?:[^']|'')*')")
_MARK = re.compile(r"\?(\d*)")
_RESERVED = re.compile(r'(?<![\w"])(user|window)(?![\w"])')
_NO_VALUES = re.compile(r"\bIN \(\)")


@lru_cache(maxsize=4096)
def translate(sql: str) -> str:
    """Translate a statement that both stores share: number its parameters, and quote columns that are reserved words."""
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
    """PostgreSQL's versions of the expressions that are written differently in SQLite."""

    no_limit: int | None = None

    def next_number(self, connection: Connection, name: str) -> int:
        """Return the next number of a sequence. Numbers are never reused; after a rollback, the number stays unused."""
        number: int = fetch_value(connection, f"SELECT nextval('{name}_numbers')")
        return number

    def among(self, column: str, values: Sequence[object]) -> Part:
        """Return the condition that a column equals one of the values. The values are bound as one array."""
        return f"{column} = ANY(?)", list(values)

    def metadata_entry(self, key: str, operator: str, value: Primitive) -> Part:
        """Return the condition that compares a metadata entry with a value. Entries of another JSON type do not match."""
        entry, text = "metadata::json -> ?::text", "(metadata::json ->> ?::text)"
        if value is None:
            return f"json_typeof({entry}) = 'null'", key
        if isinstance(value, bool):
            kind, sql, bound = "boolean", f"{text} {operator} ?::text", str(value).lower()
        elif isinstance(value, str):
            kind, sql, bound = "string", f'{text} COLLATE "C" {operator} ?::text', value
        else:
            # Integers of any size compare exactly. Floats compare as double precision, like in Python.
            number = "numeric" if isinstance(value, int) else "double precision"
            kind, sql, bound = "number", f"{text}::{number} {operator} ?::{number}", str(value)
        # CASE fixes the order: the planner may reorder conditions, and some casts fail on other types.
        return f"CASE WHEN json_typeof({entry}) = '{kind}' THEN {sql} ELSE false END", key, key, bound

    def in_payload(self, part: str) -> str:
        """Return the expression for a field of a job's JSON payload, such as ``user`` or ``session``."""
        return f"(payload::json ->> '{part}')"

    def day_of(self, column: str) -> str:
        """Return the expression for the UTC day of a timestamp column, as YYYY-MM-DD."""
        return f"to_char(to_timestamp({column} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"

    def is_shared_with(self) -> str:
        """Return the condition that an app's ``sharing`` list contains ``*`` or the app that is bound as the parameter."""
        return "EXISTS (SELECT 1 FROM json_array_elements_text(sharing::json) AS one (name) WHERE one.name IN (?, '*'))"


POSTGRES = PostgresDialect()
