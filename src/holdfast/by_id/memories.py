"""Store, read, revise, retire and restore memories."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, cast

from holdfast.errors import NotFound, StoreFull
from holdfast.forgetting.scrub import mark_erased
from holdfast.protocols import MemoryFilter, MessageFilter, Reads, Transaction
from holdfast.recall.listing import Kinds, kind_names, with_key
from holdfast.runtime.clock import as_utc
from holdfast.runtime.priority import with_pauses
from holdfast.runtime.tracing import watched
from holdfast.services import Services
from holdfast.text.clean import clean_name, clean_namespace
from holdfast.text.index_terms import tokenized
from holdfast.types import FORGOTTEN, Author, ChangeRecord, Memory, Put, Retire, Scope
from holdfast.types.translatable import translatable
from holdfast.values import Prepared, check_expiry, index_texts, prepare
from holdfast.write import Writer, check_revision

NEVER = "never"
"""Value of ``expires_at`` in ``revise`` that removes the expiry of a memory."""


def writer(services: Services, tx: Transaction) -> Writer:
    """Return a ``Writer`` that makes changes in the transaction, on behalf of the user."""
    return Writer(tx=tx, preset=services.preset, author=Author(actor="user"), now=services.clock.now())


def remember(services: Services, puts: Sequence[Put]) -> list[Memory]:
    """Store memories in one transaction. Each memory gets its own batch, so that each can be undone separately."""
    ready = [prepare(services.preset, services.limits, put) for put in with_pauses(puts)]
    with tokenized(with_pauses(each.searched for each in ready)), services.store.write() as tx:
        changes = writer(services, tx)
        memories = [each.stored_as(memory) for each in ready for memory in changes.apply([each.put])]
        for scope in {memory.scope for memory in memories} if services.preset.cap else ():
            services.condenser.enforce_cap(tx, scope)
    services.scheduler.wake()
    return memories


def get(services: Services, id: str, *, reader: Scope | None = None) -> Memory:
    """Return the current revision of a memory, even if it is retired.

    Raise ``NotFound`` if there is no memory with this id, or if the scope ``reader`` may not see it.
    """
    return _one(services.store.memories(MemoryFilter(ids=(id,), statuses=None, reader=reader)), id)


def history(services: Services, id: str, *, reader: Scope | None = None) -> list[ChangeRecord]:
    """Return the changes of a memory, oldest first.

    Raise ``NotFound`` if there is no memory with this id, or if the scope ``reader`` may not see it.
    """
    if reader is not None:
        get(services, id, reader=reader)
    changes = services.store.changes(memory=id)
    if not changes:
        raise NotFound(translatable("absent.memory", "There is no memory {id}.", id=id))
    return changes


def revise(
    services: Services,
    id: str,
    text: str | None,
    *,
    importance: float | None,
    tags: Sequence[str] | None,
    metadata: Mapping[str, Any] | None,
    topic: str | None,
    pinned: bool | None,
    reason: str | None,
    expires_at: datetime | str | None = None,
    index: Sequence[str] | bool | None = None,
    if_revision: int | None = None,
    redact: bool = True,
    reader: Scope | None = None,
) -> Memory:
    """Add a revision to a memory. Fields whose argument is None keep their value.

    A new expiry alone adds no revision, so that extending a memory's life does not fill its history.
    """
    cleared = {
        "tags": _is_empty(tags),
        "metadata": _is_empty(metadata),
        "expires_at": expires_at == NEVER,
        "indexed": index is True,
    }
    emptied = frozenset(name for name, is_cleared in cleared.items() if is_cleared)
    moment = None if expires_at in (None, NEVER) else as_utc(expires_at, what="expires_at")
    check_expiry(moment, services.clock.now())
    wanted = MemoryFilter(ids=(id,), reader=reader)
    rest = (text, importance, tags, metadata, topic, pinned, index, reason)
    if expires_at is not None and all(each is None for each in rest):
        return _set_expiry(services, id, wanted, moment, if_revision)

    def revision_of(memory: Memory) -> Prepared:
        put = Put(
            id=id,
            scope=memory.scope,
            kind=memory.kind,
            key=memory.key,
            text=memory.text if text is None else text,
            importance=importance,
            tags=tuple(tags or ()),
            metadata=metadata or {},
            topic=topic,
            pinned=pinned,
            reason=reason,
            expires_at=moment,
            indexed=None if index is None else index_texts(index),
            emptied=cast("frozenset[Literal['tags', 'metadata', 'expires_at', 'indexed']]", emptied),
            redact=redact,
        )
        return prepare(services.preset, services.limits, put, memory)

    return _revise(services, id, wanted, revision_of, if_revision)


def _set_expiry(services: Services, id: str, wanted: MemoryFilter, moment: datetime | None, if_revision: int | None) -> Memory:
    """Set the expiry of a memory without adding a revision. Return the memory.

    ``wanted`` is the filter that finds the memory. If the caller may not see the memory, the filter finds nothing, and
    ``NotFound`` is raised. ``moment`` is the new expiry, or None if the memory never expires. With ``if_revision``,
    raise ``RevisionConflict`` if the memory has another revision.
    """
    with services.store.write() as tx:
        memory = _one(tx.memories(wanted), id)
        check_revision(memory, if_revision)
        tx.set_expiry([memory.id], moment)
    return replace(memory, expires_at=moment)


def _revise(
    services: Services, id: str, wanted: MemoryFilter, revision_of: Callable[[Memory], Prepared], if_revision: int | None
) -> Memory:
    """Add a revision to a memory. Return the revised memory.

    ``revision_of`` computes the revision from the current memory. This can be slow, so it is done before the
    transaction. If the memory has changed when the transaction begins, the revision is computed again.

    ``wanted`` is the filter that finds the memory. If the caller may not see the memory, the filter finds nothing, and
    ``NotFound`` is raised. With ``if_revision``, raise ``RevisionConflict`` if the memory has another revision.
    """
    memory = _one(services.store.memories(wanted), id)
    check_revision(memory, if_revision)
    ready = revision_of(memory)
    with tokenized([ready.searched]), services.store.write() as tx:
        present = _one(tx.memories(wanted), id)
        check_revision(present, if_revision)
        ready = ready if present == memory else revision_of(present)
        (revised,) = writer(services, tx).apply([ready.put])
    services.scheduler.wake()
    return ready.stored_as(revised)


def _is_empty(value: Sequence[str] | Mapping[str, Any] | None) -> bool:
    return value is not None and not value


@watched("forget")
def forget(services: Services, id: str, *, reason: str, reader: Scope | None = None) -> int:
    """Retire a memory as forgotten. Return 1, or 0 if the memory is not live. A memory of a plain kind is removed instead.

    ``reason`` is recorded in the history. Raise ``NotFound`` if there is no memory with this id, or if the scope ``reader``
    may not see it.
    """
    id = clean_name(id, what="id") or ""

    def find(tx: Transaction) -> list[Memory]:
        found = tx.memories(MemoryFilter(ids=(id,), reader=reader))
        if not found and not tx.memories(MemoryFilter(ids=(id,), reader=reader, statuses=None)):
            raise _not_forgettable(tx, id, reader)
        return found

    return _retire(services, find, reason)


@watched("forget")
def forget_key(
    services: Services,
    key: str,
    reader: Scope,
    *,
    kind: Kinds,
    kinds: Kinds,
    reason: str,
    namespace: Sequence[str] = (),
) -> int:
    """Retire the memories with this key in a namespace as forgotten. Return their number.

    ``kind`` and ``kinds`` are two names for the same argument: only memories of these kinds are retired. None means all
    kinds. Case, accents and separators of the key are ignored, except for plain kinds. If the reader's scope has a
    user, only the user's own memories are retired, never shared ones.
    """
    names = kind_names(kind, kinds)
    wanted = MemoryFilter(
        reader=reader,
        owner={} if reader.user is None else {"user": reader.user},
        kinds=None if names is None else [services.preset.kind(name).name for name in names],
        namespace=clean_namespace(namespace),
    )

    def find(tx: Transaction) -> list[Memory]:
        found = tx.memories(with_key(tx, services.preset, wanted, key))
        if not found:
            raise NotFound(f"There is no memory with the key {key!r} in this scope. Nothing was forgotten.")
        return found

    return _retire(services, find, reason)


def proposals(services: Services, *, reader: Scope | None = None, limit: int = 100, offset: int = 0) -> list[Memory]:
    """List the changes that wait for a person's decision, newest first. Expired proposals are left out.

    With ``reader``, only the proposals that this scope may see are listed.
    """
    now = services.clock.now()
    wanted = MemoryFilter(statuses=("proposed",), reader=reader, unexpired_at=now, limit=limit, offset=offset)
    return services.store.memories(wanted)


def decide(services: Services, id: str, *, accept: bool, reader: Scope | None = None) -> Memory:
    """Accept or dismiss a proposal. Return the resulting memory.

    With ``accept``, the id can also be the id of a live memory, which then gets full trust. Raise ``NotFound`` if there is no
    proposal with this id, or if the scope ``reader`` may not see it.
    """
    with services.store.write() as tx:
        if not tx.memories(MemoryFilter(ids=(id,), reader=reader, statuses=None)):
            raise NotFound(translatable("absent.proposal", "There is no proposal {id}.", id=id))
        decided = writer(services, tx).accept(id) if accept else writer(services, tx).dismiss(id)
    services.scheduler.wake()
    return decided


def undo(services: Services, change: str | ChangeRecord, *, reader: Scope | None = None) -> list[Memory]:
    """Undo a change and all other changes of its batch. Return the resulting memories. ``change`` may also be the id of a batch.

    Messages that the batch has hidden can be recalled again. Raise ``NotFound`` if the change does not exist, if the scope
    ``reader`` may not see all the memories and messages of the batch, or if one of the memories was erased.

    Raise ``Conflict`` if one of the memories has been changed since, if another live memory has taken its place, or if its
    earlier value was not kept (plain kinds).
    """
    id = change if isinstance(change, str) else change.id
    with services.store.write() as tx:
        found = tx.changes(batch=id) if id.startswith("bat_") else tx.changes(id=id)
        batch = found[0].batch if found else id
        hidden = tx.messages(MessageFilter(actions=[f"{FORGOTTEN}:{batch}"]))
        seen = all(reader is None or reader.sees(message.scope) for message in hidden)
        if not (found or hidden) or not seen or (found and not _sees_batch(tx, found[0], reader)):
            raise NotFound(
                translatable("absent.change_listed", "There is no change {id}; `history` lists the changes of a memory.", id=id)
            )
        undone = writer(services, tx).undo(found[0]) if found else []
        tx.set_action([message.id for message in hidden], None, instead_of=f"{FORGOTTEN}:{batch}")
    services.scheduler.wake()
    return undone


def _retire(services: Services, find: Callable[[Transaction], list[Memory]], reason: str) -> int:
    """Mark memories as forgotten. ``find`` returns these memories inside the transaction. Return their number.

    Memories of plain kinds are removed at once, without rewriting the files. If the disk is full, the store's reserved
    space is used.
    """

    def retire() -> int:
        with services.store.write() as tx:
            found = find(tx)
            plain = [memory.id for memory in found if services.preset.is_plain(memory.kind)]
            if plain:
                tx.remove_memories(plain)
                mark_erased(tx, rewrite=False)
            kept = [memory for memory in found if memory.id not in plain]
            writer(services, tx).apply([Retire(id=memory.id, status="forgotten", reason=reason) for memory in kept])
        return len(found)

    try:
        return retire()
    except StoreFull:
        with services.store.room():
            return retire()


def _sees_batch(tx: Transaction, change: ChangeRecord, reader: Scope | None) -> bool:
    """Return True if the reader may see every memory that was changed in the same batch as ``change``."""
    if reader is None:
        return True
    ids = {other.memory for other in tx.changes(batch=change.batch)}
    return len(tx.memories(MemoryFilter(ids=ids, statuses=None, reader=reader))) == len(ids)


def _one(found: Sequence[Memory], id: str) -> Memory:
    if not found:
        raise NotFound(translatable("absent.memory", "There is no memory {id}.", id=id))
    return found[0]


def _not_forgettable(reads: Reads, id: str, reader: Scope | None) -> NotFound:
    """Return the error for an attempt to forget an id that is not a memory. The error names the call to use instead."""
    messages = reads.messages(MessageFilter(ids=(id,)))
    if messages and (reader is None or reader.sees(messages[0].scope)):
        return NotFound(
            f"{id} is a message, not a memory. A message cannot be forgotten: erase(source={id!r}) removes it with "
            "everything derived from it."
        )
    if id.startswith("mem_"):
        return NotFound(translatable("absent.memory", "There is no memory {id}.", id=id))
    return NotFound(f"There is no memory {id!r}. forget takes an id or key=; search first with recall.")
