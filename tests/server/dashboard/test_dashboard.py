"""End-to-end tests of the dashboard with a real browser and the installed server, without other network access."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.background.jobs import new_job
from holdfast.services import services
from tests.models.remote.chat_server import ChatServer
from tests.server.dashboard.support import VIEWS, Visitor, remember, visit
from tests.server.http_support import eventually, get, post, process

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server without a chat model, with one dead job."""
    home = tmp_path_factory.mktemp("dashboard")
    with closing(holdfast.open(home / "memory.db", worker="none", embedder=None)) as memory, services(memory).store.write() as tx:
        job = new_job("digest", {"session": "ses_gone", "upto": 3}, effect="digest:gone:3", now=datetime.now(UTC))
        tx.add_job(replace(job, state="dead", attempt=5, error="the model did not answer"))
    with process(home) as server:
        yield server.url


@pytest.fixture
def ana(browser: Any, url: str) -> Iterator[Visitor]:
    """Ana's browser page. After the test, checks that the page logged no error and contacted no other host."""
    visitor = visit(browser, url)
    yield visitor
    visitor.context.close()
    assert not visitor.faults
    assert visitor.hosts <= {url.removeprefix("http://")}


@pytest.mark.long
def test_a_turn_without_a_model_is_stored_and_shows_the_prompt(ana: Visitor, url: str) -> None:
    remember(url, "The boiler is repaired in November")
    ana.go("chat")
    ana.see(".chat-bar", has_text="No chat model")
    ana.say("When is the boiler repaired?")
    note = ana.see(".no-model")
    assert "Saved." in note.inner_text()
    assert "The boiler is repaired in November" in note.inner_text()


@pytest.mark.long
def test_each_turn_shows_what_was_recalled_and_why(ana: Visitor, url: str) -> None:
    remember(url, "The spare key hangs behind the piano")
    ana.go("chat")
    ana.say("Where does the spare key hang?")
    card = ana.see(".aside .hit", has_text="behind the piano")
    assert card.locator(".reasons .arm").first.inner_text() == "Words"
    assert card.locator(".reasons .rank").first.inner_text() == "#1"
    assert float(card.locator(".total b").inner_text()) > 0
    card.locator("a.source").click()
    assert "behind the piano" in ana.see(".memory-full").inner_text()


@pytest.mark.long
def test_new_memories_appear_when_a_conversation_ends(ana: Visitor) -> None:
    ana.go("chat")
    ana.say("My sister Clara is allergic to walnuts.")
    ana.see(".no-model")
    ana.click("[data-action=end]")
    assert "Clara" in ana.see(".aside .learnt-row").inner_text()
    assert "Clara" in ana.see(".turn .learnt-chip").inner_text()


@pytest.mark.long
def test_an_answer_is_shown_as_it_comes_with_its_context(browser: Any, tmp_path: Path) -> None:
    with ChatServer() as model:
        model.script("You live in **Lyon**, <b>dear</b>.")
        with process(tmp_path, "--chat", "ollama:llama3.2", HOLDFAST_CHAT_URL=model.url, NO_PROXY="*") as server:
            remember(server.url, "Lives in Lyon")
            visitor = visit(browser, server.url)
            visitor.go("chat")
            visitor.say("Where do I live, in Lyon?")
            assert visitor.see(".turn.theirs strong").inner_text() == "Lyon"
            assert "<b>dear</b>" in visitor.see(".turn.theirs .said").inner_text()
            visitor.see(".aside .hit", has_text="Lives in Lyon")
            visitor.page.reload()
            visitor.see(".turn.mine", has_text="Where do I live")
            visitor.context.close()
            assert not visitor.faults


@pytest.mark.long
def test_a_search_explains_what_it_found(ana: Visitor, url: str) -> None:
    remember(url, "Plays the viola on Tuesdays")
    ana.go("memories")
    ana.see("input[type=search]").fill("viola")
    found = ana.see(".hit-row", has_text="viola")
    found.locator("summary").click()
    assert found.locator(".reasons .arm").first.inner_text() == "Words"


