"""The one place that names concrete stores and models and reads the environment.

A setting is looked up in the arguments, then in ``HOLDFAST_*`` variables, then in ``holdfast.toml`` or
``holdfast.yaml`` (in the working directory, then in the data directory), then in its default. See ``settings``.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import platformdirs

from holdfast.chat import ChatModel
from holdfast.embedding import EmbedderSource
from holdfast.engine import Engine
from holdfast.errors import SettingsError
from holdfast.models import packaged, registry
from holdfast.notes import Reranker
from holdfast.presets import find_preset
from holdfast.presets.base import Preset
from holdfast.presets.settings import DesignSettings, MemoryConfig
from holdfast.protocols import Clock, Embedder
from holdfast.settings import Settings, SettingsSource, from_folders, from_source, merge, variables
from holdfast.stores.indexes import IndexPlace
from holdfast.stores.sqlite import SQLiteStore
from holdfast.text.clean import clean_name
from holdfast.thinking import ChatSource, Limits

if TYPE_CHECKING:
    from holdfast.models.transcribers import Transcriber
    from holdfast.stores.postgres import PostgresStore

_FOLDERS = ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
"""Variables by which other programs are told where their settings are."""

_METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which Prometheus' client is told of a folder for several processes."""


def data_directory() -> Path:
    """Return where data lives: ``HOLDFAST_HOME``, or the platform's data directory."""
    home = os.environ.get("HOLDFAST_HOME")
    return Path(home).expanduser() if home else Path(platformdirs.user_data_dir("holdfast", appauthor=False))


def models_directory() -> Path:
    """Return where weights live: ``HOLDFAST_MODELS``, or the platform's cache directory."""
    given = os.environ.get("HOLDFAST_MODELS")
    return Path(given).expanduser() if given else Path(platformdirs.user_cache_dir("holdfast", appauthor=False)) / "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFolders:
    """Where other programs of this user keep their settings."""

    home: Path
    settings: Path
    """The system's own place for settings."""
    xdg: Path
    """Where programs that know no other system than Unix keep theirs."""
    claude: Path | None = None
    codex: Path | None = None


def home_folders() -> HomeFolders:
    """Return those of the user who runs this."""
    home = Path.home()
    given = {name: Path(os.environ[name]).expanduser() for name in _FOLDERS if os.environ.get(name)}
    return HomeFolders(
        home=home,
        settings=platformdirs.user_config_path(appauthor=False, roaming=True),
        xdg=given.get("XDG_CONFIG_HOME", home / ".config"),
        claude=given.get("CLAUDE_CONFIG_DIR"),
        codex=given.get("CODEX_HOME"),
    )


def chosen_folders() -> dict[str, str]:
    """Return the variables that say where data and weights are, for programs that are started without a shell."""
    names = ("HOLDFAST_HOME", "HOLDFAST_MODELS")
    return {name: str(Path(os.environ[name]).expanduser().absolute()) for name in names if os.environ.get(name)}


def metrics_folder() -> Path | None:
    """Return where the worker processes of a server keep what they count together; None where there is one alone."""
    given = os.environ.get(_METRICS)
    return Path(given) if given else None


def share_metrics(folder: Path) -> None:
    """Let the worker processes that are started from here count together, in an empty folder."""
    os.environ[_METRICS] = str(folder)


def set_for_libraries(values: dict[str, str]) -> None:
    """Set variables that libraries read as they are imported; benchmarks use it, for where a peer may write."""
    os.environ.update(values)


def load_settings(source: SettingsSource | None = None, **given: Any) -> Settings:
    """Return the settings in force; ``given`` are arguments or flags, None meaning not given.

    A ``source`` (a file, a table, or a design's settings) stands in the place of the settings file.
    """
    file = from_folders((Path.cwd(), data_directory())) if source is None else from_source(source)
    if isinstance(source, DesignSettings):  # given in code, so it counts more than the environment
        named = {"preset": source.preset, "store": source.store}
        given |= {name: value for name, value in named.items() if given.get(name) is None}
    environment = {name: os.environ[variable] for name, variable in variables().items() if os.environ.get(variable)}
    return merge(file, environment, given)


