"""The engine pool: each engine is opened once, stays open while leased, and is evicted when least recently used."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine, Kind
from holdfast.access.keys import Principal
from holdfast.config.opening import open_engine
from holdfast.errors import StoreClosed, StoreError
from holdfast.server.tenants import EnginePool, open_pool
from holdfast.services import services
from holdfast.testing import HashEmbedder, ScriptedChat
from tests.server.http_support import serving


class Opening:
    """Opens engines of a store, and records which tenants were opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened: list[str] = []
        self.engines: dict[str, Engine] = {}
        self.fails = False

    def __call__(self, tenant: str) -> Engine:
        if self.fails:
            raise StoreError("not now")
        self.opened.append(tenant)
        self.engines[tenant] = open_engine(self.path, tenant=tenant, embedder="none", worker="none")
        return self.engines[tenant]

    def is_closed(self, tenant: str) -> bool:
        try:
            self.engines[tenant].stats()
        except StoreClosed:
            return True
        return False


def wait_until(happens: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


def texts(pool: EnginePool, tenant: str) -> list[str]:
    """Return the texts of Ana's memories in a tenant."""
    with pool.lease(tenant) as engine:
        return [memory.text for memory in engine.memories(user="ana")]


@pytest.fixture
def opening(tmp_path: Path) -> Opening:
    return Opening(tmp_path / "memory.db")


@pytest.fixture
def pool(opening: Opening) -> Iterator[EnginePool]:
    with EnginePool(opening, tenant="default", max_open=3) as pool:
        yield pool


@pytest.mark.ledger("X8")
def test_each_tenant_has_its_own_memory(pool: EnginePool) -> None:
    with pool.lease("acme") as engine:
        engine.remember("prefers tea", user="ana")
    assert [texts(pool, tenant) for tenant in ("acme", "default", "other")] == [["prefers tea"], [], []]


def test_a_memory_is_opened_once_however_many_ask_at_the_same_time(pool: EnginePool, opening: Opening) -> None:
    gate = threading.Barrier(8)

    def ask(_: int) -> int:
        gate.wait()
        with pool.lease("acme") as engine:
            return id(engine)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(ask, range(8)))) == 1
    assert opening.opened.count("acme") == 1


def test_the_least_recently_used_engine_is_closed_unless_it_is_the_operators_or_in_use(
    pool: EnginePool, opening: Opening
) -> None:
    with pool.lease("a"):
        for tenant in ("b", "c", "d"):
            texts(pool, tenant)
        wait_until(lambda: opening.is_closed("b") and opening.is_closed("c"))
        assert [opening.is_closed(tenant) for tenant in ("default", "a", "d")] == [False, False, False]
    texts(pool, "b")
    assert opening.opened.count("b") == 2


def test_a_long_call_outlasts_the_opening_of_other_tenants_and_its_engine_is_closed_after_it(opening: Opening) -> None:
    with EnginePool(opening, tenant="default", max_open=1) as pool:
        begun, go_on = threading.Event(), threading.Event()

        def call() -> list[str]:
            with pool.lease("a") as engine:
                begun.set()
                assert go_on.wait(60)
                engine.remember("still here", user="ana")
                return [memory.text for memory in engine.memories(user="ana")]

        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(call)
            assert begun.wait(60)
            for tenant in ("b", "c"):
                texts(pool, tenant)
            wait_until(lambda: opening.is_closed("b") and opening.is_closed("c"))
            assert not opening.is_closed("a")
            go_on.set()
            assert answer.result(60) == ["still here"]
        wait_until(lambda: opening.is_closed("a"))


def test_open_engines_drop_cached_queries_that_another_process_erased(tmp_path: Path) -> None:
    path, embedder = tmp_path / "memory.db", HashEmbedder()
    with open_pool(path, embedder=embedder, worker="none") as pool, pool.lease("acme") as engine:
        engine.remember("bob likes tea", user="bob")
        engine.recall("what does bob like?", user="bob")
        assert len(services(engine).embedding.queries) == 1
        with open_engine(path, tenant="acme", embedder=embedder, worker="none") as other:
            other.erase(user="bob")
        pool.follow_other_processes()
        assert len(services(engine).embedding.queries) == 0


