"""Files that were moved, renamed or changed between two imports."""

from pathlib import Path

import pytest

from holdfast import Engine, Kind, Preset
from holdfast import open as open_memory
from tests.importers.support import texts
from tests.importers.test_documents import pdf, write

pytestmark = pytest.mark.ledger("X13")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Return a folder with two notes."""
    write(tmp_path / "vault" / "Garden.md", "# Roses\n\nCut them in March.\n\n# Pond\n\nThe pump needs a filter.")
    write(tmp_path / "vault" / "Ida.md", "Plays the oboe.")
    return tmp_path / "vault"


def test_a_renamed_note_is_not_imported_again_and_its_memories_follow(memory: Engine, vault: Path) -> None:
    memory.import_from(vault, user="ana")
    before = {each.text: each.created_at for each in memory.memories(user="ana")}
    (vault / "Home").mkdir()
    (vault / "Garden.md").rename(vault / "Home" / "Outside.md")
    planned = memory.import_from(vault, user="ana", dry_run=True)
    assert (planned.memories.updated, planned.memories.known) == (2, 1)
    result = memory.import_from(vault, user="ana")
    assert (result.memories.imported, result.memories.updated, result.memories.known) == (0, 2, 1)
    found = memory.memories(user="ana", namespace=("notes", "Home", "Outside"))
    assert sorted(each.text for each in found) == [
        "Outside > Pond: The pump needs a filter.",
        "Outside > Roses: Cut them in March.",
    ]
    assert {each.metadata["file"] for each in found} == {"Home/Outside.md"}
    assert {each.created_at for each in found} <= set(before.values())
    assert len(memory.memories(user="ana")) == 3
    assert memory.import_from(vault, user="ana").memories.known == 3


def test_a_note_that_is_moved_back_has_its_old_place_again(memory: Engine, vault: Path) -> None:
    memory.import_from(vault)
    before = texts(memory)
    (vault / "Garden.md").rename(vault / "Outside.md")
    memory.import_from(vault)
    (vault / "Outside.md").rename(vault / "Garden.md")
    assert memory.import_from(vault).memories.updated == 2
    assert texts(memory) == before
    assert memory.import_from(vault).memories.known == 3


def test_a_moved_note_that_was_also_edited_follows_and_gets_the_new_section(memory: Engine, vault: Path) -> None:
    memory.import_from(vault)
    (vault / "Garden.md").rename(vault / "Outside.md")
    write(vault / "Outside.md", "# Roses\n\nCut them in March.\n\n# Pond\n\nThe pump has a new filter.")
    result = memory.import_from(vault)
    assert (result.memories.updated, result.memories.imported) == (1, 1)


def test_a_copy_of_a_note_is_imported(memory: Engine, vault: Path) -> None:
    memory.import_from(vault)
    write(vault / "Ida B.md", "Plays the oboe.")
    assert memory.import_from(vault).memories.imported == 1
    assert "Ida: Plays the oboe." in texts(memory)
    assert "Ida B: Plays the oboe." in texts(memory)


def test_a_part_of_a_folder_is_not_imported_again(memory: Engine, vault: Path) -> None:
    write(vault / "People" / "Ben.md", "Lives in Turku.")
    memory.import_from(vault)
    result = memory.import_from(vault / "People")
    assert (result.memories.imported, result.memories.updated) == (0, 1)
    assert texts(memory).count("Ben: Lives in Turku.") == 1


def test_another_note_with_one_equal_section_stays_another_note(memory: Engine, tmp_path: Path) -> None:
    write(tmp_path / "work" / "Monday.md", "# Plans\n\nNone.\n\n# Met\n\nIda.\n\n# Ate\n\nSoup.")
    write(tmp_path / "home" / "Tuesday.md", "# Plans\n\nNone.\n\n# Met\n\nBen.")
    memory.import_from(tmp_path / "work")
    assert memory.import_from(tmp_path / "home").memories.imported == 2
    assert memory.import_from(tmp_path / "work").memories.known == 3


def test_what_a_person_changed_pinned_or_forgot_stays(memory: Engine, vault: Path) -> None:
    memory.import_from(vault)
    found = {each.text: each.id for each in memory.memories()}
    memory.revise(found["Garden > Roses: Cut them in March."], "Cut the roses in April.")
    memory.revise(found["Garden > Pond: The pump needs a filter."], pinned=True)
    memory.forget(found["Ida: Plays the oboe."])
    (vault / "Garden.md").rename(vault / "Outside.md")
    (vault / "Ida.md").rename(vault / "Ida B.md")
    assert memory.import_from(vault).memories.known == 3
    assert texts(memory) == ["Cut the roses in April.", "Garden > Pond: The pump needs a filter."]


def test_memories_that_their_kind_pins_stay(tmp_path: Path, vault: Path) -> None:
    preset = Preset(name="pins", kinds=(Kind(name="rule", meaning="A rule", pinned=True),), default_kind="rule")
    with open_memory(tmp_path / "memory.db", preset=preset) as memory:
        memory.import_from(vault)
        (vault / "Ida.md").rename(vault / "Ida B.md")
        assert memory.import_from(vault).memories.known == 3
        assert len(memory.memories()) == 3


def test_a_moved_file_of_another_user_is_imported(memory: Engine, vault: Path) -> None:
    memory.import_from(vault, user="ana")
    (vault / "Ida.md").rename(vault / "Ida B.md")
    assert memory.import_from(vault, user="ben").memories.imported == 3
    assert "Ida: Plays the oboe." in texts(memory, user="ana")


def test_a_secret_in_a_note_is_no_change(memory: Engine, vault: Path) -> None:
    write(vault / "Keys.md", "---\ntoken: ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n---\npassword: hunter2hunter2")
    assert memory.import_from(vault).memories.redacted == 1
    assert memory.import_from(vault).memories.known == 4


@pytest.mark.parametrize("content", [b"The ferry leaves at nine.", pdf("The ferry leaves at nine.")], ids=["text", "pdf"])
def test_a_renamed_document_is_not_imported_again(memory: Engine, tmp_path: Path, content: bytes) -> None:
    if content.startswith(b"%PDF"):
        pytest.importorskip("pypdf", reason="the extra pdf is not installed")
    file = write(tmp_path / "ferry.txt", content)
    memory.import_from(file, user="ana")
    result = memory.import_from(file.rename(tmp_path / "Boat to the island.txt"), user="ana")
    assert (result.memories.imported, result.memories.updated) == (0, 1)
    (found,) = memory.memories(user="ana")
    assert (found.namespace, found.metadata["file"]) == (("documents", "Boat to the island.txt"), "Boat to the island.txt")
