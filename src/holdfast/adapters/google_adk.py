"""A memory service for Google's Agent Development Kit (ADK). Requires the extra ``holdfast-memory[google-adk]``.

ADK sessions become Holdfast sessions, and Holdfast extracts memories from them. A search returns relevant memories and
messages.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import holdfast
from holdfast.adapters.shared import OMITTED, check_engine, extra_missing

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as error:
    raise extra_missing("Google ADK", "google-adk", error) from error

__all__ = ["HoldfastMemoryService"]

_NO_SESSION = "adk-events"
"""Id of the session that stores events which were added without a session id."""
_DELETED = {"deleted": True}
"""Payload of the empty message that replaces a deleted event.

The message stays, so that the event is not stored again when its session is added again.
"""


class HoldfastMemoryService(BaseMemoryService):
    """An ADK ``BaseMemoryService`` on a Holdfast memory.

    ::

        runner = Runner(agent=agent, app_name="shop", session_service=sessions, memory_service=HoldfastMemoryService(memory))

    ``user_id`` is the user, and ``app_name`` is the app. A search also finds data that other programs stored for the
    user without an app.
    """

    def __init__(self, memory: holdfast.Engine, *, max_results: int = 10, relevant_only: bool = True) -> None:
        """Store and search memories in the engine ``memory``.

        With ``relevant_only=False``, a search also returns weak matches.
        """
        self._memory = check_engine(memory)
        self._max_results = max_results
        self._relevant_only = relevant_only

    async def add_session_to_memory(self, session: Any) -> None:
        """Store the events of a session that have text and are not stored yet.

        If an event was stored, queue the extraction of memories.
        """
        await asyncio.to_thread(self._add, session.app_name, session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that are not stored yet, and queue the extraction of memories. ``custom_metadata`` is not used."""
        del custom_metadata
        await asyncio.to_thread(self._add, app_name, user_id, session_id or _NO_SESSION, events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories unchanged, all or none. ``custom_metadata`` is added to the metadata of each memory."""
        new = [_new_memory(entry, custom_metadata or {}) for entry in memories]
        await asyncio.to_thread(self._memory.remember_all, new, user=user_id, app=app_name)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories and messages that are relevant to a query, best first. A blank query finds nothing."""
        if not query.strip():
            return SearchMemoryResponse(memories=[])
        hits = await asyncio.to_thread(self._memory.recall, query, user=user_id, app=app_name, limit=self._max_results)
        found = [_entry(hit) for hit in hits if hit.is_relevant or not self._relevant_only]
        return SearchMemoryResponse(memories=found)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete an item that a search returned. A memory is hidden and can be restored. A message is erased.

        Unknown ids are ignored.
        """
        if memory_id:
            await asyncio.to_thread(self._delete, app_name, user_id, memory_id)

    def _add(self, app_name: str, user_id: str, session_id: str, events: Sequence[Any]) -> None:
        session = self._memory.session(user=user_id, app=app_name, id=session_id)
        known = {message.client_id for message in session.messages()}
        new = [
            _new_message(event, text)
            for event in events
            if event.id not in known and ((text := _event_text(event)) or _has_result(event))
        ]
        if new:
            session.add_all(new)
            session.digest()

    def _delete(self, app_name: str, user_id: str, id: str) -> None:
        view = self._memory.for_user(user_id, app=app_name)
        if id.startswith("mem_"):
            try:
                view.forget(id, reason="deleted")
            except holdfast.NotFound:
                return
        for record in view.sessions(limit=1_000_000):
            session = view.session(id=record.id)
            message = next((each for each in session.messages() if each.id == id), None)
            if message is not None:
                view.erase(source=id)
                session.add(message.role, id=message.client_id, at=message.at, payload=_DELETED)
                return


def _text(content: Any) -> str:
    return "\n".join(part.text for part in (content.parts if content else None) or () if part.text and not part.thought)


def _event_text(event: Any) -> str:
    """Return the text of an event. Return an empty text for a part of a streamed reply, because the whole reply follows."""
    return "" if event.partial else _text(event.content).strip()


def _new_message(event: Any, text: str) -> holdfast.NewMessage:
    is_user = event.author == "user"
    moment = datetime.fromtimestamp(event.timestamp, UTC)
    if not text:  # stands for a tool result, so that later replies are trusted as little as the result
        return holdfast.NewMessage(role="tool", payload=OMITTED, id=event.id, at=moment)
    return holdfast.NewMessage(
        role="user" if is_user else "assistant",
        text=text,
        speaker=None if is_user else event.author,
        id=event.id,
        at=moment,
    )


def _has_result(event: Any) -> bool:
    """Return True if an event contains the result of a tool."""
    return any(part.function_response for part in (event.content.parts if event.content else None) or ())


def _new_memory(entry: MemoryEntry, custom_metadata: Mapping[str, object]) -> holdfast.NewMemory:
    text = _text(entry.content).strip()
    if not text:
        raise holdfast.InvalidInput("A memory has no text. Nothing was stored.")
    author = {} if entry.author is None else {"author": entry.author}
    moment = None if entry.timestamp is None else datetime.fromisoformat(entry.timestamp)
    if moment is not None and moment.tzinfo is None:
        moment = moment.astimezone()  # ADK writes local times
    metadata = {**custom_metadata, **entry.custom_metadata, **author}
    return holdfast.NewMemory(text=text, metadata=metadata, created_at=moment)


def _entry(hit: holdfast.Hit) -> MemoryEntry:
    metadata = dict(hit.memory.metadata) if hit.memory else {}
    author = metadata.pop("author", None)
    if hit.message is not None:
        author = hit.message.speaker or hit.message.role
    role = "model" if hit.message is not None and hit.message.role == "assistant" else "user"
    return MemoryEntry(
        id=hit.id,
        content=types.Content(role=role, parts=[types.Part(text=hit.text)]),
        author=author,
        timestamp=hit.at.isoformat(),
        custom_metadata={**metadata, "kind": hit.kind, "score": hit.score},
    )
