"""Creates the embedders, chat model, reranker and transcriber that the settings name."""

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from holdfast.chat import ChatModel
from holdfast.config import environment
from holdfast.config.folders import models_directory
from holdfast.config.settings import Settings
from holdfast.errors import ModelError, SettingsError
from holdfast.models.chat_budget import ChatSource
from holdfast.models.local import packaged, registry
from holdfast.models.local.cached_reader import CachedReader
from holdfast.presets.base import Preset
from holdfast.presets.settings import MemoryConfig
from holdfast.protocols import Embedder, Reranker, SentenceReader
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.types.translatable import translatable

if TYPE_CHECKING:
    from holdfast.models.transcribers import Transcriber

log = logging.getLogger("holdfast")

_LOCAL_CHAT_SECONDS = 240.0
"""Maximum seconds of a call to a local chat model: without a GPU, it reads a long conversation slowly."""
_REMOTE_CHAT_CALLS = 4
"""Maximum number of jobs that call a provider's chat model at the same time, if the setting ``chat_calls`` is not set."""


def make_embedder(
    name: "str | Embedder | EmbedderSource | Callable[[str], Any]",
    url: str | None = None,
    *,
    preset: Preset | None = None,
    dimensions: int | None = None,
) -> EmbedderSource | None:
    """Return an object that loads an embedder on first use. Return None for the name ``none``.

    The embedder is given as a name, an object, or a function from a text to a vector. ``url`` is the address of the
    server if the embedder runs on a server.

    A function does not define a calibration (the typical cosines of an embedder). If the preset has a minimum cosine
    that was chosen for a certain embedder, the calibration of that embedder is used for the function. ``dimensions`` is
    the length of the vectors that the function returns.
    """
    if isinstance(name, EmbedderSource):
        return name
    if not isinstance(name, str):
        return _custom_embedder(name, preset, dimensions)
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


def _custom_embedder(given: "Embedder | Callable[[str], Any]", preset: Preset | None, dimensions: int | None) -> EmbedderSource:
    if hasattr(given, "embed"):
        custom = cast("Embedder", given)
        # ``dir``, not ``hasattr``: a property may raise an error until the model is loaded.
        missing = [
            part for part in ("name", "dimensions", "calibration") if part not in dir(custom) and not hasattr(custom, part)
        ]
        if missing:
            raise SettingsError(f"The embedder {type(given).__name__} lacks {', '.join(missing)}. See holdfast.Embedder.")
        return EmbedderSource(name=custom.name, load=lambda: custom, computes=getattr(custom, "computes", False) is True)
    # A new wrapper per load: a wrapper remembers the length of the function's vectors.
    load = functools.partial(_embedding_function, given, preset, dimensions)
    return EmbedderSource(name=load().name, load=load)


def _packaged_embedder(spec: registry.PackagedSpec) -> EmbedderSource:
    """Return an embedder from an optional extra. If the extra is not installed, raise an error that names the extra."""
    packaged.locate(spec)
    return EmbedderSource(name=spec.name, load=lambda: _shared_multilingual(spec.name), computes=True)


@functools.cache
def _shared_multilingual(name: str) -> Embedder:
    """Load the multilingual embedder, once per process, because it uses more memory than other embedders."""
    from holdfast.models.local.multilingual import MultilingualEmbedder  # noqa: PLC0415  (optional dependency)

    embedder = MultilingualEmbedder(registry.PACKAGED[name])
    embedder.load()
    return embedder


def _embedding_function(function: "Callable[[str], Any]", preset: Preset | None, dimensions: int | None) -> Embedder:
    from holdfast.models.embedding_function import CallableEmbedder  # noqa: PLC0415  (optional dependency)

    calibration = preset.recall.measured_by if preset and preset.recall.min_cosine is not None else None
    return CallableEmbedder(function, dimensions=dimensions, calibration=calibration)


def make_remote_embedder(name: str, url: str | None) -> EmbedderSource:
    """Return an embedder that calls a provider over HTTP."""
    from holdfast.models.remote import providers  # noqa: PLC0415  (optional dependency)

    providers.check_name(name, url)

    def load() -> Embedder:
        embedder = providers.remote_embedder(name, base_url=url, api_key=provider_key(providers.key_variable(name)))
        embedder.connect()
        return embedder

    return EmbedderSource(name=name, load=load)


def make_chat(chat: "str | ChatModel | ChatSource | Callable[..., Any]", settings: Settings) -> ChatSource | None:
    """Return an object that loads a chat model on first use. Return None for the name ``none``.

    The chat model is given as a name, an object, or a function from messages to text.
    """
    if isinstance(chat, ChatSource):
        return chat
    if not isinstance(chat, str):
        from holdfast.models.callables import custom_chat  # noqa: PLC0415  (optional dependency)

        custom = custom_chat(chat)
        return ChatSource(
            name=custom.name, load=lambda: custom, timeout=settings.chat_timeout, max_calls=settings.chat_calls or 1
        )
    if chat.casefold() == "none":
        return None
    if chat.startswith(("local:", "gguf:")):
        timeout = settings.chat_timeout or _LOCAL_CHAT_SECONDS
        return ChatSource(name=chat, load=lambda: _local_chat(chat), timeout=timeout, max_calls=settings.chat_calls or 1)
    from holdfast.models.remote import providers  # noqa: PLC0415  (optional dependency)

    providers.check_name(chat, settings.chat_url)

    def load() -> ChatModel:
        key = settings.chat_key or provider_key(providers.key_variable(chat))
        return providers.chat_model(chat, base_url=settings.chat_url, api_key=key)

    return ChatSource(name=chat, load=load, timeout=settings.chat_timeout, max_calls=settings.chat_calls or _REMOTE_CHAT_CALLS)


