"""Screenshots of every page of the dashboard, in both themes and at two widths: ``make screenshots``.

Run ``python -m tests.server.dashboard.screenshots FOLDER``. The pages show sample data. Look at the pictures: no test
judges appearance.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import httpx

from tests.server.dashboard.support import Visitor, launched, remember, visit
from tests.server.http_support import process

SECTIONS = ("health", "keys", "models", "settings", "data", "backups", "proposals")
PAGES = (
    "start", "chat", "memories", "people", "people/Marta (sample)", "timeline", "topics", "sessions", "traces", "jobs", "apps", "stats",
    *(f"admin/{name}" for name in SECTIONS), "settings",
)  # fmt: skip
SIZES = {"wide": (1360, 900), "phone": (390, 844)}


def take(folder: Path, only: tuple[str, ...] = ()) -> list[Path]:
    """Save one picture per page, theme and width in a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    with tempfile.TemporaryDirectory() as home, launched() as browser, process(Path(home)) as server:
        _fill(server.url)
        for theme in ("light", "dark"):
            for name, size in SIZES.items():
                visitor = _visitor(browser, server.url, theme, size)
                made += [_save(visitor, page, folder / f"{page.replace('/', '-')}-{theme}-{name}.png") for page in only or PAGES]
                visitor.context.close()
    return made


def _visitor(browser: Any, url: str, theme: Literal["light", "dark"], size: tuple[int, int]) -> Visitor:
    return visit(browser, url, user="ana", size=size, color_scheme=theme)


def _save(visitor: Visitor, page: str, path: Path) -> Path:
    visitor.go(page)
    visitor.page.wait_for_timeout(300)
    visitor.page.screenshot(path=path, full_page=True)
    return path


def _fill(url: str) -> None:
    """Store data for the pages to show."""
    with httpx.Client(base_url=url, timeout=60) as client:
        client.post("/v1/samples", json={"language": "en"}).raise_for_status()
        for text in ("Prefers window seats", "Has a standing meeting on Mondays", "Is allergic to walnuts", "Plays the viola"):
            remember(url, text)
        client.post("/v1/backups").raise_for_status()
        client.post("/v1/work").raise_for_status()


if __name__ == "__main__":
    for picture in take(Path(sys.argv[1]), tuple(sys.argv[2:])):
        print(picture)  # noqa: T201  (a command)
