"""Presets. A preset holds the settings that differ between assistants. The engine is the same for all of them.

A preset defines an assistant's kinds of memory, and how the assistant extracts memories, recalls them and builds its
prompt.
"""

from holdfast.errors import SettingsError
from holdfast.presets.apps import APPS
from holdfast.presets.base import Preset
from holdfast.presets.default import DEFAULT
from holdfast.presets.lobug import LOBUG
from holdfast.presets.reachy import REACHY
from holdfast.presets.rostro import ROSTRO
from holdfast.presets.rumi import RUMI

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (DEFAULT, APPS, LOBUG, REACHY, ROSTRO, RUMI)}


def find_preset(preset: str | Preset) -> Preset:
    """Return the preset with this name. If the argument is a ``Preset`` already, return it unchanged."""
    if isinstance(preset, Preset):
        return preset
    if preset not in PRESETS:
        raise SettingsError(f"There is no preset {preset!r}. Choose one of: {', '.join(sorted(PRESETS))}.")
    return PRESETS[preset]
