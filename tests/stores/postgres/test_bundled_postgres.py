"""The bundled PostgreSQL: probing it is harmless, and it stays usable after a crash."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

psutil = pytest.importorskip("psutil", reason="comes with the wheel that has PostgreSQL")

from holdfast.stores import bundled_postgres  # noqa: E402
from holdfast.stores.bundled_postgres import BundledServer, probe  # noqa: E402
from tests.stores.postgres.support import NAMED, Server, psycopg  # noqa: E402

pytestmark = [
    pytest.mark.ledger("X39"),
    pytest.mark.skipif(os.name == "nt", reason="processes are killed with signals"),
    pytest.mark.skipif(NAMED in os.environ, reason=f"{NAMED} names another server"),
]


@pytest.fixture
def own_server() -> Iterator[Server]:
    started = Server()
    yield started
    started.stop()


@pytest.mark.long
def test_the_probe_finds_a_pgvector_that_works_or_names_the_cause() -> None:
    found = probe()
    assert found.works or found.problem in (bundled_postgres.NO_SVE, bundled_postgres.NOT_INSTALLED)
    assert found.library is None or (Path(found.library) / "lib" / "vector.so").exists()


@pytest.mark.long
def test_a_statement_that_kills_its_server_process_is_reported_and_leaves_the_server_usable(own_server: Server) -> None:
    bundled = BundledServer(own_server.folder)  # a second handle on the same server
    assert not bundled_postgres._computes(bundled, "SELECT pg_terminate_backend(pg_backend_pid())")
    assert bundled_postgres._computes(bundled)


@pytest.mark.long
def test_a_crash_of_one_server_process_fails_no_later_test(own_server: Server) -> None:
    own_server.emptied()
    with psycopg.connect(own_server.url("postgres"), autocommit=True) as connection:
        os.kill(connection.info.backend_pid, signal.SIGKILL)
    with psycopg.connect(own_server.emptied()) as connection:
        assert connection.execute("SELECT count(*) FROM holdfast.memories").fetchone() == (0,)


@pytest.mark.long
def test_a_crash_of_the_whole_server_fails_no_later_test(own_server: Server) -> None:
    url = own_server.emptied()
    main = int((own_server.folder / "postmaster.pid").read_text().split()[0])
    psutil.Process(main).kill()  # its children notice and exit
    assert own_server.emptied() == url
    assert own_server.new() != url
