"""Prometheus metrics at ``/metrics``: what the store holds, counted when asked, and how this server has answered.

What the store holds is the same whichever worker process is asked. Requests and latencies are counted by each process
for itself; with several workers they share a folder of counters (``holdfast.config.share_metrics``, Prometheus'
own multiprocess mode), and any of them answers with the sum. An address is counted by its template, never with an id
in it. Numbers of the whole server are for the operator's tenant; another tenant's administrator sees its own store.
"""

from collections.abc import AsyncIterator, Container, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from holdfast.access.keys import authorize
from holdfast.config.folders import metrics_folder
from holdfast.engine import Engine
from holdfast.errors import HoldfastError
from holdfast.runtime.tracing import Operation, listen
from holdfast.server.api.problem import AsgiMessage, AsgiScope, Receive, Send, problem_of, problem_response
from holdfast.server.middleware.security import App, principal_of
from holdfast.server.routes.stats import lag
from holdfast.server.tenants import EnginePool
from holdfast.services import services
from holdfast.version import __version__

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STATES = ("queued", "running", "done", "dead")
OTHER = "other"
"""Where a request went that no route took."""
_TAKEN_BY = "holdfast.taken_by"


class ServerMetrics:
    """What this server counts while it runs."""

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        self._requests = Counter(
            "holdfast_requests", "Requests by method, route and status.", ("method", "route", "status"), registry=self._own
        )
        self._recalls = Histogram("holdfast_recall_seconds", "How long recalls took.", buckets=_SECONDS, registry=self._own)
        self._operations = Histogram(
            "holdfast_operation_seconds", "How long memory operations took.", ("operation",), buckets=_SECONDS, registry=self._own
        )
        self.close = listen(self._note)

    def _note(self, operation: Operation, seconds: float) -> None:
        if operation == "recall":
            self._recalls.observe(seconds)
        else:
            self._operations.labels(operation).observe(seconds)

    def count(self, method: str, route: str, status: int) -> None:
        """Count a request that was answered."""
        self._requests.labels(method if method in _METHODS else "OTHER", route, str(status)).inc()

    def registry(self) -> CollectorRegistry:
        """Return what was counted: by this process, or by all that share a folder."""
        folder = metrics_folder()
        if folder is None:
            return self._own
        shared = CollectorRegistry()
        MultiProcessCollector(shared, str(folder))  # type: ignore[no-untyped-call]
        return shared


