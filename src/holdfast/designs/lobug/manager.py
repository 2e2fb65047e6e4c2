"""Retrieves memories before a reply. Extracts facts and updates summaries after a reply."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from holdfast.chat import ChatModel
from holdfast.designs.lobug.database import MemoryDB
from holdfast.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.presets.settings import MemoryConfig
from holdfast.protocols import Embedder

__all__ = ["MemoryContext", "MemoryManager"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """Context for a reply: the base memory document, the relevant facts, and both as text for the system prompt."""

    base_memory: str
    facts: tuple[str, ...]
    prompt: str

    def __str__(self) -> str:
        return self.prompt


class MemoryManager:
    """Retrieves memories before a reply. Extracts facts and updates summaries after a reply.

    Without ``chat_fn``, facts are extracted by rules.
    """

    def __init__(
        self,
        config: MemoryConfig | None = None,
        *,
        db: MemoryDB | None = None,
        embed_fn: Callable[[str], Any] | Embedder | str | None = None,
        chat_fn: Callable[..., Any] | ChatModel | str | None = None,
        conversation: str | None = None,
        **opening: Any,
    ) -> None:
        """Use a database, or open one with the config. ``embed_fn`` and ``chat_fn`` are functions, model objects or names."""
        if db is not None and (conversation is not None or opening):
            raise InvalidInput("Give conversation and the arguments of holdfast.open to the MemoryDB.")
        named = {} if conversation is None else {"conversation": conversation}
        self.db = db or MemoryDB(config=config, **named, **opening)
        self.db.use(embed_fn, chat_fn, config)
        self.db.initialize()

    @property
    def engine(self) -> Engine:
        """The engine of the database."""
        return self.db.engine

    def append_message(self, role: str, content: str, *, action: str | None = None) -> int:
        """Append a message to the permanent log and return its id. See :meth:`MemoryDB.append_message`."""
        return self.db.append_message(role, content, action=action)

    def get_recent_messages(self, n: int = 20) -> list[dict[str, str]]:
        """Return the last ``n`` messages for a chat function, oldest first. Messages survive a restart."""
        return [{"role": each["role"], "content": each["content"]} for each in self.db.get_recent_messages(n)]

    def retrieve_context(self, query: str, *, state: str | None = None) -> MemoryContext:
        """Return the base memory document and the facts most similar to a query."""
        context = self.db.session.context(query, state=state)
        base = [hit.text for hit in context.hits if hit.kind == "base"]
        facts = tuple(hit.text for hit in context.hits if hit.kind == "fact")
        return MemoryContext(base_memory="\n".join(base), facts=facts, prompt=context.text)

    def process_exchange(self, user_text: str, assistant_text: str) -> None:
        """Extract facts from an exchange, and update the summaries that are due.

        Messages that are not in the log yet are appended first. Nothing is extracted from exchanges that were appended before
        this one and never passed to this method.
        """
        self.db.log_exchange(user_text, assistant_text)
        self.engine.drain()

    def get_base_memory(self) -> str:
        """Return the base memory document, or an empty text if there is none yet."""
        return self.db.get_base_memory()

    def close(self) -> None:
        """Close the database file."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
