"""Settings, and the one place that names concrete stores and models and reads the environment.

A setting is looked up in the arguments, then in ``HOLDFAST_*`` variables, then in ``holdfast.toml`` or
``holdfast.yaml`` (in the working directory, then in the data directory), then in its default.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import platformdirs

from holdfast.embedding import EmbedderSource
from holdfast.engine import Engine
from holdfast.errors import SettingsError
from holdfast.models import registry
from holdfast.presets import find_preset
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Embedder, Store
from holdfast.stores.sqlite import SQLiteStore
from holdfast.text.clean import clean_name

_FILES = ("holdfast.toml", "holdfast.yaml", "holdfast.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a user can set, each with its default. ``docs/settings.md`` is made from this."""

    store: str | None = field(
        default=None, metadata={"help": "The store: a file or a folder. Default: memory.db in the data directory."}
    )
    preset: str = field(default="default", metadata={"help": "The way of remembering."})
    tenant: str = field(default="default", metadata={"help": "Whose rows of the store are seen; tenants never meet."})
    embedder: str = field(
        default=registry.DEFAULT_MODEL, metadata={"help": "The embedding model, or `none` to search by text alone."}
    )
    key: str | None = field(
        default=None, metadata={"help": "The key of an encrypted store. Better given as HOLDFAST_KEY than in a file."}
    )
    worker: str = field(
        default="thread",
        metadata={"help": "Who does background work: `thread`, `inline` or `none` (then run `holdfast worker`)."},
    )
    idle_minutes: float | None = field(
        default=None, metadata={"help": "Minutes of silence after which a session closes. Default: the preset's (7)."}
    )
    undo_days: float | None = field(
        default=None, metadata={"help": "Days for which forgetting can be undone. Default: the preset's (30)."}
    )
    message_days: float | None = field(
        default=None, metadata={"help": "Days for which raw messages are kept once digested. Default: for ever."}
    )
    context_tokens: int | None = field(default=None, metadata={"help": "Tokens of a context block. Default: the preset's (800)."})


def data_directory() -> Path:
    """Return where data lives: ``HOLDFAST_HOME``, or the platform's data directory."""
    home = os.environ.get("HOLDFAST_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_data_dir("holdfast", appauthor=False))


def models_directory() -> Path:
    """Return where weights live: ``HOLDFAST_MODELS``, or the platform's cache directory."""
    given = os.environ.get("HOLDFAST_MODELS")
    return Path(given).expanduser() if given else Path(platformdirs.user_cache_dir("holdfast", appauthor=False)) / "models"


def load_settings(**given: Any) -> Settings:
    """Return the settings in force; ``given`` are arguments or flags, None meaning not given."""
    known = {item.name for item in fields(Settings)}
    merged: dict[str, Any] = {}
    for origin, values in (("settings file", _from_file()), ("environment", _from_environment()), ("arguments", given)):
        for name, value in values.items():
            if name not in known:
                raise SettingsError(f"Unknown setting {name!r} in the {origin}; known are: {', '.join(sorted(known))}.")
            if value is not None:
                merged[name] = _typed(name, value)
    return Settings(**merged)


def _from_environment() -> Mapping[str, str]:
    names = {f"HOLDFAST_{item.name.upper()}": item.name for item in fields(Settings)}
    return {name: os.environ[variable] for variable, name in names.items() if os.environ.get(variable)}


def _from_file() -> Mapping[str, Any]:
    for folder in (Path.cwd(), data_directory()):
        for name in _FILES:
            file = folder / name
            if file.is_file():
                return _read(file)
    return {}


def _read(file: Path) -> Mapping[str, Any]:
    try:
        text = file.read_text("utf-8")
        if file.suffix == ".toml":
            table: object = tomllib.loads(text)
        else:
            import yaml  # noqa: PLC0415  (only for those who use it)

            try:
                table = yaml.safe_load(text) or {}
            except yaml.YAMLError as error:
                raise SettingsError(f"{file} is not valid YAML: {error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    if not isinstance(table, dict):
        raise SettingsError(f"{file} must hold settings by name.")
    return table


def _typed(name: str, value: Any) -> Any:
    """Return a setting as its type, or say what it should be."""
    numbers = {"idle_minutes": float, "undo_days": float, "message_days": float, "context_tokens": int}
    try:
        typed = numbers.get(name, str)(value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"The setting {name} must be a number, not {value!r}.") from error
    if name in numbers and typed <= 0:
        raise SettingsError(f"The setting {name} must be greater than zero, not {value!r}.")
    return typed


def store_path(settings: Settings) -> Path:
    """Return the file of the store: a folder holds it under the name memory.db."""
    if settings.store is None:
        return data_directory() / "memory.db"
    given = settings.store.removeprefix("sqlite:///")
    if "://" in given:
        raise SettingsError(
            f"{given.split(':')[0]}:// is not a kind of store this version has; use a file path or sqlite:///FILE."
        )
    path = Path(given).expanduser()
    return path / "memory.db" if path.is_dir() or not path.suffix else path


def make_preset(settings: Settings, preset: str | Preset | None = None) -> Preset:
    """Return the preset with what the settings change of it."""
    chosen = find_preset(preset or settings.preset)
    changed: dict[str, Any] = {}
    if settings.idle_minutes is not None:
        changed["idle_after"] = timedelta(minutes=settings.idle_minutes)
    if settings.undo_days is not None:
        changed["undo_window"] = timedelta(days=settings.undo_days)
    if settings.message_days is not None:
        changed["message_retention"] = timedelta(days=settings.message_days)
    if settings.context_tokens is not None:
        changed["context_tokens"] = settings.context_tokens
    return replace(chosen, **changed)


def make_store(settings: Settings) -> Store:
    """Open the configured store."""
    tenant = clean_name(settings.tenant, what="tenant") or "default"
    return SQLiteStore(store_path(settings), tenant=tenant, key=settings.key)


def make_embedder(name: str | Embedder) -> EmbedderSource | None:
    """Return an embedder by name, loaded when first used; one of the caller's own is used as it is."""
    if not isinstance(name, str):
        return EmbedderSource(name=name.name, load=lambda: name)
    if name.casefold() == "none":
        return None
    spec = registry.find(name)

    def load() -> Embedder:
        # From 1.29 on, onnxruntime reports its use to its maker unless this is set before it is imported.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        from holdfast.models.local import LocalEmbedder  # noqa: PLC0415  (onnxruntime is heavy)

        embedder = LocalEmbedder(spec, models_directory())
        embedder.load()
        return embedder

    return EmbedderSource(name=spec.name, load=load)


def open_engine(
    path: str | Path | None = None,
    *,
    preset: str | Preset | None = None,
    embedder: str | Embedder | None = None,
    tenant: str | None = None,
    key: str | None = None,
    worker: Literal["thread", "inline", "none"] | None = None,
    clock: Clock | None = None,
) -> Engine:
    """Open a memory: by default the one in the user's data directory, with the embedded store and models."""
    settings = load_settings(store=None if path is None else str(path), tenant=tenant, key=key, worker=worker)
    if settings.worker not in ("thread", "inline", "none"):
        raise SettingsError(f"worker is thread, inline or none, not {settings.worker!r}.")
    chosen = make_preset(settings, preset)
    source = make_embedder(settings.embedder if embedder is None else embedder)
    return Engine(make_store(settings), preset=chosen, embedder=source, clock=clock, worker=settings.worker)  # type: ignore[arg-type]
