"""A session for OpenAI's Agents SDK. It keeps the history of a conversation, and Holdfast also learns from it.

::

    session = HoldfastSession("thread-7", memory, user="ana")
    await Runner.run(agent, "Hello", session=session)
"""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import holdfast
from holdfast.adapters.conversations import Conversation, completed, text_of
from holdfast.adapters.shared import extra_missing

try:
    from agents import TResponseInputItem
    from agents.memory import SessionSettings
except ImportError as error:
    raise extra_missing("OpenAI Agents", "openai-agents", error) from error


class HoldfastSession:
    """A ``Session`` of the Agents SDK that stores each item of the SDK as a message in Holdfast.

    Items are returned unchanged. The texts in them can be recalled, and memories are extracted from the texts.
    """

    def __init__(
        self,
        session_id: str,
        memory: holdfast.Engine,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Keep the items of a conversation in ``memory``.

        Args:
            session_id: The id of the conversation. Use the same id to continue it.
            memory: The memory.
            user: The user of the conversation. Memories learned from it belong to this user.
            app: The app that the conversation belongs to.
            agent: The agent that the conversation belongs to.
            session_settings: The SDK's settings, such as the default limit of ``get_items``.
        """
        self.session_id = session_id
        self.session_settings = SessionSettings().resolve(session_settings)
        self._conversation = Conversation(memory, session_id, {"user": user, "app": app, "agent": agent})
        self._closed = False

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the last ``limit`` items, oldest first.

        If ``limit`` is None, the limit in ``session_settings`` applies. If that is not set either, all items are
        returned.
        """
        self._check_open()
        chosen = self.session_settings.limit if limit is None and self.session_settings else limit
        found = await asyncio.to_thread(self._conversation.messages, chosen)
        return [_item(message) for message in found]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items. All are stored or none."""
        self._check_open()
        messages = [_message(item) for item in items]
        await completed(asyncio.to_thread(self._conversation.add, messages))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it. The item is erased with everything derived from it."""
        self._check_open()
        found = await completed(asyncio.to_thread(self._conversation.pop))
        return None if found is None else _item(found)

    async def clear_session(self) -> None:
        """Erase all items, with the memories that were learned from them."""
        self._check_open()
        await completed(asyncio.to_thread(self._conversation.clear))

    async def context(self, query: str | None = None, *, max_tokens: int | None = None) -> str:
        """Return a context block for the agent's instructions. Without a query, the user's last message is the query."""
        return await asyncio.to_thread(self._conversation.context, query, max_tokens)

    async def end(self) -> None:
        """End the conversation, so that Holdfast learns from it now instead of when it becomes idle."""
        await completed(asyncio.to_thread(self._conversation.end))

    def close(self) -> None:
        """Close this object. Later calls of its methods raise an error, as in the SDK's own sessions.

        The engine stays open, and the conversation is not ended.
        """
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{type(self).__name__} is closed")


def _message(item: TResponseInputItem) -> holdfast.NewMessage:
    """Return the message for an item. Tool calls and reasoning have no text, so nothing is learned from them."""
    if not isinstance(item, Mapping):
        raise holdfast.InvalidInput(f"An item of a session is a dict, not {type(item).__name__}. Nothing was stored.")
    kind, role = item.get("type"), item.get("role")
    if isinstance(role, str):
        return {"role": role, "text": text_of(item.get("content")), "payload": dict(item)}
    if isinstance(kind, str) and kind.endswith("_output"):
        return {"role": "tool", "text": text_of(item.get("output")), "payload": dict(item)}
    return {"role": "assistant", "payload": dict(item)}


def _item(message: holdfast.Message) -> TResponseInputItem:
    """Return the SDK's item for a message. If another program added the message, the item has only a role and a text."""
    return cast("TResponseInputItem", message.payload or {"role": message.role, "content": message.text})
