"""Count the items that an erasure, or forgetting several memories, would remove. Nothing is changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.forgetting.targets import MEMORIES_OF_APP, find_rows, find_targets, messages_to_hide, own_sources, owner_of
from holdfast.protocols import MemoryFilter, MessageFilter, Reads
from holdfast.types import Memory, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Counts of the items that forgetting or erasing the selected memories would hide or remove."""

    memories: int
    """Number of the selected memories."""
    derived: int = 0
    """Number of other memories that were derived only from the selected memories.

    An erasure removes them. Forgetting does not change them.
    """
    rebuilt: int = 0
    """Number of memories that were derived from the selected memories and also from other sources.

    An erasure removes them, and derives them again from the other sources. Forgetting does not change them.
    """
    revisions: int = 0
    messages: int = 0
    """Number of messages from which the selected memories were extracted. They are hidden, so that nothing is extracted again."""


def losses(reads: Reads, ids: Iterable[str], *, erase: bool) -> Losses:
    """Count the items that forgetting these memories would hide.

    With ``erase``, count instead the items that erasing these memories would remove, rebuild or hide.
    """
    named = set(ids)
    own = reads.memories(MemoryFilter(ids=list(named), statuses=None)) if named else []
    hidden = own_sources(reads, own) if own else set()
    if not erase:
        return Losses(memories=len(own), messages=len(hidden))
    removed, mixed = set(named), set[str]()
    for id in named:
        targets = find_targets(reads, {"memory": id}, None)
        removed |= targets.memories
        mixed |= set(targets.mixed)
    mixed -= removed
    return Losses(
        memories=len(own),
        derived=len(removed - named),
        rebuilt=len(mixed),
        revisions=sum(len(reads.revisions(id)) for id in removed | mixed),
        messages=len(hidden),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureLosses:
    """Counts of the items that one erasure would remove, change or hide."""

    memories: int = 0
    """Number of memories to remove, including ``derived``."""
    live: int = 0
    """Number of the memories to remove that are in use. The others are retired."""
    derived: int = 0
    """Number of the memories to remove that the target does not name. They were derived only from the data to erase."""
    rebuilt: int = 0
    """Number of memories that were derived from the data to erase and also from other sources.

    They are not counted in ``memories``. The erasure removes them, and derives them again from the other sources.
    """
    revisions: int = 0
    """Number of revisions of all memories to remove or to rebuild."""
    messages: int = 0
    sessions: int = 0
    hidden: int = 0
    """Number of messages that stay stored, but are hidden, so that erased memories are not extracted from them again."""


def erasure_losses(reads: Reads, target: Mapping[str, str], scope: Scope | None = None) -> ErasureLosses:
    """Count the items that :func:`holdfast.forgetting.erase.erase` would remove for this target.

    ``scope`` is the scope of a session. It is required if the target is a session.
    """
    targets = find_rows(reads, target, scope)
    removed = reads.memories(MemoryFilter(ids=list(targets.memories), statuses=None)) if targets.memories else []
    stored = reads.messages(MessageFilter(ids=list(targets.messages))) if targets.messages else []
    return ErasureLosses(
        memories=len(removed),
        live=sum(memory.status == "live" for memory in removed),
        derived=sum(not _is_named(memory, target) for memory in removed),
        rebuilt=len(targets.mixed),
        revisions=sum(len(reads.revisions(id)) for id in (*targets.memories, *targets.mixed)),
        messages=len(stored),
        sessions=len(targets.sessions),
        hidden=len(messages_to_hide(reads, target, targets)),
    )


def _is_named(memory: Memory, target: Mapping[str, str]) -> bool:
    """Return True if an erasure target names a memory, by its id or by its scope."""
    if memory.id in (target.get("memory"), target.get("source")):
        return True
    owner = owner_of(target) or ({"app": target[MEMORIES_OF_APP]} if MEMORIES_OF_APP in target else {})
    return bool(owner) and all(getattr(memory.scope, part) == name for part, name in owner.items())
