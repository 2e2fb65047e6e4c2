"""PostgreSQL's errors as ours, which say what to do and never name an address."""

import contextlib
import re
from collections.abc import Iterator

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from holdfast.errors import HoldfastError, InvalidInput, StoreBusy, StoreClosed, StoreCorrupt, StoreError
from holdfast.runtime import forks


class ConnectionLost(StoreError):
    """The connection broke; what was under way was not stored."""


def place_of(url: str) -> str:
    """Return an address as people may see it: without password, keys and options."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "postgresql://"
    user, host, port = (str(parts[name]) if parts.get(name) else "" for name in ("user", "host", "port"))
    shown = f"{user}@" * bool(user) + ("" if host.startswith("/") else host) + f":{port}" * bool(port)
    return f"postgresql://{shown}/{parts.get('dbname') or ''}" + (f"?host={host}" if host.startswith("/") else "")


def is_lost(error: psycopg.Error, raw: "psycopg.Connection[tuple[object, ...]] | None") -> bool:
    """Tell whether an error means that the connection is gone."""
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and (raw is None or raw.closed or raw.broken)


NAME = "The PostgreSQL store"
"""What errors call a database. Its address, user and host are for its operator alone, and errors reach others."""
_NOTHING = "Nothing of this was stored"
_OURS: tuple[tuple[tuple[type[Exception], ...], type[HoldfastError], str], ...] = (
    ((PoolTimeout, TooManyRequests), StoreBusy, "has no free connection, or cannot be reached: {told}"),
    ((PoolClosed,), StoreClosed, "has been closed"),
    (
        (
            errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure, errors.QueryCanceled,
            errors.TooManyConnections,
        ),
        StoreBusy,
        f"is busy: {{told}}. {_NOTHING}; try again",
    ),
    ((errors.UniqueViolation,), StoreError, f"has this row already: {{told}}. {_NOTHING}"),
    ((errors.DataCorrupted, errors.IndexCorrupted), StoreCorrupt, "is damaged: {told}. Restore a backup"),
    ((errors.DiskFull,), StoreError, f"has no disk space left. {_NOTHING}; free some space and retry"),
    ((psycopg.DataError,), InvalidInput, "refused a value: {told}"),
    ((errors.InsufficientPrivilege,), StoreError, "denied access: {told}. The user must own the tables; see docs/scale.md"),
    ((psycopg.OperationalError, psycopg.InterfaceError), ConnectionLost, f"cannot be reached: {{told}}. {_NOTHING}"),
    ((psycopg.Error,), StoreError, "reported an error: {told}"),
)  # fmt: skip
"""The first entry that fits decides which error of ours is raised, and its text."""
_CONNECTING = re.compile(
    r'(?:connection failed: )?connection to server (?:at|on socket) "[^"]*"(?: \([^)]*\))?(?:, port \d+)? failed: '
)
_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn PostgreSQL's errors into ours; no fork happens meanwhile."""
    try:
        with forks.fork_guard:
            yield
    except psycopg.Error as error:
        ours, text = next((ours, text) for theirs, ours, text in _OURS if isinstance(error, theirs))
        raise ours(f"{NAME} {text.format(told=_told(error))}.") from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"A value cannot be stored or looked for: {error}.") from error


def _told(error: psycopg.Error) -> str:
    """Return the first line of the server's message; further lines may quote values.

    An error without a server's diagnosis comes from the client library, which names host, port, user and database in quotes.
    """
    if error.diag.message_primary:
        return error.diag.message_primary.rstrip(".")
    first = _CONNECTING.sub("", str(error).partition("\n")[0])
    return _QUOTED.sub("...", first).rstrip(".") or type(error).__name__
