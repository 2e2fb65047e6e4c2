"""The documentation site has every page, is self-contained, and builds without a warning."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.support import launched

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONFIG = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
GENERATOR = ROOT / ".venv" / "docs" / ("Scripts/zensical.exe" if sys.platform == "win32" else "bin/zensical")
REMOTE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^\"' >]+")

pytestmark = pytest.mark.ledger("X38")


def _pages(entry: Any) -> Iterator[str]:
    """Yield the pages below an entry of the navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for below in entry.values() if isinstance(entry, dict) else entry:
            yield from _pages(below)


def test_every_page_is_in_the_navigation_once() -> None:
    listed = sorted(_pages(CONFIG["nav"]))
    assert listed == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_the_navigation_has_a_section_for_each_kind_of_question() -> None:
    sections = [title for section in CONFIG["nav"] for title in section]
    assert sections == ["Start", "Guides", "Concepts", "Presets", "Adapters", "Deployment", "Reference", "Project"]


@pytest.mark.parametrize("folder", ["start", "cookbook"])
def test_quick_starts_and_recipes_have_code_that_the_tests_run(folder: str) -> None:
    pages = {page.stem: page.read_text("utf-8") for page in (DOCS / folder).glob("*.md")}
    assert len(pages) >= 5
    assert [name for name, text in pages.items() if "```python\n" not in text and "```console\n" not in text] == []
    assert [name for name, text in pages.items() if "```python\n" in text and "```output\n" not in text] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_pages_link_only_to_pages_of_the_site(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).resolve().is_relative_to(DOCS), f"{page.name} links to {target}, outside of docs/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site in a temporary folder, as ``make docs`` does."""
    if not GENERATOR.exists():
        pytest.skip("the generator of the site is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    done = subprocess.run(
        [str(GENERATOR), "build", "--strict"], cwd=folder, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.long
def test_the_site_builds_without_a_warning_and_loads_nothing_from_other_hosts(site: Path) -> None:
    for page in _pages(CONFIG["nav"]):
        html = (site / page).with_suffix(".html").read_text("utf-8")
        assert REMOTE.findall(html) == [], page


@pytest.mark.long
def test_the_search_works_without_a_server_and_without_a_network(site: Path) -> None:
    with launched() as browser:
        page, requested = browser.new_page(), []
        page.on("request", lambda request: requested.append(request.url))
        page.goto((site / "start" / "robot.html").as_uri())
        page.keyboard.press("Control+k")
        page.get_by_placeholder("Search").fill("erasure")
        page.get_by_text("Erasure on PostgreSQL").first.wait_for()
        assert [url for url in requested if not url.startswith(("file:", "data:"))] == []
