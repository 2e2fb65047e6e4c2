"""The design's three tools as functions, for a program with its own MCP server.

``holdfast --preset reachy mcp`` also serves them.
"""

import logging
from collections.abc import Mapping
from typing import Any

from holdfast.designs.reachy.memory import MemoryManager, MemoryType
from holdfast.errors import InvalidInput

__all__ = ["forget_memory", "search_memories", "startup", "store_memory", "use_manager"]

log = logging.getLogger("holdfast")
_manager: MemoryManager | None = None


def use_manager(manager: MemoryManager | None) -> None:
    """Set the manager that the tools use. Without a manager, the tools open the design's default folder on first use."""
    global _manager  # noqa: PLW0603  (one manager per process, as in the design)
    _manager = manager


def _in_use() -> MemoryManager:
    if _manager is None:
        use_manager(MemoryManager())
    assert _manager is not None
    return _manager


async def search_memories(query: str, memory_type: str | None = None, limit: int = 5) -> list[dict[str, Any]]:
    """Search memories by meaning. ``memory_type`` is conversation, fact or context; without it, all types are searched."""
    results = await _in_use().search(query, None if memory_type is None else _type(memory_type), limit)
    return [
        {
            "id": each.memory.id,
            "content": each.memory.content,
            "type": each.memory.memory_type.value,
            "score": each.score,
            "created_at": each.memory.created_at.isoformat(),
            "metadata": each.memory.metadata,
        }
        for each in results
    ]


async def store_memory(content: str, memory_type: str = "fact", metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Store a memory: a conversation for 30 days, a fact forever, or a context until the end of the day."""
    stored = await _in_use().store(content, _type(memory_type), metadata)
    return {
        "id": stored.id,
        "content": stored.content,
        "type": stored.memory_type.value,
        "created_at": stored.created_at.isoformat(),
    }


async def forget_memory(memory_id: str) -> dict[str, Any]:
    """Forget a memory by its id."""
    return {"success": await _in_use().forget(memory_id), "id": memory_id}


async def startup() -> int:
    """Remove expired memories and return their number. The engine also does this by itself."""
    deleted = await _in_use().cleanup_expired()
    if deleted:
        log.info("memory_cleanup deleted=%d", deleted)
    return deleted


def _type(name: str) -> MemoryType:
    try:
        return MemoryType(name)
    except ValueError:
        known = ", ".join(each.value for each in MemoryType)
        raise InvalidInput(f"memory_type must be one of {known}, not {name!r}.") from None
