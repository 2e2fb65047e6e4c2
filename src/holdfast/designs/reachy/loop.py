"""Reachy's agent loop: each prompt contains the last turns."""

import asyncio
from inspect import isawaitable
from typing import Any

from holdfast.chat import Turn
from holdfast.designs.reachy.memory import MemoryManager
from holdfast.errors import NoChatModel
from holdfast.services import services

__all__ = ["ReachyAgentLoop"]

_MAX_TOKENS = 1024


class ReachyAgentLoop:
    """Answers the user. Each prompt contains the last turns of the conversation."""

    def __init__(
        self, memory: MemoryManager, client: Any = None, model: str = "claude-sonnet-4-5", system_prompt: str = ""
    ) -> None:
        """Use a client of Anthropic's library to answer. Without a client, the chat model of the memory's engine answers."""
        self._memory = memory
        self._client = client
        self._model = model
        self._system_prompt = system_prompt

    async def process(self, user_input: str) -> str:
        """Return the reply to a message. The message and the reply are added to the window."""
        self._memory.add_to_context_window("user", user_input)
        window = self._memory.get_context_window()
        first = next((place for place, each in enumerate(window) if each["role"] == "user"), 0)
        messages = [{"role": each["role"], "content": each["content"]} for each in window[first:]]
        reply = await self._ask_client(messages) if self._client is not None else await asyncio.to_thread(self._ask, messages)
        self._memory.add_to_context_window("assistant", reply)
        return reply

    async def _ask_client(self, messages: list[dict[str, str]]) -> str:
        named = {"system": self._system_prompt} if self._system_prompt else {}
        response = self._client.messages.create(model=self._model, max_tokens=_MAX_TOKENS, messages=messages, **named)
        if isawaitable(response):
            response = await response
        return str(response.content[0].text)

    def _ask(self, messages: list[dict[str, str]]) -> str:
        model, problem = services(self._memory.engine).chat.model()
        if model is None:
            raise NoChatModel(
                f"No chat model answers: {problem or 'none is set'}. Give a client, or open the memory with chat=..."
            )
        system = [Turn(role="system", text=self._system_prompt)] if self._system_prompt else []
        turns = [Turn(role="assistant" if each["role"] == "assistant" else "user", text=each["content"]) for each in messages]
        return model.chat([*system, *turns], max_tokens=_MAX_TOKENS).text
