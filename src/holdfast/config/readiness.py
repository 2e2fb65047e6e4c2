"""Before work starts, check that the configured models can be used: their packages, API keys, weights and servers."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from holdfast.config.folders import models_directory
from holdfast.config.models import provider_key
from holdfast.config.settings import Settings
from holdfast.errors import ModelError, ModelUnavailable
from holdfast.models.local import registry
from holdfast.models.local.runtime import check_runtime
from holdfast.models.local.weights import locate
from holdfast.presets.base import Preset
from holdfast.types.translatable import translatable

if TYPE_CHECKING:
    from holdfast.models.remote.faults import Service

_MIN_CHAT_RERANK_SECONDS = 1.0
"""Seconds that a chat model usually needs to rerank hits. If a recall waits less than this, a warning is given."""
_CONNECT_TIMEOUT = 2.0
"""Maximum time to wait for a model server to accept a connection, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProblem:
    """The reason why a configured model cannot be used now."""

    setting: str
    """The setting that names the model: ``chat``, ``embedder``, ``reranker`` or ``reader``."""
    error: ModelError
    blocking: bool
    """True if the problem stops work until a person fixes it, for example installs a package or sets a key."""


def check_models(settings: Settings, preset: Preset) -> list[str]:
    """Check the configured models. Raise the error of the first problem that blocks work.

    If no problem blocks work, return the other problems as warnings.
    """
    problems = model_problems(settings, preset)
    for problem in problems:
        if problem.blocking:
            raise problem.error
    return [str(problem.error) for problem in problems]


def model_problems(settings: Settings, preset: Preset) -> list[ModelProblem]:
    """Return the problems of the configured models. No model is loaded or called.

    Missing weights of an embedder, reranker or sentence reader do not block work. Recall works without an embedder or a
    reranker, and rules extract memories without a sentence reader.
    """
    found: list[ModelProblem] = []
    with _collect(found, "chat"):
        _check_chat(settings)
    with _collect(found, "embedder"):
        _check_embedder(settings.embedder or preset.embedder or registry.DEFAULT_MODEL, settings.embedder_url)
    with _collect(found, "reranker"):
        _check_reranker(settings)
    with _collect(found, "reader"):
        _check_reader(settings)
    return found


class _Warning(Exception):
    """Raised for a problem with a model that does not block work."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def _collect(found: list[ModelProblem], setting: str) -> Iterator[None]:
    try:
        yield
    except _Warning as warning:
        found.append(ModelProblem(setting=setting, error=warning.error, blocking=False))
    except ModelError as error:
        found.append(ModelProblem(setting=setting, error=error, blocking=True))


def _check_chat(settings: Settings) -> None:
    name = settings.chat
    if name.casefold() == "none":
        return
    if name.startswith(("local:", "gguf:")):
        from holdfast.models.local.llamacpp import LlamaCppChat  # noqa: PLC0415  (optional dependency)

        LlamaCppChat(name, models_directory()).check()
        return
    from holdfast.models.remote import providers  # noqa: PLC0415  (optional dependency)

    key = settings.chat_key or provider_key(providers.key_variable(name))
    _connect(providers.chat_service(name, base_url=settings.chat_url, api_key=key))


def _check_embedder(name: str, url: str | None) -> None:
    """Check that a remote embedder has its package and API key, and that its server accepts connections. Raise if not.

    A local embedder is not checked here, because the engine itself reports missing weights.
    """
    if ":" not in name:
        return
    from holdfast.models.remote import providers  # noqa: PLC0415  (optional dependency)

    key = provider_key(providers.key_variable(name))
    _connect(providers.embedding_service(name, base_url=url, api_key=key))


def _check_reranker(settings: Settings) -> None:
    name = settings.reranker
    if name.casefold() == "chat" and settings.chat.casefold() == "none":
        raise _Warning(
            ModelUnavailable(
                translatable(
                    "reranker.no_chat",
                    "The setting reranker is `chat`, but no chat model is configured. Hits are not reranked. Set `chat`.",
                )
            )
        )
    if name.casefold() == "chat" and settings.recall_timeout < _MIN_CHAT_RERANK_SECONDS:
        raise _Warning(
            ModelUnavailable(
                translatable(
                    "reranker.slow_chat",
                    "The setting reranker is `chat`, but a recall waits at most {seconds:g} s. Chat models are slower, so hits "
                    "are rarely reranked. Set recall_timeout to 5.",
                    seconds=settings.recall_timeout,
                )
            )
        )
    if name in registry.RERANKERS:
        _check_weights(registry.RERANKERS[name])


def _check_reader(settings: Settings) -> None:
    if settings.reader in registry.READERS:
        _check_weights(registry.READERS[settings.reader])


def _check_weights(spec: registry.Spec) -> None:
    """Raise ``_Warning`` if the weights of a model are missing or damaged, or if onnxruntime is missing."""
    try:
        check_runtime()
        locate(spec, models_directory())
    except ModelError as error:
        raise _Warning(error) from error


def _connect(service: "Service") -> None:
    """Raise ``_Warning`` if a model's server accepts no connection. If calls go through a proxy, do nothing."""
    parts = urlsplit(service.base_url)
    host = parts.hostname or ""
    if getproxies().get(parts.scheme) and not proxy_bypass(host):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        from holdfast.models.remote.faults import unreachable  # noqa: PLC0415  (optional dependency)

        raise _Warning(ModelUnavailable(unreachable(service, reason))) from error
