"""History, undo, and the two time axes: when something was valid, and when it was known."""

from datetime import timedelta

import pytest

from holdfast import Engine
from holdfast.errors import Conflict, NotFound
from holdfast.testing import FrozenClock

DAY = timedelta(days=1)


@pytest.mark.ledger("X3")
def test_history_lists_every_change_with_its_reason_author_and_resulting_text(memory: Engine, clock: FrozenClock) -> None:
    made = memory.remember("lives in Lyon", user="ana")
    clock.advance(DAY)
    memory.revise(made.id, "lives in Porto", reason="moved")
    clock.advance(DAY)
    memory.forget(made.id, reason="asked")
    history = memory.history(made.id)
    assert [(c.action, c.revision, c.reason) for c in history] == [
        ("created", 1, None),
        ("revised", 2, "moved"),
        ("retired", 3, "asked"),
    ]
    assert [c.after.text for c in history if c.after] == ["lives in Lyon", "lives in Porto", "lives in Porto"]
    assert [c.at for c in history] == [clock.now() - 2 * DAY, clock.now() - DAY, clock.now()]
    assert all(c.author.actor for c in history)


@pytest.mark.ledger("X3")
def test_undoing_a_forgetting_brings_it_back_to_lists_and_recall(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    memory.forget(made.id)
    (back,) = memory.undo(memory.history(made.id)[-1])
    assert (back.id, back.status, back.retired_at) == (made.id, "live", None)
    assert [m.text for m in memory.memories(user="ana")] == ["prefers tea"]
    assert [hit.text for hit in memory.recall("tea", user="ana")] == ["prefers tea"]


def test_undoing_a_revision_brings_the_old_text_back(memory: Engine) -> None:
    made = memory.remember("lives in Lyon", user="ana")
    memory.revise(made.id, "lives in Porto")
    memory.undo(memory.history(made.id)[-1].id)
    assert [m.text for m in memory.memories(user="ana")] == ["lives in Lyon"]
    assert [hit.text for hit in memory.recall("Lyon", user="ana")] == ["lives in Lyon"]
    assert all("Porto" not in hit.text for hit in memory.recall("Porto", user="ana"))


def test_undoing_a_creation_forgets_the_memory(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    memory.undo(memory.history(made.id)[0])
    assert memory.memories(user="ana") == []
    assert memory.get(made.id).status == "forgotten"


@pytest.mark.ledger("X3")
def test_undoing_a_replacement_restores_the_older_value_completely(memory: Engine) -> None:
    old = memory.remember("Lyon", kind="profile", key="city", user="ana")
    new = memory.remember("Porto", kind="profile", key="city", user="ana")
    memory.undo(memory.history(new.id)[-1])
    (live,) = memory.memories(user="ana")
    assert (live.id, live.text, live.replaced_by, live.valid_to, live.status) == (old.id, "Lyon", None, None, "live")


def test_an_undo_can_be_undone(memory: Engine) -> None:
    memory.remember("Lyon", kind="profile", key="city", user="ana")
    new = memory.remember("Porto", kind="profile", key="city", user="ana")
    memory.undo(memory.history(new.id)[-1])
    memory.undo(memory.history(new.id)[-1])
    assert [m.text for m in memory.memories(user="ana")] == ["Porto"]


def test_an_undo_is_part_of_the_history(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    memory.forget(made.id)
    forgetting = memory.history(made.id)[-1]
    memory.undo(forgetting)
    last = memory.history(made.id)[-1]
    assert last.action == "restored"
    assert forgetting.id in (last.reason or "")


def test_a_stale_undo_is_refused_and_changes_nothing(memory: Engine) -> None:
    made = memory.remember("one", user="ana")
    memory.revise(made.id, "two")
    earlier = memory.history(made.id)[-1]
    memory.revise(made.id, "three")
    with pytest.raises(Conflict, match="changed since"):
        memory.undo(earlier)
    assert memory.get(made.id).text == "three"


def test_undo_does_not_restore_a_memory_that_was_stored_again(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    memory.forget(made.id)
    twin = memory.remember("prefers tea", user="ana")
    with pytest.raises(Conflict, match=twin.id):
        memory.undo(memory.history(made.id)[-1])
    assert [m.id for m in memory.memories(user="ana")] == [twin.id]


def test_an_erasure_cannot_be_undone(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    change = memory.history(made.id)[-1]
    memory.erase(id=made.id)
    with pytest.raises(NotFound):
        memory.undo(change)


@pytest.mark.ledger("X3")
def test_as_of_returns_the_values_of_that_time(memory: Engine, clock: FrozenClock) -> None:
    memory.remember("Lyon", kind="profile", key="city", user="ana")
    clock.advance(10 * DAY)
    memory.remember("Porto", kind="profile", key="city", user="ana")
    for days, texts in ((-1, []), (5, ["Lyon"]), (10, ["Porto"]), (20, ["Porto"])):
        moment = clock.now() + (days - 10) * DAY
        assert [m.text for m in memory.memories(user="ana", as_of=moment)] == texts
        assert [hit.text for hit in memory.recall("Lyon Porto", user="ana", kinds=["profile"], as_of=moment)] == texts


def test_as_of_uses_the_time_of_validity_not_the_time_of_the_statement(memory: Engine, clock: FrozenClock) -> None:
    memory.remember("started at the bakery", user="ana", valid_from="2020-05-01")
    assert [m.text for m in memory.memories(user="ana", as_of="2021-01-01")] == ["started at the bakery"]
    assert memory.memories(user="ana", as_of="2020-04-30") == []


@pytest.mark.ledger("X3")
def test_known_at_returns_the_stored_values_of_that_time(memory: Engine, clock: FrozenClock) -> None:
    start = clock.now()
    made = memory.remember("lives in Lyon", user="ana", valid_from="2020-05-01")
    clock.advance(DAY)
    memory.revise(made.id, "lives in Porto")
    clock.advance(DAY)
    memory.forget(made.id)
    for days, texts in ((-1, []), (0, ["lives in Lyon"]), (1, ["lives in Porto"]), (2, [])):
        assert [m.text for m in memory.memories(user="ana", known_at=start + days * DAY)] == texts


def test_a_forgotten_memory_is_not_shown_with_as_of(memory: Engine, clock: FrozenClock) -> None:
    made = memory.remember("prefers tea", user="ana")
    clock.advance(DAY)
    assert [hit.text for hit in memory.recall("tea", user="ana", as_of=clock.now() - DAY)] == ["prefers tea"]
    memory.forget(made.id)
    assert memory.memories(user="ana", as_of=clock.now() - DAY) == []
    assert memory.recall("tea", user="ana", as_of=clock.now() - DAY) == []


def test_a_forgotten_memory_can_be_restored_until_the_undo_window_ends(memory: Engine, clock: FrozenClock) -> None:
    made = memory.remember("prefers tea", user="ana")
    memory.forget(made.id)
    clock.advance(timedelta(days=30))
    memory.drain()
    memory.undo(memory.history(made.id)[-1])
    assert [m.text for m in memory.memories(user="ana")] == ["prefers tea"]
