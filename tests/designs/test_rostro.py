"""Rostro's design: recalled memories that accumulate during a conversation, topic detection in the background, topic pages,
digestion, and the index of recent topics.
"""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.services import services
from holdfast.session import Session
from holdfast.testing import FrozenClock, RecordedCall, ScriptedChat

OpenMemory = Callable[..., Engine]


def cook(session: Session) -> None:
    """Run a conversation that produces three conclusions on one subject."""
    session.add("user", "I decided that bomba rice is the one for my paella.")
    session.add("assistant", "Good choice.")
    session.add("user", "I found out that homemade chicken broth makes the paella much better.")
    session.add("assistant", "It does.")
    session.add("user", "I have decided to never put chorizo into a paella again.")
    session.add("assistant", "Noted.")


def told(memory: Engine, *texts: str, topic: str | None = None) -> None:
    for text in texts:
        memory.remember(text, topic=topic)


@pytest.fixture
def rostro(open_memory: OpenMemory) -> Engine:
    return open_memory(preset="rostro")


# --- R1: the history --------------------------------------------------------------------------------------------


@pytest.mark.ledger("R1")
def test_the_history_has_ten_turns_and_is_cleared_when_the_conversation_falls_silent(rostro: Engine, clock: FrozenClock) -> None:
    session = rostro.session(id="kitchen", shared=True)
    for number in range(12):
        session.add("user", f"question {number}")
        session.add("assistant", f"answer {number}")
    assert session.window()[0].text == "question 2"
    assert len(session.window()) == 20
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    assert session.window() == []
    session.add("user", "I am back")
    assert [message.text for message in session.window()] == ["I am back"]


# --- R2: recall that accumulates --------------------------------------------------------------------------------


@pytest.mark.everywhere
@pytest.mark.ledger("R2")
def test_memories_accumulate_without_repeats_through_a_conversation(rostro: Engine) -> None:
    told(rostro, "the bicycle has a flat tyre", "the oven needs ten minutes to get hot", "the cat sleeps on the oven")
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "bicycle flat tyre")
    first = session.context().text
    assert "flat tyre" in first
    assert "ten minutes" not in first
    session.add("user", "oven needs ten minutes hot")
    second = session.context().text
    assert second.count("flat tyre") == 1
    assert "ten minutes" in second
    session.add("user", "bicycle flat tyre")
    assert session.context().text.count("flat tyre") == 1


@pytest.mark.ledger("R2")
def test_at_most_five_memories_are_recalled_per_message_and_none_with_a_low_cosine(rostro: Engine) -> None:
    told(rostro, *(f"the red bicycle number {number} stands in the yard" for number in range(9)), "a spoon is on the table")
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "the red bicycle number stands in the yard")
    context = session.context()
    found = [hit for hit in context.hits if hit.kind == "conclusion"]
    assert len(found) == 5
    assert [hit.kind for hit in context.left_out if hit.left_out_by == "limit"] == ["conclusion"] * 4
    session.add("user", "spoon")
    assert len([hit for hit in session.context().hits if "bicycle" in hit.text]) == 5  # hits beyond the limit do not accumulate
    assert all("bicycle" in hit.text for hit in found)


@pytest.mark.ledger("R2")
def test_a_restart_keeps_the_recalled_memories_of_a_conversation(open_memory: OpenMemory) -> None:
    memory = open_memory(preset="rostro")
    told(memory, "the bicycle has a flat tyre")
    session = memory.session(id="kitchen", shared=True)
    session.add("user", "bicycle flat tyre")
    session.context()
    memory.close()
    again = open_memory(preset="rostro").session(id="kitchen", shared=True)
    again.add("user", "what a day")
    assert "flat tyre" in again.context().text


# --- R3 and R4: the topic ---------------------------------------------------------------------------------------


@pytest.mark.everywhere
@pytest.mark.ledger("R3", "R4")
def test_while_the_reply_is_generated_the_model_names_the_topic_whose_page_replaces_other_memories(
    open_memory: OpenMemory,
) -> None:
    asked: list[str] = []

    def answer(call: RecordedCall) -> str:
        if "<topics>" not in call.text:
            return "{}"
        asked.append(call.text)
        return json.dumps({"topic": "cooking" if "paella" in call.text.split("<message>")[1] else None})

    memory = open_memory(preset="rostro", chat=ScriptedChat(respond=answer))
    told(memory, "Prefers bomba rice for paella", "Allergic to tree nuts", topic="cooking")
    told(memory, "the bicycle has a flat tyre", topic="bicycle")
    session = memory.session(id="kitchen", shared=True)
    session.add("user", "bicycle flat tyre")
    assert asked == [], "adding a message waits for no model"
    memory.drain()
    assert "Relevant memories:" in session.context().text
    session.add("user", "tonight we make paella")
    memory.drain()
    page = session.context().text
    assert "# Cooking\n\n- Prefers bomba rice for paella (2026-03-01)\n- Allergic to tree nuts (2026-03-01)" in page
    assert "Relevant memories:" not in page
    assert "flat tyre" not in page
    assert len(asked) == 2
    session.add("user", "and what about the bicycle?")
    memory.drain()
    assert len(asked) == 2, "once the topic is found it is never looked for again"
    assert "# Cooking" in session.context().text


