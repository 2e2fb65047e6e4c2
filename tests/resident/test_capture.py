"""Memories of a project session: where they are stored, corrected and erased."""

from holdfast import Engine
from holdfast.learning.placement import PROJECT
from holdfast.types import Scope


def _talk(memory: Engine, id: str, *texts: str) -> None:
    session = memory.session(user="ana", app="shop", id=id)
    session.begin(metadata={PROJECT: "shop"})
    for text in texts:
        session.add("user", text)
    session.end()
    memory.drain()


def _facts(memory: Engine) -> dict[str, Scope]:
    return {each.text: each.scope for each in memory.memories(user="ana", app="shop", kind="fact")}


def test_a_new_value_replaces_the_users_old_one_from_another_project(memory: Engine) -> None:
    memory.remember("I live in Lyon", user="ana")
    _talk(memory, "s1", "I moved to Nantes. I live in Nantes now.")
    texts = _facts(memory)
    assert not any("Lyon" in text for text in texts)
    assert all(scope == Scope(user="ana") for text, scope in texts.items() if "Nantes" in text)


def test_erasing_the_project_erases_what_was_learned_from_its_sessions(memory: Engine) -> None:
    _talk(memory, "s1", "I live in Lyon. In this repo we run tests with make check.")
    assert set(_facts(memory)) == {"I live in Lyon.", "In this repo we run tests with make check."}
    memory.erase(app="shop")
    assert memory.memories(user="ana") == []
    assert memory.recall("Lyon", user="ana") == []


def test_erasing_a_session_erases_what_the_user_said_about_themselves_in_it(memory: Engine) -> None:
    _talk(memory, "s1", "I live in Lyon.")
    memory.erase(session="s1")
    assert memory.memories(user="ana") == []


def test_a_session_without_a_project_keeps_everything_in_its_app(memory: Engine) -> None:
    with memory.session(user="ana", app="kitchen") as session:
        session.add("user", "I live in Lyon.")
    memory.drain()
    assert [each.scope for each in memory.memories(user="ana", app="kitchen", kind="fact")] == [Scope(user="ana", app="kitchen")]
