"""State that a conversation keeps between turns: its topic, the memories recalled so far, and where its window starts.

The window is the part of the conversation that is sent to the model. The state is stored in the session's row, so that
it survives a restart. If a closed session is resumed, its state is empty again.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from holdfast.types import SessionRecord

UNLEARNED_TO = "unlearned_to"
"""Key in the metadata of an imported session. The value is a message's sequence number.

No memories are extracted from this message and the messages before it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """The state of a conversation that is kept from one turn to the next."""

    topic: str | None = None
    recalled_ids: tuple[str, ...] = ()
    """Ids of the memories recalled so far, in the order of their recall."""
    window_from: int = 0
    """Sequence number of the last message before the window. The window is the part of the conversation sent to the model."""
    started_at: datetime | None = None
    """Time at which the conversation began. Relative times count from it, so that they do not change between turns."""
    language: str | None = None
    """Language in which the conversation began."""


def conversation_state(session: SessionRecord | None) -> ConversationState:
    """Return the state of a session, or an empty state if ``session`` is None."""
    if session is None:
        return ConversationState()
    closed_to = int(session.metadata.get("closed_to", 0))
    return ConversationState(
        topic=topic_found_since(session, closed_to),
        recalled_ids=tuple(session.metadata.get("recalled", ())),
        window_from=max(int(session.metadata.get("window_from", 0)), closed_to),
        started_at=session.ended_at if closed_to and session.ended_at else session.started_at,
    )


def topic_found_since(session: SessionRecord, seq: int) -> str | None:
    """Return the session's topic if it was detected after message number ``seq``, or None."""
    topic = session.metadata.get("topic")
    return str(topic) if topic and int(session.metadata.get("topic_seq", 0)) > seq else None


def with_state(session: SessionRecord, **changes: Any) -> SessionRecord:
    """Return the session with changed metadata: each argument is the new value of an entry. The value None removes the entry."""
    merged = {**session.metadata, **changes}
    return replace(session, metadata={name: value for name, value in merged.items() if value is not None})
