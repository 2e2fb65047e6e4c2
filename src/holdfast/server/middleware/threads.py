"""Threads by what they do: those that wait for models never stand in the way of others, and those that compute are few."""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from holdfast.engine import Engine
from holdfast.services import services

Result = TypeVar("Result")
_MAX_CHATS = 64
"""Conversations that wait for a model at the same time; further ones wait for a thread, and nobody else does."""

_MAX_LOCAL_RECALLS = 2
"""Recalls at the same time where this process does all of the work: more only stand in each other's way, and everybody's
answer takes longer. With fifty clients, two processes and two cores, two at a time answered a third more requests than
forty did, and nineteen of twenty in two thirds of the time."""
_MAX_REMOTE_RECALLS = 40
"""Recalls at the same time where most of their time is spent waiting for a database or an embedder elsewhere."""


def recall_limiter(memory: Engine) -> anyio.CapacityLimiter:
    """Return the limit on threads that recall."""
    computes = services(memory).store.is_local and services(memory).embedding.computes and not services(memory).reranking.waits
    return anyio.CapacityLimiter(_MAX_LOCAL_RECALLS if computes else _MAX_REMOTE_RECALLS)


async def recalling(request: Request, work: Callable[[], Result]) -> Result:
    """Ask the memory something, beside the event loop; who comes first is answered first."""
    limiter: anyio.CapacityLimiter = request.app.state.recalls
    return await anyio.to_thread.run_sync(work, limiter=limiter)


def talk_limiter() -> anyio.CapacityLimiter:
    """Return the limit on threads that wait for models."""
    return anyio.CapacityLimiter(_MAX_CHATS)


async def talking(request: Request, work: Callable[[], Result]) -> Result:
    """Do something that may wait for a model, beside the event loop and beside the threads of the other routes."""
    limiter: anyio.CapacityLimiter = request.app.state.talks
    return await anyio.to_thread.run_sync(work, limiter=limiter)
