"""Builds the components of an engine and connects them."""

from collections.abc import Callable
from typing import Literal

from holdfast.clock import SystemClock
from holdfast.consolidation import Consolidation
from holdfast.embedding import EmbedderSource, Embedding
from holdfast.energy import Energy
from holdfast.files import Shelves
from holdfast.housekeeping import Housekeeping
from holdfast.jobs import LEASE, LEASE_WITH_MODEL, JobRunner
from holdfast.notes import Reranker
from holdfast.pipeline import Pipeline
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Store
from holdfast.reader import Reader
from holdfast.reranking import ChatReranker, Reranking
from holdfast.scheduler import Scheduler, Worker
from holdfast.services import Services
from holdfast.thinking import ChatSource, Limits, Thinking
from holdfast.topics import Topics
from holdfast.tracing import watched


def build_services(
    store: Store,
    *,
    preset: Preset,
    embedder: EmbedderSource | None = None,
    second: EmbedderSource | None = None,
    chat: ChatSource | None = None,
    reranker: Reranker | Literal["chat"] | None = None,
    limits: Limits | None = None,
    energy: Callable[[], float] | None = None,
    clock: Clock | None = None,
    worker: Worker = "thread",
) -> Services:
    """Build the components on an open store. ``second`` embeds what is not in English."""
    clock = clock or SystemClock()
    embedding = Embedding(store, embedder, second)
    thinking = Thinking(store, chat, clock, limits)
    drawn = Energy(store, energy, asks_model=chat is not None)
    consolidation = Consolidation(store, preset, clock, embedding=embedding, thinking=thinking)
    topics = Topics(store, preset, clock, embedding=embedding, thinking=thinking)
    digestion = Pipeline(store, preset, clock, embedding=embedding, thinking=thinking, consolidation=consolidation, topics=topics)
    handlers = {"digest": watched("digest")(digestion.digest), **consolidation.handlers, **topics.handlers}
    lease = LEASE if chat is None else LEASE_WITH_MODEL
    jobs = JobRunner(store, clock, handlers, affordable=drawn.affordable, lease=lease)
    reranking = Reranking(ChatReranker(store, clock, thinking) if reranker == "chat" else reranker)
    reader = Reader(store, preset, clock, embedding, reranking=reranking)
    topic_files = Shelves(store, preset, clock, follow_up=consolidation.follow_up)
    housekeeping = Housekeeping(store, preset, clock, digestion)
    scheduler = Scheduler(
        store, embedding=embedding, reader=reader, jobs=jobs, topic_files=topic_files, housekeeping=housekeeping, worker=worker
    )
    return Services(
        store=store, preset=preset, clock=clock, embedding=embedding, chat=thinking, energy=drawn, digestion=digestion,
        consolidation=consolidation, jobs=jobs, reranking=reranking, reader=reader, topic_files=topic_files,
        housekeeping=housekeeping, scheduler=scheduler,
    )  # fmt: skip
