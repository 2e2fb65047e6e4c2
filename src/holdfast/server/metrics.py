"""Prometheus metrics at ``/metrics``.

Metrics of the store are computed at each request to ``/metrics``. They are the same in every worker process. Requests
and latencies are counted per process. If there are several worker processes, the processes share a folder of counters, and
each process reports the sums. ``holdfast.config.share_metrics`` sets this up, with the multiprocess mode of
prometheus_client. The label of a request is its route template, never an id.

Metrics of the server are visible only to administrators of the operator's tenant, which stores the access keys.
Administrators of another tenant see only the metrics of that tenant's store.
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
from holdfast.server.tenants import EnginePool
from holdfast.services import services
from holdfast.version import __version__

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STATES = ("queued", "running", "done", "dead")
OTHER = "other"
"""Label for requests that match no route."""
_ROUTE_KEY = "holdfast.route"


class ServerMetrics:
    """The request counters and latencies of this server process."""

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        self._requests = Counter(
            "holdfast_requests", "Requests by method, route and status.", ("method", "route", "status"), registry=self._own
        )
        self._recalls = Histogram("holdfast_recall_seconds", "Duration of recalls.", buckets=_SECONDS, registry=self._own)
        self._operations = Histogram(
            "holdfast_operation_seconds", "Duration of memory operations.", ("operation",), buckets=_SECONDS, registry=self._own
        )
        self.close = listen(self._note)

    def _note(self, operation: Operation, seconds: float) -> None:
        if operation == "recall":
            self._recalls.observe(seconds)
        else:
            self._operations.labels(operation).observe(seconds)

    def count(self, method: str, route: str, status: int) -> None:
        """Count a finished request."""
        self._requests.labels(method if method in _METHODS else "OTHER", route, str(status)).inc()

    def registry(self) -> CollectorRegistry:
        """Return the registry with the request counters.

        If the server has one process, these are the counters of this process. If the server has several processes, which
        share a metrics folder, the counters are sums over all processes.
        """
        folder = metrics_folder()
        if folder is None:
            return self._own
        shared = CollectorRegistry()
        MultiProcessCollector(shared, str(folder))  # type: ignore[no-untyped-call]
        return shared


def counting(app: App, metrics: ServerMetrics) -> App:
    """Wrap an application so that its requests are counted.

    This must be the outermost wrapper, so that rejected requests count, too.
    """

    async def counted(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status = 500
        routes: list[str] = []

        async def record_status(message: AsgiMessage) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app({**scope, _ROUTE_KEY: routes}, receive, record_status)
        finally:
            metrics.count(scope["method"], routes[-1] if routes else OTHER, status)

    return counted


def naming_routes(app: App, *, fixed: Container[str] = ()) -> App:
    """Wrap an application so that :func:`counting` learns the route of each request. This must be the innermost wrapper.

    ``fixed`` contains paths that are served without a FastAPI route. Their requests are labeled with the path itself.
    """

    async def named(scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            path = getattr(scope.get("route"), "path", None)
            if path is None and scope.get("path", "").rstrip("/") in fixed:
                path = scope["path"].rstrip("/")
            if isinstance(path, str):
                scope.get(_ROUTE_KEY, []).append(path or "/")

    return named


class MetricsApp:
    """The ASGI application for ``/metrics``."""

    def __init__(self, pool: EnginePool, metrics: ServerMetrics) -> None:
        self._pool = pool
        self.metrics = metrics

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Context manager that is open while the server runs. Leaving it closes the counters."""
        try:
            yield
        finally:
            self.metrics.close()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Return the metrics. Requires an admin key that is not bound to a user, app or agent."""
        if scope["method"] not in ("GET", "HEAD"):
            refused = problem_response(
                405, "invalid_input", "/metrics only supports GET and HEAD.", headers={"allow": "GET, HEAD"}
            )
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
        text: bytes = encode(_Gathered(families))
        return text


class _Gathered(CollectorRegistry):
    """A registry that returns a given list of metrics. It is needed because the Prometheus encoder accepts only registries."""

    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        """Return the collected metrics."""
        yield from self._families


def make_metrics_app(pool: EnginePool, metrics: ServerMetrics | None = None) -> MetricsApp:
    """Create the application for ``/metrics``. ``metrics`` are the counters that were passed to :func:`counting`."""
    return MetricsApp(pool, metrics or ServerMetrics())


# Store metrics


def store_families(memory: Engine) -> Iterator[Metric]:
    """Return the metrics of a tenant's store."""
    counts = memory.stats()
    yield _gauge("memories", "Live memories by kind.", "kind", counts.memories_by_kind)
    yield _gauge("messages", "Stored messages.", None, {"": counts.messages})
    yield _gauge("sessions", "Sessions by status.", "status", counts.sessions)
    yield _gauge("jobs", "Background jobs by state.", "state", {state: counts.jobs.get(state, 0) for state in _STATES})
    yield _gauge("waiting_for_vectors", "Texts without a vector.", None, {"": counts.waiting_for_vectors})
    yield _gauge("store_bytes", "Size of the store on disk in bytes.", None, {"": counts.bytes})
    yield _gauge(
        "waiting_for_model", "Queued jobs that wait until the chat model answers again.", None, {"": counts.waiting_for_model}
    )
    age = services(memory).jobs.lag().total_seconds()
    yield _gauge(
        "digestion_lag_seconds", "Age of the oldest job that is not done and does not wait for the model.", None, {"": age}
    )
    yield from _spend(memory)
    yield from _apps(memory)
    about = {"version": __version__, "preset": memory.preset.name}
    yield InfoMetricFamily(
        "holdfast",
        "Version, preset and models of the server.",
        value=about | {"embedder": services(memory).embedding.name or "none", "chat": services(memory).chat.name or "none"},
    )


