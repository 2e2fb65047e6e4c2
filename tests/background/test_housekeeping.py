"""Lifetimes of memories: durations, the end of a user's day, renewal by use, and the purge."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Engine, Kind, Preset
from holdfast.errors import InvalidInput, NotFound
from holdfast.learning.capture_kinds import STATEMENTS
from holdfast.testing import FrozenClock

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
NOTES = Preset(
    name="notes",
    default_kind="note",
    extractor=STATEMENTS,
    kinds=(
        Kind(name="note", meaning="Lives ten days", lifetime=10 * DAY),
        Kind(name="habit", meaning="Lives ten days after its last use", lifetime=10 * DAY, renewed_by_use=True),
        Kind(name="fact", meaning="Lives for ever"),
        Kind(name="decision", meaning="Lives for ever"),
    ),
)


@pytest.fixture
def notes(open_memory: Callable[..., Engine]) -> Engine:
    return open_memory(preset=NOTES)


def test_a_memory_has_the_lifetime_of_its_kind(notes: Engine, clock: FrozenClock) -> None:
    made = notes.remember("water the plants", user="ana")
    assert made.expires_at == clock.now() + 10 * DAY
    clock.advance(10 * DAY - SECOND)
    assert [m.text for m in notes.memories(user="ana")] == ["water the plants"]


@pytest.mark.ledger("C3")
def test_an_expired_memory_is_returned_by_nothing_even_before_the_purge(notes: Engine, clock: FrozenClock) -> None:
    notes.remember("water the plants", user="ana", pinned=True)
    clock.advance(10 * DAY)
    assert notes.memories(user="ana") == []
    assert notes.recall("water the plants", user="ana") == []
    assert notes.context("", user="ana").hits == ()
    assert notes.context("water the plants", user="ana").text == ""


@pytest.mark.ledger("C3")
def test_expired_memories_are_purged_when_a_memory_is_opened(
    open_memory: Callable[..., Engine], clock: FrozenClock, files_with: Callable[[str], list[str]]
) -> None:
    with open_memory(preset=NOTES) as memory:
        made = memory.remember("water the pangolin plants", user="ana")
        memory.drain()
    for _ in range(2):
        clock.advance(5 * DAY)
        again = open_memory(preset=NOTES)
    with pytest.raises(NotFound):
        again.get(made.id)
    assert files_with("pangolin") == []


@pytest.mark.ledger("C3")
def test_expired_memories_are_purged_every_hour(notes: Engine, clock: FrozenClock) -> None:
    made = notes.remember("water the plants", expires_at=clock.now() + timedelta(minutes=5))
    clock.advance(timedelta(minutes=59))
    notes.drain()
    assert notes.get(made.id).id == made.id
    clock.advance(timedelta(minutes=1))
    notes.drain()
    with pytest.raises(NotFound):
        notes.get(made.id)


def test_a_caller_can_set_the_expiry_time(notes: Engine, clock: FrozenClock) -> None:
    assert notes.remember("x marks it", expires_at="2026-03-02").expires_at == datetime(2026, 3, 2, tzinfo=UTC)


def test_stating_a_memory_again_renews_its_full_lifetime(notes: Engine, clock: FrozenClock) -> None:
    notes.remember("water the plants", user="ana")
    clock.advance(9 * DAY)
    again = notes.remember("water the plants", user="ana")
    assert again.expires_at == clock.now() + 10 * DAY
    assert notes.get(again.id).expires_at == clock.now() + 10 * DAY


def test_an_expired_memory_that_is_stated_again_is_new(notes: Engine, clock: FrozenClock) -> None:
    first = notes.remember("water the plants", user="ana")
    clock.advance(11 * DAY)
    second = notes.remember("water the plants", user="ana")
    assert second.id != first.id
    assert [m.id for m in notes.memories(user="ana")] == [second.id]


@pytest.mark.ledger("U8")
def test_using_a_memory_of_a_kind_that_is_renewed_by_use_renews_its_expiry(notes: Engine, clock: FrozenClock) -> None:
    used = notes.remember("runs on mondays", kind="habit", user="ana")
    clock.advance(9 * DAY)
    assert notes.recall("who runs?", user="ana")
    notes.drain()
    assert notes.get(used.id).expires_at == clock.now() + 10 * DAY
    assert notes.get(used.id).last_used_at == clock.now()
    assert notes.get(used.id).revision == 1


@pytest.mark.ledger("U8")
def test_memories_that_are_unused_or_not_renewed_by_use_expire(notes: Engine, clock: FrozenClock) -> None:
    notes.remember("runs on mondays", kind="habit", user="ana")
    notes.remember("water the plants", user="ana")
    clock.advance(9 * DAY)
    notes.recall("water", user="ana", limit=1)
    notes.drain()
    clock.advance(DAY)
    assert notes.memories(user="ana") == []


def test_a_use_renews_the_expiry_from_the_time_of_use_even_if_recorded_later(notes: Engine, clock: FrozenClock) -> None:
    used = notes.remember("runs on mondays", kind="habit", user="ana")
    clock.advance(9 * DAY)
    assert notes.recall("who runs?", user="ana")
    clock.advance(2 * DAY)
    notes.drain()
    assert notes.get(used.id).expires_at == clock.now() + 8 * DAY


@pytest.mark.ledger("C1")
@pytest.mark.parametrize(
    ("zone", "now", "end"),
    [
        ("UTC", "2026-03-01T12:00Z", "2026-03-02T00:00Z"),
        ("Europe/Madrid", "2026-03-01T12:00Z", "2026-03-01T23:00Z"),
        ("Europe/Madrid", "2026-03-01T23:30Z", "2026-03-02T23:00Z"),  # already tomorrow there
        ("Europe/Madrid", "2026-03-29T00:30Z", "2026-03-29T22:00Z"),  # the day of 23 hours
        ("Europe/Madrid", "2026-10-25T00:30Z", "2026-10-25T23:00Z"),  # the day of 25 hours
        ("America/Los_Angeles", "2026-03-02T05:00Z", "2026-03-02T08:00Z"),  # still yesterday there
        ("America/Los_Angeles", "2026-03-08T12:00Z", "2026-03-09T07:00Z"),  # summer time begins
        ("Pacific/Kiritimati", "2026-03-01T12:00Z", "2026-03-02T10:00Z"),
        ("Asia/Kathmandu", "2026-03-01T12:00Z", "2026-03-01T18:15Z"),
        ("Africa/Cairo", "2026-04-23T12:00Z", "2026-04-23T22:00Z"),  # whose next midnight does not exist
    ],
)
def test_the_days_context_ends_when_the_users_day_does(memory: Engine, clock: FrozenClock, zone: str, now: str, end: str) -> None:
    clock.set(now)
    memory.set_user("ana", timezone=zone)
    made = memory.remember("has a cold", kind="context", key="health", user="ana")
    assert made.expires_at == datetime.fromisoformat(end)
    clock.set(datetime.fromisoformat(end) - SECOND)
    assert memory.memories(user="ana")
    clock.set(end)
    assert memory.memories(user="ana") == []


def test_a_shared_context_ends_with_the_day_in_utc(memory: Engine, clock: FrozenClock) -> None:
    assert memory.remember("the lift is broken", kind="context", key="lift").expires_at == datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "Europe/Madrid\x00"])
def test_an_unknown_time_zone_is_refused(memory: Engine, zone: str) -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        memory.set_user("ana", timezone=zone)


@pytest.mark.ledger("X5")
def test_forgotten_memories_are_purged_from_disk_after_the_undo_window(
    memory: Engine, clock: FrozenClock, files_with: Callable[[str], list[str]]
) -> None:
    made = memory.remember("collects pangolin stamps", user="ana")
    memory.drain()
    memory.forget(made.id)
    clock.advance(30 * DAY + timedelta(hours=1))
    memory.trust_clock()
    memory.drain()
    with pytest.raises(NotFound):
        memory.history(made.id)
    assert files_with("pangolin") == []


def test_the_undo_window_can_be_set(
    open_memory: Callable[..., Engine], clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_UNDO_DAYS", "2")
    memory = open_memory()
    made = memory.remember("collects stamps", user="ana")
    memory.forget(made.id)
    clock.advance(2 * DAY + timedelta(hours=1))
    memory.drain()
    with pytest.raises(NotFound):
        memory.get(made.id)


@pytest.mark.ledger("X5")
def test_a_purged_memory_is_not_extracted_again_from_its_message(memory: Engine, clock: FrozenClock) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "I live in Lyon with a parrot.")
    talk.end()
    memory.drain()
    memory.forget(memory.memories(user="ana")[0].id)
    assert memory.recall("Lyon parrot", user="ana") == []
    clock.advance(30 * DAY + timedelta(hours=1))
    memory.drain()
    assert memory.recall("Lyon parrot", user="ana") == []
