"""The resident process: holds a lock, listens, serves hooks and MCP clients, and ends when it is idle.

The lock ensures that only one resident process runs per configuration. A second process that starts at the same time
passes its requests on and ends. The log contains names of events and errors, never text of memories or messages.
"""

import json
import logging
import logging.handlers
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from holdfast.config import environment
from holdfast.errors import HoldfastError
from holdfast.resident.arguments import parse
from holdfast.resident.endpoint import (
    Endpoint,
    StoreOptions,
    connect,
    endpoint_for,
    listen,
    prepare_folder,
    prove_to_client,
    read_address,
    remove,
)
from holdfast.resident.wire import Wire
from holdfast.runtime.file_locks import lock_file
from holdfast.version import __version__

if TYPE_CHECKING:
    from holdfast.resident.serving import Serving

log = logging.getLogger("holdfast.resident")
_FORWARD_SECONDS: Final = 20.0
"""Maximum seconds in which a second process tries to pass its requests to the running process."""
_REQUEST_SECONDS: Final = 10.0
"""Maximum seconds in which a client must send its request."""
_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks of whether the process is idle or was replaced."""
_LOG_BYTES: Final = 256 * 1024


def main() -> None:
    """Become the resident process, and answer the requests that are read from standard input.

    If a resident process is already running, send the requests to that process and exit.
    """
    arguments = parse(sys.argv[1:])
    if arguments is None:
        sys.exit("usage: python -m holdfast.resident [--store PATH] [--preset NAME] [--settings FILE] [--tenant NAME]")
    environment.resolve_paths()
    options = arguments.options
    endpoint = endpoint_for(options)
    prepare_folder(endpoint)
    requests = [json.loads(line) for line in sys.stdin.buffer if line.strip()]
    until = time.monotonic() + _FORWARD_SECONDS
    while (lock := lock_file(endpoint.lock_file)) is None:
        requests = [request for request in requests if not _forward(endpoint, request)]
        if not requests or time.monotonic() > until:
            return
        time.sleep(0.05)
    with lock:
        _log_to(endpoint)
        Resident(endpoint, options).run(requests)


def _forward(endpoint: Endpoint, request: dict[str, Any]) -> bool:
    """Pass a request to the running process. Return True if that process has answered."""
    wire = connect(endpoint, timeout=_FORWARD_SECONDS)
    if wire is None:
        return False
    try:
        wire.send(request)
        return wire.receive() is not None
    except (OSError, ValueError):
        return False
    finally:
        wire.close()


class Resident:
    """The resident process. It listens for clients and serves each of them in its own thread."""

    def __init__(self, endpoint: Endpoint, options: StoreOptions) -> None:
        self._endpoint = endpoint
        self._options = options
        self._stop = threading.Event()
        self._serving: Serving | None = None
        self._connections: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._last_used = time.monotonic()

    def run(self, requests: list[dict[str, Any]]) -> None:
        """Carry out ``requests``, then listen for clients until the process is idle or told to stop.

        Also end if the address file is missing or names another process. If Holdfast raises an error, log it and end.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        server, secret = listen(self._endpoint)  # before the store is open, so that clients can connect and wait
        try:
            from holdfast.resident.serving import Serving  # noqa: PLC0415  (heavy)

            with Serving(self._options) as serving:
                self._serving = serving
                log.info("started, version %s", __version__)
                for request in requests:
                    serving.answer(request)
                self._last_used = time.monotonic()
                self._accept(server, secret, idle_seconds=serving.idle_seconds)
                self._close(server)
        except HoldfastError as error:
            log.warning("ended: %s", type(error).__name__)  # the message could contain text
        finally:
            self._close(server)

    def _accept(self, server: socket.socket, secret: str | None, *, idle_seconds: float) -> None:
        server.settimeout(min(_CHECK_SECONDS, idle_seconds))
        while not self._stop.is_set() and self._is_current():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                if not self._connections and time.monotonic() - self._last_used >= idle_seconds:
                    return
                continue
            connection.settimeout(_REQUEST_SECONDS)
            with self._guard:
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection, secret), name="holdfast-client", daemon=True).start()

    def _is_current(self) -> bool:
        """Return False if the address file is missing or names another process. Clients can then no longer find this process."""
        return (read_address(self._endpoint) or {}).get("pid") == os.getpid()

    def _serve(self, connection: socket.socket, secret: str | None) -> None:
        wire = Wire(connection)
        try:
            if secret is None or prove_to_client(wire, secret):
                self._converse(wire)
        except (OSError, ValueError) as error:
            log.info("a client left: %s", type(error).__name__)
        finally:
            with self._guard:
                self._connections.discard(connection)
            self._last_used = time.monotonic()
            with suppress(OSError):
                connection.close()

    def _converse(self, wire: Wire) -> None:
        """Answer the requests of one client. After the request ``mcp``, the connection belongs to the MCP server."""
        assert self._serving is not None
        while (request := wire.receive()) is not None:
            if request.get("op") == "stop":
                self._stop.set()
                wire.send({"ok": True})
                return
            if request.get("op") == "mcp":
                wire.send({"ok": True})
                wire.connection.settimeout(None)
                self._serving.serve_mcp(wire, request)
                return
            wire.send(self._serving.answer(request))

    def _close(self, server: socket.socket) -> None:
        """Stop listening and close all connections. The address file is removed first, so that clients start a new process."""
        if self._is_current():
            remove(self._endpoint.address_file)
        server.close()
        with self._guard:
            connections = list(self._connections)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _NoText(logging.Formatter):
    """Formats log records without their arguments, because these could contain text of memories.

    Records of the resident process itself are formatted with their arguments.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as one line."""
        message = record.getMessage() if record.name == log.name else str(record.msg)
        error = f" ({record.exc_info[0].__name__})" if record.exc_info and record.exc_info[0] else ""
        return f"{self.formatTime(record)} {record.levelname} {record.name}: {message}{error}"


def _log_to(endpoint: Endpoint) -> None:
    handler = logging.handlers.RotatingFileHandler(endpoint.log_file, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(_NoText())
    logger = logging.getLogger("holdfast")
    logger.addHandler(handler)
    logger.propagate = False
    log.setLevel(logging.INFO)
