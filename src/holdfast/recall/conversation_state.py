"""State of a conversation between turns: its topic, the memories recalled so far, and the start of its window.

The state is stored in the session's row, so that it survives a restart. A session that was closed and continues later
starts with an empty state.
"""

from dataclasses import dataclass, replace
from typing import Any

from holdfast.types import SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """State of a conversation between two turns."""

    topic: str | None = None
    recalled_ids: tuple[str, ...] = ()
    """Ids of the memories recalled so far, in that order."""
    window_from: int = 0
    """Sequence number of the last message that is no longer part of the window."""


def conversation_state(session: SessionRecord | None) -> ConversationState:
    """Return the state of a session; empty for None."""
    if session is None:
        return ConversationState()
    closed_to = int(session.metadata.get("closed_to", 0))
    return ConversationState(
        topic=topic_found_since(session, closed_to),
        recalled_ids=tuple(session.metadata.get("recalled", ())),
        window_from=max(int(session.metadata.get("window_from", 0)), closed_to),
    )


def topic_found_since(session: SessionRecord, seq: int) -> str | None:
    """Return the topic that was detected after a message, or None."""
    topic = session.metadata.get("topic")
    return str(topic) if topic and int(session.metadata.get("topic_seq", 0)) > seq else None


def with_state(session: SessionRecord, **changes: Any) -> SessionRecord:
    """Return the session with some entries of its state changed. None removes an entry."""
    merged = {**session.metadata, **changes}
    return replace(session, metadata={name: value for name, value in merged.items() if value is not None})
