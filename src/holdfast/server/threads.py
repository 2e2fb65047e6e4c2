"""Threads for what takes long: model calls have their own, so that they never stand in a recall's way."""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

Result = TypeVar("Result")
_TALKS = 64
"""Conversations that wait for a model at the same time; further ones wait for a thread, and nobody else does."""


def talk_limiter() -> anyio.CapacityLimiter:
    """Return the limit on threads that wait for models."""
    return anyio.CapacityLimiter(_TALKS)


async def talking(request: Request, work: Callable[[], Result]) -> Result:
    """Do something that may wait for a model, beside the event loop and beside the threads of the other routes."""
    limiter: anyio.CapacityLimiter = request.app.state.talks
    return await anyio.to_thread.run_sync(work, limiter=limiter)