@pytest.mark.long
def test_an_edit_shows_its_difference_and_can_be_undone(ana: Visitor, url: str) -> None:
    kept = remember(url, "Works as a data engineer")
    ana.go(f"memories/{kept['id']}")
    ana.click("[data-action=edit]")
    ana.see(".edit-form textarea").fill("Works as a lead data engineer")
    ana.see(".edit-form input[placeholder*=kept]").fill("promoted")
    ana.click(".edit-form button[type=submit]")
    assert ana.see(".changes li:first-child ins").inner_text().strip() == "lead"
    assert "promoted" in ana.see(".changes").inner_text()
    ana.click("[data-action=undo]")
    ana.see(".memory-full", has_text="Works as a data engineer")
    assert get(f"{url}/v1/memories/{kept['id']}").json()["text"] == "Works as a data engineer"


@pytest.mark.long
def test_a_pinned_memory_stays_pinned(ana: Visitor, url: str) -> None:
    kept = remember(url, "Prefers short answers")
    ana.go(f"memories/{kept['id']}")
    ana.click("[data-action=pin]")
    ana.see("[data-action=pin][aria-pressed=true]")
    assert eventually(lambda: get(f"{url}/v1/memories/{kept['id']}").json()["pinned"])


@pytest.mark.long
def test_forgotten_memories_are_listed_separately_and_can_be_restored(ana: Visitor, url: str) -> None:
    kept = remember(url, "Parks the car on the street")
    ana.go(f"memories/{kept['id']}")
    ana.click("[data-action=forget]")
    ana.see(".note-box", has_text="Forgotten")
    ana.go("memories?retired=true")
    ana.see(".memory-row.is-retired", has_text="Parks the car")
    ana.click(".toast-action")
    assert eventually(lambda: get(f"{url}/v1/memories/{kept['id']}").json()["status"] == "live")


@pytest.mark.long
def test_an_erasure_says_what_it_will_do_and_gives_a_receipt(ana: Visitor, url: str) -> None:
    kept = remember(url, "The old password hint is a fish")
    ana.go(f"memories/{kept['id']}")
    ana.click("[data-action=erase]")
    asked = ana.see("dialog")
    assert "cannot be undone" in asked.inner_text()
    ana.click("dialog .button.danger")
    receipt = ana.see("dialog table.receipt")
    assert "Memories\t1" in receipt.inner_text()
    assert get(f"{url}/v1/memories/{kept['id']}").status_code == 404
    ana.click("dialog .button.primary")
    assert ana.page.locator(f"[data-id={kept['id']}]").count() == 0


@pytest.mark.long
def test_a_memory_and_its_source_message_link_to_each_other(ana: Visitor, url: str) -> None:
    said = post(f"{url}/v1/sessions/provenance/messages", json={"role": "user", "text": "My cat is called Miga.", "user": "ana"})
    post(f"{url}/v1/sessions/provenance/end")
    eventually(lambda: any("Miga" in each["text"] for each in _memories(url)))
    memory = next(each for each in _memories(url) if "Miga" in each["text"])
    ana.go(f"memories/{memory['id']}")
    ana.click(".source-message")
    line = ana.see(f"#m-{said.json()['id']}")
    assert "My cat is called Miga." in line.inner_text()
    line.locator(".came a").first.click()
    ana.see(".memory-full", has_text="Miga")


@pytest.mark.long
def test_a_topic_is_edited_as_a_page_with_a_preview(ana: Visitor, url: str) -> None:
    remember(url, "The basil is on the balcony", topic="Garden")
    ana.go("topics")
    ana.click(".card", has_text="Garden")
    ana.click("[data-action=edit]")
    source = ana.see("textarea.markdown-source")
    source.fill(source.input_value().rstrip() + "\n- The *tomatoes* go out in May\n")
    assert ana.see(".preview em").inner_text() == "tomatoes"
    ana.click(".topic-edit button[type=submit]")
    ana.see(".topic .prose li", has_text="go out in May")
    assert any("go out in May" in each["text"] for each in _memories(url, topic="Garden"))


@pytest.mark.long
def test_emptying_a_page_asks_first(ana: Visitor, url: str) -> None:
    for number in range(8):
        remember(url, f"Rule number {number} of the club", topic="Club")
    ana.go("topics/Club")
    ana.click("[data-action=edit]")
    ana.see("textarea.markdown-source").fill("# Club\n")
    ana.click(".topic-edit button[type=submit]")
    ana.see("dialog", has_text="Forget this many memories?")
    assert len(_memories(url, topic="Club")) == 8
    ana.click("dialog .button.danger")
    assert eventually(lambda: not _memories(url, topic="Club"))


