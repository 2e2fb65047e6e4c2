"""Routes for memories: store, list, retrieve, revise, forget, undo and erase."""

import json
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Path, Query, Request

from holdfast.access.keys import may_change
from holdfast.by_id.erasing import count_losses
from holdfast.by_id.memories import NEVER
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.protocols import MemoryFilter, MessageFilter
from holdfast.runtime.clock import as_utc
from holdfast.server.api import convert, requests, responses
from holdfast.server.api.fields import AnyLabel, Key, KindName, Label, Moment, Name, merged_kinds
from holdfast.server.api.openapi import problems
from holdfast.server.caller import Caller, Calling, Paged, Whose, check_batch, needs
from holdfast.server.routes.apps import check_whole_app
from holdfast.server.routes.idempotency import Route
from holdfast.server.routes.sessions import erase_session
from holdfast.services import services
from holdfast.types import FORGOTTEN, Memory, Message, NewMemory, Where
from holdfast.types.translatable import translatable
from holdfast.values import check_expiry

router = APIRouter(prefix="/v1", tags=["memories"], route_class=Route)
_Id = Annotated[str, Path(description="The id of the memory.")]


@router.post("/memories", status_code=201, operation_id="remember", responses=problems(409), openapi_extra=needs("write"))
def remember(body: requests.NewMemory, caller: Calling) -> responses.Memory:
    """Store a memory.

    The memory is durable when the response is sent. Storing the same text again refreshes the existing memory.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    _check_expiry(caller, body.expires_at)
    kept = caller.memory.remember(
        body.text,
        kind=body.kind,
        key=body.key,
        topic=body.topic,
        importance=body.importance,
        tags=body.tags,
        metadata=body.metadata,
        pinned=body.pinned,
        valid_from=body.valid_from,
        expires_at=body.expires_at,
        created_at=body.created_at,
        namespace=body.namespace,
        index=body.index,
        redact=body.redact,
        if_revision=body.if_revision,
        **parts,
    )
    return convert.memory(kept)


@router.post("/remember", status_code=201, operation_id="remember_all", responses=problems(409), openapi_extra=needs("write"))
def remember_all(body: requests.NewMemories, caller: Calling, request: Request) -> responses.Memories:
    """Store several memories.

    All are stored in one transaction, or none. Each can be undone separately. The setting `max_batch` limits their number.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    check_batch(request, len(body.memories), "memories")
    for each in body.memories:
        _check_expiry(caller, each.expires_at)
    fields = cast("list[NewMemory]", [each.model_dump() for each in body.memories])
    return responses.Memories(items=[convert.memory(each) for each in caller.memory.remember_all(fields, **parts)])


