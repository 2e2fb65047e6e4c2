"""Sessions: durable messages, retries, resuming, off the record, retention, and extracted memories."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Engine
from holdfast.errors import Conflict, InvalidInput
from holdfast.presets.default import DEFAULT
from holdfast.testing import FrozenClock
from holdfast.types import NOISE

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


def test_a_message_is_stored_when_add_returns(open_memory: Callable[..., Engine]) -> None:
    talk = open_memory().session(user="ana", id="ses_1")
    talk.add("user", "I moved to Lyon last month.", at="2026-02-01T10:00+01:00", speaker="Ana", id="c1")
    (message,) = open_memory().session(id="ses_1").messages()
    assert (message.role, message.text, message.speaker, message.client_id) == (
        "user",
        "I moved to Lyon last month.",
        "Ana",
        "c1",
    )
    assert message.at == datetime(2026, 2, 1, 9, tzinfo=UTC)


@pytest.mark.ledger("X20")
def test_a_retry_with_the_same_client_id_adds_nothing(memory: Engine) -> None:
    talk = memory.session(user="ana")
    first = talk.add("user", "hello there", id="c1")
    assert talk.add("user", "hello there", id="c1") == first
    assert len(talk.messages()) == 1


@pytest.mark.ledger("X20")
def test_the_same_client_id_with_other_content_is_a_conflict(memory: Engine) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "hello there", id="c1")
    with pytest.raises(Conflict):
        talk.add("user", "something else", id="c1")
    with pytest.raises(Conflict):
        talk.add("assistant", "hello there", id="c1")
    assert [message.text for message in talk.messages()] == ["hello there"]


def test_a_client_id_counts_within_its_session(memory: Engine) -> None:
    for user in ("ana", "bob"):
        memory.session(user=user).add("user", f"I am {user}", id="c1")
    assert memory.stats().messages == 2


@pytest.mark.ledger("X20")
def test_several_speakers_are_kept_apart(memory: Engine) -> None:
    talk = memory.session(app="kitchen")
    talk.add("user", "I like green tea.", speaker="Ana")
    talk.add("user", "I like black coffee.", speaker="Bob")
    talk.end()
    memory.drain()
    assert {(m.text, m.metadata["speaker"]) for m in memory.memories(app="kitchen")} == {
        ("I like green tea.", "Ana"),
        ("I like black coffee.", "Bob"),
    }


def test_a_session_of_another_scope_with_the_same_id_is_another_session(memory: Engine) -> None:
    memory.session(user="ana", id="ses_1").add("user", "hello there")
    assert memory.session(user="bob", id="ses_1").messages() == []
    assert memory.session(user="ana", app="kitchen", id="ses_1").messages() == []


def test_a_session_whose_id_another_scope_takes_meanwhile_stays_its_own(memory: Engine) -> None:
    late = memory.session(user="bob", id="ses_1")
    memory.session(user="ana", id="ses_1").add("user", "hello there")
    late.add("user", "me too")
    assert [message.text for message in late.messages()] == ["me too"]
    assert memory.stats().messages == 2


def test_sessions_are_listed_the_most_recent_first(memory: Engine, clock: FrozenClock) -> None:
    for id in ("one", "two", "three"):
        memory.session(user="ana", id=id).add("user", "hello there")
        clock.advance(MINUTE)
    memory.session(id="one").add("user", "back again")
    assert [session.id for session in memory.sessions(user="ana")] == ["one", "three", "two"]
    assert memory.sessions(user="bob") == []


def test_a_session_nobody_spoke_in_leaves_nothing(memory: Engine) -> None:
    memory.session(user="ana").end()
    assert (memory.sessions(), memory.jobs()) == ([], [])


@pytest.mark.ledger("X6")
def test_ending_a_session_twice_queues_one_digestion(memory: Engine) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "I live in Lyon now.")
    talk.end()
    talk.end()
    assert [job.state for job in memory.jobs()] == ["queued"]
    memory.drain()
    memory.drain()
    assert [job.state for job in memory.jobs()] == ["done"]
    assert [m.text for m in memory.memories(user="ana")] == ["I live in Lyon now."]


@pytest.mark.ledger("X6", "U9")
def test_a_queued_digestion_survives_a_restart(open_memory: Callable[..., Engine]) -> None:
    with open_memory() as memory:
        talk = memory.session(user="ana")
        talk.add("user", "I live in Lyon now.")
        talk.end()
    again = open_memory()
    again.drain()
    assert [m.text for m in again.memories(user="ana")] == ["I live in Lyon now."]


@pytest.mark.ledger("U9")
def test_a_session_that_was_never_ended_is_digested_when_it_has_been_silent(
    open_memory: Callable[..., Engine], clock: FrozenClock
) -> None:
    with open_memory() as memory:
        memory.session(user="ana").add("user", "I live in Lyon now.")
    clock.advance(6 * MINUTE)
    again = open_memory()
    again.drain()
    assert again.memories(user="ana") == []
    clock.advance(MINUTE)
    again.drain()
    assert [session.status for session in again.sessions()] == ["idle"]
    assert [m.text for m in again.memories(user="ana")] == ["I live in Lyon now."]


@pytest.mark.ledger("X6")
def test_a_resumed_session_digests_only_what_is_new(memory: Engine, clock: FrozenClock) -> None:
    talk = memory.session(user="ana", id="ses_1")
    talk.add("user", "I live in Lyon now.")
    talk.end()
    memory.drain()
    old = memory.memories(user="ana")[0]
    memory.forget(old.id)
    clock.advance(DAY)
    again = memory.session(id="ses_1")
    again.add("user", "I work at a bakery.")
    assert memory.sessions()[0].status == "open"
    again.end()
    memory.drain()
    assert [m.text for m in memory.memories(user="ana")] == ["I work at a bakery."]


def test_a_session_gives_its_last_messages(memory: Engine) -> None:
    talk = memory.session(user="ana")
    for n in range(5):
        talk.add("user", f"number {n}")
    assert [message.text for message in talk.messages(limit=2)] == ["number 3", "number 4"]


def test_a_session_does_not_recall_itself(memory: Engine) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "the parrot is green")
    assert talk.recall("parrot") == []
    assert [hit.text for hit in memory.session(user="ana").recall("parrot")] == ["the parrot is green"]


def test_many_messages_of_a_session_do_not_hide_those_of_other_sessions(memory: Engine) -> None:
    memory.session(user="ana").add("user", "the parrot is called Basil and comes from a very old family of birds")
    talk = memory.session(user="ana")
    for n in range(120):
        talk.add("user", f"parrot {n}")
    assert [hit.text for hit in talk.recall("parrot")] == ["the parrot is called Basil and comes from a very old family of birds"]


@pytest.mark.ledger("X18")
def test_an_off_the_record_session_leaves_nothing_on_disk(
    open_memory: Callable[..., Engine], files_with: Callable[[str], list[str]]
) -> None:
    memory = open_memory()
    memory.remember("knows the walrus", user="ana")
    before = {name: count for name, count in memory.stats().to_dict().items() if name != "bytes"}
    talk = memory.session(user="ana", off_record=True, id="ses_pangolin")
    talk.add("user", "I live with a pangolin.", speaker="pangolin", id="pangolin")
    assert "walrus" in talk.context("who knows the walrus and the pangolin?").text
    assert [message.text for message in talk.messages()] == ["I live with a pangolin."]
    assert files_with("pangolin") == []
    talk.end()
    memory.drain()
    assert (talk.messages(), memory.sessions(), memory.jobs()) == ([], [], [])
    assert {name: count for name, count in memory.stats().to_dict().items() if name != "bytes"} == {
        **before,
        "vectors": 1,
        "waiting_for_vectors": 0,
    }
    memory.close()
    assert (files_with("pangolin"), files_with("walrus")) == ([], ["memory.db"])


@pytest.mark.ledger("X18")
def test_raw_messages_are_removed_after_their_retention_and_memories_stay(
    open_memory: Callable[..., Engine],
    clock: FrozenClock,
    files_with: Callable[[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_MESSAGE_DAYS", "7")
    memory = open_memory()
    talk = memory.session(user="ana")
    talk.add("user", "I live in Lyon now. The pangolin sleeps")
    talk.end()
    memory.drain()
    clock.advance(7 * DAY)
    memory.drain()
    assert memory.stats().messages == 1
    clock.advance(timedelta(hours=1))
    memory.drain()
    assert memory.stats().messages == 0
    assert [m.text for m in memory.memories(user="ana")] == ["I live in Lyon now."]
    assert files_with("pangolin") == []


def test_retention_waits_until_a_session_is_digested(
    open_memory: Callable[..., Engine], clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_MESSAGE_DAYS", "7")
    memory = open_memory()
    memory.session(user="ana").add("user", "I live in Lyon now.")
    clock.advance(8 * DAY)
    open_memory()
    assert memory.stats().messages == 1
    memory.drain()
    assert [m.text for m in memory.memories(user="ana")] == ["I live in Lyon now."]


def test_an_unknown_origin_is_refused(memory: Engine) -> None:
    talk = memory.session(user="ana")
    with pytest.raises(InvalidInput, match="origin"):
        talk.add("user", "hello there", origin="martian")  # type: ignore[arg-type]
    assert talk.messages() == []


@pytest.mark.parametrize(("role", "origin"), [("user", "user"), ("assistant", "assistant"), ("tool", "tool"), ("system", "file")])
def test_a_role_says_where_a_message_comes_from(memory: Engine, role: str, origin: str) -> None:
    assert memory.session(user="ana").add(role, "hello there").origin == origin


def test_the_window_has_the_last_messages_that_are_no_noise(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(preset=replace(DEFAULT, window=3))
    talk = memory.session(user="ana")
    for number in range(5):
        talk.add("user", f"message {number}")
    for number in range(20):
        talk.add("user", f"noise {number}", action=NOISE)
    assert [message.text for message in talk.window()] == ["message 2", "message 3", "message 4"]
    talk.clear_window()
    talk.add("user", "a new start")
    assert [message.text for message in talk.window()] == ["a new start"]
    assert memory.session(user="bob").window() == []
