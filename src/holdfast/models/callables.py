"""Any Python function as a chat model: it is given messages and returns a text, at once or as a coroutine.

Coroutines run on an event loop of their own, in a thread that lives as long as the process. So a model can be asked
from anywhere, also from inside a running loop, and a client the function keeps meets the same loop each time.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

from holdfast.chat import Reply, Schema, Tool, Turn, Usage
from holdfast.errors import AnswerInvalid, ModelError, ModelUnavailable
from holdfast.models.remote.exchange import with_schema_in_words
from holdfast.models.remote.faults import short
from holdfast.models.remote.http import well_formed
from holdfast.models.remote.prices import FREE, Price
from holdfast.runtime import forks

__all__ = ["CallableChat", "ChatFunction"]

ChatFunction: TypeAlias = Callable[[list[dict[str, str]]], str | Awaitable[str]]
"""Takes messages, each with a ``role`` and a ``content``, and returns what the model answers."""


class CallableChat:
    """A :class:`holdfast.chat.ChatModel` made of a function.

    A coroutine is given ``timeout`` seconds. An ordinary function runs in the caller's thread, where nothing can
    stop it: it minds the time itself. ``free`` says that asking costs nothing; otherwise the cost is not known.
    """

    def __init__(self, function: ChatFunction, *, name: str | None = None, free: bool = False) -> None:
        """Take a function; its own name serves where none is given."""
        self.name = name or f"callable:{getattr(function, '__name__', type(function).__name__)}"
        self._function = function
        self._price: Price | None = FREE if free else None
        self._loop = _Loop()

    def chat(
        self,
        turns: Sequence[Turn],
        *,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> Reply:
        """Ask the function; a schema is put into the words."""
        del max_tokens  # a function has its own
        if tools:
            raise ModelError(f"{self.name} is a function that returns text; it cannot call tools. Use a model of a provider.")
        asked = tuple(turns) if schema is None else with_schema_in_words(turns, schema)
        began = time.monotonic()
        try:
            answer = self._ask([_message(turn) for turn in asked], timeout)
        except ModelError as error:
            error.usage = self._usage(began)
            raise
        return Reply(text=well_formed(answer), usage=self._usage(began))

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Give the whole answer as one piece."""
        reply = self.chat(turns, tools=tools, max_tokens=max_tokens, timeout=timeout)
        if reply.text:
            yield reply.text
        yield reply

    def _ask(self, messages: list[dict[str, str]], timeout: float) -> str:
        try:
            answer: object = self._function(messages)
            if isawaitable(answer):
                answer = self._loop.run(answer, timeout)
        except ModelError:
            raise
        except TimeoutError as error:
            raise ModelUnavailable(f"{self.name} did not answer within {timeout:g} seconds.") from error
        except Exception as error:  # the edge: a function of the caller's own may raise anything
            raise ModelUnavailable(f"{self.name} raised {type(error).__name__}: {short(str(error))}") from error
        if not isinstance(answer, str):
            raise AnswerInvalid(f"{self.name} returned {type(answer).__name__}; it must return a str.")
        return answer

    def _usage(self, began: float) -> Usage:
        cost = None if self._price is None else 0.0
        return Usage(calls=1, seconds=time.monotonic() - began, cost=cost)


class _Loop:
    """An event loop in a thread, begun with the first coroutine; a forked process begins its own."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        forks.register(self)

    def after_fork(self) -> None:
        """Forget the loop, whose thread is not here."""
        self._starting, self._loop = threading.Lock(), None

    def run(self, awaitable: Awaitable[Any], timeout: float) -> Any:
        """Return what comes of an awaitable; ``TimeoutError`` when it takes longer."""

        async def bounded() -> Any:
            return await asyncio.wait_for(awaitable, timeout)

        return asyncio.run_coroutine_threadsafe(bounded(), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="holdfast-chat-function", daemon=True).start()
            return self._loop


def _message(turn: Turn) -> dict[str, str]:
    """Word a turn; a function knows no tools, so what one answered is said by the user."""
    return {"role": "user" if turn.role == "tool" else turn.role, "content": turn.text}
