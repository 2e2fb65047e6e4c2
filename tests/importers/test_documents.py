"""Import of documents: Markdown and Obsidian, text, PDF, and memories pasted as text."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import InvalidInput
from holdfast.importers.documents import sections
from tests.importers.support import texts

pytestmark = pytest.mark.ledger("X13")


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


class TestMarkdown:
    """Markdown files and Obsidian vaults."""

    def test_a_vault_keeps_tags_dates_links_and_folders(self, memory: Engine, tmp_path: Path) -> None:
        page = (
            "---\ntags: [garden, 'long term']\ncreated: 2024-05-06\n---\n# Roses\n\nWater them on Mondays, see [[Tools|the tools]] #plants/red.\n\n"
            "## Pests\n\n`#not-a-tag` Aphids come in May.\n"
        )
        write(tmp_path / "vault" / "Home" / "Roses.md", page)
        write(tmp_path / "vault" / ".obsidian" / "hidden.md", "never")
        write(tmp_path / "vault" / "empty.md", "")
        result = memory.import_from(tmp_path / "vault", user="ana")
        assert (result.format, result.memories.imported) == ("markdown", 2)
        first, second = sorted(memory.memories(user="ana", namespace=("notes", "Home", "Roses")), key=lambda each: each.text)
        assert first.text == "Roses > Pests: `#not-a-tag` Aphids come in May."
        assert second.text == "Roses: Water them on Mondays, see the tools #plants/red."
        assert (second.tags, second.metadata["links"]) == (("garden", "long term", "plants/red"), ["Tools"])
        assert (second.created_at.date().isoformat(), second.trust, second.metadata["file"]) == (
            "2024-05-06",
            1.0,
            "Home/Roses.md",
        )
        assert first.tags == ("garden", "long term")

    def test_all_properties_and_tags_in_headings_are_kept(self, memory: Engine, tmp_path: Path) -> None:
        (tmp_path / "day.md").write_text(
            "---\nrating: 4\nseen: 2025-07-03\naliases: [Thursday]\n---\n# Evening #food\nDinner.\n", "utf-8"
        )
        memory.import_from(tmp_path / "day.md", user="ana")
        (found,) = memory.memories(user="ana", where={"properties.rating": 4})
        assert found.metadata["properties"] == {"rating": 4, "seen": "2025-07-03", "aliases": ["Thursday"]}
        assert found.tags == ("food",)

    def test_a_second_run_adds_only_what_changed(self, memory: Engine, tmp_path: Path) -> None:
        file = write(tmp_path / "notes" / "a.md", "# A\n\nfirst\n\n# B\n\nsecond")
        memory.import_from(tmp_path / "notes")
        write(file, "# A\n\nfirst\n\n# B\n\nchanged")
        again = memory.import_from(tmp_path / "notes")
        assert (again.memories.imported, again.memories.known) == (1, 1)

    def test_a_file_without_properties_has_the_date_of_the_file(self, memory: Engine, tmp_path: Path) -> None:
        file = write(tmp_path / "old.md", "Something old.")
        os.utime(file, (1_600_000_000, 1_600_000_000))
        memory.import_from(file)
        assert memory.memories()[0].created_at.year == 2020

    @pytest.mark.parametrize(
        ("wrong", "detail"),
        [
            ("tags: [a", "line 3: "),
            ("- a", "line 3: "),
            ("link: [[A]], [[B]]", "line 3: "),
            ('said: "no end\nby: Ida', "line 3: "),
        ],
    )
    def test_wrong_properties_are_left_out_and_named(self, memory: Engine, tmp_path: Path, wrong: str, detail: str) -> None:
        write(tmp_path / "notes" / "bad.md", f"---\nrating: 4\n{wrong}\n---\nThe key is under the mat.")
        write(tmp_path / "notes" / "good.md", "Something else.")
        result = memory.import_from(tmp_path / "notes")
        assert texts(memory) == ["bad: The key is under the mat.", "good: Something else."]
        (warning,) = result.warnings
        assert warning.file == "bad.md"
        assert warning.detail.startswith(detail)
        assert result.skipped == ()

    def test_one_wrong_property_does_not_lose_the_others(self, memory: Engine, tmp_path: Path) -> None:
        text = "---\ncreated: 2024-05-06\ntags:\n  - garden\n  - wish\nby: 'no end\nrating: 4\n---\nMore roses."
        memory.import_from(write(tmp_path / "bad.md", text))
        (found,) = memory.memories()
        assert (found.tags, found.metadata["properties"]) == (("garden", "wish"), {"rating": 4})
        assert found.created_at.date().isoformat() == "2024-05-06"

    @pytest.mark.parametrize("value", ["Trip: part two", "see https://example.com: a page", "10:30: late"])
    def test_a_text_with_a_colon_needs_no_quotes(self, memory: Engine, tmp_path: Path, value: str) -> None:
        result = memory.import_from(write(tmp_path / "trip.md", f"---\ntitle: {value}\n---\nBy train."))
        assert result.warnings == ()
        assert texts(memory) == [f"{value}: By train."]

    def test_a_date_that_does_not_exist_is_kept_as_text(self, memory: Engine, tmp_path: Path) -> None:
        memory.import_from(write(tmp_path / "a.md", "---\nok: 1\ndate: 2024-13-45\n---\nText."))
        assert memory.memories()[0].metadata["properties"] == {"ok": 1, "date": "2024-13-45"}

    def test_properties_without_a_closing_line_are_imported_as_text(self, memory: Engine, tmp_path: Path) -> None:
        result = memory.import_from(write(tmp_path / "cut.md", "---\ntags: a\nThe key is under the mat.\n"))
        assert [(each.file, each.detail) for each in result.warnings] == [("cut.md", "the closing line --- is missing")]
        assert texts(memory) == ["cut: ---\ntags: a\nThe key is under the mat."]

    def test_corrected_properties_are_added_by_the_next_import(self, memory: Engine, tmp_path: Path) -> None:
        file = write(tmp_path / "notes" / "roses.md", "---\ntags: [garden\n---\nCut them in March.")
        memory.import_from(tmp_path / "notes")
        write(file, "---\ntags: [garden]\nrating: 4\n---\nCut them in March.")
        again = memory.import_from(tmp_path / "notes")
        assert (again.memories.updated, again.memories.imported, again.memories.known) == (1, 0, 0)
        (found,) = memory.memories()
        assert (found.tags, found.metadata["properties"]) == (("garden",), {"rating": 4})
        write(file, "Cut them in March.")
        assert memory.import_from(tmp_path / "notes").memories.updated == 1
        (found,) = memory.memories()
        assert (found.tags, "properties" in found.metadata) == ((), False)
        assert memory.import_from(tmp_path / "notes").memories.known == 1

    def test_text_between_two_lines_of_dashes_is_no_properties(self, memory: Engine, tmp_path: Path) -> None:
        memory.import_from(write(tmp_path / "quote.md", "---\nRain again\n---\nStayed in."))
        (found,) = texts(memory)
        assert "Rain again" in found
        assert "Stayed in." in found

    @pytest.mark.parametrize(
        "text",
        [
            "---\ncreated: {{date}}\n---\n## Tasks\n",
            "# {{title}}\n\nWho was there:\n",
            "Written at {{ time:HH:mm }}.\n",
            "# Meeting\n<% tp.file.cursor() %>\nNotes",
            "<%*\nconst name = await tp.system.prompt('Name');\n%>\nHello",
            "Book: {{VALUE:author}}\n",
        ],
    )
    def test_a_template_is_skipped_and_named(self, memory: Engine, tmp_path: Path, text: str) -> None:
        write(tmp_path / "vault" / "Meeting.md", text)
        write(tmp_path / "vault" / "Ida.md", "Plays the oboe.")
        result = memory.import_from(tmp_path / "vault")
        assert texts(memory) == ["Ida: Plays the oboe."]
        assert [(each.file, each.reason) for each in result.skipped] == [("Meeting.md", "template")]

    def test_a_note_that_shows_a_placeholder_as_code_is_no_template(self, memory: Engine, tmp_path: Path) -> None:
        text = "My template starts with `{{date}}`.\n\n```\n<% tp.date.now() %>\n```\n\nThe shop's page has {{ price }}."
        result = memory.import_from(write(tmp_path / "howto.md", text))
        assert (result.skipped, result.memories.imported) == ((), 1)

    @pytest.mark.parametrize(
        ("file", "setting"), [("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder")]
    )
    def test_the_vaults_own_folder_of_templates_is_skipped(self, memory: Engine, tmp_path: Path, file: str, setting: str) -> None:
        write(tmp_path / "vault" / ".obsidian" / file, json.dumps({setting: "Meta/Forms"}))
        write(tmp_path / "vault" / "Meta" / "Forms" / "Person.md", "Born:\nWork:\n")
        write(tmp_path / "vault" / "Meta" / "Forms and papers.md", "The passport is in the drawer.")
        result = memory.import_from(tmp_path / "vault")
        assert [each.file for each in result.skipped] == ["Meta/Forms/Person.md"]
        assert texts(memory) == ["Forms and papers: The passport is in the drawer."]


class TestText:
    """Text documents of any encoding."""

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_a_document_is_read_in_any_common_encoding(self, memory: Engine, tmp_path: Path, encoding: str) -> None:
        file = write(tmp_path / "café.txt", "El café está en la calle Mayor.".encode(encoding))
        memory.import_from(file, format="text")
        (found,) = memory.memories(namespace=("documents", "café.txt"))
        assert (found.text, found.trust, found.origin) == ("El café está en la calle Mayor.", 1.0, "import")

    def test_long_documents_are_split_and_nothing_is_lost(self, memory: Engine, tmp_path: Path) -> None:
        paragraphs = [f"Paragraph {number}. " + "word " * (number * 7 % 400) for number in range(60)]
        result = memory.import_from(write(tmp_path / "book.txt", "\n\n".join(paragraphs)))
        assert result.memories.imported > 10
        joined = "".join(each.text for each in memory.memories(limit=1000))
        assert joined.count("word") == sum(number * 7 % 400 for number in range(60))
        assert max(len(each.text) for each in memory.memories(limit=1000)) <= 1500

    def test_a_line_without_spaces_is_split(self) -> None:
        assert [len(each.text) for each in sections("x" * 4000)] == [1500, 1500, 1000]

    def test_headings_in_code_are_no_headings(self) -> None:
        (only,) = sections("```\n# comment\n```")
        assert (only.heading, only.text) == (None, "```\n# comment\n```")

    def test_binary_data_is_refused(self, memory: Engine, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="is not text"):
            memory.import_from(write(tmp_path / "photo.txt", b"\x89PNG\x00\x01"), format="text")


def pdf(*pages: str) -> bytes:
    """Return a PDF file with a line of text per page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        content = len(objects)
        objects.append(b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>" % content)
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d /MediaBox [0 0 612 792] >>" % (b" ".join(kids), len(kids))
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(written)
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return written + b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table) + trailer


