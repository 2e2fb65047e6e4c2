"""Translate PostgreSQL's errors into Holdfast's. The messages say what to do, and never contain the database address."""

import contextlib
import re
from collections.abc import Iterator

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from holdfast.errors import HoldfastError, InvalidInput, StoreBusy, StoreClosed, StoreCorrupt, StoreError, StoreFull
from holdfast.runtime import forks


class ConnectionLost(StoreError):
    """The connection broke. The current transaction was not stored."""


def redact_address(url: str) -> str:
    """Return an address that is safe to display: without password, keys and options."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "postgresql://"
    user, host, port = (str(parts[name]) if parts.get(name) else "" for name in ("user", "host", "port"))
    shown = f"{user}@" * bool(user) + ("" if host.startswith("/") else host) + f":{port}" * bool(port)
    return f"postgresql://{shown}/{parts.get('dbname') or ''}" + (f"?host={host}" if host.startswith("/") else "")


def is_lost(error: psycopg.Error, raw: "psycopg.Connection[tuple[object, ...]] | None") -> bool:
    """Return True if an error means that the connection to the server is broken.

    ``raw`` is the connection on which the error occurred, or None if there was no connection yet.
    """
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and (raw is None or raw.closed or raw.broken)


NAME = "The PostgreSQL store"
"""Name of the store in error messages. It reveals no address, user or host, because messages can reach any user."""
_NOTHING = "Nothing was stored"
_TRANSLATIONS: tuple[tuple[tuple[type[Exception], ...], type[HoldfastError], str], ...] = (
    (
        (PoolTimeout, TooManyRequests),
        StoreBusy,
        f"has no free connection or cannot be reached: {{detail}}. {_NOTHING}; try again",
    ),
    ((PoolClosed,), StoreClosed, "has been closed"),
    (
        (
            errors.LockNotAvailable,
            errors.DeadlockDetected,
            errors.SerializationFailure,
            errors.QueryCanceled,
            errors.TooManyConnections,
        ),
        StoreBusy,
        f"is busy: {{detail}}. {_NOTHING}; try again",
    ),
    ((errors.UniqueViolation,), StoreError, f"already has this row: {{detail}}. {_NOTHING}"),
    ((errors.DataCorrupted, errors.IndexCorrupted), StoreCorrupt, "is damaged: {detail}. Restore a backup"),
    ((errors.DiskFull,), StoreFull, f"has no disk space left. {_NOTHING}; free some space and retry"),
    ((psycopg.DataError,), InvalidInput, f"rejected a value: {{detail}}. {_NOTHING}"),
    ((errors.InsufficientPrivilege,), StoreError, "denied access: {detail}. The user must own the tables; see docs/scale.md"),
    ((psycopg.OperationalError, psycopg.InterfaceError), ConnectionLost, f"cannot be reached: {{detail}}. {_NOTHING}"),
    ((psycopg.Error,), StoreError, "reported an error: {detail}"),
)
"""Rows of (psycopg errors, error to raise, message). The first row that matches an error is used."""
_CONNECTING = re.compile(
    r'(?:connection failed: )?connection to server (?:at|on socket) "[^"]*"(?: \([^)]*\))?(?:, port \d+)? failed: '
)
_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Context manager: raise PostgreSQL's errors as Holdfast errors. The process cannot fork inside it."""
    try:
        with forks.fork_guard:
            yield
    except psycopg.Error as error:
        kind, text = next((kind, text) for causes, kind, text in _TRANSLATIONS if isinstance(error, causes))
        raise kind(f"{NAME} {text.format(detail=_detail(error))}.") from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"A value cannot be encoded as UTF-8: {error}. {_NOTHING}; correct the text and retry.") from error


def _detail(error: psycopg.Error) -> str:
    """Return a short description of an error: the first line of the server's message.

    Further lines are left out, because they may quote stored values. Errors that the client library raises have no server
    message. Their text quotes the host, port, user and database, so quoted parts are replaced.
    """
    if error.diag.message_primary:
        return error.diag.message_primary.rstrip(".")
    first = _CONNECTING.sub("", str(error).partition("\n")[0])
    return _QUOTED.sub("...", first).rstrip(".") or type(error).__name__
