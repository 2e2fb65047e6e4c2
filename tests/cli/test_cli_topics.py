"""The ``topics`` commands and the topic files."""

import pytest

from .support import Holdfast


@pytest.fixture
def cooking(holdfast: Holdfast) -> Holdfast:
    for line in ("prefers bomba rice", "uses homemade broth"):
        holdfast("remember", line, "--topic", "cooking", "--preset", "rostro", "--shared")
    return holdfast


def test_topics_are_listed_and_shown_as_markdown(cooking: Holdfast) -> None:
    assert "cooking" in cooking("topics", "--preset", "rostro", "--shared").stdout
    (listed,) = cooking.json("topics", "list", "--preset", "rostro", "--shared")
    assert (listed["topic"], listed["lines"]) == ("cooking", 2)
    assert cooking("topics", "show", "cooking", "--preset", "rostro", "--shared").stdout.startswith(
        "# Cooking\n\n- prefers bomba rice ("
    )
    assert cooking.error("topics", "show", "tea", "--preset", "rostro", "--shared")["code"] == "not_found"


def test_a_user_without_topics_is_told_of_those_without_a_user(cooking: Holdfast) -> None:
    told = cooking("topics", "list", "--preset", "rostro", "--user", "ana").stderr
    assert "No topics of ana. 1 topic without a user: add --shared." in told


@pytest.mark.ledger("R7", "X10")
def test_a_line_written_by_hand_into_a_file_is_a_memory_after_the_next_sync(cooking: Holdfast) -> None:
    cooking("topics", "sync", "--preset", "rostro", "--shared")
    page = cooking.home / "topics" / "cooking.md"
    page.write_text(page.read_text("utf-8") + "- owns a wok\n", "utf-8")
    assert cooking.json("topics", "sync", "--preset", "rostro", "--shared")["read_in"] == 1
    assert "owns a wok" in [found["text"] for found in cooking.json("list", "--preset", "rostro", "--shared")]


@pytest.mark.ledger("X10")
def test_a_deleted_file_creates_a_question_and_the_answer_no_restores_it(cooking: Holdfast) -> None:
    cooking("topics", "sync", "--preset", "rostro", "--shared")
    page = cooking.home / "topics" / "cooking.md"
    page.unlink()
    (question,) = cooking.json("topics", "questions", "--preset", "rostro", "--shared")
    assert "cooking.md was deleted" in question["text"]
    cooking("topics", "answer", question["id"], "--no", "--preset", "rostro", "--shared")
    assert "bomba" in page.read_text("utf-8")


def test_a_page_is_edited_from_a_file_or_standard_input(cooking: Holdfast) -> None:
    edited = cooking("topics", "show", "cooking", "--preset", "rostro", "--shared").stdout.replace("bomba", "bahía")
    cooking("topics", "edit", "cooking", "--file", "-", "--preset", "rostro", "--shared", input=edited)
    assert "bahía rice" in cooking("topics", "show", "cooking", "--preset", "rostro", "--shared").stdout
