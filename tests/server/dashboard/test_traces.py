"""Traces in the dashboard, in a real browser: from a chat turn, from a conversation, and about one memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.support import Visitor, remember, visit
from tests.server.http_support import process

pytestmark = [pytest.mark.timeout(180), pytest.mark.long]
QUESTION = "Where does the pangolin live?"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home: Path = tmp_path_factory.mktemp("traces")
    with process(home) as server:
        remember(server.url, "The pangolin lives in Xanadu.", user="ana")
        remember(server.url, "Ana prefers green tea.", user="ana")
        yield server.url


@pytest.fixture
def visitor(browser: Any, url: str) -> Iterator[Visitor]:
    found = visit(browser, url)
    yield found
    found.context.close()
    assert not found.faults


def test_one_click_leads_from_a_chat_turn_to_its_trace_and_the_address_stays(visitor: Visitor) -> None:
    visitor.go("chat")
    visitor.say(QUESTION)
    visitor.see(".no-model")
    visitor.click("[data-action=trace]")
    assert visitor.see(".trace h1").inner_text() == QUESTION
    shown = visitor.see(".candidate.is-shown")
    assert "Xanadu" in shown.inner_text()
    assert "Shown" in shown.inner_text()
    address = visitor.page.url
    assert "#/traces/trc_" in address
    visitor.page.reload()
    visitor.see(".candidate.is-shown", has_text="Xanadu")
    visitor.click(".trace > .button")
    visitor.see(".message [data-action=trace]")
    visitor.go("traces")
    visitor.see(".row", has_text=QUESTION)


@pytest.mark.parametrize(
    ("text", "outcome", "words"),
    [
        ("Ana prefers green tea.", "not_found", "No search had it among its best candidates."),
        ("The pangolin lives in Xanadu.", "shown", "so the model gets it. Rank 1 of"),
    ],
)
def test_a_memory_says_whether_a_question_recalls_it_and_why(
    visitor: Visitor, url: str, text: str, outcome: str, words: str
) -> None:
    memory = remember(url, text, user="ana")  # stored already: this refreshes it
    visitor.go(f"memories/{memory['id']}")
    visitor.see(".explain-form input").fill(QUESTION)
    visitor.click("[data-action=explain]")
    assert visitor.see(".verdict").get_attribute("data-outcome") == outcome
    assert words in " ".join(visitor.see(".explanation").inner_text().split())


def test_a_trace_reads_in_spanish_on_a_phone(browser: Any, url: str) -> None:
    visitor = visit(browser, url, language="es-ES", size=(390, 800))
    visitor.go("chat")
    visitor.say(QUESTION)
    visitor.see(".no-model")
    visitor.go("traces")
    visitor.click(".row")
    visitor.see("h2", has_text="En el bloque")
    assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visitor.context.close()
    assert not visitor.faults
