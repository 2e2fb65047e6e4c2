"""A memory block for LlamaIndex. Requires the extra ``holdfast-memory[llama-index]``.

LlamaIndex passes on the messages that leave its short-term memory. Holdfast stores them in a session and extracts
memories from them. The block for the prompt contains the memories that are relevant to the user's last message.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import holdfast
from holdfast.adapters.shared import Owner, check_engine, extra_missing, session_of

try:
    from llama_index.core.base.llms.types import ChatMessage, TextBlock
    from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_validator
    from llama_index.core.memory.memory import BaseMemoryBlock
except ImportError as error:
    raise extra_missing("LlamaIndex", "llama-index", error) from error

__all__ = ["HoldfastMemoryBlock"]

_SESSION_ID = "session_id"
"""Key in a message's ``additional_kwargs``. LlamaIndex passes the id of its session under this key."""
_ROLES = {"user": "user", "tool": "tool", "function": "tool", "system": "system", "developer": "system"}
_MIN_TOKENS = 50
"""Minimum size of a truncated block, in tokens. If fewer tokens are left, the block is left out of the prompt."""


class HoldfastMemoryBlock(BaseMemoryBlock[str]):
    """A LlamaIndex ``BaseMemoryBlock`` on a Holdfast memory.

    ::

        block = HoldfastMemoryBlock(memory=memory, user="ana", priority=1)
        chat_memory = Memory.from_defaults(session_id="chat", memory_blocks=[block])
    """

    name: str = Field(default="holdfast", description="The name of the memory block.")
    memory: Any = Field(description="The memory that holdfast.open() returned.", exclude=True)
    user: str | None = Field(default=None, description="The user whose memories to use.")
    app: str | None = Field(default=None, description="The app whose memories to use.")
    agent: str | None = Field(default=None, description="The agent whose memories to use.")
    max_tokens: int | None = Field(
        default=None, description="The largest number of tokens of the block. Default: that of the preset."
    )
    _query: tuple[str | None, str] = PrivateAttr(default=(None, ""))
    """The session id and the query of the last block. ``atruncate`` uses them to build a shorter block."""

    @field_validator("memory")
    @classmethod
    def _is_engine(cls, value: Any) -> holdfast.Engine:
        return check_engine(value)

    async def _aget(self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **_more: Any) -> str:
        """Return the memories that are relevant to the user's last message, or an empty text."""
        query = next((text for message in reversed(messages or []) if _role(message) == "user" and (text := _text(message))), "")
        self._query = (session_id, query)
        return await asyncio.to_thread(self._block, session_id, query, self.max_tokens) if query else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store messages in the session of their conversation, and queue the extraction of memories."""
        by_session: dict[str | None, list[holdfast.NewMessage]] = {}
        for message in messages:
            session_id = message.additional_kwargs.pop(_SESSION_ID, None)
            if text := _text(message):
                by_session.setdefault(session_id, []).append(holdfast.NewMessage(role=_role(message), text=text))
        for session_id, new in by_session.items():
            await asyncio.to_thread(self._store, session_id, new)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the block shortened by ``tokens_to_truncate`` tokens, with the best memories that fit.

        Return None if fewer than 50 tokens would be left.
        """
        session_id, query = self._query
        context = await asyncio.to_thread(self._context, session_id, query, self.max_tokens)
        tokens = context.tokens - tokens_to_truncate
        if not content or tokens < _MIN_TOKENS:
            return None
        return await asyncio.to_thread(self._block, session_id, query, tokens) or None

    def _session(self, session_id: str | None) -> holdfast.Session:
        owner: Owner = {"user": self.user, "app": self.app, "agent": self.agent}
        return session_of(self.memory, session_id, owner)

    def _context(self, session_id: str | None, query: str, max_tokens: int | None) -> holdfast.Context:
        return self._session(session_id).context(query, max_tokens=max_tokens)

    def _block(self, session_id: str | None, query: str, max_tokens: int | None) -> str:
        return self._context(session_id, query, max_tokens).text

    def _store(self, session_id: str | None, messages: Sequence[holdfast.NewMessage]) -> None:
        session = self._session(session_id)
        session.add_all(messages)
        session.digest()


def _role(message: ChatMessage) -> str:
    return _ROLES.get(str(message.role.value), "assistant")


def _text(message: ChatMessage) -> str:
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock) and block.text.strip())
