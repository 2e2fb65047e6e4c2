"""Models: the embedder, chat model, reranker and transcriber that the settings name."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, cast

from holdfast.chat import ChatModel
from holdfast.config import environment
from holdfast.config.folders import models_directory
from holdfast.config.settings import Settings
from holdfast.errors import SettingsError
from holdfast.models.chat_budget import ChatSource
from holdfast.models.local import packaged, registry
from holdfast.presets.base import Preset
from holdfast.presets.settings import MemoryConfig
from holdfast.protocols import Embedder, Reranker
from holdfast.recall.embedding import EmbedderSource

if TYPE_CHECKING:
    from holdfast.models.transcribers import Transcriber


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
        environment.silence_onnxruntime()
        from holdfast.models.local.embedder import LocalEmbedder  # noqa: PLC0415  (onnxruntime is heavy)

        embedder = LocalEmbedder(spec, models_directory())
        embedder.load()
        return embedder

    return EmbedderSource(name=spec.name, load=load, computes=True)


def _packaged_embedder(spec: registry.PackagedSpec) -> EmbedderSource:
    """Return an embedder that an extra installs; without the extra, an error that names it."""
    packaged.locate(spec)
    return _packaged_source(spec)


def _packaged_source(spec: registry.PackagedSpec) -> EmbedderSource:
    return EmbedderSource(name=spec.name, load=lambda: _shared_multilingual(spec.name), computes=True)


@functools.cache
def _shared_multilingual(name: str) -> Embedder:
    """Load it once for all the memories of a process: it takes more room than the others."""
    from holdfast.models.local.multilingual import MultilingualEmbedder  # noqa: PLC0415  (only for those who use it)

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

    calibration = preset.recall.measured_by if preset and preset.recall.min_cosine is not None else None
    return CallableEmbedder(function, dimensions=dimensions, calibration=calibration)


def make_remote_embedder(name: str, url: str | None) -> EmbedderSource:
    """Return an embedder that a provider serves."""
    from holdfast.models.remote import providers  # noqa: PLC0415  (only for those who use one)

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
    from holdfast.models.remote import providers  # noqa: PLC0415  (only for those who use one)

    providers.check_name(chat, settings.chat_url)

    def load() -> ChatModel:
        key = settings.chat_key or provider_key(providers.key_variable(chat))
        return providers.chat_model(chat, base_url=settings.chat_url, api_key=key)

    return ChatSource(name=chat, load=load)


def _local_chat(name: str) -> ChatModel:
    from holdfast.models.local.llamacpp import LlamaCppChat  # noqa: PLC0415  (only for those who use one)

    # Within the five minutes for which a worker holds a job.
    model = LlamaCppChat(name, models_directory(), min_timeout=240.0)
    model.load()
    return model


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
    environment.silence_onnxruntime()
    from holdfast.models.local.cross_encoder import CrossEncoder  # noqa: PLC0415  (onnxruntime is heavy)

    return CrossEncoder(registry.RERANKERS[reranker], models_directory())


def provider_key(name: str | None) -> str | None:
    """Return the key that a provider's own environment variable holds."""
    return environment.variable(name) if name else None
