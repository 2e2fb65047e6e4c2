"""Arguments that filter a list of memories, and their conversion to a store filter."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias, TypedDict

from holdfast.errors import InvalidInput
from holdfast.filters import check_page
from holdfast.learning.changes.keys import equal_keys
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, Reads, Store
from holdfast.runtime.clock import as_utc
from holdfast.text.clean import clean_key, clean_label, clean_namespace
from holdfast.types import Scope, Where

Kinds: TypeAlias = str | Sequence[str] | None
"""One kind of memory, several kinds, or None for all kinds.

It is passed as either ``kind=`` or ``kinds=``, never as both.
"""


ANY_LABEL = "*"
"""Label that stands for any label in the prefix or suffix of a list of namespaces."""


class ScopedListing(TypedDict, total=False):
    """Filter arguments of a list of memories within a scope; see :meth:`holdfast.Engine.memories`."""

    kind: Kinds
    kinds: Kinds
    key: str | None
    namespace: Sequence[str] | None
    namespace_prefix: Sequence[str]
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


def visible_kinds(preset: Preset) -> list[str] | None:
    """Return the names of the kinds that a list shows by default: all except internal kinds. Return None if this is all kinds.

    A preset keeps memories of an internal kind for its own use.
    """
    kinds = preset.kinds
    return [kind.name for kind in kinds if not kind.internal] if any(kind.internal for kind in kinds) else None


def with_key(reads: Reads, preset: Preset, wanted: MemoryFilter, key: str | None) -> MemoryFilter:
    """Return the filter ``wanted``, restricted to memories with this key. If ``key`` is None, return ``wanted`` unchanged.

    Case, accents and separators are ignored. In a preset that normalizes keys, synonyms also match: ``empleo`` also finds
    ``trabajo``. The keys of plain kinds must match exactly.
    """
    if key is None:
        return wanted
    searched = [kind for kind in preset.kinds if wanted.kinds is None or kind.name in wanted.kinds]
    plain = [kind.name for kind in searched if kind.plain]
    if searched and len(plain) == len(searched):
        return replace(wanted, key=clean_key(key, exact=True))
    cleaned = clean_key(key) or ""
    known = reads.keys(wanted)
    exact = reads.keys(replace(wanted, kinds=plain)) if plain else []
    meant = equal_keys(cleaned, known, synonyms=preset.reconcile_rules.normalize_keys)
    return replace(wanted, keys={cleaned, *(other for other in meant if other not in exact)})


def list_namespaces(
    store: Store,
    wanted: MemoryFilter,
    *,
    prefix: Sequence[str],
    suffix: Sequence[str],
    max_depth: int | None,
    limit: int,
    offset: int,
) -> list[tuple[str, ...]]:
    """List the namespaces of the memories that ``wanted`` selects.

    Each namespace must start with ``prefix`` and end with ``suffix``. In both, ``*`` matches any label. Longer namespaces are
    cut to ``max_depth`` labels, and duplicates are removed.
    """
    check_page(limit=limit, offset=offset)
    if max_depth is not None and (not isinstance(max_depth, int) or isinstance(max_depth, bool) or max_depth < 1):
        raise InvalidInput(f"max_depth must be a whole number of at least 1, not {max_depth!r}.")
    start, end = clean_namespace(prefix), clean_namespace(suffix)
    fixed = tuple(itertools.takewhile(lambda label: label != ANY_LABEL, start))
    found = store.namespaces(replace(wanted, namespace_prefix=fixed))
    kept = [each for each in found if _fits(each, start) and _fits(each[::-1], end[::-1])]
    cut = list(dict.fromkeys(each[:max_depth] for each in kept))
    return cut[offset : offset + limit]


def _fits(labels: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return True if a namespace starts with the labels of a pattern. ``*`` in the pattern matches any label."""
    pairs = zip(labels, pattern, strict=False)
    return len(labels) >= len(pattern) and all(wanted in (ANY_LABEL, label) for label, wanted in pairs)


def listing_filter(
    reads: Reads,
    preset: Preset,
    reader: Scope,
    now: datetime,
    *,
    kind: Kinds = None,
    kinds: Kinds = None,
    key: str | None = None,
    namespace: Sequence[str] | None = None,
    namespace_prefix: Sequence[str] = (),
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
        kinds=visible_kinds(preset) if names is None else [preset.kind(name).name for name in names],
        namespace=None if namespace is None else clean_namespace(namespace),
        namespace_prefix=clean_namespace(namespace_prefix),
        topic=clean_label(topic, what="topic"),
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
    return with_key(reads, preset, wanted, key)
