"""Stores behind PgBouncer in transaction mode, where each transaction may use a different server connection."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import InvalidInput
from holdfast.protocols import MemoryFilter, Unreachable
from holdfast.stores.copying.postgres_side import PostgresSide
from holdfast.stores.postgres import PostgresStore
from holdfast.testing import FrozenClock, HashEmbedder
from holdfast.testing.samples import a_job, a_memory, remember
from holdfast.types import Scope
from tests.stores.postgres.support import OpenPostgres, Run, Server, as_owner, psycopg, server, url

__all__ = ["as_owner", "server", "url"]

_PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
pytestmark = [
    pytest.mark.ledger("X9"),
    pytest.mark.skipif(_PROGRAM is None, reason="PgBouncer is not installed (Debian: apt-get install pgbouncer)"),
    pytest.mark.skipif(os.name == "nt", reason="PgBouncer needs Unix sockets here"),
]
_SECRET = "the pangolin sleeps under the third lantern"


@contextlib.contextmanager
def _bouncer(folder: Path, host: str, user: str | None) -> Iterator[int]:
    """Run PgBouncer with two server connections per database, and yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={host} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        "unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\nserver_connect_timeout = 5\nserver_login_retry = 1\nquery_wait_timeout = 20\nmax_client_conn = 100\n",
        "utf-8",
    )
    for path in (folder, *folder.parents[:3]):
        path.chmod(0o755)
    settings.chmod(0o644)
    user = user or ("nobody" if os.getuid() == 0 else None)  # it refuses to run as root
    assert _PROGRAM is not None
    process = subprocess.Popen(
        [_PROGRAM, str(settings)], user=user, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="module")
def port(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    host = psycopg.conninfo.conninfo_to_dict(server.url("postgres")).get("host")
    with _bouncer(tmp_path_factory.mktemp("pgbouncer"), str(host), server.system_user) as found:
        yield found


@pytest.fixture
def pooled(url: str, port: int) -> str:
    """The address of the database through PgBouncer."""
    return f"postgresql://postgres@127.0.0.1:{port}/{psycopg.conninfo.conninfo_to_dict(url)['dbname']}"


@pytest.fixture
def open_pooled(pooled: str, url: str) -> Iterator[OpenPostgres]:
    """Yield a function that opens a store through PgBouncer. The store also gets the server's direct address."""
    opened: list[PostgresStore] = []

    def open_one(*, tenant: str = "default", **more: Any) -> PostgresStore:
        opened.append(PostgresStore(pooled, tenant=tenant, **{"direct": url, **more}))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.mark.long
def test_an_engine_works_through_the_pooler(pooled: str, url: str, clock: FrozenClock) -> None:
    settings = {"store_direct": url, "scrub_interval": 0}
    with holdfast.open(pooled, embedder=HashEmbedder(), worker="none", clock=clock, settings=settings) as memory:
        for number in range(8):  # psycopg prepares a statement when it runs it the sixth time
            memory.remember(f"Ana likes tea number {number}", user="ana")
            assert memory.recall("which tea does Ana like?", user="ana")
        with memory.session(user="ana") as talk:
            talk.add("user", "My sister Lucia lives in Porto.")
        memory.drain()
        assert any("Porto" in hit.text for hit in memory.recall("where does Lucia live?", user="ana"))
        assert all(finding.ok for finding in memory.doctor() if finding.check in ("pooler", "row level security", "full text"))
        receipt = memory.erase(user="ana")
        assert (receipt.status, receipt.verified) == ("erased", True)
        assert memory.memories(user="ana") == []


def test_tenants_that_share_server_connections_never_see_each_others_rows(open_pooled: OpenPostgres) -> None:
    names = [f"tenant {number}' OR true --" for number in range(4)]
    stores = {name: open_pooled(tenant=name) for name in names}
    wrong: list[object] = []

    def work(name: str) -> None:
        store, scope = stores[name], Scope(tenant=name, user="ana")
        for number in range(10):
            remember(store, a_memory(f"{name} {number}", scope=scope))
            found = store.guard(lambda: store.connection.execute("SELECT tenant FROM memories").fetchall())
            wrong.extend(row for row in found if row[0] != name)
            with store.snapshot():
                wrong.extend(memory for memory in store.memories(MemoryFilter()) if not memory.text.startswith(name))

    threads = [threading.Thread(target=work, args=(name,)) for name in names for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [store.count_memories(MemoryFilter()) for store in stores.values()] == [20] * 4


def test_no_session_state_stays_on_the_server_connections(open_pooled: OpenPostgres, pooled: str) -> None:
    store = open_pooled()
    remember(store, a_memory("one"))
    with contextlib.suppress(ZeroDivisionError), store.write() as tx:
        tx.user("ana")
        raise ZeroDivisionError
    state = (
        "SELECT current_setting('search_path'), coalesce(current_setting('holdfast.tenant', true), ''), current_user::text, "
        "current_setting('statement_timeout'), (SELECT count(*) FROM pg_prepared_statements), "
        "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"
    )
    with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as client:
        for _ in range(6):
            assert client.execute(state).fetchone() == ('"$user", public', "", "postgres", "0", 0, 0)


def test_workers_are_notified_of_jobs_over_the_direct_address_and_otherwise_poll(open_pooled: OpenPostgres) -> None:
    store, polling = open_pooled(), open_pooled(direct=None)
    store.wait_for_jobs(0)
    with polling.write() as tx:
        tx.add_job(a_job("x"))
    assert store.wait_for_jobs(5)
    started = time.monotonic()
    assert polling.wait_for_jobs(0.2) is False
    assert time.monotonic() - started >= 0.2


def test_without_a_direct_address_erased_bytes_wait_and_the_check_says_so(open_pooled: OpenPostgres) -> None:
    store = open_pooled(direct=None)
    (gone,) = remember(store, a_memory(_SECRET))
    with store.write() as tx:
        tx.remove_memories([gone.id])
    complete, left = store.scrub([_SECRET.encode()])
    assert not complete
    assert "store_direct" in left[0]
    assert isinstance(left[0], Unreachable)
    assert not store.tidy()
    (finding,) = [finding for finding in store.check(deep=False) if finding.check == "pooler"]
    assert not finding.ok
    assert open_pooled().scrub([_SECRET.encode()]) == (True, ())


def test_a_direct_address_of_another_database_is_refused(open_pooled: OpenPostgres, pooled: str, server: Server) -> None:
    with pytest.raises(InvalidInput, match="pooler"):
        open_pooled(direct=pooled)
    with pytest.raises(InvalidInput, match="another database"):
        open_pooled(direct=server.url("postgres"))


def test_an_empty_database_is_set_up_through_the_pooler(server: Server, port: int, as_owner: Run) -> None:
    made = server.new(empty=True)
    address = f"postgresql://postgres@127.0.0.1:{port}/{psycopg.conninfo.conninfo_to_dict(made)['dbname']}"
    try:
        store = PostgresStore(address, direct=made)
        try:
            remember(store, a_memory("one"))
            assert all(finding.ok for finding in store.check())
        finally:
            store.close()
    finally:
        server.drop(made)


def test_a_copy_refuses_the_pooler(pooled: str) -> None:
    with pytest.raises(InvalidInput, match="not of a pooler"):
        PostgresSide(pooled)
