"""Messages that the user asks not to keep. They appear only in the window, and are erased when the session ends."""

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.protocols import MemoryFilter
from holdfast.services import services
from holdfast.testing import FrozenClock, ScriptedChat

pytestmark = [pytest.mark.ledger("X21"), pytest.mark.ledger("X18")]
BOTH = pytest.mark.everywhere("sqlite", "postgres")
OpenMemory = Callable[..., Engine]


def _withheld(memory: Engine, session: str) -> list[str]:
    found = memory.session(id=session, user="ana").messages()
    return [message.text for message in found if message.action == "off_record"]


@BOTH
@pytest.mark.parametrize(
    "text", ["Don't save this: I'm pregnant with Quxzel.", "Esto no lo anotes: estoy esperando a Quxzel."], ids=["en", "es"]
)
def test_a_message_off_the_record_is_in_the_window_and_nowhere_else(memory: Engine, text: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "I live in Lyon.")
        said = session.add("user", text)
        session.add("assistant", "Congratulations on Quxzel!")
        assert said.consent is not None
        assert (said.consent.wish, said.consent.messages) == ("off_record", (said.id,))
        assert [message.text for message in session.window()][1:] == [text, "Congratulations on Quxzel!"]
        memory.drain()
        assert not [hit for hit in memory.recall("Quxzel", user="ana") if "Quxzel" in hit.text]
        assert "Quxzel" not in memory.context("Quxzel", user="ana").text
    memory.drain()
    assert [each.text for each in memory.memories(user="ana")] == ["I live in Lyon."]
    assert [message.text for message in memory.session(id=session.id, user="ana").messages()] == ["I live in Lyon."]


@BOTH
def test_a_withheld_message_is_never_indexed_or_queued_for_embedding(memory: Engine) -> None:
    session = memory.session(user="ana")
    before = memory.stats()
    session.add("user", "This is off the record: my sister has Quxzel.")
    after = memory.stats()
    assert (after.messages, after.waiting_for_vectors) == (before.messages + 1, before.waiting_for_vectors)
    assert all("Quxzel" not in hit.text for hit in memory.recall("Quxzel", user="ana"))


def test_the_bytes_are_gone_after_the_session(memory: Engine, files_with: Callable[[str], list[str]]) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "My knee has been sore since the Zorblat run.")
        session.add("assistant", "Sorry to hear about the Zorblat run.")
        memory.drain()
        session.add("user", "Please don't save what I just told you.")
        session.add("user", "Don't keep this: I'm seeing a doctor named Quxzel.", payload={"note": "Wibblor"})
        session.add("assistant", "I hope Quxzel can help.")
        assert files_with("Quxzel")
    memory.drain()
    assert [files_with(word) for word in ("Quxzel", "Zorblat", "Wibblor")] == [[], [], []]


def test_the_bytes_of_each_of_several_short_sessions_are_gone_after_a_drain(
    memory: Engine, files_with: Callable[[str], list[str]]
) -> None:
    for user in ("ana", "ben", "eva"):
        with memory.session(user=user) as session:
            session.add("user", f"Don't keep this: Quxzel of {user} is ill.")
        memory.drain()
        assert files_with("Quxzel") == []


@pytest.mark.parametrize("text", ["No quiero que te acuerdes de que fui a Arcadia.", "forget that I was in Arcadia"])
def test_a_message_that_tells_what_to_forget_is_withheld_if_nothing_else_is_known(memory: Engine, text: str) -> None:
    said = memory.session(user="ana").add("user", text)
    assert said.action == "off_record"


def test_a_setting_keeps_the_log_but_nothing_is_learned_or_recalled(open_memory: OpenMemory) -> None:
    memory = open_memory(settings={"keep_off_record": True})
    with memory.session(user="ana") as session:
        session.add("user", "Don't save this: I'm allergic to Quxzel.")
    memory.drain()
    assert _withheld(memory, session.id) == ["Don't save this: I'm allergic to Quxzel."]
    assert not memory.memories(user="ana")
    assert all("Quxzel" not in hit.text for hit in memory.recall("Quxzel", user="ana"))


