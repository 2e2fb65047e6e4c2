"""Builds the components of an engine and connects them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from holdfast.background.condense import Condenser
from holdfast.background.digest import Digester
from holdfast.background.energy import Energy
from holdfast.background.extract_span import SpanExtractor
from holdfast.background.find_topic import TopicFinder
from holdfast.background.housekeeping import Housekeeping
from holdfast.background.jobs import LEASE_DURATION, MODEL_LEASE_DURATION, JobRunner
from holdfast.background.scheduler import Scheduler, Worker
from holdfast.consent.plans import Planner
from holdfast.consent.wishes import Wishes
from holdfast.models.chat_budget import BudgetedChat, ChatBudget, ChatSource
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Reranker, SentenceReader, Store
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.recall.embedding import Embedding
from holdfast.recall.notices import RECALL_TIMEOUT
from holdfast.recall.reader import Reader
from holdfast.recall.reranking import ChatReranker, Reranking
from holdfast.recall.traces.keeper import MAX_TRACES, TRACE_DAYS, Traces
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.tracing import watched
from holdfast.services import Services
from holdfast.text.limits import Limits
from holdfast.topic_files import FolderMirrors
from holdfast.types import REDO

_MAX_CALLS_PER_JOB = 16
"""Maximum number of model calls of one job: six parts of a conversation, their retries, and the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Learning:
    """The components that learn from conversations."""

    digester: Digester
    condenser: Condenser
    topics: TopicFinder


def build_services(
    store: Store,
    *,
    preset: Preset,
    embedder: EmbedderSource | None = None,
    chat: ChatSource | None = None,
    reranker: Reranker | Literal["chat"] | None = None,
    sentence_reader: SentenceReader | None = None,
    budget: ChatBudget | None = None,
    limits: Limits | None = None,
    recall_timeout: float = RECALL_TIMEOUT,
    trace_days: float = TRACE_DAYS,
    max_traces: int = MAX_TRACES,
    energy: Callable[[], float] | None = None,
    clock: Clock | None = None,
    worker: Worker = "thread",
) -> Services:
    """Build the engine's components on an open store."""
    clock = clock or SystemClock()
    preset = replace(preset if chat is None else preset.with_model())  # a copy, to which imports may add kinds
    embedding = Embedding(store, embedder)
    budgeted = BudgetedChat(store, chat, clock, budget)
    meter = Energy(store, energy, asks_model=chat is not None)
    learning = _learning(store, preset, clock, embedding=embedding, chat=budgeted, reader=sentence_reader)
    jobs = _job_runner(store, clock, learning, meter=meter, chat=budgeted, lease=_lease(chat))
    reranking = Reranking(ChatReranker(store, clock, budgeted) if reranker == "chat" else reranker)
    traces = Traces(store, days=trace_days, max_traces=max_traces, sentence_reader=sentence_reader)
    reader = Reader(store, preset, clock, embedding, reranking=reranking, recall_timeout=recall_timeout, traces=traces)
    topic_files = FolderMirrors(store, preset, clock, follow_up=learning.condenser.follow_up)
    housekeeping = Housekeeping(
        store, preset, clock, learning.digester, condenser=learning.condenser, sentence_reader=sentence_reader, traces=traces
    )
    return Services(
        store=store,
        preset=preset,
        clock=clock,
        limits=limits or Limits(),
        embedding=embedding,
        chat=budgeted,
        energy=meter,
        digester=learning.digester,
        condenser=learning.condenser,
        jobs=jobs,
        reranking=reranking,
        reader=reader,
        sentence_reader=sentence_reader,
        wishes=Wishes(Planner(store, preset, clock, reader=reader, sentence_reader=sentence_reader), store, preset, clock),
        topic_files=topic_files,
        housekeeping=housekeeping,
        scheduler=Scheduler(
            store,
            embedding=embedding,
            reader=reader,
            jobs=jobs,
            topic_files=topic_files,
            housekeeping=housekeeping,
            chat=budgeted,
            worker=worker,
        ),
    )


def _learning(
    store: Store, preset: Preset, clock: Clock, *, embedding: Embedding, chat: BudgetedChat, reader: SentenceReader | None
) -> _Learning:
    """Build the components that learn from conversations."""
    condenser = Condenser(store, preset, clock, embedding=embedding, chat=chat)
    topics = TopicFinder(store, preset, clock, embedding=embedding, chat=chat)
    extractor = SpanExtractor(store, preset, clock, embedding=embedding, chat=chat, topics=topics, reader=reader)
    digester = Digester(store, preset, clock, extractor=extractor, chat=chat, condenser=condenser, topics=topics)
    return _Learning(digester=digester, condenser=condenser, topics=topics)


def _job_runner(
    store: Store, clock: Clock, learning: _Learning, *, meter: Energy, chat: BudgetedChat, lease: timedelta
) -> JobRunner:
    """Return the runner of the jobs that learn from conversations and condense memories."""
    digest = watched("digest")(learning.digester.digest)
    topics = learning.topics.handlers
    handlers = {"digest": digest, REDO: digest, **learning.condenser.handlers, **topics}

    def runnable(kinds: Collection[str]) -> list[str]:
        return [kind for kind in meter.affordable(kinds) if kind != REDO or chat.has_returned]

    exclusive = [kind for kind in handlers if kind not in topics]  # other processes lease jobs of the same store, too
    return JobRunner(store, clock, handlers, affordable=runnable, lease=lease, exclusive=exclusive)


def _lease(chat: ChatSource | None) -> timedelta:
    """Return the duration of a job's lease. If the job uses a chat model, the lease is long enough for all its calls."""
    if chat is None:
        return LEASE_DURATION
    return max(MODEL_LEASE_DURATION, timedelta(seconds=_MAX_CALLS_PER_JOB * (chat.timeout or 0.0)))
