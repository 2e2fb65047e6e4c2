"""Prometheus metrics: store and request counts, for administrators only, without ids in labels."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
parser = pytest.importorskip("prometheus_client.parser")

from holdfast.chat import Reply, Usage  # noqa: E402  (after it is known that the extra is there)
from holdfast.server.app import Server, make_app  # noqa: E402
from holdfast.server.metrics import make_metrics_app  # noqa: E402
from holdfast.server.tenants import EnginePool, open_pool  # noqa: E402
from holdfast.services import services  # noqa: E402
from holdfast.testing import HashEmbedder, ScriptedChat  # noqa: E402

Samples = dict[tuple[str, ...], float]


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[EnginePool]:
    with open_pool(tmp_path / "memory.db", preset="apps", embedder=HashEmbedder(), worker="none") as pool:
        yield pool


@pytest.fixture
def server(pool: EnginePool) -> Iterator[Server]:
    app = make_metrics_app(pool)
    yield make_app(pool, metrics_app=app)
    app.metrics.close()


def ask(server: Server, *requests: tuple[str, str], key: str | None = None, **headers: str) -> Any:
    """Send requests one after another over loopback, and return the last response."""
    if key:
        headers["authorization"] = f"Bearer {key}"

    async def asked() -> Any:
        transport = httpx.ASGITransport(server, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321", headers=headers) as client:
            for method, path in requests:
                answer = await client.request(method, path)
            return answer

    return asyncio.run(asked())


def scraped(server: Server, *before: tuple[str, str], key: str | None = None) -> Samples:
    """Send the requests ``before``, then read ``/metrics``. Return each sample's value by its name and label values."""
    answer = ask(server, *before, ("GET", "/metrics"), key=key)
    assert answer.status_code == 200, answer.text
    found: Samples = {}
    for family in parser.text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found[sample.name, *(sample.labels[name] for name in sorted(sample.labels))] = sample.value
    return found


def test_the_content_of_the_store_is_counted(server: Server, pool: EnginePool) -> None:
    memory = pool.operator
    memory.remember("salt is out", app="kitchen")
    talk = memory.session(app="kitchen")
    talk.add("user", "What is missing?")
    talk.end()
    samples = scraped(server)
    assert samples["holdfast_memories", "memory"] == 1
    assert samples["holdfast_messages",] == 1
    assert samples["holdfast_sessions", "ended"] == 1
    assert samples["holdfast_jobs", "queued"] == 1
    assert samples["holdfast_jobs", "dead"] == 0
    assert samples["holdfast_digestion_lag_seconds",] >= 0
    assert samples["holdfast_store_bytes",] > 0
    memory.drain()
    assert scraped(server)["holdfast_jobs", "queued"] == 0


@pytest.mark.ledger("A10")
def test_the_designs_five_metrics_are_there(server: Server, pool: EnginePool) -> None:
    memory = pool.operator
    for app, text in [("kitchen", "The salt is out and we decided to buy more salt on Monday."), ("garden", "hm")]:
        memory.apps.install(app)
        talk = memory.session(app=app)
        talk.add("user", text)
        talk.add("assistant", "Noted.")
        talk.context()
        talk.end()
        memory.drain()
    again = memory.session(app="kitchen")
    again.add("user", "What did we decide about salt?")
    again.context()
    samples, told = scraped(server), memory.apps.metrics()
    assert told.creations > 0
    assert samples["holdfast_app_creations_per_hour",] == pytest.approx(told.creations_per_hour, rel=0.01)
    assert samples["holdfast_app_compactions_per_app_per_day",] == told.compactions_per_app_per_day
    assert samples["holdfast_apps_with_memories_ratio",] == told.share_of_apps_with_memories > 0
    assert samples["holdfast_conversations_with_memories_ratio",] == told.share_of_conversations_with_memories > 0
    assert samples["holdfast_energy_units_total",] == pytest.approx(services(memory).energy.consumed())
    assert samples["holdfast_energy_units_total",] > 0


@pytest.mark.ledger("A10")
def test_compactions_are_counted(server: Server, pool: EnginePool) -> None:
    memory = pool.operator
    for number in range(12):
        talk = memory.session(app="kitchen")
        talk.add("user", f"We decided that shelf number {number} is for jar number {number} and nothing else.")
        talk.end()
        memory.drain()
    assert scraped(server)["holdfast_app_compactions_per_app_per_day",] == 2


def test_recalls_and_other_operations_are_timed(server: Server, pool: EnginePool) -> None:
    pool.operator.remember("salt is out", app="kitchen")
    pool.operator.recall("salt", app="kitchen")
    pool.operator.recall("salt", app="kitchen")
    samples = scraped(server)
    assert samples["holdfast_recall_seconds_count",] == samples["holdfast_recall_seconds_bucket", "+Inf"] == 2
    assert samples["holdfast_recall_seconds_sum",] > 0
    assert samples["holdfast_operation_seconds_count", "remember"] == 1


