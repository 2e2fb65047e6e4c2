"""Routes that export data as a stream."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Path, Query
from starlette.responses import StreamingResponse

from holdfast.exporters.save import EXTENSIONS, MEDIA_TYPES, export_parts
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Caller, Calling, Whose, needs
from holdfast.server.routes.idempotency import Route
from holdfast.services import services

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)
_Session = Annotated[Name, Path(description="The id of the session.")]
_Format: TypeAlias = Annotated[
    Literal["jsonl", "markdown", "pam"],
    Query(
        description="`jsonl` can be imported without loss, `markdown` is for people, `pam` is Portable AI Memory in a zip file."
    ),
]
_EXAMPLES = {
    "jsonl": '{"type":"holdfast-export","version":1,"preset":"default","selection":{"user":"ana"}}\n',
    "markdown": "# Memories and conversations\n",
}


class ExportStream(StreamingResponse):
    """A streamed export. The OpenAPI document lists its media types."""

    media_type = None


def _content() -> dict[str, Any]:
    """Return the OpenAPI content of an export in each format."""
    found: dict[str, Any] = {}
    for name, media_type in MEDIA_TYPES.items():
        described = {"schema": {"type": "string", **({"format": "binary"} if name == "pam" else {})}}
        found[media_type] = described | ({"example": _EXAMPLES[name]} if name in _EXAMPLES else {})
    return found


_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The export, as a stream.", "content": _content()},
    **problems(),
}


@router.get("/export", operation_id="export", response_class=ExportStream, responses=_RESPONSES, openapi_extra=needs("read"))
def export(caller: Calling, whose: Whose, format: _Format = "jsonl") -> ExportStream:
    """Export data.

    Streams all data of a user, app or agent, that is, all data that an erasure would remove. Without a scope,
    everything that the key may read is exported. The last line of a complete `jsonl` export has the type `end`.
    """
    parts = caller.may("read", **whose.parts)
    return _streamed(caller, parts, session=None, format=format)


@router.get(
    "/sessions/{id}/export",
    operation_id="export_session",
    response_class=ExportStream,
    responses={**_RESPONSES, **problems(409)},
    openapi_extra=needs("read"),
)
def export_session(id: _Session, caller: Calling, whose: Whose, format: _Format = "jsonl") -> ExportStream:
    """Export a session.

    Streams the session, its messages, and the memories derived from them.
    """
    record = caller.session_found(id, "read", whose.parts)
    owner = {part: getattr(record.scope, part) for part in ("user", "app", "agent")}
    return _streamed(caller, owner, session=record.id, format=format)


def _streamed(caller: Caller, owner: Mapping[str, Any], *, session: str | None, format: str) -> ExportStream:
    found = services(caller.memory)
    found.reader.traces.flush()
    parts = export_parts(
        found.store, found.preset, found.clock.now(), owner=owner, session=session, format=format, sees=caller.sees
    )
    headers = {"content-disposition": f'attachment; filename="holdfast.{EXTENSIONS[format]}"', "cache-control": "no-store"}
    return ExportStream(parts, headers=headers, media_type=MEDIA_TYPES[format])
