"""The server put together: routes, problems, documents, the dashboard, and the middleware around it all."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from holdfast.config.settings import Settings
from holdfast.models.transcribers import Transcriber
from holdfast.server.api.openapi import add_schemas
from holdfast.server.error_handlers import add_handlers
from holdfast.server.metrics import MetricsApp, counting, naming_routes
from holdfast.server.middleware.latency import Latency
from holdfast.server.middleware.security import App, Identify, Policy, Security
from holdfast.server.middleware.shutdown import ShutdownFlag
from holdfast.server.middleware.threads import recall_limiter, talk_limiter
from holdfast.server.routes import (  # fmt: skip
    apps,
    chat,
    design_paths,
    events,
    jobs,
    keys,
    memories,
    recall,
    sessions,
    stats,
    topics,
    users,
)
from holdfast.server.routes.events import ChangeFeed
from holdfast.server.tenants import EnginePool
from holdfast.version import __version__

_ROUTERS = (sessions, chat, memories, recall, topics, jobs, stats, users, keys, events, apps, design_paths)
DASHBOARD = Path(__file__).parent / "dashboard"
_ABOUT = "Persistent memory for AI assistants: conversations in, what matters out."


class Running(Protocol):
    """An application that has something to do while the server lasts."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve while this lasts."""
        ...


class Server:
    """The whole server, as an ASGI application; ``api`` is the FastAPI application inside."""

    def __init__(self, api: FastAPI, beside: Mapping[str, App], *, policy: Policy, identify: Identify) -> None:
        self.api = api
        self._beside = beside
        inside = naming_routes(self._inside, fixed=beside)
        around: App = Security(inside, policy=policy, identify=identify)
        counted = [app.metrics for app in beside.values() if isinstance(app, MetricsApp)]
        self._around = counting(around, counted[0]) if counted else around

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self._around(scope, receive, send)

    async def _inside(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand a request to the application of its path. A mount of the framework's would take more, or less, than that."""
        path = scope["path"] if scope["type"] == "http" else ""
        await self._beside.get(path.rstrip("/") or path, self.api)(scope, receive, send)


def make_app(
    pool: EnginePool,
    settings: Settings | None = None,
    *,
    host: str | None = None,
    transcriber: Transcriber | None = None,
    metrics_app: App | None = None,
    mcp_app: App | None = None,
    close_pool: bool = False,
) -> Server:
    """Return the server over a pool of engines; ``host`` is the address it really listens on.

    ``metrics_app`` and ``mcp_app`` are served at ``/metrics`` and ``/mcp``. With ``close_pool`` the pool is closed when
    the server ends.
    """
    chosen = settings or Settings()
    beside = {path: app for path, app in (("/metrics", metrics_app), ("/mcp", mcp_app)) if app is not None}
    running = [cast("Running", app).run for app in (metrics_app, mcp_app) if hasattr(app, "run")]
    api = make_api(pool, chosen, transcriber=transcriber, running=running, close_pool=close_pool)
    return Server(api, {**beside, **_dashboard()}, policy=Policy.of(chosen, host=host), identify=pool.identify)


def _dashboard() -> dict[str, App]:
    """Return what serves each file of the dashboard, by its path."""
    if not DASHBOARD.is_dir():
        return {}
    files = StaticFiles(directory=DASHBOARD, html=True)
    paths = [path.relative_to(DASHBOARD).as_posix() for path in DASHBOARD.rglob("*") if path.is_file()]
    return {"/": files, **{f"/{path}": files for path in paths}}


def make_api(
    pool: EnginePool,
    settings: Settings,
    *,
    transcriber: Transcriber | None = None,
    running: Sequence[Callable[[], AbstractAsyncContextManager[None]]] = (),
    close_pool: bool = False,
) -> FastAPI:
    """Return the routes alone; what is ``running`` beside them lasts as long as they do."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.talks, app.state.recalls = talk_limiter(), recall_limiter(pool.operator)
        app.state.stopping.listen()
        try:
            async with AsyncExitStack() as stack:
                for run in running:
                    await stack.enter_async_context(run())
                yield
        finally:
            app.state.stopping.restore()
            if close_pool:
                await run_in_threadpool(pool.close)

    api = FastAPI(
        title="Holdfast", version=__version__, description=_ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", redirect_slashes=False,
    )  # fmt: skip
    api.state.pool, api.state.settings, api.state.transcriber = pool, settings, transcriber
    api.state.latency, api.state.watch, api.state.stopping = Latency(), ChangeFeed(), ShutdownFlag()
    for each in _ROUTERS:
        api.include_router(each.router)
    add_handlers(api)
    _document(api)
    return api


def _document(api: FastAPI) -> None:
    """Have the OpenAPI made once, without what the framework adds of its own."""

    def document() -> dict[str, Any]:
        if api.openapi_schema is None:
            made = get_openapi(
                title=api.title, version=api.version, description=api.description, routes=api.routes, openapi_version="3.1.0"
            )
            for operations in made["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
            made["components"].setdefault("securitySchemes", {})["key"] = {"type": "http", "scheme": "bearer"}
            made["security"] = [{"key": []}, {}]
            for unused in ("HTTPValidationError", "ValidationError"):
                made["components"]["schemas"].pop(unused, None)
            add_schemas(made)
            api.openapi_schema = made
        return api.openapi_schema

    api.openapi = document  # type: ignore[method-assign]
