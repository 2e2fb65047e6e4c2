"""Rostro's memory: the one object its controller talks to.

::

    memory = MemoryManager("config.yaml", llm_provider="openai:gpt-4o-mini")
    memory.on_user_message("I decided to use bomba rice.")
    system_prompt = memory.get_context(persona="You are Rostro.")
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from holdfast.chat import ChatModel
from holdfast.config.opening import open_engine
from holdfast.config.settings import SettingsSource
from holdfast.presets.settings import RostroSettings
from holdfast.protocols import Embedder
from holdfast.services import services
from holdfast.session import Session

__all__ = ["MemoryManager", "RostroSettings"]


class MemoryManager:
    """Takes what is said and gives the system prompt. Silence closes a conversation, and digests it."""

    def __init__(
        self,
        config: SettingsSource | None = None,
        llm_provider: str | ChatModel | Callable[..., Any] | None = None,
        embedding_provider: str | Embedder | Callable[[str], Any] | None = None,
        *,
        user: str | None = None,
        **opening: Any,
    ) -> None:
        """Open the memory that a config names: a YAML file, its ``memory:`` table, or ``RostroSettings``."""
        settings = RostroSettings() if config is None else config
        self.engine = open_engine(preset="rostro", settings=settings, chat=llm_provider, embedder=embedding_provider, **opening)
        self._user = user
        self._talk = self.engine.session(user=user)

    def get_context(self, *, persona: str | None = None) -> str:
        """Return the system prompt: the persona, recent topics, memories or the topic's page, and how to use them."""
        return self._present().context(persona=persona).text

    def get_history(self) -> list[dict[str, str]]:
        """Return the last ten turns of the conversation; a closed one has none."""
        return [{"role": each.role, "content": each.text} for each in self._present().window()]

    def on_user_message(self, text: str) -> None:
        """Take what the user said; the topic is looked for meanwhile."""
        self._present().add("user", text)

    def on_assistant_message(self, text: str) -> None:
        """Take what the assistant answered."""
        self._present().add("assistant", text)

    def close_session(self) -> None:
        """Close the conversation now; its conclusions are drawn in the background."""
        self._talk.end()

    def _present(self) -> Session:
        """Return the conversation under way; after one that was closed, a new one."""
        known = services(self.engine).store.session(self._talk.id)
        if known is not None and known.status != "open":
            self._talk = self.engine.session(user=self._user)
        return self._talk

    def close(self) -> None:
        """Close the memory."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
