"""Lo-Bug's working memory: the last messages of the conversation, and the prompt that contains them."""

import logging
from collections import deque

from holdfast.agent.device import device_persona
from holdfast.designs.lobug.database import MemoryDB
from holdfast.designs.lobug.manager import MemoryManager
from holdfast.errors import HoldfastError
from holdfast.presets.lobug import LOBUG
from holdfast.text.clean import escape_line

__all__ = ["ConversationManager"]

log = logging.getLogger("holdfast")


class ConversationManager:
    """The messages that a model sees, at most 20, preceded by the system prompt."""

    def __init__(
        self,
        memory_manager: MemoryManager | None = None,
        personality: str | None = None,
        *,
        max_messages: int = LOBUG.window,
    ) -> None:
        """Start with an empty conversation. ``personality`` is the start of the system prompt."""
        self.memory_manager = memory_manager
        self.personality = device_persona(None) if personality is None else personality
        self.messages: deque[dict[str, str]] = deque(maxlen=max_messages)
        self.sensor_summary: str | None = None
        """The current state of the device as one line, or None."""

    def add_message(self, role: str, content: str) -> None:
        """Add a message. If the conversation is full, the oldest message is removed."""
        self.messages.append({"role": role, "content": content})

    def add_user_message(self, content: str) -> None:
        """Add a message of the user."""
        self.add_message("user", content)

    def add_assistant_message(self, content: str) -> None:
        """Add a reply of the assistant."""
        self.add_message("assistant", content)

    def clear(self) -> None:
        """Remove all messages from the working memory. The messages in the database's log stay."""
        self.messages.clear()

    def reload_from_db(self, db: MemoryDB) -> None:
        """Replace the messages with the last messages of the log, for example after a restart.

        Messages that are marked as noise are left out.
        """
        recent = db.window()
        self.messages.clear()
        self.messages.extend({"role": each.role, "content": each.text} for each in recent)

    def build_messages(self) -> list[dict[str, str]]:
        """Return the input of a chat function: personality, memories and sensor state as system prompt, then the messages.

        If the memories cannot be read, a warning is logged, and the prompt contains no memories.
        """
        parts = (self.personality, self._memories(), self._sensors())
        system = "\n\n".join(part for part in parts if part)
        return [{"role": "system", "content": system}, *(dict(message) for message in self.messages)]

    def _memories(self) -> str:
        query = self._last_user_content()
        if self.memory_manager is None or query is None:
            return ""
        try:
            return self.memory_manager.retrieve_context(query).prompt
        except HoldfastError as error:
            log.warning("Memories could not be read; building the prompt without them: %s", error)
            return ""

    def _sensors(self) -> str:
        return f"[Current physical state: {escape_line(self.sensor_summary)}]" if self.sensor_summary else ""

    def _last_user_content(self) -> str | None:
        """Return the newest message of the user, or None."""
        return next((each["content"] for each in reversed(self.messages) if each["role"] == "user"), None)