def counting(app: App, metrics: ServerMetrics) -> App:
    """Return an application whose requests are counted; it goes around all others, so that it sees refusals too."""

    async def counted(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status = 500
        taken_by: list[str] = []

        async def noting(message: AsgiMessage) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app({**scope, _TAKEN_BY: taken_by}, receive, noting)
        finally:
            metrics.count(scope["method"], taken_by[-1] if taken_by else OTHER, status)

    return counted


def naming_routes(app: App, *, fixed: Container[str] = ()) -> App:
    """Return an application that says which of its routes took a request; it goes around the routes themselves.

    ``fixed`` are paths that are not routes of a framework.
    """

    async def named(scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            path = getattr(scope.get("route"), "path", None)
            if path is None and scope.get("path", "").rstrip("/") in fixed:
                path = scope["path"].rstrip("/")
            if isinstance(path, str):
                scope.get(_TAKEN_BY, []).append(path or "/")

    return named


class MetricsApp:
    """The ASGI application for ``/metrics``."""

    def __init__(self, pool: EnginePool, metrics: ServerMetrics) -> None:
        self._pool = pool
        self.metrics = metrics

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Stop counting when this ends, in the lifespan of the application it is part of."""
        try:
            yield
        finally:
            self.metrics.close()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a scrape, for an administrator whose key is bound to nobody."""
        if scope["method"] not in ("GET", "HEAD"):
            refused = problem_response(405, "invalid_input", "Metrics are read with GET.", headers={"allow": "GET, HEAD"})
            await refused(scope, receive, send)
            return
        try:
            principal = principal_of(scope)
            authorize(principal, "admin", whole=True)
            accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
            encode, content_type = choose_encoder(accept)
            body = await to_thread.run_sync(self._gather, principal.tenant, encode)
        except HoldfastError as error:
            await problem_of(error)(scope, receive, send)
            return
        headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _gather(self, tenant: str, encode: Any) -> bytes:
        families: list[Metric] = []
        with self._pool.lease(tenant) as memory:
            families += store_families(memory)
        if tenant == self._pool.tenant:
            families += self.metrics.registry().collect()
        shown: bytes = encode(_Gathered(families))
        return shown


class _Gathered(CollectorRegistry):
    """A registry of what was gathered already, as the encoder wants one."""

    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        """Return it."""
        yield from self._families


def make_metrics_app(pool: EnginePool, metrics: ServerMetrics | None = None) -> MetricsApp:
    """Return the application for ``/metrics``; ``metrics`` are those that :func:`counting` counts with."""
    return MetricsApp(pool, metrics or ServerMetrics())


# What the store holds


def store_families(memory: Engine) -> Iterator[Metric]:
    """Count what a tenant's store holds."""
    counts = memory.stats()
    yield _gauge("memories", "Live memories by kind.", "kind", counts.memories_by_kind)
    yield _gauge("messages", "Messages kept.", None, {"": counts.messages})
    yield _gauge("sessions", "Conversations by status.", "status", counts.sessions)
    yield _gauge("jobs", "Background jobs by state.", "state", {state: counts.jobs.get(state, 0) for state in _STATES})
    yield _gauge("waiting_for_vectors", "Texts that wait for their vectors.", None, {"": counts.waiting_for_vectors})
    yield _gauge("store_bytes", "Size of the store on disk.", None, {"": counts.bytes})
    age = lag(memory, services(memory).clock.now())
    yield _gauge("digestion_lag_seconds", "Age of the oldest background work that waits.", None, {"": age})
    yield from _spend(memory)
    yield from _apps(memory)
    about = {"version": __version__, "preset": memory.preset.name}
    yield InfoMetricFamily(
        "holdfast", "What runs here.",
        value=about | {"embedder": services(memory).embedding.name or "none", "chat": services(memory).chat.name or "none"},
    )  # fmt: skip


def _spend(memory: Engine) -> Iterator[Metric]:
    """Return what models took, by purpose and model, since the store was made."""
    names = ("purpose", "model")
    dollars = CounterMetricFamily("holdfast_spend_dollars", "US dollars models have cost.", labels=names)
    calls = CounterMetricFamily("holdfast_model_calls", "Calls to models.", labels=names)
    tokens = CounterMetricFamily("holdfast_tokens", "Tokens models have read and written.", labels=(*names, "direction"))
    totals: dict[tuple[str, str], list[float]] = {}
    for each in memory.spend():
        row = totals.setdefault((each.purpose, each.model), [0.0] * 4)
        for place, number in enumerate((each.cost, each.calls, each.input_tokens, each.output_tokens)):
            row[place] += number
    for (purpose, model), (cost, made, read, written) in totals.items():
        dollars.add_metric([purpose, model], cost)
        calls.add_metric([purpose, model], made)
        tokens.add_metric([purpose, model, "input"], read)
        tokens.add_metric([purpose, model, "output"], written)
    yield from (dollars, calls, tokens)
    yield CounterMetricFamily(
        "holdfast_energy_units", "Energy that memory work has drawn.", value=services(memory).energy.consumed()
    )


def _apps(memory: Engine) -> Iterator[Metric]:
    """Return how memory has served apps over the last day."""
    day = memory.apps.metrics()
    told: dict[str, tuple[str, float | None]] = {
        "app_creations_per_hour": ("Memories that conversations with apps left, an hour.", day.creations_per_hour),
        "app_compactions_per_app_per_day": ("Compactions, an app and day.", day.compactions_per_app_per_day),
        "apps_with_memories_ratio": ("Part of the apps that have memories.", day.share_of_apps_with_memories),
        "conversations_with_memories_ratio": (
            "Part of the conversations with apps for which memories were given.", day.share_of_conversations_with_memories,
        ),
        "energy_share_ratio": ("Part of the host's energy that memory has drawn.", day.energy_share),
    }  # fmt: skip
    for name, (meaning, value) in told.items():
        if value is not None:
            yield _gauge(name, meaning, None, {"": value})


def _gauge(name: str, meaning: str, label: str | None, values: Mapping[str, Any]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"holdfast_{name}", meaning, labels=[label] if label else [])
    for name_of_label, value in values.items():
        family.add_metric([name_of_label] if label else [], value)
    return family
