"""Stores a conversation of another framework as a session. Each message has the framework's own message as its payload."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import holdfast
from holdfast.adapters.shared import Owner, check_engine, session_of

T = TypeVar("T")


class Conversation:
    """A session whose id the caller chose. It is created when the first message is added."""

    def __init__(self, memory: holdfast.Engine, id: str, owner: Owner) -> None:
        """Use the session ``id`` of ``owner``. Nothing is read or written yet."""
        self.memory = check_engine(memory)
        self.id = id
        self._owner = owner
        self._session: holdfast.Session | None = None

    @property
    def session(self) -> holdfast.Session:
        """The session of this conversation. Two owners can use the same id for different sessions."""
        if self._session is None:
            self._session = session_of(self.memory, self.id, self._owner)
        return self._session

    def messages(self, limit: int | None = None) -> list[holdfast.Message]:
        """Return the last ``limit`` messages, or all, oldest first."""
        return [] if limit is not None and limit <= 0 else self.session.messages(limit=limit)

    def add(self, messages: Sequence[holdfast.NewMessage]) -> None:
        """Add messages in one transaction."""
        if messages:
            self.session.add_all(messages)

    def pop(self) -> holdfast.Message | None:
        """Erase the last message with everything derived from it, and return it. Return None if there are no messages."""
        return self.session.pop()

    def clear(self) -> None:
        """Erase all messages with everything derived from them."""
        with suppress(holdfast.NotFound):  # there are none
            self.session.erase()

    def context(self, query: str | None, max_tokens: int | None) -> str:
        """Return the context block for the next reply."""
        return self.session.context(query, max_tokens=max_tokens).text

    def end(self) -> None:
        """End the session."""
        self.session.end()


async def completed(work: Awaitable[T]) -> T:
    """Wait for a write and return its result.

    If the caller is canceled meanwhile, still wait until the write is done, and only then raise the cancellation.
    """
    task = asyncio.ensure_future(work)
    canceled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            canceled = canceled or error
    if canceled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # retrieved, so that it is not logged as lost
    raise canceled


def text_of(content: Any) -> str:
    """Return the text of a message's content, which is a string or a list of strings and text parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | dict)]
    return "\n".join(text for text in texts if isinstance(text, str) and text)
