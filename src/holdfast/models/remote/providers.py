"""The providers of chat and embedding models, as data, and how a name such as ``ollama:llama3.2`` becomes a model.

Keys and addresses come from the caller: the table says which environment variable holds a key, and the settings
read it.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal
from urllib.parse import urlsplit

from holdfast.chat import ChatModel
from holdfast.errors import ExtraMissing, KeyMissing, ModelError, ModelUnknown
from holdfast.models.remote.faults import Service
from holdfast.models.remote.prices import FREE, Price, find_price
from holdfast.models.remote.retrying import RetryPolicy
from holdfast.protocols import Embedder

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
    """Where a provider is, what it needs, and what to tell people when it does not answer."""

    name: str
    base_url: str
    package: Literal["openai", "anthropic"] = "openai"
    key_variable: str | None = None
    """The environment variable that holds the key; None where no key is needed."""
    local: bool = False
    """It runs on a machine of one's own, and costs nothing."""
    limit: str = "max_tokens"
    when_unknown: str = "See the provider's list of models."
    when_unreachable: str = "Is the network up, and the address right?"

    @property
    def embeds(self) -> bool:
        """Whether it offers embeddings."""
        return self.package == "openai"


def _on_this_machine(name: str, base_url: str, title: str, start: str, fetch: str) -> Provider:
    running = f"Is {title} running? {start}"
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
        "Start it with `ollama serve`.",
        "Fetch it with `ollama pull {model}`; `ollama list` shows what is there.",
    ),
    _on_this_machine(
        "lmstudio",
        "http://localhost:1234/v1",
        "LM Studio's server",
        "Start it with `lms server start`.",
        "Load it in LM Studio, or with `lms load {model}`.",
    ),
    _on_this_machine(
        "vllm",
        "http://localhost:8000/v1",
        "vLLM",
        "Start it with `vllm serve MODEL`.",
        "Start vLLM with it: `vllm serve {model}`.",
    ),
    _on_this_machine(
        "llamacpp-server",
        "http://localhost:8080/v1",
        "the llama.cpp server",
        "Start it with `llama-server -m FILE.gguf`.",
        "Start the server with it: `llama-server -m FILE.gguf`.",
    ),
)
PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType({provider.name: provider for provider in _TABLE})

_COMPATIBLE: Final = Provider(name="", base_url="")
"""A server of the caller's own that speaks as OpenAI does."""


def key_variable(name: str) -> str | None:
    """Return the environment variable that holds the key for a model, None where there is none."""
    provider = PROVIDERS.get(name.partition(":")[0].casefold())
    return provider.key_variable if provider else None


def check_name(name: str, base_url: str | None = None) -> None:
    """Raise ModelUnknown where a name cannot be a model's; whether its package and key are there shows when it is used."""
    _split(name, base_url)


def chat_service(name: str, *, base_url: str | None = None, api_key: str | None = None) -> Service:
    """Return where a chat model is served; raise ExtraMissing or KeyMissing where its package or key is missing."""
    provider, model = _split(name, base_url)
    return _service(provider, name, model, base_url=base_url, api_key=api_key)


def embedding_service(name: str, *, base_url: str | None = None, api_key: str | None = None) -> Service:
    """Return where an embedder is served, with the same errors."""
    provider, model = _split(name, base_url)
    if not provider.embeds:
        having = ", ".join(known.name for known in _TABLE if known.embeds)
        raise ModelUnknown(f"{provider.name} has no embedding models; these providers have: {having}.")
    return _service(provider, name, model, base_url=base_url, api_key=api_key)


def chat_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    retry_policy: RetryPolicy | None = None,
) -> ChatModel:
    """Return a chat model by its full name, such as ``openai:gpt-4o-mini``; nothing is called yet.

    With ``base_url``, any server that speaks as OpenAI does will serve. ``prices`` are US dollars per million tokens
    in and out, by full name, and come before those that are known.
    """
    provider, model = _split(name, base_url)
    service = chat_service(name, base_url=base_url, api_key=api_key)
    price = _price(provider, name, prices)
    from holdfast.models.remote.chat import ProviderFormat, RemoteChat  # noqa: PLC0415  (only for those who use it)

    dialect: ProviderFormat
    if provider.package == "anthropic":
        from holdfast.models.remote.anthropic_chat import AnthropicFormat  # noqa: PLC0415  (only for those who use it)

        dialect = AnthropicFormat(model=model)
    else:
        from holdfast.models.remote.openai_chat import OpenAIFormat  # noqa: PLC0415  (only for those who use it)

        # Servers that only speak like OpenAI know the field by its first name.
        dialect = OpenAIFormat(model=model, limit=provider.limit if base_url is None else "max_tokens")
    return RemoteChat(service, dialect, price=price, patience=retry_policy)


def remote_embedder(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    calibration: tuple[float, float] | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    retry_policy: RetryPolicy | None = None,
) -> Embedder:
    """Return an embedder by its full name, such as ``ollama:nomic-embed-text``; nothing is called yet."""
    service = embedding_service(name, base_url=base_url, api_key=api_key)
    provider, _ = _split(name, base_url)
    from holdfast.models.remote.openai_embedder import OpenAIEmbedder  # noqa: PLC0415  (only for those who use it)

    return OpenAIEmbedder(
        service,
        dimensions=dimensions,
        calibration=calibration,
        price=_price(provider, name, prices),
        patience=retry_policy,
    )


def _split(name: str, base_url: str | None) -> tuple[Provider, str]:
    """Return the provider and its own name for the model; with an address, any name will do."""
    prefix, _, model = name.partition(":")
    provider = PROVIDERS.get(prefix.casefold())
    if provider is not None and model.strip():
        return provider, model.strip()
    if provider is None and base_url is not None and name.strip():
        return _COMPATIBLE, name.strip()
    known = ", ".join(PROVIDERS)
    raise ModelUnknown(
        f"{name!r} is not a model's name. Say PROVIDER:MODEL, such as openai:gpt-4o-mini or ollama:llama3.2. "
        f"The providers are: {known}. For any other server that speaks as OpenAI does, give its base_url."
    )


def _service(provider: Provider, name: str, model: str, *, base_url: str | None, api_key: str | None) -> Service:
    if importlib.util.find_spec(provider.package) is None:
        package = provider.package
        raise ExtraMissing(f"{name} needs the package {package}: pip install 'holdfast[{package}]'")
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
        raise KeyMissing(f"{name} needs a key: set {provider.key_variable}.")
    if not key.isascii() or not key.isprintable():
        raise KeyMissing(f"The key for {name} has characters that no key has; set {provider.key_variable or 'api_key'} anew.")
    return key or None


def _address(provider: Provider, base_url: str | None) -> str:
    """Return the address to call, in the form the provider's package wants it."""
    address = (base_url or provider.base_url).strip().rstrip("/")
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelError(f"{address!r} is not an address; it should look like http://localhost:11434/v1.")
    if provider.package == "anthropic":
        return address.removesuffix("/v1")  # the package adds it
    return f"{address}/v1" if provider.local and not urlsplit(address).path else address


def _price(provider: Provider, name: str, prices: Mapping[str, tuple[float, float]] | None) -> Price | None:
    return find_price(name, prices) or (FREE if provider.local else None)
