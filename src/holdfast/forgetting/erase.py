"""Erasure: remove rows, derived rows, full text, vectors, queue entries, caches, and the bytes on disk."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.forgetting.rebuild import rebuild
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter, Store, Transaction
from holdfast.recall.caches import count_erasure
from holdfast.types import Author, Memory, Message, Receipt
from holdfast.write import Writer

MEMORIES_OF_APP = "memories of app"
"""Key of an erasure target, as in ``{MEMORIES_OF_APP: "cooking"}``, that erases only the memories of an app.

The app's sessions stay stored, but their messages are hidden.
"""
SCRUB = "scrub"
"""Name of the store setting that records whether erased bytes must still be overwritten: ``pending``, ``log`` or ``done``.

With ``log``, only the store's log may still contain them.

Overwriting may have to wait until an open read of the store has ended.
"""
_MAX_NEEDLES = 256
"""Maximum number of erased texts that the final scan of the files searches for."""


@dataclass(slots=True)
class _ErasureTargets:
    """Ids of everything that one erasure removes or changes."""

    memories: set[str] = field(default_factory=set)
    messages: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    mixed: dict[str, Memory] = field(default_factory=dict)
    """Memories with both erased and remaining sources. They are removed, then derived again from the remaining sources."""
    restated: dict[str, Memory] = field(default_factory=dict)
    """Memories whose present text a remaining source also stated. They stay, and only their erased sources are removed."""
    texts: list[str] = field(default_factory=list)


def erase(store: Store, preset: Preset, target: Mapping[str, str], now: datetime, *, rewrite: bool = True) -> Receipt:
    """Erase a memory, session, source, user, app or agent, or only the memories of an app. Then verify that the data is gone.

    With ``rewrite=False``, the removed bytes are overwritten in place and the files are not scanned. That is faster. A store
    that cannot do it overwrites the bytes later, in the background.
    """
    with store.write() as tx:
        targets = _find(tx, target)
        survivors = _surviving_messages(tx, targets)
        hidden = _messages_to_hide(tx, target, targets)
        counts = Counter(tx.remove_memories(targets.memories | set(targets.mixed)))
        counts.update(tx.remove_messages(targets.messages))
        counts.update(tx.remove_sessions(targets.sessions))
        if owner := _owner(target):
            tx.remove_scope(owner)
        tx.remove_stored_responses()  # any of them may contain erased data
        writer = Writer(tx=tx, preset=preset, author=Author(actor="erase"), now=now)
        tx.set_action(hidden, "forgotten")
        _forget_sources(tx, targets)
        rebuilt = rebuild(writer, targets.mixed.values(), survivors)
        mark_erased(tx, rewrite=rewrite)
    needles = _needles([*targets.texts, *_owner(target).values()]) if rewrite else []
    complete, residue = store.scrub(needles, rewrite=rewrite)
    note_scrubbed(store, complete=complete, rewrite=rewrite)
    rows_left = _has_rows(store, targets)
    return Receipt(
        target=dict(target),
        at=now,
        rebuilt=len({memory.id for memory in rebuilt}),
        status="erased" if complete and not residue else "pending",
        verified=complete and rewrite and not residue and not rows_left,
        residue=residue,
        backups=tuple(store.backups()),
        **counts,
    )


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
        elif not complete:
            tx.set_setting(SCRUB, "pending")


def _owner(target: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a scope (user, app and agent) that an erasure target names."""
    return {part: target[part] for part in ("user", "app", "agent") if part in target}


def _find(tx: Transaction, target: Mapping[str, str]) -> _ErasureTargets:
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
        targets.sessions.add(target["session"])
        message_filters.append(MessageFilter(session=target["session"]))
    if owner:
        memory_filters.append(MemoryFilter(owner=owner, statuses=None))
        message_filters.append(MessageFilter(owner=owner))
        targets.sessions.update(session.id for session in tx.sessions(SessionFilter(owner=owner)))
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
        or store.sessions(SessionFilter(ids=list(targets.sessions)))
    )