def _spend(memory: Engine) -> Iterator[Metric]:
    """Return the usage and cost of models since the store was created, by purpose and model."""
    names = ("purpose", "model")
    dollars = CounterMetricFamily("holdfast_spend_dollars", "Cost of model calls in US dollars.", labels=names)
    calls = CounterMetricFamily("holdfast_model_calls", "Model calls.", labels=names)
    tokens = CounterMetricFamily("holdfast_tokens", "Tokens sent to and generated by models.", labels=(*names, "direction"))
    totals: dict[tuple[str, str], list[float]] = {}
    for spend in memory.spend():
        row = totals.setdefault((spend.purpose, spend.model), [0.0] * 4)
        for place, number in enumerate((spend.cost, spend.calls, spend.input_tokens, spend.output_tokens)):
            row[place] += number
    for (purpose, model), (cost, made, read, written) in totals.items():
        dollars.add_metric([purpose, model], cost)
        calls.add_metric([purpose, model], made)
        tokens.add_metric([purpose, model, "input"], read)
        tokens.add_metric([purpose, model, "output"], written)
    yield from (dollars, calls, tokens)
    yield CounterMetricFamily(
        "holdfast_energy_units", "Energy units used by memory work.", value=services(memory).energy.consumed()
    )


def _apps(memory: Engine) -> Iterator[Metric]:
    """Return the metrics of the last 24 hours for all apps together."""
    day = memory.apps.metrics()
    gauges: dict[str, tuple[str, float | None]] = {
        "app_creations_per_hour": ("Memories extracted from sessions with apps, per hour.", day.creations_per_hour),
        "app_compactions_per_app_per_day": ("Compactions per app and day.", day.compactions_per_app_per_day),
        "apps_with_memories_ratio": ("Fraction of apps with memories.", day.share_of_apps_with_memories),
        "conversations_with_memories_ratio": (
            "Fraction of sessions with apps that received memories.",
            day.share_of_conversations_with_memories,
        ),
        "energy_share_ratio": ("Fraction of the host's energy used by memory work.", day.energy_share),
    }
    for name, (meaning, value) in gauges.items():
        if value is not None:
            yield _gauge(name, meaning, None, {"": value})


def _gauge(name: str, meaning: str, label: str | None, values: Mapping[str, Any]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"holdfast_{name}", meaning, labels=[label] if label else [])
    for label_value, value in values.items():
        family.add_metric([label_value] if label else [], value)
    return family
