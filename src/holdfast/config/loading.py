"""Load the settings from arguments, environment variables and files.

A setting is looked up in the arguments, then in ``HOLDFAST_*`` variables, then in the settings file. Otherwise its
default applies. The settings file is ``holdfast.toml`` or ``holdfast.yaml`` in the working directory, or else in the
data directory.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from holdfast.config import environment
from holdfast.config.folders import data_directory
from holdfast.config.settings import Settings
from holdfast.errors import SettingsError
from holdfast.presets.settings import DESIGNS, DesignSettings, read_design

SettingsSource: TypeAlias = str | Path | Mapping[str, Any] | DesignSettings
"""A settings file, a mapping, or an object with the settings of a preset's design."""


FILES = ("holdfast.toml", "holdfast.yaml", "holdfast.yml")
"""Names of settings files, in order of precedence."""
_NUMBERS = {
    "idle_minutes": float,
    "undo_days": float,
    "message_days": float,
    "trace_days": float,
    "max_traces": int,
    "unused_days": float,
    "context_tokens": int,
    "recall_timeout": float,
    "min_trust": float,
    "chat_timeout": float,
    "chat_calls": int,
    "daily_cost": float,
    "daily_calls": int,
    "serve_port": int,
    "rate_limit": int,
    "max_body": int,
    "max_request": int,
    "max_text": int,
    "max_metadata": int,
    "max_batch": int,
    "tenant_rate_limit": int,
    "tenant_bytes": int,
    "store_connections": int,
    "scrub_interval": float,
    "resident_idle_minutes": float,
}
"""Numeric settings and their types. All values must be positive, except those in ``_MAY_BE_ZERO``."""
_MAY_BE_ZERO = ("trace_days", "scrub_interval")
"""Numeric settings for which zero switches something off."""
_BOOLEANS = ("plain_topic_files", "keep_off_record")
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
"""Accepted texts for settings that are true or false."""
_REMOVED = {
    "second_embedder": "One embedder serves all languages now. The default knows English and Spanish. "
    "For other languages, install holdfast-memory[multilingual] and set embedder to use-multilingual.",
}
"""Settings that no longer exist, and what to do instead."""


def load_settings(source: SettingsSource | None = None, **arguments: Any) -> Settings:
    """Return the merged settings. ``arguments`` are function arguments or command-line flags; None means not given.

    A ``source`` (a file, a mapping, or a design's settings) replaces the settings file.
    """
    file = from_folders((Path.cwd(), data_directory())) if source is None else from_source(source)
    if isinstance(source, DesignSettings):  # passed in code, so it takes precedence over the environment
        chosen = {"preset": source.preset, "store": source.store}
        arguments |= {name: value for name, value in chosen.items() if arguments.get(name) is None}
    names = variables() | {name: _variable(name) for name in _REMOVED}
    defined = environment.defined_variables(names.values())
    named = {name: defined[variable] for name, variable in names.items() if variable in defined}
    return merge(file, named, arguments)


def variables() -> dict[str, str]:
    """Return the name of the environment variable for each setting that has one."""
    return {item.name: _variable(item.name) for item in fields(Settings) if not item.metadata.get("table")}


def _variable(setting: str) -> str:
    return f"HOLDFAST_{setting.upper()}"


def from_folders(folders: Sequence[Path]) -> Mapping[str, Any]:
    """Return the settings in the first settings file that exists in these folders. Without such a file, return an empty dict."""
    for folder in folders:
        for name in FILES:
            if (folder / name).is_file():
                return read_file(folder / name)
    return {}


def from_source(source: SettingsSource) -> Mapping[str, Any]:
    """Return settings from a ``DesignSettings`` object, a mapping or a file. A mapping is treated like the content of a file.

    There are two types of files: the settings file of Holdfast, and the original YAML file of a design (an assistant such as
    Rumi). A file is a settings file if at least one name in it is a Holdfast setting. The values in the file of a design are
    returned under the name ``memory``. In both types, a table whose name is no Holdfast setting belongs to another program
    and is ignored.
    """
    if isinstance(source, DesignSettings):
        return {"preset": source.preset, "memory": source}
    names = {item.name for item in fields(Settings)} | _REMOVED.keys()
    table = source if isinstance(source, Mapping) else read_file(Path(source).expanduser())
    settings = {name: value for name, value in table.items() if name in names or not isinstance(value, Mapping)}
    return settings if not settings or names & set(settings) else {"memory": settings}