@pytest.mark.everywhere
@pytest.mark.ledger("R3", "R4")
def test_without_a_model_the_topic_is_found_by_words_and_meaning(rostro: Engine) -> None:
    told(rostro, "paella wants bomba rice", "the paella broth is homemade", "no chorizo in the paella", topic="paella")
    told(rostro, "the bicycle has a flat tyre", "the bicycle chain wants oil", topic="bicycle")
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "how much broth does the paella rice need?")
    rostro.drain()
    assert "# Paella" in session.context().text


@pytest.mark.ledger("R3")
def test_a_resumed_conversation_detects_its_topic_again(rostro: Engine, clock: FrozenClock) -> None:
    told(rostro, "paella wants bomba rice", "the paella broth is homemade", topic="paella")
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "how much broth does the paella rice need?")
    rostro.drain()
    assert "# Paella" in session.context().text
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    session.add("user", "good morning")
    assert "# Paella" not in session.context().text


# --- R5 and R6: digestion ---------------------------------------------------------------------------------------


@pytest.mark.ledger("R5")
def test_conclusions_and_confirmed_observations_are_kept_and_the_obvious_is_not(rostro: Engine, clock: FrozenClock) -> None:
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "I decided that we go to Portugal by train.")
    session.add("assistant", "You seem to sleep badly before you travel.")
    session.add("user", "Yes, exactly.")
    session.add("assistant", "You seem to like early flights.")
    session.add("user", "No, not at all.")
    session.add("user", "Water is wet. What time is it?")
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    kept = " / ".join(memory.text for memory in rostro.memories(kinds=["conclusion"]))
    assert "Portugal" in kept
    assert "sleep" in kept
    assert "early flights" not in kept
    assert "wet" not in kept


@pytest.mark.ledger("R6")
def test_three_conclusions_create_a_topic_and_fewer_go_to_general_memory(rostro: Engine, clock: FrozenClock) -> None:
    cook(rostro.session(id="first", shared=True))
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    first = rostro.memories(kinds=["conclusion"])
    assert len(first) >= 3
    (topic,) = {memory.topic for memory in first}
    assert topic
    assert "paella" in topic
    session = rostro.session(id="second", shared=True)
    session.add("user", "I decided that we go to Portugal by train.")
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    (lone,) = [memory for memory in rostro.memories(kinds=["conclusion"]) if "Portugal" in memory.text]
    assert lone.topic is None


@pytest.mark.everywhere
@pytest.mark.ledger("R6")
def test_conclusions_of_a_conversation_with_a_topic_go_onto_its_page(rostro: Engine, clock: FrozenClock) -> None:
    told(rostro, "paella wants bomba rice", "the paella broth is homemade", "no chorizo in the paella", topic="paella")
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "I decided that the paella gets saffron from now on.")
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    (new,) = [memory for memory in rostro.memories(kinds=["conclusion"]) if "saffron" in memory.text]
    assert new.topic == "paella"


# --- R9 and R10: the index and the layers -----------------------------------------------------------------------


@pytest.mark.ledger("R9")
def test_each_closed_conversation_is_listed_with_its_topic_and_relative_time(rostro: Engine, clock: FrozenClock) -> None:
    cook(rostro.session(id="first", shared=True))
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    (note,) = rostro.memories(kinds=["recent"])
    clock.advance(timedelta(days=2))
    prompt = rostro.session(id="later", shared=True).context("hello").text
    assert f"- 2 days ago: {note.topic}: {note.text}" in prompt


@pytest.mark.long
@pytest.mark.ledger("R9")
def test_the_index_has_only_the_newest_twenty_closed_conversations(rostro: Engine, clock: FrozenClock) -> None:
    told(rostro, "paella wants bomba rice", "the paella broth is homemade", "no chorizo in the paella", topic="paella")
    for number in range(22):
        session = rostro.session(id=f"talk {number}", shared=True)
        session.add("user", f"the paella with rice and broth, number {number}")
        clock.advance(timedelta(minutes=8))
        rostro.drain()
    notes = rostro.memories(kinds=["recent"])
    assert len(notes) == 20
    assert min(note.valid_from for note in notes) > clock.now() - timedelta(minutes=8 * 21)


