"""A capability for Pydantic AI that remembers conversations."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset

import holdfast
from holdfast.adapters.shared import OMITTED, Owner, check_engine, session_of

User = str | Callable[[RunContext[Any]], str | None] | None
_MAX_RESULTS = 10
_OWN_TOOLS = ("search_memories", "remember")
"""Names of the tools that this capability offers. Their results are memories of the user."""


@dataclass
class HoldfastMemory(AbstractCapability[Any]):
    """Long-term memory for a Pydantic AI agent.

    ::

        agent = Agent(model, capabilities=[HoldfastMemory(memory, user=lambda ctx: ctx.deps.user)])

    Before a model request, the memories that are relevant to the prompt are added to the instructions, marked as quoted data.
    After a run, the texts of user and model are stored in a session, and memories are extracted from them.
    """

    memory: holdfast.Engine
    """The memory that ``holdfast.open()`` returned."""
    _: KW_ONLY
    user: User = None
    """The user, or a function that returns the user of a run."""
    app: str | None = None
    agent: str | None = None
    max_tokens: int | None = None
    """Maximum number of tokens of the added memories. Default: that of the preset."""
    learn: bool = True
    """True to store conversations and extract memories from them."""
    tools: bool = True
    """True to offer the tools ``search_memories`` and ``remember`` to the model."""
    id: str | None = "holdfast"

    def __post_init__(self) -> None:
        check_engine(self.memory)

    def get_instructions(self) -> Any:
        """Return a function that returns the memories that are relevant to the prompt of a run."""

        async def relevant(ctx: RunContext[Any]) -> str | None:
            query = _text(ctx.prompt)
            if not query:
                return None
            session = session_of(self.memory, _session_id(ctx), self._owner(ctx))
            context = await asyncio.to_thread(session.context, query, max_tokens=self.max_tokens)
            return context.text or None

        return relevant

    def get_toolset(self) -> Any:
        """Return the tools for searching and storing memories."""
        if not self.tools:
            return None
        toolset: FunctionToolset[Any] = FunctionToolset(id=self.id)

        async def search_memories(ctx: RunContext[Any], query: str) -> list[str]:
            """Search the long-term memory for facts about the user and for earlier conversations.

            Args:
                ctx: The context of the run.
                query: What to look for.
            """
            hits = await asyncio.to_thread(self.memory.recall, query, limit=_MAX_RESULTS, **self._owner(ctx))
            return [f"({hit.at:%Y-%m-%d}) {hit}" for hit in hits if hit.is_relevant]

        async def remember(ctx: RunContext[Any], text: str) -> str:
            """Store a lasting fact in the long-term memory, for example after the user asked to remember something.

            Args:
                ctx: The context of the run.
                text: The fact as one sentence.
            """
            await asyncio.to_thread(self.memory.remember, text, **self._owner(ctx))
            return "Remembered."

        toolset.add_function(search_memories, takes_ctx=True)
        toolset.add_function(remember, takes_ctx=True)
        return toolset

    async def after_run(self, ctx: RunContext[Any], *, result: Any) -> Any:
        """Store the messages of the run, and queue the extraction of memories."""
        new = [message for each in result.new_messages() for message in _new_messages(each)] if self.learn else []
        if new:
            session = session_of(self.memory, _session_id(ctx), self._owner(ctx))
            await asyncio.to_thread(session.add_all, new)
            await asyncio.to_thread(session.digest)
        return result

    def _owner(self, ctx: RunContext[Any]) -> Owner:
        user = self.user(ctx) if callable(self.user) else self.user
        return {"user": user, "app": self.app, "agent": self.agent}


def _session_id(ctx: RunContext[Any]) -> str:
    return str(ctx.conversation_id or ctx.run_id)


def _new_messages(message: Any) -> list[holdfast.NewMessage]:
    """Return the messages to store for ``message``, a request to the model or a response of the model.

    For a request, these are its prompts, and for a response its text. Tool calls and thoughts are left out. A tool result
    becomes a message without text, so that later replies are trusted as little as the result.
    """
    if isinstance(message, ModelRequest):
        return [new for part in message.parts for new in _requested(part)]
    texts = [part.content for part in message.parts if isinstance(part, TextPart)] if isinstance(message, ModelResponse) else []
    text = "\n".join(texts).strip()
    return [holdfast.NewMessage(role="assistant", text=text, at=message.timestamp)] if text else []


def _requested(part: Any) -> list[holdfast.NewMessage]:
    if isinstance(part, ToolReturnPart) and part.tool_name not in _OWN_TOOLS:
        return [holdfast.NewMessage(role="tool", payload=OMITTED, at=part.timestamp)]
    text = _text(part.content) if isinstance(part, UserPromptPart) else ""
    return [holdfast.NewMessage(role="user", text=text, at=part.timestamp)] if text else []


def _text(content: str | Sequence[Any] | None) -> str:
    """Return the text of a prompt. Images and files are left out."""
    parts = [content] if isinstance(content, str) else content or ()
    texts = [part if isinstance(part, str) else getattr(part, "content", None) for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