@pytest.mark.long
def test_the_timeline_lists_memories_and_messages_by_day(ana: Visitor, url: str) -> None:
    remember(url, "The quartet meets on Thursday")
    post(f"{url}/v1/sessions/by-day/messages", json={"role": "user", "text": "Good morning to all of you.", "user": "ana"})
    ana.go("timeline")
    assert ana.see(".day h2").inner_text() == "Today"
    ana.see(".entry", has_text="The quartet meets on Thursday")
    ana.see(".entry .talk-line", has_text="Good morning to all of you.")


@pytest.mark.long
def test_a_dead_job_can_be_run_again(ana: Visitor, url: str) -> None:
    ana.go("jobs?state=dead")
    assert "the model did not answer" in ana.see(".job").inner_text()
    ana.click("[data-action=rerun]")
    ana.see(".toast", has_text="Job queued again")
    assert eventually(lambda: not get(f"{url}/v1/jobs", params={"state": "dead"}).json()["items"])


@pytest.mark.long
def test_an_app_is_registered_and_uninstalled(ana: Visitor, url: str) -> None:
    ana.go("apps")
    ana.click("[data-action=new]")
    ana.see("dialog input >> nth=0").fill("kitchen")
    ana.see("dialog input >> nth=1").fill("Kitchen helper")
    ana.click("dialog button[type=submit]")
    ana.see(".card.app", has_text="Kitchen helper").locator("button[aria-label=Uninstall]").click()
    ana.click("dialog .button.danger")
    assert eventually(lambda: "Kitchen helper" not in get(f"{url}/apps").text)


@pytest.mark.long
@pytest.mark.parametrize("language", ["en-US", "es-ES"])
def test_the_name_of_an_app_that_is_not_installed_is_not_broken(browser: Any, url: str, language: str) -> None:
    remember(url, "Meets on Mondays", user="ana", app="calendar")
    visitor = visit(browser, url, user="ana", size=(1440, 900), language=language)
    visitor.go("apps")
    name, chip = visitor.see(".card.app h2", has_text="calendar"), visitor.see(".card.app .chip")
    lines = "(node) => { const range = document.createRange(); range.selectNodeContents(node); return range.getClientRects().length; }"
    assert name.evaluate(lines) == 1
    assert chip.evaluate("(node) => node.scrollWidth <= node.clientWidth + 1"), "the chip is not cut"


@pytest.mark.long
@pytest.mark.ledger("A11")
def test_the_statistics_are_charts_with_tables(ana: Visitor, url: str) -> None:
    remember(url, "Something to count")
    post(f"{url}/v1/recall", json={"query": "count", "user": "ana"})
    ana.go("stats")
    ana.see("figure.chart")
    titles = ana.page.locator("figure.chart h3").all_inner_texts()
    assert titles[:3] == ["Memories over time", "Recall latency", "Digestion lag"]
    assert set(titles[3:]) <= {"Energy"}, "no model was used, so there is no spend and no tokens"
    drawn = ana.page.eval_on_selector_all(
        "figure.chart", "(all) => all.map((f) => f.querySelectorAll('path.bars, path.line').length)"
    )
    assert all(drawn), "no frame is empty"
    assert len(ana.page.locator("path.bars[data-series=Fact]").get_attribute("d")) > 10
    assert len(ana.page.locator("path.line[data-series=Median]").get_attribute("d")) > 5
    ana.click("figure.chart summary >> nth=0")
    rows = ana.page.locator("figure.chart >> nth=0").locator("tbody tr")
    assert rows.count() == 30
    assert rows.last.locator("td").first.inner_text() == str(_made_today(url, "fact"))
    plot = ana.page.locator(".plot").first
    plot.focus()
    ana.page.keyboard.press("ArrowLeft")
    assert "Fact" in plot.locator(".tip").inner_text()


