"""Table of the model providers, and functions that create a model from a name such as ``ollama:llama3.2``.

The caller passes API keys and URLs. The table only names the environment variable of each key; ``holdfast.config``
reads these variables.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from holdfast.chat import ChatModel
from holdfast.errors import ExtraMissing, KeyMissing, ModelError, ModelUnknown
from holdfast.models.remote.faults import Service
from holdfast.models.remote.prices import FREE, Price, find_price
from holdfast.models.remote.retrying import RetryPolicy
from holdfast.types.translatable import translatable

if TYPE_CHECKING:
    from holdfast.models.remote.openai_embedder import OpenAIEmbedder

__all__ = [
    "PROVIDERS",
    "Provider",
    "chat_model",
    "chat_service",
    "check_name",
    "embedding_service",
    "key_variable",
    "remote_embedder",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider: its URL, its Python package, the environment variable of its API key, and advice for error messages."""

    name: str
    base_url: str
    package: Literal["openai", "anthropic"] = "openai"
    key_variable: str | None = None
    """Environment variable that holds the API key; None if no key is needed."""
    local: bool = False
    """True if the provider runs on the user's own machine, free of charge."""
    limit: str = "max_tokens"
    when_unknown: str = "See the provider's list of models."
    when_unreachable: str = translatable("model.network", "Check the network and the URL.")

    @property
    def embeds(self) -> bool:
        """True if the provider offers embedding models."""
        return self.package == "openai"


def _on_this_machine(name: str, base_url: str, title: str, start: str, fetch: str) -> Provider:
    running = translatable("model.is_running", f"Is {title} running? Start it with `{{command}}`.", name=name, command=start)
    return Provider(name=name, base_url=base_url, local=True, when_unknown=fetch, when_unreachable=running)


_TABLE: Final = (
    Provider(
        name="openai",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        limit="max_completion_tokens",
        when_unknown="See platform.openai.com/docs/models.",
    ),
    Provider(
        name="anthropic",
        base_url="https://api.anthropic.com",
        package="anthropic",
        key_variable="ANTHROPIC_API_KEY",
        when_unknown="See platform.claude.com/docs/about-claude/models.",
    ),
    Provider(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        key_variable="GROQ_API_KEY",
        when_unknown="See console.groq.com/docs/models.",
    ),
    _on_this_machine(
        "ollama",
        "http://localhost:11434/v1",
        "Ollama",
        "ollama serve",
        "Fetch it with `ollama pull {model}`; `ollama list` shows the installed models.",
    ),
    _on_this_machine(
        "lmstudio",
        "http://localhost:1234/v1",
        "LM Studio's server",
        "lms server start",
        "Load it in LM Studio, or with `lms load {model}`.",
    ),
    _on_this_machine(
        "vllm",
        "http://localhost:8000/v1",
        "vLLM",
        "vllm serve MODEL",
        "Start vLLM with it: `vllm serve {model}`.",
    ),
    _on_this_machine(
        "llamacpp-server",
        "http://localhost:8080/v1",
        "the llama.cpp server",
        "llama-server -m FILE.gguf",
        "Start the server with it: `llama-server -m FILE.gguf`.",
    ),
)
PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType({provider.name: provider for provider in _TABLE})

_COMPATIBLE: Final = Provider(name="", base_url="")
"""The provider entry for a custom OpenAI-compatible server."""


def key_variable(name: str) -> str | None:
    """Return the environment variable that holds the API key for a model, or None if the model needs no key."""
    provider = PROVIDERS.get(name.partition(":")[0].casefold())
    return provider.key_variable if provider else None


def check_name(name: str, base_url: str | None = None) -> None:
    """Raise ``ModelUnknown`` if a model name is invalid. The package and the key are not checked yet."""
    _split(name, base_url)


def chat_service(name: str, *, base_url: str | None = None, api_key: str | None = None) -> Service:
    """Return the URL, key and model name of a chat model.

    Raise ``ExtraMissing`` if its package is not installed, and ``KeyMissing`` if its key is not set.
    """
    provider, model = _split(name, base_url)
    return _service(provider, name, model, base_url=base_url, api_key=api_key)


def embedding_service(name: str, *, base_url: str | None = None, api_key: str | None = None) -> Service:
    """Return the URL, key and model name of an embedder. Raise the same errors as :func:`chat_service`."""
    provider, model = _split(name, base_url)
    if not provider.embeds:
        having = ", ".join(known.name for known in _TABLE if known.embeds)
        raise ModelUnknown(f"{provider.name} has no embedding models. Use one of these providers: {having}.")
    return _service(provider, name, model, base_url=base_url, api_key=api_key)


