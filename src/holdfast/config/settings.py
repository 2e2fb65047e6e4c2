"""Settings: what there is, and how arguments, environment and files are merged.

A setting is looked up in the arguments, then in ``HOLDFAST_*`` variables, then in ``holdfast.toml`` or
``holdfast.yaml`` (in the working directory, then in the data directory), then in its default.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeAlias

from holdfast.config import environment
from holdfast.config.folders import data_directory
from holdfast.errors import SettingsError
from holdfast.presets import PRESETS
from holdfast.presets.settings import DESIGNS, DesignSettings, read_design

SettingsSource: TypeAlias = str | Path | Mapping[str, Any] | DesignSettings
"""A file, a table, or a design's settings as an object."""

FILES = ("holdfast.toml", "holdfast.yaml", "holdfast.yml")
_SECRET = ("key", "chat_key")
_NUMBERS = {
    "idle_minutes": float, "undo_days": float, "message_days": float, "unused_days": float, "context_tokens": int,
    "daily_cost": float, "daily_calls": int, "serve_port": int, "rate_limit": int, "max_body": int,
    "store_connections": int,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a user can set, each with its default. ``docs/reference/settings.md`` is made from this."""

    store: str | None = field(
        default=None,
        metadata={
            "help": "The store: a file, a folder, or `postgresql://USER@HOST/DATABASE`. Default: memory.db in the data directory."
        },
    )
    store_connections: int = field(
        default=16, metadata={"help": "Connections that one process may have to a PostgreSQL store; its tenants share them."}
    )
    preset: str = field(
        default="default",
        metadata={"help": f"The way of remembering: {', '.join(f'`{name}`' for name in PRESETS)}."},
    )
    memory: DesignSettings | None = field(
        default=None,
        metadata={"help": "A table with the settings of the preset's own design, by its own names; see below.", "table": True},
    )
    tenant: str = field(default="default", metadata={"help": "Whose rows of the store are seen; tenants never meet."})
    embedder: str | None = field(
        default=None,
        metadata={
            "help": "The embedding model, or `none` to search by text alone. Default: the preset's, else `arctic-embed-s`."
        },
    )
    second_embedder: str = field(
        default="auto",
        metadata={
            "help": "The embedding model for what is not in English, beside one that reads English alone: a name, `none`, or "
            "`auto`: `use-multilingual` where `holdfast[multilingual]` is installed. See [models.md](../models.md)."
        },
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
    reranker: str = field(
        default="none",
        metadata={
            "help": "What looks again at the best hits of a recall: `ms-marco-minilm-l12`, which takes some 300 ms, `chat` to ask the "
            "chat model, or `none`. See [models.md](../models.md)."
        },
    )
    daily_cost: float | None = field(
        default=None,
        metadata={"help": "US dollars that learning and second looks at hits may spend on models a day. Default: no limit."},
    )
    daily_calls: int | None = field(
        default=None,
        metadata={"help": "Calls that learning and second looks at hits may make to models a day. Default: no limit."},
    )
    unused_days: float | None = field(
        default=None, metadata={"help": "Days after which what was learnt and never used expires. Default: the preset's."}
    )
    index: str = field(
        default="memory",
        metadata={
            "help": "What finds the nearest vectors: `memory` (in the process), `chroma` (in a folder beside the store) or "
            "`chroma:http://HOST:PORT` (a Chroma server). See [chroma.md](../chroma.md)."
        },
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
    serve_host: str = field(
        default="127.0.0.1",
        metadata={"help": "The address `holdfast serve` listens on. Any but a loopback one needs a key; see `holdfast keys`."},
    )
    serve_port: int = field(default=8321, metadata={"help": "The port `holdfast serve` listens on."})
    allowed_hosts: str | None = field(
        default=None,
        metadata={
            "help": "The names the server answers to, with commas between: what a browser has in its address bar. "
            "Default: localhost and the address it listens on."
        },
    )
    rate_limit: int | None = field(
        default=None, metadata={"help": "Requests a second that the server takes with one key, over a longer time. Default: 50."}
    )
    max_body: int = field(
        default=32 * 1024 * 1024,
        metadata={"help": "Bytes a recording sent to the server may have; other bodies have at most 4 MB of it."},
    )
    transcriber: str = field(
        default="none",
        metadata={
            "help": "What turns speech into text for `/chat/audio`: `openai:whisper-1` or another model that an "
            "OpenAI-compatible server has, `pocketsphinx` (English, on this machine), or `none`."
        },
    )
    transcriber_url: str | None = field(
        default=None, metadata={"help": "Where the transcriber is served, if not at its provider: any OpenAI-compatible address."}
    )

    def __repr__(self) -> str:
        """Show what differs from the defaults, without keys and passwords."""
        changed = {item.name: getattr(self, item.name) for item in fields(self) if getattr(self, item.name) != item.default}
        shown = {name: "***" if name in _SECRET else _without_password(value) for name, value in changed.items()}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _without_password(value: Any) -> Any:
    """Return a value; of an address, without the password."""
    return re.sub(r"(://[^:/@]*):.*@", r"\1:***@", value) if isinstance(value, str) else value


def load_settings(source: SettingsSource | None = None, **given: Any) -> Settings:
    """Return the settings in force; ``given`` are arguments or flags, None meaning not given.

    A ``source`` (a file, a table, or a design's settings) stands in the place of the settings file.
    """
    file = from_folders((Path.cwd(), data_directory())) if source is None else from_source(source)
    if isinstance(source, DesignSettings):  # given in code, so it counts more than the environment
        chosen = {"preset": source.preset, "store": source.store}
        given |= {name: value for name, value in chosen.items() if given.get(name) is None}
    found = environment.given(variables().values())
    named = {name: found[variable] for name, variable in variables().items() if variable in found}
    return merge(file, named, given)


def variables() -> dict[str, str]:
    """Return the environment variable of each setting that has one."""
    return {item.name: f"HOLDFAST_{item.name.upper()}" for item in fields(Settings) if not item.metadata.get("table")}


def from_folders(folders: Sequence[Path]) -> Mapping[str, Any]:
    """Return what the first settings file in these folders says."""
    for folder in folders:
        for name in FILES:
            if (folder / name).is_file():
                return read_file(folder / name)
    return {}


def from_source(source: SettingsSource) -> Mapping[str, Any]:
    """Return what a caller's own settings say: a design's object, a table, or a file, such as the design's own YAML.

    Other tables belong to the program whose file it is, and stay unread. Where no name is ours, all are a design's.
    """
    if isinstance(source, DesignSettings):
        return {"preset": source.preset, "memory": source}
    names = {item.name for item in fields(Settings)}
    found = source if isinstance(source, Mapping) else read_file(Path(source).expanduser())
    ours = {name: value for name, value in found.items() if name in names or not isinstance(value, Mapping)}
    return ours if not ours or names & set(ours) else {"memory": ours}


def read_file(file: Path) -> Mapping[str, Any]:
    """Return the names and values in a TOML or YAML file."""
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
    except OSError as error:
        raise SettingsError(f"The settings file {file} cannot be read: {error.strerror}.") from error
    if not isinstance(table, dict):
        raise SettingsError(f"{file} must hold settings by name.")
    return table


def merge(file: Mapping[str, Any], variables: Mapping[str, Any], arguments: Mapping[str, Any]) -> Settings:
    """Return the settings in force; arguments count most, None meaning not given."""
    known = [item.name for item in fields(Settings)]
    merged: dict[str, Any] = {}
    for origin, values in (("settings", file), ("environment", variables), ("arguments", arguments)):
        for name, value in values.items():
            if name not in known:
                raise SettingsError(f"Unknown setting {name!r} in the {origin}; known are: {', '.join(sorted(known))}.")
            if value is not None and name != "memory":
                merged[name] = _typed(name, value)
    design = _design(file, str(merged.get("preset", "default")))
    if design is not None and design.store is not None:
        merged.setdefault("store", design.store)
    return Settings(**merged, memory=design)


def _design(file: Mapping[str, Any], preset: str) -> DesignSettings | None:
    """Return the design's own settings; a file's are those of the preset it names, and mean nothing to another."""
    table = file.get("memory")
    if table is None:
        return None
    if isinstance(table, DesignSettings):
        if table.preset != preset:
            raise SettingsError(f"{type(table).__name__} are the settings of {table.preset!r}, not of the preset {preset!r}.")
        return table
    if file.get("preset", preset) != preset:
        return None
    if preset not in DESIGNS:
        raise SettingsError(
            f"Whose settings are these? The preset {preset!r} has none of its own: name one of {', '.join(sorted(DESIGNS))}."
        )
    return read_design(preset, table)


def _typed(name: str, value: Any) -> Any:
    """Return a setting as its type, or say what it should be."""
    if name == "allowed_hosts" and isinstance(value, list):
        return ",".join(map(str, value))
    try:
        typed = _NUMBERS.get(name, str)(value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"The setting {name} must be a number, not {value!r}.") from error
    if name in _NUMBERS and typed <= 0:
        raise SettingsError(f"The setting {name} must be greater than zero, not {value!r}.")
    return typed
