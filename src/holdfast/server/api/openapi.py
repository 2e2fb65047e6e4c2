"""What the OpenAPI says of every operation: the answers it can give when something is wrong."""

from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from holdfast.server.api.problem import MEDIA_TYPE
from holdfast.server.api.responses import Context

_WHEN = {
    400: ("invalid_input", "The request makes no sense; the detail names what."),
    401: ("unauthorized", "No key, or one that does not count."),
    403: ("forbidden", "The key gives no right to do this."),
    404: ("not_found", "There is no such thing, or it is not the caller's to know of."),
    409: ("conflict", "It contradicts what is stored, or what was asked before under the same key."),
    413: ("too_large", "The body, or a text in it, is too long."),
    415: ("unsupported", "A body of this type is not understood."),
    421: ("misdirected", "The server does not answer to this name."),
    429: ("rate_limited", "Too many requests; the header Retry-After says when to go on."),
    500: ("unexpected", "A fault of the server's own."),
    502: ("answer_invalid", "The model answered nothing that can be used."),
    503: ("store_busy", "Not now: the store is busy, or a model is missing or does not answer."),
}
_ALWAYS = (400, 401, 403, 404, 413, 415, 421, 429, 500, 503)

Responses: TypeAlias = dict[int | str, dict[str, Any]]


class Problem(BaseModel):
    """What went wrong (RFC 9457); ``code`` never changes between releases."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, Field(examples=["about:blank"])]
    title: Annotated[str, Field(examples=["Not Found"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["There is no memory mem_01k4zt3w9v6q2m8x5c7b1n0pda."])]
    code: Annotated[str, Field(examples=["not_found"])]


class NoChatModel(Problem):
    """There is no chat model; what a model would have been told is in ``context``."""

    context: Context | None = None
    message_id: str | None = None


def problems(*more: int, chat: bool = False) -> Responses:
    """Return the documented problems of an operation: those any can have, and ``more`` of its own."""
    found: Responses = {status: _documented(status) for status in sorted({*_ALWAYS, *more, *((502,) if chat else ())})}
    if chat:
        found[503]["content"][MEDIA_TYPE]["schema"] = {"$ref": "#/components/schemas/NoChatModel"}
    return found


def _documented(status: int) -> dict[str, Any]:
    code, when = _WHEN[status]
    title = HTTPStatus(status).phrase
    example = {"type": "about:blank", "title": title, "status": status, "detail": when, "code": code}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}}
    return {"description": when, "content": content}


def add_schemas(document: dict[str, Any]) -> None:
    """Add what the documented problems refer to."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in (Problem, NoChatModel):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= {name: part for name, part in schema.pop("$defs", {}).items() if name not in schemas}
        schemas[model.__name__] = schema
