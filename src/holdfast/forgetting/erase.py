"""Erasure: remove rows, derived rows, full text, vectors, queue entries, caches, and the bytes on disk."""

import itertools
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.errors import StoreClosed, StoreError, StoreFull
from holdfast.forgetting.rebuild import rebuild
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter, Store, Transaction
from holdfast.recall.caches import count_erasure
from holdfast.types import Author, Memory, Message, Receipt, Scope
from holdfast.write import Writer

log = logging.getLogger("holdfast")
MEMORIES_OF_APP = "memories of app"
"""Key of an erasure target, as in ``{MEMORIES_OF_APP: "cooking"}``, that erases only the memories of an app.

The app's sessions stay stored, but their messages are hidden.
"""
SCRUB = "scrub"
"""Name of the store setting that records whether erased bytes must still be overwritten: ``pending``, ``log`` or ``done``.

With ``log``, only the store's log may still contain them.

Overwriting may have to wait until an open read of the store has ended.
"""
_STEP = 16
"""Number of rows that one transaction removes on a full disk. It is reduced if even these do not fit."""
_MAX_NEEDLES = 256
"""Maximum number of erased texts that the final scan of the files searches for."""


@dataclass(slots=True)
class _ErasureTargets:
    """Ids of everything that one erasure removes or changes."""

    memories: set[str] = field(default_factory=set)
    messages: set[str] = field(default_factory=set)
    sessions: set[tuple[str, Scope]] = field(default_factory=set)
    mixed: dict[str, Memory] = field(default_factory=dict)
    """Memories with both erased and remaining sources. They are removed, then derived again from the remaining sources."""
    restated: dict[str, Memory] = field(default_factory=dict)
    """Memories whose present text a remaining source also stated. They stay, and only their erased sources are removed."""
    texts: list[str] = field(default_factory=list)


def erase(
    store: Store,
    preset: Preset,
    target: Mapping[str, str],
    now: datetime,
    *,
    scope: Scope | None = None,
    rewrite: bool = True,
) -> Receipt:
    """Erase a memory, session, source, user, app or agent, or only the memories of an app. Then verify that the data is gone.

    ``scope`` is the scope of the session to erase. With ``rewrite=False``, the removed bytes are overwritten in place and the
    files are not scanned. That is faster. A store that cannot do it overwrites the bytes later, in the background.
    """
    try:
        removed = _remove(store, preset, target, now, scope=scope, rewrite=rewrite)
    except StoreFull:
        with store.room() as make_room:
            steps = _remove_in_steps(store, target, scope, make_room, rewrite=rewrite)
            removed = _remove(store, preset, target, now, scope=scope, rewrite=rewrite, before=steps)
    needles = _needles([*removed.targets.texts, *_owner(target).values()]) if rewrite else []
    complete, residue = _scrub(store, needles, rewrite=rewrite)
    rows_left = _has_rows(store, removed.targets)
    return Receipt(
        target=dict(target),
        at=now,
        rebuilt=removed.rebuilt,
        status="erased" if complete and not residue else "pending",
        verified=complete and rewrite and not residue and not rows_left,
        residue=residue,
        backups=tuple(store.backups()),
        **removed.counts,
    )


@dataclass(frozen=True, slots=True)
class _Removed:
    """What an erasure removes from the store, and what it has removed so far."""

    targets: _ErasureTargets
    hidden: Collection[str]
    """Ids of the messages to hide."""
    counts: Counter[str] = field(default_factory=Counter)
    rebuilt: int = 0


def _remove(
    store: Store,
    preset: Preset,
    target: Mapping[str, str],
    now: datetime,
    *,
    scope: Scope | None,
    rewrite: bool,
    before: _Removed | None = None,
) -> _Removed:
    """Remove the rows of a target in one transaction. ``before`` is the result of earlier steps on a full disk."""
    try:
        with store.write() as tx:
            plan = before or _plan(tx, target, scope)
            targets, counts = plan.targets, Counter(plan.counts)
            survivors = _surviving_messages(tx, targets)
            counts.update(tx.remove_memories(targets.memories | set(targets.mixed)))
            counts.update(tx.remove_messages(targets.messages))
            counts.update(tx.remove_sessions(targets.sessions))
            if owner := _owner(target):
                tx.remove_scope(owner)
            tx.remove_stored_responses()  # any of them may contain erased data
            writer = Writer(tx=tx, preset=preset, author=Author(actor="erase"), now=now)
            tx.set_action(plan.hidden, "forgotten")
            _forget_sources(tx, targets)
            rebuilt = rebuild(writer, targets.mixed.values(), survivors)
            mark_erased(tx, rewrite=rewrite)
    except StoreFull as error:
        if before is not None and before.counts:
            raise _partly_erased(before.counts) from error
        raise
    return replace(plan, counts=counts, rebuilt=len({memory.id for memory in rebuilt}))


