"""Compares three servers: one whose chat model refuses connections, one whose model hangs, and one without a model.

Adds and recalls must take the same time in all three. Clients send requests to one server at a time, in turn, so that
other load on the machine affects all three. While a model hangs, digest jobs wait for it; the benchmark reports their
number. Then the hanging model is made to refuse connections, and the benchmark reports how long the waiting jobs take.
"""

import contextlib
import http.client
import json
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from holdfast_bench.server.load import ClientPool, Load, ask, client, drained, fill, milliseconds, server, together

_ROUNDS = 4
_ENDS_AFTER = 3
"""Number of messages per session. After that, the session ends and is digested, which calls the model."""
_MAX_WAIT = 300.0
"""Maximum time to wait for the job queues to empty, in seconds."""


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """Yield a port that refuses connections."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@contextlib.contextmanager
def hanging() -> Iterator[int]:
    """Yield a port that accepts connections and never responds."""
    connections: list[socket.socket] = []

    def accept_all(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                connections.append(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        threading.Thread(target=accept_all, args=(listener,), name="never answers", daemon=True).start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
            for connection in connections:
                connection.close()


def compare(
    *, clients: int, seconds: float, memories: int, options: Sequence[str] = (), max_wait: float = _MAX_WAIT
) -> dict[str, Any]:
    """Measure three servers under the same load.

    One server has no chat model. The model of the second refuses connections. The model of the third hangs.
    """
    with contextlib.ExitStack() as held, contextlib.ExitStack() as hung:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        model_ports = {"none": None, "refused": held.enter_context(refusing()), "hangs": hung.enter_context(hanging())}
        ports = {
            name: held.enter_context(_served(folder / name, model_port, options)) for name, model_port in model_ports.items()
        }
        for port in ports.values():
            fill(port, memories)
        loads = _in_turns(ports, clients=clients, seconds=seconds)
        lag = {name: _lag(port) for name, port in ports.items()}
        hung.close()  # from now on this model refuses too, so rules digest the waiting sessions
        waited = {name: drained(port, max_seconds=max_wait) for name, port in ports.items()}
    result: dict[str, Any] = {"clients": clients, "seconds_each": seconds}
    for name, load in loads.items():
        result[name] = {**_figures(load, loads["none"]), **lag[name], "drained_after_s": waited[name]}
    return result


@contextlib.contextmanager
def _served(folder: Path, model_port: int | None, options: Sequence[str]) -> Iterator[int]:
    """Run a server that is configured to call a model at a port. Yield the server's own port."""
    folder.mkdir()
    if model_port is not None:
        settings = folder / "settings.yaml"
        settings.write_text(json.dumps({"chat_url": f"http://127.0.0.1:{model_port}/v1"}), "utf-8")
        options = [*options, "--chat", "ollama:silent", "--settings", str(settings)]
    with server(folder, *options) as (port, _):
        yield port


def _in_turns(ports: dict[str, int], *, clients: int, seconds: float) -> dict[str, Load]:
    """Let the clients send requests to one server at a time, in turn, for several rounds. Return each server's measurements."""
    seen: dict[str, list[Load]] = {name: [] for name in ports}
    with ClientPool(clients) as pool:
        for port in ports.values():
            client(port, seconds=1, seed=1)  # warm up: load everything that is loaded on first use
        for _ in range(_ROUNDS):
            for name, port in ports.items():
                seen[name].append(pool.ask(port, seconds=seconds / _ROUNDS, ends_after=_ENDS_AFTER))
    return {name: together(loads) for name, loads in seen.items()}


def _figures(load: Load, baseline: Load) -> dict[str, Any]:
    """Return the latencies of one server, and their ratios to the latencies of the server without a model."""
    recall, add = milliseconds(load.recalls), milliseconds(load.adds)
    recall_baseline, add_baseline = milliseconds(baseline.recalls), milliseconds(baseline.adds)
    return {
        "errors": load.errors,
        "requests": len(load.recalls) + len(load.adds),
        "recall_p50_ms": recall,
        "add_p50_ms": add,
        "recall_ratio": round(recall / recall_baseline, 2) if recall and recall_baseline else None,
        "add_ratio": round(add / add_baseline, 2) if add and add_baseline else None,
    }


def _lag(port: int) -> dict[str, Any]:
    """Return the number of unfinished jobs, and the age of the oldest in seconds (the digestion lag)."""
    stats = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60), "GET", "/v1/stats")[1]
    return {"queued": stats["queue"]["queued"] + stats["queue"]["running"], "lag_s": round(stats["digestion_lag_seconds"], 1)}