def store_path(settings: Settings) -> Path:
    """Return the file of the store: a folder holds it under the name memory.db."""
    if settings.store is None:
        return data_directory() / "memory.db"
    given = settings.store.removeprefix("sqlite:///")
    if is_database(settings):
        raise SettingsError("A PostgreSQL store is no file; this works on a file path or sqlite:///FILE.")
    if "://" in given:
        raise SettingsError(
            f"{given.split(':')[0]}:// is not a kind of store this version has; use a file path, sqlite:///FILE or "
            "postgresql://USER@HOST/DATABASE."
        )
    path = Path(given).expanduser()
    return path / "memory.db" if path.is_dir() or not path.suffix else path


def make_preset(settings: Settings, preset: str | Preset | None = None) -> Preset:
    """Return the preset with what the settings change of it."""
    chosen = find_preset(preset or settings.preset)
    if settings.memory is not None:
        chosen = settings.memory.applied_to(chosen)
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
    if chosen.topics_dir is not None and is_database(settings):  # there is no file that pages could lie beside
        changed["topics_dir"] = str(data_directory() / Path(chosen.topics_dir).expanduser())
    return replace(chosen, **changed)


def is_database(settings: Settings) -> bool:
    """Tell whether the store is a PostgreSQL database."""
    return (settings.store or "").startswith(("postgresql://", "postgres://"))


def make_store(settings: Settings) -> "SQLiteStore | PostgresStore":
    """Open the configured store."""
    tenant = clean_name(settings.tenant, what="tenant") or "default"
    if is_database(settings):
        return _make_database(settings, tenant)
    path = store_path(settings)
    return SQLiteStore(path, tenant=tenant, key=settings.key, index=_index_place(settings, path))


def _make_database(settings: Settings, tenant: str) -> "PostgresStore":
    if settings.key is not None:
        raise SettingsError("key is for SQLite files; a PostgreSQL server encrypts its disks by itself.")
    if settings.index not in ("memory", ""):
        raise SettingsError("A PostgreSQL store finds vectors by itself, with pgvector: leave the setting index out.")
    try:
        from holdfast.stores.postgres import Limits, PostgresStore  # noqa: PLC0415  (only for those who use it)
    except ImportError as error:
        raise SettingsError(f"A PostgreSQL store needs {error.name}: pip install 'holdfast[postgres]'") from error
    return PostgresStore(settings.store or "", tenant=tenant, limits=Limits(connections=settings.store_connections))


def _index_place(settings: Settings, path: Path) -> IndexPlace | None:
    """Return where vectors are indexed, None for in memory."""
    wanted = settings.index
    if wanted in ("memory", ""):
        return None
    if wanted.partition(":")[0] != "chroma":
        raise SettingsError(f"index is memory, chroma or chroma:http://HOST:PORT, not {wanted!r}.")
    if settings.key is not None and wanted == "chroma":
        raise SettingsError("Chroma does not encrypt its files: an encrypted store takes index = 'memory'.")
    from holdfast.stores.chroma import chroma_place  # noqa: PLC0415  (only for those who use it)

    return chroma_place(wanted, path)


def make_embedder(
    name: "str | Embedder | EmbedderSource | Callable[[str], Any]",
    url: str | None = None,
    *,
    preset: Preset | None = None,
    dimensions: int | None = None,
) -> EmbedderSource | None:
    """Return an embedder by name, loaded when first used; an embedder or function of the caller's own is used as it is.

    A function stands for the preset's own embedder: the preset's limits are its raw cosines.
    """
    if isinstance(name, EmbedderSource):
        return name
    if not isinstance(name, str):
        own = cast("Embedder", name) if hasattr(name, "embed") else _embedding_function(name, preset, dimensions)
        return EmbedderSource(name=own.name, load=lambda: own)
    if name.casefold() == "none":
        return None
    if ":" in name:
        return make_remote_embedder(name, url)
    spec = registry.find_embedder(name)
    if isinstance(spec, registry.PackagedSpec):
        return _packaged_embedder(spec)

    def load() -> Embedder:
        _silence_onnxruntime()
        from holdfast.models.local import LocalEmbedder  # noqa: PLC0415  (onnxruntime is heavy)

        embedder = LocalEmbedder(spec, models_directory())
        embedder.load()
        return embedder

    return EmbedderSource(name=spec.name, load=load, computes=True)


