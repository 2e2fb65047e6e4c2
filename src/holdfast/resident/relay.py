"""The ``holdfast mcp`` command: relay standard input and output to the MCP server in the resident process.

While the resident process starts, the handshake is answered here, because clients wait only a few seconds for it. If the
resident process cannot be used, the MCP server runs in this process. If the resident process ends before the client does, a
new resident process is started and the handshake is repeated. Requests that were not answered get an error, because it is
unknown whether they were carried out.
"""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final, Protocol

from holdfast.config import environment
from holdfast.errors import HoldfastError
from holdfast.resident.arguments import Arguments, parse
from holdfast.resident.endpoint import connect, endpoint_for
from holdfast.resident.launch import connect_or_start
from holdfast.resident.wire import Wire

_START_SECONDS: Final = 10.0
"""Maximum seconds to wait for a resident process that is starting."""
_OPEN_SECONDS: Final = 60.0
"""Maximum seconds to wait until the resident process has opened the store."""
_RETRY_SECONDS: Final = 0.2
_SETTINGS_FILES: Final = ("holdfast.toml", "holdfast.yaml", "holdfast.yml")
_RESTARTED: Final = {"code": -32603, "message": "The memory server was restarted. Check if the change was made, then call again."}


def main(words: list[str]) -> bool:
    """Parse the arguments, relay until the client closes the stream, and return True.

    Return False, without reading from the client, if the quick parser rejects the arguments, if an argument is not an option,
    or if :func:`run` returns False. The caller then runs the complete command line.
    """
    arguments = parse(words)
    if arguments is None or arguments.positional:
        return False
    if "env-file" in arguments.values:
        environment.load_file(arguments.values["env-file"])
    return run(arguments)


def run(arguments: Arguments) -> bool:
    """Relay until the client closes the stream, and return True.

    Return False, without reading from the client, if the MCP server must run in this process. For example, the current folder
    may have its own settings file, which the resident process does not read.
    """
    if find_spec("mcp") is None or sys.stdin.isatty():
        return False
    environment.resolve_paths()
    if "settings" not in arguments.values and any(os.path.exists(name) for name in _SETTINGS_FILES):  # noqa: PTH110
        return False  # the settings of this folder apply, and the resident process does not run here
    Relay(Backend(arguments)).run()
    return True


class Connector(Protocol):
    """Interface of an object that connects to an MCP server."""

    def connect_running(self) -> Wire | None:
        """Return a connection to a server that is already running, or None."""
        ...

    def connect(self) -> Wire:
        """Return a connection to a server, which is started if needed. Raise ``HoldfastError`` if that fails."""
        ...


class Backend:
    """Connects to an MCP server: the server in the resident process or, if that fails, a server in this process."""

    def __init__(self, arguments: Arguments) -> None:
        self._options = arguments.options
        self._endpoint = endpoint_for(self._options)
        self._request = {
            "op": "mcp",
            "scope": arguments.scope,
            "cwd": os.getcwd(),  # noqa: PTH109
        }

    def connect_running(self) -> Wire | None:
        """Return an MCP connection to a resident process that is already running, or None."""
        return self._opened(connect(self._endpoint, timeout=_OPEN_SECONDS))

    def connect(self) -> Wire:
        """Return an MCP connection to the resident process or, if that fails, to a server in this process.

        Raise ``HoldfastError`` if this process cannot open the store.
        """
        for _ in range(2):  # the first connection can be one to a process that is just ending
            wire = connect_or_start(self._options, self._endpoint, wait=_START_SECONDS, timeout=_OPEN_SECONDS)
            if wire is None:
                break
            if (opened := self._opened(wire)) is not None:
                return opened
            time.sleep(_RETRY_SECONDS)
        return self._serve_here()

    def _opened(self, wire: Wire | None) -> Wire | None:
        if wire is None:
            return None
        try:
            wire.send(self._request)
            answer = wire.receive()
        except (OSError, ValueError):
            answer = None
        if not answer or not answer.get("ok"):
            wire.close()
            return None
        wire.connection.settimeout(None)
        return wire

    def _serve_here(self) -> Wire:
        from holdfast.resident.serving import Serving  # noqa: PLC0415  (heavy)

        serving = Serving(self._options)
        client, server = socket.socketpair()

        def serve() -> None:
            with serving:
                serving.serve_mcp(Wire(server), self._request)
            server.close()

        threading.Thread(target=serve, name="holdfast-mcp").start()
        return Wire(client)


