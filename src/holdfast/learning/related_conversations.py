"""Record the ids of a few related conversations in a memory's metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.learning.changes.reconcile import Neighbor
from holdfast.learning.changes.sameness import SOURCE_DISTANCE, DocumentCalibration, is_near
from holdfast.text.clean import fold
from holdfast.types import Change, Memory, Put, Retire

CONVERSATION: Final = "conversation"
"""Metadata key for the id of the conversation that a memory was extracted from."""
RELATED: Final = "related"
"""Metadata key for the list of conversations with similar memories."""
_MAX_RELATED: Final = 5


def with_neighbors(put: Put, near: Sequence[Neighbor], calibration: DocumentCalibration | None) -> Put:
    """Return a Put (a memory to store) whose metadata lists the conversations of similar memories, most similar first.

    A memory is similar if it shares a tag with the Put or has nearly the same meaning. Only the memories in ``near`` are
    compared. A Put without a conversation in its metadata is returned unchanged.
    """
    own = put.metadata.get(CONVERSATION)
    if own is None:
        return put
    tags = {fold(tag) for tag in put.tags}
    ranked: list[tuple[float, str]] = []
    for neighbor in near:
        shared = len(tags & {fold(tag) for tag in neighbor.memory.tags})
        if shared or is_near(neighbor.cosine, SOURCE_DISTANCE, calibration):
            ranked.append((shared + (neighbor.cosine or 0.0), _conversation(neighbor.memory.metadata)))
    ranked.sort(reverse=True)
    return _with_related(put, own, [conversation for _, conversation in ranked])


def with_conversations(changes: Sequence[Change], members: Sequence[Memory]) -> tuple[Change, ...]:
    """Add the conversations of merged memories to the changes of a compaction. Return all changes.

    If a memory was merged into another memory, the metadata of the other memory also lists the conversations of the merged
    memory. ``members`` are the memories before the compaction.
    """
    by_id = {memory.id: memory for memory in members}
    inherited: dict[str, list[str]] = {}
    for change in changes:
        if isinstance(change, Retire) and change.replaced_by is not None and change.id in by_id:
            metadata = by_id[change.id].metadata
            inherited.setdefault(change.replaced_by, []).extend([_conversation(metadata), *_listed(metadata)])
    return tuple(
        _with_related(change, change.metadata.get(CONVERSATION), [*_listed(change.metadata), *inherited[change.id]])
        if isinstance(change, Put) and change.id in inherited
        else change
        for change in changes
    )


def _with_related(put: Put, own: object, conversations: Sequence[str]) -> Put:
    others = [other for other in dict.fromkeys(conversations) if other and other != own][:_MAX_RELATED]
    return replace(put, metadata={**put.metadata, RELATED: others}) if others else put


def _conversation(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get(CONVERSATION) or "")


def _listed(metadata: Mapping[str, Any]) -> list[str]:
    related = metadata.get(RELATED)
    return [str(conversation) for conversation in related] if isinstance(related, list | tuple) else []
