"""Tests of the benchmarks with many servers and tenants on one PostgreSQL."""

import pytest

pytest.importorskip("psycopg", reason="the extra postgres is not installed")

from holdfast_bench.postgres import shared, tenants
from holdfast_bench.postgres.shared_load import foreign_secrets, secret
from tests.stores.postgres.support import running

pytestmark = pytest.mark.ledger("X9")


@pytest.mark.long
def test_servers_and_workers_neither_lose_nor_duplicate_nor_leak_data() -> None:
    url = running().url("postgres")
    figures = shared.measure(url, servers=2, workers=1, tenants=4, number=4, seconds=3.0)
    assert (figures["errors"], figures["lost"], figures["doubled"], figures["leaked"]) == (0, 0, 0, 0), figures
    assert figures["acknowledged"] > 0
    assert figures["drained_after_s"] is not None


def test_a_secret_of_another_tenant_is_detected() -> None:
    assert foreign_secrets(1, f"{secret(1)} and {secret(2)}") == [secret(2)]
    assert foreign_secrets(1, f"only {secret(1)}") == []


@pytest.mark.long
def test_all_copies_of_a_tenant_are_in_the_store(capsys: pytest.CaptureFixture[str]) -> None:
    tenants.run(store=running().url("postgres"), tenants=5, each=6, asks=4)
    figures = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (figures["tenants"], figures["memories"]) == ("5", "30")
    assert float(figures["ratio"]) > 0
