"""Measure how the dashboard feels: ``python -m tests.server.dashboard.feel [MEMORIES]``.

Prints the size and load time of the first page, the time until the page reacts to a click, the frame times while a long list is
scrolled, and the time until a stopped server is shown as stopped. The numbers are in docs/server.md.
"""

import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import holdfast
from holdfast.services import services
from holdfast.testing.samples import ANA, a_memory, remember
from tests.server.dashboard.support import Visitor, launched, visit
from tests.server.http_support import Process, process

CLICK = """(view) => new Promise((done) => {
    const from = performance.now();
    const link = document.querySelector(`.side .nav-item[data-view="${view}"]`);
    const seen = () => (link.hasAttribute("aria-current") ? done(performance.now() - from) : requestAnimationFrame(seen));
    link.click();
    requestAnimationFrame(seen);
})"""
FRAMES = """() => {
    window.frames_ = [];
    let last = performance.now();
    const tick = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
}"""


SEEN = """
window.seen_ = 0;
new MutationObserver(() => {
    if (!window.seen_ && document.querySelector(".welcome")) window.seen_ = performance.now();
}).observe(document, { childList: true, subtree: true });
"""


@dataclass(frozen=True)
class FirstPage:
    """Measurements of the first page in a new browser. ``seconds`` is the time from the request until its text is in the page."""

    kilobytes: float
    requests: int
    seconds: float


@dataclass(frozen=True)
class Scrolled:
    """Measurements of a list that was scrolled."""

    frames: list[float]
    """The milliseconds of each frame. They depend on what else the machine does."""
    tasks: list[float]
    """The milliseconds of processor time of each task of the page. They hardly depend on other programs."""
    rows: int
    """The number of rows at the end."""


def first_page(browser: Any, url: str) -> FirstPage:
    """Open the chat without a cache, and measure the time until its first text is in the page."""
    visitor = visit(browser, url, moving=True)
    visitor.context.add_init_script(SEEN)
    sizes: list[int] = []
    visitor.page.on("requestfinished", lambda request: sizes.append(_size(request)))
    visitor.go("chat")
    visitor.see(".welcome")
    visitor.page.wait_for_timeout(500)
    seconds = float(visitor.page.evaluate("() => window.seen_")) / 1000
    visitor.context.close()
    return FirstPage(sum(sizes) / 1000, len(sizes), seconds)


def _size(request: Any) -> int:
    found = request.sizes()
    return int(found["responseBodySize"]) + int(found["responseHeadersSize"])


def feedback(visitor: Visitor, views: tuple[str, ...] = ("people", "sessions", "topics", "jobs", "memories")) -> list[float]:
    """Return the milliseconds from a click in the navigation until the page reacts, for each view."""
    return [float(visitor.page.evaluate(CLICK, view)) for view in views]


def scrolled(visitor: Visitor, seconds: float) -> Scrolled:
    """Scroll the list of memories for some seconds. Return the frame times, and the processor time of each task."""
    visitor.go("memories")
    visitor.see(".memory-row")
    visitor.page.mouse.move(500, 600)
    browser = visitor.context.browser
    browser.start_tracing(page=visitor.page, categories=["toplevel"])
    visitor.page.evaluate(FRAMES)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        visitor.page.mouse.wheel(0, 1200)
        visitor.page.wait_for_timeout(30)
    frames: list[float] = visitor.page.evaluate("() => window.frames_.slice(5)")
    tasks = _tasks(json.loads(browser.stop_tracing())["traceEvents"])
    return Scrolled(frames, tasks, visitor.page.locator(".memory-row").count())


def _tasks(events: list[dict[str, Any]]) -> list[float]:
    """Return the processor time of each task on the main thread of the busiest page, in milliseconds."""
    mains = {(each["pid"], each["tid"]) for each in events if each.get("args", {}).get("name") == "CrRendererMain"}
    found: dict[tuple[int, int], list[float]] = {}
    for each in events:
        thread = (each["pid"], each["tid"])
        if thread in mains and each["name"] == "ThreadControllerImpl::RunTask":
            found.setdefault(thread, []).append(each.get("tdur", 0) / 1000)
    return max(found.values(), key=sum)


def until_stopped(visitor: Visitor, server: Process) -> float:
    """Freeze the server, and return the seconds until the page says that the server does not answer."""
    visitor.go("memories")
    from_ = time.monotonic()
    server.popen.send_signal(signal.SIGSTOP)
    try:
        visitor.see(".stopped")
        return time.monotonic() - from_
    finally:
        server.popen.send_signal(signal.SIGCONT)


def quantile(values: list[float], share: float) -> float:
    """Return a quantile of the values. For example, a ``share`` of 0.95 returns the 95th percentile."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def filled(home: Path, memories: int) -> None:
    """Create a store with memories of one user."""
    with closing(holdfast.open(home / "memory.db", worker="none", embedder=None)) as memory:
        store = services(memory).store
        for start in range(0, memories, 5000):
            numbers = range(start, min(start + 5000, memories))
            remember(
                store,
                *(a_memory(f"Note {n}: the kettle of {n % 97} neighbors whistles", id=f"mem_{n}", scope=ANA) for n in numbers),
            )


def report(memories: int) -> Iterator[str]:
    """Measure everything, and yield one line per result."""
    with tempfile.TemporaryDirectory() as home:
        filled(Path(home), memories)
        with launched() as browser, process(Path(home)) as server:
            pages = [first_page(browser, server.url) for _ in range(9)]
            times = [each.seconds for each in pages]
            yield (
                f"first page: {pages[0].kilobytes:.0f} kB, {pages[0].requests} requests, {quantile(times, 0.5):.2f} s "
                f"(median of 9; best {min(times):.2f} s)"
            )
            visitor = visit(browser, server.url, moving=True)
            visitor.go("chat")
            clicks = feedback(visitor)
            yield f"feedback to a click: at most {max(clicks):.0f} ms of {len(clicks)} clicks"
            found = scrolled(visitor, 20)
            yield (
                f"frames in {memories:,} memories: p95 {quantile(found.frames, 0.95):.0f} ms, p50 {quantile(found.frames, 0.5):.0f} ms, "
                f"{found.rows:,} rows; longest task {max(found.tasks):.0f} ms of processor time, {sum(found.tasks) / found.rows:.1f} ms a row"
            )
            yield f"a frozen server is shown after {until_stopped(visitor, server):.1f} s"
            yield f"hosts: {sorted(visitor.hosts)}"


if __name__ == "__main__":
    for line in report(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000):
        print(line, flush=True)  # noqa: T201  (a command)
