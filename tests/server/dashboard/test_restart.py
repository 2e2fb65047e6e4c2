"""A server that is restarted while the dashboard is open: the page says so, recovers, and keeps what was typed."""

import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.support import remember, visit
from tests.server.http_support import process

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(180), pytest.mark.long]


def _free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def test_a_restart_keeps_what_was_typed_and_the_page_recovers_by_itself(browser: Any, tmp_path: Path) -> None:
    port, draft = _free_port(), "Half of a sentence about the harbor"
    with process(tmp_path, "--port", port) as server:
        kept = remember(server.url, "Keeps bees on the roof")
        page = visit(browser, server.url)
        page.context.set_default_timeout(40_000)
        page.go("chat")
        page.see(".composer textarea").fill(draft)
        other = page.context.new_page()
        other.goto(f"{server.url}/#/memories/{kept['id']}")
        other.locator("[data-action=edit]").click()
        other.locator(".edit-form textarea").fill("Keeps bees in the garden")
        server.stop(signal.SIGKILL)
        page.see(".stopped")
        assert page.see(".composer textarea").input_value() == draft
    with process(tmp_path, "--port", port):
        page.page.wait_for_function("() => !document.querySelector('.stopped')")
        assert page.see(".composer textarea").input_value() == draft
        other.wait_for_function("() => !document.querySelector('.stopped')")
        assert other.locator(".edit-form textarea").input_value() == "Keeps bees in the garden"
        other.locator(".edit-form button[type=submit]").click()
        other.locator(".memory-full", has_text="in the garden").wait_for()
        page.page.keyboard.press("Escape")
        page.see(".composer textarea").press("Enter")
        page.see(".messages, .turn, .said", has_text="harbor")
        page.context.close()
