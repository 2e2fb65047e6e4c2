"""Count the items that forgetting or erasing several memories would remove, without changing anything."""

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.forgetting.targets import find_targets, own_sources
from holdfast.protocols import MemoryFilter, Reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Counts of the items that forgetting or erasing the selected memories would hide or remove."""

    memories: int
    """Number of the selected memories."""
    derived: int = 0
    """Number of other memories that were derived from the selected memories. They are removed, too."""
    rebuilt: int = 0
    """Number of memories that have other sources, too. They are removed and derived again from the other sources."""
    revisions: int = 0
    messages: int = 0
    """Number of messages from which the selected memories were extracted. They are hidden, so that nothing is extracted again."""


def losses(reads: Reads, ids: Iterable[str], *, erase: bool) -> Losses:
    """Count the items that forgetting these memories would hide, or that erasing them would remove."""
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
