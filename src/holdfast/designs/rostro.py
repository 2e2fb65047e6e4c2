"""The memory interface of Rostro: one object that the program's controller calls.

::

    memory = MemoryManager("config.yaml", llm_provider="openai:gpt-4o-mini")
    memory.on_user_message("I decided to use bomba rice.")
    system_prompt = memory.get_context(persona="You are Rostro.")
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from holdfast.chat import ChatModel
from holdfast.config.loading import SettingsSource
from holdfast.config.opening import open_engine
from holdfast.presets.settings import RostroSettings
from holdfast.protocols import Embedder
from holdfast.services import services
from holdfast.session import Session

__all__ = ["MemoryManager", "RostroSettings"]


class MemoryManager:
    """Receives messages and returns the system prompt. An idle conversation is closed and digested."""

    def __init__(
        self,
        config: SettingsSource | None = None,
        llm_provider: str | ChatModel | Callable[..., Any] | None = None,
        embedding_provider: str | Embedder | Callable[[str], Any] | None = None,
        *,
        user: str | None = None,
        **opening: Any,
    ) -> None:
        """Open the memory.

        ``config`` is a YAML file, a mapping like the ``memory:`` section of that file, or ``RostroSettings``.
        """
        settings = RostroSettings() if config is None else config
        self.engine = open_engine(preset="rostro", settings=settings, chat=llm_provider, embedder=embedding_provider, **opening)
        self._user = user
        self._session = self.engine.session(user=user)

    def get_context(self, *, persona: str | None = None) -> str:
        """Return the system prompt.

        The prompt contains the persona, the recent topics, and instructions for the model. It also contains the page of the
        current topic or, if there is no current topic, memories.
        """
        return self._present().context(persona=persona).text

    def get_history(self) -> list[dict[str, str]]:
        """Return the last ten turns of the conversation, or an empty list after the conversation was closed."""
        return [{"role": each.role, "content": each.text} for each in self._present().window()]

    def on_user_message(self, text: str) -> None:
        """Add a user message. Its topic is detected in the background."""
        self._present().add("user", text)

    def on_assistant_message(self, text: str) -> None:
        """Add an assistant message."""
        self._present().add("assistant", text)

    def close_session(self) -> None:
        """Close the conversation now. Its conclusions are extracted in the background."""
        self._session.end()

    def _present(self) -> Session:
        """Return the current session. If the last session was closed, start a new one."""
        known = services(self.engine).store.session(self._session.id, self._session.scope)
        if known is not None and known.status != "open":
            self._session = self.engine.session(user=self._user)
        return self._session

    def close(self) -> None:
        """Close the store."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
