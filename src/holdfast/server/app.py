"""Assemble the server: routes, error handlers, OpenAPI document, dashboard and middleware."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from holdfast.access.oauth import OAuth, TokenVerifier
from holdfast.config.model_choice import roles_set_at_start
from holdfast.config.settings import Settings
from holdfast.errors import SettingsError
from holdfast.models.transcribers import Transcriber
from holdfast.server.api.document import describe
from holdfast.server.caller import Calling
from holdfast.server.encoded_slashes import accept_encoded_slashes, mark_slashes
from holdfast.server.error_handlers import add_handlers
from holdfast.server.metrics import MetricsApp, counting, naming_routes
from holdfast.server.middleware.lanes import Lanes
from holdfast.server.middleware.latency import Latency
from holdfast.server.middleware.logs import path_words
from holdfast.server.middleware.security import App, Identify, Policy, Security
from holdfast.server.middleware.shutdown import ShutdownFlag
from holdfast.server.middleware.threads import chat_limiter, computes_here, recall_limiter
from holdfast.server.routes import (
    apps,
    chat,
    design_paths,
    events,
    export,
    jobs,
    keys,
    memories,
    overview,
    proposals,
    recall,
    sessions,
    stats,
    topics,
    traces,
    users,
)
from holdfast.server.routes.admin import backups, bulk, imports, models, settings, setup
from holdfast.server.routes.events import ChangeFeed
from holdfast.server.static_files import StaticFiles
from holdfast.server.tenants import EnginePool
from holdfast.version import __version__

_ROUTERS = (
    sessions,
    chat,
    bulk,
    memories,
    proposals,
    recall,
    traces,
    topics,
    jobs,
    stats,
    users,
    overview,
    keys,
    events,
    apps,
    export,
    imports,
    backups,
    models,
    settings,
    setup,
    design_paths,
)
DASHBOARD = Path(__file__).parent / "dashboard"
_ABOUT = "Persistent memory for AI assistants: store conversations, recall what matters."


class Running(Protocol):
    """An application with its own startup and shutdown, such as ``/mcp``. It runs as long as the server."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Return an asynchronous context manager. The application runs inside its ``async with`` block."""
        ...


class Server:
    """The complete server as an ASGI application. ``api`` is the FastAPI application inside it."""

    def __init__(self, api: FastAPI, extra_apps: Mapping[str, App], *, policy: Policy, identify: Identify, lanes: Lanes) -> None:
        self.api = api
        self._extra_apps = extra_apps
        inside = naming_routes(self._inside, fixed=extra_apps)
        around: App = Security(inside, policy=policy, identify=identify, lanes=lanes)
        counted = [app.metrics for app in extra_apps.values() if isinstance(app, MetricsApp)]
        self._around = counting(around, counted[0]) if counted else around

    @property
    def path_words(self) -> set[str]:
        """The fixed parts of all paths. The log shows them, but masks other parts, because these may be names."""
        return path_words([*(getattr(route, "path", "") for route in self.api.routes), *self._extra_apps])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        await self._around(scope, receive, send)

    async def _inside(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request to the application that is registered for its exact path. If there is none, pass it to the API.

        A Starlette mount is not used, because a mount at ``/mcp`` would also match longer paths such as ``/mcp/other``.
        """
        path = scope["path"] if scope["type"] == "http" else ""
        app = self._extra_apps.get(path.rstrip("/") or path)
        if app is None and path:
            mark_slashes(scope)
        await (app or self.api)(scope, receive, send)


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
    """Create the server for a pool of engines. ``host`` is the address that the server listens on.

    ``metrics_app`` and ``mcp_app`` are served at ``/metrics`` and ``/mcp``. With ``close_pool``, the pool is closed when
    the server stops.
    """
    chosen = settings or Settings()
    extra_apps = {path: app for path, app in (("/metrics", metrics_app), ("/mcp", mcp_app)) if app is not None}
    oauth = _oauth(chosen)
    identify: Identify = pool.identify
    if oauth is not None:
        extra_apps |= {path: JSONResponse(dict(oauth.metadata)) for path in oauth.metadata_paths}
        identify = TokenVerifier(oauth, tenant=pool.tenant).identify(pool.identify)
    running = [cast("Running", app).run for app in (metrics_app, mcp_app) if hasattr(app, "run")]
    api = make_api(pool, chosen, transcriber=transcriber, running=running, close_pool=close_pool)
    return Server(
        api,
        {**extra_apps, **_dashboard()},
        policy=replace(Policy.of(chosen, host=host), challenge=oauth.challenge if oauth else "Bearer"),
        identify=identify,
        lanes=Lanes.of(computes=computes_here(pool.operator)),
    )


def _oauth(settings: Settings) -> OAuth | None:
    """Return the OAuth authorization server that the settings name, or None."""
    if settings.oauth_issuer is None:
        return None
    if settings.oauth_resource is None:
        raise SettingsError("oauth_issuer is set, but oauth_resource is not: the public URL of /mcp. The server was not started.")
    return OAuth(
        issuer=settings.oauth_issuer,
        resource=settings.oauth_resource,
        audience=settings.oauth_audience,
        user_claim=settings.oauth_user_claim,
        tenant_claim=settings.oauth_tenant_claim,
    )


def _dashboard() -> dict[str, App]:
    """Map the path of each dashboard file to the application that serves it."""
    files = StaticFiles(DASHBOARD)
    return dict.fromkeys(files.paths, files)


def make_api(
    pool: EnginePool,
    settings: Settings,
    *,
    transcriber: Transcriber | None = None,
    running: Sequence[Callable[[], AbstractAsyncContextManager[None]]] = (),
    close_pool: bool = False,
) -> FastAPI:
    """Create the FastAPI application.

    Each function in ``running`` returns a context manager, which is open while the server runs. With ``close_pool``, the pool
    is closed when the server stops.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.chats, app.state.recalls = chat_limiter(), recall_limiter(pool.operator)
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
        title="Holdfast",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    api.state.pool, api.state.settings, api.state.transcriber = pool, settings, transcriber
    api.state.set_at_start = roles_set_at_start(settings, pool.operator.preset)
    api.state.latency, api.state.feed, api.state.stopping = Latency(), ChangeFeed(), ShutdownFlag()
    for module in _ROUTERS:  # include_router would build each route again, which slows down the first request
        accept_encoded_slashes(module.router.routes)
        api.router.routes.extend(module.router.routes)
    add_handlers(api)
    describe(api, pool.operator.preset, max_batch=settings.max_batch)
    _serve_document(api)
    return api


def _serve_document(api: FastAPI) -> None:
    """Serve the OpenAPI document with the same access check as other routes. FastAPI's own route would need no access key."""

    @api.api_route("/openapi.json", methods=["GET", "HEAD"], include_in_schema=False)
    def openapi(caller: Calling) -> JSONResponse:
        """Return the OpenAPI document. It requires a key if other requests do."""
        caller.may("read")
        return JSONResponse(api.openapi())
