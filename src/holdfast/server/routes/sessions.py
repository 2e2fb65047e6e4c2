"""Routes for sessions: start, end and erase sessions, add and list messages, and get context blocks."""

from typing import Annotated, Literal, cast

from fastapi import APIRouter, Path, Query, Request

from holdfast.access.keys import ScopeParts
from holdfast.by_id.erasing import erase_target
from holdfast.engine import Engine
from holdfast.errors import NotFound
from holdfast.protocols import MessageFilter
from holdfast.server.api import convert, requests, responses
from holdfast.server.api.fields import Name
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Caller, Calling, Paged, Whose, check_batch, needs
from holdfast.server.routes.idempotency import Route, client_id
from holdfast.server.titles import said_at, title_of
from holdfast.services import services
from holdfast.session import Session, resume
from holdfast.text.clean import clean_name
from holdfast.types import NewMessage, Receipt, Scope, SessionRecord, SessionStatus

router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=Route)
_Id = Annotated[Name, Path(description="The id of the session.")]


@router.post("", status_code=201, operation_id="begin_session", responses=problems(409), openapi_extra=needs("write"))
def begin(body: requests.NewSession, caller: Calling) -> responses.Session:
    """Start a session.

    With the id of an existing session of the same user, app and agent, returns that session.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    return convert.session(open_session(caller, body.id, parts, shared=body.shared).begin())


@router.get("", operation_id="list_sessions", responses=problems(), openapi_extra=needs("read"))
def sessions(
    caller: Calling,
    whose: Whose,
    paged: Paged,
    status: Annotated[list[SessionStatus] | None, Query(description="Only return sessions with these statuses.")] = None,
) -> responses.Listed[responses.Session]:
    """List sessions.

    Returns the most recently active sessions first. Without a user, returns the sessions of all users you may read.
    """
    parts = caller.may("read", **whose.parts)
    found = caller.memory.sessions(statuses=status, limit=paged.limit + 1, offset=paged.offset, **parts)
    shown, more = convert.page_of(found, limit=paged.limit, offset=paged.offset)
    store = services(caller.memory).store
    items = [convert.session(each, title=title_of(store, each), said_at=said_at(store, each)) for each in shown]
    return responses.Listed(items=items, next_offset=more)


@router.get("/{id}", operation_id="get_session", responses=problems(409), openapi_extra=needs("read"))
def session(id: _Id, caller: Calling, whose: Whose) -> responses.Session:
    """Retrieve a session.

    Returns its status, its scope and its times. The messages are listed separately.
    """
    found = caller.session_found(id, "read", whose.parts)
    store = services(caller.memory).store
    return convert.session(found, title=title_of(store, found), said_at=said_at(store, found))


@router.post("/{id}/messages", status_code=201, operation_id="add_message", responses=problems(409), openapi_extra=needs("write"))
def say(id: _Id, body: requests.NewMessage, caller: Calling, request: Request) -> responses.Message:
    """Add a message.

    The message is durable when the response is sent. The session is created if it does not exist.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    session = open_session(caller, id, parts)
    kept = session.add(
        body.role,
        body.text,
        at=body.at,
        speaker=body.speaker,
        id=body.id or client_id(request),
        origin=body.origin,
        action=body.action,
        payload=body.payload,
        redact=body.redact,
    )
    return convert.message(kept)