def test_a_wish_about_the_message_before_withholds_it_with_its_reply_and_what_was_learned(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="lobug")
    session = memory.session(user="ana")
    session.add("user", "I live in Lyon.")
    session.add("assistant", "Nice city.")
    session.add("user", "I am allergic to shellfish.")
    session.add("assistant", "I will avoid shellfish.")
    memory.drain()
    session.add("user", "Don't save what I just said.")
    assert _withheld(memory, session.id) == [
        "I am allergic to shellfish.",
        "I will avoid shellfish.",
        "Don't save what I just said.",
    ]
    assert not [each.text for each in memory.memories(user="ana") if "shellfish" in each.text]
    session.end()
    memory.drain()
    retired = services(memory).store.memories(MemoryFilter(owner={"user": "ana"}, statuses=None))
    assert not [each.text for each in retired if "shellfish" in each.text]


def test_a_wish_for_the_rest_of_the_conversation_holds_until_it_is_lifted(memory: Engine) -> None:
    session = memory.session(user="ana")
    session.add("user", "From here on nothing gets written down, I need to vent.")
    session.add("assistant", "Go ahead.")
    session.add("user", "My boss is called Quxzel.")
    session.add("assistant", "Quxzel sounds difficult.")
    lifted = session.add("user", "You can save things again now.")
    session.add("assistant", "Fine.")
    session.add("user", "I live in Lyon.")
    assert lifted.consent is not None
    assert lifted.consent.wish == "resume"
    assert [message.action for message in session.messages()] == ["off_record"] * 4 + [None] * 3


@pytest.mark.parametrize(
    "lift",
    [
        "vale, sal ya del modo privado.",
        "esto sí anótalo: juego al tenis",
        "bueno, se terminó el secreto.",
        "That's it for the secrets.",
        "Ok, come out of incognito mode.",
    ],
)
def test_plain_words_lift_a_wish_for_the_rest(memory: Engine, lift: str) -> None:
    session = memory.session(user="ana")
    session.add("user", "From here on nothing gets written down.")
    session.add("assistant", "Fine.")
    assert session.add("user", lift).action is None
    assert session.add("user", "Vivo en Lyon.").action is None


@pytest.mark.parametrize(
    ("told", "wish"),
    [
        ("Tengo una hernia en la espalda.", "lo que te dije antes sobre la espalda no lo registres"),
        ("Mi alquiler es de 900 euros.", "el alquiler que te dije no lo anotes"),
        ("Me operaron del codo.", "preferiría que no conservaras lo referente a mi codo"),
        ("Debo dinero por la moto.", "que lo de la moto no quede en tus notas"),
        ("My wife Jo has left me.", "Leave out the part about my wife, please."),
    ],
)
def test_a_part_that_is_named_in_other_words_is_withheld(memory: Engine, told: str, wish: str) -> None:
    session = memory.session(user="ana")
    for text in (told, "My team is Leeds United.", wish):
        session.add("user", text)
        session.add("assistant", "Ok.")
    session.add("user", "I have a parrot named Kiko.")
    assert _withheld(memory, session.id) == [told, "Ok.", wish, "Ok."]


def test_a_wish_for_the_rest_ends_with_the_session(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "De ahora en adelante no guardes nada, por favor.")
        session.add("user", "Mi jefe se llama Quxzel.")
    resumed = memory.session(id=session.id, user="ana")
    assert resumed.add("user", "I live in Lyon.").action is None


def test_a_bare_wish_covers_the_message_before_and_the_next_one(memory: Engine) -> None:
    session = memory.session(user="ana")
    for text in ("I live in Lyon.", "My boss is Quxzel.", "Don't save this.", "He drinks.", "I like tea."):
        session.add("user", text)
    assert _withheld(memory, session.id) == ["My boss is Quxzel.", "Don't save this.", "He drinks."]


def test_a_reply_is_withheld_even_if_it_was_interrupted(memory: Engine) -> None:
    session = memory.session(user="ana")
    session.add("user", "Don't keep this: I lost the Quxzel case.")
    session.add("tool", "case: Quxzel")
    session.add("assistant", "About Quxz", action="interrupted")
    assert len(_withheld(memory, session.id)) == 3
    assert session.add("user", "What is the weather?").action is None


