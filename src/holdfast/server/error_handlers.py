"""Convert every exception to a problem+json response."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from holdfast.errors import HoldfastError, NoChatModel
from holdfast.server.api import convert
from holdfast.server.api.problem import Problem, Refused, problem_of, problem_response
from holdfast.server.middleware.security import request_id_of
from holdfast.types import Context, Redaction

log = logging.getLogger("holdfast.server")

_HTTP_CODES = {400: "invalid_input", 404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported"}
_MAX_FIELDS = 5


def problem_for(error: HoldfastError) -> Problem:
    """Convert an exception of Holdfast to an error response.

    The response for ``NoChatModel`` also contains the id of the message, and the context block that a model would have
    received.
    """
    problem = problem_of(error)
    if isinstance(error, NoChatModel):
        context = convert.context(error.context).model_dump(mode="json") if isinstance(error.context, Context) else None
        redacted = [{"field": each.field, "kind": each.kind} for each in error.redacted if isinstance(each, Redaction)]
        return problem_response(
            problem.status, problem.code, problem.detail, context=context, message_id=error.message_id, redacted=redacted
        )
    return problem


def add_handlers(app: FastAPI) -> None:
    """Register a handler for every exception type."""
    handlers: Mapping[Any, Any] = {
        HoldfastError: _ours,
        Refused: _refused,
        RequestValidationError: _invalid,
        HTTPException: _http,
        Exception: _unexpected,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _ours(_request: Request, error: HoldfastError) -> Problem:
    problem = problem_for(error)
    if problem.status >= 500:
        log.warning("%s: %s", problem.code, type(error).__name__)
    return problem


async def _refused(_request: Request, error: Refused) -> Problem:
    return error.problem


async def _invalid(_request: Request, error: RequestValidationError) -> Problem:
    return problem_response(400, "invalid_input", _describe(error.errors()))


async def _http(request: Request, error: HTTPException) -> Problem:
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:  # the framework names the methods of one route only
        headers["Allow"] = ", ".join(_methods_of(request))
    code = _HTTP_CODES.get(error.status_code, "unexpected" if error.status_code >= 500 else "invalid_input")
    detail = "There is no such path. /openapi.json lists all paths." if error.status_code == 404 else str(error.detail)
    return problem_response(error.status_code, code, detail, headers=headers)


def _methods_of(request: Request) -> list[str]:
    """Return the methods that the path of a request allows."""
    routes = request.app.routes
    found = [route for route in routes if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE]
    exact = [route for route in found if route.path == request.url.path]  # a fixed path comes before a path with parameters
    return sorted({method for route in exact or found for method in route.methods or ()})


async def _unexpected(request: Request, _error: Exception) -> Problem:
    # Starlette raises the error again after this handler, and the middleware logs it.
    detail = f"The server failed. The log has the details under the request id {request_id_of(request.scope)}."
    return problem_response(500, "unexpected", detail)


def _describe(errors: Sequence[Any]) -> str:
    """Describe which fields are invalid. The values of the fields are left out, because a value may be private."""
    if errors and errors[0]["type"] == "json_invalid":
        reason = str(errors[0].get("ctx", {}).get("error") or "it cannot be parsed")
        return (
            f"The body is not valid JSON, at character {errors[0]['loc'][-1]}: {reason}. Nothing was changed. "
            "Send JSON as /openapi.json describes it."
        )
    shown = [f"{_field(error['loc'])}: {error['msg']}" for error in errors[:_MAX_FIELDS]]
    more = len(errors) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "") + "."


def _field(location: Sequence[Any]) -> str:
    """Return the name of an invalid field. The first part of its location (such as ``body`` or ``query``) is left out."""
    named = location[1:]
    if not named:
        return "the body"
    return ".".join(map(str, named))
