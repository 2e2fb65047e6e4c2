"""Explain the settings of a running process: for each setting, its value, the source of the value, and its effect."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from holdfast.config import environment
from holdfast.config.folders import data_directory
from holdfast.config.loading import FILES, merge, read_file, variables
from holdfast.config.settings import SECRET, Settings, without_password
from holdfast.errors import SettingsError
from holdfast.models.local import registry
from holdfast.presets.base import Preset

log = logging.getLogger("holdfast")
Origin: TypeAlias = Literal["argument", "environment", "file", "preset", "default"]
Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSetting:
    """A setting with its value and the source of the value."""

    name: str
    value: Value
    """The value in effect. Keys and passwords are masked."""
    origin: Origin
    """Where the value comes from. ``argument`` means a command-line flag, ``--settings``, or an argument in Python."""
    place: str | None
    """The environment variable or the file that has the value; None for other origins."""
    variable: str | None
    """The environment variable for this setting, or None if there is none."""
    help: str


@dataclass(frozen=True, slots=True)
class _Given:
    """The settings from one source: the environment or the settings file."""

    origin: Origin
    settings: Settings
    names: frozenset[str]
    place: str | None = None


def explain_settings(settings: Settings, preset: Preset) -> Sequence[ExplainedSetting]:
    """Return every setting with its value and the source of the value.

    If the source is an environment variable or the settings file, ``place`` is the name of the variable or the path of the
    file.
    """
    names, sources = variables(), _sources()
    found = []
    for item in fields(Settings):
        name, value = item.name, getattr(settings, item.name)
        given = next((each for each in sources if name in each.names and getattr(each.settings, name) == value), None)
        origin: Origin = given.origin if given else "default" if value == item.default else "argument"
        if value is None and (preset_value := _preset_value(name, preset)) is not None:
            origin, value = "preset", preset_value
        place = None if given is None else given.place or names.get(name)
        shown, text = _shown(name, value), str(item.metadata["help"])
        found.append(ExplainedSetting(name=name, value=shown, origin=origin, place=place, variable=names.get(name), help=text))
    return found


def _sources() -> list[_Given]:
    """Return one entry for the environment and, if there is a settings file, one entry for this file.

    Each entry has the settings that are given there. If one of these settings is invalid, log a warning and return an empty
    list.
    """
    names, path = variables(), _settings_file()
    defined = environment.defined_variables(names.values())
    given: list[tuple[Origin, Mapping[str, Any], str | None]] = [
        ("environment", {name: defined[variable] for name, variable in names.items() if variable in defined}, None)
    ]
    found = []
    try:
        given += [("file", read_file(path), str(path))] if path else []
        found += [_Given(origin, merge(values, {}, {}), frozenset(values), place) for origin, values, place in given]
    except SettingsError as error:
        log.warning("The origin of settings is not known: %s", error)
    return found


def _settings_file() -> Path | None:
    """Return the path of the settings file that is used by default, or None if there is no such file."""
    paths = (folder / name for folder in (Path.cwd(), data_directory()) for name in FILES)
    return next((path for path in paths if path.is_file()), None)


def _preset_value(name: str, preset: Preset) -> Value:
    """Return the value that applies if a setting is not set: the preset's value, or None if the preset has none."""
    return {
        "embedder": preset.embedder or registry.DEFAULT_MODEL,
        "idle_minutes": preset.idle_after.total_seconds() / 60 if preset.idle_after else None,
        "undo_days": preset.undo_window.days,
        "message_days": preset.message_retention.days if preset.message_retention else None,
        "unused_days": preset.unused_after.days if preset.unused_after else None,
        "context_tokens": preset.context_tokens,
        "min_trust": preset.min_trust,
    }.get(name)


def _shown(name: str, value: Any) -> Value:
    if value is not None and name in SECRET:
        return "***"
    masked = without_password(value)
    return masked if masked is None or isinstance(masked, str | int | float) else repr(masked)
