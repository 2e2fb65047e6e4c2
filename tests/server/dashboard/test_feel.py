"""How the dashboard feels, measured in a real browser on a store with 2,000 memories. ``feel.py`` measures larger stores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard import feel
from tests.server.dashboard.support import PAGES, remember, visit
from tests.server.http_support import Process, process

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(180), pytest.mark.long]
PLACEHOLDER_MS = 400
"""Time after which a placeholder is shown for what has not loaded, and a little more."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    home: Path = tmp_path_factory.mktemp("feel")
    feel.filled(home, 2000)
    with process(home) as found:
        yield found


def test_the_first_page_is_small_and_comes_from_one_host(browser: Any, server: Process) -> None:
    """The first page needs few bytes and requests, which take most of its load time. ``feel.py`` measures the load time."""
    first = feel.first_page(browser, server.url)
    assert first.kilobytes < 120
    assert first.requests <= 30
    visitor = visit(browser, server.url, moving=True)
    for page in PAGES:
        visitor.go(page)
    visitor.context.close()
    assert visitor.hosts == {server.url.removeprefix("http://")}


def test_the_page_reacts_to_clicks_at_once_and_scrolling_is_smooth(browser: Any, server: Process) -> None:
    """Scrolling counts as smooth if its tasks take little processor time. Frame times would depend on other running tests."""
    visitor = visit(browser, server.url, moving=True)
    visitor.go("chat")
    assert feel.quantile(feel.feedback(visitor), 0.5) < 200
    found = feel.scrolled(visitor, 3)
    visitor.context.close()
    assert found.rows > 100
    assert feel.quantile(found.tasks, 0.99) < 50  # one task may wait for memory while other tests run
    assert feel.quantile(found.tasks, 0.95) < 17


@pytest.mark.parametrize("width", [390, 768, 1366, 1920])
def test_no_page_scrolls_sideways_also_with_text_from_right_to_left(browser: Any, server: Process, width: int) -> None:
    name = "أمينة عبد الرحمن"
    remember(server.url, f"تعيش في لشبونة {width} وتحب " + "القهوة" * 30, user=name)
    visitor = visit(browser, server.url, user=name, size=(width, 900), moving=True)
    for page in ("memories", "timeline", f"people/{name}", "sessions", "stats", "admin/settings", "chat"):
        visitor.go(page)
        assert visitor.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), page
    visitor.context.close()
    assert not visitor.faults


def test_a_view_whose_file_is_slow_does_not_cover_the_view_opened_after_it(browser: Any, server: Process) -> None:
    visitor = visit(browser, server.url, moving=True)
    visitor.go("chat")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    visitor.page.route("**/views/timeline.js", hold)
    visitor.page.evaluate("() => { location.hash = '#/timeline'; }")
    visitor.go("stats")
    visitor.page.wait_for_timeout(PLACEHOLDER_MS)
    assert visitor.page.locator("#main dl").count()
    held[0].continue_()
    visitor.page.wait_for_timeout(PLACEHOLDER_MS)
    visitor.settle()
    assert "view-stats" in str(visitor.page.locator("#main").get_attribute("class"))
    visitor.context.close()
    assert not visitor.faults


def test_a_slow_answer_does_not_replace_a_later_one_in_the_same_place(browser: Any, server: Process) -> None:
    visitor = visit(browser, server.url, moving=True)
    visitor.go("chat")
    shown = visitor.page.evaluate("""async () => {
        const { load } = await import("./js/ui.js");
        const after = (ms, text) => new Promise((done) => setTimeout(() => done(text), ms));
        const box = document.createElement("div");
        const slow = load(box, () => after(600, "old"), (text) => text);
        await load(box, () => after(10, "new"), (text) => text);
        await after(400);
        const meanwhile = box.textContent;
        await slow;
        return [meanwhile, box.textContent];
    }""")
    visitor.context.close()
    assert shown == ["new", "new"]