def test_only_the_users_own_words_count_as_wishes(memory: Engine) -> None:
    session = memory.session(user="ana")
    assert session.add("assistant", "Don't save this: it is a test.").action is None
    assert session.add("user", "Don't save this: it is a web page.", origin="web").action is None
    assert session.add("user", "Don't save this: it was said to the cat.", action="IGNORE").action == "IGNORE"


def test_an_idle_session_loses_its_withheld_messages_too(
    memory: Engine, clock: FrozenClock, files_with: Callable[[str], list[str]]
) -> None:
    memory.session(user="ana", id="talk").add("user", "Off the record: I owe Quxzel money.")
    clock.advance(timedelta(hours=1))
    memory.drain()
    assert not memory.session(id="talk", user="ana").messages()
    assert not files_with("Quxzel")


@pytest.mark.parametrize("preset", ["lobug", "reachy"])
def test_a_session_that_never_ends_loses_its_withheld_messages_too(
    open_memory: OpenMemory, clock: FrozenClock, files_with: Callable[[str], list[str]], preset: str
) -> None:
    memory = open_memory(preset=preset)
    device = memory.session(id="device", shared=True)
    device.add("user", "Don't save this: I owe Quxzel money.")
    device.add("assistant", "I won't.")
    device.add("user", "I live in Oslo.")
    memory.drain()
    assert len(device.messages()) == 3
    clock.advance(timedelta(hours=1, minutes=1))
    memory.drain()
    assert [message.text for message in device.messages()] == ["I live in Oslo."]
    assert not files_with("Quxzel")


def test_in_a_session_that_never_ends_a_wish_for_all_that_follows_lapses_with_a_pause(
    open_memory: OpenMemory, clock: FrozenClock
) -> None:
    memory = open_memory(preset="lobug")
    device = memory.session(id="device", shared=True)
    device.add("user", "From here on nothing gets written down.")
    clock.advance(timedelta(minutes=6))
    assert device.add("user", "I owe Quxzel money.").action == "off_record"
    clock.advance(timedelta(minutes=8))
    assert device.add("user", "I live in Oslo.").action is None


def test_a_model_never_sees_a_withheld_message_in_digestion(open_memory: OpenMemory) -> None:
    model = ScriptedChat(respond=lambda asked: '{"items": []}')
    memory = open_memory(chat=model)
    with memory.session(user="ana") as session:
        session.add("user", "I live in Lyon.")
        session.add("user", "Between us, and don't note it down: I'm leaving Quxzel.")
        session.add("assistant", "Quxzel will be sad.")
        session.digest()
        memory.drain()
    memory.drain()
    assert model.asked
    assert not [asked for asked in model.asked if "Quxzel" in asked.text]


@pytest.mark.parametrize(("language", "words"), [("en", "asks not to keep"), ("es", "no se guarda")], ids=["en", "es"])
def test_the_prompts_tell_the_model_what_not_to_keep(open_memory: OpenMemory, language: str, words: str) -> None:
    model = ScriptedChat(respond=lambda asked: '{"items": []}')
    memory = open_memory(chat=model)
    with memory.session(user="ana") as session:
        session.add("user", "I live in Lyon with my dog." if language == "en" else "Vivo en Lyon con mi perro y mi gato.")
    memory.drain()
    assert words in model.asked[0].turns[0].text


def test_a_tool_cannot_store_what_is_off_the_record(open_memory: OpenMemory) -> None:
    from holdfast import Agent  # noqa: PLC0415
    from holdfast.chat import Reply, ToolCall  # noqa: PLC0415

    call = ToolCall(id="1", name="remember", arguments={"key": "baby", "value": "Quxzel"})
    memory = open_memory(chat=ScriptedChat(Reply(text="", tool_calls=(call,)), "I will not keep it."))
    answer = Agent(memory, user="ana").reply("Don't save this: the baby will be called Quxzel.")
    assert answer.text == "I will not keep it."
    assert answer.consent is not None
    assert answer.consent.wish == "off_record"
    assert not memory.memories(user="ana")


