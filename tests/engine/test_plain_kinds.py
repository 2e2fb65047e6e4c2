"""Plain kinds: memories as an exact key-value store, without redaction, learning or history. Only erasing rewrites files."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import apsw
import pytest

from holdfast import Conflict, Engine, InvalidInput, Kind, NotFound, RevisionConflict, TextTooLong
from holdfast.presets import find_preset
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import FrozenClock, ScriptedChat
from tests.places import Place

BOTH = pytest.mark.everywhere("sqlite", "postgres")
DEFAULT = find_preset("default")
PRESET = replace(
    DEFAULT,
    kinds=(
        *DEFAULT.kinds,
        Kind(name="item", meaning="An item of a store", keyed="one", plain=True),
        Kind(name="note", meaning="An entry of a log", plain=True),
    ),
)
ODD = ' "Hello,  World!"\r\n\tpassword: hunter2hunter2 4111 1111 1111 1111 \u200b\ufeff É '


@pytest.fixture
def memory(open_memory: Callable[..., Engine]) -> Engine:
    return open_memory(preset=PRESET)


@BOTH
def test_everything_is_kept_exactly(memory: Engine) -> None:
    value = {"auth": {"token": "abc123def456ghi789"}, "card": ["4111 1111 1111 1111"], "key": "sk-abcdefghijklmnopqrstuvwx"}
    for key in (ODD, " a", "a", "A", "á", "a.", "/dir/file.md"):
        memory.remember(ODD, kind="item", key=key, user="ana", metadata=value, index=[ODD])
    assert memory.count_memories(user="ana", kind="item") == 7
    (found,) = memory.memories(user="ana", kind="item", key=ODD)
    assert (found.text, found.key, found.metadata, found.indexed) == (ODD, ODD, value, (ODD,))
    assert memory.count_memories(user="ana", kind="item", key="a", where={"auth.token": "abc123def456ghi789"}) == 1


@BOTH
def test_texts_that_differ_only_in_case_or_punctuation_differ(memory: Engine) -> None:
    for text in ("hello world", "Hello World", "hello world!", "hello  world"):
        memory.remember(text, kind="note", user="ana")
        stored = memory.remember(text, kind="item", key="k", user="ana")
        assert stored.text == text
    assert memory.count_memories(user="ana", kind="note") == 4
    assert memory.count_memories(user="ana", kind="item") == 1


@BOTH
def test_a_value_is_stored_only_if_the_key_has_the_expected_revision(memory: Engine) -> None:
    first = memory.remember("1", kind="item", key="k", user="ana", if_revision=0)
    with pytest.raises(RevisionConflict, match="has revision 1, not 0") as raised:
        memory.remember_all(
            [{"text": "x", "kind": "item", "key": "new"}, {"text": "2", "kind": "item", "key": "k", "if_revision": 0}], user="ana"
        )
    assert (raised.value.expected, raised.value.current) == (0, 1)
    assert [item.text for item in memory.memories(user="ana", kind="item")] == ["1"]
    second = memory.remember("2", kind="item", key="k", user="ana", if_revision=first.revision)
    assert (second.id, second.text, second.revision) == (first.id, "2", 2)
    with pytest.raises(RevisionConflict, match="There is no such memory"):
        memory.remember("2", kind="item", key="other", user="ana", if_revision=2)
    memory.remember("1", kind="item", key="k", user="bob", if_revision=0)  # another scope
    memory.remember("1", kind="item", key="k", user="ana", namespace=("docs",), if_revision=0)  # another namespace


def test_a_text_that_is_not_indexed_may_be_longer(memory: Engine) -> None:
    text = "x" * (5 << 20)
    with pytest.raises(TextTooLong, match="250,000"):
        memory.remember(text, kind="item", key="k", user="ana")
    stored = memory.remember(text, kind="item", key="k", user="ana", index=["a long text"])
    assert len(memory.get(stored.id).text) == len(text)
    with pytest.raises(TextTooLong, match="16,777,216"):
        memory.remember("x" * (17 << 20), kind="item", key="k", user="ana", index=False)


@BOTH
def test_a_text_may_be_empty(memory: Engine) -> None:
    stored = memory.remember("", kind="item", key="/empty.txt", user="ana", namespace=("files",))
    memory.drain()
    assert memory.get(stored.id).text == ""
    assert memory.revise(stored.id, "full").text == "full"
    assert memory.revise(stored.id, "").text == ""
    assert memory.memories(user="ana", kind="item")[0].id == stored.id


@BOTH
def test_a_new_value_replaces_the_old_one_in_place(
    memory: Engine, clock: FrozenClock, files_with: Callable[[str], list[str]]
) -> None:
    first = memory.remember("quiet axolotls dream", kind="item", key="k", user="ana", metadata={"a": 1}, tags=["x"])
    clock.advance(timedelta(hours=1))
    second = memory.remember("loud pangolins sing", kind="item", key="k", user="ana", metadata={"b": 2})
    assert (second.id, second.revision, second.created_at, second.updated_at) == (first.id, 2, first.created_at, clock.now())
    assert (second.metadata, second.tags) == ({"b": 2}, ())
    assert memory.get(first.id) == second
    assert [change.revision for change in memory.history(first.id)] == [2]
    assert memory.memories(user="ana", retired=True) == []
    memory.drain()
    assert memory.stats().vectors == 1
    if isinstance(memory._services.store, SQLiteStore):
        memory._services.store.scrub([], rewrite=False)
        assert files_with("axolotl") == []
    with pytest.raises(Conflict, match="keeps no earlier values"):
        memory.undo(memory.history(first.id)[-1])
    assert all(finding.ok for finding in memory.doctor())


@BOTH
def test_compare_and_set_works_on_a_key(memory: Engine) -> None:
    stored = memory.remember("1", kind="item", key="counter", user="ana")
    changed = memory.revise(stored.id, "2", if_revision=1)
    with pytest.raises(RevisionConflict):
        memory.revise(stored.id, "3", if_revision=1)
    assert memory.revise(stored.id, "3", if_revision=changed.revision).revision == 3
    assert len(memory._services.store.revisions(stored.id)) == 1


def _files_written(place: Place) -> object:
    """Return a value that changes when the store rewrites its files: SQLite's schema cookie, or PostgreSQL's file numbers."""
    if place.address is None:
        with closing(apsw.Connection(str(place.folder / "memory.db"))) as connection:
            return connection.execute("PRAGMA schema_version").get
    import psycopg  # noqa: PLC0415  (only if the extra is installed)

    with psycopg.connect(place.address) as session:
        return session.execute("SELECT relname, relfilenode FROM pg_class WHERE relkind = 'r' ORDER BY oid").fetchall()


@BOTH
def test_forgetting_removes_at_once_and_rewrites_no_file(
    memory: Engine, place: Place, files_with: Callable[[str], list[str]]
) -> None:
    store, before = memory._services.store, _files_written(place)
    stored = memory.remember("quiet axolotls dream", kind="item", key="k", user="ana", metadata={"x": "loud pangolins sing"})
    other = memory.remember("stays", kind="item", key="other", user="ana")
    memory.drain()
    assert memory.forget(stored.id) == 1
    with pytest.raises(NotFound):
        memory.get(stored.id)
    memory.drain()
    assert _files_written(place) == before
    if isinstance(store, SQLiteStore):
        assert files_with("axolotl") == files_with("pangolin") == []
        assert store.setting("scrub") == "done"
    assert memory.forget(key="other", kind="item", user="ana") == 1
    assert memory.count_memories(user="ana") == 0
    assert memory.recall("stays", user="ana") == []
    assert other.id not in {each.id for each in memory.memories(user="ana", retired=True)}
    assert all(finding.ok for finding in memory.doctor())


@BOTH
def test_an_expired_value_is_purged_without_rewriting_the_file(memory: Engine, place: Place, clock: FrozenClock) -> None:
    before = _files_written(place)
    memory.remember("short", kind="item", key="k", user="ana", expires_at=clock.now() + timedelta(minutes=1))
    clock.advance(timedelta(minutes=2))
    assert memory.memories(user="ana") == []
    assert memory.purge_expired() == 1
    assert _files_written(place) == before


@BOTH
def test_erasing_a_value_rewrites_the_files(memory: Engine, place: Place) -> None:
    stored = memory.remember("quiet axolotls dream", kind="item", key="k", user="ana")
    before = _files_written(place)
    memory.erase(id=stored.id)
    assert _files_written(place) != before


@BOTH
def test_a_conversation_does_not_change_a_plain_memory(memory: Engine) -> None:
    memory.remember("I live in Lyon now.", kind="note", user="ana")
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Madrid now.")
        talk.add("user", "I live in Lyon now.")
    memory.drain()
    (note,) = memory.memories(user="ana", kind="note")
    assert (note.revision, note.sources, note.last_seen_at) == (1, (), note.created_at)
    assert "I live in Lyon now." in {each.text for each in memory.memories(user="ana", kind="fact")}


def test_no_model_is_shown_a_plain_memory(open_memory: Callable[..., Engine]) -> None:
    prompts: list[str] = []

    def respond(asked: object) -> str:
        prompts.append(str(asked))
        return "[]"

    memory = open_memory(preset=PRESET, chat=ScriptedChat(respond=respond))
    memory.remember("the quiet axolotl", kind="note", user="ana")
    memory.remember("the loud pangolin", kind="fact", user="ana")
    with memory.session(user="ana") as talk:
        talk.add("user", "I saw an axolotl and a pangolin today.")
    memory.drain()
    assert any("the loud pangolin" in prompt for prompt in prompts)
    assert not any("the quiet axolotl" in prompt for prompt in prompts)


@BOTH
def test_no_context_shows_a_plain_memory(memory: Engine) -> None:
    memory.remember("I live in Lyon now.", kind="item", key="city", user="ana", pinned=True)
    with memory.session(user="ana") as talk:
        talk.add("user", "I live in Madrid now.")
    memory.drain()
    assert {each.text: each.status for each in memory.memories(user="ana")} == {
        "I live in Lyon now.": "live",
        "I live in Madrid now.": "live",
    }
    context = memory.context("Where do I live?", user="ana")
    assert "Lyon" not in context.text
    assert "Madrid" in context.text
    assert any("Lyon" in hit.text for hit in memory.recall("Where do I live?", user="ana"))


def test_models_are_not_offered_plain_kinds(memory: Engine) -> None:
    assert "item" not in {kind.name for kind in memory.preset.learned_kinds}
    assert {"fact", "event"} <= {kind.name for kind in memory.preset.learned_kinds}
    only = replace(DEFAULT, kinds=(Kind(name="item", meaning="x", plain=True),), default_kind="item")
    assert [kind.name for kind in only.learned_kinds] == ["item"]


@pytest.mark.parametrize(
    "wrong", [{"text": "a\x00"}, {"text": "\ud800"}, {"key": "a\x00"}, {"metadata": {"a": ["\x00"]}}, {"metadata": {"\ud800": 1}}, {"key": ""}], ids=repr
)  # fmt: skip
def test_a_value_that_cannot_be_stored_exactly_is_refused(memory: Engine, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.remember(**{"text": "x", "key": "k", "kind": "item", "user": "ana", **wrong})


def test_the_last_of_two_values_in_one_call_wins(memory: Engine) -> None:
    one, two = memory.remember_all(
        [{"text": "1", "kind": "item", "key": "k"}, {"text": "2", "kind": "item", "key": "k"}], user="ana"
    )
    assert one.id == two.id
    assert [each.text for each in memory.memories(user="ana")] == ["2"]
