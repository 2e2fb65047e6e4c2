"""Opens an engine from settings, store, preset and models."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from holdfast.background.scheduler import Worker
from holdfast.chat import ChatModel
from holdfast.config.assembly import build_services
from holdfast.config.folders import data_directory
from holdfast.config.kinds import with_recorded_kinds
from holdfast.config.loading import SettingsSource, load_settings
from holdfast.config.models import make_models, make_reranker, make_sentence_reader
from holdfast.config.settings import Settings
from holdfast.config.stores import is_database, make_store, store_path
from holdfast.engine import Engine
from holdfast.errors import InvalidInput, SettingsError
from holdfast.models.chat_budget import ChatBudget, ChatSource
from holdfast.presets import find_preset
from holdfast.presets.base import Preset
from holdfast.presets.plain_kinds import with_kinds
from holdfast.protocols import Clock, Embedder, Reranker
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.text.limits import Limits
from holdfast.types import Kind

log = logging.getLogger("holdfast")
_WORKERS: dict[str, Worker] = {"thread": "thread", "inline": "inline", "none": "none"}


def open(
    path: str | Path | None = None,
    *,
    preset: str | Preset | None = None,
    kinds: Sequence[Kind] = (),
    settings: SettingsSource | None = None,
    embedder: "str | Embedder | Callable[[str], Any] | None" = None,
    chat: "str | ChatModel | Callable[..., Any] | None" = None,
    reranker: "str | Reranker | None" = None,
    energy: Callable[[], float] | None = None,
    key: str | None = None,
    tenant: str | None = None,
    worker: Worker | None = None,
    clock: Clock | None = None,
) -> Engine:
    """Open a memory. Without arguments, it uses the SQLite store in the user's data directory and local models.

    Args:
        path: The store: a file, a folder, or ``postgresql://USER@HOST/DATABASE``.
        preset: The way of remembering: ``default``, ``apps``, ``lobug``, ``reachy``, ``rostro``, ``rumi``, or an object.
        kinds: Kinds of memory to add to the preset's kinds. Plain kinds are recorded and apply whenever the store is opened.
        settings: A settings file, a mapping (``{"index": "chroma"}``), or a ``DesignSettings`` object of a preset.
        embedder: A name, an embedder, a function from a text to a vector, or ``"none"`` to search by words alone.
        chat: A name such as ``"openai:gpt-4o-mini"``, a model, or a function from messages to text. Without one,
            memories are extracted by rules.
        reranker: Reranks the best hits: ``"ms-marco-minilm-l12"``, ``"chat"``, or an object with ``name`` and ``rate``.
        energy: A function that returns the charge of the host's battery, 0 to 1. Below 0.2, background work waits.
        key: The key of an encrypted store.
        tenant: The tenant whose data to open. Tenants share a store and never see each other's data.
        worker: How background work runs: in a ``"thread"``, ``"inline"`` in the calling thread, or ``"none"``.
        clock: Replaces the system clock, for tests.

    Every other option is a setting; see ``docs/reference/settings.md``.
    """
    return open_engine(
        path,
        preset=preset,
        kinds=kinds,
        settings=settings,
        embedder=embedder,
        chat=chat,
        reranker=reranker,
        energy=energy,
        key=key,
        tenant=tenant,
        worker=worker,
        clock=clock,
    )


def open_engine(
    path: str | Path | None = None,
    *,
    preset: str | Preset | None = None,
    kinds: Sequence[Kind] = (),
    settings: SettingsSource | None = None,
    embedder: "str | Embedder | EmbedderSource | Callable[[str], Any] | None" = None,
    chat: "str | ChatModel | ChatSource | Callable[..., Any] | None" = None,
    reranker: "str | Reranker | None" = None,
    energy: Callable[[], float] | None = None,
    key: str | None = None,
    tenant: str | None = None,
    worker: Worker | None = None,
    clock: Clock | None = None,
) -> Engine:
    """Open a memory as :func:`open` does. ``embedder`` and ``chat`` may also be models that other engines already use."""
    if path is not None and not str(path).strip():
        raise InvalidInput("path must not be empty. Leave it out to open the default store.")
    arguments = {"store": None if path is None else str(path), "tenant": tenant, "key": key, "worker": worker}
    arguments["preset"] = preset.name if isinstance(preset, Preset) else preset
    loaded = load_settings(settings, **arguments)
    if loaded.worker not in _WORKERS:
        raise SettingsError(f"The setting worker must be thread, inline or none, not {loaded.worker!r}.")
    chosen = with_kinds(make_preset(loaded, preset), kinds)
    embedder_source, chat_source = make_models(loaded, chosen, embedder=embedder, chat=chat)
    store = make_store(loaded)
    try:
        chosen = with_recorded_kinds(store, chosen)
    except BaseException:
        store.close()
        raise
    services = build_services(
        store,
        preset=chosen,
        embedder=embedder_source,
        chat=chat_source,
        reranker=make_reranker(loaded.reranker if reranker is None else reranker),
        sentence_reader=make_sentence_reader(loaded.reader),
        recall_timeout=loaded.recall_timeout,
        trace_days=loaded.trace_days,
        max_traces=loaded.max_traces,
        limits=Limits(max_text=loaded.max_text, max_metadata=loaded.max_metadata),
        budget=ChatBudget(daily_cost=loaded.daily_cost, daily_calls=loaded.daily_calls),
        energy=energy,
        clock=clock,
        worker=_WORKERS[loaded.worker],
    )
    return Engine(services)


def make_preset(settings: Settings, preset: str | Preset | None = None) -> Preset:
    """Return the preset that the settings name, with the settings' changes applied."""
    chosen = find_preset(preset or settings.preset)
    if settings.memory is not None:
        chosen = settings.memory.applied_to(chosen)
    changed: dict[str, Any] = {}
    if settings.idle_minutes is not None:
        changed["idle_after"] = timedelta(minutes=settings.idle_minutes)
    if settings.undo_days is not None:
        changed["undo_window"] = timedelta(days=settings.undo_days)
    if settings.keep_off_record:
        changed["keep_off_record"] = True
    if settings.message_days is not None:
        changed["message_retention"] = timedelta(days=settings.message_days)
    if settings.unused_days is not None:
        changed["unused_after"] = timedelta(days=settings.unused_days)
    same = {"min_trust": settings.min_trust, "context_tokens": settings.context_tokens}
    changed |= {name: value for name, value in same.items() if value is not None}
    if chosen.topics_dir is not None and is_database(settings):  # no store file to put the folder next to
        changed["topics_dir"] = str(data_directory() / Path(chosen.topics_dir).expanduser())
    if chosen.topics_dir is not None and settings.key is not None and not settings.plain_topic_files:
        changed["topics_dir"] = None
        _warn_of_plain_pages(settings, chosen.topics_dir)
    return replace(chosen, **changed)


def _warn_of_plain_pages(settings: Settings, topics_dir: str) -> None:
    """Log a warning if the folder of the topic pages still contains pages in plain text, although the store is encrypted.

    ``topics_dir`` is the folder of the topic pages. A relative path starts at the folder of the store. The caller checks
    that the store is encrypted.
    """
    folder = store_path(settings).parent / Path(topics_dir).expanduser()
    if any(folder.rglob("*.md")):
        log.warning(
            "The store is encrypted, but %s contains topic pages in plain text. They are no longer updated. Delete them, or set "
            "plain_topic_files = true to keep writing them.",
            folder,
        )