class TestPdf:
    """PDF documents, read with pypdf."""

    def test_a_scan_without_text_is_an_error(self, memory: Engine, tmp_path: Path) -> None:
        pytest.importorskip("pypdf", reason="the extra pdf is not installed")
        with pytest.raises(InvalidInput, match=r"scan\.pdf has no text\. If it is a scan"):
            memory.import_from(write(tmp_path / "scan.pdf", pdf("")))

    def test_each_page_is_read(self, memory: Engine, tmp_path: Path) -> None:
        pytest.importorskip("pypdf", reason="the extra pdf is not installed")
        result = memory.import_from(write(tmp_path / "manual", pdf("Press the red button.", "Then wait for ten seconds.")))
        assert (result.format, result.memories.imported) == ("pdf", 2)
        assert {each.metadata["page"]: each.text for each in memory.memories()} == {
            1: "Press the red button.",
            2: "Then wait for ten seconds.",
        }

    def test_a_damaged_file_is_refused(self, memory: Engine, tmp_path: Path) -> None:
        pytest.importorskip("pypdf", reason="the extra pdf is not installed")
        with pytest.raises(InvalidInput, match="cannot be read as PDF"):
            memory.import_from(write(tmp_path / "bad.pdf", b"%PDF-1.4\nnothing"))