class Relay:
    """Passes lines between the client and the server. One thread reads from the client, the other from the server."""

    def __init__(self, backend: Connector, *, own_tools: bool = True) -> None:
        self._backend = backend
        self._own_tools = own_tools
        self._wire: Wire | None = backend.connect_running()
        self._connected = threading.Event()
        self._guard = threading.Lock()
        self._handshake: list[bytes] = []
        self._answered_here: set[str] = set()
        self._pending: dict[str, Any] = {}
        self._ended = False

    def run(self) -> None:
        """Relay until the client closes its end."""
        answers = threading.Thread(target=self._relay_answers, name="holdfast-answers", daemon=True)
        if self._wire is not None:
            self._connected.set()
        answers.start()
        for line in iter(sys.stdin.buffer.readline, b""):
            self._note_request(line)
            self._send(line)
        self._ended = True
        self._connected.wait()
        with self._guard:
            _end_writing(self._wire)
        answers.join(_OPEN_SECONDS)

    # From the client to the server

    def _note_request(self, line: bytes) -> None:
        message = _parsed(line)
        method, id = message.get("method"), json.dumps(message.get("id"))
        if method == "initialize":
            self._handshake = [line]
        elif method == "notifications/initialized":
            self._handshake.append(line)
        if method is not None and "id" in message:
            self._pending[id] = message["id"]
        if method == "initialize" and not self._connected.is_set():
            self._answer_here(message, id)

    def _answer_here(self, message: dict[str, Any], id: str) -> None:
        from holdfast.resident.handshake import initialize_result  # noqa: PLC0415  (only needed if nothing is running)

        params = message.get("params")
        self._answered_here.add(id)
        self._pending.pop(id, None)
        result = initialize_result(params if isinstance(params, dict) else {}, own_tools=self._own_tools)
        _write(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode())

    def _send(self, line: bytes) -> None:
        self._connected.wait()
        with self._guard:
            try:
                assert self._wire is not None
                self._wire.connection.sendall(line if line.endswith(b"\n") else line + b"\n")
            except OSError:
                return  # the other thread reconnects, and reports the request as unanswered

    # From the server to the client

    def _relay_answers(self) -> None:
        try:
            if self._wire is None:
                self._wire = self._backend.connect()
                self._connected.set()
            while True:
                for line in self._lines(self._wire):
                    self._pass_on(line)
                if self._ended:
                    return
                self._reconnect()
        except (HoldfastError, OSError) as error:
            _exit(f"error: {error}\n")
        except Exception:  # noqa: BLE001  (the edge: otherwise the client waits forever)
            import traceback  # noqa: PLC0415  (rarely needed)

            _exit(traceback.format_exc())

    def _pass_on(self, line: bytes) -> None:
        message = _parsed(line)
        if "method" not in message:
            id = json.dumps(message.get("id"))
            self._pending.pop(id, None)
            if id in self._answered_here:
                self._answered_here.discard(id)
                return
        _write(line)

    def _lines(self, wire: Wire) -> Iterator[bytes]:
        try:
            while (line := wire.receive_line()) is not None:
                yield line
        except (OSError, ValueError):
            return

    def _reconnect(self) -> None:
        """Connect to a new server and repeat the handshake. Unanswered requests get an error."""
        with self._guard:
            unanswered, self._pending = list(self._pending.values()), {}
            assert self._wire is not None
            self._wire.close()
            self._wire = self._backend.connect()
            for line in self._handshake:
                self._wire.connection.sendall(line)
                if "id" in _parsed(line):
                    self._wire.receive_line()
        for id in unanswered:
            _write(json.dumps({"jsonrpc": "2.0", "id": id, "error": _RESTARTED}).encode())


def _exit(problem: str) -> None:
    """Print a problem and end the process at once, because the main thread is blocked in a read."""
    sys.stderr.write(problem)
    sys.stderr.flush()
    os._exit(1)


def _end_writing(wire: Wire | None) -> None:
    if wire is None:
        return
    try:
        wire.connection.shutdown(socket.SHUT_WR)
    except OSError:
        wire.close()


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line, or an empty dict if the line contains none."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
