"""The first steps in the dashboard, in a real browser, with and without a chat model."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import ScriptedChat
from tests.server.dashboard.support import remember, visit
from tests.server.http_support import Served, serving

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory of a server that has not been used yet."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def walk(page: Any, served: Served) -> str:
    """Go through the three first steps (store a memory, ask for it, forget it). Return the text shown for the second step."""
    page.page.goto(served.url)
    page.see(".who", has_text="Who are you?")
    page.see(".who input").fill("noor")
    page.click("[data-action=who]")
    page.see(".who", has_text="You are noor")
    assert page.see("[data-step=ask] button").is_disabled()
    page.click("[data-action=remember]")
    page.see("[data-step=say] .good", has_text="Stored as a memory of noor")
    page.click("[data-action=ask]")
    page.see("[data-step=ask].is-done")
    shown: str = page.see("[data-step=ask]").inner_text()
    page.click("[data-action=forget]")
    page.see("[data-step=forget] .good", has_text="no longer recalled")
    return shown


def test_the_steps_show_memory_at_work_without_a_model(browser: Any, home: Path) -> None:
    with serving(home / "store") as served:
        page = visit(browser, served.url, user=None)
        shown = walk(page, served)
        assert "I moved to Lyon last month." in shown
        assert "No chat model is set" in shown
        page.click("[data-action=start-undo]")
        page.see("[data-step=forget] .good", has_text="It is back")
        page.click("[data-action=start-erase]")
        page.see("dialog .receipt-status.good")
        assert served.client.get("/v1/setup").json()["empty"]
        page.context.close()
        assert not page.faults


def test_the_steps_show_the_reply_of_a_model_and_keep_no_session_of_it(browser: Any, home: Path) -> None:
    with serving(home / "store", chat=ScriptedChat(respond=lambda asked: "You live in Lyon.")) as served:
        page = visit(browser, served.url, user=None)
        assert "You live in Lyon." in walk(page, served)
        assert served.client.get("/v1/sessions").json()["items"] == []
        page.context.close()
        assert not page.faults


def test_the_suggested_messages_are_sent_and_the_question_is_asked_in_a_new_session(browser: Any, home: Path) -> None:
    with serving(home / "store", embedder="talk-embed-s") as served:
        page = visit(browser, served.url)
        page.go("chat")
        page.click("[data-try='1']")
        page.see(".turn .said", has_text="I moved to Lyon")
        page.click("[data-try='2']")
        page.see(".turn .said", has_text="Clara")
        page.click("[data-try='3']", has_text="In a new session")
        page.see(".aside .hit", has_text="I moved to Lyon last month.")
        assert page.page.locator(".turn.mine").count() == 1
        assert page.page.locator(".try").count() == 0
        page.context.close()
        assert not page.faults


def test_a_first_run_in_spanish_is_in_spanish_with_the_block_for_the_model(browser: Any, home: Path) -> None:
    with serving(home / "store", embedder="talk-embed-s") as served:
        page = visit(browser, served.url, user=None, language="es-ES", timezone_id="America/Mexico_City")
        page.page.goto(served.url)
        page.see(".who input").fill("lucía")
        page.click("[data-action=who]")
        page.see(".who", has_text="Eres lucía")
        page.click("[data-action=remember]")
        page.see("[data-step=say] .good")
        page.click("[data-action=ask]")
        assert "Notas de la memoria" in page.see("[data-step=ask] .block").inner_text()
        found = served.client.get("/v1/users/lucía").json()
        assert (found["language"], found["timezone"]) == ("es", "America/Mexico_City")
        page.context.close()
        assert not page.faults


def test_a_search_says_that_nothing_fits_and_folds_weak_results(browser: Any, home: Path) -> None:
    with serving(home / "store", embedder="talk-embed-s") as served:
        for text in ("The oven runs hot", "Plays the viola on Tuesdays", "Her sister is a surgeon in Lyon"):
            remember(served.url, text)
        page = visit(browser, served.url)
        page.go("memories?q=What is the boiling point of mercury?")
        page.see(".count", has_text="Nothing fits")
        page.go("memories?q=Who is a doctor?")
        page.see(".hit-row >> nth=0", has_text="Her sister is a surgeon in Lyon")
        page.go("memories?q=viola")
        page.see(".count", has_text="1 result")
        assert page.see("input[type=search]").input_value() == "viola"
        page.see(".weak-hits", has_text="2 weaker results")
        assert page.page.locator(".hit-row:visible").count() == 1
        page.context.close()
        assert not page.faults


def test_the_steps_work_when_only_words_are_searched(browser: Any, home: Path) -> None:
    with serving(home / "store", embedder="none") as served:
        page = visit(browser, served.url, user=None)
        assert "I moved to Lyon last month." in walk(page, served)
        page.context.close()
        assert not page.faults


def test_a_question_that_recalls_nothing_does_not_count_as_success(browser: Any, home: Path) -> None:
    with serving(home / "store", embedder="none") as served:
        page = visit(browser, served.url)
        page.go("start")
        page.click("[data-action=remember]")
        page.see("[data-step=say].is-done")
        page.see("[data-step=ask] input").fill("xylophone")
        page.click("[data-action=ask]")
        page.see("[data-step=ask]", has_text="It was not recalled")
        assert page.see("[data-step=forget] button").is_disabled()
        page.context.close()
        assert not page.faults


def test_a_store_with_data_opens_on_the_chat(browser: Any, home: Path) -> None:
    with serving(home / "store") as served:
        served.client.post("/v1/memories", json={"text": "likes rain", "user": "ana"})
        page = visit(browser, served.url)
        page.page.goto(served.url)
        page.see(".composer")
        page.context.close()


def test_sample_data_is_added_and_removed_with_receipts(browser: Any, home: Path) -> None:
    with serving(home / "store") as served:
        page = visit(browser, served.url, language="es-ES")
        page.go("start")
        page.click("[data-action=add-samples]")
        page.click("[data-part=samples] a")
        page.see(".person-row", has_text="Marta (ejemplo)")
        page.go("start")
        page.click("[data-action=remove-samples]")
        assert "Marta (ejemplo), Theo (ejemplo)" in page.see("dialog .points").inner_text()
        page.click("dialog .button.danger")
        for _ in range(2):
            page.see("dialog .receipt-status.good")
            page.click("dialog .actions.end .button")
        page.see("[data-action=add-samples]")
        assert served.client.get("/v1/setup").json()["empty"]
        page.context.close()
        assert not page.faults


@contextmanager
def ollama() -> Iterator[int]:
    """A program that responds like Ollama."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"models": [{"name": "llama3.2:latest"}]}).encode())

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_a_local_ollama_is_offered_and_only_the_server_asks_it(browser: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(home / "store") as served, ollama() as port:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{port}")
        page = visit(browser, served.url)
        page.go("start")
        page.see(".ollama [data-action=use-model]", has_text="ollama:llama3.2:latest")
        assert page.hosts == {served.url.removeprefix("http://")}
        page.context.close()
