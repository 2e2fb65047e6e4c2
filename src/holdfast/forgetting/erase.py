"""Letting go for real: rows, derived rows, full text, vectors, queue, caches, and the bytes on disk."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.forgetting.rebuild import rebuild
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, MessageFilter, SessionFilter, Store, Transaction
from holdfast.recall.caches import count_erasure
from holdfast.types import Author, Memory, Message, Receipt
from holdfast.write import Writer

MEMORIES_OF_APP = "memories of app"
"""The target that means an app's memories alone: its conversations stay in the log, but nothing of them is seen again."""
SCRUB = "scrub"
"""The setting that says removed bytes are still to be overwritten, once a reader lets go of the log."""
_MAX_NEEDLES = 256


@dataclass(slots=True)
class _ErasureTargets:
    """Everything one erasure concerns."""

    memories: set[str] = field(default_factory=set)
    messages: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    mixed: dict[str, Memory] = field(default_factory=dict)
    """Memories that also have sources which stay: they are removed, and made again from those."""
    restated: dict[str, Memory] = field(default_factory=dict)
    """Memories that were told or made without what is erased, and only said again there: they lose that source alone."""
    texts: list[str] = field(default_factory=list)


def erase(store: Store, preset: Preset, target: Mapping[str, str], now: datetime) -> Receipt:
    """Erase a memory, session, source, user, app, agent or an app's memories, then check that it is gone."""
    with store.write() as tx:
        targets = _find(tx, target)
        survivors = _surviving_messages(tx, targets)
        unseen = _unseen(tx, target, targets)
        counts = Counter(tx.remove_memories(targets.memories | set(targets.mixed)))
        counts.update(tx.remove_messages(targets.messages))
        counts.update(tx.remove_sessions(targets.sessions))
        if owner := _owner(target):
            tx.remove_scope(owner)
        tx.remove_stored_responses()  # any of them may hold what is erased
        writer = Writer(tx=tx, preset=preset, author=Author(actor="erase"), now=now)
        tx.set_action(unseen, "forgotten")
        _forget_sources(tx, targets)
        rebuilt = rebuild(writer, targets.mixed.values(), survivors)
        mark_erased(tx)
    complete, residue = store.scrub(_needles([*targets.texts, *_owner(target).values()]))
    if complete:
        with store.write() as tx:
            tx.set_setting(SCRUB, "done")
    left = _find_rows(store, targets)
    return Receipt(
        target=dict(target),
        at=now,
        rebuilt=len({memory.id for memory in rebuilt}),
        status="erased" if complete and not residue else "pending",
        verified=complete and not residue and not left,
        residue=residue,
        backups=tuple(store.backups()),
        **counts,
    )


def mark_erased(tx: Transaction) -> None:
    """Note, in the transaction that removes rows, that bytes and caches are still to go: a killed process must not lose that."""
    tx.set_setting(SCRUB, "pending")
    count_erasure(tx)


def _owner(target: Mapping[str, str]) -> dict[str, str]:
    """Return the scope parts a target names."""
    return {part: target[part] for part in ("user", "app", "agent") if part in target}


def _find(tx: Transaction, target: Mapping[str, str]) -> _ErasureTargets:
    """Find what is meant, and what was made from it."""
    targets = _ErasureTargets()
    owner = _owner(target)
    named = [target[part] for part in ("memory", "source") if part in target]
    wanted_memories = [MemoryFilter(ids=named, statuses=None)]
    wanted_messages: list[MessageFilter] = []
    if "source" in target:
        targets.messages.add(target["source"])  # its raw message may be long gone, what came of it is not
        wanted_messages.append(MessageFilter(ids=(target["source"],)))
    if "session" in target:
        targets.sessions.add(target["session"])
        wanted_messages.append(MessageFilter(session=target["session"]))
    if owner:
        wanted_memories.append(MemoryFilter(owner=owner, statuses=None))
        wanted_messages.append(MessageFilter(owner=owner))
        targets.sessions.update(session.id for session in tx.sessions(SessionFilter(owner=owner)))
    if MEMORIES_OF_APP in target:
        wanted_memories.append(MemoryFilter(owner={"app": target[MEMORIES_OF_APP]}, statuses=None))
    targets.memories.update(memory.id for wanted in wanted_memories for memory in tx.memories(wanted))
    for message in (message for wanted in wanted_messages for message in tx.messages(wanted)):
        targets.messages.add(message.id)
        targets.texts.append(message.text)
    _follow_sources(tx, targets)
    targets.texts += [memory.text for id in (*targets.memories, *targets.mixed) for memory in tx.revisions(id)]
    return targets


