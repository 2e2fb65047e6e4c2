"""Accessibility of every page, checked by axe-core in a real browser: WCAG 2.2 AA, both themes, both languages."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.sampling import Sample
from tests.server.dashboard.support import PAGES, Visitor, fill, visit
from tests.server.http_support import process

axe = pytest.importorskip("axe_playwright_python.base", reason="axe-playwright-python is not installed")

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(300), pytest.mark.long]

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CHECK = """async (rules) => {
    const found = await axe.run(document, { resultTypes: ["violations"], runOnly: rules });
    return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html} ${node.failureSummary}`));
}"""
STILL = "() => document.getAnimations().every((each) => each.effect.getComputedTiming().endTime === Infinity)"
"""JavaScript that returns true if only endless animations run. During a color transition, the contrast would be wrong."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with process(tmp_path_factory.mktemp("accessible")) as server:
        fill(server.url)
        yield server.url


def violations(visitor: Visitor, *rules: str) -> list[str]:
    """Run axe on the page as it is, and return one line per element that breaks a rule."""
    visitor.page.wait_for_function(STILL)
    if not visitor.page.evaluate("() => 'axe' in window"):
        visitor.page.evaluate(axe.AXE_SCRIPT)
    found: list[str] = visitor.page.evaluate(CHECK, list(rules or RULES))
    return found


@pytest.mark.parametrize("language", ["en-US", "es-ES"])
def test_every_page_meets_wcag_aa_in_both_themes(browser: Any, url: str, sample: Sample, language: str) -> None:
    """The light theme follows all rules. The dark theme has the same document, so only its contrast is checked, in one language.

    A sample has every page in English, and every third page in Spanish.
    """
    visitor = visit(browser, url, language=language, color_scheme="light")
    broken = {}
    for page in PAGES if language == "en-US" else sample.of(PAGES):
        visitor.go(page)
        visitor.page.wait_for_selector("h1", state="attached")  # on a slow machine, the last page can still be on its way out
        broken[page] = violations(visitor)
        if language == "en-US":
            visitor.page.emulate_media(color_scheme="dark")
            broken[f"{page}, dark"] = violations(visitor, "color-contrast")
            visitor.page.emulate_media(color_scheme="light")
    visitor.context.close()
    assert not any(broken.values()), {page: found for page, found in broken.items() if found}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dialogs_and_opened_items_meet_wcag_aa(browser: Any, url: str, theme: Any) -> None:
    """On a phone, dialogs and opened items follow all rules: a chat, a memory, a session and a trace."""
    visitor = visit(browser, url, size=(390, 844), color_scheme=theme)
    broken = {}
    visitor.go("chat")
    visitor.say("Where do I sit in a plane?")
    visitor.see(".no-model")
    broken["chat"] = violations(visitor)
    memory = httpx.get(f"{url}/v1/memories", params={"user": "ana"}).json()["items"][0]["id"]
    session = httpx.get(f"{url}/v1/sessions", params={"user": "ana"}).json()["items"][0]["id"]
    trace = httpx.get(f"{url}/v1/traces", params={"user": "ana"}).json()["items"][0]["id"]
    for page, part in (
        (f"memories/{memory}", ".memory-full"),
        (f"sessions/{session}", ".message"),
        (f"traces/{trace}", ".trace"),
    ):
        visitor.go(page)
        visitor.see(part)
        broken[page.split("/")[0]] = violations(visitor)
    visitor.page.keyboard.press("?")
    visitor.see("dialog .keys")
    broken["help"] = violations(visitor)
    visitor.page.keyboard.press("Escape")
    visitor.go("people/Marta (sample)")
    visitor.click(".person-erase [data-action=erase]")
    visitor.see("dialog .points")
    broken["confirmation"] = violations(visitor)
    visitor.context.close()
    assert not any(broken.values()), {page: found for page, found in broken.items() if found}


def test_icons_without_text_have_names(browser: Any, url: str) -> None:
    """At a width of 800 pixels, the navigation shows only icons, and each icon has a name."""
    visitor = visit(browser, url, size=(800, 700))
    visitor.go("topics")
    assert violations(visitor) == []
    visitor.context.close()


def test_an_input_without_a_label_is_noticed(browser: Any, url: str) -> None:
    """The accessibility check reports an input without a label, so the check can fail."""
    visitor = visit(browser, url)
    visitor.go("settings")
    visitor.page.evaluate("() => document.querySelector('#main').append(document.createElement('input'))")
    assert any(line.startswith("label:") for line in violations(visitor))
    visitor.context.close()
