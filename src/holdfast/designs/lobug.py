"""The memory interface of Lo-Bug: retrieve memories before a reply, extract facts after it. Models are passed as functions.

::

    memory = MemoryManager(embed_fn=llm.embed, chat_fn=llm.chat)
    memory.append_message("user", text)
    prompt = [personality, str(memory.retrieve_context(text))]
    memory.append_message("assistant", reply)
    background.add_task(memory.process_exchange, text, reply)
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from holdfast.chat import ChatModel
from holdfast.config.opening import open_engine
from holdfast.presets.settings import MemoryConfig
from holdfast.protocols import Embedder

__all__ = ["MemoryConfig", "MemoryContext", "MemoryManager"]

_CONVERSATION = "lobug"
_MAX_UNPROCESSED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """Context for a reply: the base memory document, the relevant facts, and both as text for the system prompt."""

    base_memory: str
    facts: tuple[str, ...]
    prompt: str

    def __str__(self) -> str:
        return self.prompt


class MemoryManager:
    """Retrieves memories before a reply; extracts facts and updates summaries after it.

    Without ``chat_fn``, facts are extracted by rules.
    """

    def __init__(
        self,
        config: MemoryConfig | None = None,
        *,
        embed_fn: Callable[[str], Any] | Embedder | str | None = None,
        chat_fn: Callable[..., Any] | ChatModel | str | None = None,
        conversation: str = _CONVERSATION,
        **opening: Any,
    ) -> None:
        """Open the memory with the given config. ``embed_fn`` and ``chat_fn`` are functions, model objects or names."""
        opening = {"worker": "none", **opening}  # the host calls process_exchange after each reply, so no worker is needed
        self.engine = open_engine(settings=config or MemoryConfig(), embedder=embed_fn, chat=chat_fn, **opening)
        self._session = self.engine.session(id=conversation, shared=True)
        self._unprocessed: deque[tuple[str, str]] = deque(maxlen=_MAX_UNPROCESSED)

    def append_message(self, role: str, content: str, *, action: str | None = None) -> int:
        """Append a message to the permanent log and return the message's number.

        ``action`` is a marker such as ``IGNORE``. No facts are extracted from a message with an ``action``.
        """
        self._unprocessed.append((role, content))
        return self._session.add(role, content, action=action).seq

    def get_recent_messages(self, n: int = 20) -> list[dict[str, str]]:
        """Return the last ``n`` messages, oldest first. Messages survive a restart."""
        return [{"role": each.role, "content": each.text} for each in self._session.messages(limit=n)]

    def retrieve_context(self, query: str, *, state: str | None = None) -> MemoryContext:
        """Return the base memory document and the facts most similar to a query."""
        context = self._session.context(query, state=state)
        base = [hit.text for hit in context.hits if hit.kind == "base"]
        facts = tuple(hit.text for hit in context.hits if hit.kind == "fact")
        return MemoryContext(base_memory="\n".join(base), facts=facts, prompt=context.text)

    def process_exchange(self, user_text: str, assistant_text: str) -> None:
        """Extract facts from an exchange, and update the summaries that are due.

        Messages that are not in the log yet are appended first.
        """
        for message in (("user", user_text), ("assistant", assistant_text)):
            if message in self._unprocessed:
                self._unprocessed.remove(message)
            else:
                self._session.add(*message)
        self.engine.drain()

    def get_base_memory(self) -> str:
        """Return the base memory document; empty if there is none yet."""
        found = self.engine.memories(kinds=["base"], limit=1)
        return found[0].text if found else ""

    def close(self) -> None:
        """Close the memory."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
