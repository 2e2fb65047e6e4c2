"""Records the plain kinds of a store in the store itself, and applies them whenever the store is opened.

Memories of a plain kind are stored exactly as given, and are not part of context blocks. Without this record, a program
that opens the store without these kinds would treat such memories as statements and show them.
"""

from dataclasses import replace

from holdfast.presets.base import Preset
from holdfast.presets.plain_kinds import RECORDED, read_kinds, write_kinds
from holdfast.protocols import Store


def with_recorded_kinds(store: Store, preset: Preset) -> Preset:
    """Record the preset's plain kinds in the store. Return the preset, extended by the plain kinds that other programs recorded."""
    recorded = read_kinds(store.setting(RECORDED))
    plain = {kind.name: kind for kind in preset.kinds if kind.plain}
    if any(recorded.get(name) != kind for name, kind in plain.items()):
        with store.write() as tx:
            recorded = read_kinds(tx.setting(RECORDED))
            tx.set_setting(RECORDED, write_kinds(list({**recorded, **plain}.values())))
    own = {kind.name for kind in preset.kinds}
    missing = tuple(kind for name, kind in recorded.items() if name not in own)
    return replace(preset, kinds=(*preset.kinds, *missing)) if missing else preset
