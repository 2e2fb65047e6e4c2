"""The window: which turns a model receives, and in which form."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Agent, Engine
from holdfast.agent.window import read_window, window_for
from holdfast.errors import ModelUnavailable
from holdfast.services import services
from holdfast.session import Session
from holdfast.testing import ScriptedChat
from holdfast.testing.samples import a_message
from holdfast.types import Message, Scope

OpenMemory = Callable[..., Engine]
Shown = list[tuple[str, str]]


def messages(*said: tuple[str, str]) -> list[Message]:
    return [a_message(text, role=role) for role, text in said]


def turns(*said: tuple[str, str], limit: int = 20) -> Shown:
    return [(turn.role, turn.text) for turn in window_for(messages(*said), limit=limit).turns]


def shown(chat: ScriptedChat) -> Shown:
    """Return the turns of the last call, without the system prompt."""
    return [(turn.role, turn.text) for turn in chat.asked[-1].turns if turn.role != "system"]


def pairs(first: int, last: int) -> Shown:
    """Return the turns that a model should receive: all exchanges from number ``first``, and the user's message number ``last``.

    An exchange is a message of the user with the assistant's reply. The message number ``last`` has no reply yet.
    """
    said = [each for number in range(first, last) for each in (("user", f"u{number}"), ("assistant", f"a{number}"))]
    return [*said, ("user", f"u{last}")]


# The form.


def test_adjacent_messages_of_one_role_become_one_turn_with_a_blank_line_between() -> None:
    said = [("user", "one"), ("user", "two"), ("assistant", "three"), ("assistant", "four"), ("user", "five")]
    assert turns(*said) == [("user", "one\n\ntwo"), ("assistant", "three\n\nfour"), ("user", "five")]


def test_a_greeting_by_the_assistant_is_left_out_because_the_user_speaks_first() -> None:
    assert turns(("assistant", "Welcome!"), ("user", "Hi.")) == [("user", "Hi.")]


@pytest.mark.parametrize("limit", [1, 2, 20])
def test_a_reply_at_the_start_of_the_window_keeps_the_question_that_it_answers(memory: Engine, limit: int) -> None:
    session = memory.session(user="ana")
    session.add("assistant", "Welcome! Which bus takes you home?")
    new = session.add("user", "the 14, from the quay")
    window = window_for([*session.messages()[:-1], new], limit=limit)
    assert [(turn.role, turn.text) for turn in window.turns] == [
        ("user", "(assistant) Which bus takes you home?\n\nthe 14, from the quay")
    ]


def test_a_question_in_the_window_is_not_repeated(memory: Engine) -> None:
    session = memory.session(user="ana")
    for role, text in (("user", "Hi."), ("assistant", "Which bus takes you home?"), ("user", "the 14")):
        session.add(role, text)
    window = window_for(session.messages(), limit=20)
    assert [turn.text for turn in window.turns] == ["Hi.", "Which bus takes you home?", "the 14"]


@pytest.mark.parametrize("limit", range(1, 12))
def test_the_limit_never_separates_a_reply_from_its_message(limit: int) -> None:
    window = turns(*pairs(0, 8), limit=limit)
    size = limit if limit % 2 else limit - 1
    assert window == pairs(0, 8)[-max(size, 1) :]
    assert window[0][0] == window[-1][0] == "user"


@pytest.mark.parametrize(
    "blank", ["[BLANK_AUDIO]", " [ Silence ] ", "(music)", "*noise*", "[silencio]", "\u200b", "[MUSIC] [NOISE]"]
)
def test_messages_that_say_nothing_are_left_out_and_do_not_count(blank: str) -> None:
    said = pairs(0, 4)
    said[4:4] = [("user", blank)] * 9
    assert turns(*said, limit=9) == pairs(0, 4)


@pytest.mark.parametrize("text", ["👍", "?", "...", "mhm", "(see above)", "*shrugs*", "[BLANK_AUDIO] is what it prints", "5"])
def test_short_messages_and_asides_are_turns(text: str) -> None:
    assert turns(("user", text), ("assistant", "Yes."), ("user", "Well?"))[0] == ("user", text)


def test_the_new_message_is_in_the_window_whatever_it_says() -> None:
    assert turns(("user", "Hi."), ("assistant", "Hello."), ("user", "[BLANK_AUDIO]"))[-1] == ("user", "[BLANK_AUDIO]")


def test_a_message_that_is_repeated_without_a_reply_is_shown_once_in_its_last_place() -> None:
    said = [("user", "Light on!"), ("user", "And hurry."), ("user", "Light on!")]
    assert turns(*said) == [("user", "And hurry.\n\nLight on!")]


def test_a_message_that_is_repeated_after_a_reply_is_shown_twice() -> None:
    said = [("user", "yes"), ("assistant", "Sure?"), ("user", "yes")]
    assert turns(*said) == said


def test_unanswered_messages_count_as_one_turn() -> None:
    said = [*pairs(0, 3), *(("user", f"again {number}") for number in range(12))]
    window = turns(*said, limit=7)
    assert window[:-1] == pairs(0, 3)[:-1]
    assert window[-1][1].split("\n\n") == ["u3", *(f"again {number}" for number in range(12))]


def test_a_system_note_and_a_tool_result_are_named_and_belong_to_the_users_turn() -> None:
    said = [
        ("system", "The door is open."),
        ("user", "Close it."),
        ("assistant", "Closing."),
        ("tool", "closed"),
        ("assistant", "Done."),
        ("user", "Thanks."),
    ]
    assert turns(*said) == [
        ("user", "(system) The door is open.\n\nClose it."),
        ("assistant", "Closing."),
        ("user", "(tool) closed"),
        ("assistant", "Done."),
        ("user", "Thanks."),
    ]


def test_a_tool_result_whose_call_is_outside_the_window_is_left_out() -> None:
    said = [("user", "u0"), ("assistant", "calling"), ("tool", "17"), ("assistant", "17 degrees."), ("user", "Thanks.")]
    assert turns(*said, limit=3) == [("user", "Thanks.")]
    assert turns(("tool", "17"), ("user", "Hi.")) == [("user", "Hi.")]


def test_the_window_names_the_messages_that_are_in_it() -> None:
    said = messages(("assistant", "Welcome!"), ("user", "Hi."), ("user", "Hi."))
    assert window_for(said, limit=20).message_ids == {said[1].id, said[2].id}


_ROLES = st.sampled_from(["user", "assistant", "assistant", "tool", "system", "sensor"])
_TEXTS = st.sampled_from(["yes", "no", "[BLANK_AUDIO]", "\u200b", "(silence)", "One.\n\nTwo.", "mm", "👍"])


@given(st.lists(st.tuples(_ROLES, _TEXTS), max_size=30), st.integers(1, 12))
def test_any_messages_become_alternating_turns_from_user_to_user(earlier: Sequence[tuple[str, str]], limit: int) -> None:
    window = turns(*earlier, ("user", "the new one"), limit=limit)
    assert [role for role, _ in window] == [("user", "assistant")[place % 2] for place in range(len(window))]
    assert len(window) % 2 == 1
    assert len(window) <= limit
    assert window[-1][1].endswith("the new one")
    assert all(text.strip() for _, text in window)


# Reading it from a session.


def test_noise_with_an_action_takes_no_place_in_the_window(open_memory: OpenMemory) -> None:
    chat = ScriptedChat(respond=lambda asked: "ok")
    agent = Agent(open_memory(preset="lobug", chat=chat))
    for number in range(10):
        agent.reply(f"u{number}")
    for _ in range(100):
        agent.session.add("user", "[BLANK_AUDIO]", action="IGNORE")
        agent.session.add("assistant", "IGNORE", action="IGNORE")
    agent.reply("Still there?")
    assert [text for role, text in shown(chat) if role == "user"] == [*(f"u{number}" for number in range(1, 10)), "Still there?"]


@pytest.mark.everywhere
def test_a_repeated_id_is_answered_as_if_nothing_had_followed_it(open_memory: OpenMemory) -> None:
    chat = ScriptedChat("Hello.", ModelUnavailable("gone"), "Three.", "Two.", "And?")
    agent = Agent(open_memory(chat=chat))
    agent.reply("one")
    with pytest.raises(ModelUnavailable):
        agent.reply("two", id="m2")
    agent.reply("three")
    assert shown(chat)[-1] == ("user", "two\n\nthree")
    agent.reply("two", id="m2")
    assert shown(chat) == [("user", "one"), ("assistant", "Hello."), ("user", "two")]
    agent.reply("four")
    assert shown(chat)[2:] == [("user", "two\n\nthree"), ("assistant", "Three.\n\nTwo."), ("user", "four")]


@pytest.mark.parametrize("off_record", [False, True])
def test_asking_again_after_a_failure_shows_the_message_once(open_memory: OpenMemory, *, off_record: bool) -> None:
    chat = ScriptedChat("Hello.", ModelUnavailable("gone"), ModelUnavailable("gone"), "Here.")
    memory = open_memory(chat=chat)
    agent = Agent(memory, session=memory.session(off_record=off_record))
    agent.reply("Hi.")
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            agent.reply("Where are you?")
    assert agent.reply("Where are you?").text == "Here."
    assert shown(chat) == [("user", "Hi."), ("assistant", "Hello."), ("user", "Where are you?")]
    assert [message.text for message in agent.session.messages()].count("Where are you?") == 3, "the log is complete"


def test_a_cleared_window_stays_cleared_after_a_failure(open_memory: OpenMemory) -> None:
    chat = ScriptedChat(ModelUnavailable("gone"), "Yes.")
    agent = Agent(open_memory(chat=chat))
    with pytest.raises(ModelUnavailable):
        agent.reply("Before.")
    agent.session.clear_window()
    agent.reply("After.")
    assert shown(chat) == [("user", "After.")]


def test_noise_off_the_record_is_not_shown(open_memory: OpenMemory) -> None:
    chat = ScriptedChat("Yes.")
    memory = open_memory(chat=chat)
    session = memory.session(off_record=True)
    session.add("user", "krrrch", action="IGNORE")
    Agent(memory, session=session).reply("Do you hear me?")
    assert shown(chat) == [("user", "Do you hear me?")]


def test_messages_of_an_outage_do_not_push_the_conversation_out_of_the_window(open_memory: OpenMemory) -> None:
    down = [ModelUnavailable("gone")] * 12
    chat = ScriptedChat("Nice to meet you.", *down, "You are Ana.")
    agent = Agent(open_memory(preset="reachy", chat=chat))
    agent.reply("I am Ana.")
    for number in range(12):
        with pytest.raises(ModelUnavailable):
            agent.reply(f"Are you there, {number}?")
    agent.reply("Who am I?")
    assert shown(chat)[:2] == [("user", "I am Ana."), ("assistant", "Nice to meet you.")]
    assert len(shown(chat)) == 3


def test_messages_of_another_user_with_the_same_session_id_are_never_shown(memory: Engine) -> None:
    memory.session(user="ana", id="talk").add("user", "My password is hidden.")
    session = Session(services(memory), id="talk", scope=Scope(user="bob"))
    window = read_window(services(memory), session, a_message("Hi.", scope=session.scope, session="talk", seq=999))
    assert [turn.text for turn in window.turns] == ["Hi."]