@router.get("/namespaces", operation_id="list_namespaces", responses=problems(), openapi_extra=needs("read"))
def namespaces(
    caller: Calling,
    whose: Whose,
    paged: Paged,
    *,
    prefix: Annotated[
        list[Label] | None, Query(max_length=100, description="The labels to start with; `*` is any label.")
    ] = None,
    suffix: Annotated[list[Label] | None, Query(max_length=100, description="The labels to end with; `*` is any label.")] = None,
    max_depth: Annotated[int | None, Query(ge=1, le=1000, description="Cut longer namespaces to this number of labels.")] = None,
    kind: Annotated[list[KindName] | None, Query(max_length=50, description="Only count memories of these kinds.")] = None,
) -> responses.Listed[list[str]]:
    """List namespaces.

    Returns the namespaces that have live memories, sorted by label.
    """
    parts = caller.may("read", **whose.parts)
    found = caller.memory.namespaces(
        prefix=prefix or (),
        suffix=suffix or (),
        max_depth=max_depth,
        kind=kind,
        limit=paged.limit + 1,
        offset=paged.offset,
        **parts,
    )
    items, more = convert.page_of(map(list, found), limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.get("/memories", operation_id="list_memories", responses=problems(), openapi_extra=needs("read"))
def memories(
    caller: Calling,
    whose: Whose,
    paged: Paged,
    *,
    kind: Annotated[list[KindName] | None, Query(max_length=50, description="Only return memories of these kinds.")] = None,
    kinds: Annotated[list[KindName] | None, Query(max_length=50, description="A synonym of `kind`.")] = None,
    key: Annotated[Key | None, Query(description="Only return memories with this key.")] = None,
    namespace: Annotated[
        list[AnyLabel] | None,
        Query(max_length=100, description="Only return memories of exactly this namespace, a label each. One empty label: none."),
    ] = None,
    namespace_prefix: Annotated[
        list[Label] | None, Query(max_length=100, description="Only return memories whose namespace starts with these labels.")
    ] = None,
    topic: Annotated[Name | None, Query(description="Only return memories of this topic.")] = None,
    retired: Annotated[bool, Query(description="Return retired memories instead of live ones.")] = False,
    as_of: Annotated[Moment | None, Query(description="Return memories that were valid at this time, as known today.")] = None,
    known_at: Annotated[Moment | None, Query(description="Return memories as they were stored at this time.")] = None,
    where: Annotated[
        str | None, Query(description="A metadata filter as a JSON object.", examples=['{"room": "kitchen"}'])
    ] = None,
) -> responses.Counted[responses.Memory]:
    """List memories.

    Returns the newest memories first.
    """
    parts = caller.may("read", **whose.parts)
    filters: dict[str, Any] = {
        "kinds": merged_kinds(kind, kinds),
        "key": key,
        "namespace": None if namespace is None else [label for label in namespace if label],
        "namespace_prefix": namespace_prefix or (),
        "topic": topic,
        "retired": retired,
        "as_of": as_of,
        "known_at": known_at,
        "where": _where(where),
        **parts,
    }
    found = caller.memory.memories(limit=paged.limit + 1, offset=paged.offset, **filters)
    items, more = convert.page_of(map(convert.memory, found), limit=paged.limit, offset=paged.offset)
    return responses.Counted(items=items, next_offset=more, total=caller.memory.count_memories(**filters))


@router.get("/memories/{id}", operation_id="get_memory", responses=problems(), openapi_extra=needs("read"))
def memory(id: _Id, caller: Calling) -> responses.Memory:
    """Retrieve a memory.

    Returns the current revision, even if the memory was retired.
    """
    return convert.memory(caller.memory_found(id, "read"))


@router.patch("/memories/{id}", operation_id="revise_memory", responses=problems(409), openapi_extra=needs("write"))
def revise(id: _Id, body: requests.Revision, caller: Calling) -> responses.Memory:
    """Update a memory.

    Adds a revision and keeps the id. Omitted fields keep their value.
    """
    found = caller.memory_found(id, "write")
    _check_expiry(caller, None if body.expires_at == NEVER else body.expires_at)
    return convert.memory(caller.memory.revise(found.id, **body.model_dump(exclude_unset=True, exclude_none=True)))


@router.delete("/memories/{id}", operation_id="forget_memory", responses=problems(), openapi_extra=needs("write"))
def forget_one(
    id: _Id, caller: Calling, *, erase: Annotated[bool, Query(description="Erase the memory instead of hiding it.")] = False
) -> responses.Forgotten | responses.Receipt:
    """Forget or erase a memory.

    By default, hides the memory, which can be undone for a limited time. With `erase`, removes it for good and returns a
    receipt.
    """
    found = caller.memory_found(id, "write")
    if erase:
        return convert.receipt(caller.memory.erase(id=found.id))
    return responses.Forgotten(forgotten=caller.memory.forget(found.id))


@router.get("/memories/{id}/history", operation_id="memory_history", responses=problems(), openapi_extra=needs("read"))
def history(id: _Id, caller: Calling) -> responses.History:
    """List the history of a memory.

    Returns its changes, oldest first.
    """
    found = caller.memory_found(id, "read")
    return responses.History(items=[convert.change(each) for each in caller.memory.history(found.id)])


@router.get("/memories/{id}/sources", operation_id="memory_sources", responses=problems(), openapi_extra=needs("read"))
def sources(id: _Id, caller: Calling) -> responses.Sources:
    """List the sources of a memory.

    Returns the messages and memories that it was derived from. Sources that no longer exist are left out.
    """
    found, store = caller.memory_found(id, "read"), services(caller.memory).store
    messages = store.messages(MessageFilter(ids=found.sources)) if found.sources else []
    memories = store.memories(MemoryFilter(ids=found.sources, statuses=None)) if found.sources else []
    return responses.Sources(
        messages=[convert.message(each) for each in messages if caller.sees(each.scope)],
        memories=[convert.memory(each) for each in memories if caller.sees(each.scope)],
    )


@router.post("/forget", operation_id="forget", responses=problems(), openapi_extra=needs("write"))
def forget(body: requests.Forget, caller: Calling) -> responses.Forgotten:
    """Forget memories.

    Hides one memory by `id`, or all memories with a `key` in a scope. This can be undone for a limited time.
    """
    parts = caller.may("write", user=body.user, app=body.app, agent=body.agent)
    if (body.id is None) == (body.key is None):
        raise InvalidInput("Pass either id or key. Nothing was forgotten.")
    if body.id is not None:
        found = caller.memory_found(body.id, "write")
        return responses.Forgotten(forgotten=caller.memory.forget(found.id, **parts))
    kinds = merged_kinds(body.kind, body.kinds)
    if not caller.principal.is_bound:
        forgotten = caller.memory.forget(key=body.key, kinds=kinds, namespace=body.namespace, **parts)
        return responses.Forgotten(forgotten=forgotten)
    meant = caller.memory.memories(key=body.key, kinds=kinds, namespace=body.namespace, limit=10_000, **parts)
    own = [each for each in meant if may_change(caller.principal, each.scope)]  # a bound key cannot change shared memories
    if not own:
        raise NotFound(f"There is no memory with the key {body.key!r} in this scope. Nothing was forgotten.")
    return responses.Forgotten(forgotten=sum(caller.memory.forget(each.id) for each in own))


@router.post("/undo", operation_id="undo", responses=problems(409), openapi_extra=needs("write"))
def undo(body: requests.Undo, caller: Calling) -> responses.Memories:
    """Undo a change.

    Undoes the change and the other changes of its batch. Returns the affected memories in their current state.
    """
    caller.may("write")
    _check_change(caller, body.change)
    return responses.Memories(items=[convert.memory(each) for each in caller.memory.undo(body.change)])


@router.get("/receipts", operation_id="list_receipts", responses=problems(), openapi_extra=needs("read"))
def receipts(caller: Calling, paged: Paged) -> responses.Listed[responses.Receipt]:
    """List receipts.

    Returns the receipts of erasures, newest first, without names and content. Receipts belong to the whole tenant, so the key
    must not be bound to a user, app or agent.
    """
    caller.may("read", whole=True)
    found = caller.memory.receipts(limit=paged.offset + paged.limit + 1)[paged.offset :]
    items, more = convert.page_of(map(convert.receipt, found), limit=paged.limit, offset=paged.offset)
    return responses.Listed(items=items, next_offset=more)


@router.get("/receipts/{id}", operation_id="get_receipt", responses=problems(), openapi_extra=needs("read"))
def receipt(id: Annotated[str, Path(description="The id of the receipt.")], caller: Calling) -> responses.Receipt:
    """Retrieve a receipt.

    Returns the current receipt of an erasure. Background work completes a pending receipt.
    """
    caller.may("read", whole=True)
    return convert.receipt(caller.memory.receipt(id))


@router.post("/erase", operation_id="erase", responses=problems(409), openapi_extra=needs("write"))
def erase(body: requests.Erase, caller: Calling) -> responses.Receipt:
    """Erase data.

    Removes a memory, a session or a message for good, with everything derived from it. With an admin key, can also remove all
    data of a user, app or agent.
    """
    one, named = _targets(body)
    if named:
        parts = caller.may("admin", **named)
        return convert.receipt(caller.memory.erase(**parts))
    if body.id is not None:
        caller.memory_found(body.id, "write")
    elif body.session is not None:
        return convert.receipt(erase_session(caller, caller.session_found(body.session, "write")))
    elif body.source is not None:
        _check_message(caller, body.source)
    return convert.receipt(caller.memory.erase(**one))


@router.post("/erase/preview", operation_id="preview_erasure", responses=problems(), openapi_extra=needs("write"))
def preview_erasure(body: requests.ErasePreview, caller: Calling) -> responses.ErasureLosses:
    """Preview an erasure.

    Counts what `POST /v1/erase` would remove, and changes nothing. Needs the same rights as the erasure.
    """
    _, named = _targets(body, body.memories_of)
    owner: dict[str, str | None] = {}
    if named:
        parts = caller.may("admin", user=body.user, app=body.app, agent=body.agent)
        owner = {"user": parts["user"], "app": parts["app"], "agent": parts["agent"]}
    reader = None
    if body.id is not None:
        caller.memory_found(body.id, "write")
    elif body.session is not None:
        reader = caller.session_found(body.session, "write").scope
    elif body.source is not None:
        _check_message(caller, body.source)
    elif body.memories_of is not None:
        caller.may("admin", app=body.memories_of)
        check_whole_app(caller)
    found = count_losses(
        services(caller.memory),
        memory=body.id,
        session=body.session,
        source=body.source,
        owner=owner,
        reader=reader,
        memories_of=body.memories_of,
    )
    return responses.ErasureLosses.model_validate(found)


def _targets(body: requests.Erase, other: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two dicts that name the target of an erasure. At most one of them has entries.

    If the target is an id, the first dict has one entry. Its key is the name of the field: ``id``, ``session`` or ``source``.
    If the target is a scope, the second dict has the entries ``user``, ``app`` and ``agent`` that are given. If the target is
    ``other``, a target of another type, both dicts are empty. Raise ``InvalidInput`` unless there is exactly one target.
    """
    one = {name: id for name in ("id", "session", "source") if (id := getattr(body, name)) is not None}
    named = {name: part for name in ("user", "app", "agent") if (part := getattr(body, name)) is not None}
    if len(one) + bool(named) + (other is not None) != 1:
        raise InvalidInput("Pass one of id, session and source, or a scope of user, app and agent. Nothing was erased.")
    return one, named


def _check_expiry(caller: Caller, expires_at: datetime | str | None) -> None:
    """Raise ``Conflict`` if an expiry time is in the past. Such a request is well formed, but contradicts the server's clock."""
    moment = None if expires_at is None else as_utc(expires_at, what="expires_at")
    try:
        check_expiry(moment, services(caller.memory).clock.now())
    except InvalidInput as error:
        raise Conflict(str(error)) from error


def _where(given: str | None) -> Where | None:
    if given is None:
        return None
    try:
        found = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InvalidInput('where is not valid JSON. Pass an object such as {"room": "kitchen"}.') from error
    if not isinstance(found, dict):
        raise InvalidInput('where must be a JSON object, such as {"room": "kitchen"}.')
    return found


def _check_change(caller: Caller, id: str) -> None:
    """Raise ``NotFound`` unless the caller has the right to undo a change. ``id`` is the id of the change or of its batch.

    Undoing a change undoes its whole batch. So the caller needs the right to change every memory and every hidden message of the
    batch.
    """
    absent = translatable("absent.change", "There is no change {id}. The history of a memory lists its changes.", id=id)
    store = services(caller.memory).store
    found = store.changes(id=id)
    batch = found[0].batch if found else id
    changes = store.changes(batch=batch)
    touched: list[Memory | Message] = [*store.messages(MessageFilter(actions=[f"{FORGOTTEN}:{batch}"]))]
    if changes:
        touched += store.memories(MemoryFilter(ids={each.memory for each in changes}, statuses=None))
    if not touched or not all(may_change(caller.principal, each.scope) for each in touched):
        raise NotFound(absent)


def _check_message(caller: Caller, id: str) -> None:
    found = services(caller.memory).store.messages(MessageFilter(ids=(id,)))
    if not found or not may_change(caller.principal, found[0].scope):
        raise NotFound(translatable("absent.message", "There is no message {id}.", id=id))
