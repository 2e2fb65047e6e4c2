"""Runs the server, either in this process or in several processes that share one socket and one store."""

import multiprocessing
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from holdfast.cli.serving.socket_sharing import Announcing, AnnouncingServer, ConnectionCounts, SharingServer
from holdfast.cli.stop_signals import stop_event
from holdfast.config.environment import share_metrics
from holdfast.config.loading import load_settings
from holdfast.config.models import make_transcriber
from holdfast.config.preloading import preload
from holdfast.config.settings import Settings
from holdfast.errors import SettingsError
from holdfast.mcp.http import make_mcp_app
from holdfast.runtime.heap import freeze_objects, limit_heaps
from holdfast.runtime.priority import lower_priority
from holdfast.runtime.private_folders import remove_abandoned_folders
from holdfast.runtime.regex import compile_all
from holdfast.server.app import Server, make_app
from holdfast.server.error_handlers import problem_for
from holdfast.server.metrics import make_metrics_app
from holdfast.server.middleware.logs import log_config
from holdfast.server.middleware.security import check_bind, principal_of
from holdfast.server.tenants import EnginePool, open_pool
from holdfast.version import __version__

_FINISH_SECONDS = 30
"""Maximum time for running requests to finish after a stop was requested, in seconds."""
_SWITCH_SECONDS = 0.0005
"""Time after which a thread that computes lets another one run, in seconds.

With Python's default of 5 ms, a request waits that long each time it needs the interpreter while a long text is tokenized. A
long text then made the 99th percentile of the response times four times as long. With this value, it was only twice as long.
"""
_RESTART_SECONDS = 1.0
_STARTING_SECONDS = 0.1
"""Time between two checks of whether a server process has started, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServePlan:
    """The store to serve, its settings, and the address to listen on. The plan is passed to the server processes."""

    store: str | None = None
    preset: str | None = None
    settings: str | None = None
    tenant: str | None = None
    chat: str | None = None
    embedder: str | None = None
    host: str = "127.0.0.1"
    debug: bool = False

    def load(self) -> Settings:
        """Return the settings from file and environment. The values of this plan take precedence."""
        named = {"store": self.store, "preset": self.preset, "tenant": self.tenant}
        return load_settings(self.settings, **named, chat=self.chat, embedder=self.embedder)

    def open(self) -> EnginePool:
        """Open a pool of engines, which has one engine per tenant."""
        return open_pool(
            self.store, preset=self.preset, settings=self.settings, tenant=self.tenant, chat=self.chat, embedder=self.embedder
        )


def with_host(plan: ServePlan, host: str) -> ServePlan:
    """Return a copy of the plan with another host."""
    return replace(plan, host=host)


def listen(host: str, port: int) -> socket.socket:
    """Bind the port and return the listening socket. Raise ``SettingsError`` if the address is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host.strip("[]"), port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise SettingsError(
            f"The server cannot listen on {host}, port {port}: {error.strerror}. Choose another port with --port N."
        ) from error
    sock.set_inheritable(True)
    return sock


def check(plan: ServePlan) -> None:
    """Check the plan before serving: open the store once, and refuse a public address if there are no access keys.

    Opening the store also migrates an old schema.
    """
    with plan.open() as pool:
        check_bind(plan.host, pool.gate.has_keys(), tenant=pool.tenant)


def serve_here(
    plan: ServePlan, sock: socket.socket, started: Announcing, shares: ConnectionCounts | None = None, place: int = 0
) -> None:
    """Serve in this process until a stop signal. Running requests are finished; queued jobs stay queued.

    ``started`` is set once the server answers requests. ``shares`` is given if several processes serve the same socket:
    new connections are then balanced between them. ``place`` is the number of this process among them.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    limit_heaps()
    app = build(plan)
    threading.Thread(target=_settle, name="holdfast-settle", daemon=True).start()
    config = uvicorn.Config(
        app,
        host=plan.host,
        log_config=log_config(debug=plan.debug, words=app.path_words),
        proxy_headers=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_FINISH_SECONDS,
    )
    server = AnnouncingServer(config, started) if shares is None else SharingServer(config, started, shares, place)
    with stop_event():  # uvicorn raises the signal again at the end, which would look like a crash
        server.run(sockets=[sock])


def _settle() -> None:
    """Do slow work before the first request: compile patterns, and exclude existing objects from garbage collection.

    Also remove the temporary files of imports whose process was killed.
    """
    lower_priority()
    compile_all()
    freeze_objects()
    remove_abandoned_folders()


def build(plan: ServePlan) -> Server:
    """Return the complete server for a plan."""
    settings = plan.load()
    pool = plan.open()
    preload(pool.operator)  # all engines of the pool share the models
    return make_app(
        pool,
        settings,
        host=plan.host,
        transcriber=make_transcriber(settings),
        mcp_app=_mcp(pool),
        metrics_app=make_metrics_app(pool),
        close_pool=True,
    )


def _mcp(pool: EnginePool) -> Any:
    """Return the application for ``/mcp``, or None if the MCP package is not installed."""
    if find_spec("mcp") is None:
        return None
    return make_mcp_app(pool, principal_of, problem_for, version=__version__)


def serve_many(plan: ServePlan, sock: socket.socket, announcing: Announcing, workers: int) -> None:
    """Serve in several processes. A process that dies is restarted. A stop signal to this process stops all of them.

    ``announcing`` is set once the first process answers requests.
    """
    spawn = multiprocessing.get_context("spawn")
    with TemporaryDirectory(prefix="holdfast-metrics-") as counters, stop_event() as end:
        share_metrics(Path(counters))
        # On Windows, asyncio cannot wait for a pending connection without accepting it.
        shares = None if sys.platform == "win32" else ConnectionCounts(workers, spawn)
        running: dict[int, BaseProcess] = {}
        started, announced = spawn.Event(), False
        while not end.is_set():
            for place in range(workers):
                if place in running and running[place].is_alive():
                    continue
                if shares is not None:
                    shares.leave(place)  # a killed process could not do this itself
                running[place] = spawn.Process(
                    target=_serve_as_worker, args=(plan, sock, started, shares, place), name="holdfast-serve"
                )
                running[place].start()
            if not announced:
                announced = _has_started(started, end)
                if announced:
                    announcing.set()
            else:
                end.wait(_RESTART_SECONDS)
        _end(list(running.values()))


def _serve_as_worker(
    plan: ServePlan, sock: socket.socket, started: Announcing, shares: ConnectionCounts | None, place: int
) -> None:
    """Serve in one of several processes, until a stop signal or until the main process has ended.

    If the process went on without the main process, the port would stay in use. The arguments are passed on to
    :func:`serve_here`.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def stop_with_parent() -> None:
        wait([parent.sentinel])
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=stop_with_parent, name="holdfast-parent", daemon=True).start()
    serve_here(plan, sock, started, shares, place)


def _has_started(started: Event, end: threading.Event) -> bool:
    """Wait until a server process has started, at most one second. Return True if one has started.

    Stop waiting when ``end`` is set, because the server is to stop.
    """
    until = time.monotonic() + _RESTART_SECONDS
    while not started.is_set() and time.monotonic() < until and not end.wait(_STARTING_SECONDS):
        pass
    return started.is_set()


def _end(running: Sequence[BaseProcess]) -> None:
    """Send SIGTERM to the server processes and wait until they have finished their requests.

    Kill processes that are still running after 35 seconds.
    """
    for process in running:
        process.terminate()
    until = time.monotonic() + _FINISH_SECONDS + 5
    for process in running:
        process.join(max(0.1, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
