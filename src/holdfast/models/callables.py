"""Adapts a Python function to the chat model protocol. The function takes messages and returns a text or a coroutine.

Coroutines run on one event loop, in a background thread that lives as long as the process. Therefore the model can be
called from anywhere, even inside a running loop. An async client inside the function always sees the same loop.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from holdfast.chat import ChatModel, Reply, Schema, Tool, Turn, Usage
from holdfast.errors import AnswerInvalid, ModelError, ModelUnavailable, SettingsError
from holdfast.models.remote.exchange import with_schema_in_prompt
from holdfast.models.remote.faults import short
from holdfast.models.remote.http import well_formed
from holdfast.runtime import forks

__all__ = ["CallableChat", "ChatFunction", "custom_chat"]

ChatFunction: TypeAlias = Callable[[list[dict[str, str]]], str | Awaitable[str]]
"""Function that takes messages, each with a ``role`` and a ``content``, and returns the model's reply."""


_MAX_OVERDUE = 4
"""Maximum number of timed-out calls of one function that may still be running."""


class CallableChat:
    """A :class:`holdfast.chat.ChatModel` that calls a function.

    After ``timeout`` seconds, the call fails. A coroutine is then canceled. An ordinary function cannot be interrupted: it
    continues in its own thread, and its result is dropped. As long as four such functions are still running, further calls
    fail at once. Set ``free`` if calls cost nothing; otherwise their cost is unknown.
    """

    def __init__(self, function: ChatFunction, *, name: str | None = None, free: bool = False) -> None:
        """Wrap a function. The model is named after the function unless ``name`` is given."""
        self.name = name or f"callable:{getattr(function, '__name__', type(function).__name__)}"
        self._function = function
        self._cost = 0.0 if free else None
        self._loop = _Loop()
        self._overdue = _Threads()

    def chat(
        self,
        turns: Sequence[Turn],
        *,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = 1024,
        timeout: float = 60.0,
    ) -> Reply:
        """Call the function. If a schema is given, it is added to the prompt. Tools are not supported."""
        del max_tokens  # the function limits its own output
        if tools:
            raise ModelError(
                f"{self.name} is a function that returns text; it cannot call tools. Use a provider's model instead."
            )
        prompt = tuple(turns) if schema is None else with_schema_in_prompt(turns, schema)
        started = time.monotonic()
        try:
            text = self._call([_message(turn) for turn in prompt], timeout)
        except ModelError as error:
            error.usage = self._usage(started)
            raise
        return Reply(text=well_formed(text), usage=self._usage(started))

    def stream(
        self, turns: Sequence[Turn], *, tools: Sequence[Tool] = (), max_tokens: int = 1024, timeout: float = 60.0
    ) -> Iterator[str | Reply]:
        """Yield the whole text of the reply as one piece, then the complete :class:`Reply`. An empty text is not yielded."""
        reply = self.chat(turns, tools=tools, max_tokens=max_tokens, timeout=timeout)
        if reply.text:
            yield reply.text
        yield reply

    def _call(self, messages: list[dict[str, str]], timeout: float) -> str:
        try:
            result: object = self._overdue.run(lambda: self._function(messages), timeout)
            if isawaitable(result):
                result = self._loop.run(result, timeout)
        except ModelError:
            raise
        except TimeoutError as error:
            raise ModelUnavailable(f"{self.name} did not answer within {timeout:g} seconds.") from error
        except Exception as error:  # a custom function may raise anything
            raise ModelUnavailable(f"{self.name} raised {type(error).__name__}: {short(str(error))}") from error
        if not isinstance(result, str):
            raise AnswerInvalid(f"{self.name} returned {type(result).__name__}; it must return a str.")
        return result

    def _usage(self, started: float) -> Usage:
        return Usage(calls=1, seconds=time.monotonic() - started, cost=self._cost)


def custom_chat(given: ChatModel | ChatFunction) -> ChatModel:
    """Return the chat model for an object or a function. Raise ``SettingsError`` if it is neither."""
    if hasattr(given, "chat") and hasattr(given, "name"):
        return cast("ChatModel", given)
    if callable(given):
        return CallableChat(given)
    raise SettingsError(
        f"{type(given).__name__} is not a chat model: it has no chat and name (see holdfast.chat.ChatModel). "
        "Pass a function instead, such as a method of it that takes a list of messages and returns a text."
    )


class _Threads:
    """Runs each function in its own thread, so that the caller can stop waiting."""

    def __init__(self) -> None:
        self._overdue: list[threading.Thread] = []

    def run(self, function: Callable[[], Any], timeout: float) -> Any:
        """Return the function's result, or raise ``TimeoutError`` if it takes longer than ``timeout`` seconds.

        Raise ``TimeoutError`` at once if too many earlier functions are still running after their timeout.
        """
        self._overdue = [thread for thread in self._overdue if thread.is_alive()]
        if len(self._overdue) >= _MAX_OVERDUE:
            raise TimeoutError
        outcome: Future[Any] = Future()

        def work() -> None:
            try:
                outcome.set_result(function())
            except BaseException as error:  # noqa: BLE001  (raised again in the caller's thread)
                outcome.set_exception(error)

        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="holdfast-chat-call", daemon=True)
        thread.start()
        try:
            return outcome.result(timeout)
        except TimeoutError:
            if not outcome.done():
                self._overdue.append(thread)
            raise


class _Loop:
    """An event loop in a background thread, started with the first coroutine. A forked child starts its own loop."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        forks.register(self)

    def after_fork(self) -> None:
        """Discard the loop: its thread does not exist in the child process."""
        self._starting, self._loop = threading.Lock(), None

    def run(self, awaitable: Awaitable[Any], timeout: float) -> Any:
        """Return the result of an awaitable, or raise ``TimeoutError`` if it takes longer than ``timeout`` seconds."""

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
    """Convert a turn to a message with the keys ``role`` and ``content``.

    Tool results become user messages, because a function does not support tools.
    """
    return {"role": "user" if turn.role == "tool" else turn.role, "content": turn.text}