def _follow_sources(tx: Transaction, targets: _ErasureTargets) -> None:
    """Add what was made from erased sources, and what was made from that."""
    reached = targets.memories | targets.messages
    while reached:
        made = tx.memories(MemoryFilter(sources=list(reached), statuses=None))
        gone = targets.memories | targets.messages
        reached = set()
        for memory in made:
            if memory.id in targets.memories or memory.id in targets.mixed or memory.id in targets.restated:
                continue
            if _stands_without(tx.revisions(memory.id), gone):
                targets.restated[memory.id] = memory
                continue
            reached.add(memory.id)
            if gone.issuperset(memory.sources):
                targets.memories.add(memory.id)
            else:
                targets.mixed[memory.id] = memory


def _stands_without(revisions: Sequence[Memory], gone: set[str]) -> bool:
    """Tell whether a memory's present text was also stated by something that stays: from the first, or said again."""
    present = revisions[-1]
    if revisions[0].content_hash == present.content_hash and gone.isdisjoint(revisions[0].sources):
        return True
    for before, after in itertools.pairwise(revisions):
        added = set(after.sources) - set(before.sources)
        # Sources that came without a change of the text said the same again; with one, the text was made of all of them.
        same = before.content_hash == after.content_hash == present.content_hash
        if same and added and added.isdisjoint(gone):
            return True
    return False


def _forget_sources(tx: Transaction, targets: _ErasureTargets) -> None:
    """Let go of the erased sources of memories that stand without them."""
    gone = targets.memories | targets.messages | set(targets.mixed)
    for id in targets.restated:
        for memory in tx.memories(MemoryFilter(ids=(id,), statuses=None)):
            left = tuple(source for source in memory.sources if source not in gone)
            tx.set_sources(memory.id, left)


def _surviving_messages(tx: Transaction, targets: _ErasureTargets) -> list[Message]:
    """Return the messages that stay and from which mixed memories can be made again."""
    sources = {source for memory in targets.mixed.values() for source in memory.sources}
    return tx.messages(MessageFilter(ids=list(sources - targets.messages))) if sources else []


def _unseen(tx: Transaction, target: Mapping[str, str], targets: _ErasureTargets) -> set[str]:
    """Return the messages that stay, but must not be seen: those of a memory that was forgotten, or is erased by its id."""
    ids = targets.memories | set(targets.mixed)
    hidden = tx.memories(MemoryFilter(ids=list(ids), statuses=["forgotten"]))
    if "memory" in target:
        hidden += tx.memories(MemoryFilter(ids=[target["memory"]], statuses=None))
    unseen = own_sources(tx, hidden)
    if MEMORIES_OF_APP in target:  # also what was not digested yet: it would bring back what is erased
        unseen |= {message.id for message in tx.messages(MessageFilter(owner={"app": target[MEMORIES_OF_APP]}))}
    return unseen - targets.messages


def own_sources(tx: Transaction, memories: Iterable[Memory]) -> set[str]:
    """Return the messages that memories came from in their own scope; what others share with them is not theirs to hide."""
    scope_of = {source: memory.scope for memory in memories for source in memory.sources}
    found = tx.messages(MessageFilter(ids=list(scope_of)))
    return {message.id for message in found if message.scope == scope_of[message.id]}


def _needles(texts: Iterable[str]) -> list[bytes]:
    """Choose stretches of the erased texts that a scan of the files must not find."""
    longest = sorted({text for text in texts if len(text) >= 8}, key=len, reverse=True)
    step = max(1, math.ceil(len(longest) / _MAX_NEEDLES))
    return [text[:48].encode() for text in longest[::step]]


def _find_rows(store: Store, targets: _ErasureTargets) -> bool:
    """Look again for what should be gone."""
    return bool(
        store.memories(MemoryFilter(ids=list(targets.memories), statuses=None))
        or store.messages(MessageFilter(ids=list(targets.messages)))
        or store.sessions(SessionFilter(ids=list(targets.sessions)))
    )
