"""Arguments that filter a list of memories, and their conversion to a store filter."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias, TypedDict

from holdfast.errors import InvalidInput
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter
from holdfast.runtime.clock import as_utc
from holdfast.text.clean import clean_name
from holdfast.types import Scope, Where

Kinds: TypeAlias = str | Sequence[str] | None
"""One kind of memory, several kinds, or None for all kinds.

It is passed as either ``kind=`` or ``kinds=``, never as both.
"""


class ScopedListing(TypedDict, total=False):
    """Filter arguments of a list of memories within a scope; see :meth:`holdfast.Engine.memories`."""

    kind: Kinds
    kinds: Kinds
    key: str | None
    topic: str | None
    where: Where | None
    as_of: datetime | str | None
    known_at: datetime | str | None
    retired: bool


class Listing(ScopedListing, total=False):
    """Filter arguments of a list of memories, including the scope."""

    user: str | None
    app: str | None
    agent: str | None


def kind_names(kind: Kinds, kinds: Kinds) -> list[str] | None:
    """Return the kinds given as ``kind`` or ``kinds``, or None for all kinds."""
    if kind is not None and kinds is not None:
        raise InvalidInput("kind= and kinds= mean the same: give one of them.")
    given = kind if kinds is None else kinds
    return [given] if isinstance(given, str) else None if given is None else list(given)


def listing_filter(
    preset: Preset,
    reader: Scope,
    now: datetime,
    *,
    kind: Kinds = None,
    kinds: Kinds = None,
    key: str | None = None,
    topic: str | None = None,
    where: Where | None = None,
    as_of: datetime | str | None = None,
    known_at: datetime | str | None = None,
    retired: bool = False,
) -> MemoryFilter:
    """Convert the filter arguments of a list of memories to a store filter."""
    names = kind_names(kind, kinds)
    wanted = MemoryFilter(
        reader=reader,
        kinds=None if names is None else [preset.kind(name).name for name in names],
        key=clean_name(key, what="key"),
        topic=clean_name(topic, what="topic"),
        where=where,
        unexpired_at=now,
    )
    if as_of is not None:
        moment = as_utc(as_of, what="as_of")
        wanted = replace(wanted, as_of=moment, unexpired_at=None, statuses=["live", "superseded", "expired"])
    if known_at is not None:
        moment = as_utc(known_at, what="known_at")
        wanted = replace(wanted, known_at=moment, unexpired_at=moment)
    if retired:
        wanted = replace(wanted, statuses=["superseded", "forgotten", "expired"], unexpired_at=None)
    return wanted
