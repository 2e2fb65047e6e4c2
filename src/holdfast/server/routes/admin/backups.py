"""Routes that write and list backups of the store."""

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, unquote, urlsplit

from fastapi import APIRouter
from pydantic import Field

from holdfast.errors import InvalidInput
from holdfast.forgetting.records import Registry
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Listed, Model
from holdfast.server.caller import Calling, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.types.translatable import translatable

router = APIRouter(prefix="/v1/backups", tags=["server"], route_class=Route)
_FOLDER = "backups"


class Backup(Model):
    """A copy of the store."""

    path: Annotated[str, Field(examples=["/var/lib/holdfast/backups/memory-20260301T120000Z.db"])]
    """The file on the server's machine."""
    exists: bool
    """False if the file was moved or deleted. Erasures cannot reach such a copy."""
    bytes: int | None = None
    """The size of the file in bytes, or null if it does not exist."""
    at: datetime | None = None
    """The time the file was last written, or null if it does not exist. An erasure also changes the backups."""


class Backups(Listed[Backup]):
    """The known backups of the store."""

    dump: Annotated[
        str | None, Field(examples=["pg_dump --format=custom --schema=holdfast --file=holdfast.dump -h db holdfast"])
    ] = None
    """The command that backs up a PostgreSQL store, without its password. Null for a store in a file."""


@router.get("", operation_id="list_backups", responses=problems(), openapi_extra=needs("admin"))
def backups(caller: Calling) -> Backups:
    """List backups.

    Returns all copies that Holdfast has made of the store, newest first. The key must be an admin key of the operator.
    """
    caller.operate()
    store = services(caller.memory).store
    if "://" in store.location:
        return Backups(items=[], dump=_dump(store.location))
    known = dict.fromkeys([*Registry(store.location).copies(), *map(Path, store.backups())])
    return Backups(items=[_described(path) for path in reversed(known)])


@router.post("", status_code=201, operation_id="create_backup", responses=problems(409), openapi_extra=needs("admin"))
def create(caller: Calling) -> Backup:
    """Write a backup.

    Writes a consistent copy of the store to the folder `backups` next to it. The store stays in use meanwhile. The copy
    contains the data of all tenants. The key must be an admin key of the operator.
    """
    caller.operate()
    memory = caller.memory
    location = services(memory).store.location
    if "://" in location:
        raise InvalidInput(
            translatable(
                "backup.postgres",
                "A PostgreSQL store is backed up with PostgreSQL's own tools. No backup was written. Run: {command}",
                command=_dump(location),
            )
        )
    store = Path(location)
    name = f"{store.stem}-{services(memory).clock.now():%Y%m%dT%H%M%SZ}"
    return _described(memory.backup(_free(store.parent / _FOLDER, name, store.suffix)))


def _dump(location: str) -> str:
    """Return the command that backs up a PostgreSQL store.

    The command contains no password: pg_dump reads it from PGPASSWORD or asks for it.
    """
    found = urlsplit(location)
    host = found.hostname or next(iter(parse_qs(found.query).get("host", [])), None)
    where = {"-h": host, "-p": found.port, "-U": found.username}
    parts = [f"{flag} {shlex.quote(str(value))}" for flag, value in where.items() if value]
    name = shlex.quote(unquote(found.path.lstrip("/")) or "holdfast")
    return " ".join(["pg_dump --format=custom --schema=holdfast --file=holdfast.dump", *parts, name])


def _free(folder: Path, name: str, suffix: str) -> Path:
    """Return the path for a new file in a folder. If the name is taken, a number is appended."""
    path, number = folder / f"{name}{suffix}", 2
    while path.exists():
        path, number = folder / f"{name}-{number}{suffix}", number + 1
    return path


def _described(path: Path) -> Backup:
    try:
        found = path.stat()
    except OSError:
        return Backup(path=str(path), exists=False)
    return Backup(path=str(path), exists=True, bytes=found.st_size, at=datetime.fromtimestamp(found.st_mtime, UTC))
