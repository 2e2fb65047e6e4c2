"""Route that imports a file of another program, with progress."""

import json
import logging
import queue
import re
import threading
import zipfile
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from holdfast.errors import Conflict, HoldfastError, InvalidInput, NotFound
from holdfast.importers.records import SkipReason
from holdfast.importers.run import ImportResult
from holdfast.importers.unpack import MAX_UNPACKED_BYTES
from holdfast.runtime.private_folders import private_folder
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model
from holdfast.server.api.sse import EventStream, event, stream_content
from holdfast.server.caller import Calling, Whose, needs
from holdfast.server.error_handlers import problem_for
from holdfast.server.routes.idempotency import Route
from holdfast.server.tenants import EnginePool
from holdfast.types.translatable import translatable, without

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)
log = logging.getLogger("holdfast.server")
_UNSAFE = re.compile(r"[^\w. ()-]+")
_RUNNING = threading.Lock()
_Format = Literal[
    "holdfast",
    "chatgpt",
    "claude",
    "claude-code",
    "mem0",
    "mcp-memory",
    "letta",
    "rumi",
    "rostro",
    "lobug",
    "apps",
    "chroma",
    "pdf",
    "pasted",
    "markdown",
    "text",
]
_FILE = {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


class ImportCounts(Model):
    """Counts of the records of one type in an import, such as memories or messages, by result."""

    found: int
    """The number of records in the file."""
    imported: int
    """The number of records that were stored."""
    updated: int
    """The number of memories whose file was moved or renamed, or got other tags or properties."""
    known: int
    """The number of records that the store has already."""
    repeated: int
    """The number of memories that say the same as another memory."""
    expired: int
    """The number of records whose lifetime is over."""
    withheld: int
    """The number of messages that the user asked not to keep. They are not stored."""
    empty: int
    """The number of records without text."""
    redacted: int
    """The number of stored records in which secrets were replaced."""


class SkippedFile(Model):
    """A file of a folder that was not imported."""

    file: Annotated[str, Field(examples=["Templates/daily.md"])]
    """The path of the file in the folder."""
    reason: SkipReason
    """Why the file was skipped. `template`: the file is a template for notes."""
    detail: str
    """How the template was recognized: a placeholder in the file, or the name of its folder."""


class FileWarning(Model):
    """A file that was imported without some of the properties at its top, because they are not valid YAML."""

    file: Annotated[str, Field(examples=["Home/Roses.md"])]
    """The path of the file in the folder."""
    detail: Annotated[str, Field(examples=["line 3: found unexpected end of stream"])]
    """The error in the properties."""


class ImportReport(Model):
    """The result of an import."""

    format: Annotated[str, Field(examples=["chatgpt"])]
    """The format of the file."""
    dry_run: bool
    """True if nothing was stored."""
    memories: ImportCounts
    """Counts of memories."""
    messages: ImportCounts
    """Counts of messages."""
    sessions: ImportCounts
    """Counts of sessions."""
    others: ImportCounts
    """Counts of the users, apps and jobs of an export of Holdfast."""
    learning: int
    """The number of imported sessions from which background work will learn."""
    skipped: list[SkippedFile]
    """The files that were not imported."""
    warnings: list[FileWarning]
    """The files that were imported without some of their properties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportQuery:
    """Query parameters of an import."""

    name: str
    format: str | None
    learn: int | None
    dry_run: bool
    stream: bool
    collection: str
    shared: bool


async def _import_query(
    *,
    name: Annotated[Name, Query(description="The name of the file. Its ending helps to recognize the format.")] = "upload",
    format: Annotated[_Format | None, Query(description="The format. By default, it is recognized.")] = None,
    learn: Annotated[int | None, Query(ge=0, le=2**31, description="Learn only from the newest N sessions.")] = None,
    dry_run: Annotated[bool, Query(description="Only check and count; store nothing.")] = False,
    stream: Annotated[bool, Query(description="Stream the progress as events.")] = False,
    collection: Annotated[Name, Query(description="The collection of a Chroma or Qdrant folder.")] = "memories",
    shared: Annotated[
        bool, Query(description="All users share what the file and the query name no user, app or agent for.")
    ] = False,
) -> ImportQuery:
    return ImportQuery(
        name=name, format=format, learn=learn, dry_run=dry_run, stream=stream, collection=collection, shared=shared
    )


Wanted: TypeAlias = Annotated[ImportQuery, Depends(_import_query)]
_EVENTS = {
    "description": "The result. With `stream`, events: `progress` with the numbers `done` and `total`, then `answer` or `error`.",
    "content": stream_content("progress", "answer", "error", example='event: progress\ndata: {"done":500,"total":1200}\n\n'),
}


@router.post(
    "/import",
    operation_id="import_file",
    response_model=ImportReport,
    responses={200: _EVENTS, **problems(409)},
    openapi_extra={**needs("admin"), "requestBody": _FILE},
)
async def import_file(
    caller: Calling,
    request: Request,
    whose: Whose,
    wanted: Wanted,
) -> ImportReport | EventStream:
    """Import a file.

    Send the bytes of one file: an export of Holdfast or of another program, a document, or a zip archive of a folder. The
    whole file is checked first; if it is damaged, nothing is stored. A repeated import adds nothing twice. If the
    connection ends, the import continues.

    Name the user, app or agent that the file belongs to, unless the file names them itself. For data that all users share,
    set `shared`. The key must not be bound to a user, app or agent.
    """
    parts = caller.may("admin", **whose.parts, whole=True)
    is_json = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    job = _Job(caller.pool, caller.principal.tenant, await request.body(), wanted.name, is_json=is_json)
    chosen = asdict(wanted)
    job.start({**parts, **{name: chosen[name] for name in ("format", "learn", "dry_run", "collection", "shared")}})
    # Wait for the first event before the stream starts: an error until then gets its HTTP status instead of an event.
    first = await run_in_threadpool(job.next)
    if isinstance(first, HoldfastError):
        raise first
    if wanted.stream:
        return EventStream(_events(job, first))
    while not isinstance(first, ImportReport):
        first = await run_in_threadpool(job.next)
        if isinstance(first, HoldfastError):
            raise first
    return first


async def _events(job: "_Job", first: Any) -> AsyncGenerator[bytes, None]:
    step = first
    while True:
        if isinstance(step, ImportReport):
            yield event("answer", step.model_dump(mode="json"))
            return
        if isinstance(step, HoldfastError):
            yield event("error", problem_for(step).content)
            return
        yield event("progress", {"done": step[0], "total": step[1]})
        step = await run_in_threadpool(job.next)


class _Job:
    """An import in its own thread, with its own lease of the engine. It continues if the client disconnects."""

    def __init__(self, pool: EnginePool, tenant: str, content: bytes, name: str, *, is_json: bool) -> None:
        self._pool = pool
        self._tenant = tenant
        self._content = content
        self._is_json = is_json
        self._name = _UNSAFE.sub("-", Path(name.replace("\\", "/")).name).strip(" .-")[-120:] or "upload"
        self._steps: queue.Queue[tuple[int, int] | ImportReport | HoldfastError] = queue.Queue()

    def start(self, options: dict[str, Any]) -> None:
        """Start the import with these arguments of ``import_from``.

        Raise ``InvalidInput`` if the file is empty, and ``Conflict`` if another import is running.
        """
        if not self._content:
            raise InvalidInput(
                translatable(
                    "import.empty", "The file is empty. Nothing was imported. Send the bytes of a file as the request body."
                )
            )
        if not _RUNNING.acquire(blocking=False):
            raise Conflict(
                translatable("import.running", "Another import is running. Nothing was imported. Retry when it has ended.")
            )
        threading.Thread(target=self._run, args=(options,), name="holdfast-import", daemon=True).start()

    def next(self) -> tuple[int, int] | ImportReport | HoldfastError:
        """Wait for the next report of the import and return it: the progress, the result, or the error that ended the import.

        The progress is a pair: the amount of work done so far, and the total amount.
        """
        return self._steps.get()

    def _run(self, options: dict[str, Any]) -> None:
        try:
            self._steps.put(self._imported(options))
        except HoldfastError as error:
            self._steps.put(error)
        except Exception as error:  # the edge: a file can be damaged in a way that no reader foresees
            log.exception("An import failed")
            kind = type(error).__name__
            problem = translatable(
                "import.failed",
                "The file could not be read ({error}). Nothing is stored twice if you import it again after repairing it.",
                error=kind,
            )
            self._steps.put(InvalidInput(problem))
        finally:
            _RUNNING.release()

    def _imported(self, options: dict[str, Any]) -> ImportReport:
        if self._is_json:
            _check_json(self._content)
        with private_folder() as folder, self._pool.lease(self._tenant) as memory:
            file = folder / self._name
            file.write_bytes(self._content)
            self._content = b""
            _check_size(file)
            try:
                result = memory.import_from(file, progress=lambda done, total: self._steps.put((done, total)), **options)
            except (InvalidInput, NotFound) as error:  # the client knows the file by its name, not by its place on the server
                raise type(error)(without(without(str(error), f"{folder}/"), f"{folder}\\")) from error
        return _report(result)


def _check_json(content: bytes) -> None:
    """Raise ``InvalidInput`` if the body of a request is not a JSON export.

    The whole body, or its first line, must be a JSON object or list. A JSON string that contains an object is accepted, too.
    An export of Holdfast has one JSON object per line.
    """
    text = content.decode("utf-8-sig", "replace").strip()
    for part in (text, text.partition("\n")[0]):
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict | list) or (isinstance(found, str) and found.lstrip().startswith("{")):
            return
    raise InvalidInput(
        translatable(
            "import.body_not_json",
            "The content type of the request is application/json, but the body is not a JSON export. Nothing was imported. Send the bytes "
            "of one file: an export of Holdfast or of another program. For other files, use the content type application/octet-stream.",
        )
    )


def _check_size(file: Path) -> None:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            size = sum(each.file_size for each in archive.infolist())
        if size > MAX_UNPACKED_BYTES:
            raise InvalidInput(
                translatable(
                    "import.too_large",
                    "The archive is larger than 1 GB when unpacked. Nothing was imported. Use `holdfast import FILE`.",
                )
            )


def _report(result: ImportResult) -> ImportReport:
    return ImportReport.model_validate(asdict(result))
