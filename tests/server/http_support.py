"""Real servers for tests: one in a thread with a real socket, and the installed command as a subprocess."""

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from holdfast.access.keys import Principal
from holdfast.config.settings import Settings
from holdfast.models.transcribers import Transcriber
from holdfast.server.app import Server, make_app
from holdfast.server.tenants import EnginePool, open_pool
from holdfast.testing import HashEmbedder
from tests.cli.support import executable
from tests.places import Place


def client(url: str, **options: Any) -> httpx.Client:
    """Return a client for a server without TLS. It loads no certificates, because that takes longer than most requests."""
    return httpx.Client(base_url=url, verify=False, **{"timeout": 30, **options})


def get(url: str, **options: Any) -> httpx.Response:
    """Do the same as ``httpx.get``, without loading certificates."""
    return httpx.get(url, verify=False, **options)


def post(url: str, **options: Any) -> httpx.Response:
    """Do the same as ``httpx.post``, without loading certificates."""
    return httpx.post(url, verify=False, **options)


@dataclass
class Served:
    """A server in a thread of this process."""

    url: str
    pool: EnginePool
    server: Server
    client: httpx.Client
    _clients: list[httpx.Client] = field(default_factory=list)

    def key(self, level: Any = "write", **bound: Any) -> str:
        """Create an access key. From then on, requests without a key are rejected."""
        return self.pool.gate.create_key(level=level, **bound)[1]

    def as_(self, key: str | None) -> httpx.Client:
        """Return a client that sends an access key."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._clients.append(client(self.url, headers=headers))
        return self._clients[-1]

    @property
    def local(self) -> Principal:
        return Principal.local(self.pool.tenant)


@contextmanager
def serving(
    where: Path | Place, *, transcriber: Transcriber | None = None, settings: Settings | None = None, **options: Any
) -> Iterator[Served]:
    """Serve the store in a folder, or at a store URL, inside the ``with`` block."""
    place = where if isinstance(where, Place) else Place(kind="sqlite", folder=where)
    pool = open_pool(**place.opening(**{"embedder": HashEmbedder(), "worker": "none", **options}))
    server = make_app(pool, settings or Settings(), transcriber=transcriber)
    config = uvicorn.Config(
        server, port=0, log_config=None, proxy_headers=False, server_header=False, ws="none", timeout_graceful_shutdown=5
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not running.started:
        assert time.monotonic() < until, "the server did not start"
        assert thread.is_alive(), "the server ended at once"
        time.sleep(0.01)
    url = f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    with client(url) as without_key:
        served = Served(url=url, pool=pool, server=server, client=without_key)
        try:
            yield served
        finally:
            for each in served._clients:
                each.close()
            server.api.state.stopping.set()
            running.should_exit = True
            thread.join(60)
            pool.close()


@dataclass
class Process:
    """A ``holdfast serve`` subprocess."""

    popen: "subprocess.Popen[bytes]"
    url: str
    log: Path

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the process with a signal, and return its exit code."""
        self.popen.send_signal(number)
        return self.popen.wait(90)


@contextmanager
def process(home: Path, *args: str, **environment: str) -> Iterator[Process]:
    """Start the installed command and wait until it prints its address."""
    home.mkdir(parents=True, exist_ok=True)
    log = home / f"serve-{time.monotonic_ns()}.log"
    chosen = {**os.environ, "HOLDFAST_HOME": str(home), "HOLDFAST_MODELS": str(home / "models"), **environment}
    with log.open("wb") as errors:
        command = [executable(), "serve", "--port", "0", "--embedder", "none", *args]
        popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=chosen, cwd=home)
    try:
        assert popen.stdout is not None
        ready, _, _ = select.select([popen.stdout], [], [], 60)
        line = popen.stdout.readline().decode() if ready else ""
        assert line.startswith("Dashboard: "), f"{line!r}\n{log.read_text()}"
        url = line.removeprefix("Dashboard: ").strip().rstrip("/")
        wait_for(url)
        yield Process(popen=popen, url=url, log=log)
    finally:
        if popen.poll() is None:
            popen.kill()
            popen.wait()
        if popen.stdout is not None:
            popen.stdout.close()


def wait_for(url: str, seconds: float = 60) -> None:
    """Wait until a server responds."""
    until = time.monotonic() + seconds
    while True:
        try:
            get(f"{url}/health", timeout=5)
        except httpx.TransportError:
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.05)
        else:
            return


def eventually(check: Any, seconds: float = 60) -> Any:
    """Call a function until its result is true, and return the result."""
    until = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.05)
    return found
