"""Tombstones: when a backup is restored, exactly the data that was erased after the backup is erased again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.forgetting.records import Registry, Tombstone, receipts, tombstones
from holdfast.forgetting.tombstones import apply_tombstones, later_tombstones
from holdfast.services import services
from holdfast.testing import FrozenClock

OpenMemory = Callable[..., Engine]
APP = "kitchen"


def talk(memory: Engine, user: str, app: str | None = None) -> tuple[str, str]:
    """Store one message, and one memory whose source is the message. Return both ids."""
    said = memory.session(user=user, app=app, id=f"talk-{user}-{app}").add("user", f"I am {user} and I like {app}.")
    return said.id, memory.remember(f"{user} likes {app}", user=user, app=app, sources=[said.id]).id


def memories(memory: Engine) -> dict[tuple[str, str], list[str]]:
    places = (("ana", APP), ("ana", "hall"), ("bob", APP))
    return {(user, app): [each.text for each in memory.memories(user=user, app=app)] for user, app in places}


def erased_later(memory: Engine, clock: FrozenClock, copy: Engine) -> list[Tombstone]:
    """Apply the erasures of a store to an older copy, and return the tombstones that were applied."""
    store = services(copy).store
    stones = later_tombstones(store, Registry(services(memory).store.location).tombstones(store.tenant))
    assert apply_tombstones(store, copy.preset, stones, clock.now()) == []
    return stones


@pytest.fixture
def copied(open_memory: OpenMemory, folder: Path) -> Callable[[Engine], Engine]:
    def copy(memory: Engine) -> Engine:
        made = memory.backup(folder / "elsewhere" / "copy.db")
        hidden = made.rename(made.with_name("moved.db"))  # an erasure does not find it
        return open_memory(path=hidden)

    return copy


@pytest.mark.parametrize("target", ["memory", "message", "session", "user", "user in an app", "app"])
def test_exactly_the_same_data_is_erased_again(
    memory: Engine, clock: FrozenClock, copied: Callable[[Engine], Engine], target: str
) -> None:
    message, remembered = talk(memory, "ana", APP)
    talk(memory, "ana", "hall")
    talk(memory, "bob", APP)
    copy = copied(memory)
    erasures: dict[str, Callable[[], object]] = {
        "memory": lambda: memory.erase(id=remembered),
        "message": lambda: memory.erase(source=message),
        "session": lambda: memory.session(user="ana", app=APP, id=f"talk-ana-{APP}").erase(),
        "user": lambda: memory.erase(user="ana"),
        "user in an app": lambda: memory.erase(user="ana", app=APP),
        "app": lambda: memory.erase(app=APP),
    }
    erasures[target]()
    (stone,) = erased_later(memory, clock, copy)
    assert memories(copy) == memories(memory)
    assert memories(copy)["ana", APP] == []
    assert [each.id for each in tombstones(services(copy).store)] == [stone.id]
    assert erased_later(memory, clock, copy) == [], "it is recorded in the copy, so it is not repeated"


def test_erasing_the_memories_of_an_app_is_repeated_too(
    memory: Engine, clock: FrozenClock, copied: Callable[[Engine], Engine]
) -> None:
    talk(memory, "ana", APP)
    talk(memory, "ana", "hall")
    copy = copied(memory)
    assert memory.apps.purge(APP) == 1
    erased_later(memory, clock, copy)
    assert [each.text for each in copy.memories(user="ana", app=APP)] == []
    assert [each.text for each in copy.memories(user="ana", app="hall")] == ["ana likes hall"]


def test_the_repeated_erasure_is_recorded_with_its_time_and_actor(
    memory: Engine, clock: FrozenClock, copied: Callable[[Engine], Engine]
) -> None:
    talk(memory, "ana", APP)
    copy = copied(memory)
    receipt = memory.erase(user="ana")
    erased_later(memory, clock, copy)
    (repeated,) = receipts(services(copy).store)
    assert (repeated.id, repeated.at, repeated.target) == (receipt.id, clock.now(), {"user": "(erased)"})
    assert (repeated.memories, repeated.messages, repeated.sessions) == (1, 1, 1)
