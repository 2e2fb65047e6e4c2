"""A real browser for the dashboard tests. It records console messages, requests and dialogs of the page."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.server.http_support import client, post

sync_api = pytest.importorskip("playwright.sync_api", reason="the dashboard is walked with playwright, which is not installed")

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ONE_RENDERER = ["--process-per-site", "--renderer-process-limit=1"]
"""Flags that halve the number of browser processes per page."""
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", *ONE_RENDERER]
SECTIONS = ("health", "keys", "models", "settings", "data", "backups", "proposals")
PAGES = (
    "start", "chat", "memories", "people", "people/Marta (sample)", "timeline", "topics", "sessions", "traces", "jobs", "apps", "stats",
    *(f"admin/{name}" for name in SECTIONS), "settings",
)  # fmt: skip
"""Every page that needs no id, with the person of the sample data."""
VIEWS = ("chat", "memories", "people", "timeline", "topics", "sessions", "jobs", "apps", "stats", "admin", "settings")

_LEAVE = """(hash) => {
    const view = (of) => of.split(/[/?]/)[1];
    if (view(location.hash) !== view(hash))
        for (const node of document.querySelectorAll("#main > *")) node.setAttribute("data-left", "");
    location.hash = hash;
}"""
"""Mark the nodes of the view that is left, and go to another URL fragment."""


def find_browser() -> str | None:
    """Return the path of an installed Chromium or Chrome, or None."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


@contextmanager
def launched() -> Iterator[Any]:
    """Run the browser inside the ``with`` block. Skip the test if no browser is installed."""
    path = find_browser()
    if path is None:
        pytest.skip(f"there is no browser to walk the dashboard with; looked for {', '.join(BROWSERS)}")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visitor:
    """A browser page on the dashboard, with its recorded errors and requests."""

    page: Any
    url: str
    context: Any
    faults: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def go(self, route: str = "") -> None:
        """Open a view by its URL fragment, as a link does, and wait until it has replaced the view before it.

        The first call loads the page.
        """
        if self.page.url.startswith(self.url):
            self.page.evaluate(_LEAVE, f"#/{route}")
        else:
            self.page.goto(f"{self.url}/#/{route}")
        self.settle()

    def settle(self) -> None:
        """Wait until the view is rendered and no loading placeholder is left."""
        self.page.wait_for_selector("#main > :not([data-left])")
        self.page.wait_for_function("() => !document.querySelector('#main .skeleton')")

    def see(self, selector: str, **options: Any) -> Any:
        """Wait until an element is visible, and return it."""
        found = self.page.locator(selector, **options).first
        found.wait_for(state="visible")
        return found

    def click(self, selector: str, **options: Any) -> None:
        """Click the first matching element."""
        self.see(selector, **options).click()

    def say(self, text: str) -> None:
        """Send a chat message."""
        self.see(".composer textarea").fill(text)
        self.page.keyboard.press("Enter")


def visit(
    browser: Any,
    url: str,
    *,
    user: str | None = "ana",
    language: str = "en-US",
    size: tuple[int, int] = (1360, 900),
    moving: bool = False,
    **options: Any,
) -> Visitor:
    """Open the dashboard of a server in a new browser window, with the scope of a user.

    ``moving`` turns on the animations of the pages. Without a graphics card they take a third of the browser's CPU time, so
    only the tests of how the dashboard feels turn them on.
    """
    motion = "no-preference" if moving else "reduce"
    window = {"width": size[0], "height": size[1]}
    context = browser.new_context(locale=language, viewport=window, reduced_motion=motion, **options)
    context.set_default_timeout(60_000)
    settings = json.dumps({"theme": "auto", "language": None, "user": user, "app": None, "agent": None})
    place = "holdfast.settings"
    context.add_init_script(f"if (!localStorage.getItem({place!r})) localStorage.setItem({place!r}, {json.dumps(settings)});")
    context.add_init_script(
        "document.addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI));"
    )
    visitor = Visitor(page=context.new_page(), url=url, context=context)
    page = visitor.page
    page.on("pageerror", lambda error: visitor.faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: _dismiss(visitor, dialog))
    page.on("request", lambda request: visitor.hosts.add(urlsplit(request.url).netloc))
    page.on("popup", lambda popup: visitor.faults.append(f"popup: {popup.url}"))
    page.on("console", lambda message: _hear(visitor, message))
    return visitor


def _dismiss(visitor: Visitor, dialog: Any) -> None:
    """Record and dismiss a native browser dialog. The dashboard itself never opens such a dialog."""
    visitor.faults.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _hear(visitor: Visitor, message: Any) -> None:
    """Record a console message. Expected error statuses, such as 503 without a chat model, are ignored."""
    if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource: the server responded"):
        visitor.faults.append(f"console: {message.text}")


def remember(url: str, text: str, **more: Any) -> Mapping[str, Any]:
    """Store a memory over HTTP."""
    answer = post(f"{url}/v1/memories", json={"text": text, "user": "ana", **more}, timeout=30)
    assert answer.status_code == 201, answer.text
    kept: Mapping[str, Any] = answer.json()
    return kept


def fill(url: str, language: str = "en") -> None:
    """Store sample data for every page to show."""
    with client(url, timeout=60) as caller:
        caller.post("/v1/samples", json={"language": language}).raise_for_status()
        for text in ("Prefers window seats", "Has a standing meeting on Mondays", "Is allergic to walnuts", "Plays the viola"):
            remember(url, text)
        caller.post("/v1/backups").raise_for_status()
        caller.post("/v1/work").raise_for_status()
