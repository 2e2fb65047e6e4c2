"""Static checks of the dashboard's files: size, imports, translations, and no HTML parsing or external URLs."""

import json
import re
from pathlib import Path

import pytest

import holdfast

pytestmark = pytest.mark.ledger("X12")

FOLDER = Path(holdfast.__file__).parent / "server" / "dashboard"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
WORDS = {name: json.loads((FOLDER / "i18n" / f"{name}.json").read_text("utf-8")) for name in ("en", "es")}
NAMESPACE = "http://www.w3.org/2000/svg"
"""The SVG namespace. It looks like a URL but is never fetched."""
GROUPS = (
    "kind",
    "status",
    "role",
    "speaker",
    "origin",
    "noise",
    "session",
    "job",
    "work",
    "action",
    "actor",
    "level",
    "arm",
    "arm.means",
)
"""Prefixes of translation keys for values from the server, such as kinds. A value without a translation is shown as it is."""


def test_the_folder_is_small() -> None:
    assert sum(path.stat().st_size for path in FILES) < 300_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_file_names_an_address_outside(path: Path) -> None:
    text = path.read_text("utf-8").replace(NAMESPACE, "")
    assert not re.search(r"(?:https?:)?//[a-zA-Z0-9-]+\.[a-zA-Z]|@import|\burl\(", text)


def test_the_page_has_no_script_or_style_of_its_own() -> None:
    page = (FOLDER / "index.html").read_text("utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_parses_html_or_makes_code_of_text(path: Path) -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML|createContextualFragment|\beval\(|new Function|srcdoc"
    assert not re.search(forbidden, path.read_text("utf-8"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_module_that_is_imported_is_there(path: Path) -> None:
    for name in re.findall(r"""(?:from|import\()\s*"(\.[^"]+)\"""", path.read_text("utf-8")):
        assert (path.parent / name).is_file(), name


def test_both_languages_have_every_word() -> None:
    assert set(WORDS["en"]) == set(WORDS["es"])
    assert all(text.strip() for words in WORDS.values() for text in words.values())


def test_both_languages_fill_in_the_same_values() -> None:
    def values(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    assert [key for key in WORDS["en"] if values(WORDS["en"][key]) != values(WORDS["es"][key])] == []


def test_every_word_that_is_used_is_there() -> None:
    used = {key for path in SCRIPTS for key in re.findall(r"""\bt\("([^"]+)\"""", path.read_text("utf-8"))}
    assert {key for key in used if key not in WORDS["en"] and f"{key}.other" not in WORDS["en"]} == set()


def test_every_word_that_is_there_is_used() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SCRIPTS)
    starts = (*{each.split("${")[0] for each in re.findall(r"\bt\(`([^`]+)`", text)}, *(f"{group}." for group in GROUPS))
    assert all(len(start) > 2 for start in starts)
    quoted = set(re.findall(r"""["`]([\w.]+)["`]""", text))
    unused = [
        key for key in WORDS["en"] if key.removesuffix(".one").removesuffix(".other") not in quoted and not key.startswith(starts)
    ]
    assert unused == []
