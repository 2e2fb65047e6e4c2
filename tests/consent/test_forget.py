"""Wishes to forget something: obeyed at once, undone with one call, and erased after the undo window."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast import Agent, Engine, NotFound
from holdfast.consent.forget import without_reason
from holdfast.testing import FrozenClock, ScriptedChat
from holdfast.types import Consent

pytestmark = pytest.mark.ledger("X21")
BOTH = pytest.mark.everywhere("sqlite", "postgres")
OpenMemory = Callable[..., Engine]


def _wish(memory: Engine, text: str) -> Consent:
    said = memory.session(user="ana").add("user", text)
    assert said.consent is not None, text
    assert said.action == "forget"
    return said.consent


def _texts(memory: Engine, user: str = "ana") -> set[str]:
    return {each.text for each in memory.memories(user=user)}


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        "Forget what I told you about the violin.",
        "Olvidate de lo que te conté del violín.",
        "Delete what you know about my violin.",
    ],
    ids=["en", "es", "delete"],
)
def test_a_wish_to_forget_hides_memories_and_messages_at_once_and_undo_restores_them(memory: Engine, text: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "I play the violin (violín) every Sunday.")
        session.add("user", "I live in Lyon.")
    memory.drain()
    assert any("violin" in each for each in _texts(memory))
    done = _wish(memory, text)
    assert (done.wish, len(done.memories), len(done.messages)) == ("forget", 1, 1)
    assert "violin" in done.memories[0].text
    assert _texts(memory) == {"I live in Lyon."}
    assert not [hit for hit in memory.recall("violin", user="ana") if "violin" in hit.text]
    assert done.undo is not None
    memory.undo(done.undo)
    assert any("violin" in each for each in _texts(memory))
    assert memory.recall("violin", user="ana")


def test_a_message_that_was_not_digested_yet_is_not_learned_after_the_wish(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "I play the violin.")
        session.add("user", "I live in Lyon.")
        done = session.add("user", "Forget everything I told you about the violin.").consent
        assert done is not None
        assert session.window()[0].text == "I live in Lyon."
    memory.drain()
    assert _texts(memory) == {"I live in Lyon."}


@BOTH
def test_a_wish_to_forget_hides_only_the_users_own_data(memory: Engine) -> None:
    memory.remember("The violin is in the hall.")
    memory.remember("Plays the violin.", user="ben")
    memory.remember("Plays the violin.", user="ana")
    memory.remember("Sells violins.", user="ana", app="shop")
    done = _wish(memory, "Forget everything about my violin.")
    assert [each.text for each in done.memories] == ["Plays the violin."]
    assert _texts(memory, "ben") == {"The violin is in the hall.", "Plays the violin."}
    assert {each.text for each in memory.memories(user="ana", app="shop")} >= {"Sells violins."}


def test_a_wish_to_forget_everything_hides_everything_of_the_user(memory: Engine) -> None:
    memory.remember("Plays the violin.", user="ben")
    memory.remember("Plays the violin.", user="ana")
    memory.remember("Lives in Lyon.", user="ana")
    done = _wish(memory, "Forget everything you know about me.")
    assert len(done.memories) == 2
    assert not _texts(memory)
    assert _texts(memory, "ben") == {"Plays the violin."}


def test_a_text_about_several_things_loses_only_the_sentence_about_the_subject(memory: Engine) -> None:
    stored = memory.remember("Lives in Lyon. Plays the violin. Works at Acme.", user="ana")
    done = _wish(memory, "Please forget that I play the violin.")
    assert memory.get(stored.id).text == "Lives in Lyon. Works at Acme."
    assert done.undo is not None
    memory.undo(done.undo)
    assert memory.get(stored.id).text == "Lives in Lyon. Plays the violin. Works at Acme."


@pytest.mark.parametrize(
    ("told", "wish", "left"),
    [
        ("I have gout and I coach a rowing crew in Henley.", "Forget that I have gout.", "I coach a rowing crew in Henley."),
        ("Tengo psoriasis y enseño solfeo en Huesca.", "Olvida que tengo psoriasis.", "Enseño solfeo en Huesca."),
        ("My son Otto has a lisp, and I'm a glazier.", "lose the bit on Otto's lisp please", "I'm a glazier."),
        (
            "I'm a diver in Oban, my partner Ann handles the boats, and I once failed with a pub.",
            "Forget that I failed with a pub.",
            "I'm a diver in Oban. my partner Ann handles the boats.",
        ),
    ],
)
def test_only_the_claims_about_the_subject_are_taken_out_of_a_sentence(memory: Engine, told: str, wish: str, left: str) -> None:
    memory.remember(told, user="ana")
    done = _wish(memory, wish)
    assert _texts(memory) == {left}
    assert done.undo is not None
    memory.undo(done.undo)
    assert _texts(memory) == {told}


def test_a_claim_that_continues_the_one_about_the_subject_is_forgotten_with_it(memory: Engine) -> None:
    memory.remember("My tattoo is on my back and shows a fox.", user="ana")
    _wish(memory, "Forget my tattoo.")
    assert _texts(memory) == set()


@pytest.mark.parametrize(
    "wish",
    [
        "Bit sad today. Could you forget about Biscuit please, I can't bear it.",
        "that thing about Biscuit, wipe it. the kids read this too",
        "Regarding Biscuit, I'd be grateful if you discarded that from your records.",
        "lo de Biscuit ya no lo recuerdes más, que me da pena",
    ],
)
def test_a_wish_takes_what_its_own_clause_or_the_one_before_it_mentions(memory: Engine, wish: str) -> None:
    memory.remember("The user has a beagle called Biscuit.", user="ana")
    memory.remember("The user is sad on Sundays.", user="ana")
    _wish(memory, wish)
    assert _texts(memory) == {"The user is sad on Sundays."}


def test_a_wish_to_forget_changes_nothing_if_no_memory_is_about_the_subject(memory: Engine) -> None:
    memory.remember("Lives in Lyon.", user="ana")
    done = _wish(memory, "Forget what I told you about my allergy to shellfish.")
    assert (done.memories, done.messages, done.undo) == ((), (), None)
    assert _texts(memory) == {"Lives in Lyon."}


def test_a_batch_of_another_user_cannot_be_undone(memory: Engine) -> None:
    memory.remember("Plays the violin.", user="ana")
    done = _wish(memory, "Forget that I play the violin.")
    assert done.undo is not None
    with pytest.raises(NotFound):
        memory.for_user("ben").undo(done.undo)
    with pytest.raises(NotFound):
        memory.undo("bat_01k4zt3w9v6q2m8x5c7b1n0pda")


def test_the_bytes_are_erased_after_the_undo_window(
    memory: Engine, clock: FrozenClock, files_with: Callable[[str], list[str]]
) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "I play the Quxzel in an orchestra.")
    memory.drain()
    _wish(memory, "Forget everything I told you about the orchestra.")
    _days_pass(memory, clock, 29)
    assert files_with("Quxzel")
    _days_pass(memory, clock, 2)
    assert not files_with("Quxzel")


def _days_pass(memory: Engine, clock: FrozenClock, days: int) -> None:
    """Advance the clock in steps of one day, because purging is paused after a larger jump of the clock."""
    for _ in range(days):
        clock.advance(timedelta(days=1))
        memory.drain()


def test_an_assistant_is_told_what_was_forgotten(open_memory: OpenMemory) -> None:
    chat = ScriptedChat("Done.")
    memory = open_memory(chat=chat)
    memory.remember("Plays the violin.", user="ana")
    answer = Agent(memory, user="ana").reply("Forget that I play the violin.")
    assert answer.consent is not None
    assert [each.text for each in answer.consent.memories] == ["Plays the violin."]
    assert "This was forgotten just now, and can be undone: Plays the violin." in chat.asked[0].turns[0].text


@pytest.mark.parametrize(
    ("subject", "head"),
    [
        ("my locker number they moved us all to the new wing", "my locker number"),
        ("my extension number, they've scrapped desk phones", "my extension number"),
        ("mi número de socio, ya no lo uso", "mi número de socio"),
        ("my knee", "my knee"),
        ("what I said about the allergy, it was a false alarm", "the allergy"),
        ("lo que te conté de mi jefe, ya no trabajo ahí", "mi jefe"),
    ],
)
def test_the_reason_and_the_words_before_it_are_cut_off_from_the_subject_of_a_wish(subject: str, head: str) -> None:
    assert without_reason(subject) == head


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("I wear a hearing aid in my left ear.", "forget the hearing aid"),
        ("I rent an allotment in Hull.", "Ok, forget the allotment, please."),
        ("We own a cottage in Wales.", "forget the cottage, we sold it"),
        ("Marcus is my flatmate.", "Forget Marcus."),
        ("Tengo un tatuaje de una garza.", "olvida el tatuaje"),
        ("Marcos es mi compañero de piso.", "olvida a Marcos, porfa"),
        ("Remember that my shirt size is medium.", "delete my shirt size"),
    ],
)
def test_a_thing_that_is_only_named_is_forgotten_if_it_is_known(memory: Engine, fact: str, text: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", fact)
        session.add("user", "I live in Lyon.")
    memory.drain()
    known = _texts(memory)
    done = _wish(memory, text)
    assert len(done.memories) == 1
    assert _texts(memory) == {"I live in Lyon."}
    assert done.undo is not None
    memory.undo(done.undo)
    assert _texts(memory) == known


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("I have eczema.", "pls forgt that i have eczema"),
        ("I have eczema.", "foregt that i have eczema"),
        ("I have eczema.", "never remember that I have eczema"),
        ("I have eczema.", "I'd like my eczema deleted from your records."),
        ("Mi sueldo es de 1900 euros.", "no recuerdes más mi sueldo"),
        ("Tengo un tatuaje de una garza.", "que se te borre lo del tatuaje"),
        ("Mi novio Elías es panadero.", "rompí con Elías, borra todo lo que sabes de él"),
        ("Mi amiga Berta es pintora.", "ya no me hablo con Berta, olvídala"),
        ("My friend Dora is a painter.", "I fell out with Dora, please erase everything you know about her."),
    ],
)
def test_a_wish_to_forget_in_other_words_is_obeyed(memory: Engine, fact: str, text: str) -> None:
    memory.remember(fact, user="ana")
    memory.remember("I live in Lyon.", user="ana")
    _wish(memory, text)
    assert _texts(memory) == {"I live in Lyon."}


@pytest.mark.parametrize("text", ["Forget my ex. I live in Lyon.", "Forget my brother's singing, I live in Lyon now."])
def test_a_message_that_also_tells_something_is_learned_if_nothing_is_forgotten(memory: Engine, text: str) -> None:
    memory.remember("I live in Oslo.", user="ana")
    with memory.session(user="ana") as session:
        session.add("user", text)
    memory.drain()
    assert any("Lyon" in each for each in _texts(memory))


@pytest.mark.parametrize(
    "text", ["che estuve internado un mes. eso bórralo de tu mente", "I was in rehab for a month. Erase that from your mind."]
)
def test_what_stands_before_a_wish_to_forget_is_not_learned(memory: Engine, text: str) -> None:
    with memory.session(user="ana") as session:
        session.add("user", text)
    memory.drain()
    assert not _texts(memory)
    assert not [hit for hit in memory.recall("internado rehab", user="ana") if "rehab" in hit.text or "internado" in hit.text]


def test_only_the_sentence_of_a_wish_says_what_to_forget(memory: Engine) -> None:
    memory.remember("I live in Lyon.", user="ana")
    memory.session(user="ana").add("user", "Forget my cat. I live in Lyon.")
    assert _texts(memory) == {"I live in Lyon."}


def test_a_thing_that_is_named_in_its_own_session_is_forgotten_before_it_is_learned(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "I have a tattoo of a heron.")
        session.add("user", "I live in Lyon.")
        assert session.add("user", "forget the tattoo").consent is not None
    memory.drain()
    assert _texts(memory) == {"I live in Lyon."}


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("forget the piano lessons", "Ok."),
        ("forget the soup, I'll have the fish", "Ok."),
        ("Forget the garage.", "The plan has three rooms on the ground floor, and a garage next to the kitchen."),
        ("olvida la sopa, mejor tacos", "Ok."),
        ("Don't forget the soup!", "Ok."),
        ("Did you forget the soup?", "Ok."),
    ],
)
def test_a_thing_that_is_unknown_or_belongs_to_the_talk_is_not_forgotten(memory: Engine, text: str, reply: str) -> None:
    facts = {"Loves onion soup.", "Plays the piano.", "Rents a garage."}
    for fact in facts:
        memory.remember(fact, user="ana")
    with memory.session(user="ana") as session:
        session.add("user", "I can't decide.")
        session.add("assistant", reply)
        said = session.add("user", text)
    assert (said.consent, said.action) == (None, None)
    assert _texts(memory) == facts


def test_a_wish_that_may_be_one_to_forget_withholds_its_message_if_nothing_is_known(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        said = session.add("user", "lo que te diga ahora lo borras al final, mi tarjeta termina en 7745")
        assert said.action == "off_record"


def test_a_thing_that_only_occurred_in_a_task_is_not_forgotten(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "Draw a garage with a red door.")
        session.add("assistant", "Done.")
        assert session.add("user", "forget the garage").consent is None


@pytest.mark.long
@pytest.mark.parametrize("source", ["first", "second"])
def test_a_wish_that_shares_no_word_with_a_memory_finds_it_by_meaning(tmp_path: Path, source: str) -> None:
    """``subjects.jsonl`` has people with ten facts and wishes to forget one of them. Rows with ``second`` were not used for tuning."""
    rows = [json.loads(line) for line in (Path(__file__).parent / "subjects.jsonl").read_text("utf-8").splitlines()]
    right, wrong, named = 0, [], 0
    for number, person in enumerate(row for row in rows if row["source"] == source):
        with holdfast.open(tmp_path / f"{number}.db", worker="none", embedder="talk-embed-s") as memory:
            stored = {fact: memory.remember(fact, user="ana").id for fact in person["facts"]}
            for wish in person["wishes"]:
                consent = memory.session(user="ana").add("user", wish["text"]).consent
                taken = [each.id for each in consent.memories] if consent else []
                named += wish["about"] is not None
                right += taken == [stored.get(wish["about"])]
                wrong += [(wish["text"], memory.get(id).text) for id in taken if id != stored.get(wish["about"])]
                if consent and consent.undo:
                    memory.undo(consent.undo)
    assert right / named >= 0.65
    assert len(wrong) <= 1, wrong


def test_a_wish_that_can_mean_two_memories_takes_neither(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "m.db", worker="none", embedder="talk-embed-s") as memory:
        for text in ("I drive a red Toyota Yaris", "I drive a blue Honda Jazz"):
            memory.remember(text, user="ana")
        assert not _wish(memory, "Forget what you know about my car.").memories
        assert len(_texts(memory)) == 2


def test_a_reply_with_every_word_of_the_subject_does_not_protect_the_memory(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        session.add("user", "Remember that my sister-in-law Mabel turns 40 on April 2.")
        session.add("assistant", "Noted: the birthday of Mabel is April 2.")
    done = _wish(memory, "Forget about Mabel's birthday.")
    assert ["Mabel" in each.text for each in done.memories] == [True]
    assert not _texts(memory)


def test_a_note_on_a_recent_topic_is_forgotten_with_its_memory(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="rostro", embedder="talk-embed-s", chat="none")
    told = memory.remember("El fontanero es Paco Bori y vive en el tres de la calle Cádiz", user="ana")
    memory.remember("fontanero, paco, bori, vive", kind="recent", key="ses:1", topic="casa", user="ana", sources=[told.id])
    memory.remember("El usuario riega las plantas los lunes", user="ana")
    memory.session(user="ana").add("user", "oye olvídate de lo del fontanero que se ha jubilado el pobre")
    left = [each.text for kind in ("conclusion", "recent") for each in memory.memories(user="ana", kinds=[kind])]
    assert left == ["El usuario riega las plantas los lunes"]
