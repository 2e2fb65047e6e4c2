"""The settings and their defaults. ``loading.py`` reads them from arguments, environment variables and files."""

import re
from dataclasses import dataclass, field, fields
from typing import Any

from holdfast.presets import PRESETS
from holdfast.presets.settings import DesignSettings

SECRET = ("key", "chat_key")
"""Names of the settings whose values are never shown."""


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
            "help": "Days for which traces are kept. A trace records how a context block was built. 0 keeps none. See [traces.md](../traces.md)."
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
    max_batch: int = field(
        default=250,
        metadata={
            "help": "Maximum messages or memories in one HTTP request, at most a thousand. They are stored in one transaction, which "
            "makes other writers wait about 25 ms per 250 messages."
        },
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
    oauth_issuer: str | None = field(
        default=None,
        metadata={
            "help": "The OAuth authorization server whose access tokens the server accepts besides access keys, such as "
            "`https://login.example.org`. See docs/server.md."
        },
    )
    oauth_resource: str | None = field(
        default=None, metadata={"help": "The public URL of the MCP server, such as `https://memory.example.org/mcp`, for OAuth."}
    )
    oauth_audience: str | None = field(
        default=None, metadata={"help": "The audience of access tokens. Default: `oauth_resource`."}
    )
    oauth_user_claim: str = field(default="sub", metadata={"help": "The claim of an access token that names the user."})
    oauth_tenant_claim: str | None = field(
        default=None, metadata={"help": "The claim of an access token that names the tenant. Default: the server's tenant."}
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
