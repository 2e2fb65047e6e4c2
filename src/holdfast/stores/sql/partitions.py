"""Find and create partitions. A partition has a number and contains the items of one scope and one space.

A search first gets the numbers of the partitions that the reader may see. It then reads only the rows of these
partitions.
"""

from collections.abc import Collection, Mapping, Sequence

from holdfast.protocols import Space
from holdfast.stores.sql.connection import Connection, cached_fetch, fetch_value
from holdfast.stores.sql.rows import marks, to_scope
from holdfast.types import Scope


def visible(
    connection: Connection, reader: Scope, spaces: Collection[Space], *, apps: Collection[str] | None = None
) -> dict[int, Space]:
    """Return the partitions that a reader may see, each with its space.

    A reader may see a partition if each part of the partition's scope (user, app, agent) is shared or equals that part of the
    reader's scope. The reader also sees the memories, but not the messages, of the apps in ``reader.also_apps``. With
    ``apps``, return only the partitions of these apps.
    """
    key = ("visible", reader, tuple(spaces), None if apps is None else frozenset(apps))
    return cached_fetch(connection, key, lambda: _visible(connection, reader, spaces, apps))


def _visible(connection: Connection, reader: Scope, spaces: Collection[Space], apps: Collection[str] | None) -> dict[int, Space]:
    users, own, agents = (sorted({"", part or ""}) for part in (reader.user, reader.app, reader.agent))
    seen = sorted({*own, *reader.also_apps})
    if apps is not None:
        own, seen = sorted({*own} & {*apps}), sorted({*seen} & {*apps})
    sql = (
        f"SELECT partition, space FROM partitions WHERE tenant = ? AND user IN ({marks(users)}) AND app IN ({marks(seen)}) "
        f"AND agent IN ({marks(agents)}) AND space IN ({marks(list(spaces))})"
    )
    values = [reader.tenant, *users, *seen, *agents, *spaces]
    if reader.also_apps:
        sql += f" AND (space <> 'message' OR app IN ({marks(own)}))"
        values += own
    return dict(connection.execute(sql, values))


def owned(connection: Connection, tenant: str, owner: Mapping[str, str], spaces: Collection[Space]) -> list[int]:
    """Return the partitions whose scope matches ``owner``.

    ``owner`` names some parts of a scope, such as the user. The other parts may have any value.
    """
    named = " ".join(f"AND {part} = ?" for part in _parts(owner))
    sql = f"SELECT partition FROM partitions WHERE tenant = ? {named} AND space IN ({marks(list(spaces))})"
    values = [owner[part] for part in _parts(owner)]
    return [row[0] for row in connection.execute(sql, (tenant, *values, *spaces))]


def exact(connection: Connection, scope: Scope, space: Space) -> int | None:
    """Return the partition with exactly this scope and space, or None if there is none."""
    found: int | None = fetch_value(
        connection,
        "SELECT partition FROM partitions WHERE tenant = ? AND user = ? AND app = ? AND agent = ? AND space = ?",
        (scope.tenant, scope.user or "", scope.app or "", scope.agent or "", space),
    )
    return found


def ensure(connection: Connection, scope: Scope, space: Space) -> int:
    """Return the partition of a scope and space, creating it if needed. Call this inside a write transaction."""
    found = exact(connection, scope, space)
    if found is not None:
        return found
    number = next_number(connection, "partition")
    connection.execute(
        "INSERT INTO partitions (tenant, partition, app, user, agent, space) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (tenant, user, app, agent, space) DO NOTHING",
        (scope.tenant, number, scope.app or "", scope.user or "", scope.agent or "", space),
    )
    created = exact(connection, scope, space)  # another process may have inserted it first
    assert created is not None
    return created


def scopes_of(connection: Connection, tenant: str, numbers: Collection[int]) -> dict[int, Scope]:
    """Return the scope of each partition. ``numbers`` are the numbers of the partitions."""
    wanted = frozenset(numbers)

    def read() -> dict[int, Scope]:
        sql = "SELECT partition, app, user, agent FROM partitions WHERE tenant = ? AND partition = ?"
        rows = connection.executemany(sql, [(tenant, number) for number in wanted])
        return {row[0]: to_scope(tenant, row[1], row[2], row[3]) for row in rows}

    return cached_fetch(connection, ("scopes", tenant, wanted), read)


def next_number(connection: Connection, name: str) -> int:
    """Return the next number of the sequence ``name``. Numbers are never reused, even if the row that used one was removed."""
    return next_numbers(connection, name, 1)[0]


def next_numbers(connection: Connection, name: str, count: int) -> Sequence[int]:
    """Return the next ``count`` numbers of the sequence ``name``, in ascending order. There may be gaps between them."""
    return connection.dialect.next_numbers(connection, name, count)


def _parts(owner: Mapping[str, str]) -> list[str]:
    """Return the parts of a scope (app, user, agent) that ``owner`` names. Raise ``KeyError`` if it names anything else."""
    unknown = set(owner) - {"app", "user", "agent"}
    if unknown:
        raise KeyError(f"not a part of a scope: {', '.join(sorted(unknown))}")
    return [part for part in ("app", "user", "agent") if part in owner]
