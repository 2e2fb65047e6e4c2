"""Error responses for the OpenAPI document."""

from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from holdfast.server.api.described import Described
from holdfast.server.api.fields import FILTER_SCHEMAS
from holdfast.server.api.problem import MEDIA_TYPE
from holdfast.server.api.responses import Context, Redaction, TextCode

_WHEN = {
    400: ("invalid_input", "The request is invalid. `detail` names the problem."),
    401: ("unauthorized", "The access key is missing or not valid."),
    403: ("forbidden", "The access key does not permit this operation."),
    404: ("not_found", "The object does not exist, or the access key may not read it."),
    409: ("conflict", "The request conflicts with stored data, or its idempotency key was used for another request."),
    413: ("too_large", "The body, or a text in it, is too large."),
    414: ("too_large", "The URL is too long. Send long texts in the body."),
    415: ("unsupported", "The content type of the body is not supported."),
    421: ("misdirected", "The server does not accept this host name."),
    429: ("rate_limited", "Too many requests. Retry after the number of seconds in the `Retry-After` header."),
    500: ("unexpected", "The server failed. The log has the details under the request id."),
    502: ("answer_invalid", "The chat model returned no usable reply."),
    503: ("store_busy", "The store is busy, or a model is missing or unavailable. Retry later."),
}
_ALWAYS = (400, 401, 403, 404, 413, 414, 415, 421, 429, 500, 503)

Responses: TypeAlias = dict[int | str, dict[str, Any]]


class Problem(Described, BaseModel):
    """An error response in the format of RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, Field(examples=["about:blank"])]
    """Always `about:blank`."""
    title: Annotated[str, Field(examples=["Not Found"])]
    """The name of the HTTP status, such as `Not Found`."""
    status: Annotated[int, Field(examples=[404])]
    """The HTTP status code."""
    detail: Annotated[str, Field(examples=["There is no memory mem_01k4zt3w9v6q2m8x5c7b1n0pda."])]
    """A message that says what happened and what to do."""
    code: Annotated[str, Field(examples=["not_found"])]
    """The code of the error. It does not change between releases."""
    detail_code: TextCode | None = None
    """The code and the values for translating `detail`. Missing if it cannot be translated."""


class NoChatModel(Problem):
    """The error `no_chat_model`: no chat model is configured, so there is no reply."""

    context: Context | None = None
    """The context block that a chat model would have received."""
    message_id: str | None = None
    """The id of the user's message, which was stored."""
    redacted: list[Redaction] = []
    """The secrets that were replaced in the user's message."""


def problems(*more: int, chat: bool = False) -> Responses:
    """Return the error responses of an operation, for the OpenAPI document.

    These are the responses that every operation can return, and the responses with the statuses in ``more``. Set ``chat`` for
    an operation that calls a chat model.
    """
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
    """Add the schemas of the error responses and of filters to the OpenAPI document."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas |= FILTER_SCHEMAS
    for model in (Problem, NoChatModel):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= {name: part for name, part in schema.pop("$defs", {}).items() if name not in schemas}
        schemas[model.__name__] = schema