@pytest.mark.ledger("R10")
def test_the_layers_of_the_system_prompt_have_a_fixed_order(rostro: Engine, clock: FrozenClock) -> None:
    cook(rostro.session(id="first", shared=True))
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    session = rostro.session(id="second", shared=True)
    session.add("user", "bomba rice for my paella")
    prompt = session.context(persona="You are Rostro, a friendly face.").text
    places = [
        prompt.index(part) for part in ("You are Rostro", "Recent topics:", "Relevant memories:", "You have persistent memory.")
    ]
    assert places == sorted(places)
    assert prompt.startswith("You are Rostro, a friendly face.\n\n")
    rostro.drain()
    paged = session.context(persona="You are Rostro, a friendly face.").text
    assert "Relevant memories:" not in paged
    assert paged.index("Recent topics:") < paged.index("\n# ") < paged.index("You have persistent memory.")


@pytest.mark.ledger("R10")
def test_the_prompt_of_a_new_session_has_the_memory_instructions(rostro: Engine) -> None:
    assert (
        rostro.session(id="new", shared=True)
        .context("hello")
        .text.startswith("You have persistent memory. When the user shares decisions,")
    )


# --- R8: splitting ----------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.ledger("R8")
def test_five_hundred_lines_pushed_onto_a_page_end_up_on_pages_of_at_most_fifty(rostro: Engine) -> None:
    subjects = ("rice and broth", "bread and yeast", "knives and steel", "wine and cheese", "fish and salt")
    lines = [f"{subjects[number % 5]}: finding {number} of the kitchen" for number in range(500)]
    told(rostro, *lines, topic="cooking")
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "I decided that every dinner starts with a soup.")
    session.end()
    rostro.drain()
    kept = rostro.memories(kinds=["conclusion"], limit=1000)
    pages: dict[str | None, list[str]] = {}
    for memory in kept:
        pages.setdefault(memory.topic, []).append(memory.text)
    assert all(len(page) + 2 <= 50 for topic, page in pages.items() if topic)
    assert all(topic.startswith("cooking-") for topic in pages if topic)
    assert sorted(text for topic, page in pages.items() for text in page if "finding" in text) == sorted(lines)


@pytest.mark.ledger("R8")
def test_the_index_follows_a_page_that_is_split(rostro: Engine, clock: FrozenClock) -> None:
    told(rostro, *(f"bread and yeast finding {number}" for number in range(30)), topic="cooking")
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "I found out that bread and yeast want a warm place for their finding.")
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    told(rostro, *(f"knives and steel finding {number}" for number in range(30)), topic="cooking")
    session = rostro.session(id="again", shared=True)
    session.add("user", "I found out that bread and yeast want finding a cool place at night.")
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    topics = {memory.topic for memory in rostro.memories(kinds=["conclusion"], limit=1000)}
    assert "cooking" not in topics
    assert {note.topic for note in rostro.memories(kinds=["recent"])} <= topics


# --- R7 and X10: pages as files ---------------------------------------------------------------------------------


@pytest.mark.ledger("R7", "R9")
def test_pages_and_index_are_files_next_to_the_store(rostro: Engine, folder: Path, clock: FrozenClock) -> None:
    cook(rostro.session(id="first", shared=True))
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    (note,) = rostro.memories(kinds=["recent"])
    page = (folder / "topics" / f"{note.topic}.md").read_text("utf-8")
    lines = page.splitlines()
    assert lines[:2] == ["# Paella", ""]
    assert all(re.fullmatch(r"- .+ \(2026-03-01\)", line) for line in lines[2:])
    assert len(lines) == 2 + len(rostro.memories(topic=note.topic, kinds=["conclusion"]))
    index = (folder / "topics" / "index.txt").read_text("utf-8")
    assert re.fullmatch(rf"2026-03-01T12:\d\d:\d\d\|{note.topic}\|{re.escape(note.text)}\n", index)


