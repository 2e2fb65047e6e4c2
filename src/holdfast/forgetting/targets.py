"""Find the rows that an erasure removes: the rows that its target names, and everything derived from them."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.forgetting.needles import change_texts, memory_texts, message_texts, session_texts
from holdfast.protocols import MemoryFilter, MessageFilter, Reads, SessionFilter
from holdfast.types import Memory, Message, Scope

MEMORIES_OF_APP = "memories of app"
"""Key of an erasure target that erases only the memories of an app: ``{MEMORIES_OF_APP: "cooking"}``.

The app's sessions stay stored, but their messages are hidden.
"""


@dataclass(slots=True)
class ErasureTargets:
    """The data that one erasure removes or changes, by id, and the erased texts."""

    memories: set[str] = field(default_factory=set)
    messages: set[str] = field(default_factory=set)
    sessions: set[tuple[str, Scope]] = field(default_factory=set)
    mixed: dict[str, Memory] = field(default_factory=dict)
    """Memories with both erased and remaining sources. They are removed, then derived again from the remaining sources."""
    restated: dict[str, Memory] = field(default_factory=dict)
    """Memories whose current text was also stated by a remaining source. They stay, and only their erased sources are removed."""
    texts: list[str] = field(default_factory=list)

    @property
    def removed(self) -> set[str]:
        """Ids of all memories and messages to remove."""
        return self.memories | self.messages | set(self.mixed)


def owner_of(target: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a scope (user, app and agent) that an erasure target names."""
    return {part: target[part] for part in ("user", "app", "agent") if part in target}


def find_targets(reads: Reads, target: Mapping[str, str], scope: Scope | None) -> ErasureTargets:
    """Find the rows that an erasure target names, everything derived from these rows, and the texts of all of them.

    If the target is a session, ``scope`` is the scope of the session.
    """
    targets = find_rows(reads, target, scope)
    for id in (*targets.memories, *targets.mixed):
        targets.texts += [text for memory in reads.revisions(id) for text in memory_texts(memory)]
        targets.texts += change_texts(reads.changes(memory=id))
    for id, session_scope in targets.sessions:
        session = reads.session(id, session_scope)
        targets.texts += session_texts(session) if session is not None else ()
    return targets


def find_rows(reads: Reads, target: Mapping[str, str], scope: Scope | None) -> ErasureTargets:
    """Find the rows that an erasure target names, and everything derived from these rows.

    This is faster than :func:`find_targets`, because the texts of memories and sessions are left out. If the target is
    a session, ``scope`` is the scope of the session.
    """
    targets = ErasureTargets()
    owner = owner_of(target)
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
        targets.sessions.update((session.id, session.scope) for session in reads.sessions(SessionFilter(owner=owner)))
    if MEMORIES_OF_APP in target:
        memory_filters.append(MemoryFilter(owner={"app": target[MEMORIES_OF_APP]}, statuses=None))
    targets.memories.update(memory.id for filter in memory_filters for memory in reads.memories(filter))
    for message in (message for filter in message_filters for message in reads.messages(filter)):
        targets.messages.add(message.id)
        targets.texts += message_texts(message)
    follow_sources(reads, targets)
    return targets


def follow_sources(reads: Reads, targets: ErasureTargets) -> None:
    """Add to ``targets`` the memories derived from erased sources, then the memories derived from those memories, and so on.

    Each memory is added to one of three groups. ``restated``: a remaining source also stated its text, so the memory stays.
    ``memories``: all its sources are erased. ``mixed``: some sources remain, so the memory is removed and derived again.
    Memories derived from a mixed memory are added, too.
    """
    reached = targets.memories | targets.messages
    while reached:
        derived = reads.memories(MemoryFilter(sources=list(reached), statuses=None))
        gone = targets.memories | targets.messages
        reached = set()
        for memory in derived:
            if memory.id in targets.memories or memory.id in targets.mixed:
                continue
            if is_restated(reads.revisions(memory.id), gone | set(targets.mixed)):
                targets.restated[memory.id] = memory
                continue
            targets.restated.pop(memory.id, None)
            reached.add(memory.id)
            if gone.issuperset(memory.sources):
                targets.memories.add(memory.id)
            else:
                targets.mixed[memory.id] = memory


def is_restated(revisions: Sequence[Memory], gone: set[str]) -> bool:
    """Return True if a remaining source also stated the memory's current text. Then the memory can stay.

    ``revisions`` are all revisions of the memory. ``gone`` contains the ids of the erased sources.
    """
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


def surviving_messages(reads: Reads, targets: ErasureTargets) -> list[Message]:
    """Return the remaining source messages of the memories that lost only some of their sources.

    These memories are then derived again from the returned messages.
    """
    sources = {source for memory in targets.mixed.values() for source in memory.sources}
    return reads.messages(MessageFilter(ids=list(sources - targets.messages))) if sources else []


def messages_to_hide(reads: Reads, target: Mapping[str, str], targets: ErasureTargets) -> set[str]:
    """Return the ids of remaining messages that must be hidden, so that erased memories are not extracted from them again.

    If a memory is erased by its id, its source messages are hidden. The source messages of other erased memories are hidden
    only if these memories had been forgotten before. If all memories of an app are erased, all messages of the app are hidden.
    """
    ids = targets.memories | set(targets.mixed)
    forgotten = reads.memories(MemoryFilter(ids=list(ids), statuses=["forgotten"]))
    if "memory" in target:
        forgotten += reads.memories(MemoryFilter(ids=[target["memory"]], statuses=None))
    hidden = own_sources(reads, forgotten)
    if MEMORIES_OF_APP in target:  # also messages not digested yet, which would bring back erased memories
        hidden |= {message.id for message in reads.messages(MessageFilter(owner={"app": target[MEMORIES_OF_APP]}))}
    return hidden - targets.messages


def own_sources(reads: Reads, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the messages from which memories were derived. A message in another scope than its memory is left out."""
    scope_of = {source: memory.scope for memory in memories for source in memory.sources}
    found = reads.messages(MessageFilter(ids=list(scope_of)))
    return {message.id for message in found if message.scope == scope_of[message.id]}
