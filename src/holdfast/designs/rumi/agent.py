"""Rumi's agent loop: tools that a model calls, and hooks that connect a conversation with the memory.

The loop builds the system prompt of a conversation, and learns from the conversation when it ends. It does not call the
model: the program that uses the loop does.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.agent.tools import memory_tools, tool_texts
from holdfast.designs.rumi.memory import Fact, MemoryManager, Message
from holdfast.errors import InvalidInput
from holdfast.learning.ask_model import load_prompt
from holdfast.presets.rumi import RUMI
from holdfast.text.clean import escape_line

__all__ = [
    "BASE_SYSTEM_PROMPT",
    "EXTRACTION_PROMPT",
    "AgentLoop",
    "ForgetTool",
    "RememberTool",
    "Tool",
    "ToolRegistry",
    "ToolResult",
]

_LANGUAGE = RUMI.layout.language if RUMI.layout else None
_DEFINITIONS = {tool.name: tool for tool in memory_tools(RUMI, language=_LANGUAGE)}

EXTRACTION_PROMPT = load_prompt("key_values", _LANGUAGE).system
"""Instructions for the model that extracts facts at the end of a conversation."""
BASE_SYSTEM_PROMPT = "Sos Rumi, un agente personal. Respondé en el idioma del usuario."
"""Default start of the system prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Result of a tool call. ``output`` is the text for the model."""

    success: bool
    output: str = ""
    error: str | None = None


class Tool:
    """A function that a model may call.

    Subclasses set ``name``, ``description`` and ``parameters``, and implement :meth:`execute`.
    """

    name: str = ""
    description: str = ""
    parameters: Mapping[str, Any] = {}

    async def execute(self, **arguments: Any) -> ToolResult:
        """Run the tool."""
        raise NotImplementedError

    def get_schema(self) -> dict[str, Any]:
        """Return the definition of the tool for a model with function calls."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}


class RememberTool(Tool):
    """Stores a fact at the user's request."""

    name = "remember"
    description = _DEFINITIONS["remember"].description
    parameters = _DEFINITIONS["remember"].parameters

    def __init__(self, memory_manager: MemoryManager) -> None:
        self.memory_manager = memory_manager

    async def execute(self, key: str, value: str, **_: Any) -> ToolResult:  # type: ignore[override]  # noqa: D102  (the design's own signature)
        fact = Fact(key=key, value=value, source="explicit")
        kept = await asyncio.to_thread(self.memory_manager.store.save_fact, fact)
        text = str(tool_texts(_LANGUAGE)["remember"]["done"])
        return ToolResult(success=True, output=text.format(key=escape_line(kept.key), value=escape_line(kept.value)))


class ForgetTool(Tool):
    """Forgets the facts under a key."""

    name = "forget"
    description = _DEFINITIONS["forget"].description
    parameters = _DEFINITIONS["forget"].parameters

    def __init__(self, memory_manager: MemoryManager) -> None:
        self.memory_manager = memory_manager

    async def execute(self, key: str, **_: Any) -> ToolResult:  # type: ignore[override]  # noqa: D102  (the design's own signature)
        count = await asyncio.to_thread(self.memory_manager.forget, key)
        texts = tool_texts(_LANGUAGE)["forget"]
        shown = escape_line(key)
        if count:
            return ToolResult(success=True, output=str(texts["done"]).format(key=shown, count=count))
        known = sorted({fact.key for fact in await asyncio.to_thread(self.memory_manager.store.get_all)})[:30]
        keys = str(texts["keys"]).format(names=escape_line(", ".join(known))) if known else ""
        problem = str(texts["none"]).format(key=shown, keys=keys, near="")
        return ToolResult(success=False, output=problem, error=problem)


class ToolRegistry:
    """The tools that a model may call, by name."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> None:
        """Add a tool. A tool with the same name is replaced."""
        if not tool.name:
            raise InvalidInput("A tool needs a name.")
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool | None:
        """Return a tool by name, or None."""
        return self._tools.get(name)

    def list(self) -> list[Tool]:
        """Return the tools in the order in which they were registered."""
        return [*self._tools.values()]

    async def execute(self, name: str, **arguments: Any) -> ToolResult:
        """Run a tool by name. An unknown name returns a failed result."""
        tool = self._tools.get(name)
        if tool is None:
            problems = tool_texts(_LANGUAGE)["problems"]
            text = str(problems["unknown"]).format(name=escape_line(name), tools=", ".join(self._tools))
            return ToolResult(success=False, output=text, error=text)
        return await tool.execute(**arguments)

    def get_schemas_prompt(self) -> str:
        """Return the definitions of the tools as text for the system prompt, one JSON object per line."""
        return "\n".join(json.dumps(tool.get_schema(), ensure_ascii=False) for tool in self._tools.values())


class _Schemas(Protocol):
    def get_schemas_prompt(self) -> str: ...


class _Skills(Protocol):
    def get_available_skills_prompt(self) -> str: ...


class AgentLoop:
    """The hooks of an agent: one builds the system prompt with all facts, the other runs at the end of a conversation."""

    def __init__(
        self,
        tools: _Schemas,
        memory: MemoryManager | None = None,
        skill_manager: _Skills | None = None,
        *,
        base_prompt: str = BASE_SYSTEM_PROMPT,
    ) -> None:
        """Use tools and optionally a memory and skills. ``base_prompt`` is the start of the system prompt."""
        self.tools = tools
        self.memory = memory
        self.skill_manager = skill_manager
        self.base_prompt = base_prompt

    async def build_system_prompt(self) -> str:
        """Return the system prompt: the base prompt, tools, skills and facts. Empty parts are left out."""
        parts = [self.base_prompt, self.tools.get_schemas_prompt()]
        if self.skill_manager is not None:
            parts.append(self.skill_manager.get_available_skills_prompt())
        if self.memory is not None:
            parts.append(await asyncio.to_thread(self._memory_block, self.memory))
        return "\n\n".join(part for part in parts if part)

    _build_system_prompt = build_system_prompt

    @staticmethod
    def _memory_block(memory: MemoryManager) -> str:
        return memory.format_for_prompt(memory.load_all())

    async def on_session_end(self, messages: Sequence[Mapping[str, str] | Message]) -> None:
        """Extract and store the facts of a finished conversation. Without a memory, nothing is stored."""
        if self.memory is not None:
            await self.memory.extract_from_conversation(messages)
