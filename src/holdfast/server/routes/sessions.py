"""Conversations: begin, say, read, end, erase."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from holdfast.access.keys import ScopeParts
from holdfast.engine import Engine
from holdfast.errors import NotFound
from holdfast.protocols import MessageFilter
from holdfast.server.api import convert, requests, responses
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Caller, Calling, Paged, Whose, needs
from holdfast.server.routes.idempotency import Route, client_id
from holdfast.services import services
from holdfast.session import Session, resume
from holdfast.text.clean import clean_name
from holdfast.types import Scope, SessionRecord, SessionStatus

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=Route)


@router.post("", status_code=201, operation_id="begin_session", responses=problems(409), openapi_extra=needs("write"))
def begin(body: requests.NewSession, caller: Calling) -> responses.Session:
    """Begin a conversation; with the id of one there is, return that one."""
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    return convert.session(open_session(caller, body.id, parts).begin())


@router.get("", operation_id="list_sessions", responses=problems(), openapi_extra=needs("read"))
def sessions(
    caller: Calling, whose: Whose, paged: Paged, status: Annotated[list[SessionStatus] | None, Query()] = None
) -> responses.Listed[responses.Session]:
    """List conversations, the most recently active first; without a user, those of all the caller may see."""
    parts = caller.may("read", **whose.parts)
    found = caller.memory.sessions(statuses=status, limit=paged.limit + 1, offset=paged.offset, **parts)
    items, more = convert.page_of(map(convert.session, found), limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.get("/{id}", operation_id="get_session", responses=problems(), openapi_extra=needs("read"))
def session(id: str, caller: Calling) -> responses.Session:
    """Return one conversation."""
    return convert.session(caller.session_found(id, "read"))


@router.post("/{id}/messages", status_code=201, operation_id="add_message", responses=problems(409), openapi_extra=needs("write"))
def say(id: str, body: requests.NewMessage, caller: Calling, request: Request) -> responses.Message:
    """Keep a message; it is on disk when the answer comes. A conversation that is new begins with it."""
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    talk = open_session(caller, id, parts)
    kept = talk.add(
        body.role, body.text, at=body.at, speaker=body.speaker, id=body.id or client_id(request), origin=body.origin,
        action=body.action,
    )  # fmt: skip
    return convert.message(kept)


@router.get("/{id}/messages", operation_id="list_messages", responses=problems(), openapi_extra=needs("read"))
def messages(
    id: str,
    caller: Calling,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    after_seq: Annotated[int | None, Query(ge=0, le=2**62, description="Only those after this one, oldest first.")] = None,
) -> responses.Messages:
    """List what was said, oldest first: the last ``limit`` messages, or the first ones after ``after_seq``."""
    record = caller.session_found(id, "read")
    talk = resume(services(caller.memory), record)
    if after_seq is None:
        return responses.Messages(items=[convert.message(each) for each in talk.messages(limit=limit)], next_seq=None)
    found = services(caller.memory).store.messages(MessageFilter(session=id, exactly=record.scope, after_seq=after_seq))
    last = found[limit - 1].seq if len(found) > limit else None
    return responses.Messages(items=[convert.message(each) for each in found[:limit]], next_seq=last)


@router.post("/{id}/context", operation_id="session_context", responses=problems(), openapi_extra=needs("read"))
def context(id: str, body: requests.SessionContext, caller: Calling, whose: Whose) -> responses.Context:
    """Return the block for the next system prompt of a conversation; a new one knows what its scope knows."""
    parts = caller.may("read", **whose.parts)
    talk = open_session(caller, id, parts, right="read")
    found = talk.context(body.query, max_tokens=body.max_tokens, state=body.state, persona=body.persona)
    return convert.context(found)


@router.post("/{id}/end", operation_id="end_session", responses=problems(), openapi_extra=needs("write"))
def end(id: str, caller: Calling) -> responses.Session:
    """End a conversation and queue what is to be learnt from it; both are on disk when the answer comes."""
    record = caller.session_found(id, "write")
    resume(services(caller.memory), record).end()
    return convert.session(caller.session_found(id, "write"))


@router.delete("/{id}", operation_id="erase_session", responses=problems(), openapi_extra=needs("write"))
def erase(id: str, caller: Calling) -> responses.Receipt:
    """Remove a conversation for good, with all that came of it."""
    record = caller.session_found(id, "write")
    return convert.receipt(caller.memory.erase(session=record.id))


def open_session(caller: Caller, id: str | None, parts: ScopeParts, *, right: Literal["read", "write"] = "write") -> Session:
    """Return a conversation to go on with, or a new one in this scope; a foreign one is not there."""
    memory, name = caller.memory, clean_name(id, what="session id")
    if name is None:
        return memory.session(**parts)
    known = services(memory).store.session(name)
    if known is None:
        return resume(services(memory), _new_record(memory, name, parts))
    caller.check_session(known, right)
    named = {name: part for name, part in parts.items() if part is not None}
    if any(getattr(known.scope, name) != part for name, part in named.items()):
        raise NotFound(f"There is no session {known.id}.")
    return resume(services(memory), known)


def _new_record(memory: Engine, id: str, parts: ScopeParts) -> SessionRecord:
    """Return the record of a conversation that begins now."""
    now = services(memory).clock.now()
    scope = Scope(
        tenant=services(memory).store.tenant,
        user=clean_name(parts["user"], what="user"),
        app=clean_name(parts["app"], what="app"),
        agent=clean_name(parts["agent"], what="agent"),
    )
    return SessionRecord(id=id, scope=scope, started_at=now, last_at=now)
