"""Routes to chat with an assistant that uses memories. A reply is returned whole or streamed."""

from collections.abc import AsyncGenerator, Generator
from functools import partial
from typing import Annotated

import anyio
from fastapi import APIRouter, Path, Request

from holdfast.access.keys import ScopeParts
from holdfast.agent.agent import Agent, Answer
from holdfast.errors import HoldfastError
from holdfast.server.api import convert, requests, responses
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.api.sse import EventStream, event, stream_content
from holdfast.server.caller import Caller, Calling, needs
from holdfast.server.error_handlers import problem_for
from holdfast.server.middleware.threads import run_chat
from holdfast.server.routes.idempotency import Route, client_id
from holdfast.server.routes.sessions import open_session

router = APIRouter(prefix="/v1/sessions", tags=["chat"], route_class=Route)
_Id = Annotated[Name, Path(description="The id of the session.")]

_EVENTS = {
    "description": "The reply. With `stream`, events: `piece` events with text, then `answer` with the reply or `error` with a problem.",
    "content": stream_content("piece", "answer", "error", example='event: piece\ndata: {"text":"You live "}\n\n'),
}


@router.post(
    "/{id}/chat",
    operation_id="chat",
    response_model=responses.ChatAnswer,
    responses={200: _EVENTS, **problems(409, chat=True)},
    openapi_extra=needs("write"),
)
async def chat(id: _Id, body: requests.Chat, caller: Calling, request: Request) -> responses.ChatAnswer | EventStream:
    """Send a message to the assistant.

    Stores the message, then returns the reply of the chat model. The message is durable before the model is called.
    Without a chat model, the response is 503 `no_chat_model` with the context block that a model would have received.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    message = body.id or client_id(request)
    if not body.stream:
        return await run_chat(request, partial(_reply, caller, id, body, parts, message))
    pieces = _pieces(caller, id, body, parts, message)
    # Wait for the first piece before the stream starts: an error until then gets its HTTP status instead of an event.
    first = await run_chat(request, lambda: next(pieces, None))
    return EventStream(_events(request, pieces, first))


def _agent(caller: Caller, id: str, body: requests.Chat, parts: ScopeParts) -> Agent:
    return Agent(caller.memory, session=open_session(caller, id, parts), persona=body.persona)


def _reply(caller: Caller, id: str, body: requests.Chat, parts: ScopeParts, message: str | None) -> responses.ChatAnswer:
    return convert.answer(_agent(caller, id, body, parts).reply(body.text, id=message))


def _pieces(
    caller: Caller, id: str, body: requests.Chat, parts: ScopeParts, message: str | None
) -> Generator[str | Answer, None, None]:
    yield from _agent(caller, id, body, parts).stream(body.text, id=message)


async def _events(
    request: Request, pieces: Generator[str | Answer, None, None], first: str | Answer | None
) -> AsyncGenerator[bytes, None]:
    """Yield one server-sent event per piece of the reply: first ``first``, then the pieces in ``pieces``.

    If the model fails, the last event contains the error. If the client disconnects, the partial reply is stored and marked
    as interrupted.
    """
    piece = first
    try:
        while piece is not None:
            yield _event(piece)
            piece = await run_chat(request, lambda: next(pieces, None))
    except HoldfastError as error:
        yield event("error", problem_for(error).content)
    finally:
        with anyio.CancelScope(shield=True):
            await run_chat(request, pieces.close)


def _event(piece: str | Answer) -> bytes:
    if isinstance(piece, str):
        return event("piece", {"text": piece})
    return event("answer", convert.answer(piece).model_dump(mode="json"))
