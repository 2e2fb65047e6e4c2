"""Killed processes, concurrent mirrors, symbolic links and read-only folders."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput, SettingsError
from holdfast.services import services
from holdfast.topic_files import SyncReport, TopicFiles
from holdfast.topic_files.folder import Folder
from holdfast.topic_files.last_agreed import Record, read_record, scope_digest
from holdfast.topic_files.reading import read, settle
from holdfast.types import Scope
from tests.topic_files.support import ANA, BROTH, NUTS, PRESET, RICE, Workspace, revise


@pytest.mark.ledger("X10")
def test_a_process_killed_before_the_record_is_written_loses_and_repeats_nothing(cooking: Workspace) -> None:
    """Write the files but restore the old record, as if the process had been killed between the two writes."""
    old = services(cooking.memory).store.setting(cooking.files._setting)
    assert old is not None
    revise(cooking, RICE, "Prefers bomba rice for everything")
    cooking.memory.forget(next(m.id for m in cooking.memory.memories(user="ana") if m.text == BROTH))
    cooking.keep("Just learned")
    cooking.files.write_out()
    with services(cooking.memory).store.write() as tx:
        tx.set_setting(cooking.files._setting, old)
    revisions = {m.id: m.revision for m in cooking.memory.memories(user="ana")}
    report = cooking.mirror().sync()
    assert (report.read_in, report.conflicts, report.questions) == (0, (), ())
    assert {m.id: m.revision for m in cooking.memory.memories(user="ana")} == revisions


def test_after_a_kill_before_the_first_record_the_pages_are_not_taken_for_edits(cooking: Workspace) -> None:
    with services(cooking.memory).store.write() as tx:
        tx.set_setting(cooking.files._setting, Record(scope=scope_digest(ANA)).to_json())
    report = cooking.mirror().sync()
    assert report.read_in == 0
    assert cooking.names() == ["cooking.md"]
    assert len(cooking.known()) == 3


def test_an_edit_made_between_reading_and_writing_is_not_overwritten(cooking: Workspace) -> None:
    cooking.files.import_changes()
    cooking.keep("Just learned")
    cooking.save(cooking.read() + "- Typed in between\n")
    cooking.files.write_out()
    assert "Typed in between" in cooking.read()
    cooking.files.sync()
    assert {"Typed in between", "Just learned"} <= set(cooking.known())
    assert cooking.read().count("\n- ") == 5


def test_a_plan_is_dropped_when_a_file_changed_after_it_was_made(cooking: Workspace) -> None:
    cooking.keep("Just learned")
    stored = services(cooking.memory).store.setting(cooking.files._setting)
    plan, versions = cooking.files.plan(stored)
    cooking.save(cooking.read() + "- Typed in between\n")
    assert not cooking.files.put(plan, stored, versions)
    assert "Typed in between" in cooking.read()
    assert cooking.names() == ["cooking.md"]


def test_a_plan_is_dropped_when_the_memory_changed_after_it_was_made(cooking: Workspace) -> None:
    cooking.keep("Just learned")
    stored = services(cooking.memory).store.setting(cooking.files._setting)
    plan, versions = cooking.files.plan(stored)
    revise(cooking, NUTS, "Allergic to all nuts")
    assert not cooking.files.put(plan, stored, versions)


def test_edits_read_before_another_process_wrote_are_not_applied(cooking: Workspace) -> None:
    stored = services(cooking.memory).store.setting(cooking.files._setting)
    cooking.save(cooking.read() + "- Owns a wok\n")
    reading = read(Folder(cooking.topics), read_record(stored, ANA, ""), {})
    cooking.keep("Just learned")
    cooking.mirror().sync()
    assert cooking.files.apply(reading, stored, {}) is None
    assert len(cooking.known()) == 5


def test_a_file_that_grows_while_it_is_read_is_left_for_the_next_time(cooking: Workspace) -> None:
    stored = services(cooking.memory).store.setting(cooking.files._setting)
    cooking.save(cooking.read() + "- Owns a w")
    reading = read(Folder(cooking.topics), read_record(stored, ANA, ""), {})
    cooking.save(cooking.read() + "ok\n")
    settle(Folder(cooking.topics), reading, 0.0)
    assert reading.is_empty


def test_links_are_neither_followed_nor_replaced(cooking: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("# Outside\n\n- Not ours\n")
    (cooking.topics / "outside.md").symlink_to(outside)
    (cooking.topics / "deeper").mkdir()
    (cooking.topics / "deeper" / "x.md").write_text("# X\n\n- Not ours\n")
    cooking.keep("Ours", "outside")
    cooking.files.sync()
    assert outside.read_text() == "# Outside\n\n- Not ours\n"
    assert (cooking.topics / "outside.md").is_symlink()
    assert "Not ours" not in cooking.known(None)
    assert [name for name in cooking.names() if name.startswith("outside-")]


@pytest.mark.ledger("X28")
def test_a_hard_link_is_not_read_until_a_person_confirms_it(cooking: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("# Outside\n\n- The safe opens with 4711\n")
    (cooking.topics / "outside.md").hardlink_to(outside)
    (question,) = cooking.files.sync().questions
    assert "hard link" in question.text
    assert "The safe opens with 4711" not in cooking.known(None)
    cooking.files.confirm(question.id)
    assert "The safe opens with 4711" in cooking.known("outside")
    assert outside.read_text() == "# Outside\n\n- The safe opens with 4711\n"


def test_a_file_that_is_saved_slowly_loses_nothing(workspace: Workspace) -> None:
    before = {memory.id for memory in workspace.fill(30)}
    files = TopicFiles(
        services(workspace.memory).store, PRESET, services(workspace.memory).clock, workspace.topics, ANA, settle_seconds=0.02
    )
    files.sync()
    rows = workspace.read().splitlines(keepends=True)

    def save() -> None:
        with (workspace.topics / "cooking.md").open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(row)
                file.flush()
                time.sleep(0.005)

    thread = threading.Thread(target=save)
    thread.start()
    while thread.is_alive():
        files.sync()
    thread.join()
    assert files.sync().questions == ()
    assert {memory.id for memory in workspace.memory.memories(user="ana")} == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_that_is_called_like_a_page_blocks_nothing(cooking: Workspace) -> None:
    os.mkfifo(cooking.topics / "pipe.md")
    assert cooking.files.sync() == SyncReport()


def test_files_that_are_not_pages_are_ignored(cooking: Workspace) -> None:
    for name in ("README.md", "notes.txt", ".hidden.md", "cooking.md~", "empty.md"):
        (cooking.topics / name).write_text("" if name == "empty.md" else "# Note\n\n- Not a memory\n")
    assert cooking.files.sync() == SyncReport()
    assert len(cooking.names()) == 6


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root ignores file permissions")
def test_a_folder_that_cannot_be_written_to_is_reported(cooking: Workspace) -> None:
    cooking.keep("Just learned")
    cooking.topics.chmod(0o500)
    try:
        assert cooking.files.sync().problems
    finally:
        cooking.topics.chmod(0o700)
    assert cooking.files.sync().written == 1


def test_a_folder_belongs_to_one_scope(cooking: Workspace) -> None:
    other = TopicFiles(services(cooking.memory).store, PRESET, services(cooking.memory).clock, cooking.topics, Scope(user="bea"))
    with pytest.raises(SettingsError):
        other.sync()


def test_a_preset_without_topics_has_no_files(workspace: Workspace) -> None:
    with pytest.raises(InvalidInput):
        TopicFiles(
            services(workspace.memory).store,
            replace(PRESET, topics=None),
            services(workspace.memory).clock,
            workspace.topics,
            ANA,
        )


@pytest.mark.ledger("X10")
def test_several_mirrors_of_one_folder_lose_nothing(cooking: Workspace, open_memory: Callable[..., Engine]) -> None:
    """Run four mirrors of one folder, each with its own connections, while memories and files are edited."""
    mirrors = [Workspace(open_memory(preset=PRESET), cooking.topics).files for _ in range(4)]

    def look(files: TopicFiles) -> None:
        for _ in range(8):
            files.sync()

    threads = [threading.Thread(target=look, args=(files,)) for files in mirrors]
    for thread in threads:
        thread.start()
    for n in range(10):
        cooking.keep(f"Learned thing number {n} of ten")
    cooking.save("# Typed\n\n" + "".join(f"- Typed thing number {n} of ten\n" for n in range(10)), "typed.md")
    for thread in threads:
        thread.join()
    cooking.files.sync()
    assert len(cooking.known("cooking")) == 13
    assert len(cooking.known("typed")) == 10
    assert cooking.memory.memories(user="ana", retired=True) == []
    assert cooking.read().count("\n- ") == 13
    assert cooking.names() == ["cooking.md", "typed.md"]
