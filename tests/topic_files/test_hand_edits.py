"""Edits to a page by hand change the memories."""

from collections.abc import Callable

import pytest

from holdfast.services import services
from holdfast.topic_files import SyncReport, TopicFiles
from holdfast.types import Scope
from tests.topic_files.support import ANA, BROTH, NUTS, PRESET, RICE, Workspace


@pytest.mark.ledger("R7", "X10")
def test_an_edited_line_revises_its_memory(cooking: Workspace) -> None:
    (before,) = [m for m in cooking.memory.memories(user="ana") if m.text == RICE]
    report = cooking.edit("Prefers bomba rice", "Prefers senia rice")
    after = cooking.memory.get(before.id)
    assert report.read_in == 1
    assert after.text == "Prefers senia rice for paella"
    assert cooking.memory.history(before.id)[-1].author.actor == "file"


@pytest.mark.ledger("X10")
@pytest.mark.parametrize("typed", ["- Owns a wok (2026-02-03)", "* Owns a wok", "Owns a wok", "\n## Tools\n\n- Owns a wok"])
def test_a_new_line_becomes_a_memory(cooking: Workspace, typed: str) -> None:
    cooking.save(cooking.read() + typed + "\n")
    cooking.files.sync()
    (memory,) = [m for m in cooking.memory.memories(user="ana", topic="cooking") if m.text == "Owns a wok"]
    assert (memory.origin, memory.trust, memory.kind) == ("file", 1.0, "fact")
    assert memory.valid_from.date().isoformat() == ("2026-02-03" if "(" in typed else "2026-03-01")
    assert "Owns a wok (2026-0" in cooking.read()


@pytest.mark.ledger("X10")
def test_a_deleted_line_is_forgotten_and_can_be_undone(cooking: Workspace) -> None:
    cooking.edit(f"- {NUTS} (2026-03-01)\n", "")
    (gone,) = cooking.memory.memories(user="ana", retired=True)
    assert (gone.text, gone.status) == (NUTS, "forgotten")
    cooking.memory.undo(cooking.memory.history(gone.id)[-1])
    cooking.files.sync()
    assert NUTS in cooking.read()


def test_a_restored_line_is_the_same_memory(cooking: Workspace) -> None:
    (before,) = [m for m in cooking.memory.memories(user="ana") if m.text == NUTS]
    whole = cooking.read()
    cooking.edit(f"- {NUTS} (2026-03-01)\n", "")
    cooking.save(whole)
    cooking.files.sync()
    assert cooking.memory.get(before.id).status == "live"
    assert cooking.known() == sorted([RICE, BROTH, NUTS])


def test_a_line_cut_from_one_page_and_later_pasted_into_another_is_the_same_memory(cooking: Workspace) -> None:
    (before,) = [m for m in cooking.memory.memories(user="ana") if m.text == NUTS]
    cooking.edit(f"- {NUTS} (2026-03-01)\n", "")
    cooking.save(f"# Health\n\n- {NUTS}\n", "health.md")
    cooking.files.sync()
    assert cooking.memory.get(before.id).topic == "health"


@pytest.mark.ledger("X10")
def test_a_new_file_makes_a_topic_and_keeps_its_name(workspace: Workspace) -> None:
    workspace.topics.mkdir(parents=True)
    workspace.save("# Viajes a Perú\n\n- Quiere ver Cusco\n- Vuela desde Lisboa (2026-02-01)\n", "Mis viajes.md")
    assert workspace.files.sync().read_in == 2
    assert workspace.known("viajes-a-perú") == ["Quiere ver Cusco", "Vuela desde Lisboa"]
    assert workspace.names() == ["Mis viajes.md"]
    assert (
        workspace.read("Mis viajes.md")
        == "# Viajes a Perú\n\n- Quiere ver Cusco (2026-03-01)\n- Vuela desde Lisboa (2026-02-01)\n"
    )


def test_a_new_file_without_a_title_is_called_by_its_name(workspace: Workspace) -> None:
    workspace.topics.mkdir(parents=True)
    workspace.save("Wants a window seat", "travel.md")
    workspace.files.sync()
    assert workspace.known("travel") == ["Wants a window seat"]
    assert workspace.read("travel.md").startswith("# Travel\n")


def test_a_new_title_is_a_new_topic_for_the_same_memories(cooking: Workspace) -> None:
    before = {memory.id for memory in cooking.memory.memories(user="ana")}
    cooking.keep("Just learned")
    cooking.edit("# Cooking", "# Kitchen")
    after = cooking.memory.memories(user="ana", topic="kitchen")
    assert before < {memory.id for memory in after}
    assert len(after) == 4
    assert cooking.names() == ["cooking.md"]


