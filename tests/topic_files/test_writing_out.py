"""Pages and the index are written to the folder, and nowhere else."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from holdfast.testing import FrozenClock
from holdfast.topic_files import SyncReport
from holdfast.topic_files.folder import Folder
from tests.topic_files.support import BROTH, NUTS, RICE, Workspace


@pytest.mark.ledger("R7")
def test_live_memories_of_a_topic_are_a_page(cooking: Workspace) -> None:
    lines = "".join(f"- {text} (2026-03-01)\n" for text in (RICE, BROTH, NUTS))
    assert cooking.read() == f"# Cooking\n\n{lines}"
    assert cooking.names() == ["cooking.md"]


def test_a_change_in_the_memory_reaches_the_page(cooking: Workspace, clock: FrozenClock) -> None:
    clock.advance(timedelta(days=1))
    cooking.memory.forget(cooking.memory.memories(user="ana", topic="cooking")[0].id)
    cooking.keep("Has a paella pan")
    report = cooking.files.sync()
    assert (report.read_in, report.written) == (0, 1)
    assert cooking.read().count("\n- ") == 3
    assert cooking.read().endswith("- Has a paella pan (2026-03-02)\n")


def test_a_topic_without_memories_has_no_page(cooking: Workspace) -> None:
    for memory in cooking.memory.memories(user="ana"):
        cooking.memory.forget(memory.id)
    cooking.files.sync()
    assert cooking.names() == []


def test_memories_of_others_and_without_a_topic_are_on_no_page(workspace: Workspace) -> None:
    workspace.memory.remember("Secret of Bea", user="bea", topic="cooking")
    workspace.memory.remember("Lives in Lugo", user="ana")
    workspace.files.sync()
    assert not workspace.topics.exists()


def test_nothing_is_written_when_nothing_changed(cooking: Workspace) -> None:
    before = (cooking.topics / "cooking.md").stat().st_mtime_ns
    assert [cooking.files.sync() for _ in range(25)] == [SyncReport()] * 25
    assert cooking.mirror().sync() == SyncReport()
    assert (cooking.topics / "cooking.md").stat().st_mtime_ns == before


@pytest.mark.parametrize("topic", ["../../etc", "CON", "a/b", "🍕", "..", "C:\\x", "index", "x" * 400])
def test_no_topic_is_written_outside_the_folder(workspace: Workspace, folder: Path, topic: str) -> None:
    workspace.keep("Something", topic)
    workspace.files.sync()
    (name,) = workspace.names()
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"topics"}
    workspace.save(workspace.read(name).replace("Something", "Something else"), name)
    assert workspace.files.sync().read_in == 1
    assert workspace.known(topic) == ["Something else"]


@pytest.mark.parametrize("name", ["../x.md", "/etc/x.md", "a/b.md", "", ".."])
def test_a_name_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        Folder(tmp_path).stamp(name)


def test_two_topics_with_similar_names_have_two_pages(workspace: Workspace) -> None:
    workspace.keep("One", "a/b")
    workspace.keep("Two", "a-b")
    workspace.files.sync()
    assert len(workspace.names()) == 2
    assert workspace.mirror().sync() == SyncReport()


@pytest.mark.long
def test_five_hundred_lines_are_kept_in_sync(workspace: Workspace) -> None:
    workspace.fill(500)
    workspace.files.sync()
    assert workspace.read().count("\n- ") == 500
    report = workspace.edit("number", "numero")
    assert report.questions == ()
    assert report.read_in == 500
    assert len(workspace.known()) == 500
    assert all("numero" in text for text in workspace.known())


@pytest.mark.ledger("R9")
def test_the_index_shows_recent_topics_newest_first(workspace: Workspace) -> None:
    workspace.note("planning trip to Portugal", "travel", valid_from="2026-02-11T09:15:00")
    workspace.note("rice recipes and oven timing", valid_from="2026-02-12T14:30:00")
    workspace.files.sync()
    assert workspace.read("index.txt") == (
        "2026-02-12T14:30:00|cooking|rice recipes and oven timing\n2026-02-11T09:15:00|travel|planning trip to Portugal\n"
    )
    assert workspace.names() == ["index.txt"]


@pytest.mark.ledger("R9", "X10")
def test_the_index_is_edited_by_hand(workspace: Workspace) -> None:
    rice = workspace.note("rice recipes and oven timing", valid_from="2026-02-12T14:30:00")
    trip = workspace.note("planning trip to Portugal", "travel", valid_from="2026-02-11T09:15:00")
    workspace.files.sync()
    workspace.save("2026-02-12T14:30:00|cooking|rice recipes and pans\n2026-02-20T10:00:00|garden|when to sow\n", "index.txt")
    assert workspace.files.sync().read_in == 3
    assert workspace.memory.get(rice.id).text == "rice recipes and pans"
    assert workspace.memory.get(trip.id).status == "forgotten"
    assert workspace.read("index.txt").startswith(
        "2026-02-20T10:00:00|garden|when to sow\n2026-02-12T14:30:00|cooking|rice recipes and pans\n"
    )


def test_the_index_file_has_twenty_notes_and_older_ones_stay_in_the_store(workspace: Workspace, clock: FrozenClock) -> None:
    for n in range(23):
        workspace.note(f"talk number {n}")
        clock.advance(timedelta(hours=1))
    workspace.files.sync()
    assert workspace.read("index.txt").count("\n") == 20
    assert workspace.files.sync().questions == ()
    assert len(workspace.memory.memories(user="ana", kinds=["recent"])) == 23


@pytest.mark.parametrize("damaged", [b"", b"2026-03-01T12:00:00|cook", b"\xff\xfe\0"])
def test_a_damaged_index_changes_nothing_and_creates_a_question(workspace: Workspace, damaged: bytes) -> None:
    for n in range(6):
        workspace.note(f"talk number {n} about rice")
    workspace.files.sync()
    whole = workspace.read("index.txt")
    (workspace.topics / "index.txt").write_bytes(damaged)
    (question,) = workspace.files.sync().questions
    assert len(workspace.memory.memories(user="ana", kinds=["recent"])) == 6
    workspace.files.refuse(question.id)
    assert workspace.read("index.txt") == whole


def test_the_index_follows_a_page_that_is_renamed(cooking: Workspace) -> None:
    cooking.note("rice recipes")
    cooking.files.sync()
    cooking.edit("# Cooking", "# Kitchen")
    assert cooking.read("index.txt") == "2026-03-01T12:00:00|kitchen|rice recipes\n"


def test_tenants_of_one_store_have_folders_of_their_own(open_memory: Callable[..., Engine], folder: Path) -> None:
    for tenant in ("default", "north", "south"):
        memory = open_memory(preset="rostro", tenant=tenant)
        memory.remember(f"a secret of {tenant}", topic="cooking")
        memory.drain()
    pages = [page.read_text("utf-8") for page in sorted(folder.rglob("*.md"))]
    assert [sum(f"a secret of {tenant}" in page for page in pages) for tenant in ("default", "north", "south")] == [1, 1, 1]
    for tenant in ("default", "north", "south"):
        memory = open_memory(preset="rostro", tenant=tenant)
        memory.drain()
        assert [kept.text for kept in memory.memories()] == [f"a secret of {tenant}"]
