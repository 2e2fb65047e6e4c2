"""Kinds that a caller adds to a preset. Plain kinds are recorded in the store and apply whenever the store is opened.

Without the record, a program that opens the store with the preset alone would treat plain memories as statements and
show them in context blocks.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.presets.base import Preset
from holdfast.protocols import Store
from holdfast.types import Kind

_RECORDED = "plain_kinds"
"""Name of the store's internal setting that lists the plain kinds as JSON."""


def with_kinds(preset: Preset, kinds: Sequence[Kind]) -> Preset:
    """Return the preset with more kinds, or raise InvalidInput if it has another kind of the same name."""
    added: dict[str, Kind] = {}
    own = {kind.name: kind for kind in preset.kinds}
    for kind in kinds:
        known = own.get(kind.name, added.get(kind.name))
        if known is not None and known != kind:
            raise InvalidInput(f"The preset {preset.name!r} already has another kind {kind.name!r}. Use another name.")
        if kind.name not in own:
            added[kind.name] = kind
    return replace(preset, kinds=(*preset.kinds, *added.values())) if added else preset


def with_recorded_kinds(store: Store, preset: Preset) -> Preset:
    """Record the preset's plain kinds in the store, and return the preset with the plain kinds that were recorded before."""
    recorded = _read(store.setting(_RECORDED))
    plain = {kind.name: kind for kind in preset.kinds if kind.plain}
    if any(recorded.get(name) != kind for name, kind in plain.items()):
        with store.write() as tx:
            recorded = _read(tx.setting(_RECORDED))
            tx.set_setting(_RECORDED, json.dumps([_entry(kind) for kind in {**recorded, **plain}.values()]))
    own = {kind.name for kind in preset.kinds}
    missing = tuple(kind for name, kind in recorded.items() if name not in own)
    return replace(preset, kinds=(*preset.kinds, *missing)) if missing else preset


def _entry(kind: Kind) -> dict[str, Any]:
    lifetime = kind.lifetime.total_seconds() if isinstance(kind.lifetime, timedelta) else kind.lifetime
    return {**asdict(kind), "lifetime": lifetime}


def _read(stored: str | None) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for entry in json.loads(stored or "[]"):
        seconds = entry["lifetime"]
        lifetime = timedelta(seconds=seconds) if isinstance(seconds, int | float) else seconds
        found[entry["name"]] = Kind(**{**entry, "lifetime": lifetime})
    return found
