"""Separate thread limits for recalls and for work that waits for chat models, so that neither can block other routes."""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from holdfast.engine import Engine
from holdfast.services import services

Result = TypeVar("Result")
_MAX_CHATS = 64
"""Maximum number of threads that wait for a chat model. Further chat requests queue; other routes are not affected."""

_MAX_LOCAL_RECALLS = 8
"""Maximum number of concurrent recalls when this process does all the work.

The lanes normally admit fewer: two per tenant, and three in all. Slow recalls that a lane has set aside come on top. This
maximum leaves room for them. With a maximum of 2, two slow recalls of one tenant stopped the recalls of all tenants.

More concurrent recalls only compete for the CPU. This was measured with 50 clients, 2 processes and 2 cores: with 2
instead of 40 concurrent recalls of a tenant, a third more requests were served, and the 95th percentile of the latency
was a third lower.
"""
_MAX_REMOTE_RECALLS = 40
"""Maximum number of concurrent recalls when most of their time is spent waiting for a database or a remote embedder."""


def recall_limiter(memory: Engine) -> anyio.CapacityLimiter:
    """Return the limiter for recall threads.

    The limit is low if recalls are computed in this process, and high if they wait for a database or a remote embedder.
    """
    return anyio.CapacityLimiter(_MAX_LOCAL_RECALLS if computes_here(memory) else _MAX_REMOTE_RECALLS)


def computes_here(memory: Engine) -> bool:
    """Return True if this process does the work of a recall itself, without waiting for a database or a remote model."""
    parts = services(memory)
    return parts.store.is_local and parts.embedding.computes and not parts.reranking.waits


async def run_recall(request: Request, work: Callable[[], Result]) -> Result:
    """Run a recall (``work``) in a worker thread and return its result.

    If all recall threads are busy, wait for a free one in order of arrival.
    """
    limiter: anyio.CapacityLimiter = request.app.state.recalls
    return await anyio.to_thread.run_sync(work, limiter=limiter)


def chat_limiter() -> anyio.CapacityLimiter:
    """Return a new limit for the number of threads that wait for a chat model."""
    return anyio.CapacityLimiter(_MAX_CHATS)


async def run_chat(request: Request, work: Callable[[], Result]) -> Result:
    """Run ``work`` in a worker thread and return its result. Use this for work that can wait for a chat model.

    The number of these threads has its own limit.
    """
    limiter: anyio.CapacityLimiter = request.app.state.chats
    return await anyio.to_thread.run_sync(work, limiter=limiter)
