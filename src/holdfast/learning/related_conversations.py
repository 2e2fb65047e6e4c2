"""Which other conversations a memory has to do with, noted in its metadata by their ids, a few at most."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.learning.changes.reconcile import Neighbor
from holdfast.learning.changes.sameness import SOURCE_DISTANCE, DocumentCalibration, is_near
from holdfast.text.clean import fold
from holdfast.types import Change, Memory, Put, Retire

CONVERSATION: Final = "conversation"
"""The metadata entry that names the conversation a memory was made of."""
RELATED: Final = "related"
"""The one that lists others whose memories are near."""
_MAX_RELATED: Final = 5


def with_neighbors(put: Put, near: Sequence[Neighbor], calibration: DocumentCalibration | None) -> Put:
    """Return a conversation's memory with the conversations that its neighbours came from, the nearest first.

    A neighbour counts when it shares a tag, or means nearly the same. Nothing is looked up: the neighbours were
    found to tell new from known.
    """
    own = put.metadata.get(CONVERSATION)
    if own is None:
        return put
    tags = {fold(tag) for tag in put.tags}
    ranked: list[tuple[float, str]] = []
    for each in near:
        shared = len(tags & {fold(tag) for tag in each.memory.tags})
        if shared or is_near(each.cosine, SOURCE_DISTANCE, calibration):
            ranked.append((shared + (each.cosine or 0.0), _conversation(each.memory.metadata)))
    ranked.sort(reverse=True)
    return _noting(put, own, [conversation for _, conversation in ranked])


def with_conversations(changes: Sequence[Change], members: Sequence[Memory]) -> tuple[Change, ...]:
    """Return a compaction's changes so that a memory that takes another in keeps that one's conversations in mind."""
    by_id = {memory.id: memory for memory in members}
    taken: dict[str, list[str]] = {}
    for change in changes:
        if isinstance(change, Retire) and change.replaced_by is not None and change.id in by_id:
            metadata = by_id[change.id].metadata
            taken.setdefault(change.replaced_by, []).extend([_conversation(metadata), *_listed(metadata)])
    return tuple(
        _noting(change, change.metadata.get(CONVERSATION), [*_listed(change.metadata), *taken[change.id]])
        if isinstance(change, Put) and change.id in taken
        else change
        for change in changes
    )


def _noting(put: Put, own: object, conversations: Sequence[str]) -> Put:
    others = [each for each in dict.fromkeys(conversations) if each and each != own][:_MAX_RELATED]
    return replace(put, metadata={**put.metadata, RELATED: others}) if others else put


def _conversation(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get(CONVERSATION) or "")


def _listed(metadata: Mapping[str, Any]) -> list[str]:
    found = metadata.get(RELATED)
    return [str(each) for each in found] if isinstance(found, list | tuple) else []
