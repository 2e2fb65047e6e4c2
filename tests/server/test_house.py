"""One memory for each tenant: opened once, kept while in use, closed when long unused, and never mixed up."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from holdfast.access import Principal
from holdfast.config.opening import open_engine
from holdfast.errors import StoreClosed, StoreError
from holdfast.server.house import House, open_house
from holdfast.services import services
from holdfast.testing import HashEmbedder, ScriptedChat


class Opening:
    """Opens the memories of a store, and notes which and when they close."""

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
    until = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def opening(tmp_path: Path) -> Opening:
    return Opening(tmp_path / "memory.db")


@pytest.fixture
def house(opening: Opening) -> Iterator[House]:
    with House(opening, tenant="default", most=3, grace=0.0) as house:
        yield house


@pytest.mark.ledger("X8")
def test_each_tenant_has_its_own_memory(house: House) -> None:
    house.engine("acme").remember("prefers tea", user="ana")
    assert [memory.text for memory in house.engine("acme").memories(user="ana")] == ["prefers tea"]
    assert house.engine("default").memories(user="ana") == []
    assert house.engine("other").memories(user="ana") == []


def test_a_memory_is_opened_once_however_many_ask_at_the_same_time(house: House, opening: Opening) -> None:
    gate = threading.Barrier(8)

    def ask(_: int) -> int:
        gate.wait()
        return id(house.engine("acme"))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert opening.opened.count("acme") == 1


def test_the_longest_unused_is_closed_but_neither_the_operators_nor_one_in_use(house: House, opening: Opening) -> None:
    with house.lease("a"):
        for tenant in ("b", "c", "d"):
            house.engine(tenant)
        wait_until(lambda: opening.is_closed("b") and opening.is_closed("c"))
        assert [opening.is_closed(tenant) for tenant in ("default", "a", "d")] == [False, False, False]
    house.engine("b").remember("is back")
    assert opening.opened.count("b") == 2


def test_one_that_was_just_asked_for_stays_open(opening: Opening) -> None:
    with House(opening, tenant="default", most=1, grace=60.0) as house:
        engines = [house.engine(str(number)) for number in range(5)]
        assert [engine.memories() for engine in engines] == [[]] * 5


def test_a_memory_that_could_not_be_opened_is_tried_again(house: House, opening: Opening) -> None:
    opening.fails = True
    with pytest.raises(StoreError, match="not now"):
        house.engine("acme")
    opening.fails = False
    assert house.engine("acme").memories() == []


def test_a_closed_house_lets_nobody_in(opening: Opening) -> None:
    house = House(opening, tenant="default")
    house.engine("acme")
    house.close()
    assert (opening.is_closed("default"), opening.is_closed("acme")) == (True, True)
    with pytest.raises(StoreClosed):
        house.engine("acme")


def test_keys_are_kept_with_the_operator_and_their_use_is_noted_in_the_end(opening: Opening) -> None:
    with House(opening, tenant="operator") as house:
        record, key = house.gate.create_key(level="read", tenant="acme", user="ana")
        assert house.identify(key, False) == Principal(level="read", tenant="acme", user="ana", key=record.id)
        assert opening.opened == ["operator"]  # nobody has been let in yet: nothing was opened for them
    with House(opening, tenant="operator") as again:
        assert again.gate.list_keys()[0].last_used_at is not None


def test_answers_are_kept_with_the_tenant_they_are_about(house: House) -> None:
    acme = Principal(level="write", tenant="acme", key="k")
    house.answers("acme").keep(house.answers("acme").begin(acme, "retry", b"x"), status=200, headers={}, body=b"x")
    assert house.answers("acme").begin(acme, "retry", b"x").status == 200
    assert house.answers("default").begin(acme, "retry", b"x").status is None


def test_models_are_loaded_once_for_all_tenants(tmp_path: Path) -> None:
    loaded: list[str] = []

    class Counted(HashEmbedder):
        def embed(self, texts: Any, *, role: Any) -> Any:
            loaded.append(role)
            return super().embed(texts, role=role)

    embedder, chat = Counted(), ScriptedChat("hello")
    with open_house(tmp_path / "memory.db", embedder=embedder, chat=chat, worker="none", tenant="operator", most=1) as house:
        assert (house.tenant, services(house.operator).store.tenant) == ("operator", "operator")
        engines = [house.engine(tenant) for tenant in ("a", "b")]
        assert {id(services(engine).embedding.embedder()) for engine in engines} == {id(embedder)}
        first, second = (services(engine).chat.model()[0] for engine in engines)
        assert first is not None
        assert second is not None
        engines[0].close()  # one that leaves takes the model from nobody
        assert second.name == chat.name
