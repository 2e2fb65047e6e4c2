"""A chat model that is gone, or that hangs, beside none: adds and recalls must take as long as before.

One server for each, asked in turns, so that what else the machine does falls on all of them alike. While a model hangs,
what is to be learnt waits for it; how much does is told, and how long it takes once the model has ended.
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

from holdfast_bench.server.load import Crowd, Load, ask, client, drained, fill, milliseconds, server, together

_ROUNDS = 4
_ENDS_AFTER = 3
"""Messages of a conversation; then it is learnt from, which is where the model is asked."""
_PATIENCE = 300.0


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """Hold a port at which nobody listens, while this lasts."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@contextlib.contextmanager
def hanging() -> Iterator[int]:
    """Serve at a port where everybody is let in and nobody is answered, while this lasts."""
    guests: list[socket.socket] = []

    def let_in(door: socket.socket) -> None:
        with contextlib.suppress(OSError):  # closed: it is over
            while True:
                guests.append(door.accept()[0])

    with socket.create_server(("127.0.0.1", 0), backlog=128) as door:
        threading.Thread(target=let_in, args=(door,), name="never answers", daemon=True).start()
        try:
            yield int(door.getsockname()[1])
        finally:
            with contextlib.suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)  # wakes the one who waits at the door
            for guest in guests:
                guest.close()


def compare(
    *, clients: int, seconds: float, memories: int, options: Sequence[str] = (), patience: float = _PATIENCE
) -> dict[str, Any]:
    """Measure a server with no model, one whose model is gone and one whose model hangs; all have the same load."""
    with contextlib.ExitStack() as held, contextlib.ExitStack() as hung:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        doors = {"none": None, "refused": held.enter_context(refusing()), "hangs": hung.enter_context(hanging())}
        ports = {name: held.enter_context(_served(folder / name, door, options)) for name, door in doors.items()}
        for port in ports.values():
            fill(port, memories)
        loads = _in_turns(ports, clients=clients, seconds=seconds)
        lag = {name: _lag(port) for name, port in ports.items()}
        hung.close()  # from now on that model refuses as well: what waited for it is learnt by rules
        waited = {name: drained(port, most=patience) for name, port in ports.items()}
    result: dict[str, Any] = {"clients": clients, "seconds_each": seconds}
    for name, load in loads.items():
        result[name] = {**_figures(load, loads["none"]), **lag[name], "drained_after_s": waited[name]}
    return result


@contextlib.contextmanager
def _served(folder: Path, door: int | None, options: Sequence[str]) -> Iterator[int]:
    """Run a server that is told to ask a model behind a door."""
    folder.mkdir()
    if door is not None:
        settings = folder / "settings.yaml"
        settings.write_text(json.dumps({"chat_url": f"http://127.0.0.1:{door}/v1"}), "utf-8")
        options = [*options, "--chat", "ollama:silent", "--settings", str(settings)]
    with server(folder, *options) as (port, _):
        yield port


def _in_turns(ports: dict[str, int], *, clients: int, seconds: float) -> dict[str, Load]:
    """Let the clients ask each server for a while, again and again."""
    seen: dict[str, list[Load]] = {name: [] for name in ports}
    with Crowd(clients) as crowd:
        for port in ports.values():
            client(port, seconds=1, seed=1)  # what is loaded when it is first needed counts for none of them
        for _ in range(_ROUNDS):
            for name, port in ports.items():
                seen[name].append(crowd.ask(port, seconds=seconds / _ROUNDS, ends_after=_ENDS_AFTER))
    return {name: together(loads) for name, loads in seen.items()}


def _figures(load: Load, beside: Load) -> dict[str, Any]:
    """Return what one server's clients saw, and how much slower it was than with no model."""
    recall, add = milliseconds(load.recalls), milliseconds(load.adds)
    recall_beside, add_beside = milliseconds(beside.recalls), milliseconds(beside.adds)
    return {
        "errors": load.errors,
        "requests": len(load.recalls) + len(load.adds),
        "recall_p50_ms": recall,
        "add_p50_ms": add,
        "recall_ratio": round(recall / recall_beside, 2) if recall and recall_beside else None,
        "add_ratio": round(add / add_beside, 2) if add and add_beside else None,
    }


def _lag(port: int) -> dict[str, Any]:
    """Return how much waits to be learnt, and for how long it has."""
    stats = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60), "GET", "/v1/stats")[1]
    return {"queued": stats["queue"]["queued"] + stats["queue"]["running"], "lag_s": round(stats["digestion_lag_seconds"], 1)}