def _local_chat(name: str) -> ChatModel:
    from holdfast.models.local.llamacpp import LlamaCppChat  # noqa: PLC0415  (optional dependency)

    model = LlamaCppChat(name, models_directory())
    model.load()
    return model


def make_transcriber(settings: Settings) -> "Transcriber | None":
    """Return the server's speech-to-text model, or None if the setting is ``none``."""
    from holdfast.models.transcribers import find_transcriber, transcriber_key  # noqa: PLC0415  (optional dependency)

    key = provider_key(transcriber_key(settings.transcriber))
    return find_transcriber(settings.transcriber, settings.transcriber_url, key)


def make_models(
    settings: Settings,
    preset: Preset,
    *,
    embedder: "str | Embedder | EmbedderSource | Callable[[str], Any] | None" = None,
    chat: "str | ChatModel | ChatSource | Callable[..., Any] | None" = None,
) -> tuple[EmbedderSource | None, ChatSource | None]:
    """Return the embedder and the chat model. Arguments take precedence over settings, and settings over the preset."""
    chosen = (settings.embedder or preset.embedder or registry.DEFAULT_MODEL) if embedder is None else embedder
    dimensions = settings.memory.embedding_dim if isinstance(settings.memory, MemoryConfig) else None
    if dimensions is not None:
        _check_dimensions(chosen, dimensions)
    embedder_source = make_embedder(chosen, settings.embedder_url, preset=preset, dimensions=dimensions)
    return embedder_source, make_chat(settings.chat if chat is None else chat, settings)


def _check_dimensions(chosen: "str | Embedder | EmbedderSource | Callable[[str], Any]", wanted: int) -> None:
    """Raise SettingsError if ``embedding_dim`` (``wanted``) is not the length of the embedder's vectors.

    If the embedder is a function, it is called once to find the length of its vectors. If the call fails, a warning is logged
    and nothing is checked. Any other embedder is checked only if ``embedding_dim`` differs from the default of this setting.
    """
    try:
        found = _dimensions_of(chosen, only_functions=wanted == MemoryConfig().embedding_dim)
    except ModelError as error:
        log.warning("embedding_dim could not be checked: %s", error)
        return
    if found is not None and found != wanted:
        raise SettingsError(
            f"embedding_dim is {wanted}, but the embedder returns vectors of {found} numbers. Nothing was opened. "
            f"Set embedding_dim to {found}, or use another embedder."
        )


def _dimensions_of(chosen: "str | Embedder | EmbedderSource | Callable[[str], Any]", *, only_functions: bool) -> int | None:
    if callable(chosen) and not isinstance(chosen, EmbedderSource) and not hasattr(chosen, "embed"):
        return _embedding_function(chosen, None, None).dimensions
    if only_functions or isinstance(chosen, EmbedderSource):
        return None
    if not isinstance(chosen, str):
        return cast("Embedder", chosen).dimensions
    return None if ":" in chosen or chosen.casefold() == "none" else registry.find_embedder(chosen).dimensions


def make_reranker(reranker: "str | Reranker") -> "Reranker | Literal['chat'] | None":
    """Return the reranker, or None for the name ``none``.

    The reranker is given as the name of a model, as ``"chat"`` for the chat model, or as an object.
    """
    if not isinstance(reranker, str):
        if not callable(getattr(reranker, "rate", None)) or not isinstance(getattr(reranker, "name", None), str):
            raise SettingsError("A reranker object must have a name and a method rate(question, candidates, asked_at=).")
        return reranker
    if reranker.casefold() in ("chat", "none"):
        return "chat" if reranker.casefold() == "chat" else None
    if reranker not in registry.RERANKERS:
        raise SettingsError(
            translatable(
                "model.reranker",
                "Unknown reranker {name!r}. Use {known}, chat or none.",
                name=reranker,
                known=", ".join(registry.RERANKERS),
            )
        )
    environment.silence_onnxruntime()
    from holdfast.models.local.cross_encoder import CrossEncoder  # noqa: PLC0415  (onnxruntime is heavy)

    return CrossEncoder(registry.RERANKERS[reranker], models_directory())


def make_sentence_reader(name: str) -> SentenceReader | None:
    """Return the sentence reader with this name, or None for the name ``none``. All engines of a process share one reader."""
    if name.casefold() == "none":
        return None
    if name not in registry.READERS:
        raise SettingsError(
            translatable(
                "model.reader", "Unknown reader {name!r}. Use {known} or none.", name=name, known=", ".join(registry.READERS)
            )
        )
    return _sentence_reader(name, models_directory())


@functools.cache
def _sentence_reader(name: str, directory: Path) -> SentenceReader:
    environment.silence_onnxruntime()
    return CachedReader(registry.READERS[name], directory)


def provider_key(name: str | None) -> str | None:
    """Return the API key in the environment variable ``name``. Return None if the variable is not set, or if ``name`` is None."""
    return environment.variable(name) if name else None
