"""The memory interface of Rumi: facts, each with a free-form key and a value. All facts are put into the prompt.

::

    store = MemoryStore(db_path=Path.home() / ".rumi" / "memory.db")
    store.init_db()
    manager = MemoryManager(store=store, llm="groq:llama-3.1-8b-instant")
    registry = ToolRegistry()
    registry.register(RememberTool(manager))
    registry.register(ForgetTool(manager))
    agent = AgentLoop(tools=registry, memory=manager)

``memory`` contains the facts and their store, ``agent`` the tools and the agent loop.
"""

from holdfast.designs.rumi.agent import (
    BASE_SYSTEM_PROMPT,
    EXTRACTION_PROMPT,
    AgentLoop,
    ForgetTool,
    RememberTool,
    Tool,
    ToolRegistry,
    ToolResult,
)
from holdfast.designs.rumi.memory import Fact, LLMClient, MemoryManager, MemoryStore, Message

__all__ = [
    "BASE_SYSTEM_PROMPT",
    "EXTRACTION_PROMPT",
    "AgentLoop",
    "Fact",
    "ForgetTool",
    "LLMClient",
    "MemoryManager",
    "MemoryStore",
    "Message",
    "RememberTool",
    "Tool",
    "ToolRegistry",
    "ToolResult",
]
