"""Screenshots of every page of the dashboard, in both themes and at two widths: ``make screenshots``.

Run ``python -m tests.server.dashboard.screenshots FOLDER [--spanish] [PAGE ...]``. The pages show a store in use (``scene.py``).
Look at the pictures: no test judges appearance. With ``--readme FILE``, only the picture of the README is taken.
"""

import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import holdfast
from tests.server.dashboard.scene import Ids, fill_store
from tests.server.dashboard.support import PAGES, Visitor, fill, launched, visit
from tests.server.http_support import process

SIZES = {"wide": (1280, 800), "phone": (390, 844)}
MAX_HEIGHT = 4000
HEIGHT = "() => Math.max(document.documentElement.scrollHeight, document.querySelector('#main').scrollHeight)"


def take(folder: Path, only: tuple[str, ...] = (), language: str = "en-US") -> list[Path]:
    """Save one picture per page, theme and width in a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    with tempfile.TemporaryDirectory() as home:
        ids = fill_store(Path(home))
        with launched() as browser, process(Path(home)) as server:
            fill(server.url, language[:2])
            for theme in ("light", "dark"):
                for name, size in SIZES.items():
                    visitor = _visitor(browser, server.url, theme, size, language)
                    for page, route in _routes(ids).items():
                        if not only or page in only:
                            made.append(_save(visitor, route, size, folder / f"{page.replace('/', '-')}-{theme}-{name}.png"))
                    visitor.context.close()
    return made


def _routes(ids: Ids) -> dict[str, str]:
    """Return the address of every page by its name."""
    single = {"people/one": "people/ana", "memories/one": f"memories/{ids.memory}", "sessions/one": f"sessions/{ids.session}"}
    return {page: page for page in PAGES if "sample" not in page} | single | {"traces/one": f"traces/{ids.trace}"}


def _visitor(browser: Any, url: str, theme: Literal["light", "dark"], size: tuple[int, int], language: str) -> Visitor:
    return visit(browser, url, user="ana", size=size, color_scheme=theme, language=language)


def _save(visitor: Visitor, route: str, size: tuple[int, int], path: Path) -> Path:
    """Take a picture of a page. The window is made as high as the page, because the navigation is as high as the window."""
    width, height = size
    visitor.go(route)
    visitor.page.wait_for_timeout(300)
    needed = min(MAX_HEIGHT, max(height, int(visitor.page.evaluate(HEIGHT))))
    visitor.page.set_viewport_size({"width": width, "height": needed})
    visitor.page.wait_for_timeout(200)
    visitor.page.screenshot(path=path)
    visitor.page.set_viewport_size({"width": width, "height": height})
    return path


def take_readme(path: Path) -> Path:
    """Take the picture of the README: a question, what is recalled for it and why, and the text that a model would receive."""
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as home:
        with closing(holdfast.open(Path(home) / "memory.db", worker="none", embedder="none")) as memory:
            for days, text in (
                (28, "I'm allergic to walnuts."),
                (22, "I moved to Seattle last week."),
                (9, "The spare key hangs behind the piano."),
            ):
                memory.remember(text, user="ana", valid_from=now - timedelta(days=days))
        with launched() as browser, process(Path(home), "--embedder", "talk-embed-s") as server:
            visitor = _visitor(browser, server.url, "light", SIZES["wide"], "en-US")
            visitor.go("chat")
            visitor.say("Am I allergic to anything?")
            visitor.see(".aside .hit")
            visitor.page.wait_for_timeout(1000)
            visitor.page.screenshot(path=path)
    return path


if __name__ == "__main__":
    if sys.argv[1] == "--readme":
        sys.exit(print(take_readme(Path(sys.argv[2]))))  # noqa: T201  (a command)
    spanish, wanted = "--spanish" in sys.argv, [each for each in sys.argv[2:] if each != "--spanish"]
    for picture in take(Path(sys.argv[1]), tuple(wanted), "es-ES" if spanish else "en-US"):
        print(picture)  # noqa: T201  (a command)
