"""Builds the components of an engine and connects them."""

from collections.abc import Callable
from typing import Literal

from holdfast.background.condense import Condenser
from holdfast.background.digest import Digester
from holdfast.background.energy import Energy
from holdfast.background.find_topic import TopicFinder
from holdfast.background.housekeeping import Housekeeping
from holdfast.background.jobs import LEASE_DURATION, MODEL_LEASE_DURATION, JobRunner
from holdfast.background.scheduler import Scheduler, Worker
from holdfast.models.chat_budget import BudgetedChat, ChatBudget, ChatSource
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Reranker, SentenceReader, Store
from holdfast.recall.embedding import EmbedderSource, Embedding
from holdfast.recall.notices import RECALL_TIMEOUT
from holdfast.recall.reader import Reader
from holdfast.recall.reranking import ChatReranker, Reranking
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.tracing import watched
from holdfast.services import Services
from holdfast.topic_files import FolderMirrors


def build_services(
    store: Store,
    *,
    preset: Preset,
    embedder: EmbedderSource | None = None,
    chat: ChatSource | None = None,
    reranker: Reranker | Literal["chat"] | None = None,
    sentence_reader: SentenceReader | None = None,
    limits: ChatBudget | None = None,
    recall_timeout: float = RECALL_TIMEOUT,
    energy: Callable[[], float] | None = None,
    clock: Clock | None = None,
    worker: Worker = "thread",
) -> Services:
    """Build the engine's components on an open store."""
    clock = clock or SystemClock()
    embedding = Embedding(store, embedder)
    budgeted = BudgetedChat(store, chat, clock, limits)
    meter = Energy(store, energy, asks_model=chat is not None)
    condenser = Condenser(store, preset, clock, embedding=embedding, chat=budgeted)
    topics = TopicFinder(store, preset, clock, embedding=embedding, chat=budgeted)
    digester = Digester(
        store,
        preset,
        clock,
        embedding=embedding,
        chat=budgeted,
        condenser=condenser,
        topics=topics,
        reader=sentence_reader,
    )
    handlers = {"digest": watched("digest")(digester.digest), **condenser.handlers, **topics.handlers}
    lease = LEASE_DURATION if chat is None else MODEL_LEASE_DURATION
    jobs = JobRunner(store, clock, handlers, affordable=meter.affordable, lease=lease)
    reranking = Reranking(ChatReranker(store, clock, budgeted) if reranker == "chat" else reranker)
    reader = Reader(store, preset, clock, embedding, reranking=reranking, recall_timeout=recall_timeout)
    topic_files = FolderMirrors(store, preset, clock, follow_up=condenser.follow_up)
    housekeeping = Housekeeping(store, preset, clock, digester)
    scheduler = Scheduler(
        store, embedding=embedding, reader=reader, jobs=jobs, topic_files=topic_files, housekeeping=housekeeping, worker=worker
    )
    return Services(
        store=store,
        preset=preset,
        clock=clock,
        embedding=embedding,
        chat=budgeted,
        energy=meter,
        digester=digester,
        condenser=condenser,
        jobs=jobs,
        reranking=reranking,
        reader=reader,
        sentence_reader=sentence_reader,
        topic_files=topic_files,
        housekeeping=housekeeping,
        scheduler=scheduler,
    )
