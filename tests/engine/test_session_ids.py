"""A session id is unique within a scope. An unknown id without a scope is refused, so no shared session is created by mistake."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput, NotFound
from holdfast.testing import FrozenClock


def talk(memory: Engine, text: str, **scope: Any) -> None:
    with memory.session(id="main", **scope) as session:
        session.add("user", text, id="m1")


def texts(memory: Engine, **scope: Any) -> list[str]:
    return [message.text for message in memory.session(id="main", **scope).messages()]


@pytest.mark.everywhere
def test_the_same_id_of_two_users_names_two_sessions(memory: Engine) -> None:
    talk(memory, "I live in Lyon.", user="ana")
    talk(memory, "I live in Rome.", user="bob")
    talk(memory, "I live in Oslo.", user="ana", app="kitchen")
    assert texts(memory, user="ana") == ["I live in Lyon."]
    assert texts(memory, user="bob") == ["I live in Rome."]
    memory.drain()
    learned = {user: [found.text for found in memory.memories(user=user)] for user in ("ana", "bob")}
    assert any("Lyon" in text for text in learned["ana"])
    assert any("Rome" in text for text in learned["bob"])
    assert not any("Rome" in text for text in learned["ana"])
    assert len(memory.sessions()) == 3


@pytest.mark.everywhere
def test_erasing_one_of_two_sessions_with_the_same_id_leaves_the_other(
    memory: Engine, files_with: Callable[[str], list[str]]
) -> None:
    talk(memory, "My word is zanzibarquartz.", user="ana")
    talk(memory, "My word is amberlighthouse.", user="bob")
    with pytest.raises(InvalidInput, match="Several users"):
        memory.erase(session="main")
    receipt = memory.for_user("ana").erase(session="main")
    assert (receipt.sessions, receipt.messages, receipt.verified) == (1, 1, True)
    assert texts(memory, user="bob") == ["My word is amberlighthouse."]
    assert [job.payload["user"] for job in memory.jobs(states=["queued"])] == ["bob"]
    memory.drain()
    assert files_with("zanzibarquartz") == []


@pytest.mark.everywhere
def test_erasing_a_user_leaves_another_users_session_with_the_same_id(memory: Engine) -> None:
    talk(memory, "I live in Lyon.", user="ana")
    talk(memory, "I live in Rome.", user="bob")
    assert memory.erase(user="ana").sessions == 1
    assert texts(memory, user="bob") == ["I live in Rome."]


def test_an_unknown_id_without_a_scope_is_refused(memory: Engine) -> None:
    with pytest.raises(NotFound, match="name its user"):
        memory.session(id="ses_stale_cookie")
    assert memory.sessions() == []


def test_an_id_that_several_users_have_is_refused_without_a_scope(memory: Engine) -> None:
    talk(memory, "I live in Lyon.", user="ana")
    assert memory.session(id="main").scope.user == "ana"
    talk(memory, "I live in Rome.", user="bob")
    with pytest.raises(InvalidInput, match="Several users"):
        memory.session(id="main")


def test_a_shared_session_is_an_explicit_choice(memory: Engine) -> None:
    memory.session(id="kitchen", shared=True).add("user", "The oven is hot.")
    assert memory.session(id="kitchen").scope.user is None
    assert memory.session(id="kitchen", user="ana").messages() == []


def test_message_ids_of_two_sessions_do_not_clash(memory: Engine) -> None:
    for user in ("ana", "bob"):
        session = memory.session(id="main", user=user)
        session.add("user", f"I am {user}.", id="m1")
        session.add("user", f"I am {user}.", id="m1")
    assert memory.stats().messages == 2


def test_idle_sessions_with_the_same_id_are_both_closed(memory: Engine, clock: FrozenClock) -> None:
    for user, city in (("ana", "Lyon"), ("bob", "Rome")):
        memory.session(id="main", user=user).add("user", f"I live in {city}.")
    clock.advance(timedelta(hours=1))
    memory.drain()
    assert {session.status for session in memory.sessions()} == {"idle"}
    assert all(memory.memories(user=user) for user in ("ana", "bob"))