class TestPasted:
    """Memories that an assistant listed as text."""

    def test_dates_bullets_and_headings_are_understood(self, memory: Engine, tmp_path: Path) -> None:
        text = (
            "Here is everything I know about you:\n\n```\n## Preferences\n[2024-05-01] - Prefers tea: green, no sugar\n- [unknown] Likes short answers\n"
            "[May 3, 2023] - Works with [brackets] in code\n\n**Work:**\n* Is a surgeon\n1. Plays chess\n```\nLet me know!"
        )
        result = memory.import_from(write(tmp_path / "memories.txt", text), user="ana")
        assert (result.format, result.memories.imported) == ("pasted", 5)
        found = {each.text: each for each in memory.memories(user="ana")}
        tea = found["Prefers tea: green, no sugar"]
        assert (tea.created_at.date().isoformat(), tea.tags, tea.trust) == ("2024-05-01", ("Preferences",), 1.0)
        assert found["Works with [brackets] in code"].created_at.year == 2023
        assert (found["Is a surgeon"].tags, found["Plays chess"].tags) == (("Work",), ("Work",))
        assert "Likes short answers" in found
        assert memory.import_from(tmp_path / "memories.txt", user="ana").memories.known == 5

    def test_plain_lines_are_memories_if_nothing_is_marked(self, memory: Engine, tmp_path: Path) -> None:
        memory.import_from(write(tmp_path / "m.txt", "Prefers tea\n\nLives in Lyon\n"), format="pasted")
        assert texts(memory) == ["Lives in Lyon", "Prefers tea"]


