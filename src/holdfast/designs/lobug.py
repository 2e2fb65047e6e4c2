"""Lo-Bug's memory: what to know before a reply, and what to learn after it, with any model behind two functions.

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
    """What a reply should know: the base memory, the relevant facts, and both as a block for the system prompt."""

    base_memory: str
    facts: tuple[str, ...]
    prompt: str

    def __str__(self) -> str:
        return self.prompt


class MemoryManager:
    """Retrieval before a reply, extraction and the cascades after it. Without ``chat_fn``, rules learn."""

    def __init__(
        self,
        config: MemoryConfig | None = None,
        *,
        embed_fn: Callable[[str], Any] | Embedder | str | None = None,
        chat_fn: Callable[..., Any] | ChatModel | str | None = None,
        conversation: str = _CONVERSATION,
        **opening: Any,
    ) -> None:
        """Open the memory that a config names; both functions are only ever called, never imported."""
        opening = {"worker": "none", **opening}  # the host calls process_exchange after its reply: that is the worker
        self.engine = open_engine(settings=config or MemoryConfig(), embedder=embed_fn, chat=chat_fn, **opening)
        self._talk = self.engine.session(id=conversation)
        self._unprocessed: deque[tuple[str, str]] = deque(maxlen=_MAX_UNPROCESSED)

    def append_message(self, role: str, content: str, *, action: str | None = None) -> int:
        """Write a message into the permanent log; noise has an ``action`` and is never learnt from. Returns its number."""
        self._unprocessed.append((role, content))
        return self._talk.add(role, content, action=action).seq

    def get_recent_messages(self, n: int = 20) -> list[dict[str, str]]:
        """Return the last messages, oldest first: the working memory, also after a restart."""
        return [{"role": each.role, "content": each.text} for each in self._talk.messages(limit=n)]

    def retrieve_context(self, query: str, *, state: str | None = None) -> MemoryContext:
        """Return what to know for a message: the base memory and the nearest facts."""
        context = self._talk.context(query, state=state)
        base = [hit.text for hit in context.hits if hit.kind == "base"]
        facts = tuple(hit.text for hit in context.hits if hit.kind == "fact")
        return MemoryContext(base_memory="\n".join(base), facts=facts, prompt=context.text)

    def process_exchange(self, user_text: str, assistant_text: str) -> None:
        """Learn from an exchange and run the cascades that fall due; what is not in the log yet is written first."""
        for said in (("user", user_text), ("assistant", assistant_text)):
            if said in self._unprocessed:
                self._unprocessed.remove(said)
            else:
                self._talk.add(*said)
        self.engine.drain()

    def get_base_memory(self) -> str:
        """Return the base memory document; empty before the first."""
        found = self.engine.memories(kinds=["base"], limit=1)
        return found[0].text if found else ""

    def close(self) -> None:
        """Close the memory."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