@pytest.mark.long
def test_the_language_follows_the_browser_and_can_be_switched(browser: Any, url: str) -> None:
    visitor = visit(browser, url, language="es-MX")
    visitor.go("memories")
    assert visitor.see("h1").inner_text() == "Recuerdos"
    visitor.click(".side [data-action=language]")
    visitor.see("h1", has_text="Memories")
    visitor.page.reload()
    visitor.see("h1", has_text="Memories")
    assert visitor.page.evaluate("document.documentElement.lang") == "en"
    visitor.context.close()
    assert not visitor.faults


@pytest.mark.long
def test_the_theme_follows_the_system_and_can_be_switched(browser: Any, url: str) -> None:
    visitor = visit(browser, url, color_scheme="dark")
    visitor.go("settings")
    paper = "getComputedStyle(document.body.parentElement).backgroundColor"
    dark = visitor.page.evaluate(paper)
    visitor.click(".side [data-action=theme]")
    visitor.page.wait_for_function(f"before => {paper} !== before", arg=dark)
    light = visitor.page.evaluate(paper)
    assert sum(_channels(dark)) < 150
    assert sum(_channels(light)) > 600
    visitor.page.reload()
    visitor.settle()
    assert visitor.page.evaluate(paper) == light
    visitor.context.close()


@pytest.mark.long
def test_the_dashboard_can_be_used_with_the_keyboard_alone(ana: Visitor, url: str) -> None:
    remember(url, "Reads essays before sleeping")
    ana.go("settings")
    keys = ana.page.keyboard
    keys.press("?")
    ana.see("dialog .keys")
    keys.press("Escape")
    keys.press("g")
    keys.press("m")
    ana.see(".memory-row")
    keys.press("j")
    assert ana.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    keys.press("Enter")
    ana.see(".memory-full")
    keys.press("e")
    ana.see(".edit-form textarea")
    keys.press("Escape")
    ana.see(".memory-full")
    keys.press("/")
    assert ana.page.evaluate("document.activeElement.type") == "search"


@pytest.mark.long
@pytest.mark.parametrize("language", ["en-US", "es-ES"])
def test_every_view_fits_a_phone(browser: Any, url: str, language: str) -> None:
    visitor = visit(browser, url, language=language, size=(360, 740), is_mobile=True, has_touch=True)
    for name in VIEWS:
        visitor.go(name)
        assert visitor.page.evaluate("document.documentElement.scrollWidth") == 360, name
    visitor.context.close()
    assert not visitor.faults


@pytest.mark.long
def test_a_server_with_keys_asks_for_one_and_keeps_it_only_in_the_tab(browser: Any, tmp_path: Path) -> None:
    with process(tmp_path) as server:
        made = post(f"{server.url}/v1/keys", json={"scope": "admin"}).json()
        visitor = visit(browser, server.url)
        visitor.go("memories")
        assert visitor.see(".problem").inner_text().count("keys create") == 1
        visitor.click(".problem a")
        visitor.see("input[type=password]").fill(made["key"])
        visitor.click("form button[type=submit]")
        visitor.see(".good", has_text="has full access")
        visitor.go("memories")
        visitor.see(".empty")
        stored = visitor.page.evaluate("[JSON.stringify(localStorage), JSON.stringify(sessionStorage)]")
        assert made["key"] not in stored[0]
        assert made["key"] in stored[1]
        visitor.context.close()


@pytest.mark.long
def test_error_messages_say_what_to_do(ana: Visitor) -> None:
    ana.go("memories/mem_that_never_was")
    note = ana.see(".problem").inner_text()
    assert "Not found" in note
    assert "It may have been erased" in note
    backgrounds = ana.page.eval_on_selector_all(".problem p", "(all) => all.map((p) => getComputedStyle(p).backgroundColor)")
    assert set(backgrounds) == {"rgba(0, 0, 0, 0)"}, "no box inside the message"


def _memories(url: str, **wanted: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = get(f"{url}/v1/memories", params={"user": "ana", "limit": "500", **wanted}).json()["items"]
    return items


def _made_today(url: str, kind: str) -> int:
    today = datetime.now(UTC).date().isoformat()
    days = get(f"{url}/v1/stats").json()["memories_per_day"]
    return sum(each["count"] for each in days if (each["day"], each["kind"]) == (today, kind))


def _channels(colour: str) -> list[int]:
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
