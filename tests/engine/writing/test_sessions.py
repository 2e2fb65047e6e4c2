"""The calls of a session: begin, digest, end, pop, erase and context, on and off the record."""

from datetime import timedelta

import pytest

from holdfast import Engine
from holdfast.errors import NotFound
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.types import Scope

ANA = Scope(user="ana")


def jobs(memory: Engine) -> list[str]:
    return [job.kind for job in memory.jobs()]


def test_a_session_is_stored_before_its_first_message_and_keeps_its_first_metadata(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana", id="s")
    begun = session.begin(metadata={"room": "kitchen"})
    assert (begun.id, begun.scope, begun.started_at, begun.last_at) == ("s", ANA, clock.now(), clock.now())
    clock.advance(timedelta(hours=1))
    again = session.begin(metadata={"room": "hall"})
    assert (again.started_at, again.metadata) == (begun.started_at, {"room": "kitchen"})
    stored = services(memory).store.session("s", ANA)
    assert stored is not None
    assert stored.metadata == {"room": "kitchen"}


def test_off_the_record_no_call_stores_anything(memory: Engine) -> None:
    session = memory.session(user="ana", id="s", off_record=True)
    assert session.begin(metadata={"room": "kitchen"}).metadata == {"room": "kitchen"}
    session.add("user", "I like tea.")
    session.digest()
    session.context()
    assert [each.text for each in session.messages()] == ["I like tea."]
    last = session.pop()
    assert last is not None
    assert (last.text, session.pop(), session.messages()) == ("I like tea.", None, [])
    session.add("user", "I like chess.")
    receipt = session.erase()
    assert (receipt.target, session.messages()) == ({"session": "s"}, [])
    session.end()
    assert (services(memory).store.session("s", ANA), jobs(memory), memory.sessions(user="ana")) == (None, [], [])


def test_a_digest_in_between_queues_a_job_and_leaves_the_session_open(memory: Engine) -> None:
    session = memory.session(user="ana", id="s")
    session.digest()
    assert jobs(memory) == [], "there is nothing to digest"
    session.add("user", "I play the cello.")
    session.digest()
    assert jobs(memory) == ["digest"]
    stored = services(memory).store.session("s", ANA)
    assert stored is not None
    assert (stored.status, stored.ended_at) == ("open", None)


def test_the_with_block_ends_the_session_even_after_an_error(memory: Engine) -> None:
    def fail() -> None:
        with memory.session(user="ana", id="s") as session:
            session.add("user", "I play the cello.")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    stored = services(memory).store.session("s", ANA)
    assert stored is not None
    assert stored.status == "ended"
    assert jobs(memory) == ["digest"]


def test_a_new_message_opens_an_ended_session_again(memory: Engine, clock: FrozenClock) -> None:
    session = memory.session(user="ana", id="s")
    session.add("user", "I play the cello.")
    session.end()
    clock.advance(timedelta(hours=1))
    session.add("user", "And the piano.")
    stored = services(memory).store.session("s", ANA)
    assert stored is not None
    assert (stored.status, stored.ended_at, stored.last_at) == ("open", None, clock.now())
    assert stored.started_at == clock.now() - timedelta(hours=1)


def test_pop_removes_the_last_message_with_what_was_derived_from_it(memory: Engine) -> None:
    session = memory.session(user="ana", id="s")
    first, second = session.add("user", "I play the cello."), session.add("user", "I live in Lyon.")
    memory.remember("plays the cello", user="ana", sources=[first.id])
    memory.remember("lives in Lyon", user="ana", sources=[second.id])
    popped = session.pop()
    assert popped is not None
    assert (popped.id, [each.id for each in session.messages()]) == (second.id, [first.id])
    assert [each.text for each in memory.memories(user="ana")] == ["plays the cello"]
    session.pop()
    assert (session.pop(), memory.memories(user="ana")) == (None, [])


def test_a_session_that_was_never_stored_cannot_be_erased(memory: Engine) -> None:
    with pytest.raises(NotFound):
        memory.session(user="ana", id="s").erase()


def test_the_last_words_of_the_user_are_the_query_of_a_context(memory: Engine) -> None:
    memory.remember("the cello has four strings", user="ana")
    memory.remember("the oven is hot", user="ana")
    session = memory.session(user="ana")
    session.add("user", "tell me about the oven")
    session.add("user", "and about the cello")
    session.add("assistant", "The oven is hot.")
    assert session.context().hits[0].text == "the cello has four strings"
    assert session.context("oven hot").hits[0].text == "the oven is hot"


def test_messages_of_the_session_itself_are_not_recalled(memory: Engine) -> None:
    memory.session(user="ana", id="other").add("user", "The cello has four strings.")
    session = memory.session(user="ana", id="s")
    own = session.add("user", "The cello has four strings and a bow.")
    found = [hit.id for hit in session.recall("cello strings bow")]
    assert found
    assert own.id not in found


def test_the_description_of_a_session_says_whether_it_is_off_the_record(memory: Engine) -> None:
    assert repr(memory.session(user="ana", id="s")) == "<holdfast.Session s>"
    assert repr(memory.session(user="ana", id="s", off_record=True)) == "<holdfast.Session s, off the record>"