def _silence_onnxruntime() -> None:
    """From 1.29 on, onnxruntime reports its use to its maker unless this is set before it is imported."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def _packaged_embedder(spec: registry.PackagedSpec) -> EmbedderSource:
    """Return an embedder that an extra installs; without the extra, an error that names it."""
    packaged.locate(spec)
    return _packaged_source(spec)


def _packaged_source(spec: registry.PackagedSpec) -> EmbedderSource:
    return EmbedderSource(name=spec.name, load=lambda: _shared_multilingual(spec.name), computes=True)


@functools.cache
def _shared_multilingual(name: str) -> Embedder:
    """Load it once for all the memories of a process: it takes more room than the others."""
    from holdfast.models.multilingual import MultilingualEmbedder  # noqa: PLC0415  (only for those who use it)

    embedder = MultilingualEmbedder(registry.PACKAGED[name])
    embedder.load()
    return embedder


def make_second_embedder(
    name: "str | Embedder | EmbedderSource | None", first: EmbedderSource | None, settings: Settings
) -> EmbedderSource | None:
    """Return the embedder for what is not in English: by itself only beside one of ours that reads nothing else."""
    wanted = settings.second_embedder if name is None else name
    if first is None or wanted != "auto":
        return None if first is None else make_embedder(wanted)
    usual = registry.PACKAGED[registry.SECOND_MODEL]
    # Nobody named it: if its files are not those we know, that is told when it is first needed, and keeps nobody from opening.
    return _packaged_source(usual) if first.name in registry.MODELS and packaged.is_installed(usual) else None


def _embedding_function(function: "Callable[[str], Any]", preset: Preset | None, dimensions: int | None) -> Embedder:
    from holdfast.models.embedding_function import CallableEmbedder  # noqa: PLC0415  (only for those who use one)

    calibration = preset.recall.measured_by if preset and preset.recall.least_cosine is not None else None
    return CallableEmbedder(function, dimensions=dimensions, calibration=calibration)


def make_remote_embedder(name: str, url: str | None) -> EmbedderSource:
    """Return an embedder that a provider serves."""
    from holdfast.models import providers  # noqa: PLC0415  (only for those who use one)

    providers.check_name(name, url)

    def load() -> Embedder:
        return providers.remote_embedder(name, base_url=url, api_key=provider_key(providers.key_variable(name)))

    return EmbedderSource(name=name, load=load)


def make_chat(chat: "str | ChatModel | ChatSource | Callable[..., Any]", settings: Settings) -> ChatSource | None:
    """Return a chat model by name, made when first used; a model or callable of the caller's own is used as it is."""
    if isinstance(chat, ChatSource):
        return chat
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
        key = settings.chat_key or provider_key(providers.key_variable(chat))
        return providers.chat_model(chat, base_url=settings.chat_url, api_key=key)

    return ChatSource(name=chat, load=load)


def _local_chat(name: str) -> ChatModel:
    from holdfast.models.llamacpp import LlamaCppChat  # noqa: PLC0415  (only for those who use one)

    # Within the five minutes for which a worker holds a job.
    model = LlamaCppChat(name, models_directory(), least_timeout=240.0)
    model.load()
    return model


def provider_key(variable: str | None) -> str | None:
    """Return the key that a provider's own environment variable holds."""
    return os.environ.get(variable) if variable else None


def make_transcriber(settings: Settings) -> "Transcriber | None":
    """Return what turns speech into text for the server; None where nothing is set."""
    from holdfast.models.transcribers import find_transcriber, transcriber_key  # noqa: PLC0415  (only for those who use one)

    key = provider_key(transcriber_key(settings.transcriber))
    return find_transcriber(settings.transcriber, settings.transcriber_url, key)


