"""Screenshots of every page of the dashboard, in both themes and at two widths: ``make screenshots``.

Run ``python -m tests.server.dashboard.screenshots FOLDER``. The pages show sample data. Look at the pictures: no test
judges appearance.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from tests.server.dashboard.support import PAGES, Visitor, fill, launched, visit
from tests.server.http_support import process

SIZES = {"wide": (1360, 900), "phone": (390, 844)}


def take(folder: Path, only: tuple[str, ...] = ()) -> list[Path]:
    """Save one picture per page, theme and width in a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    with tempfile.TemporaryDirectory() as home, launched() as browser, process(Path(home)) as server:
        fill(server.url)
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


if __name__ == "__main__":
    for picture in take(Path(sys.argv[1]), tuple(sys.argv[2:])):
        print(picture)  # noqa: T201  (a command)