def test_moving_a_line_between_files_changes_only_its_topic(cooking: Workspace) -> None:
    cooking.keep("Takes a pill at eight", "health")
    cooking.files.sync()
    (before,) = [m for m in cooking.memory.memories(user="ana") if m.text == NUTS]
    cooking.save(cooking.read().replace(f"- {NUTS} (2026-03-01)\n", ""))
    cooking.save(cooking.read("health.md") + f"- {NUTS}!\n", "health.md")
    report = cooking.files.sync()
    assert report.questions == ()
    assert (cooking.memory.get(before.id).topic, cooking.memory.get(before.id).text) == ("health", f"{NUTS}!")


def test_a_renamed_file_creates_no_question(workspace: Workspace) -> None:
    before = {memory.id for memory in workspace.fill(9)}
    workspace.files.sync()
    (workspace.topics / "cooking.md").rename(workspace.topics / "food.md")
    assert workspace.files.sync() == SyncReport()
    assert {memory.id for memory in workspace.memory.memories(user="ana")} == before
    assert workspace.names() == ["food.md"]


def test_a_copy_of_a_page_makes_no_second_memories(cooking: Workspace) -> None:
    cooking.save(cooking.read() + "- Only here\n", "cooking (copy).md")
    cooking.files.sync()
    assert cooking.known() == sorted([RICE, BROTH, NUTS, "Only here"])
    assert cooking.names() == ["cooking.md"]
    assert "Only here" in cooking.read()


def test_two_lines_that_become_equal_by_an_edit_become_one(cooking: Workspace) -> None:
    cooking.edit(BROTH, RICE)
    assert cooking.known() == sorted([RICE, NUTS])
    assert cooking.read().count(RICE) == 1


def test_the_layout_and_order_of_a_hand_edited_page_stay(cooking: Workspace) -> None:
    page = f"# Cooking\n\n## Basics\n* {NUTS} (2026-03-01)\n<!-- ask Ana -->\n\n## Rice\n\n- {RICE} (2026-03-01)\n- {BROTH} (2026-03-01)\n"
    cooking.save(page)
    assert cooking.files.sync() == SyncReport()
    cooking.keep("Owns a wok")
    cooking.files.sync()
    assert cooking.read() == page + "- Owns a wok (2026-03-01)\n"


def test_windows_line_ends_stay(cooking: Workspace) -> None:
    cooking.save(cooking.read().replace("\n", "\r\n"))
    cooking.files.sync()
    cooking.keep("Owns a wok")
    cooking.files.sync()
    data = (cooking.topics / "cooking.md").read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n") == 6


def test_an_edit_of_a_line_keeps_the_key_of_its_memory(workspace: Workspace) -> None:
    memory = workspace.memory.remember("bomba", user="ana", key="rice", topic="cooking")
    workspace.files.sync()
    assert "- rice: bomba (2026-03-01)" in workspace.read()
    workspace.edit("bomba", "senia")
    assert (workspace.memory.get(memory.id).key, workspace.memory.get(memory.id).text) == ("rice", "senia")


def test_a_memory_with_line_breaks_is_written_as_one_line_and_not_revised(workspace: Workspace) -> None:
    memory = workspace.keep("One\ntwo\n\n# three")
    workspace.files.sync()
    workspace.save(workspace.read() + "- Another\n")
    workspace.files.sync()
    assert workspace.memory.get(memory.id).revision == 1
    assert "- One two # three (2026-03-01)\n" in workspace.read()


def test_a_secret_typed_into_a_page_is_kept_nowhere(cooking: Workspace, files_with: Callable[[str], list[str]]) -> None:
    cooking.save(cooking.read() + "- The password is hunter2-Zx81-qq\n")
    cooking.files.sync()
    assert files_with("hunter2-Zx81-qq") == []


def test_a_future_date_stays_in_the_text(cooking: Workspace) -> None:
    cooking.save(cooking.read() + "- Dinner for ten (2026-09-01)\n")
    cooking.files.sync()
    assert "- Dinner for ten (2026-09-01) (2026-03-01)\n" in cooking.read()


def test_follow_up_work_is_queued_in_the_transaction_of_a_change(cooking: Workspace) -> None:
    seen: list[Scope] = []
    files = TopicFiles(
        services(cooking.memory).store,
        PRESET,
        services(cooking.memory).clock,
        cooking.topics,
        ANA,
        follow_up=lambda tx, scope: seen.append(scope),
    )
    cooking.save(cooking.read() + "- Owns a wok\n")
    files.sync()
    assert seen == [ANA]


def test_an_edited_date_becomes_the_start_of_validity(cooking: Workspace) -> None:
    cooking.edit(f"{NUTS} (2026-03-01)", f"{NUTS} (2026-02-10)")
    (memory,) = [m for m in cooking.memory.memories(user="ana") if m.text == NUTS]
    assert memory.valid_from.date().isoformat() == "2026-02-10"
