"""The asyncio client with mem0's methods."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

import holdfast
from holdfast.adapters.mem0.client import Memory

P = ParamSpec("P")
R = TypeVar("R")


def _awaited(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """Return an async version of a method. It runs the method in a thread."""

    @functools.wraps(method)
    async def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._client, *args, **kwargs)

    return cast("Callable[Concatenate[Any, P], Awaitable[R]]", call)


class AsyncMemory:
    """A client with the methods of mem0's ``AsyncMemory``. They are the methods of :class:`Memory`, as coroutines."""

    def __init__(self, memory: holdfast.Engine | None = None, *, hard_delete: bool = False) -> None:
        """Use this engine, or open the default store. Takes the arguments of :class:`Memory`."""
        self._client = Memory(memory, hard_delete=hard_delete)

    add = _awaited(Memory.add)
    search = _awaited(Memory.search)
    get = _awaited(Memory.get)
    get_all = _awaited(Memory.get_all)
    update = _awaited(Memory.update)
    delete = _awaited(Memory.delete)
    delete_all = _awaited(Memory.delete_all)
    history = _awaited(Memory.history)
    reset = _awaited(Memory.reset)

    def close(self) -> None:
        """Close the memory, if this client opened it."""
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.close)
