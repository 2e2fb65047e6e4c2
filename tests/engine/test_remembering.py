"""When a text becomes a new memory, refreshes an existing memory, or supersedes one."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Engine, Kind, Preset
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.testing import FrozenClock

HOUR = timedelta(hours=1)


def test_a_stored_memory_is_returned_and_listed(memory: Engine) -> None:
    made = memory.remember(
        "prefers tea", key="drink", user="ana", tags=["taste"], metadata={"sure": True}, topic="drinks", importance=8
    )
    assert (made.text, made.key, made.kind, made.importance, made.tags) == ("prefers tea", "drink", "fact", 8.0, ("taste",))
    assert memory.memories(user="ana") == [made]
    assert memory.get(made.id) == made
    assert str(made) == "drink: prefers tea"


def test_a_memory_is_there_after_reopening(open_memory: Callable[..., Engine]) -> None:
    with open_memory() as memory:
        made = memory.remember("prefers tea", user="ana")
    assert open_memory().memories(user="ana") == [made]


def test_a_repeated_memory_only_updates_its_last_seen_time(memory: Engine, clock: FrozenClock) -> None:
    first = memory.remember("prefers tea", user="ana")
    clock.advance(HOUR)
    again = memory.remember("prefers tea", user="ana")
    assert again.id == first.id
    assert (again.revision, again.updated_at, again.last_seen_at) == (1, first.updated_at, clock.now())
    assert len(memory.history(first.id)) == 1
    assert memory.memories(user="ana") == [again]


@pytest.mark.parametrize(
    "variant", ["Prefers Tea", "prefers tea.", "  prefers   tea ", "prefers téa", "¡PREFERS TEA!", "prefers tea"]
)
def test_differences_in_case_accents_spaces_and_final_punctuation_make_no_new_memory(memory: Engine, variant: str) -> None:
    first = memory.remember("prefers tea", user="ana")
    assert memory.remember(variant, user="ana").id == first.id


@pytest.mark.parametrize(
    "other",
    [
        {"text": "prefers coffee"},
        {"text": "prefers tea", "key": "drink"},
        {"text": "prefers tea", "kind": "event"},
        {"text": "prefers tea", "user": "bob"},
        {"text": "prefers tea", "app": "kitchen"},
    ],
)
def test_another_text_key_kind_or_scope_makes_a_new_memory(memory: Engine, other: dict[str, str]) -> None:
    first = memory.remember("prefers tea", user="ana")
    assert memory.remember(**{"user": "ana", **other}).id != first.id  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"room": "hall"}},
        {"importance": 9.0},
        {"tags": ["x"]},
        {"topic": "tea"},
        {"pinned": True},
        {"sources": ["msg_1"]},
    ],
)
def test_the_same_fact_with_more_detail_makes_a_revision(memory: Engine, more: dict[str, object]) -> None:
    first = memory.remember("prefers tea", user="ana")
    again = memory.remember("prefers tea", user="ana", **more)  # type: ignore[arg-type]
    assert (again.id, again.revision) == (first.id, 2)
    assert [change.action for change in memory.history(first.id)] == ["created", "revised"]


@pytest.mark.ledger("U1")
def test_several_values_may_share_a_multi_value_key(memory: Engine) -> None:
    for value in ("tea", "juice", "tea"):
        memory.remember(value, key="drink", user="ana")
    assert {m.text for m in memory.memories(user="ana", key="drink")} == {"tea", "juice"}


@pytest.mark.ledger("X3")
def test_a_single_value_key_keeps_the_newest_value_and_the_history(memory: Engine, clock: FrozenClock) -> None:
    old = memory.remember("Lyon", kind="profile", key="city", user="ana")
    clock.advance(HOUR)
    new = memory.remember("Porto", kind="profile", key="city", user="ana")
    assert [m.text for m in memory.memories(user="ana", key="city")] == ["Porto"]
    (retired,) = memory.memories(user="ana", retired=True)
    assert (retired.id, retired.status, retired.replaced_by, retired.valid_to) == (old.id, "superseded", new.id, clock.now())
    assert retired.reason


def test_a_single_value_key_has_one_value_per_scope(memory: Engine) -> None:
    for user in ("ana", "bob"):
        memory.remember(f"{user}'s city", kind="profile", key="city", user=user)
    assert [m.text for m in memory.memories(user="ana", key="city")] == ["ana's city"]


def test_a_single_value_kind_uses_its_name_as_the_default_key(memory: Engine) -> None:
    memory.remember("a cook", kind="profile", user="ana")
    memory.remember("a baker", kind="profile", user="ana")
    assert [(m.key, m.text) for m in memory.memories(user="ana")] == [("profile", "a baker")]


def test_a_kind_without_keys_refuses_one(memory: Engine) -> None:
    with pytest.raises(InvalidInput, match="no key"):
        memory.remember("a party", kind="event", key="when", user="ana")


def test_a_revision_keeps_the_id_and_what_was_not_changed(memory: Engine, clock: FrozenClock) -> None:
    first = memory.remember("lives in Lyon", user="ana", metadata={"sure": True}, importance=7)
    clock.advance(HOUR)
    revised = memory.revise(first.id, "lives in Porto", reason="moved")
    assert (revised.id, revised.revision, revised.text) == (first.id, 2, "lives in Porto")
    assert (revised.metadata, revised.importance, revised.created_at) == ({"sure": True}, 7.0, first.created_at)
    assert memory.memories(user="ana") == [revised]
    assert memory.history(first.id)[-1].reason == "moved"


def test_a_revision_can_empty_tags_and_metadata(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana", tags=["drink"], metadata={"source": "chat"})
    assert memory.revise(made.id, tags=[]).tags == ()
    revised = memory.revise(made.id, metadata={})
    assert (revised.tags, revised.metadata) == ((), {})


def test_a_revision_that_says_what_another_memory_says_is_refused(memory: Engine) -> None:
    memory.remember("lives in Porto", user="ana")
    other = memory.remember("lives in Lyon", user="ana")
    with pytest.raises(Conflict):
        memory.revise(other.id, "Lives in Porto.")
    assert memory.get(other.id).text == "lives in Lyon"


def test_forgetting_by_id_hides_at_once(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    assert memory.forget(made.id) == 1
    assert memory.memories(user="ana") == []
    assert memory.recall("tea", user="ana") == []
    assert memory.get(made.id).status == "forgotten"


def test_forgetting_twice_counts_once(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    assert [memory.forget(made.id), memory.forget(made.id)] == [1, 0]


@pytest.mark.ledger("U3")
def test_forgetting_by_key_counts_the_values(memory: Engine) -> None:
    for value in ("tea", "juice"):
        memory.remember(value, key="drink", user="ana")
    memory.remember("bread", key="food", user="ana")
    assert memory.forget(key="drink", user="ana") == 2
    assert [m.text for m in memory.memories(user="ana")] == ["bread"]


def test_forgetting_by_key_for_a_user_touches_neither_the_shared_nor_another_users(memory: Engine) -> None:
    for user in (None, "ana", "bob"):
        memory.remember(f"of {user}", key="drink", user=user)
    assert memory.forget(key="drink", user="ana") == 1
    assert {m.text for m in memory.memories(user="bob")} == {"of None", "of bob"}


def test_forgetting_by_key_and_kind_leaves_other_kinds(memory: Engine) -> None:
    memory.remember("tea", key="drink", user="ana")
    memory.remember("water today", kind="context", key="drink", user="ana")
    assert memory.forget(key="drink", kind="context", user="ana") == 1
    assert [m.text for m in memory.memories(user="ana")] == ["tea"]


@pytest.mark.parametrize("wanted", [{}, {"id": "mem_1", "key": "drink"}, {"id": ""}, {"key": ""}, {"key": " "}])
def test_forget_requires_exactly_one_target(memory: Engine, wanted: dict[str, str]) -> None:
    memory.remember("shared by all")
    with pytest.raises(InvalidInput):
        memory.forget(**wanted)
    assert len(memory.memories()) == 1


@pytest.mark.parametrize("importance", [0, 10, 3.5])
def test_importance_ranges_from_zero_to_ten(memory: Engine, importance: float) -> None:
    assert memory.remember("x marks it", importance=importance).importance == importance


@pytest.mark.parametrize("importance", [-0.1, 10.1, float("nan"), float("inf")])
def test_importance_outside_its_bounds_is_refused(memory: Engine, importance: float) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        memory.remember("x marks it", importance=importance)
    assert memory.memories() == []


def test_importance_outside_its_bounds_is_refused_also_for_what_is_known(memory: Engine) -> None:
    made = memory.remember("x marks it")
    with pytest.raises(InvalidInput, match="importance"):
        memory.remember("x marks it", importance=99)
    assert memory.get(made.id).importance == 5


@pytest.mark.ledger("C4")
def test_metadata_filters_lists_and_recall(memory: Engine) -> None:
    memory.remember("the lamp is red", user="ana", metadata={"room": "hall", "level": 3, "on": True})
    memory.remember("the lamp is blue", user="ana", metadata={"room": "kitchen", "level": 5, "on": False})
    for where in ({"room": "hall"}, {"level": {"$lt": 4}}, {"on": True}, {"room": ["hall", "attic"]}):
        assert [m.text for m in memory.memories(user="ana", where=where)] == ["the lamp is red"]
        assert [hit.text for hit in memory.recall("lamp", user="ana", where=where)] == ["the lamp is red"]


def test_a_pinned_memory_is_part_of_every_context(memory: Engine) -> None:
    memory.remember("is allergic to nuts", user="ana", pinned=True)
    assert "allergic to nuts" in memory.context("what is the weather?", user="ana").stable


def test_a_kind_can_be_pinned_as_a_whole(memory: Engine) -> None:
    memory.remember("a cook from Lyon", kind="profile", user="ana")
    assert memory.memories(user="ana")[0].pinned


def test_a_custom_preset_needs_only_a_few_lines(open_memory: Callable[..., Engine]) -> None:
    recipe = Kind(name="recipe", meaning="How to cook something", keyed="one")
    memory = open_memory(preset=Preset(name="mine", kinds=(recipe,), default_kind="recipe"))
    memory.remember("boil it", key="egg")
    memory.remember("fry it", key="egg")
    assert [m.text for m in memory.memories(key="egg")] == ["fry it"]
    with pytest.raises(InvalidInput, match="recipe"):
        memory.remember("x", kind="fact")


def test_an_unknown_id_is_not_found(memory: Engine) -> None:
    for call in (memory.get, memory.history, memory.undo, memory.forget, memory.rerun):
        with pytest.raises(NotFound, match="mem_absent"):
            call("mem_absent")
    with pytest.raises(NotFound):
        memory.revise("mem_absent", "x")


def test_forgetting_a_text_says_that_an_id_or_key_is_needed(memory: Engine) -> None:
    memory.remember("likes tea", user="ana")
    with pytest.raises(
        NotFound, match=r"There is no memory 'likes tea'\. forget takes an id or key=; search first with recall\."
    ):
        memory.forget("likes tea", user="ana")


def test_forgetting_a_message_says_how_to_erase_it(memory: Engine) -> None:
    said = memory.session(user="ana").add("user", "I live in Lyon now.")
    with pytest.raises(NotFound, match=rf"erase\(source='{said.id}'\)"):
        memory.forget(said.id)
    with pytest.raises(NotFound) as foreign:
        memory.forget(said.id, user="bob")
    assert "message" not in str(foreign.value)


def test_forgetting_an_unknown_key_is_not_found(memory: Engine) -> None:
    memory.remember("tea", key="drink", user="bob")
    with pytest.raises(NotFound, match="'drink'"):
        memory.forget(key="drink", user="ana")


def test_forgetting_twice_counts_nothing_the_second_time(memory: Engine) -> None:
    kept = memory.remember("likes tea", user="ana")
    assert [memory.forget(kept.id), memory.forget(kept.id)] == [1, 0]
