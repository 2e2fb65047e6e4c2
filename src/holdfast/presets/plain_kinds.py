"""Plain kinds (whose memories are stored exactly as given) that callers add to a preset, and their conversion to and from JSON.

The JSON is recorded in the store and is part of exports.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.presets.base import Preset
from holdfast.protocols import Reads
from holdfast.types import Kind

RECORDED = "plain_kinds"
"""Name of the store's internal setting that lists the plain kinds as JSON."""


def with_kinds(preset: Preset, kinds: Sequence[Kind]) -> Preset:
    """Return the preset with additional kinds. Raise ``InvalidInput`` if it already has a different kind with the same name."""
    added: dict[str, Kind] = {}
    own = {kind.name: kind for kind in preset.kinds}
    for kind in kinds:
        known = own.get(kind.name, added.get(kind.name))
        if known is not None and known != kind:
            raise InvalidInput(f"The preset {preset.name!r} already has another kind {kind.name!r}. Use another name.")
        if kind.name not in own:
            added[kind.name] = kind
    return replace(preset, kinds=(*preset.kinds, *added.values())) if added else preset


def adopt_kinds(preset: Preset, kinds: Sequence[Kind]) -> None:
    """Add kinds to the preset of an open engine.

    The preset is changed in place, so that all components of the engine get the new kinds at once. The preset must be
    the engine's own copy. Raise ``InvalidInput`` as :func:`with_kinds` does.
    """
    grown = with_kinds(preset, kinds)
    if grown is not preset:
        object.__setattr__(preset, "kinds", grown.kinds)


def adopt_recorded_kinds(reads: Reads, preset: Preset) -> None:
    """Add the plain kinds that the store has recorded since the engine was opened, for example in another process.

    A recorded kind is left out if the preset already has a kind with the same name.
    """
    own = {kind.name for kind in preset.kinds}
    adopt_kinds(preset, [kind for name, kind in read_kinds(reads.setting(RECORDED)).items() if name not in own])


def write_kinds(kinds: Sequence[Kind]) -> str:
    """Return plain kinds as JSON text, in the form that is recorded in the store."""
    return json.dumps([kind_to_json(kind) for kind in kinds])


def read_kinds(recorded: str | None) -> dict[str, Kind]:
    """Parse the JSON text that a store has recorded about plain kinds. Return the kinds by name."""
    return {kind.name: kind for kind in map(kind_from_json, json.loads(recorded or "[]"))}


def kind_to_json(kind: Kind) -> dict[str, Any]:
    """Return a kind as a JSON object. A lifetime is in seconds."""
    lifetime = kind.lifetime.total_seconds() if isinstance(kind.lifetime, timedelta) else kind.lifetime
    return {**asdict(kind), "lifetime": lifetime}


def kind_from_json(given: Mapping[str, Any]) -> Kind:
    """Return the kind that a JSON object describes, or raise InvalidInput."""
    seconds = given.get("lifetime")
    lifetime = timedelta(seconds=seconds) if isinstance(seconds, int | float) else seconds
    try:
        return Kind(**{**given, "lifetime": lifetime})
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"This does not describe a kind of memory: {json.dumps(dict(given))}.") from error