def test_links_are_shown_as_their_words(memory: Engine, tmp_path: Path) -> None:
    text = "See [[People/Ida Berg|Ida]], [[Oslo]], [[#Plans]] and ![[map.png]]. ^p1\n\n`[[code|x]]` ![[Notes]]"
    memory.import_from(write(tmp_path / "vault" / "a.md", text).parent, user="ana")
    (note,) = memory.memories(user="ana")
    assert note.text == "a: See Ida, Oslo, Plans and .\n\n`[[code|x]]` Notes"
    assert note.metadata["links"] == ["People/Ida Berg", "Oslo", "map.png", "Notes"]


def test_a_note_that_is_only_an_image_keeps_its_name(memory: Engine, tmp_path: Path) -> None:
    memory.import_from(write(tmp_path / "a.md", "![[harbor map.png]]"), user="ana")
    assert texts(memory, user="ana") == ["a: ![[harbor map.png]]"]


@pytest.mark.parametrize(("name", "day"), [("2025-02-01.md", "2025-02-01"), ("2025-02-01 Saturday.md", "2025-02-01")])
def test_a_daily_note_has_the_date_of_its_name(memory: Engine, tmp_path: Path, name: str, day: str) -> None:
    memory.import_from(write(tmp_path / name, "Fired the kiln."), user="ana")
    assert memory.memories(user="ana")[0].created_at.date().isoformat() == day


def test_a_file_that_is_not_text_is_named_with_its_folder(memory: Engine, tmp_path: Path) -> None:
    write(tmp_path / "vault" / "a.md", "Text.")
    write(tmp_path / "vault" / "deep" / "b.md", b"a\x00b")
    with pytest.raises(InvalidInput, match=r"deep/b\.md is not text"):
        memory.import_from(tmp_path / "vault")


@pytest.mark.parametrize("root", ["", "My vault/"])
def test_a_zipped_folder_is_imported_like_the_folder(memory: Engine, tmp_path: Path, root: str) -> None:
    write(tmp_path / "v" / "a.md", "First.")
    write(tmp_path / "v" / "deep" / "b.md", "Second.")
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as packed:
        for name in ("a.md", "deep/b.md"):
            packed.writestr(zipfile.ZipInfo(f"{root}{name}", (2021, 3, 4, 12, 0, 0)), (tmp_path / "v" / name).read_bytes())
        packed.writestr("__MACOSX/._a.md", b"\x00")
    assert memory.import_from(tmp_path / "v.zip", user="ana", dry_run=True).memories.found == 2
    assert memory.import_from(tmp_path / "v.zip", user="ana", format="markdown").memories.imported == 2
    assert {each.created_at.year for each in memory.memories(user="ana")} == {2021}
    assert memory.import_from(tmp_path / "v", user="ana").memories.known == 2


def test_a_cut_archive_and_an_archive_of_something_else_are_refused_by_name(memory: Engine, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as packed:
        packed.writestr("photos/a.jpg", b"\x00" * 4000)
    with pytest.raises(InvalidInput, match=r"format of \S+photos\.zip was not recognized"):
        memory.import_from(tmp_path / "photos.zip")
    cut = write(tmp_path / "cut.zip", (tmp_path / "photos.zip").read_bytes()[:2000])
    with pytest.raises(InvalidInput, match=r"cut\.zip is an incomplete or damaged zip archive"):
        memory.import_from(cut)
