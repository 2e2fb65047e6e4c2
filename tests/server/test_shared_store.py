"""Several servers and workers, each in its own process, on one PostgreSQL database with several tenants."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.server.tenants import open_pool
from tests.cli.support import executable
from tests.places import Place
from tests.server.http_support import Process, client, eventually, get, process

pytestmark = [pytest.mark.everywhere("postgres"), pytest.mark.ledger("X9")]

TENANTS = ("north", "south", "west")


@contextlib.contextmanager
def worker(home: Path, place: Place, *args: str, one: bool = False) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a worker for all tenants, or for one tenant, inside the ``with`` block."""
    command = [executable(), "worker", *([] if one else ["--all-tenants"]), *place.arguments, *args]
    chosen = {**os.environ, "HOLDFAST_HOME": str(home), "HOLDFAST_EMBEDDER": "none"}
    with (home / f"worker-{len(list(home.glob('worker-*')))}.log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env=chosen, cwd=home)
    try:
        yield running
    finally:
        if running.poll() is None:
            running.kill()
            running.wait()


@pytest.fixture
def keys(place: Place) -> dict[str, str]:
    """One access key per tenant."""
    with open_pool(**place.opening(embedder="none", worker="none")) as pool:
        return {tenant: pool.gate.create_key(level="admin", tenant=tenant)[1] for tenant in TENANTS}


def _talk(servers: list[Process], tenant: str, key: str) -> None:
    """Add messages to ten sessions, alternating between the servers, and end the sessions."""
    header = {"Authorization": f"Bearer {key}"}
    for number in range(10):
        with client(servers[number % len(servers)].url, headers=header, timeout=60) as caller:
            said = {"role": "user", "text": f"I live in {tenant}town{number}.", "user": "ana", "id": f"c{number}"}
            assert caller.post(f"/v1/sessions/s{number}/messages", json=said).status_code == 201
            assert caller.post(f"/v1/sessions/s{number}/end", json={"user": "ana"}).status_code == 200


@pytest.mark.long
def test_two_servers_and_two_workers_serve_three_tenants_and_keep_them_apart(
    tmp_path: Path, place: Place, keys: dict[str, str]
) -> None:
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(process(tmp_path, *place.arguments, HOLDFAST_WORKER="none")) for _ in range(2)]
        workers = [stack.enter_context(worker(tmp_path, place)) for _ in range(2)]
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda tenant: _talk(servers, tenant, keys[tenant]), TENANTS))
        for tenant in TENANTS:
            header = {"Authorization": f"Bearer {keys[tenant]}"}

            def learnt(header: dict[str, str] = header) -> list[str] | None:
                jobs = get(f"{servers[0].url}/v1/jobs?limit=100", headers=header, timeout=30).json()["items"]
                if not jobs or any(job["state"] != "done" for job in jobs):
                    return None
                found = get(f"{servers[1].url}/v1/memories?user=ana&limit=100&retired=true", headers=header, timeout=30)
                shown = get(f"{servers[1].url}/v1/memories?user=ana&limit=100", headers=header, timeout=30)
                return [each["text"] for each in (*found.json()["items"], *shown.json()["items"])]

            texts = eventually(learnt, 60)
            for number in range(10):
                assert len([text for text in texts if f"{tenant}town{number}" in text.casefold()]) == 1, texts
            assert not [text for text in texts for other in TENANTS if other != tenant and f"{other}town" in text.casefold()]
        for running in workers:
            running.send_signal(signal.SIGTERM)
        assert [running.wait(60) for running in workers] == [0, 0]
        assert [server.stop() for server in servers] == [0, 0]


@pytest.mark.long
@pytest.mark.everywhere("sqlite", "postgres")
def test_a_worker_that_runs_once_works_for_every_tenant_with_a_key_and_says_so(
    tmp_path: Path, place: Place, keys: dict[str, str]
) -> None:
    for tenant in TENANTS:
        with open_pool(**place.opening(embedder="none", worker="none")) as pool, pool.lease(tenant) as memory:
            talk = memory.session(user="ana")
            talk.add("user", "I have two daughters.")
            talk.end()
    with worker(tmp_path, place, "--once") as running:
        assert running.wait(60) == 0
    said = (tmp_path / "worker-0.log").read_text()
    assert [tenant for tenant in TENANTS if f"{tenant}:" in said] == list(TENANTS)


@pytest.mark.long
def test_a_worker_of_one_tenant_is_notified_of_jobs_of_another_process_and_stops_on_request(tmp_path: Path, place: Place) -> None:
    with open_pool(**place.opening(embedder="none", worker="none")) as pool, worker(tmp_path, place, one=True) as running:
        memory = pool.operator
        talk = memory.session(user="ana")
        talk.add("user", "I have two daughters.")
        talk.end()
        eventually(lambda: memory.memories(user="ana"), 60)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    assert "working on postgresql://" in (tmp_path / "worker-0.log").read_text()
