"""Settings, and the one place that names concrete stores and models and reads the environment.

A setting is looked up in the arguments, then in ``HOLDFAST_*`` variables, then in ``holdfast.toml`` or
``holdfast.yaml`` (in the working directory, then in the data directory), then in its default.
"""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, cast

import platformdirs

from holdfast.chat import ChatModel
from holdfast.embedding import EmbedderSource
from holdfast.engine import Engine
from holdfast.errors import SettingsError
from holdfast.models import registry
from holdfast.presets import find_preset
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Embedder, Store
from holdfast.stores.sqlite import SQLiteStore
from holdfast.text.clean import clean_name
from holdfast.thinking import ChatSource, Limits

_FILES = ("holdfast.toml", "holdfast.yaml", "holdfast.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a user can set, each with its default. ``docs/settings.md`` is made from this."""

    store: str | None = field(
        default=None, metadata={"help": "The store: a file or a folder. Default: memory.db in the data directory."}
    )
    preset: str = field(
        default="default", metadata={"help": "The way of remembering: `default`, `apps`, `lobug`, `reachy` or `rumi`."}
    )
    tenant: str = field(default="default", metadata={"help": "Whose rows of the store are seen; tenants never meet."})
    embedder: str = field(
        default=registry.DEFAULT_MODEL, metadata={"help": "The embedding model, or `none` to search by text alone."}
    )
    embedder_url: str | None = field(
        default=None, metadata={"help": "Where a remote embedder is served, if not at its provider."}
    )
    chat: str = field(
        default="none",
        metadata={"help": "The chat model that learns, such as `openai:gpt-4o-mini` or `ollama:llama3.2`; `none`: rules alone."},
    )
    chat_url: str | None = field(
        default=None, metadata={"help": "Where the chat model is served, if not at its provider: any OpenAI-compatible address."}
    )
    chat_key: str | None = field(
        default=None,
        metadata={"help": "The chat provider's key. Default: the provider's own variable, such as OPENAI_API_KEY."},
    )
    daily_cost: float | None = field(
        default=None, metadata={"help": "US dollars that background work may spend on models a day. Default: no limit."}
    )
    daily_calls: int | None = field(
        default=None, metadata={"help": "Calls that background work may make to models a day. Default: no limit."}
    )
    unused_days: float | None = field(
        default=None, metadata={"help": "Days after which what was learnt and never used expires. Default: the preset's."}
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
    numbers = {
        "idle_minutes": float, "undo_days": float, "message_days": float, "unused_days": float, "context_tokens": int,
        "daily_cost": float, "daily_calls": int,
    }  # fmt: skip
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
    if settings.unused_days is not None:
        changed["unused_after"] = timedelta(days=settings.unused_days)
    if settings.context_tokens is not None:
        changed["context_tokens"] = settings.context_tokens
    return replace(chosen, **changed)


def make_store(settings: Settings) -> Store:
    """Open the configured store."""
    tenant = clean_name(settings.tenant, what="tenant") or "default"
    return SQLiteStore(store_path(settings), tenant=tenant, key=settings.key)


def make_embedder(name: str | Embedder, url: str | None = None) -> EmbedderSource | None:
    """Return an embedder by name, loaded when first used; one of the caller's own is used as it is."""
    if not isinstance(name, str):
        return EmbedderSource(name=name.name, load=lambda: name)
    if name.casefold() == "none":
        return None
    if ":" in name:
        return make_remote_embedder(name, url)
    spec = registry.find(name)

    def load() -> Embedder:
        # From 1.29 on, onnxruntime reports its use to its maker unless this is set before it is imported.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        from holdfast.models.local import LocalEmbedder  # noqa: PLC0415  (onnxruntime is heavy)

        embedder = LocalEmbedder(spec, models_directory())
        embedder.load()
        return embedder

    return EmbedderSource(name=spec.name, load=load)


def make_remote_embedder(name: str, url: str | None) -> EmbedderSource:
    """Return an embedder that a provider serves."""
    from holdfast.models import providers  # noqa: PLC0415  (only for those who use one)

    providers.check_name(name, url)

    def load() -> Embedder:
        return providers.remote_embedder(name, base_url=url, api_key=_provider_key(providers.key_variable(name)))

    return EmbedderSource(name=name, load=load)


def make_chat(chat: "str | ChatModel | Callable[..., Any]", settings: Settings) -> ChatSource | None:
    """Return a chat model by name, made when first used; a model or callable of the caller's own is used as it is."""
    if not isinstance(chat, str):
        from holdfast.models.callables import CallableChat  # noqa: PLC0415  (as below)

        own = cast("ChatModel", chat) if hasattr(chat, "chat") else CallableChat(chat)
        return ChatSource(name=own.name, load=lambda: own)
    if chat.casefold() == "none":
        return None
    if chat.startswith(("local:", "gguf:")):
        return ChatSource(name=chat, load=lambda: _local_chat(chat))
    from holdfast.models import providers  # noqa: PLC0415  (only for those who use one)

    providers.check_name(chat, settings.chat_url)

    def load() -> ChatModel:
        key = settings.chat_key or _provider_key(providers.key_variable(chat))
        return providers.chat_model(chat, base_url=settings.chat_url, api_key=key)

    return ChatSource(name=chat, load=load)


def _local_chat(name: str) -> ChatModel:
    from holdfast.models.llamacpp import LlamaCppChat  # noqa: PLC0415  (only for those who use one)

    # Within the five minutes for which a worker holds a job.
    model = LlamaCppChat(name, models_directory(), least_timeout=240.0)
    model.load()
    return model


def _provider_key(variable: str | None) -> str | None:
    return os.environ.get(variable) if variable else None


def open_engine(
    path: str | Path | None = None,
    *,
    preset: str | Preset | None = None,
    embedder: str | Embedder | None = None,
    chat: "str | ChatModel | Callable[..., Any] | None" = None,
    energy: Callable[[], float] | None = None,
    tenant: str | None = None,
    key: str | None = None,
    worker: Literal["thread", "inline", "none"] | None = None,
    clock: Clock | None = None,
) -> Engine:
    """Open a memory: by default the one in the user's data directory, with the embedded store and models.

    ``chat`` is a model's name (``"openai:gpt-4o-mini"``), a model, or any function from messages to text; without
    one, rules learn. ``energy`` says how full the host's battery is, 0 to 1: under a fifth, background work waits.
    """
    settings = load_settings(store=None if path is None else str(path), tenant=tenant, key=key, worker=worker)
    if settings.worker not in ("thread", "inline", "none"):
        raise SettingsError(f"worker is thread, inline or none, not {settings.worker!r}.")
    chosen = make_preset(settings, preset)
    source = make_embedder(settings.embedder if embedder is None else embedder, settings.embedder_url)
    return Engine(
        make_store(settings),
        preset=chosen,
        embedder=source,
        chat=make_chat(settings.chat if chat is None else chat, settings),
        limits=Limits(daily_cost=settings.daily_cost, daily_calls=settings.daily_calls),
        energy=energy,
        clock=clock,
        worker=settings.worker,  # type: ignore[arg-type]
    )
