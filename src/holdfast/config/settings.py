"""Defines the settings and merges them from arguments, environment variables and files.

A setting is looked up in the arguments, then in ``HOLDFAST_*`` variables, then in the settings file. Otherwise its
default applies. The settings file is ``holdfast.toml`` or ``holdfast.yaml`` in the working directory, or else in the
data directory.
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
"""A settings file, a mapping, or an object with the settings of a preset's design."""

FILES = ("holdfast.toml", "holdfast.yaml", "holdfast.yml")
"""Names of settings files, in order of precedence."""
SECRET = ("key", "chat_key")
"""Names of the settings whose values are never shown."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings with their defaults. ``docs/reference/settings.md`` is generated from this class."""

    store: str | None = field(
        default=None,
        metadata={
            "help": "The store: a file, a folder, or `postgresql://USER@HOST/DATABASE`. Default: memory.db in the data directory."
        },
    )
    store_connections: int = field(
        default=16, metadata={"help": "Maximum number of connections of one process to a PostgreSQL store. Tenants share them."}
    )
    store_direct: str | None = field(
        default=None,
        metadata={
            "help": "The address of the PostgreSQL server itself, if `store` names a pooler such as PgBouncer. Maintenance and notifications use it."
        },
    )
    scrub_interval: float = field(
        default=3600.0,
        metadata={
            "help": "Minimum time in seconds between two scrubs of a PostgreSQL store. A scrub removes the erased bytes of all tenants; until "
            "then, receipts are `pending`. With 0, each erasure scrubs at once."
        },
    )
    preset: str = field(
        default="default",
        metadata={"help": f"The way of remembering: {', '.join(f'`{name}`' for name in PRESETS)}."},
    )
    memory: DesignSettings | None = field(
        default=None,
        metadata={"help": "A table with the settings of the design that the preset follows. See below.", "table": True},
    )
    tenant: str = field(
        default="default", metadata={"help": "The namespace within the store. Tenants never see each other's data."}
    )
    user: str | None = field(
        default=None,
        metadata={
            "help": "The default user: whose memories commands, the dashboard's chat and installed assistants use if no user is named. "
            "Asked once on a terminal. Default: your login name."
        },
    )
    embedder: str | None = field(
        default=None,
        metadata={"help": "The embedding model, or `none` to search by words alone. Default: the preset's, else `talk-embed-s`."},
    )
    embedder_url: str | None = field(
        default=None, metadata={"help": "The URL of a remote embedder, if it is not the provider's."}
    )
    chat: str = field(
        default="none",
        metadata={
            "help": "The chat model that extracts memories, such as `openai:gpt-4o-mini` or `ollama:llama3.2`. With `none`, rules do."
        },
    )
    chat_url: str | None = field(
        default=None,
        metadata={"help": "The URL of the chat model, if it is not the provider's. Any OpenAI-compatible server works."},
    )
    chat_key: str | None = field(
        default=None,
        metadata={"help": "The API key for the chat model. Default: the provider's own variable, such as `OPENAI_API_KEY`."},
    )
    chat_timeout: float | None = field(
        default=None,
        metadata={
            "help": "Maximum seconds of one call to the chat model. After that, rules take over, and the work is redone later. "
            "Default: 60, and 240 for local models."
        },
    )
    chat_calls: int | None = field(
        default=None,
        metadata={
            "help": "Maximum number of jobs that ask the chat model at the same time. Jobs of one user run one after another. "
            "Default: 4, and 1 for local models and for models given as an object or a function."
        },
    )
    reranker: str = field(
        default="none",
        metadata={
            "help": "The model that reranks the best hits of a recall: `ms-marco-minilm-l12` (about 300 ms), `chat` for the chat "
            "model, or `none`. See [models.md](../models.md)."
        },
    )
    reader: str = field(
        default="talk-reader-s",
        metadata={
            "help": "The model that finds what is worth keeping if there is no chat model, and what a new statement ends: "
            "`talk-reader-s` (included), or `none` for rules alone. See [learning.md](../learning.md#the-sentence-reader)."
        },
    )
    recall_timeout: float = field(
        default=0.3,
        metadata={
            "help": "Maximum seconds that a recall waits for an embedder, reranker or index outside this process. Then it searches by "
            "words and says so. See [models.md](../models.md#slow-models)."
        },
    )
    daily_cost: float | None = field(
        default=None,
        metadata={"help": "US dollars that background work and reranking may spend on chat models per day. Default: no limit."},
    )
    daily_calls: int | None = field(
        default=None,
        metadata={"help": "Calls that background work and reranking may make to chat models per day. Default: no limit."},
    )
    unused_days: float | None = field(
        default=None,
        metadata={
            "help": "Days after which an extracted memory expires that was neither recalled, shown nor stated again. Identity, health, family and instructions stay. Default: the preset's."
        },
    )
    index: str = field(
        default="memory",
        metadata={
            "help": "The vector index: `memory` (in the process), `chroma` (in a folder next to the store) or "
            "`chroma:http://HOST:PORT` (a Chroma server). See [chroma.md](../chroma.md)."
        },
    )
    key: str | None = field(
        default=None, metadata={"help": "The key of an encrypted store. Prefer `HOLDFAST_KEY` to a settings file."}
    )
    plain_topic_files: bool = field(
        default=False,
        metadata={
            "help": "Write topic pages as plain text files although the store is encrypted. By default, an encrypted store writes none."
        },
    )
    worker: str = field(
        default="thread",
        metadata={"help": "How background work runs: `thread`, `inline` or `none` (then run `holdfast worker`)."},
    )
    idle_minutes: float | None = field(
        default=None, metadata={"help": "Minutes without a message after which a session ends. Default: the preset's (7)."}
    )
    resident_idle_minutes: float = field(
        default=30.0,
        metadata={
            "help": "Minutes without use after which the resident process for coding agents ends. "
            "See [coding-agents.md](../coding-agents.md)."
        },
    )
    undo_days: float | None = field(
        default=None, metadata={"help": "Days during which forgetting can be undone. Default: the preset's (30)."}
    )
    keep_off_record: bool = field(
        default=False,
        metadata={
            "help": "Keep messages that the user asked not to save in the log after their session ends. They are never recalled. By "
            "default, they are erased. See [learning.md](../learning.md#consent)."
        },
    )
    message_days: float | None = field(
        default=None, metadata={"help": "Days for which messages are kept after they were digested. Default: no limit."}
    )
    trace_days: float = field(
        default=3.0,
        metadata={
            "help": "Days for which traces are kept: how each context block came about. 0 keeps none. See [traces.md](../traces.md)."
        },
    )
    max_traces: int = field(
        default=1000, metadata={"help": "Maximum number of traces that are kept. Beyond it, the oldest are removed."}
    )
    context_tokens: int | None = field(
        default=None, metadata={"help": "Maximum tokens of a context block. Default: the preset's (800)."}
    )
    max_text: int = field(
        default=250_000,
        metadata={
            "help": "Maximum characters of a message, or of the searched text of a memory. At most 4 MB; a long text takes about a "
            "second per million characters."
        },
    )
    max_metadata: int = field(
        default=64_000, metadata={"help": "Maximum characters of a memory's metadata as JSON. It does not apply to plain kinds."}
    )
    min_trust: float | None = field(
        default=None,
        metadata={
            "help": "Minimum trust, from 0 to 1, of what recall returns and what may supersede an explicit memory. Text of files "
            "and quotations (0.6), tools (0.4) and web pages (0.2) is below the default. Default: the preset's (0.7)."
        },
    )
    serve_host: str = field(
        default="127.0.0.1",
        metadata={
            "help": "The address `holdfast serve` listens on. Any address but loopback requires an access key; see `holdfast keys`."
        },
    )
    serve_port: int = field(default=8321, metadata={"help": "The port `holdfast serve` listens on."})
    allowed_hosts: str | None = field(
        default=None,
        metadata={
            "help": "Host names that the server accepts in the `Host` header, separated by commas. "
            "Default: localhost and the address it listens on."
        },
    )
    rate_limit: int | None = field(
        default=None, metadata={"help": "Requests per second that the server accepts per access key, on average. Default: 50."}
    )
    tenant_rate_limit: int = field(
        default=100,
        metadata={"help": "Requests per second that the server accepts per tenant, from all its access keys, on average."},
    )
    tenant_bytes: int = field(
        default=256 * 1024,
        metadata={
            "help": "Bytes of request bodies per second that the server accepts per tenant, on average. A burst may have 16 times as many."
        },
    )
    max_request: int = field(
        default=1024 * 1024, metadata={"help": "Maximum bytes of a request body, other than a recording or a file to import."}
    )
    max_body: int = field(
        default=32 * 1024 * 1024,
        metadata={"help": "Maximum bytes of a recording or of a file to import that is sent to the server."},
    )
    persona: str | None = field(
        default=None,
        metadata={
            "help": "The personality of the device on `/chat/text` and `/chat/audio`: the start of its system prompt. Instructions for "
            "background noise are added. Without it, the device is a plain voice assistant."
        },
    )
    transcriber: str = field(
        default="none",
        metadata={
            "help": "The speech-to-text model for `/chat/audio`: `openai:whisper-1` or another model of an "
            "OpenAI-compatible server, `pocketsphinx` (English, on this machine), or `none`."
        },
    )
    transcriber_url: str | None = field(
        default=None,
        metadata={"help": "The URL of the transcriber, if it is not the provider's. Any OpenAI-compatible server works."},
    )

    def __repr__(self) -> str:
        """Show the settings that differ from their defaults, without revealing keys and passwords."""
        changed = {item.name: getattr(self, item.name) for item in fields(self) if getattr(self, item.name) != item.default}
        shown = {name: "***" if name in SECRET else without_password(value) for name, value in changed.items()}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def without_password(value: Any) -> Any:
    """Return a value unchanged, except that the password in a URL is replaced."""
    return re.sub(r"(://[^:/@]*):.*@", r"\1:***@", value) if isinstance(value, str) else value


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
    """Return the content of the first settings file found in these folders."""
    for folder in folders:
        for name in FILES:
            if (folder / name).is_file():
                return read_file(folder / name)
    return {}


def from_source(source: SettingsSource) -> Mapping[str, Any]:
    """Return settings from a ``DesignSettings`` object, a mapping or a file, such as a design's original YAML file.

    A table whose name is not a Holdfast setting belongs to another program and is ignored. If none of the remaining names is
    a Holdfast setting, all of them are settings of the design.
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
    """Return the design's settings from a settings file.

    Return None if the file has no settings of a design, or if the file names another preset. A ``DesignSettings`` object for
    another preset raises ``SettingsError``.
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
