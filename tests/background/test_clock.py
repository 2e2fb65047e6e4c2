"""While the system clock is wrong, data may be hidden. No data is destroyed, and no job is lost, repeated or stuck."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from holdfast.testing import FrozenClock

OpenMemory = Callable[..., Engine]
HOUR, DAY, YEAR = timedelta(hours=1), timedelta(days=1), timedelta(days=365)


def filled(memory: Engine, clock: FrozenClock) -> str:
    """Store 20 memories that expire in a year, and one forgotten memory. Return the id of the forgotten memory."""
    for number in range(20):
        memory.remember(f"fact number {number}", user="ana", expires_at=clock.now() + YEAR)
    forgotten = memory.remember("collects stamps", user="ana")
    memory.forget(forgotten.id)
    return forgotten.id


def is_whole(memory: Engine, forgotten: str) -> bool:
    return memory.count_memories(user="ana") == 20 and bool(memory.undo(memory.history(forgotten)[-1]))


# A clock that is wrong.


@pytest.mark.ledger("X27")
def test_moving_the_clock_ten_years_ahead_and_back_loses_nothing(memory: Engine, clock: FrozenClock) -> None:
    forgotten = filled(memory, clock)
    clock.advance(10 * YEAR)
    memory.purge_expired()
    memory.drain()
    assert memory.count_memories(user="ana") == 0  # expiry hides
    clock.advance(-10 * YEAR + HOUR)
    memory.drain()
    assert is_whole(memory, forgotten)


@pytest.mark.parametrize("worker", ["none", "thread"])
def test_opening_a_store_once_in_the_wrong_decade_loses_nothing(open_memory: OpenMemory, clock: FrozenClock, worker: str) -> None:
    with open_memory() as memory:
        forgotten = filled(memory, clock)
    clock.advance(10 * YEAR)
    with open_memory(worker=worker) as memory:
        memory.drain()
    clock.advance(-10 * YEAR + HOUR)
    assert is_whole(open_memory(), forgotten)


def test_a_store_of_an_older_version_is_protected_too(open_memory: OpenMemory, clock: FrozenClock) -> None:
    from holdfast.services import services  # noqa: PLC0415

    with open_memory() as memory:
        forgotten = filled(memory, clock)
        with services(memory).store.write() as tx:
            tx.set_setting("clock", "")  # as if it had never been recorded
    clock.advance(10 * YEAR)
    open_memory().drain()
    clock.advance(-10 * YEAR + HOUR)
    assert is_whole(open_memory(), forgotten)


def test_purging_resumes_when_the_clock_agrees_for_three_days(memory: Engine, clock: FrozenClock) -> None:
    filled(memory, clock)
    clock.advance(2 * YEAR)
    assert memory.purge_expired() == 0
    clock.advance(2 * DAY)
    assert memory.purge_expired() == 0
    clock.advance(DAY)
    assert memory.purge_expired() == 21


def test_purging_resumes_when_a_person_confirms_the_clock(memory: Engine, clock: FrozenClock) -> None:
    filled(memory, clock)
    clock.advance(2 * YEAR)
    assert memory.purge_expired() == 0
    (found,) = [each for each in memory.doctor() if each.check == "clock"]
    assert not found.ok
    assert "2026-03-01" in found.detail
    memory.trust_clock()
    assert memory.purge_expired() == 21
    assert all(each.ok for each in memory.doctor() if each.check == "clock")


def test_a_machine_used_once_a_month_purges_up_to_a_month_late(memory: Engine, clock: FrozenClock) -> None:
    memory.remember("context for today", user="ana", expires_at=clock.now() + DAY)
    clock.advance(30 * DAY)
    assert memory.purge_expired() == 0
    clock.advance(30 * DAY)
    assert memory.purge_expired() == 1


def test_an_unused_memory_does_not_expire_because_the_clock_jumps(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(settings={"unused_days": 30, "message_days": 30})
    with memory.session(user="ana") as session:
        session.add("user", "I live in Lyon.")
    memory.drain()
    clock.advance(10 * YEAR)
    memory.drain()
    clock.advance(-10 * YEAR + HOUR)
    assert [found.text for found in memory.memories(user="ana")]
    assert session.messages()


@pytest.mark.everywhere
def test_a_job_from_before_the_clock_went_back_is_not_stuck(memory: Engine, clock: FrozenClock) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "I live in Lyon.")
        clock.advance(-HOUR)
        session.add("user", "I have a dog called Rex.")
    clock.advance(-HOUR)
    memory.drain()
    texts = [found.text for found in memory.memories(user="ana")]
    assert any("Lyon" in text for text in texts)
    assert len(texts) == len(set(texts))
    assert [message.text for message in session.messages()] == ["I live in Lyon.", "I have a dog called Rex."]
    assert not memory.jobs(states=["queued", "running", "dead"])


def test_a_lease_from_another_decade_is_taken_over(memory: Engine, clock: FrozenClock) -> None:
    from holdfast.services import services  # noqa: PLC0415

    with memory.session(user="ana") as session:
        session.add("user", "I live in Lyon.")
    clock.advance(10 * YEAR)
    with services(memory).store.write() as tx:
        assert tx.lease_job(worker="another-machine", now=clock.now(), until=clock.now() + timedelta(minutes=5))
    clock.advance(-10 * YEAR)
    memory.drain()
    assert any("Lyon" in found.text for found in memory.memories(user="ana"))


def test_clean_up_continues_after_the_clock_went_back(memory: Engine, clock: FrozenClock) -> None:
    clock.advance(10 * YEAR)
    memory.drain()
    clock.advance(-10 * YEAR)
    made = memory.remember("water the plants", user="ana", expires_at=clock.now() + timedelta(minutes=5))
    clock.advance(2 * HOUR)
    memory.drain()
    assert made.id not in {found.id for found in memory.memories(user="ana", retired=True)}
    assert memory.stats().memories == 0


@pytest.mark.parametrize(
    ("start", "hours"),
    [("2026-03-29T00:30:00+01:00", 22.5), ("2026-10-25T00:30:00+02:00", 24.5), ("2026-06-01T00:30:00+02:00", 23.5)],
)
def test_a_day_ends_at_local_midnight_even_if_the_clocks_change(
    open_memory: OpenMemory, clock: FrozenClock, start: str, hours: float
) -> None:
    memory = open_memory(preset="reachy")
    clock.set(start)
    memory.set_user("ana", timezone="Europe/Madrid")
    made = memory.remember("is in the kitchen", user="ana", kind="context", key="place")
    assert made.expires_at == clock.now() + timedelta(hours=hours)


# Expiry in the past.


@pytest.mark.parametrize("expires_at", ["1969-12-31T23:59:59", "2025-12-31", datetime(1, 1, 1, tzinfo=UTC)])
def test_an_expiry_in_the_distant_past_is_refused(memory: Engine, expires_at: str | datetime) -> None:
    with pytest.raises(InvalidInput, match="is in the past"):
        memory.remember("prefers tea", user="ana", expires_at=expires_at)
    assert memory.memories(user="ana") == []


def test_an_expiry_a_little_in_the_past_is_accepted(memory: Engine, clock: FrozenClock) -> None:
    assert memory.remember("prefers tea", user="ana", expires_at=clock.now() - HOUR).id
