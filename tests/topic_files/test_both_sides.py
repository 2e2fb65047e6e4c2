"""Concurrent changes in the file and in the store are both kept, and erased memories are removed from the files."""

from collections.abc import Callable

import pytest

from holdfast.services import services
from holdfast.topic_files import SyncReport
from tests.topic_files.support import BROTH, NUTS, RICE, Workspace, relabel, revise


@pytest.mark.ledger("X10")
def test_both_texts_of_a_line_changed_on_both_sides_are_kept(cooking: Workspace) -> None:
    memory = revise(cooking, RICE, "Prefers bomba rice for arroz al horno")
    report = cooking.edit(RICE, "Prefers senia rice for paella")
    assert report.conflicts == (memory.id,)
    for text in ("Prefers bomba rice for arroz al horno", "Prefers senia rice for paella"):
        assert text in cooking.known()
        assert text in cooking.read()


@pytest.mark.ledger("X10")
def test_a_line_deleted_in_the_file_and_changed_in_the_store_stays(cooking: Workspace) -> None:
    memory = revise(cooking, RICE, "Prefers bomba rice for everything")
    report = cooking.edit(f"- {RICE} (2026-03-01)\n", "")
    assert report.conflicts == (memory.id,)
    assert "Prefers bomba rice for everything" in cooking.read()


@pytest.mark.ledger("X10")
def test_a_line_edited_in_the_file_and_forgotten_in_the_store_stays_as_edited(cooking: Workspace) -> None:
    (memory,) = [m for m in cooking.memory.memories(user="ana") if m.text == RICE]
    cooking.memory.forget(memory.id)
    cooking.edit(RICE, "Prefers senia rice for paella")
    assert cooking.known() == sorted([BROTH, NUTS, "Prefers senia rice for paella"])


def test_different_lines_changed_on_both_sides_simply_merge(cooking: Workspace) -> None:
    revise(cooking, RICE, "Prefers bomba rice for everything")
    cooking.keep("Just learned")
    report = cooking.edit(NUTS, "Allergic to all nuts")
    assert report.conflicts == ()
    assert cooking.known() == sorted(["Prefers bomba rice for everything", BROTH, "Allergic to all nuts", "Just learned"])
    assert cooking.read().count("\n- ") == 4


@pytest.mark.ledger("X10")
def test_hand_edits_made_during_a_split_survive(cooking: Workspace) -> None:
    (nuts,) = [m for m in cooking.memory.memories(user="ana") if m.text == NUTS]
    relabel(cooking, {RICE: "cooking-rice", BROTH: "cooking-rice", NUTS: "cooking-health"})
    text = cooking.read().replace(NUTS, "Allergic to all tree nuts").replace(f"- {BROTH} (2026-03-01)\n", "")
    cooking.save(text + "- Owns a wok\n")
    report = cooking.files.sync()
    assert (report.questions, report.conflicts) == ((), ())
    assert cooking.memory.get(nuts.id).text == "Allergic to all tree nuts"
    assert cooking.known("cooking-health") == ["Allergic to all tree nuts"]
    assert cooking.known("cooking-rice") == [RICE]
    assert cooking.known("cooking-general") == ["Owns a wok"]
    assert cooking.names() == ["cooking-general.md", "cooking-health.md", "cooking-rice.md"]


def test_a_line_added_during_a_split_that_left_the_topic_stays_on_it(cooking: Workspace) -> None:
    relabel(cooking, {RICE: "cooking-rice", BROTH: "cooking", NUTS: "cooking"})
    cooking.save(cooking.read() + "- Owns a wok\n")
    cooking.files.sync()
    assert "Owns a wok" in cooking.known("cooking")


@pytest.mark.ledger("X5")
def test_erased_data_is_removed_from_the_files(cooking: Workspace, files_with: Callable[[str], list[str]]) -> None:
    (memory,) = [m for m in cooking.memory.memories(user="ana") if m.text == NUTS]
    (cooking.topics / ".holdfast-left.tmp").write_text(f"- {NUTS}\n")  # of a process that was killed
    cooking.memory.erase(id=memory.id)
    cooking.files.publish()
    assert files_with(NUTS) == []
    assert cooking.files.sync() == SyncReport()


@pytest.mark.ledger("X5")
@pytest.mark.parametrize("what", ["edited meanwhile", "asked about"])
def test_erased_lines_are_removed_even_from_a_file_that_waits_for_an_answer(
    workspace: Workspace, files_with: Callable[[str], list[str]], what: str
) -> None:
    lines = workspace.fill(9)
    workspace.files.sync()
    rows = workspace.read().splitlines(keepends=True)
    workspace.save("".join(rows[:6]) + "- New by hand\n")
    if what == "asked about":
        assert workspace.files.sync().questions
    workspace.memory.erase(id=lines[1].id)
    workspace.files.publish()
    assert files_with(lines[1].text) == []
    assert "New by hand" in workspace.read()
    (question,) = workspace.files.sync().questions
    workspace.files.refuse(question.id)
    assert len(workspace.known()) == 9


@pytest.mark.ledger("X5")
def test_a_user_who_is_erased_leaves_no_file_and_no_question(
    workspace: Workspace, files_with: Callable[[str], list[str]]
) -> None:
    workspace.fill(9)
    workspace.keep(NUTS, "health")
    workspace.note("rice recipes")
    workspace.files.sync()
    workspace.save("# Cooking\n", "cooking.md")
    assert workspace.files.sync().questions
    workspace.memory.erase(user="ana")
    workspace.files.publish()
    assert workspace.names() == []
    assert workspace.files.questions() == ()
    assert files_with("cooking") == []
    assert workspace.files.sync() == SyncReport()


def test_the_record_holds_no_text(cooking: Workspace) -> None:
    stored = services(cooking.memory).store.setting(cooking.files._setting)
    assert stored is not None
    assert not any(word in stored.lower() for word in ("rice", "broth", "nuts", "cooking", "ana"))
