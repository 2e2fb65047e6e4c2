"""A memory store for Strands Agents. Requires the extra ``holdfast-memory[strands]``.

Searching returns relevant memories and messages of the user. Conversations that Strands passes on are stored in a
session, and Holdfast extracts memories from them.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import holdfast
from holdfast.adapters.shared import OMITTED, Owner, check_engine, extra_missing, session_of

try:
    from strands.memory.extraction.types import ExtractionConfig
    from strands.memory.types import AddMessagesContext, MemoryEntry, SearchOptions
except ImportError as error:
    raise extra_missing("Strands Agents", "strands", error) from error

__all__ = ["AddResult", "HoldfastMemoryStore"]

_DEFAULT_MAX_SEARCH_RESULTS = 10
SCORE = "_relevanceScore"
"""Key of a result's score in its metadata. Strands' own stores use the same key."""


@dataclass(frozen=True, slots=True)
class AddResult:
    """Result of :meth:`HoldfastMemoryStore.add`: the id of the memory."""

    id: str


class HoldfastMemoryStore:
    """A Strands ``MemoryStore`` on a Holdfast memory.

    ::

        store = HoldfastMemoryStore(memory, user="ana", extraction=True)
        agent = Agent(plugins=[MemoryManager(stores=[store])])

    With ``namespace``, the store reads and writes only memories of that namespace. Without a namespace, it searches
    everything that the user may see, including memories and messages from other programs.
    """

    def __init__(
        self,
        memory: holdfast.Engine,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        name: str = "holdfast",
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: "ExtractionConfig | bool | None" = None,
        namespace: Sequence[str] = (),
        session_id: str | None = None,
        relevant_only: bool = True,
    ) -> None:
        """Create a store. ``session_id`` resumes a session. Without it, each agent gets a new session.

        With ``relevant_only=False``, :meth:`search` also returns weak matches and repetitions, up to the maximum
        number.
        """
        if not name.strip():
            raise holdfast.InvalidInput("name must not be empty.")
        _check_limit(max_search_results)
        self._memory = check_engine(memory)
        self._owner: Owner = {"user": user, "app": app, "agent": agent}
        self._namespace = tuple(namespace)
        self._session_id = session_id
        self._relevant_only = relevant_only
        self._run = uuid.uuid4().hex
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction

    def __repr__(self) -> str:
        return f"<HoldfastMemoryStore {self.name!r}>"

    async def initialize(self) -> None:
        """Start a new run, so that the message ids of two agents differ.

        Strands calls this once per agent, and numbers the messages of each agent from 0.
        """
        self._run = uuid.uuid4().hex

    async def search(self, query: str, options: "SearchOptions | None" = None) -> list[MemoryEntry]:
        """Return the memories and messages that are relevant to a query, best first."""
        asked = options.get("max_search_results") if options is not None else None
        _check_limit(asked)
        limit = asked or self.max_search_results or _DEFAULT_MAX_SEARCH_RESULTS
        if not any(character.isalnum() for character in query):
            return []
        return await asyncio.to_thread(self._search, query, limit)

    def _search(self, query: str, limit: int) -> list[MemoryEntry]:
        hits = self._memory.recall(
            query, limit=limit, namespace=self._namespace or None, distinct=self._relevant_only, **self._owner
        )
        return [_entry(hit) for hit in hits if hit.is_relevant or not self._relevant_only]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> AddResult:
        """Store a memory and return its id. Storing the same content again refreshes the memory, so a retry is harmless."""
        self._check_writable()
        if not content.strip():
            raise holdfast.InvalidInput("content must not be empty.")
        stored = await asyncio.to_thread(
            self._memory.remember, content, metadata=metadata, namespace=self._namespace, **self._owner
        )
        return AddResult(id=stored.id)

    async def add_messages(self, messages: Sequence[Mapping[str, Any]], context: "AddMessagesContext | None" = None) -> list[str]:
        """Store messages in the session of this run, and queue the extraction of memories. Return the ids of the messages.

        Only text is stored. A tool result is stored as a message without text, so that later replies are trusted as little as
        the result. Other messages without text are skipped. A repeated batch is stored only once.
        """
        self._check_writable()
        numbers = context.sequence_numbers if context is not None else None
        new: list[holdfast.NewMessage] = []
        for place, message in enumerate(messages):
            if any("toolResult" in block for block in message["content"]):
                new.append(holdfast.NewMessage(role="tool", payload=OMITTED, id=self._message_id(numbers, place, "tool")))
            if text := _text(message):
                new.append(holdfast.NewMessage(role=message["role"], text=text, id=self._message_id(numbers, place, text)))
        return await asyncio.to_thread(self._add_messages, new)

    def _add_messages(self, messages: list[holdfast.NewMessage]) -> list[str]:
        if not messages:
            return []
        session = session_of(self._memory, self._session_id or f"strands-{self._run}", self._owner)
        stored = session.add_all(messages)
        session.digest()
        return [message.id for message in stored]

    def _message_id(self, numbers: Sequence[int] | None, place: int, text: str) -> str | None:
        """Return an id for a message. If Strands sends the message again, it gets the same id.

        ``numbers`` are the numbers that Strands gave to the messages of a batch, and ``place`` is the position of the
        message in the batch. Return None if Strands gave no numbers.
        """
        if numbers is None:
            return None
        return f"{self._run}-{numbers[place]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def _check_writable(self) -> None:
        if not self.writable:
            raise holdfast.InvalidInput(f"{self.name}: the store is not writable. Create it with writable=True.")


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise holdfast.InvalidInput("max_search_results must be at least 1.")


def _entry(hit: holdfast.Hit) -> MemoryEntry:
    given = dict(hit.memory.metadata) if hit.memory else {}
    own = {
        "id": hit.id,
        "kind": hit.kind,
        "at": hit.at.isoformat(),
        SCORE: hit.score,
        **({"asked": hit.asked} if hit.asked else {}),
    }
    return MemoryEntry(content=hit.text, metadata={**given, **own})


def _text(message: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in message["content"] if block.get("text"))