def test_open_engines_add_plain_kinds_that_another_process_recorded(tmp_path: Path) -> None:
    path, item = tmp_path / "memory.db", Kind(name="item", meaning="A file", plain=True)
    with open_pool(path, embedder="none", worker="none") as pool, pool.lease("acme") as engine:
        open_engine(path, tenant="acme", embedder="none", worker="none", kinds=[item]).close()
        pool.follow_other_processes()
        assert engine.remember("x", user="ana", kind="item").kind == "item"


def test_the_limits_of_chat_calls_apply_to_every_tenant(tmp_path: Path) -> None:
    settings = {"chat": "ollama:small", "chat_calls": 7}
    with open_pool(tmp_path / "memory.db", settings=settings, embedder="none", worker="none") as pool, pool.lease("a") as engine:
        assert services(engine).chat.max_calls == 7


def test_a_memory_that_could_not_be_opened_is_tried_again(pool: EnginePool, opening: Opening) -> None:
    opening.fails = True
    with pytest.raises(StoreError, match="not now"):
        texts(pool, "acme")
    opening.fails = False
    assert texts(pool, "acme") == []


def test_a_closed_pool_leases_nothing(opening: Opening) -> None:
    pool = EnginePool(opening, tenant="default")
    texts(pool, "acme")
    pool.close()
    assert (opening.is_closed("default"), opening.is_closed("acme")) == (True, True)
    with pytest.raises(StoreClosed):
        texts(pool, "acme")


def test_keys_are_stored_in_the_operators_tenant_and_their_use_is_recorded_at_the_end(opening: Opening) -> None:
    with EnginePool(opening, tenant="operator") as pool:
        record, key = pool.gate.create_key(level="read", tenant="acme", user="ana")
        assert pool.identify(key, False) == Principal(level="read", tenant="acme", user="ana", key=record.id)
        assert opening.opened == ["operator"]  # no request was authenticated yet, so no other engine was opened
    with EnginePool(opening, tenant="operator") as again:
        assert again.gate.list_keys()[0].last_used_at is not None


def test_models_are_loaded_once_for_all_tenants(tmp_path: Path) -> None:
    loaded: list[str] = []

    class Counted(HashEmbedder):
        def embed(self, texts: Any, *, role: Any) -> Any:
            loaded.append(role)
            return super().embed(texts, role=role)

    embedder, chat = Counted(), ScriptedChat("hello")
    with open_pool(tmp_path / "memory.db", embedder=embedder, chat=chat, worker="none", tenant="operator", max_open=1) as pool:
        assert (pool.tenant, services(pool.operator).store.tenant) == ("operator", "operator")
        with pool.lease("a") as one, pool.lease("b") as other:
            assert services(one).embedding.embedder() is services(other).embedding.embedder() is embedder
            first, second = services(one).chat.model()[0], services(other).chat.model()[0]
            assert first is not None
            assert second is not None
            one.close()  # the model stays open for the others
            assert second.name == chat.name


def test_a_streamed_response_holds_its_engine_until_it_ends(tmp_path: Path) -> None:
    with serving(tmp_path, max_open=1) as served:
        served.key("admin")
        clients = {tenant: served.as_(served.key("read", tenant=tenant)) for tenant in ("a", "b", "c")}
        with clients["a"].stream("GET", "/v1/events") as events:
            lines = events.iter_lines()  # keep a reference: the connection closes with the iterator
            assert next(lines) == "event: change"
            for tenant in ("b", "c"):
                assert clients[tenant].get("/v1/memories").status_code == 200
            wait_until(lambda: served.pool.open_tenants() == ["default", "a"])
        wait_until(lambda: served.pool.open_tenants() == ["default"])