def _plan(tx: Transaction, target: Mapping[str, str], scope: Scope | None) -> _Removed:
    targets = _find(tx, target, scope)
    return _Removed(targets, _messages_to_hide(tx, target, targets))


def _remove_in_steps(
    store: Store, target: Mapping[str, str], scope: Scope | None, make_room: Callable[[], object], *, rewrite: bool
) -> _Removed:
    """Remove most rows of a target in small transactions, because a full disk has no room for a large one.

    Memories that must be rebuilt, and everything that is left, are removed by :func:`_remove` afterwards.
    """
    with store.write() as tx:
        plan = _plan(tx, target, scope)
    done = plan.counts
    for ids, remove in ((plan.targets.memories, "remove_memories"), (plan.targets.messages, "remove_messages")):
        left, size = sorted(ids), _STEP
        while left:
            make_room()
            try:
                with store.write() as tx:
                    removed = Counter(getattr(tx, remove)(left[:size]))
                    mark_erased(tx, rewrite=rewrite)
            except StoreFull as error:
                if size == 1:
                    if done:
                        raise _partly_erased(done) from error
                    raise
                size = max(1, size // 4)
            else:
                done.update(removed)
                left = left[size:]
    make_room()
    return plan


def _partly_erased(done: Mapping[str, int]) -> StoreFull:
    listed = ", ".join(f"{number} {what}" for what, number in done.items() if number)
    return StoreFull(
        f"The disk is full, and only a part was erased: {listed or 'nothing'}. The rest is still stored. Free some space and erase again."
    )


def _scrub(store: Store, needles: Sequence[bytes], *, rewrite: bool) -> tuple[bool, tuple[str, ...]]:
    """Overwrite the erased bytes. The rows are gone already, so a failure makes the receipt pending and raises nothing."""
    try:
        complete, residue = store.scrub(needles, rewrite=rewrite)
        note_scrubbed(store, complete=complete, rewrite=rewrite)
    except StoreClosed:
        raise
    except StoreError as error:
        log.warning("The rows are erased, but their bytes could not be overwritten yet: %s", error)
        return False, (str(error),)
    return complete, residue


def mark_erased(tx: Transaction, *, rewrite: bool = True) -> None:
    """Record that the erased bytes and caches must still be cleared. This happens in the transaction that removes the rows.

    If the process is killed before the bytes and caches are cleared, the task is not lost. With ``rewrite=False``, it is enough
    to empty the store's log.
    """
    if rewrite or tx.setting(SCRUB) != "pending":
        tx.set_setting(SCRUB, "pending" if rewrite else "log")
    count_erasure(tx)


def note_scrubbed(store: Store, *, complete: bool, rewrite: bool) -> None:
    """Record the result of a scrub. A complete one ends the task, unless the files must still be rewritten."""
    with store.write() as tx:
        if complete and (rewrite or tx.setting(SCRUB) == "log"):
            tx.set_setting(SCRUB, "done")
        elif not complete and tx.setting(SCRUB) != "pending":
            tx.set_setting(SCRUB, "pending")


def _owner(target: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a scope (user, app and agent) that an erasure target names."""
    return {part: target[part] for part in ("user", "app", "agent") if part in target}


def _find(tx: Transaction, target: Mapping[str, str], scope: Scope | None) -> _ErasureTargets:
    """Find the rows that an erasure target names, and everything derived from these rows."""
    targets = _ErasureTargets()
    owner = _owner(target)
    named = [target[part] for part in ("memory", "source") if part in target]
    memory_filters = [MemoryFilter(ids=named, statuses=None)]
    message_filters: list[MessageFilter] = []
    if "source" in target:
        targets.messages.add(target["source"])  # memories can outlive the message they were extracted from
        message_filters.append(MessageFilter(ids=(target["source"],)))
    if "session" in target:
        assert scope is not None
        targets.sessions.add((target["session"], scope))
        message_filters.append(MessageFilter(session=target["session"], exactly=scope))
    if owner:
        memory_filters.append(MemoryFilter(owner=owner, statuses=None))
        message_filters.append(MessageFilter(owner=owner))
        targets.sessions.update((session.id, session.scope) for session in tx.sessions(SessionFilter(owner=owner)))
    if MEMORIES_OF_APP in target:
        memory_filters.append(MemoryFilter(owner={"app": target[MEMORIES_OF_APP]}, statuses=None))
    targets.memories.update(memory.id for filter in memory_filters for memory in tx.memories(filter))
    for message in (message for filter in message_filters for message in tx.messages(filter)):
        targets.messages.add(message.id)
        targets.texts += [message.text, *_strings(message.payload)]
    _follow_sources(tx, targets)
    for memory in (memory for id in (*targets.memories, *targets.mixed) for memory in tx.revisions(id)):
        targets.texts += [memory.text, *(memory.indexed or ()), *_strings(memory.metadata)]
    return targets


def _follow_sources(tx: Transaction, targets: _ErasureTargets) -> None:
    """Add the memories derived from erased sources, then the memories derived from those memories."""
    reached = targets.memories | targets.messages
    while reached:
        derived = tx.memories(MemoryFilter(sources=list(reached), statuses=None))
        gone = targets.memories | targets.messages
        reached = set()
        for memory in derived:
            if memory.id in targets.memories or memory.id in targets.mixed or memory.id in targets.restated:
                continue
            if _is_restated(tx.revisions(memory.id), gone):
                targets.restated[memory.id] = memory
                continue
            reached.add(memory.id)
            if gone.issuperset(memory.sources):
                targets.memories.add(memory.id)
            else:
                targets.mixed[memory.id] = memory


def _is_restated(revisions: Sequence[Memory], gone: set[str]) -> bool:
    """Return True if a source that is not erased also stated the memory's present text, so that the memory can stay."""
    present = revisions[-1]
    if revisions[0].content_hash == present.content_hash and gone.isdisjoint(revisions[0].sources):
        return True
    for before, after in itertools.pairwise(revisions):
        added = set(after.sources) - set(before.sources)
        # Sources added without a text change restated it. After a text change, the text depends on all sources.
        same = before.content_hash == after.content_hash == present.content_hash
        if same and added and added.isdisjoint(gone):
            return True
    return False


def _forget_sources(tx: Transaction, targets: _ErasureTargets) -> None:
    """Remove the erased sources from the restated memories."""
    gone = targets.memories | targets.messages | set(targets.mixed)
    for id in targets.restated:
        for memory in tx.memories(MemoryFilter(ids=(id,), statuses=None)):
            remaining = tuple(source for source in memory.sources if source not in gone)
            tx.set_sources(memory.id, remaining)


def _surviving_messages(tx: Transaction, targets: _ErasureTargets) -> list[Message]:
    """Return the remaining messages from which mixed memories can be derived again."""
    sources = {source for memory in targets.mixed.values() for source in memory.sources}
    return tx.messages(MessageFilter(ids=list(sources - targets.messages))) if sources else []


def _messages_to_hide(tx: Transaction, target: Mapping[str, str], targets: _ErasureTargets) -> set[str]:
    """Return the remaining messages that must be hidden, so that erased memories are not extracted from them again.

    These messages are the sources of forgotten memories and of a memory erased by its id. If the target is the memories of
    an app, all messages of the app are hidden, too.
    """
    ids = targets.memories | set(targets.mixed)
    forgotten = tx.memories(MemoryFilter(ids=list(ids), statuses=["forgotten"]))
    if "memory" in target:
        forgotten += tx.memories(MemoryFilter(ids=[target["memory"]], statuses=None))
    hidden = own_sources(tx, forgotten)
    if MEMORIES_OF_APP in target:  # also messages not digested yet, which would bring back erased memories
        hidden |= {message.id for message in tx.messages(MessageFilter(owner={"app": target[MEMORIES_OF_APP]}))}
    return hidden - targets.messages


def own_sources(tx: Transaction, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the memories' source messages, leaving out messages whose scope differs from the memory's."""
    scope_of = {source: memory.scope for memory in memories for source in memory.sources}
    found = tx.messages(MessageFilter(ids=list(scope_of)))
    return {message.id for message in found if message.scope == scope_of[message.id]}


def _strings(value: object) -> Iterator[str]:
    """Yield the texts in a payload or in metadata, as they are written in the stored JSON."""
    if isinstance(value, str):
        yield json.dumps(value, ensure_ascii=False)[1:-1]
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _strings(part)


def _needles(texts: Iterable[str]) -> list[bytes]:
    """Return the beginnings of some erased texts. The final scan searches the files for these beginnings."""
    longest = sorted({text for text in texts if len(text) >= 8}, key=len, reverse=True)
    step = max(1, math.ceil(len(longest) / _MAX_NEEDLES))
    return [text[:48].encode("utf-8", "replace") for text in longest[::step]]


def _has_rows(store: Store, targets: _ErasureTargets) -> bool:
    """Return True if any erased row is still in the store."""
    return bool(
        store.memories(MemoryFilter(ids=list(targets.memories), statuses=None))
        or store.messages(MessageFilter(ids=list(targets.messages)))
        or any(store.session(id, scope) for id, scope in targets.sessions)
    )