@router.post(
    "/{id}/messages/batch", status_code=201, operation_id="add_messages", responses=problems(409), openapi_extra=needs("write")
)
def say_all(id: _Id, body: requests.NewMessages, caller: Calling, request: Request) -> responses.Messages:
    """Add several messages.

    All are stored in one transaction, or none. The session is created if it does not exist. The setting `max_batch` limits
    the number of messages.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    check_batch(request, len(body.messages), "messages")
    session, retry = open_session(caller, id, parts), client_id(request)
    fields = [each.model_dump() for each in body.messages]
    for number, each in enumerate(fields):
        each["id"] = each["id"] or (f"{retry}-{number}" if retry else None)
    kept = session.add_all(cast("list[NewMessage]", fields))
    return responses.Messages(items=[convert.message(each) for each in kept], next_seq=None)


@router.delete("/{id}/messages/last", operation_id="pop_message", responses=problems(409), openapi_extra=needs("write"))
def pop(id: _Id, caller: Calling, whose: Whose) -> responses.Message:
    """Remove the last message.

    Erases the last message of the session, with everything derived from it, and returns it. This cannot be undone.
    """
    record = caller.session_found(id, "write", whose.parts)
    removed = resume(services(caller.memory), record).pop()
    if removed is None:
        raise NotFound(f"The session {id} has no messages.")
    return convert.message(removed)


@router.get("/{id}/messages", operation_id="list_messages", responses=problems(409), openapi_extra=needs("read"))
def messages(
    id: _Id,
    caller: Calling,
    whose: Whose,
    limit: Annotated[int, Query(ge=1, le=500, description="The maximum number of messages.")] = 50,
    after_seq: Annotated[
        int | None, Query(ge=0, le=2**62, description="Only return messages after this sequence number.")
    ] = None,
) -> responses.Messages:
    """List messages.

    Returns messages oldest first. By default, these are the last `limit` messages of the session. With `after_seq`, they are
    the first `limit` messages after that sequence number.
    """
    record = caller.session_found(id, "read", whose.parts)
    session = resume(services(caller.memory), record)
    if after_seq is None:
        return responses.Messages(items=[convert.message(each) for each in session.messages(limit=limit)], next_seq=None)
    found = services(caller.memory).store.messages(MessageFilter(session=id, exactly=record.scope, after_seq=after_seq))
    last = found[limit - 1].seq if len(found) > limit else None
    return responses.Messages(items=[convert.message(each) for each in found[:limit]], next_seq=last)


@router.post("/{id}/context", operation_id="session_context", responses=problems(409), openapi_extra=needs("read"))
def context(id: _Id, body: requests.SessionContext, caller: Calling, whose: Whose) -> responses.Context:
    """Create a context block for a session.

    Returns the text for the next system prompt of the session. The session does not have to exist yet.
    """
    parts = caller.may("read", **whose.parts)
    session = open_session(caller, id, parts, right="read")
    found = session.context(body.query, max_tokens=body.max_tokens, state=body.state, persona=body.persona)
    return convert.context(found)


@router.post("/{id}/end", operation_id="end_session", responses=problems(409), openapi_extra=needs("write"))
def end(id: _Id, caller: Calling, whose: Whose) -> responses.Session:
    """End a session.

    Queues a job that extracts memories from the session. When the response is sent, the job and the end of the session are
    durable.
    """
    record = caller.session_found(id, "write", whose.parts)
    resume(services(caller.memory), record).end()
    return convert.session(services(caller.memory).store.session(record.id, record.scope) or record)


@router.delete("/{id}", operation_id="erase_session", responses=problems(409), openapi_extra=needs("write"))
def erase(id: _Id, caller: Calling, whose: Whose) -> responses.Receipt:
    """Erase a session.

    Removes the session for good, with its messages and everything derived from them.
    """
    record = caller.session_found(id, "write", whose.parts)
    return convert.receipt(erase_session(caller, record))


def erase_session(caller: Caller, record: SessionRecord) -> Receipt:
    """Erase the session of a record, with everything derived from it."""
    return erase_target(services(caller.memory), session=record.id, owner={}, reader=record.scope)


def open_session(
    caller: Caller, id: str | None, parts: ScopeParts, *, right: Literal["read", "write"] = "write", shared: bool = False
) -> Session:
    """Return the session with this id, or a new session in the scope that ``parts`` names.

    Without an id, the session is always new. An existing session must match every part that ``parts`` names, and the caller
    needs the right ``right`` for it. Raise ``Conflict`` if several sessions match, and none of them has exactly the scope
    ``parts``.

    To create a session with a given id, ``parts`` must name a user, app or agent. Otherwise all users would share the
    session. This is allowed only with ``shared``. Without ``shared``, ``NotFound`` is raised.
    """
    memory, name = caller.memory, clean_name(id, what="session id")
    if name is None:
        return memory.session(**parts)
    known = caller.known_session(name, right, parts)
    if known is not None:
        return resume(services(memory), known)
    if not any(parts.values()) and not shared:
        raise NotFound(
            f"There is no session {name}. To start a session with this id, pass its user, app or agent. To start one that all users "
            "share, create it with shared: true."
        )
    return resume(services(memory), _new_record(memory, name, parts))


def _new_record(memory: Engine, id: str, parts: ScopeParts) -> SessionRecord:
    """Return the record of a session that starts now."""
    now = services(memory).clock.now()
    scope = Scope(
        tenant=services(memory).store.tenant,
        user=clean_name(parts["user"], what="user"),
        app=clean_name(parts["app"], what="app"),
        agent=clean_name(parts["agent"], what="agent"),
    )
    return SessionRecord(id=id, scope=scope, started_at=now, last_at=now)
