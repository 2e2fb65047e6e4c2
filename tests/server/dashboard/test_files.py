"""Static checks of the dashboard's files: size, imports, translations, and no HTML parsing or external URLs."""

import json
import re
from pathlib import Path

import pytest

import holdfast
from holdfast.config.explain import explain_settings
from holdfast.config.settings import Settings
from holdfast.presets import PRESETS

pytestmark = pytest.mark.ledger("X12")

FOLDER = Path(holdfast.__file__).parent / "server" / "dashboard"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
WORDS = {
    name: {
        key: text
        for file in sorted((FOLDER / "i18n").glob(f"*{name}.json"))
        for key, text in json.loads(file.read_text("utf-8")).items()
    }
    for name in ("en", "es")
}
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
    "check",
    "target",
)
"""Prefixes of translation keys for values from the server, such as kinds. A value without a translation is shown as it is."""


def test_the_files_of_the_dashboard_are_small() -> None:
    assert sum(path.stat().st_size for path in FILES) < 480_000


def _imported(path: Path) -> set[Path]:
    """Return a module and all modules that it imports, directly or not. Modules imported on demand are left out."""
    found, waiting = set[Path](), [path]
    while waiting:
        path = waiting.pop()
        found.add(path)
        names = re.findall(r"""^(?:import|export)\b[^;]*?from\s*"(\.[^"]+)\"""", path.read_text("utf-8"), re.MULTILINE)
        waiting += [each for name in names if (each := (path.parent / name).resolve()) not in found]
    return found


APP = _imported(FOLDER / "js" / "app.js")
"""The modules that every view needs."""


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_first_page_is_small(language: str) -> None:
    """The page, its styles and translations, and all modules that the first view imports have less than 200 kB together."""
    needed = {FOLDER / "index.html", FOLDER / "icon.svg", FOLDER / "i18n" / f"{language}.json", FOLDER / "js" / "first.js"}
    needed |= {path for path in FILES if path.suffix == ".css"} | APP | _imported(FOLDER / "js" / "views" / "chat.js")
    assert any(path.name == "ui.js" for path in needed)
    assert sum(path.stat().st_size for path in needed) < 200_000


def test_all_modules_of_a_first_view_are_fetched_at_once() -> None:
    """The page lists the modules of every view, and ``first.js`` lists those of the first view, so that no module waits for another."""
    page = (FOLDER / "index.html").read_text("utf-8")
    named = {FOLDER / "js" / name for name in re.findall(r'"modulepreload" href="./js/([^"]+)"', page)}
    assert named == APP - {FOLDER / "js" / "app.js"}
    first = (FOLDER / "js" / "first.js").read_text("utf-8")
    lists = re.findall(r"^    (\w+): \[([^\]]*)\]", first, re.MULTILINE)
    views = set(re.findall(r"^  (\w+): \(\) =>", (FOLDER / "js" / "app.js").read_text("utf-8"), re.MULTILINE))
    assert {view for view, _ in lists} == views
    for view, names in lists:
        path = FOLDER / "js" / "views" / f"{view}.js"
        assert {FOLDER / "js" / f"{name}.js" for name in re.findall(r'"([^"]+)"', names)} == _imported(path) - APP - {path}, view


def test_nothing_delays_the_first_script() -> None:
    """The first script comes before all stylesheets, because a script waits for earlier stylesheets."""
    page = (FOLDER / "index.html").read_text("utf-8")
    assert page.index("first.js") < page.index('rel="stylesheet"')
    assert page.index("first.js") < page.index("modulepreload")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_file_contains_an_external_url(path: Path) -> None:
    # example.org is reserved for examples; help texts name it.
    text = path.read_text("utf-8").replace(NAMESPACE, "").replace("example.org", "")
    assert not re.search(r"(?:https?:)?//[a-zA-Z0-9-]+\.[a-zA-Z]|@import|\burl\(", text)


def test_the_page_has_no_inline_script_or_style() -> None:
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


@pytest.mark.parametrize("path", sorted((FOLDER / "i18n").rglob("*.json")), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_no_translation_file_has_a_key_twice(path: Path) -> None:
    keys: list[str] = json.loads(path.read_text("utf-8"), object_pairs_hook=lambda pairs: [key for key, _ in pairs])
    assert sorted(keys) == sorted(set(keys))


def test_both_languages_have_the_same_translation_keys() -> None:
    assert set(WORDS["en"]) == set(WORDS["es"])
    assert all(text.strip() for words in WORDS.values() for text in words.values())


def test_both_languages_fill_in_the_same_values() -> None:
    def values(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    assert [key for key in WORDS["en"] if values(WORDS["en"][key]) != values(WORDS["es"][key])] == []


def test_every_setting_is_explained_in_spanish_with_the_same_values() -> None:
    """The names, numbers and links of a help text are the same in both languages, so that a changed text is noticed."""
    translated = json.loads((FOLDER / "i18n" / "help" / "es.json").read_text("utf-8"))
    english = {each.name: each.help for each in explain_settings(Settings(), PRESETS["default"])}
    assert list(translated) == list(english)

    def values(text: str) -> list[str]:
        return sorted(re.findall(r"`[^`]+`|\([^)]*\.md[^)]*\)|\d+(?:\.\d+)?", text))

    assert [name for name in english if values(english[name]) != values(translated[name])] == []


def test_every_translation_key_in_the_scripts_exists() -> None:
    used = {key for path in SCRIPTS for key in re.findall(r"""\bt\("([^"]+)\"""", path.read_text("utf-8"))}
    assert {key for key in used if key not in WORDS["en"] and f"{key}.other" not in WORDS["en"]} == set()


def test_every_translation_is_used() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SCRIPTS)
    starts = (*{each.split("${")[0] for each in re.findall(r"\bt\(`([^`]+)`", text)}, *(f"{group}." for group in GROUPS))
    assert all(len(start) > 2 for start in starts)
    quoted = set(re.findall(r"""["`]([\w.]+)["`]""", text))
    unused = [
        key for key in WORDS["en"] if key.removesuffix(".one").removesuffix(".other") not in quoted and not key.startswith(starts)
    ]
    assert unused == []
