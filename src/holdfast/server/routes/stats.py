"""How things are: counts, speed, lag and spend."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from holdfast.engine import Engine
from holdfast.server.api.openapi import problems
from holdfast.server.api.responses import Model
from holdfast.server.caller import Calling, needs
from holdfast.server.middleware.latency import Latency
from holdfast.server.routes.idempotency import Route
from holdfast.services import services
from holdfast.version import __version__

router = APIRouter(prefix="/v1", tags=["server"], route_class=Route)
_DAYS = 30


class Queue(Model):
    """Background work by its state."""

    queued: int
    running: int
    dead: int


class RecallTimes(Model):
    """How long recalls took in this process, in milliseconds; null before the first."""

    p50: float | None = None
    p95: float | None = None
    count: int


class MadeOnDay(Model):
    """Memories of a kind made on a day."""

    day: Annotated[str, Field(examples=["2026-03-01"])]
    kind: Annotated[str, Field(examples=["fact"])]
    count: int


class SpendOnDay(Model):
    """What models took for one purpose on a day; ``unpriced`` calls went to models whose price is not known."""

    day: Annotated[str, Field(examples=["2026-03-01"])]
    purpose: Annotated[str, Field(examples=["digest"])]
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    cost: float
    unpriced: int
    energy: float


class Tokens(Model):
    """Tokens that went into models and came out, over the days of ``spend``."""

    input: int
    output: int


class Stats(Model):
    """How things are, over the last 30 days where days matter."""

    memories: int
    messages: int
    sessions: int
    by_kind: dict[str, int]
    queue: Queue
    digestion_lag_seconds: Annotated[float, Field(description="The age of the oldest work that waits; 0 if none does.")]
    recall_ms: RecallTimes
    memories_per_day: list[MadeOnDay]
    spend: list[SpendOnDay]
    energy: Annotated[float, Field(description="Units that memory work has drawn since the store was made.")]
    energy_share: float | None = None
    tokens: Tokens
    embedder: str | None = None
    chat: str | None = None
    preset: str
    version: str
    store_bytes: int


@router.get("/stats", operation_id="stats", responses=problems(), openapi_extra=needs("read"))
def stats(caller: Calling, request: Request) -> Stats:
    """Return counts, speed, lag and spend of the tenant; for a key that is bound to nobody."""
    caller.may("read", whole=True)
    latency: Latency = request.app.state.latency
    return gathered(caller.memory, latency)


def gathered(memory: Engine, latency: Latency) -> Stats:
    """Gather the statistics of one memory."""
    now, counts = services(memory).clock.now(), memory.stats()
    since = now - timedelta(days=_DAYS)
    spend = memory.spend(since=since.date().isoformat())
    return Stats(
        memories=counts.memories, messages=counts.messages, sessions=sum(counts.sessions.values()),
        by_kind=dict(counts.memories_by_kind), queue=queue(counts.jobs), digestion_lag_seconds=lag(memory, now),
        recall_ms=RecallTimes(p50=latency.quantile(0.5), p95=latency.quantile(0.95), count=latency.count),
        memories_per_day=[MadeOnDay(day=each.day, kind=each.kind, count=each.made) for each in services(memory).store.memories_by_day(since=since)],
        spend=[SpendOnDay.model_validate(each) for each in spend], energy=services(memory).energy.consumed(),
        energy_share=services(memory).energy.share(),
        tokens=Tokens(input=sum(each.input_tokens for each in spend), output=sum(each.output_tokens for each in spend)),
        embedder=services(memory).embedding.name, chat=services(memory).chat.name, preset=memory.preset.name, version=__version__,
        store_bytes=counts.bytes,
    )  # fmt: skip


def queue(jobs: Mapping[str, int]) -> Queue:
    """Return background work by its state."""
    return Queue(queued=jobs.get("queued", 0), running=jobs.get("running", 0), dead=jobs.get("dead", 0))


def lag(memory: Engine, now: datetime) -> float:
    """Return the age of the oldest work that waits, in seconds."""
    waiting = memory.jobs(states=["queued", "running"], limit=1)
    return max(0.0, (now - waiting[0].created_at).total_seconds()) if waiting else 0.0