def make_models(
    settings: Settings,
    preset: Preset,
    *,
    embedder: "str | Embedder | EmbedderSource | Callable[[str], Any] | None" = None,
    chat: "str | ChatModel | ChatSource | Callable[..., Any] | None" = None,
) -> tuple[EmbedderSource | None, ChatSource | None]:
    """Return the embedder and the chat model: those given, else those of the settings, else the preset's."""
    wanted = (settings.embedder or preset.embedder or registry.DEFAULT_MODEL) if embedder is None else embedder
    dimensions = settings.memory.embedding_dim if isinstance(settings.memory, MemoryConfig) else None
    vectors = make_embedder(wanted, settings.embedder_url, preset=preset, dimensions=dimensions)
    return vectors, make_chat(settings.chat if chat is None else chat, settings)


def make_reranker(reranker: "str | Reranker") -> "Reranker | Literal['chat'] | None":
    """Return what looks again at the best hits: a model by name, the chat model, an object of the caller's own, or nothing."""
    if not isinstance(reranker, str):
        if not callable(getattr(reranker, "rate", None)) or not isinstance(getattr(reranker, "name", None), str):
            raise SettingsError("A reranker has a name and a method rate(question, notes, asked_at=).")
        return reranker
    if reranker.casefold() in ("chat", "none"):
        return "chat" if reranker.casefold() == "chat" else None
    if reranker not in registry.RERANKERS:
        raise SettingsError(f"No reranker is named {reranker!r}; there are {', '.join(registry.RERANKERS)}, chat and none.")
    _silence_onnxruntime()
    from holdfast.models.cross_encoder import CrossEncoder  # noqa: PLC0415  (onnxruntime is heavy)

    return CrossEncoder(registry.RERANKERS[reranker], models_directory())


def open_engine(
    path: str | Path | None = None,
    *,
    preset: str | Preset | None = None,
    settings: SettingsSource | None = None,
    embedder: "str | Embedder | EmbedderSource | Callable[[str], Any] | None" = None,
    second_embedder: "str | Embedder | EmbedderSource | None" = None,
    chat: "str | ChatModel | ChatSource | Callable[..., Any] | None" = None,
    reranker: "str | Reranker | None" = None,
    energy: Callable[[], float] | None = None,
    tenant: str | None = None,
    key: str | None = None,
    index: str | None = None,
    worker: Literal["thread", "inline", "none"] | None = None,
    clock: Clock | None = None,
) -> Engine:
    """Open a memory: by default the one in the user's data directory, with the embedded store and models.

    ``settings`` is a settings file, a table, or the settings of the preset's own design (its YAML as it is). ``chat``
    is a model's name (``"openai:gpt-4o-mini"``), a model, or any function from messages to text; without one, rules
    learn. ``embedder`` is a name, an embedder, or any function from a text to a vector; ``second_embedder`` is the one
    for what is not in English, where the first reads English alone. ``reranker`` looks again at the best hits of a
    recall: ``"ms-marco-minilm-l12"``, ``"chat"`` for the chat model, or an object with ``name`` and ``rate``. ``energy`` says how
    full the host's battery is, 0 to 1: under a fifth, background work waits. ``index`` is what finds the nearest vectors:
    ``"memory"``, ``"chroma"`` or ``"chroma:http://host:8000"``.
    """
    given = {"store": None if path is None else str(path), "tenant": tenant, "key": key, "worker": worker, "index": index}
    given["preset"] = preset.name if isinstance(preset, Preset) else preset
    loaded = load_settings(settings, **given)
    if loaded.worker not in ("thread", "inline", "none"):
        raise SettingsError(f"worker is thread, inline or none, not {loaded.worker!r}.")
    chosen = make_preset(loaded, preset)
    vectors, talk = make_models(loaded, chosen, embedder=embedder, chat=chat)
    return Engine(
        make_store(loaded),
        preset=chosen,
        embedder=vectors,
        second=make_second_embedder(second_embedder, vectors, loaded),
        chat=talk,
        reranker=make_reranker(loaded.reranker if reranker is None else reranker),
        limits=Limits(daily_cost=loaded.daily_cost, daily_calls=loaded.daily_calls),
        energy=energy,
        clock=clock,
        worker=loaded.worker,  # type: ignore[arg-type]
    )