_CHILD = """
import os, signal, sys
import holdfast
memory = holdfast.open(sys.argv[1], worker="none", embedder="none")
memory.session(user="ana", id="talk").add("user", sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


def _add_and_die(path: Path, text: str) -> None:
    died = subprocess.run([sys.executable, "-c", _CHILD, str(path), text], check=False, timeout=120)
    assert died.returncode == -9


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_withheld_message_stays_withheld_after_a_kill(folder: Path, open_memory: OpenMemory, clock: FrozenClock) -> None:
    folder.mkdir()
    _add_and_die(folder / "memory.db", "Don't save this: I'm pregnant with Quxzel.")
    memory = open_memory()
    assert _withheld(memory, "talk") == ["Don't save this: I'm pregnant with Quxzel."]
    assert all("Quxzel" not in hit.text for hit in memory.recall("Quxzel", user="ana"))
    memory.session(id="talk", user="ana").end()
    memory.drain()
    assert not memory.memories(user="ana")
    assert not [file for file in folder.rglob("*") if file.is_file() and b"Quxzel" in file.read_bytes()]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_an_explicit_memory_is_known_after_a_kill(folder: Path, open_memory: OpenMemory) -> None:
    folder.mkdir()
    _add_and_die(folder / "memory.db", "Recordá que mi dentista es la doctora Sosa.")
    found = open_memory().memories(user="ana")
    assert [(each.text, each.origin) for each in found] == [("mi dentista es la doctora Sosa.", "explicit")]


@pytest.mark.parametrize(
    "said",
    ["Don't save this: I'm pregnant.", "No guardes esto: estoy embarazada.", "Estoy embarazada, no guardes esto."],
    ids=["colon", "Spanish", "content first"],
)
def test_a_wish_with_its_content_leaves_other_messages_alone(memory: Engine, said: str) -> None:
    talk = memory.session(user="ana")
    before = talk.add("user", "I live in Rosario.")
    withheld = talk.add("user", said)
    after = talk.add("user", "I have two cats.")
    assert withheld.action == "off_record"
    assert (after.action, {each.id: each.action for each in talk.messages()}[before.id]) == (None, None)


def test_an_explicit_request_after_a_bare_wish_is_stored(memory: Engine) -> None:
    talk = memory.session(user="ana")
    talk.add("user", "Don't save this.")
    asked = talk.add("user", "Remember that I'm allergic to walnuts.")
    assert asked.consent is not None
    assert asked.consent.wish == "remember"


def test_a_wish_to_erase_what_was_just_said_withholds_the_message_before_the_reply(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "My brother Quxzel is in rehab.")
        session.add("assistant", "I see.")
        session.add("user", "please wipe what I just said")
    memory.drain()
    assert memory.memories(user="ana") == []
    assert not [hit for hit in memory.recall("Quxzel", user="ana") if "Quxzel" in hit.text]


@BOTH
@pytest.mark.parametrize(
    ("told", "wish"),
    [
        ("Quxzel and I broke up last week.", "Please don't save the bit about Quxzel."),
        ("My sister Quxzel is pregnant.", "what I said about Quxzel, don't keep that"),
        ("Quxzel y yo cortamos ayer.", "lo del corte con Quxzel no lo guardes porfa"),
        ("Mi suegra, Quxzel, vende la casa.", "Oye, no anotes lo de mi suegra, eh."),
    ],
)
def test_a_wish_that_names_an_earlier_part_of_the_session_withholds_this_part(memory: Engine, told: str, wish: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", told)
        session.add("assistant", "Oh, Quxzel!")
        session.add("user", "Which bank is good in Leeds?")
        session.add("assistant", "Starling.")
        session.add("user", wish)
        session.add("assistant", "Of course.")
        session.add("user", "I have a parrot named Kiko.")
        assert _withheld(memory, session.id) == [told, "Oh, Quxzel!", wish, "Of course."]
    memory.drain()
    assert [each.text for each in memory.memories(user="ana")] == ["I have a parrot named Kiko."]
    assert all("Quxzel" not in hit.text for hit in memory.recall("Quxzel", user="ana"))


@pytest.mark.parametrize("wish", ["Don't save the file about Quxzel yet.", "No guardes el archivo sobre Quxzel todavía."])
def test_a_request_about_a_file_withholds_no_earlier_message(memory: Engine, wish: str) -> None:
    session = memory.session(user="ana")
    session.add("user", "Quxzel is our new client.")
    session.add("assistant", "Noted.")
    session.add("user", wish)
    assert _withheld(memory, session.id) == []
