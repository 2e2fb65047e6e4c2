"""Types for values with fixed choices, the trust of each message origin, redactions, and a helper for reprs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

MemoryOrigin: TypeAlias = Literal["auto", "explicit", "import", "file"]
Act: TypeAlias = Literal["question", "request", "statement", "reply", "small_talk"]
"""Dialogue act of a message: what the message does in the conversation."""
MessageOrigin: TypeAlias = Literal["user", "assistant", "tool", "web", "file"]
MemoryStatus: TypeAlias = Literal["live", "superseded", "forgotten", "expired", "proposed"]
"""Status of a memory. ``proposed`` memories are not in use: a person accepts or dismisses them."""
Area: TypeAlias = Literal["identity", "health", "family", "home", "work", "money", "plans", "rules", "preferences", "other"]
"""An area of life that a memory is about."""
SessionStatus: TypeAlias = Literal["open", "idle", "ended"]
KeyLevel: TypeAlias = Literal["read", "write", "admin"]
"""Access level of an access key. Each level includes the rights of the ones before it."""
JobState: TypeAlias = Literal["queued", "running", "done", "dead"]
Metadata: TypeAlias = Mapping[str, Any]
Where: TypeAlias = Mapping[str, Any]
"""A metadata filter, such as ``{"room": "kitchen"}``, ``{"room": ["kitchen", "hall"]}`` or ``{"level": {"$gte": 3}}``.

The operators ``$eq $ne $gt $gte $lt $lte $in $nin $exists $contains $not`` test a value. ``$and``, ``$or`` and ``$not`` combine
filters. All operators mean what they mean in MongoDB.
"""
TRUST: Mapping[MessageOrigin, float] = {
    "user": 1.0,
    "assistant": 0.8,
    "file": 0.6,
    "tool": 0.4,
    "web": 0.2,
}
"""Maps the origin of a message to its trust, from 0 to 1."""
MIN_TRUST = 0.7
"""Default of the setting ``min_trust``: recall returns only text with at least this trust.

Text of tools, web pages, files and quotations has less trust than this default.
"""
QUOTED_TRUST = 0.6
"""Trust of text that a user quotes, such as a pasted e-mail. It is not the user's statement."""
Provenance: TypeAlias = Literal["user", "assistant", "tool", "web", "file", "quoted"]
"""Whose words the text of a hit is. ``user`` means the owner's own words. Topic pages and imports count as the owner's words."""
_MAX_REPR_CHARACTERS = 60
"""Maximum number of characters of a text in a repr, because reprs end up in logs and tracebacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A secret that was replaced before storage: its kind, and the field that contained it."""

    field: str
    """Name of the field, such as ``text``, ``speaker`` or ``metadata.token``."""
    kind: str
    """Kind of the secret, such as ``api key``. The stored value contains ``[redacted api key]`` in its place."""

    def __str__(self) -> str:
        return f"{self.kind} in {self.field}"


def short_repr(text: str) -> str:
    """Return the repr of a text, on one line and shortened."""
    return repr(text if len(text) <= _MAX_REPR_CHARACTERS else f"{text[: _MAX_REPR_CHARACTERS - 1]}…")
