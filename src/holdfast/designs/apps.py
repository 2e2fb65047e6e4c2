"""The memory interface of the apps design: a sub-agent that creates, compacts and reads the memories of apps.

::

    agent = MemorySubAgent("memory.db", model="ollama:llama3.2")
    memory = await agent.create_memory(request)
    block = SensitiveLoop(agent).format_memories_for_context(agent.get_memories("calendar"))

Methods and fields have the names that the design uses, in snake case. ``AppMemory.to_json`` returns the design's own
field names.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from holdfast import types
from holdfast.apps import Compaction, design_metadata
from holdfast.chat import ChatModel
from holdfast.config.opening import open_engine
from holdfast.designs.numbers import find_numbered, number_of
from holdfast.engine import Engine
from holdfast.errors import ModelError, NotFound, StoreError
from holdfast.learning.related_conversations import CONVERSATION, RELATED
from holdfast.protocols import MemoryFilter
from holdfast.recall.context.sections import render_sections
from holdfast.recall.later import with_later
from holdfast.services import services

__all__ = [
    "AppMemory",
    "AppRegistry",
    "MemoryCompactionDecision",
    "MemoryCompactionRequest",
    "MemoryCreationRequest",
    "MemorySubAgent",
    "SensitiveLoop",
]

log = logging.getLogger("holdfast")
_ALL = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AppMemory:
    """A memory of an app. ``metadata`` contains ``importance`` (0 to 10), ``tags`` and ``relatedConversations``."""

    id: int
    app_id: str
    content: str
    created_at: datetime
    updated_at: datetime
    source_conversation_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the memory with the field names of the design."""
        return {
            "id": self.id,
            "appId": self.app_id,
            "content": self.content,
            "createdAt": self.created_at.isoformat(),
            "updatedAt": self.updated_at.isoformat(),
            "sourceConversationId": self.source_conversation_id,
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCreationRequest:
    """A request to create the memory of an ended conversation.

    The messages are needed only if the engine does not have the conversation.
    """

    app_id: str
    conversation_id: str
    conversation_summary: str = ""
    user_messages: Sequence[str] = ()
    assistant_messages: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCompactionRequest:
    """A request to reduce the memories of an app that has more memories than its maximum."""

    app_id: str
    existing_memories: Sequence[AppMemory] = ()
    new_memory: AppMemory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCompactionDecision:
    """One decision of a compaction. The memory ``target_memory_id`` was deleted, or another memory was merged into it."""

    action: Literal["delete", "edit"]
    target_memory_id: int
    new_content: str | None = None
    reason: str


class MemorySubAgent:
    """Creates one memory per conversation, and keeps at most ten per app."""

    def __init__(
        self,
        db: str | Path | Engine | None = None,
        debug_mode: bool = False,  # noqa: FBT001, FBT002  (the design's own signature)
        *,
        model: str | ChatModel | Callable[..., Any] | None = None,
        **opening: Any,
    ) -> None:
        """Use the engine ``db``, or open the store at the path ``db``. ``opening`` are further arguments of ``holdfast.open``.

        With ``debug_mode``, each step is logged. Without a model, rules create and merge memories.
        """
        opening = {"preset": "apps", "worker": "none", **opening}
        self.engine = db if isinstance(db, Engine) else open_engine(db, chat=model, **opening)
        self._level = logging.INFO if debug_mode else logging.DEBUG

    async def create_memory(self, request: MemoryCreationRequest) -> AppMemory | None:
        """Create the memory of an ended conversation. Return None if nothing is worth keeping, or if the creation failed.

        A failure is logged as an error. It does not stop the host.
        """
        try:
            return await asyncio.to_thread(self._create, request)
        except (ModelError, StoreError) as error:
            _log_failure(request, error)
            return None

    def _create(self, request: MemoryCreationRequest) -> AppMemory | None:
        session = self.engine.session(id=request.conversation_id, app=request.app_id)
        if not session.messages(limit=1):
            for said, answer in zip_longest(request.user_messages, request.assistant_messages):
                session.add_all(
                    [
                        {"role": role, "text": text}
                        for role, text in (("user", said), ("assistant", answer))
                        if text is not None and text.strip()
                    ]
                )
        if session.messages(limit=1):
            session.end()
        elif request.conversation_summary.strip():
            metadata = {CONVERSATION: request.conversation_id}
            self.engine.remember(request.conversation_summary, app=request.app_id, metadata=metadata, origin="auto")
        self._drain(request.app_id)
        made = next((each for each in self._memories(request.app_id) if _is_from(each, request.conversation_id)), None)
        if made is None and (problem := self._problem(request)):
            _log_failure(request, problem)
            return None
        if made is None:
            log.log(self._level, "Nothing was kept of conversation %s with app %s", request.conversation_id, request.app_id)
            return None
        log.log(self._level, "📝 Created memory for app %s from conversation %s", request.app_id, request.conversation_id)
        return self._as_app_memory(made)

    def _problem(self, request: MemoryCreationRequest) -> str | None:
        """Return the error of the job that creates the memory of a conversation, or None if the job has not failed."""
        jobs = services(self.engine).store.jobs(states=("queued", "dead"), kinds=("digest",))
        own = {"session": request.conversation_id, "app": request.app_id}
        return next((job.error for job in jobs if job.error and own.items() <= job.payload.items()), None)

    async def compact_memories(self, request: MemoryCompactionRequest) -> None:
        """Reduce the memories of an app to its maximum by deleting or merging memories. :meth:`decisions` lists the results."""
        await asyncio.to_thread(self._compact, request.app_id)

    def _compact(self, app_id: str) -> None:
        services(self.engine).condenser.enforce_caps()
        self._drain(app_id)

    def _drain(self, app_id: str) -> None:
        """Run the queued jobs, and log the decisions of compactions of an app's memories."""
        known = {each.memory for each in self.engine.apps.compactions(app_id)}
        self.engine.drain()
        for made in self.engine.apps.compactions(app_id):
            if made.memory not in known:
                decision = self._as_decision(made)
                log.log(
                    self._level,
                    "🗜️  Compacted memories for app %s: %s memory %s",
                    app_id,
                    decision.action,
                    decision.target_memory_id,
                )

    def decisions(self, app_id: str, limit: int = 20) -> list[MemoryCompactionDecision]:
        """Return the decisions of past compactions of an app's memories, newest first."""
        return [self._as_decision(each) for each in self.engine.apps.compactions(app_id, limit=limit)]

    def _as_decision(self, made: Compaction) -> MemoryCompactionDecision:
        target = self.engine.get(made.merged_into or made.memory)
        return MemoryCompactionDecision(
            action="edit" if made.merged_into else "delete",
            target_memory_id=number_of(self.engine, target),
            new_content=target.text if made.merged_into else None,
            reason=made.reason,
        )

    def get_memories(self, app_id: str, limit: int = 10) -> list[AppMemory]:
        """Return at most ``limit`` memories of an app, most recently updated first."""
        found = sorted(self._memories(app_id), key=lambda memory: (memory.updated_at, memory.item), reverse=True)[:limit]
        log.log(self._level, "🧠 Retrieved %d memories for app %s", len(found), app_id)
        return [self._as_app_memory(memory) for memory in found]

    def get_memory_count(self, app_id: str) -> int:
        """Return the number of memories of an app."""
        return len(self._memories(app_id))

    def delete_memory(self, app_id: str, memory_id: int) -> bool:
        """Erase one memory of an app. Return False if it does not exist."""
        found = find_numbered(self.engine, memory_id, self._memories(app_id))
        if found is not None:
            self.engine.erase(id=found.id)
        return found is not None

    def delete_app_memories(self, app_id: str) -> int:
        """Erase all memories of an app and return their number."""
        return self.engine.apps.purge(app_id)

    def get_energy_consumed_since_last_poll(self) -> float:
        """Return the energy units that memory work has used since the last call. Energy is the apps design's measure of cost."""
        return self.engine.apps.poll_energy()

    def close(self) -> None:
        """Close the store."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _memories(self, app_id: str) -> list[types.Memory]:
        return list(self.engine.apps.memories(app_id, limit=_ALL))

    def _as_app_memory(self, memory: types.Memory) -> AppMemory:
        source = memory.metadata.get(CONVERSATION)
        return AppMemory(
            id=number_of(self.engine, memory),
            app_id=memory.scope.app or "",
            content=memory.text,
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            source_conversation_id=source if isinstance(source, str) else None,
            metadata=design_metadata(memory),
        )


class AppRegistry:
    """The apps of a store."""

    def __init__(self, agent: MemorySubAgent) -> None:
        self._apps = agent.engine.apps

    def get_app_id_for_conversation(self, conversation_id: str) -> str | None:
        """Return the app that a conversation belongs to, or None. An unknown conversation belongs to no app."""
        try:
            return self._apps.of_conversation(conversation_id)
        except NotFound:
            return None

    async def uninstall_app(self, app_id: str, purge_memories: bool = False) -> None:  # noqa: FBT001, FBT002  (the design's own signature)
        """Uninstall an app. Its memories stay unless ``purge_memories`` is set."""
        await asyncio.to_thread(self._apps.uninstall, app_id, purge_memories)


class SensitiveLoop:
    """The methods that the main loop of the apps design calls."""

    def __init__(self, agent: MemorySubAgent) -> None:
        self._agent = agent
        self._registry = AppRegistry(agent)

    async def on_conversation_end(self, conversation_id: str, reason: str = "") -> AppMemory | None:
        """Create the memory of a conversation that has ended. ``reason`` is logged."""
        log.debug("Conversation %s ended: %s", conversation_id, reason)
        app_id = self._registry.get_app_id_for_conversation(conversation_id)
        if app_id is None:
            return None
        return await self._agent.create_memory(MemoryCreationRequest(app_id=app_id, conversation_id=conversation_id))

    def get_memories_for_app(self, app_id: str) -> list[AppMemory]:
        """Return the ten most recently updated memories of an app, as input for :meth:`format_memories_for_context`."""
        return self._agent.get_memories(app_id)

    def format_memories_for_context(self, memories: Sequence[AppMemory]) -> str:
        """Return memories of one app as a block for the system prompt. The block is empty if there are no memories."""
        engine = self._agent.engine
        layout, now = engine.preset.layout, services(engine).clock.now()
        if not memories or layout is None:
            return ""
        app = memories[0].app_id
        wanted = MemoryFilter(owner={"app": app}, unexpired_at=now)
        numbered = {number_of(engine, each): each for each in services(engine).store.memories(wanted)}
        hits = [types.Hit(memory=numbered[each.id], score=1.0) for each in memories if each.id in numbered]
        hits = with_later(services(engine).store, hits, types.Scope(app=app), min_trust=engine.preset.min_trust)
        known = services(engine).store.app(app)
        values = {"app": (known.name if known else None) or app}
        return render_sections(
            layout,
            lambda section: hits if section.source == "newest" else [],
            max_tokens=engine.preset.context_tokens,
            values=values,
            now=now,
        ).text


def _log_failure(request: MemoryCreationRequest, problem: object) -> None:
    log.error("❌ Memory creation failed for %s: %s", request.conversation_id, problem)


def _is_from(memory: types.Memory, conversation: str) -> bool:
    """Return True if a memory was derived from a conversation, or if its metadata lists the conversation as related.

    A conversation is related if a memory derived from it was merged into this memory, or was similar to this memory.
    """
    related = memory.metadata.get(RELATED) or ()
    return memory.metadata.get(CONVERSATION) == conversation or conversation in related
