"""A LangChain retriever and a LangChain chat message history on a Holdfast memory.

::

    retriever = HoldfastRetriever(memory=memory, user="ana", k=5)
    history = HoldfastChatMessageHistory("thread-7", memory, user="ana")
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import holdfast
from holdfast.adapters.conversations import Conversation, completed, text_of
from holdfast.adapters.shared import extra_missing

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise extra_missing("LangChain", "langchain", error) from error

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
"""Maps the types of LangChain's messages to Holdfast's roles."""
_TYPES = {"user": "human", "assistant": "ai", "system": "system"}
"""Maps Holdfast's roles to the types of LangChain's messages."""


class HoldfastRetriever(BaseRetriever):
    """A retriever that recalls memories and messages, best first."""

    memory: holdfast.Engine
    """The memory to search."""
    user: str | None = None
    """The user whose data is searched, together with data that all users share."""
    app: str | None = None
    agent: str | None = None
    k: int = 10
    """Maximum number of documents. ``invoke(query, k=3)`` changes it for one call."""
    kinds: list[str] | None = None
    """Kinds of memories to search; ``message`` stands for messages. By default, all are searched."""
    where: dict[str, Any] | None = None
    """Filter by metadata, with operators such as ``{"stars": {"$gte": 4}}``."""
    namespace_prefix: tuple[str, ...] = ()
    """Search only namespaces that start with these labels."""
    min_score: float = 0.0
    """Minimum score of a document, from 0 to 1."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        del run_manager  # recall reports to Holdfast's own tracing
        return self._recalled(query, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        del run_manager
        return await asyncio.to_thread(self._recalled, query, k)

    def _recalled(self, query: str, k: int | None) -> list[Document]:
        if not query.strip():
            return []
        hits = self.memory.recall(
            query,
            user=self.user,
            app=self.app,
            agent=self.agent,
            limit=self.k if k is None else k,
            kinds=self.kinds,
            where=self.where,
            namespace_prefix=self.namespace_prefix,
            min_score=self.min_score,
        )
        return [_document(hit) for hit in hits]


class HoldfastChatMessageHistory(BaseChatMessageHistory):
    """A chat message history. Messages are returned unchanged.

    Their texts can be recalled, and memories are learned from them.
    """

    def __init__(
        self,
        session_id: str,
        memory: holdfast.Engine,
        *,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Keep the messages of a conversation in ``memory``.

        Args:
            session_id: The id of the conversation. Use the same id to continue it.
            memory: The memory.
            user: The user of the conversation. Memories learned from it belong to this user.
            app: The app that the conversation belongs to.
            agent: The agent that the conversation belongs to.
            limit: Return only the last messages, at most this number. By default, all are returned.
        """
        self.session_id = session_id
        self._limit = limit
        self._conversation = Conversation(memory, session_id, {"user": user, "app": app, "agent": agent})

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base class declares an attribute or property
        """The messages, oldest first."""
        found = self._conversation.messages(self._limit)
        return list(messages_from_dict([_entry(message) for message in found]))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages. All are stored or none."""
        self._conversation.add([_message(message) for message in messages])

    def clear(self) -> None:
        """Erase all messages, with the memories that were learned from them."""
        self._conversation.clear()

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, oldest first."""
        return await asyncio.to_thread(lambda: self.messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages. All are stored or none."""
        await completed(asyncio.to_thread(self.add_messages, messages))

    async def aclear(self) -> None:
        """Erase all messages, with the memories that were learned from them."""
        await completed(asyncio.to_thread(self.clear))

    def context(self, query: str | None = None, *, max_tokens: int | None = None) -> str:
        """Return a context block for a system message. Without a query, the user's last message is the query."""
        return self._conversation.context(query, max_tokens)

    def end(self) -> None:
        """End the conversation, so that Holdfast learns from it now instead of when it becomes idle."""
        self._conversation.end()


def _document(hit: holdfast.Hit) -> Document:
    """Return a hit as a document. Its metadata contains the memory's metadata and the origin of the text."""
    about: dict[str, Any] = {"kind": hit.kind, "score": hit.score, "at": hit.at.isoformat()}
    if hit.memory is not None:
        named = {"key": hit.memory.key, "topic": hit.memory.topic, "namespace": list(hit.memory.namespace) or None}
        about = {**hit.memory.metadata, **about, **{name: value for name, value in named.items() if value is not None}}
    elif hit.message is not None:
        about |= {"role": hit.message.role, "session": hit.message.session, **({"asked": hit.asked} if hit.asked else {})}
    return Document(id=hit.id, page_content=hit.text, metadata=about)


def _message(message: BaseMessage) -> holdfast.NewMessage:
    role = _ROLES.get(message.type) or getattr(message, "role", None) or "user"
    return {"role": role, "text": text_of(message.content), "payload": message_to_dict(message)}


def _entry(message: holdfast.Message) -> dict[str, Any]:
    """Return a message as LangChain's dict. A message that another program added has only a role and a text."""
    if isinstance(message.payload, dict) and {"type", "data"} <= message.payload.keys():
        return message.payload
    type = _TYPES.get(message.role, "chat")
    role = {"role": message.role} if type == "chat" else {}
    return {"type": type, "data": {"content": message.text, **role}}
