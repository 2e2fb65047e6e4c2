"""Changes of stored memories: repeated statements, dates corrected in a file, kinds with one value or a lifetime, and undo."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import Conflict, NotFound, TextTooLong
from holdfast.testing import FrozenClock
from holdfast.text.clean import MAX_TEXT
from holdfast.types import Kind, Put, Retire, Scope
from holdfast.values import MAX_UNINDEXED_TEXT, cleaned
from tests.engine.writing.test_writer import ANA, HOUR, put, writing

OpenMemory = Callable[..., Engine]


@pytest.mark.parametrize("trust", [0.5, 1.0])
def test_a_web_page_that_repeats_a_statement_does_not_lower_its_trust(memory: Engine, clock: FrozenClock, trust: float) -> None:
    page = memory.session(user="ana").add("user", "Ana plays the cello.", origin="web")
    assert page.trust < trust
    first = put(memory, clock, "I play the cello", trust=trust)
    again = put(memory, clock, "I play the cello", sources=(page.id,))
    assert (again.id, again.trust, again.sources, again.revision) == (first.id, trust, (page.id,), 2)


def test_a_statement_that_the_user_repeats_gets_the_trust_of_the_user(memory: Engine, clock: FrozenClock) -> None:
    page = memory.session(user="ana").add("user", "Ana plays the cello.", origin="web")
    said = memory.session(user="ana").add("user", "I play the cello.")
    put(memory, clock, "I play the cello", sources=(page.id,))
    assert put(memory, clock, "I play the cello", sources=(said.id,)).trust == said.trust > page.trust


def test_only_a_date_that_was_corrected_in_a_file_moves_the_date_of_a_memory(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I live in Lyon")
    corrected = clock.now() - 24 * HOUR
    revised = put(memory, clock, "I live in Lyon, France", id=found.id, valid_from=corrected, origin="explicit")
    assert revised.valid_from == found.valid_from
    revised = put(memory, clock, "I live in Lyon, in France", id=found.id, valid_from=corrected, origin="file")
    assert (revised.valid_from, revised.origin) == (corrected, found.origin)
    assert put(memory, clock, "I live there", id=found.id, origin="file").valid_from == corrected


def test_a_revision_keeps_the_fields_that_it_does_not_name_and_empties_those_that_it_says(
    memory: Engine, clock: FrozenClock
) -> None:
    found = put(
        memory, clock, "I live in Lyon", key="home", topic="city", importance=7.0, tags=("a",), metadata={"b": 1},
        expires_at=clock.now() + HOUR, indexed=("where I live",), namespace=("n",), language="en", pinned=True,
    )  # fmt: skip
    clock.advance(timedelta(minutes=1))
    kept = put(memory, clock, "I live in Nantes", id=found.id, key="home")
    assert (kept.topic, kept.importance, kept.tags, kept.metadata, kept.pinned) == ("city", 7.0, ("a",), {"b": 1}, True)
    assert (kept.expires_at, kept.indexed, kept.namespace) == (found.expires_at, ("where I live",), ("n",))
    assert (kept.created_at, kept.valid_from, kept.updated_at) == (found.created_at, found.valid_from, clock.now())
    names: Any = frozenset({"tags", "metadata", "expires_at", "indexed"})
    empty = put(memory, clock, "I live in Nantes", id=found.id, key="home", emptied=names)
    assert (empty.tags, empty.metadata, empty.expires_at, empty.indexed) == ((), {}, None, None)
    assert (empty.topic, empty.importance) == ("city", 7.0)


def test_a_revision_without_a_recognizable_language_keeps_the_language(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "Vivo en Madrid con mi hermana", language="es")
    assert put(memory, clock, "12345", id=found.id).language == "es"
    assert put(memory, clock, "I live in Lyon with my sister and her dog", id=found.id).language == "en"


@pytest.mark.parametrize(("indexed", "limit"), [(None, MAX_TEXT), ((), MAX_UNINDEXED_TEXT)])
def test_the_text_of_a_plain_kind_may_be_longer_if_other_texts_are_indexed(indexed: tuple[str, ...] | None, limit: int) -> None:
    kind = Kind(name="note", meaning="A note", plain=True)
    with pytest.raises(TextTooLong, match=f"{limit:,}"):
        cleaned(kind, Put(scope=ANA, kind="note", text="x" * (limit + 1), indexed=indexed))
    if indexed is not None:
        assert cleaned(kind, Put(scope=ANA, kind="note", text="x" * (MAX_TEXT + 1), indexed=indexed))


# Kinds with one value per key, and kinds with a lifetime


def test_a_new_value_of_a_key_retires_the_old_one_and_says_why(memory: Engine, clock: FrozenClock) -> None:
    old = put(memory, clock, "a rainy day", kind="context", key="weather")
    other = put(memory, clock, "in the office", kind="context", key="place")
    elsewhere = put(memory, clock, "sunny", kind="context", key="weather", namespace=("porto",))
    clock.advance(HOUR)
    new = put(memory, clock, "a sunny day", kind="context", key="weather")
    gone = memory.get(old.id)
    assert (gone.status, gone.reason, gone.replaced_by) == ("superseded", "a newer value of 'weather'", new.id)
    assert [memory.get(each.id).status for each in (other, elsewhere, new)] == ["live", "live", "live"]
    late = put(memory, clock, "a foggy day", kind="context", key="weather", valid_from=clock.now() - HOUR)
    assert (late.status, late.reason, late.replaced_by) == ("superseded", "an older value of 'weather'", new.id)


def test_the_kind_is_the_key_if_a_kind_has_one_value_and_no_key_is_given(memory: Engine, clock: FrozenClock) -> None:
    first = put(memory, clock, "in the office", kind="context")
    clock.advance(HOUR)
    second = put(memory, clock, "at home", kind="context")
    assert (first.key, second.key, memory.get(first.id).replaced_by) == ("context", "context", second.id)


def test_an_accepted_value_replaces_the_value_that_its_key_has_now(memory: Engine, clock: FrozenClock) -> None:
    put(memory, clock, "likes tea", kind="profile", key="drink", origin="explicit", pinned=False)
    clock.advance(HOUR)
    proposed = put(memory, clock, "likes coffee", kind="profile", key="drink", doubtful=True)
    assert proposed.status == "proposed"
    clock.advance(HOUR)
    now = put(memory, clock, "likes cocoa", kind="profile", key="drink", origin="explicit", pinned=False)
    with writing(memory, clock) as writer:
        accepted = writer.accept(proposed.id)
    assert (accepted.status, accepted.text) == ("live", "likes coffee")
    assert (memory.get(now.id).status, memory.get(now.id).replaced_by) == ("superseded", proposed.id)
    assert [each.text for each in memory.memories(user="ana", kind="profile")] == ["likes coffee"]


def test_accepting_a_live_memory_of_low_trust_gives_it_full_trust_and_retires_nothing(memory: Engine, clock: FrozenClock) -> None:
    other = put(memory, clock, "I live in Lyon")
    doubted = put(memory, clock, "I live in Nantes", trust=0.2, metadata={"a": 1})
    with writing(memory, clock) as writer:
        accepted = writer.accept(doubted.id)
    assert (accepted.id, accepted.status, accepted.trust, accepted.metadata) == (doubted.id, "live", 1.0, {"a": 1})
    assert memory.get(other.id).status == "live"


def test_the_day_of_a_memory_ends_at_midnight_where_the_user_lives(memory: Engine, clock: FrozenClock) -> None:
    assert put(memory, clock, "in the office", kind="context", key="a").expires_at == datetime(2026, 3, 2, tzinfo=UTC)
    memory.set_user("ana", timezone="America/New_York")
    assert put(memory, clock, "at home", kind="context", key="b").expires_at == datetime(2026, 3, 2, 5, tzinfo=UTC)
    until = clock.now() + HOUR
    assert put(memory, clock, "on a train", kind="context", key="c", expires_at=until).expires_at == until


def test_stating_it_again_starts_the_lifetime_of_a_memory_again(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(preset="reachy")
    first = put(memory, clock, "we spoke about the garden", kind="conversation")
    assert first.expires_at == clock.now() + timedelta(days=30)
    clock.advance(timedelta(days=10))
    again = put(memory, clock, "we spoke about the garden", kind="conversation")
    assert (again.id, again.expires_at) == (first.id, clock.now() + timedelta(days=30))
    assert memory.get(first.id).expires_at == again.expires_at


def test_two_sentences_about_the_same_named_thing_are_one_memory(memory: Engine, clock: FrozenClock) -> None:
    first = put(memory, clock, "has a cat named Michi", key="pet", language="en")
    other = put(memory, clock, "has a cat named Luna", key="pet", language="en")
    again = put(memory, clock, "their cat is called Michi", key="pet", language="en")
    assert (again.id, again.text) == (first.id, "has a cat named Michi")
    assert other.id != first.id
    assert put(memory, clock, "their cat is called Michi", key="animal", language="en").id != first.id


# Undo


def test_an_erased_or_unknown_memory_cannot_be_changed(memory: Engine, clock: FrozenClock) -> None:
    found = put(memory, clock, "I live in Lyon")
    (change,) = memory.history(found.id)
    memory.erase(id=found.id)
    with pytest.raises(NotFound):
        memory.undo(change.id)
    with writing(memory, clock) as writer, pytest.raises(NotFound, match="was erased and cannot be restored"):
        writer._undo_one(change, "bat_1")
    with pytest.raises(NotFound, match=found.id):
        put(memory, clock, "I live in Nantes", id=found.id)
    with writing(memory, clock) as writer, pytest.raises(NotFound, match=found.id):
        writer.apply([Retire(id=found.id, status="forgotten", reason="x")])


def test_undoing_is_refused_if_the_key_has_a_newer_value(memory: Engine, clock: FrozenClock) -> None:
    old = put(memory, clock, "a rainy day", kind="context", key="weather")
    memory.forget(old.id)
    new = put(memory, clock, "a sunny day", kind="context", key="weather")
    with pytest.raises(Conflict, match=new.id):
        memory.undo(memory.history(old.id)[-1].id)
    memory.forget(new.id)
    memory.undo(memory.history(old.id)[-1].id)
    assert memory.get(old.id).status == "live"


def test_a_value_in_another_scope_or_namespace_does_not_prevent_undoing(memory: Engine, clock: FrozenClock) -> None:
    old = put(memory, clock, "a rainy day", kind="context", key="weather")
    memory.forget(old.id)
    put(memory, clock, "a rainy day", kind="context", key="weather", namespace=("porto",))
    with writing(memory, clock) as writer:
        writer.apply([Put(scope=Scope(user="bob"), kind="context", key="weather", text="a rainy day")])
    memory.undo(memory.history(old.id)[-1].id)
    assert memory.get(old.id).status == "live"


def test_a_key_keeps_the_spelling_that_is_already_used(memory: Engine, clock: FrozenClock) -> None:
    first = put(memory, clock, "I play the cello", key="Tiempo Libre")
    with writing(memory, clock) as writer:
        changes = (("I play chess", "tiempo libre", "ana"), ("I play golf", "sport", "ana"), ("I play darts", "SPORT", "ana"))
        made = writer.apply([Put(scope=Scope(user=user), kind="fact", text=text, key=key) for text, key, user in changes])
    assert [each.key for each in made] == [first.key, "sport", "sport"]
