"""An edit that looks like an accident changes nothing and creates a question."""

import pytest

from holdfast.errors import NotFound
from tests.topic_files.support import Workspace


def broken(text: str) -> dict[str, bytes]:
    lines = text.splitlines(keepends=True)
    return {
        "empty": b"",
        "no title": "".join(lines[2:]).encode(),
        "cut off": text[: len(text) - 30].encode(),
        "cut in the title": b"# Coo",
        "many lines gone": "".join(lines[:5]).encode(),
        "NUL bytes": text.encode().replace(b"rice", b"\0\0\0\0"),
        "not UTF-8": text.encode().replace(b"rice", b"\xff\xe9"),
        "too big": text.encode() + b"- x\n" * 300_000,
    }


@pytest.mark.ledger("X10")
@pytest.mark.parametrize("how", list(broken("# T\n\n- a rice dish\n")))
def test_a_half_saved_or_emptied_file_changes_nothing_and_creates_a_question(workspace: Workspace, how: str) -> None:
    workspace.fill(9)
    workspace.files.sync()
    whole, known = workspace.read(), workspace.known()
    damaged = broken(whole)[how]
    (workspace.topics / "cooking.md").write_bytes(damaged)
    report = workspace.files.sync()
    assert report.read_in == report.written == 0
    (question,) = report.questions
    assert question.file == "cooking.md"
    assert (workspace.topics / "cooking.md").read_bytes() == damaged
    assert workspace.known() == known
    assert workspace.mirror().questions() == (question,)

    workspace.files.refuse(question.id)
    assert workspace.read() == whole
    assert workspace.known() == known
    assert workspace.files.questions() == ()


def test_the_question_about_a_file_is_dropped_when_the_file_is_complete_again(workspace: Workspace) -> None:
    workspace.fill(9)
    workspace.files.sync()
    whole = workspace.read()
    workspace.save(whole[:60])
    assert len(workspace.files.sync().questions) == 1
    workspace.save(whole)
    assert workspace.files.sync().questions == ()
    assert workspace.files.questions() == ()


@pytest.mark.ledger("X10")
def test_many_deleted_lines_are_forgotten_once_confirmed(workspace: Workspace) -> None:
    workspace.fill(9)
    workspace.files.sync()
    rows = workspace.read().splitlines(keepends=True)
    workspace.save("".join(rows[:7]) + "- And a new one\n")
    (question,) = workspace.files.sync().questions
    assert "4 of the 9 lines" in question.text
    assert len(workspace.known()) == 9
    workspace.files.confirm(question.id)
    assert len(workspace.known()) == 6
    assert "And a new one" in workspace.known()


def test_a_refused_mass_delete_keeps_what_was_added(workspace: Workspace) -> None:
    workspace.fill(9)
    workspace.files.sync()
    rows = workspace.read().splitlines(keepends=True)
    workspace.save("".join(rows[:7]) + "- And a new one\n")
    (question,) = workspace.files.sync().questions
    workspace.files.refuse(question.id)
    assert len(workspace.known()) == 10
    assert workspace.read().count("\n- ") == 10


def test_small_deletions_on_every_page_together_create_a_question(workspace: Workspace) -> None:
    for topic in ("one", "two", "three"):
        for n in range(4):
            workspace.keep(f"{topic} has the line {n * 31} of {topic * 3}", topic)
    workspace.files.sync()
    for topic in ("one", "two", "three"):
        workspace.save("".join(workspace.read(f"{topic}.md").splitlines(keepends=True)[:4]), f"{topic}.md")
    report = workspace.files.sync()
    assert len(report.questions) == 3
    assert report.read_in == 0


@pytest.mark.ledger("X10")
@pytest.mark.parametrize("answer", ["confirm", "refuse"])
def test_a_deleted_file_creates_a_question(cooking: Workspace, answer: str) -> None:
    (cooking.topics / "cooking.md").unlink()
    (question,) = cooking.files.sync().questions
    assert question.file == "cooking.md"
    assert len(cooking.known()) == 3
    assert cooking.names() == []
    getattr(cooking.files, answer)(question.id)
    assert len(cooking.known()) == (0 if answer == "confirm" else 3)
    assert cooking.names() == ([] if answer == "confirm" else ["cooking.md"])


def test_a_missing_folder_creates_one_question(cooking: Workspace) -> None:
    cooking.keep("Takes a pill at eight", "health")
    cooking.files.sync()
    for name in cooking.names():
        (cooking.topics / name).unlink()
    cooking.topics.rmdir()
    (question,) = cooking.files.sync().questions
    assert len(cooking.known(None)) == 4
    cooking.files.refuse(question.id)
    assert cooking.names() == ["cooking.md", "health.md"]


def test_a_file_in_an_old_windows_encoding_is_read_after_confirmation(cooking: Workspace) -> None:
    text = cooking.read() + "- Toma el café sin azúcar\n"
    (cooking.topics / "cooking.md").write_bytes(text.encode("cp1252"))
    (question,) = cooking.files.sync().questions
    cooking.files.confirm(question.id)
    assert "Toma el café sin azúcar" in cooking.known()
    assert "Toma el café sin azúcar (2026-03-01)" in cooking.read()


def test_a_utf_16_file_needs_no_confirmation(cooking: Workspace) -> None:
    (cooking.topics / "cooking.md").write_bytes((cooking.read() + "- Toma té\n").encode("utf-16"))
    assert cooking.files.sync().questions == ()
    assert "Toma té" in cooking.known()


def test_answering_an_unknown_question_raises_not_found(cooking: Workspace) -> None:
    with pytest.raises(NotFound):
        cooking.files.confirm("q123")


def test_an_open_question_about_a_page_does_not_stop_the_others(cooking: Workspace) -> None:
    cooking.keep("Takes a pill at eight", "health")
    cooking.files.sync()
    (cooking.topics / "cooking.md").write_bytes(b"")
    cooking.save(cooking.read("health.md") + "- Runs on Sundays\n", "health.md")
    report = cooking.files.sync()
    assert (report.read_in, len(report.questions)) == (1, 1)
    assert "Runs on Sundays" in cooking.known("health")
