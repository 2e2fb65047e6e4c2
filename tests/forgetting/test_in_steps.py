"""Erasing on a full disk: rows are removed in small transactions, and an error states what is still stored."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from holdfast import Engine
from holdfast.errors import NotFound, StoreFull
from holdfast.forgetting.erase import Erasing, erase
from holdfast.protocols import SCRUB, MemoryFilter, MessageFilter, Store, Transaction
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Receipt, Scope


class SmallDisk:
    """A real store whose transactions have room to remove only a few rows. Other calls go to the store unchanged."""

    def __init__(self, store: Store, *, rows: int, transactions: int = 1000) -> None:
        self._store = store
        self.rows = rows
        self.transactions = transactions
        self.sizes: list[int] = []
        """Number of rows that each call removed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Transaction]:
        with self._store.write(durable=durable) as tx:
            yield cast("Transaction", _SmallTransaction(tx, self))

    def use(self, rows: int) -> None:
        if rows > (self.rows if self.transactions > 0 else 0):
            raise StoreFull("The disk is full.")
        self.transactions -= bool(rows)
        self.sizes += [rows] if rows else []


class _SmallTransaction:
    def __init__(self, tx: Transaction, disk: SmallDisk) -> None:
        self._tx = tx
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def remove_memories(self, ids: Sequence[str]) -> dict[str, int]:
        self._disk.use(len(self._tx.memories(MemoryFilter(ids=list(ids), statuses=None))) if ids else 0)
        return dict(self._tx.remove_memories(ids))

    def remove_messages(self, ids: Sequence[str]) -> dict[str, int]:
        self._disk.use(len(self._tx.messages(MessageFilter(ids=list(ids)))) if ids else 0)
        return dict(self._tx.remove_messages(ids))


@pytest.fixture
def full(memory: Engine) -> Engine:
    """A memory with 18 memories and 6 messages of Ana, and one memory of Bob."""
    for number in range(18):
        memory.remember(f"zarzamora number {number}", user="ana")
    session = memory.session(user="ana", id="s")
    for number in range(6):
        session.add("user", f"zarzamora again, {number}")
    memory.remember("plays chess", user="bob")
    return memory


def erase_ana(memory: Engine, clock: FrozenClock, disk: SmallDisk, **how: Any) -> Receipt:
    return erase(cast("Store", disk), memory.preset, {"user": "ana"}, Erasing(now=clock.now(), **how))


def left(memory: Engine) -> tuple[int, int]:
    return len(memory.memories(user="ana")), len(memory.session(user="ana", id="s").messages())


def test_everything_is_erased_in_small_transactions(full: Engine, clock: FrozenClock, files_with: Any) -> None:
    disk = SmallDisk(services(full).store, rows=5)
    receipt = erase_ana(full, clock, disk)
    assert (receipt.memories, receipt.messages, receipt.sessions) == (18, 6, 1)
    assert (receipt.status, receipt.verified) == ("erased", True)
    assert (left(full), files_with("zarzamora")) == ((0, 0), [])
    assert [each.text for each in full.memories(user="bob")] == ["plays chess"]
    assert disk.sizes == [4, 4, 4, 4, 2, 4, 2], "16 rows did not fit"


def test_a_disk_without_any_room_erases_nothing_and_says_only_that_it_is_full(full: Engine, clock: FrozenClock) -> None:
    with pytest.raises(StoreFull) as error:
        erase_ana(full, clock, SmallDisk(services(full).store, rows=0))
    assert "part" not in str(error.value)
    assert left(full) == (18, 6)


def test_a_disk_that_fills_up_meanwhile_reports_the_rows_that_are_gone(full: Engine, clock: FrozenClock) -> None:
    disk = SmallDisk(services(full).store, rows=4, transactions=2)
    with pytest.raises(StoreFull, match=r"only a part was erased: 8 memories.*The rest is still stored") as error:
        erase_ana(full, clock, disk)
    assert "0 " not in str(error.value), "only what was erased is listed"
    assert left(full) == (10, 6)
    receipt = erase_ana(full, clock, SmallDisk(services(full).store, rows=100))
    assert (receipt.memories, receipt.verified, left(full)) == (10, True, (0, 0))


def test_a_target_that_is_gone_meanwhile_is_not_found_on_a_full_disk_either(full: Engine, clock: FrozenClock) -> None:
    calls = []

    def check(tx: Transaction) -> None:
        calls.append(tx)
        if len(calls) == 2:
            raise NotFound("There is no such user.")

    with pytest.raises(NotFound):
        erase_ana(full, clock, SmallDisk(services(full).store, rows=4), check=check)
    assert left(full) == (18, 6)


def test_memories_with_other_sources_are_derived_again_on_a_full_disk_too(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana", id="s")
    lost = [session.add("user", f"zarzamora, {number}") for number in range(6)]
    kept = memory.session(user="ana", id="t").add("user", "I paint the shed green.")
    memory.remember("zarzamora and a shed", user="ana", kind="summary", sources=[kept.id, *(each.id for each in lost)])
    disk = SmallDisk(services(memory).store, rows=4)
    how = Erasing(now=clock.now(), scope=Scope(user="ana"))
    receipt = erase(cast("Store", disk), memory.preset, {"session": "s"}, how)
    assert (receipt.messages, receipt.rebuilt, receipt.verified) == (6, 1, True)
    assert ["shed" in each.text for each in memory.memories(user="ana", kind="summary")] == [True]


def test_a_disk_that_fills_up_before_the_last_step_reports_the_rows_that_are_gone(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana", id="s")
    lost = [session.add("user", f"zarzamora, {number}") for number in range(6)]
    kept = memory.session(user="ana", id="t").add("user", "I paint the shed green.")
    memory.remember("zarzamora and a shed", user="ana", kind="summary", sources=[kept.id, *(each.id for each in lost)])
    disk = SmallDisk(services(memory).store, rows=4, transactions=3)  # the first one is undone
    with pytest.raises(StoreFull, match="only a part was erased: 6 messages"):
        erase(cast("Store", disk), memory.preset, {"session": "s"}, Erasing(now=clock.now(), scope=Scope(user="ana")))
    assert session.messages() == []


@pytest.mark.parametrize(("rewrite", "scrub"), [(True, "pending"), (False, "log")])
def test_an_interrupted_erasure_records_what_must_still_be_overwritten(
    full: Engine, clock: FrozenClock, *, rewrite: bool, scrub: str
) -> None:
    with pytest.raises(StoreFull):
        erase_ana(full, clock, SmallDisk(services(full).store, rows=4, transactions=2), rewrite=rewrite)
    assert services(full).store.setting(SCRUB) == scrub