@pytest.mark.everywhere
@pytest.mark.ledger("R7", "X10")
def test_a_hand_edit_of_a_page_is_known_at_the_next_turn(rostro: Engine, folder: Path) -> None:
    told(rostro, "paella wants bomba rice", "the paella broth is homemade", topic="paella")
    rostro.drain()
    page = folder / "topics" / "paella.md"
    text = page.read_text("utf-8")
    page.write_text(text.replace("bomba rice", "bahía rice") + "- the paella pan hangs behind the door\n", "utf-8")
    (folder / "topics" / "bread.md").write_text("# Bread\n\n- rye flour is from the mill\n", "utf-8")
    rostro.drain()
    kept = {memory.text: memory for memory in rostro.memories(kinds=["conclusion"])}
    assert set(kept) == {
        "paella wants bahía rice",
        "the paella broth is homemade",
        "the paella pan hangs behind the door",
        "rye flour is from the mill",
    }
    assert kept["rye flour is from the mill"].topic == "bread"
    assert kept["paella wants bahía rice"].revision > 1, "an edited line is the same memory"


@pytest.mark.ledger("X10")
def test_a_page_emptied_by_accident_loses_nothing_and_creates_a_question(rostro: Engine, folder: Path) -> None:
    told(rostro, *(f"finding {number} on paella" for number in range(9)), topic="paella")
    rostro.drain()
    page = folder / "topics" / "paella.md"
    page.write_text("", "utf-8")
    rostro.drain()
    assert len(rostro.memories(kinds=["conclusion"])) == 9
    (question,) = services(rostro).topic_files.questions()
    assert "paella.md" in question.text
    services(rostro).topic_files.answer(question.id, yes=False)
    assert page.read_text("utf-8").count("finding") == 9


@pytest.mark.everywhere
@pytest.mark.ledger("X5", "R7")
def test_erased_data_is_removed_from_the_pages_and_the_index(rostro: Engine, folder: Path, clock: FrozenClock) -> None:
    cook(rostro.session(id="first", user="ana"))
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    shown = [file for file in (folder / "topics").rglob("*") if file.is_file() and "paella" in file.read_text("utf-8")]
    assert len(shown) == 2
    receipt = rostro.erase(user="ana")
    assert receipt.verified
    assert not [file for file in (folder / "topics").rglob("*") if file.is_file() and "paella" in file.read_text("utf-8")]


@pytest.mark.ledger("R8", "X10")
def test_hand_edits_made_while_a_page_is_split_survive(rostro: Engine, folder: Path) -> None:
    told(rostro, *(f"bread and yeast finding {number}" for number in range(30)), topic="cooking")
    told(rostro, *(f"knives and steel finding {number}" for number in range(30)), topic="cooking")
    services(rostro).topic_files.sync()
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "I found out that bread and yeast finding want a warm place.")
    session.end()
    page = folder / "topics" / "cooking.md"
    page.write_text(page.read_text("utf-8").replace("yeast finding 7 ", "yeast finding seven ") + "- the wok is new\n", "utf-8")
    rostro.drain()
    texts = [memory.text for memory in rostro.memories(kinds=["conclusion"], limit=500)]
    assert "bread and yeast finding seven" in texts
    assert "bread and yeast finding 7" not in texts
    assert "the wok is new" in texts
    assert sum("finding" in text for text in texts if "warm place" not in text) == 60
    assert not page.exists()


@pytest.mark.everywhere
@pytest.mark.ledger("R5", "R6", "R9")
def test_a_conversation_with_a_model_creates_a_topic_that_the_next_conversation_uses(
    open_memory: OpenMemory, clock: FrozenClock
) -> None:
    def answer(call: RecordedCall) -> str:
        wanted = set((call.schema or {}).get("properties", {}))
        if "topic" in wanted:
            return json.dumps({"topic": "cooking"})
        if "name" in wanted:
            return json.dumps({"name": "cooking"})
        if "summary" in wanted:
            return json.dumps({"summary": "rice recipes and broth"})
        said = ("Bomba rice is for paella", "Homemade broth makes paella better", "No chorizo in a paella")
        return json.dumps({"items": [{"conclusion": text, "messages": [2 * place + 1]} for place, text in enumerate(said)]})

    memory = open_memory(preset="rostro", chat=ScriptedChat(respond=answer))
    cook(memory.session(id="first", shared=True))
    clock.advance(timedelta(minutes=8))
    memory.drain()
    assert {found.topic for found in memory.memories(kinds=["conclusion"])} == {"cooking"}
    clock.advance(timedelta(days=2))
    session = memory.session(id="later", shared=True)
    session.add("user", "What goes into a paella?")
    memory.drain()
    prompt = session.context(persona="You are Rostro.").text
    assert "- 2 days ago: cooking: rice recipes and broth" in prompt
    assert "# Cooking\n\n- Bomba rice is for paella (2026-03-01)" in prompt


# --- Topics that are joined ------------------------------------------------------------------------------------------


