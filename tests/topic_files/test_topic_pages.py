"""Topic pages without files: listed, shown, and edited as Markdown."""

from collections.abc import Callable

import pytest

from holdfast import Engine
from holdfast.errors import Conflict, InvalidInput, NotFound

OpenMemory = Callable[..., Engine]
LINES = ("prefers bomba rice for paella", "uses homemade broth", "is allergic to tree nuts")


@pytest.fixture
def cooking(memory: Engine) -> Engine:
    for line in LINES:
        memory.remember(line, topic="cooking", user="ana")
    return memory


def texts(memory: Engine) -> set[str]:
    return {found.text for found in memory.memories(user="ana")}


def test_topics_are_listed_with_their_lines(cooking: Engine) -> None:
    cooking.remember("the chain wants oil", topic="bicycle", user="ana")
    found = {page.topic: len(page.lines) for page in cooking.topics.list(user="ana")}
    assert found == {"cooking": 3, "bicycle": 1}
    assert cooking.topics.list(user="bea") == []


@pytest.mark.ledger("R7")
def test_a_page_is_markdown_with_a_line_and_a_date_a_memory(cooking: Engine) -> None:
    page = cooking.topics.page("Cooking", user="ana")
    assert page.markdown == "# Cooking\n\n" + "".join(f"- {line} (2026-03-01)\n" for line in LINES)


def test_an_edited_page_revises_adds_and_forgets(cooking: Engine) -> None:
    page = cooking.topics.page("cooking", user="ana")
    edited = page.markdown.replace("bomba rice", "bahía rice").replace("- uses homemade broth (2026-03-01)\n", "- owns a wok\n")
    after = cooking.topics.edit("cooking", edited, base=page.markdown, user="ana")
    assert {line.text for line in after.lines} == {"prefers bahía rice for paella", "owns a wok", "is allergic to tree nuts"}
    assert texts(cooking) == {line.text for line in after.lines}
    first = next(line for line in after.lines if "bahía" in line.text)
    assert first.id == page.lines[0].id


def test_an_edit_does_not_undo_what_was_learned_while_it_was_made(cooking: Engine) -> None:
    page = cooking.topics.page("cooking", user="ana")
    cooking.remember("likes saffron", topic="cooking", user="ana")
    cooking.topics.edit("cooking", page.markdown + "- owns a wok\n", base=page.markdown, user="ana")
    assert {"likes saffron", "owns a wok", *LINES} == texts(cooking)


def test_a_new_title_renames_the_topic(cooking: Engine) -> None:
    page = cooking.topics.page("cooking", user="ana")
    after = cooking.topics.edit("cooking", page.markdown.replace("# Cooking", "# Kitchen"), user="ana")
    assert after.topic == "kitchen"
    assert [found.topic for found in cooking.topics.list(user="ana")] == ["kitchen"]


def test_editing_a_page_that_does_not_exist_creates_it(memory: Engine) -> None:
    after = memory.topics.edit("bread", "# Bread\n\n- rye flour is from the mill\n", user="ana")
    assert [line.text for line in after.lines] == ["rye flour is from the mill"]


@pytest.mark.ledger("X10")
def test_an_edit_that_empties_a_page_must_be_confirmed(memory: Engine) -> None:
    for number in range(9):
        memory.remember(f"finding {number}", topic="cooking", user="ana")
    with pytest.raises(Conflict, match="8 of the 9 lines"):
        memory.topics.edit("cooking", "# Cooking\n\n- finding 0 (2026-03-01)\n", user="ana")
    assert len(texts(memory)) == 9
    memory.topics.edit("cooking", "# Cooking\n\n- finding 0 (2026-03-01)\n", confirm=True, user="ana")
    assert texts(memory) == {"finding 0"}


def test_an_unknown_topic_and_a_preset_without_topics_are_reported(memory: Engine, open_memory: OpenMemory) -> None:
    with pytest.raises(NotFound, match="There is no topic 'tea'"):
        memory.topics.page("tea")
    with pytest.raises(InvalidInput, match="keeps no topics"):
        open_memory(preset="rumi").topics.edit("tea", "# Tea\n\n- green\n")


def test_a_memory_clearly_about_an_open_topic_is_assigned_to_it(cooking: Engine) -> None:
    session = cooking.session(user="ana")
    session.add("user", "For the paella I use rice and homemade broth, and I own a big paella pan.")
    session.end()
    cooking.drain()
    new = [found for found in cooking.memories(user="ana") if "pan" in found.text]
    assert new
    assert {found.topic for found in new} == {"cooking"}
