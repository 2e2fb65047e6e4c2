"""A Chroma server that hangs delays one recall up to its time limit. Later recalls use the store's own vectors."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.services import services
from holdfast.stores.chroma.index import ChromaServer
from holdfast.stores.chroma.protocol import Build, IndexUnavailable
from holdfast.testing import HashEmbedder
from tests.stores.chroma.test_server import Server

pytest.importorskip("chromadb")

SERVER_TIMEOUT = 10.0
"""Time in seconds that a call of the Chroma server may take: much longer than a recall may wait."""


class Hung:
    """A proxy port in front of a server. It forwards data in both directions until ``hang`` is set."""

    def __init__(self, target: int) -> None:
        self.hang = threading.Event()
        self.connections = 0
        self._target = target
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                far = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [near, far]
                threading.Thread(target=self._pass, args=(near, far), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.hang.is_set():
                    return  # keep the connection open and say nothing
                target.sendall(data)


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def hung(chroma: Server) -> Iterator[Hung]:
    port = Hung(chroma.port)
    yield port
    port.close()


@pytest.fixture
def memory(open_memory: Callable[..., Engine], hung: Hung) -> Engine:
    memory = open_memory(embedder=HashEmbedder(), settings={"index": f"chroma:http://127.0.0.1:{hung.port}", "recall_timeout": 5})
    memory.remember("the parrot is called Basil", user="ana")
    memory.drain()
    assert memory.recall("parrot?", user="ana").notices == ()
    assert hung.connections
    services(memory).reader.recall_timeout = 0.3
    return memory


@pytest.mark.long
@pytest.mark.ledger("C8")
def test_a_server_that_hangs_costs_the_limit_once_and_the_stores_own_vectors_answer(memory: Engine, hung: Hung) -> None:
    hung.hang.set()
    started = time.monotonic()
    hits = memory.recall("what is the parrot called?", user="ana")
    assert time.monotonic() - started < SERVER_TIMEOUT / 2, "the recall waited for the server"
    assert hits[0].similarity is not None
    (notice,) = hits.notices
    assert notice == (
        f"Searched the store's own vectors, because the index cannot be used: Chroma at http://127.0.0.1:{hung.port} did not "
        "answer in time. A recall waits at most 0.3 s (setting recall_timeout)."
    )
    services(memory).reader.recall_timeout = 2 * SERVER_TIMEOUT  # a recall that waited for the server would take its timeout
    started = time.monotonic()
    assert memory.recall("parrot name?", user="ana").notices == hits.notices
    assert time.monotonic() - started < SERVER_TIMEOUT / 2, "the recall waited for the server"
    assert services(memory).reader.notices == list(hits.notices)


@pytest.mark.long
@pytest.mark.ledger("C8")
def test_opening_a_server_that_accepts_and_says_nothing_gives_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = ChromaServer(tmp_path / "memory.db", f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_seconds=0.5)
        started = time.monotonic()
        with pytest.raises(IndexUnavailable):
            place.open(Build(model=1, place=place.name, home=place.home, build="b", mark="m", next="", removed=0))
        assert time.monotonic() - started < 5