def read_file(file: Path) -> Mapping[str, Any]:
    """Return the names and values in a TOML or YAML file."""
    try:
        text = file.read_text("utf-8")
        if file.suffix == ".toml":
            table: object = tomllib.loads(text)
        else:
            import yaml  # noqa: PLC0415  (optional dependency)

            try:
                table = yaml.safe_load(text) or {}
            except yaml.YAMLError as error:
                raise SettingsError(f"The settings file {file} is not valid YAML: {error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"The settings file {file} cannot be read: {error}") from error
    except OSError as error:
        raise SettingsError(f"The settings file {file} cannot be read: {error.strerror}.") from error
    if not isinstance(table, dict):
        raise SettingsError(f"The settings file {file} must contain a table of names and values.")
    return table


def merge(file: Mapping[str, Any], variables: Mapping[str, Any], arguments: Mapping[str, Any]) -> Settings:
    """Return the merged settings. Arguments take precedence over variables, and variables over the file.

    An argument that is None counts as not given.
    """
    known = [item.name for item in fields(Settings)]
    merged: dict[str, Any] = {}
    for origin, values in (("settings", file), ("environment", variables), ("arguments", arguments)):
        for name, value in values.items():
            if name in _REMOVED:
                raise SettingsError(f"The setting {name} in the {origin} no longer exists: remove it. {_REMOVED[name]}")
            if name not in known:
                raise SettingsError(f"Unknown setting {name!r} in the {origin}. Known settings: {', '.join(sorted(known))}.")
            if value is not None and name != "memory":
                merged[name] = _typed(name, value)
    design = _design(file, str(merged.get("preset", "default")))
    if design is not None and design.store is not None:
        merged.setdefault("store", design.store)
    return Settings(**merged, memory=design)


def _design(file: Mapping[str, Any], preset: str) -> DesignSettings | None:
    """Return the settings of a design (an assistant such as Rumi) in a settings file, or None if the file has none.

    ``preset`` is the chosen preset. The settings of the design are a ``DesignSettings`` object or a table:

    - An object must be for the chosen preset. Otherwise raise ``SettingsError``.
    - A table is ignored if the file itself names another preset. Otherwise raise ``SettingsError`` if ``preset`` has no design
      settings, or if the table is invalid.
    """
    table = file.get("memory")
    if table is None:
        return None
    if isinstance(table, DesignSettings):
        if table.preset != preset:
            raise SettingsError(
                f"{type(table).__name__} configures the preset {table.preset!r}, not {preset!r}. Choose one of the two."
            )
        return table
    if file.get("preset", preset) != preset:
        return None
    if preset not in DESIGNS:
        raise SettingsError(
            f"The preset {preset!r} has no design settings, but the file contains some. "
            f"Set preset to one of {', '.join(sorted(DESIGNS))}."
        )
    return read_design(preset, table)


def _typed(name: str, value: Any) -> Any:
    """Convert a setting's value to its type, or raise an error that names the expected type."""
    if name == "allowed_hosts" and isinstance(value, list):
        return ",".join(map(str, value))
    if name in _BOOLEANS:
        if str(value).casefold() not in _FLAGS:
            raise SettingsError(f"The setting {name} must be true or false, not {value!r}.")
        return _FLAGS[str(value).casefold()]
    try:
        typed = _NUMBERS.get(name, str)(value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"The setting {name} must be a number, not {value!r}.") from error
    if name in _MAY_BE_ZERO and typed < 0:
        raise SettingsError(f"The setting {name} must be zero or more, not {value!r}.")
    if name in _NUMBERS and name not in _MAY_BE_ZERO and typed <= 0:
        raise SettingsError(f"The setting {name} must be greater than zero, not {value!r}.")
    if name == "min_trust" and typed > 1:
        raise SettingsError(f"The setting {name} must be at most 1, not {value!r}.")
    return typed
