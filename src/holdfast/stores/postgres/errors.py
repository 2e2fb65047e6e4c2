"""PostgreSQL's errors as ours, which say what to do and never hold a password."""

import contextlib
from collections.abc import Iterator

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from holdfast import forks
from holdfast.errors import HoldfastError, InvalidInput, StoreBusy, StoreClosed, StoreCorrupt, StoreError


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


_NOTHING = "Nothing of this was stored"
_OURS: tuple[tuple[tuple[type[Exception], ...], type[HoldfastError], str], ...] = (
    ((PoolTimeout, TooManyRequests), StoreBusy, "no connection came free, or the server cannot be reached: {told}"),
    ((PoolClosed,), StoreClosed, "has been closed"),
    (
        (
            errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure, errors.QueryCanceled,
            errors.TooManyConnections,
        ),
        StoreBusy,
        f"{{told}}. {_NOTHING}; try again",
    ),
    ((errors.UniqueViolation,), StoreError, f"the same was stored before: {{told}}. {_NOTHING}"),
    ((errors.DataCorrupted, errors.IndexCorrupted), StoreCorrupt, "damaged: {told}. Restore a backup"),
    ((errors.DiskFull,), StoreError, f"the disk is full. {_NOTHING}; free space and repeat it"),
    ((psycopg.DataError,), InvalidInput, "a value cannot be stored or looked for: {told}"),
    ((errors.InsufficientPrivilege,), StoreError, "{told}. The user needs to own the tables; see docs/scale.md"),
    ((psycopg.OperationalError, psycopg.InterfaceError), ConnectionLost, f"cannot be reached: {{told}}. {_NOTHING}"),
    ((psycopg.Error,), StoreError, "{told}"),
)  # fmt: skip
"""The first that fits tells what an error becomes, and what it says."""


@contextlib.contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into ours; no fork happens meanwhile."""
    try:
        with forks.inside:
            yield
    except psycopg.Error as error:
        ours, text = next((ours, text) for theirs, ours, text in _OURS if isinstance(error, theirs))
        raise ours(f"{place}: {text.format(told=_told(error))}.") from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"A value cannot be stored or looked for: {error}.") from error


def _told(error: psycopg.Error) -> str:
    """Return the first line of what the server said: the rest may quote values."""
    return (error.diag.message_primary or str(error).partition("\n")[0] or type(error).__name__).rstrip(".")
