"""Typed memories with lifetimes, values that are set under a key for one day, and a window of the last turns."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from holdfast import types
from holdfast.aio import AsyncEngine
from holdfast.by_id.erasing import erase_target
from holdfast.config.loading import SettingsSource
from holdfast.config.opening import open_engine
from holdfast.errors import NotFound
from holdfast.presets.reachy import REACHY, context_key
from holdfast.presets.settings import ReachySettings
from holdfast.services import services

__all__ = ["Memory", "MemoryManager", "MemoryType", "SearchResult"]

_DEFAULTS = ReachySettings()
_ANY_SCORE = 1e-9
"""A minimum score that every hit reaches. A minimum of 0 would mean the preset's minimum."""


class MemoryType(Enum):
    """The three types of memory: fact, conversation and context."""

    CONVERSATION = "conversation"
    FACT = "fact"
    CONTEXT = "context"


@dataclass(slots=True)
class Memory:
    """A single memory. Memories of type fact never expire.

    If ``expires_at`` is not given, it depends on the type: a conversation expires after 30 days, a context at the end
    of the day.
    """

    id: str
    content: str
    memory_type: MemoryType
    created_at: datetime = field(default_factory=partial(datetime.now, UTC))
    metadata: dict[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.expires_at is None:
            self.expires_at = _expiry(self.memory_type, self.created_at)


@dataclass(slots=True)
class SearchResult:
    """A memory with its relevance, from 0 to 1."""

    memory: Memory
    score: float


class MemoryManager:
    """Stores, searches and forgets memories in one folder.

    Memories of type context expire at the end of the day. If ``user`` has a time zone, the day ends at midnight there.
    """

    def __init__(
        self,
        persist_path: str | Path = _DEFAULTS.path,
        context_window_size: int = _DEFAULTS.context_window_size,
        *,
        user: str | None = None,
        config: SettingsSource | None = None,
        **opening: Any,
    ) -> None:
        """Open the memory in a folder. ``opening`` are further arguments of ``holdfast.open``.

        ``config`` is a settings file, such as the design's YAML, or a mapping with the same settings. It can also set ``index``
        to ``chroma``. If ``config`` is given, ``persist_path`` and ``context_window_size`` are ignored.
        """
        settings = ReachySettings(path=str(persist_path), context_window_size=context_window_size)
        self.engine = open_engine(preset="reachy", settings=settings if config is None else config, **opening)
        self._awaited = AsyncEngine(self.engine)
        self._user = user
        self._session = self.engine.session(user=user)

    async def store(self, content: str, memory_type: MemoryType, metadata: Mapping[str, Any] | None = None) -> Memory:
        """Store a memory. A memory of type context replaces the previous memory with the same ``context_key``."""
        key = context_key(content, metadata or {}) if memory_type is MemoryType.CONTEXT else None
        stored = await self._awaited.remember(content, kind=memory_type.value, key=key, metadata=metadata, user=self._user)
        return _as_memory(stored)

    async def search(
        self,
        query: str,
        memory_type: MemoryType | None = None,
        limit: int = 5,
        min_score: float = 0.3,
        *,
        where: types.Where | None = None,
    ) -> list[SearchResult]:
        """Search memories by similarity, best first. ``where`` filters by metadata.

        Without ``where``, the messages of the last 30 days are searched, too, as memories of type conversation. If a
        fact in a message was superseded later, the content of the result also states the new fact. A blank query finds
        nothing.
        """
        if not query.strip():
            return []
        kinds = [each.value for each in MemoryType] if memory_type is None else [memory_type.value]
        if where is None and memory_type in (None, MemoryType.CONVERSATION):
            kinds.append("message")
        floor = max(min_score, _ANY_SCORE)
        hits = await self._awaited.recall(query, kinds=kinds, limit=limit, where=where, user=self._user, min_score=floor)
        found = [SearchResult(memory=_found(hit), score=hit.score) for hit in hits if self._is_unexpired(hit)]
        return sorted((each for each in found if each.score >= min_score), key=lambda each: -each.score)

    def _is_unexpired(self, hit: types.Hit) -> bool:
        """Return False if a hit is a message that is older than 30 days, the lifetime of memories of type conversation."""
        expires_at = None if hit.message is None else _expiry(MemoryType.CONVERSATION, hit.message.at)
        return expires_at is None or expires_at > services(self.engine).clock.now()

    async def forget(self, memory_id: str) -> bool:
        """Forget a memory. Return False if the id does not exist.

        ``memory_id`` can also be the id of a message, because :meth:`search` finds messages, too. The message is then erased,
        with everything derived from it.
        """
        try:
            if memory_id.startswith("msg_"):
                return await asyncio.to_thread(self._erase_message, memory_id)
            return await self._awaited.forget(memory_id, user=self._user) > 0
        except NotFound:
            return False

    def _erase_message(self, id: str) -> bool:
        return erase_target(services(self.engine), source=id, owner={}, reader=self._session.scope).messages > 0

    async def cleanup_expired(self) -> int:
        """Remove expired memories and return their number. This also runs at every start and once an hour."""
        return await self._awaited.purge_expired()

    def add_to_context_window(self, role: str, content: str) -> None:
        """Add a message to the window of the last turns.

        If no chat model is configured, rules extract facts from the message.
        """
        self._session.add(role, content)

    def get_context_window(self) -> list[dict[str, str]]:
        """Return the messages of the window, oldest first."""
        return [{"role": each.role, "content": each.text, "timestamp": each.at.isoformat()} for each in self._session.window()]

    def clear_context_window(self) -> None:
        """Remove all messages from the window."""
        self._session.clear_window()

    async def remember_fact(self, content: str, **metadata: Any) -> Memory:
        """Store a fact, which never expires."""
        return await self.store(content, MemoryType.FACT, metadata)

    async def remember_conversation(self, content: str, **metadata: Any) -> Memory:
        """Store something said in a conversation, for 30 days."""
        return await self.store(content, MemoryType.CONVERSATION, metadata)

    async def set_context(self, key: str, value: str) -> Memory:
        """Set the value of a key for today."""
        return await self.store(value, MemoryType.CONTEXT, {"context_key": key})

    async def get_context(self, key: str) -> str | None:
        """Return today's value of a key, or None if it is not set."""
        found = await self._awaited.memories(kinds=[MemoryType.CONTEXT.value], key=key, limit=1, user=self._user)
        return found[0].text if found else None

    async def close(self) -> None:
        """Close the store."""
        await self._awaited.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def _expiry(memory_type: MemoryType, created_at: datetime) -> datetime | None:
    """Return the time at which a memory expires. The end of the day is computed in the time zone of ``created_at``."""
    lifetime = REACHY.kind(memory_type.value).lifetime
    if lifetime is None:
        return None
    if isinstance(lifetime, timedelta):
        return created_at + lifetime
    return created_at.replace(hour=23, minute=59, second=59, microsecond=0)


def _found(hit: types.Hit) -> Memory:
    """Convert a hit to a memory. A message becomes a memory of type conversation."""
    later = f" (said later: {'; '.join(hit.later)})" if hit.later else ""
    if hit.memory is not None:
        found = _as_memory(hit.memory)
        return replace(found, content=f"{found.content}{later}")
    message = hit.found
    assert isinstance(message, types.Message)
    changed = "" if hit.successor is None else f" (since changed to: {hit.successor})"
    return Memory(
        id=message.id,
        content=f"{hit.text}{changed}{later}",
        memory_type=MemoryType.CONVERSATION,
        created_at=message.at,
        metadata={"role": message.role},
    )


def _as_memory(memory: types.Memory) -> Memory:
    return Memory(
        id=memory.id,
        content=memory.text,
        memory_type=MemoryType(memory.kind),
        created_at=memory.valid_from,
        metadata=dict(memory.metadata),
        expires_at=memory.expires_at,
    )
