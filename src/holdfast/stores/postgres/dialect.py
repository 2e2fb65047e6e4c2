"""How PostgreSQL spells what SQLite spells differently, and how the common statements are put into its words."""

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
    """Return a common statement as PostgreSQL takes it: numbered parameters, and columns named like keywords in quotes."""
    parts = _OUTSIDE_QUOTES.split(sql)
    given = 0

    def number(mark: re.Match[str]) -> str:
        nonlocal given
        given += 1
        return f"${mark[1] or given}"

    for place in range(0, len(parts), 2):  # every other part is a string
        plain = _MARK.sub(number, parts[place]).replace("CROSS JOIN", "JOIN")
        parts[place] = _RESERVED.sub(r'"\1"', _NO_VALUES.sub("IN (NULL)", plain))
    return "".join(parts)


class PostgresDialect:
    """PostgreSQL's spelling."""

    no_limit: int | None = None

    def next_number(self, connection: Connection, name: str) -> int:
        """Return a number that was never given before; one that a failed write took is never given at all."""
        number: int = fetch_value(connection, f"SELECT nextval('{name}_numbers')")
        return number

    def among(self, column: str, wanted: Sequence[object]) -> Part:
        """Return the condition that a column is one of these values, bound as one array."""
        return f"{column} = ANY(?)", list(wanted)

    def metadata_entry(self, key: str, operator: str, value: Primitive) -> Part:
        """Return the condition that an entry of the metadata compares with a value of the same JSON type."""
        entry, told = "metadata::json -> ?::text", "(metadata::json ->> ?::text)"
        if value is None:
            return f"json_typeof({entry}) = 'null'", key
        if isinstance(value, bool):
            kind, sql, bound = "boolean", f"{told} {operator} ?::text", str(value).lower()
        elif isinstance(value, str):
            kind, sql, bound = "string", f'{told} COLLATE "C" {operator} ?::text', value
        else:
            # Whole numbers of any size compare exactly; others as Python reads and writes them.
            number = "numeric" if isinstance(value, int) else "double precision"
            kind, sql, bound = "number", f"{told}::{number} {operator} ?::{number}", str(value)
        # CASE, since the planner may try conditions in any order and some casts fail on other types.
        return f"CASE WHEN json_typeof({entry}) = '{kind}' THEN {sql} ELSE false END", key, key, bound

    def in_payload(self, part: str) -> str:
        """Return what a job's payload says of a part of a scope, or of a session."""
        return f"(payload::json ->> '{part}')"

    def day_of(self, column: str) -> str:
        """Return the day, in UTC, of a time."""
        return f"to_char(to_timestamp({column} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"

    def is_shared_with(self) -> str:
        """Return the condition that an app's ``sharing`` holds one name, or all."""
        return "EXISTS (SELECT 1 FROM json_array_elements_text(sharing::json) AS one (name) WHERE one.name IN (?, '*'))"


POSTGRES = PostgresDialect()
