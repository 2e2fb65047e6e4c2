"""What a conversation has in mind: its topic, what it was reminded of, and where its window begins.

It is kept in the session's row, so that a restart in the middle of a conversation changes nothing. A conversation
that was closed and goes on later begins anew: what it had in mind belongs to the part that was closed.
"""

from dataclasses import dataclass, replace
from typing import Any

from holdfast.types import SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """The state of a conversation between two turns."""

    topic: str | None = None
    recalled_ids: tuple[str, ...] = ()
    """The memories it was reminded of so far, in that order."""
    window_from: int = 0
    """Messages up to this one are no longer part of the window."""


def conversation_state(session: SessionRecord | None) -> ConversationState:
    """Return what an open conversation has in mind."""
    if session is None:
        return ConversationState()
    kept = session.metadata
    window_from = max(int(kept.get("window_from", 0)), int(kept.get("closed_to", 0)))
    return ConversationState(
        topic=topic_found_since(session, int(kept.get("closed_to", 0))),
        recalled_ids=tuple(kept.get("recalled", ())),
        window_from=window_from,
    )


def topic_found_since(session: SessionRecord, seq: int) -> str | None:
    """Return the topic that was found after a message, if one was."""
    found = session.metadata.get("topic")
    return str(found) if found and int(session.metadata.get("topic_seq", 0)) > seq else None


def with_state(session: SessionRecord, **changes: Any) -> SessionRecord:
    """Return the session with some of its state changed; None takes an entry away."""
    merged = {**session.metadata, **changes}
    return replace(session, metadata={name: value for name, value in merged.items() if value is not None})