@pytest.mark.ledger("R6")
def test_a_name_that_a_topic_already_has_joins_that_topic(open_memory: OpenMemory) -> None:
    def answer(call: RecordedCall) -> str:
        if "<topics>" in call.text:
            return json.dumps({"topic": None})
        if "<existing>" in call.text:
            return json.dumps({"name": "cooking"})
        said = [f"Decided {word} for lunch" for word in ("bomba rice", "lentils", "chard")]
        return json.dumps({"items": [{"conclusion": text, "messages": [1]} for text in said]})

    memory = open_memory(preset="rostro", chat=ScriptedChat(respond=answer))
    told(memory, "Prefers bomba rice for paella", topic="cooking")
    with memory.session(id="kitchen", shared=True) as session:
        session.add("user", "I decided on bomba rice, lentils and chard for lunch.")
    memory.drain()
    assert {found.topic for found in memory.memories(kind="conclusion")} == {"cooking"}
    assert len(memory.memories(kind="conclusion")) == 4


@pytest.mark.ledger("R6")
def test_the_same_conclusion_three_times_makes_no_topic(open_memory: OpenMemory) -> None:
    same = ["Prefers bomba rice for paella", "prefers bomba rice for paella.", "Prefers bomba rice for paella!"]
    items = json.dumps({"items": [{"conclusion": text, "messages": [1]} for text in same]})
    memory = open_memory(preset="rostro", chat=ScriptedChat(respond=lambda call: items if "<topics>" not in call.text else "{}"))
    with memory.session(id="kitchen", shared=True) as session:
        session.add("user", "I prefer bomba rice for paella. Bomba rice. Really, bomba rice for paella.")
    memory.drain()
    assert [found.topic for found in memory.memories(kind="conclusion")] == [None]


# --- The prompt ------------------------------------------------------------------------------------------------------


@pytest.mark.ledger("R10")
def test_before_the_first_message_no_memory_is_selected_by_relevance(rostro: Engine) -> None:
    told(rostro, "the bicycle has a flat tyre", "Allergic to tree nuts")
    assert "Relevant" not in rostro.session(id="kitchen", shared=True).context().text


@pytest.mark.ledger("R10")
def test_headers_follow_the_language_of_the_conversation(rostro: Engine) -> None:
    told(rostro, "La bicicleta tiene una rueda pinchada")
    session = rostro.session(id="cocina", shared=True)
    session.add("user", "¿Qué le pasa a la rueda pinchada de la bicicleta?")
    assert "Recuerdos relevantes:" in session.context().text
    session.add("user", "ok")
    assert "Recuerdos relevantes:" in session.context().text


@pytest.mark.everywhere
@pytest.mark.ledger("R9", "X19")
def test_recent_topics_are_stable_between_turns_and_newest_first_after_an_import(rostro: Engine, clock: FrozenClock) -> None:
    for topic, days in (("garden", 12), ("cooking", 1), ("travel", 5)):
        moment = clock.now() - timedelta(days=days)
        rostro.remember(f"about {topic}", kind="recent", key=f"import:{days}", topic=topic, valid_from=moment)
    session = rostro.session(id="kitchen", shared=True)
    session.add("user", "hello there")
    first = session.context(persona="You are Rostro.")
    lines = [line for line in first.stable.splitlines() if line.startswith("- ")]
    assert [line.split(": ")[1] for line in lines] == ["cooking", "travel", "garden"]
    clock.advance(timedelta(minutes=5))
    session.add("user", "and now?")
    assert session.context(persona="You are Rostro.").stable == first.stable


@pytest.mark.ledger("R9")
def test_internal_rows_are_in_no_list_unless_asked_for(rostro: Engine) -> None:
    cook(session := rostro.session(id="kitchen", shared=True))
    session.end()
    rostro.drain()
    assert {found.kind for found in rostro.memories()} == {"conclusion"}
    assert rostro.count_memories() == len(rostro.memories())
    assert rostro.memories(kind="recent")


def test_the_index_loses_the_words_of_a_conclusion_that_changed(open_memory: OpenMemory, clock: FrozenClock) -> None:
    rostro = open_memory(preset="rostro", embedder="talk-embed-s", chat="none")
    cook(rostro.session(id="first", shared=True))
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    (note,) = rostro.memories(kinds=["recent"])
    assert "bomba" in note.text
    rostro.session(id="second", shared=True).add(
        "user", "I no longer take bomba rice for my paella, I decided to use senia rice."
    )
    clock.advance(timedelta(minutes=8))
    rostro.drain()
    assert not [memory for memory in rostro.memories(kinds=["conclusion"]) if "bomba rice is the one" in memory.text]
    first = rostro.get(note.id)
    assert "bomba" not in first.text
    assert "broth" in first.text
