"""The memory interface of Reachy: typed memories with lifetimes, values that are set for one day, and a window of the last turns.

::

    memory = MemoryManager("~/.reachy/memory")
    await memory.remember_fact("User prefers to be called Alex", category="user_profile")
    results = await memory.search("what is the user's name?", MemoryType.FACT)

``memory`` contains the manager, ``tools`` the three tools for a model, and ``loop`` the agent loop.
"""

from holdfast.designs.reachy.loop import ReachyAgentLoop
from holdfast.designs.reachy.memory import Memory, MemoryManager, MemoryType, SearchResult
from holdfast.designs.reachy.tools import forget_memory, search_memories, startup, store_memory, use_manager

__all__ = [
    "Memory",
    "MemoryManager",
    "MemoryType",
    "ReachyAgentLoop",
    "SearchResult",
    "forget_memory",
    "search_memories",
    "startup",
    "store_memory",
    "use_manager",
]
