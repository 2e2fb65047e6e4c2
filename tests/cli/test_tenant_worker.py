"""``TenantWorker``: one tenant's work or failure does not block the others."""

import threading
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.cli.serving.tenant_worker import TenantWorker
from holdfast.config.opening import open_engine
from holdfast.errors import StoreError
from holdfast.server.tenants import EnginePool


def test_a_tenant_whose_memory_cannot_be_opened_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    def opening(tenant: str) -> Engine:
        if tenant == "broken":
            raise StoreError("not this one")
        return open_engine(tmp_path / "memory.db", tenant=tenant, embedder="none", worker="none")

    said: list[str] = []
    with EnginePool(opening, tenant="default") as pool:
        for tenant in ("default", "broken", "other"):
            pool.gate.create_key(level="admin", tenant=tenant)
        for tenant in ("default", "other"):
            with pool.lease(tenant) as memory:
                session = memory.session(user="ana")
                session.add("user", "I live in Lima.")
                session.end()
        with pytest.raises(StoreError, match="not this one"):
            TenantWorker(pool, threading.Event(), said.append).run_all()
        for tenant in ("default", "other"):
            with pool.lease(tenant) as memory:
                assert memory.jobs(states=("queued",)) == []
    assert any(line.startswith("broken: ") for line in said)