def test_spend_and_tokens_are_counted_by_purpose_and_model(tmp_path: Path) -> None:
    usage = Usage(calls=1, input_tokens=120, output_tokens=30, seconds=0.5, cost=0.002)
    answer = '{"paragraph": "Ana keeps bees in the garden.", "importance": 5, "tags": ["bees"]}'
    chat = ScriptedChat(Reply(text=answer, usage=usage))
    with open_pool(tmp_path / "m.db", preset="apps", embedder="none", chat=chat, worker="none") as pool:
        talk = pool.operator.session(app="garden")
        talk.add("user", "Ana keeps bees in the garden.")
        talk.end()
        pool.operator.drain()
        app = make_metrics_app(pool)
        samples = scraped(make_app(pool, metrics_app=app))
        app.metrics.close()
        spent = pool.operator.spend()
    assert sum(each.input_tokens for each in spent) > 0
    by_model = {name: value for name, value in samples.items() if name[0] == "holdfast_tokens_total"}
    assert sum(by_model.values()) == sum(each.input_tokens + each.output_tokens for each in spent)
    costs = [value for name, value in samples.items() if name[0] == "holdfast_spend_dollars_total"]
    assert sum(costs) == pytest.approx(0.002)
    assert all(name[2] for name in by_model)


def test_requests_are_counted_by_the_template_of_their_route(server: Server) -> None:
    visits = [
        ("GET", "/v1/memories/mem_secret"),
        ("GET", "/v1/memories/mem_other"),
        ("GET", "/health"),
        ("GET", "/metrics"),
        ("BREW", "/v1/memories"),
        ("GET", "/v1/nothing/of/mem_secret"),
    ]
    samples = scraped(server, *visits)
    counted = {name[1:]: value for name, value in samples.items() if name[0] == "holdfast_requests_total"}
    assert counted["GET", "/v1/memories/{id}", "404"] == 2
    assert counted["GET", "/health", "200"] == 1
    assert counted["GET", "/metrics", "200"] == 1
    assert not any("secret" in part for name in counted for part in name)
    assert {name[0] for name in counted} == {"GET", "OTHER"}


def test_a_request_refused_before_routing_is_counted(server: Server) -> None:
    ask(server, ("GET", "/health"), host="evil.example")
    samples = scraped(server)
    assert [value for name, value in samples.items() if name[:3] == ("holdfast_requests_total", "GET", "other")] == [1]


@pytest.mark.ledger("X8")
def test_metrics_need_an_unbound_admin_key(server: Server, pool: EnginePool) -> None:
    admin = pool.gate.create_key(level="admin")[1]
    assert ask(server, ("GET", "/metrics")).status_code == 401
    refused: list[dict[str, Any]] = [{"level": "read"}, {"level": "write"}, {"level": "admin", "user": "ana"}]
    for bound in refused:
        key = pool.gate.create_key(**bound)[1]
        answer = ask(server, ("GET", "/metrics"), key=key)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert ("holdfast_messages",) in scraped(server, key=admin)


@pytest.mark.ledger("X8")
def test_another_tenants_administrator_sees_its_own_store_and_nothing_of_the_server(server: Server, pool: EnginePool) -> None:
    pool.gate.create_key(level="admin")
    key = pool.gate.create_key(level="admin", tenant="other")[1]
    pool.operator.remember("salt is out", app="kitchen")
    with pool.lease("other") as other:
        other.remember("one")
        other.remember("two")
    samples = scraped(server, key=key)
    assert samples["holdfast_memories", "memory"] == 2
    assert not [name for name in samples if name[0].startswith(("holdfast_requests", "holdfast_recall"))]


def test_other_methods_are_refused(server: Server) -> None:
    assert ask(server, ("POST", "/metrics")).status_code == 405
    assert ask(server, ("HEAD", "/metrics")).content == b""


def test_a_scraper_that_asks_for_openmetrics_gets_it(server: Server) -> None:
    answer = ask(server, ("GET", "/metrics"), accept="application/openmetrics-text; version=1.0.0")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


WORKERS = """
import multiprocessing, sys
from pathlib import Path
from typing import Any
from holdfast.config.environment import share_metrics

def work(number):
    from holdfast.server.metrics import ServerMetrics
    metrics = ServerMetrics()
    for _ in range(number):
        metrics.count("GET", "/v1/recall", 200)
        metrics._note("recall", 0.01)

def look():
    from prometheus_client import generate_latest
    from holdfast.server.metrics import ServerMetrics
    print(generate_latest(ServerMetrics().registry()).decode())

if __name__ == "__main__":
    share_metrics(Path(sys.argv[1]))
    spawn = multiprocessing.get_context("spawn")
    for target, args in ((work, (2,)), (work, (3,)), (look, ())):
        process = spawn.Process(target=target, args=args)
        process.start()
        process.join()
"""


@pytest.mark.long
def test_worker_processes_count_together(tmp_path: Path) -> None:
    script, counters = tmp_path / "workers.py", tmp_path / "counters"
    script.write_text(WORKERS, "utf-8")
    counters.mkdir()
    done = subprocess.run([sys.executable, script, counters], capture_output=True, text=True, check=True, timeout=120)
    assert 'holdfast_requests_total{method="GET",route="/v1/recall",status="200"} 5.0' in done.stdout
    assert "holdfast_recall_seconds_count 5.0" in done.stdout
