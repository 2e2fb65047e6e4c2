"""Every erasure in the dashboard says exactly what will be lost: the numbers in the dialog are those of the receipt."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.support import Visitor, remember, visit
from tests.server.http_support import Served, serving

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(180), pytest.mark.long]
ROWS = {"Memories": "memories", "Revisions": "revisions", "Messages": "messages", "Sessions": "sessions"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server with data of a user, an app and an agent. One memory is retired, and one has two revisions."""
    with serving(tmp_path) as found:
        remember(found.url, "Plays the viola", app="kitchen")
        gone = remember(found.url, "Has a red kite", app="kitchen", agent="cook")
        found.client.patch(f"/v1/memories/{gone['id']}", json={"text": "Has two kites"}).raise_for_status()
        found.client.post("/v1/forget", json={"id": gone["id"]}).raise_for_status()
        remember(found.url, "The oven runs hot", user=None, app="kitchen")
        for session in ("one", "two"):
            said = {"role": "user", "text": f"My cat is called Miga, {session}.", "user": "ana", "app": "kitchen"}
            found.client.post(f"/v1/sessions/{session}/messages", json=said).raise_for_status()
            found.client.post(f"/v1/sessions/{session}/end").raise_for_status()
        found.client.post("/v1/work").raise_for_status()
        yield found


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Visitor]:
    visitor = visit(browser, served.url)
    yield visitor
    visitor.context.close()
    assert not visitor.faults


def _choose(page: Visitor, scope: Mapping[str, str]) -> None:
    """Select a scope, as the dialog of the scope does."""
    page.go("settings")
    chosen = json.dumps({"theme": "auto", "language": None, "user": None, "app": None, "agent": None, **scope})
    page.page.evaluate("(chosen) => localStorage.setItem('holdfast.settings', chosen)", chosen)
    page.page.reload()
    page.settle()


def _lost(page: Visitor) -> dict[str, int]:
    """Return the numbers in the dialog by what they count."""
    text = page.see("dialog .points").inner_text()
    patterns = {
        "memories": r"(\d+) memor(?:y|ies) \(",
        "live": r"\((\d+) live",
        "revisions": r"(\d+) versions? of",
        "messages": r"(\d+) messages? (?:is|are) removed",
        "sessions": r"(\d+) sessions? (?:is|are) removed",
        "rebuilt": r"(\d+) (?:summary|summaries|memory|memories) (?:is|are) rebuilt",
    }
    found = {name: re.search(pattern, text) for name, pattern in patterns.items()}
    return {name: int(match[1]) if match else 0 for name, match in found.items()}


def _receipt(page: Visitor) -> dict[str, int]:
    page.see("dialog .receipt-status.good")
    rows = (line.split("\t") for line in page.see("dialog table.receipt").inner_text().splitlines())
    return {ROWS[name]: int(value) for name, value in rows if name in ROWS}


@pytest.mark.parametrize(
    "scope",
    [{"app": "kitchen"}, {"agent": "cook"}, {"user": "ana"}, {"user": "ana", "app": "kitchen"}],
    ids=["app", "agent", "user", "user and app"],
)
def test_erasing_a_scope_in_the_settings_shows_the_numbers_of_the_receipt(page: Visitor, scope: dict[str, str]) -> None:
    _choose(page, scope)
    page.click(".danger-zone .button")
    lost = _lost(page)
    assert lost["memories"] >= 1
    page.see("dialog input").fill(next(iter(scope.values())))
    page.click("dialog .button.danger")
    receipt = _receipt(page)
    assert receipt == {name: lost[name] + (lost["rebuilt"] if name == "memories" else 0) for name in ROWS.values()}


def test_a_scope_without_data_loses_nothing(page: Visitor) -> None:
    _choose(page, {"agent": "nobody"})
    page.click(".danger-zone .button")
    assert "There is nothing to remove" in page.see("dialog .points").inner_text()


def test_erasing_a_session_counts_its_memories_too(page: Visitor) -> None:
    page.go("sessions/one")
    page.click("[data-action=erase]")
    lost = _lost(page)
    assert (lost["sessions"], lost["messages"]) == (1, 1)
    page.click("dialog .button.danger")
    receipt = _receipt(page)
    assert receipt["memories"] == lost["memories"] + lost["rebuilt"]
    assert receipt["messages"] == 1


def test_erasing_a_memory_counts_its_revisions_and_hidden_messages(page: Visitor, served: Served) -> None:
    found = served.client.get("/v1/memories", params={"user": "ana", "app": "kitchen", "q": "Miga"}).json()["items"]
    learned = next(each for each in found if "Miga" in each["text"])
    page.go(f"memories/{learned['id']}")
    page.click("[data-action=erase]")
    text = page.see("dialog .points").inner_text()
    assert "1 memory (1 live, 0 retired) is removed from disk" in text
    assert re.search(r"\d messages? stays? in (its|their) conversations? but (is|are) no longer recalled", text)
    assert "erase their session" in text


def test_uninstalling_an_app_counts_its_retired_memories_too(page: Visitor, served: Served) -> None:
    served.client.post("/apps", json={"appId": "kitchen"}).raise_for_status()
    lost = served.client.post("/v1/erase/preview", json={"memories_of": "kitchen"}).json()
    assert lost["memories"] == lost["live"] + 1
    assert lost["sessions"] == 0
    page.go("apps")
    page.click(".card.app .icon-button[title=Uninstall]")
    assert "removed from disk" not in page.see("dialog").inner_text(), "the memories are kept unless the user chooses otherwise"
    page.see("dialog .check", has_text=f"Also erase its {lost['memories']} memories").click()
    assert f"{lost['memories']} memories ({lost['live']} live, 1 retired) are removed" in page.see("dialog").inner_text()
    page.click("dialog .button.danger")
    page.see(".toast", has_text=f"{lost['memories']} memories erased")


def test_removing_the_sample_data_says_how_much_it_is(page: Visitor, served: Served) -> None:
    served.client.post("/v1/samples", json={"language": "en"}).raise_for_status()
    page.go("start")
    page.click("[data-action=remove-samples]")
    lost = _lost(page)
    assert lost["memories"] > 5
    assert lost["sessions"] > 1
    assert lost["messages"] > lost["sessions"]