def chat_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    retry_policy: RetryPolicy | None = None,
) -> ChatModel:
    """Return a chat model by its full name, such as ``openai:gpt-4o-mini``. No call is made yet.

    ``base_url`` can be any OpenAI-compatible server. ``prices`` map full names to US dollars per million input and output
    tokens, and take precedence over the known prices.
    """
    provider, model = _split(name, base_url)
    service = chat_service(name, base_url=base_url, api_key=api_key)
    price = _price(provider, name, prices)
    from holdfast.models.remote.chat import ProviderFormat, RemoteChat  # noqa: PLC0415  (optional dependency)

    provider_format: ProviderFormat
    if provider.package == "anthropic":
        from holdfast.models.remote.anthropic_chat import AnthropicFormat  # noqa: PLC0415  (optional dependency)

        provider_format = AnthropicFormat(model=model)
    else:
        from holdfast.models.remote.openai_chat import OpenAIFormat  # noqa: PLC0415  (optional dependency)

        # Compatible servers know only the older name of the field.
        provider_format = OpenAIFormat(model=model, limit=provider.limit if base_url is None else "max_tokens")
    return RemoteChat(service, provider_format, price=price, retry_policy=retry_policy)


def remote_embedder(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    calibration: tuple[float, float] | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    retry_policy: RetryPolicy | None = None,
) -> "OpenAIEmbedder":
    """Return an embedder by its full name, such as ``ollama:nomic-embed-text``. No call is made yet."""
    service = embedding_service(name, base_url=base_url, api_key=api_key)
    provider, _ = _split(name, base_url)
    from holdfast.models.remote.openai_embedder import OpenAIEmbedder  # noqa: PLC0415  (optional dependency)

    return OpenAIEmbedder(
        service,
        dimensions=dimensions,
        calibration=calibration,
        price=_price(provider, name, prices),
        retry_policy=retry_policy,
    )


def _split(name: str, base_url: str | None) -> tuple[Provider, str]:
    """Split a full name such as ``openai:gpt-4o-mini`` into the provider and the provider's name for the model.

    If the provider is unknown and a URL is given, the whole name is the name of a model on an OpenAI-compatible server. If
    the provider is unknown and no URL is given, or if the name of the model is missing, raise ``ModelUnknown``.
    """
    prefix, _, model = name.partition(":")
    provider = PROVIDERS.get(prefix.casefold())
    if provider is not None and model.strip():
        return provider, model.strip()
    if provider is None and base_url is not None and name.strip():
        return _COMPATIBLE, name.strip()
    known = ", ".join(PROVIDERS)
    raise ModelUnknown(
        translatable(
            "model.name",
            "{name!r} is not a valid model name. Use PROVIDER:MODEL, such as openai:gpt-4o-mini or ollama:llama3.2. The providers are: {known}. For another OpenAI-compatible server, set its URL.",
            name=name,
            known=known,
        )
    )


def _service(provider: Provider, name: str, model: str, *, base_url: str | None, api_key: str | None) -> Service:
    if importlib.util.find_spec(provider.package) is None:
        package = provider.package
        raise ExtraMissing(
            translatable(
                "extra.needed",
                "{name} needs the package {package}: pip install 'holdfast-memory[{package}]'",
                name=name,
                package=package,
            )
        )
    return Service(
        name=name,
        model=model,
        base_url=_address(provider, base_url),
        key=_key(provider, name, api_key, needed=base_url is None),
        key_variable=provider.key_variable,
        when_unknown=provider.when_unknown.format(model=model),
        when_unreachable=provider.when_unreachable,
    )


def _key(provider: Provider, name: str, api_key: str | None, *, needed: bool) -> str | None:
    key = (api_key or "").strip()
    if not key and needed and provider.key_variable:
        raise KeyMissing(
            translatable(
                "model.needs_key", "{name} needs a key: set {variable}.", name=name, variable=provider.key_variable or ""
            )
        )
    if not key.isascii() or not key.isprintable():
        raise KeyMissing(f"The key for {name} contains invalid characters. Set {provider.key_variable or 'api_key'} again.")
    return key or None


def _address(provider: Provider, base_url: str | None) -> str:
    """Return the URL in the form that the provider's package expects."""
    address = (base_url or provider.base_url).strip().rstrip("/")
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelError(f"{address!r} is not a valid URL. It should look like http://localhost:11434/v1.")
    if provider.package == "anthropic":
        return address.removesuffix("/v1")  # the package adds it
    return f"{address}/v1" if provider.local and not urlsplit(address).path else address


def _price(provider: Provider, name: str, prices: Mapping[str, tuple[float, float]] | None) -> Price | None:
    return find_price(name, prices) or (FREE if provider.local else None)
