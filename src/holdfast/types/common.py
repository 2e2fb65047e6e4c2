"""Names for values with a fixed set of choices, and helpers that several types share."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

MemoryOrigin: TypeAlias = Literal["auto", "explicit", "import", "file"]
MessageOrigin: TypeAlias = Literal["user", "assistant", "tool", "web", "file"]
MemoryStatus: TypeAlias = Literal["live", "superseded", "forgotten", "expired"]
SessionStatus: TypeAlias = Literal["open", "idle", "ended"]
KeyLevel: TypeAlias = Literal["read", "write", "admin"]
"""What a key may do; each level includes the ones before it."""
JobState: TypeAlias = Literal["queued", "running", "done", "dead"]
Metadata: TypeAlias = Mapping[str, Any]
Where: TypeAlias = Mapping[str, Any]
"""A metadata filter: ``{"room": "kitchen"}``, ``{"room": ["kitchen", "hall"]}``, ``{"level": {"$gte": 3}}``."""
TRUST: Mapping[MessageOrigin, float] = {
    "user": 1.0,
    "assistant": 0.8,
    "file": 0.6,
    "tool": 0.4,
    "web": 0.2,
}
"""How far a text is believed, by where it came from; a derived memory has the least of its sources."""
_MAX_REPR_CHARACTERS = 60
"""Characters of a text that a repr shows: objects stand in logs and tracebacks, where a whole message is too much."""


def short_repr(text: str) -> str:
    """Return a text for a repr: on one line, cut to a readable length."""
    return repr(text if len(text) <= _MAX_REPR_CHARACTERS else f"{text[: _MAX_REPR_CHARACTERS - 1]}…")
