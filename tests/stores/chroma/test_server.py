"""Chroma on a server: used by several processes, but not required for correct results."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.protocols import Store
from holdfast.testing.samples import OpenStore
from holdfast.testing.store_vectors import VectorPromises
from tests.stores.chroma.support import catch_up, fill, ids_in_chroma, nearest, open_store, opened, rows, searched_in_memory

pytestmark = pytest.mark.long

chromadb = pytest.importorskip("chromadb")

Run = Callable[[], str]
QUEUED = "SELECT count(*) FROM index_queue"


class Server:
    """A real Chroma server on a local port."""

    def __init__(self, folder: Path) -> None:
        with contextlib.closing(socket.socket()) as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def setting(self) -> str:
        return f"chroma:http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = Path(sys.executable).with_name("chroma")
        if not program.exists():
            pytest.skip("chromadb's own program is not installed beside this Python")
        self._process = subprocess.Popen(
            [str(program), "run", "--path", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            time.sleep(0.1)
        self.stop()
        pytest.skip("Chroma's server does not start here")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def collections(self) -> int:
        client = chromadb.HttpClient(host="127.0.0.1", port=self.port)
        try:
            return int(client.count_collections())
        finally:
            client.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "memory.db"


@pytest.mark.ledger("C8")
class TestServer(VectorPromises):
    @pytest.fixture
    def open_store(self, tmp_path: Path, server: Server) -> Iterator[OpenStore]:
        handles: list[Store] = []

        def open_one(*, tenant: str = "default", path: Path | None = None) -> Store:
            handles.append(open_store(path or tmp_path / "memory.db", index=server.setting, tenant=tenant))
            return handles[-1]

        yield open_one
        for handle in handles:
            handle.close()

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Store:
        return open_store()


OTHER = """
import sys
from pathlib import Path
from tests.stores.chroma.support import fill, nearest, opened, searched_in_memory
with opened(Path(sys.argv[1]), index=sys.argv[2]) as store:
    assert nearest(store, 5) == ["number 5"]
    fill(store, range(20, 30))
    assert nearest(store, 25) == ["number 25"]
    assert not searched_in_memory(store)
"""


@pytest.mark.long
@pytest.mark.ledger("C8")
def test_several_processes_search_and_write_at_once(file: Path, server: Server) -> None:
    with opened(file, index=server.setting) as store:
        fill(store, range(20))
        assert nearest(store, 3) == ["number 3"]
        subprocess.run([sys.executable, "-c", OTHER, str(file), server.setting], cwd=Path(__file__).parents[3], check=True)
        assert nearest(store, 25) == ["number 25"]
        assert not searched_in_memory(store)
        assert len(ids_in_chroma(store)) == 30


@pytest.mark.long
@pytest.mark.ledger("C8")
def test_an_erasure_waits_for_the_server_and_is_then_checked(file: Path, tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    server.start()
    try:
        with opened(file, index=server.setting) as store:
            fill(store, range(20))
            nearest(store, 3)
            (gone,) = [row[0] for row in rows(file, "SELECT item FROM memories WHERE id = 'mem_ana_7'")]
            server.stop()
            with store.write() as tx:
                tx.remove_memories(["mem_ana_7"])
            assert store.scrub([]) == (False, ())
            assert "number 7" not in nearest(store, 7, limit=50)
            server.start()
            assert store.scrub([]) == (True, ())
            assert gone not in ids_in_chroma(store)
            assert len(ids_in_chroma(store)) == 19
    finally:
        server.stop()


def test_without_the_server_everything_works_in_memory_and_catches_up_later(
    file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(tmp_path / "server")
    try:
        with opened(file, index=server.setting) as store:
            fill(store, range(20))
            assert nearest(store, 3) == ["number 3"]
            assert nearest(store, 4) == ["number 4"]
            assert [record.getMessage() for record in caplog.records if "Searches run in memory" in record.getMessage()]
            assert rows(file, QUEUED) == [(20,)]
            server.start()
            store._indexes.clear()
            assert nearest(store, 5) == ["number 5"]
            assert not searched_in_memory(store)
            assert rows(file, QUEUED) == [(0,)]
    finally:
        server.stop()


def test_a_copy_of_the_store_has_a_collection_of_its_own(file: Path, server: Server, tmp_path: Path) -> None:
    with opened(file, index=server.setting) as store:
        fill(store, range(20))
        nearest(store, 3)
        store.backup(tmp_path / "copy.db")
        with opened(tmp_path / "copy.db", index=server.setting) as copy:
            fill(copy, range(20, 25))
            assert nearest(copy, 22) == ["number 22"]
            assert len(ids_in_chroma(copy)) == 25
        assert len(ids_in_chroma(store)) == 20
        assert nearest(store, 7) == ["number 7"]


def test_a_rebuild_replaces_the_collection(file: Path, server: Server) -> None:
    with opened(file, index=server.setting) as store:
        fill(store, range(20))
        nearest(store, 3)
        before = server.collections()
        assert store.rebuild_index() == 20
        assert server.collections() == before
        catch_up(store)
        assert len(ids_in_chroma(store)) == 20
