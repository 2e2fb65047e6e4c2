"""Administration in the dashboard, in a real browser: keys, models, settings, imports, exports, backups, proposals, health.

Also a server that stops, or is restarted, while the dashboard is open: the page says so, recovers, and keeps what was typed.
"""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.config.loading import load_settings
from holdfast.engine import Engine
from holdfast.services import services
from holdfast.testing import ScriptedChat
from holdfast.types import Author, Put, Scope
from holdfast.write import Writer
from tests.models.remote.chat_server import ChatServer
from tests.server.dashboard.support import Visitor, remember, visit
from tests.server.http_support import Served, process, serving

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(180), pytest.mark.long]
SECTIONS = ("health", "keys", "models", "settings", "data", "backups", "proposals")


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server with a chat model that answers ``ready``."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path / "store", chat=ScriptedChat(respond=lambda asked: "ready")) as found:
        yield found


@pytest.fixture
def ana(browser: Any, served: Served) -> Iterator[Visitor]:
    """Ana's browser page. After the test, checks that the page logged no error and contacted no other host."""
    visitor = visit(browser, served.url)
    yield visitor
    visitor.context.close()
    assert not visitor.faults
    assert visitor.hosts <= {served.url.removeprefix("http://")}


def test_the_first_key_is_shown_once_and_used_then_a_second_is_revoked(ana: Visitor, served: Served) -> None:
    ana.go("admin/keys")
    ana.see(".note-box", has_text="No key exists yet")
    ana.see("details.panel-box input").fill("<b>laptop</b>")
    ana.click("[data-action=create]")
    secret = ana.see("dialog .secret").inner_text()
    assert served.as_(secret).get("/v1/me").json()["level"] == "admin"
    assert served.client.get("/v1/me").status_code == 401
    ana.click("dialog .button.primary")
    ana.see(".admin-row", has_text="<b>laptop</b>")
    assert secret not in ana.page.content()
    ana.click("details.panel-box summary")
    ana.see("details.panel-box input").fill("tablet")
    ana.click("[data-action=create]")
    second = ana.see("dialog .secret").inner_text()
    ana.click("dialog .button.primary")
    ana.click(".admin-row:has-text('tablet') [data-action=revoke]")
    assert "refused from now on" in ana.see("dialog .points").inner_text()
    ana.click("dialog .button.danger")
    ana.see(".admin-row.is-off", has_text="tablet")
    assert served.as_(second).get("/v1/me").status_code == 401


def test_a_model_is_tested_and_its_calls_are_charted(ana: Visitor) -> None:
    ana.go("admin/models")
    ana.see("text=No model was called")
    ana.click("[data-role=chat] [data-action=test]")
    assert "ready" in ana.see("[data-role=chat] p.good").inner_text()
    assert "not set" in ana.see("[data-role=transcriber]").inner_text()
    ana.page.reload()
    ana.see(".charts .bars")
    assert "1 call" in ana.see(".tile").inner_text()


def test_a_model_is_chosen_for_the_next_start_and_an_unknown_one_is_refused(ana: Visitor, tmp_path: Path) -> None:
    ana.go("admin/models")
    ana.click("[data-role=reader] [data-action=choose]")
    ana.see("dialog input").fill("no-such-reader")
    ana.click("dialog [type=submit]")
    assert "no-such-reader" in ana.see("dialog .problem").inner_text()
    ana.click("dialog .suggestion", has_text="none")
    ana.click("dialog [type=submit]")
    ana.see(".toast", has_text="from its next start")
    assert "none" in ana.see("[data-role=reader] .next-model").inner_text()
    assert (tmp_path / "home" / "holdfast.toml").read_text("utf-8") == 'reader = "none"\n'


def test_the_chat_says_that_a_chosen_model_is_used_from_the_next_start(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with ChatServer() as model:
        monkeypatch.setenv("HOLDFAST_CHAT_URL", model.url)
        with serving(tmp_path / "store", settings=load_settings()) as served:
            page = visit(browser, served.url)
            page.go("chat")
            page.say("Where do I live?")
            page.see(".no-model")
            assert page.page.locator(".no-model .next-model").count() == 0
            served.client.put("/v1/models/chat", json={"name": "mine:small"}).raise_for_status()
            page.go("start")
            page.see("[data-part=model] .next-model", has_text="The server uses mine:small from its next start")
            page.go("chat")
            page.click("[data-action=new]")
            page.say("Where do I work?")
            page.see(".no-model .next-model", has_text="The server uses mine:small from its next start")
            page.context.close()
            assert not page.faults


def test_an_app_shares_with_every_app_and_can_be_changed_later(ana: Visitor, served: Served) -> None:
    ana.go("apps")
    ana.click("[data-action=new]")
    for place, text in enumerate(("kitchen", "", "*")):
        ana.page.locator("dialog input").nth(place).fill(text)
    ana.click("dialog [type=submit]")
    ana.see(".card.app", has_text="every app")
    ana.click(".card.app .icon-button[title=Edit]")
    ana.page.locator("dialog input").nth(1).fill("The kitchen")
    ana.click("dialog [type=submit]")
    ana.see(".card.app", has_text="The kitchen")
    (app,) = served.client.get("/apps").json()["apps"]
    assert (app["name"], app["sharesWith"]) == ("The kitchen", ["*"])


def test_settings_say_their_value_and_origin_and_can_be_searched(ana: Visitor) -> None:
    ana.go("admin/settings")
    assert "The general way of remembering" in ana.see(".panel-box").inner_text()
    ana.page.keyboard.press("/")
    ana.page.keyboard.type("undone")
    ana.page.wait_for_function("() => document.querySelectorAll('.setting-row').length === 1")
    row = ana.see(".setting-row").inner_text()
    assert all(part in row for part in ("undo_days", "30", "from the preset", "HOLDFAST_UNDO_DAYS"))


def test_an_import_is_checked_first_then_stored_and_exported(ana: Visitor, served: Served, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("".join(f"- [2024-05-{day:02}] - Has visited town number {day}\n" for day in range(1, 29)))
    ana.go("admin/data")
    ana.click("[data-action=dry-run]")
    ana.see(".import-result", has_text="Choose a file first")
    ana.page.set_input_files("input[type=file]", notes)
    ana.click("[data-action=dry-run]")
    ana.see(".import-result .good", has_text="Nothing was stored")
    assert served.client.get("/v1/setup").json()["empty"]
    ana.click("[data-action=import]")
    assert "28" in ana.see(".import-result:has-text('Imported: list of memories') table").inner_text()
    assert served.client.get("/v1/memories", params={"user": "ana"}).json()["total"] == 28
    with ana.page.expect_download() as saved:
        ana.click("[data-action=export]")
    assert saved.value.suggested_filename == "ana.jsonl"
    assert "town number 7" in Path(saved.value.path()).read_text("utf-8")


def test_a_damaged_file_says_why_it_was_refused(ana: Visitor, tmp_path: Path) -> None:
    (tmp_path / "broken.bin").write_bytes(b"\x00\x01")
    ana.go("admin/data")
    ana.page.set_input_files("input[type=file]", tmp_path / "broken.bin")
    ana.click("[data-action=import]")
    assert "Nothing was imported" in ana.see(".import-result .problem").inner_text()


def test_a_backup_is_written_and_listed(ana: Visitor) -> None:
    ana.go("admin/backups")
    ana.see(".empty")
    ana.click("[data-action=backup]")
    path = ana.see(".admin-row .path").inner_text()
    assert Path(path).is_file()


def test_health_lists_its_checks(ana: Visitor) -> None:
    ana.go("admin")
    ana.see(".verdict")
    count = ana.page.locator(".check-row").count()
    ana.click("[data-action=deep]")
    ana.page.wait_for_function("(few) => document.querySelectorAll('.check-row').length >= few", arg=count)


def test_a_proposal_is_shown_with_what_it_replaces_and_accepted(ana: Visitor, served: Served) -> None:
    client = served.client
    client.post(
        "/v1/memories", json={"text": "Lives in Lyon", "user": "ana", "kind": "profile", "key": "home"}
    ).raise_for_status()
    memory = served.pool.operator
    proposed = _propose(memory)
    ana.go("admin/proposals")
    ana.see(".proposal", has_text="Lives in Turin")
    ana.see(".proposal del", has_text="Lives in Lyon")
    ana.click(".proposal [data-action=accept]")
    ana.page.wait_for_function("() => !document.querySelector('.proposal')")
    assert memory.get(proposed).status == "live"


def _propose(memory: Engine) -> str:
    """Propose a new home for Ana, as learning from a web page does."""
    parts = services(memory)
    with parts.store.write() as tx:
        writer = Writer(tx=tx, preset=parts.preset, author=Author(actor="digest"), now=parts.clock.now())
        put = Put(scope=Scope(tenant="default", user="ana"), kind="profile", key="home", text="Lives in Turin", trust=0.2)
        (made,) = writer.apply([put])
    return made.id


@pytest.mark.parametrize("language", ["en-US", "es-ES"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_section_fits_a_phone(browser: Any, served: Served, theme: Any, language: str) -> None:
    phone = visit(browser, served.url, language=language, size=(390, 800), is_mobile=True, has_touch=True, color_scheme=theme)
    for page in ("start", *(f"admin/{name}" for name in SECTIONS)):
        phone.go(page)
        assert phone.page.evaluate("() => document.documentElement.scrollWidth <= 390"), page
    phone.context.close()
    assert not phone.faults


@pytest.mark.parametrize("bound", [{"level": "read"}, {"level": "admin", "user": "ana"}])
def test_a_section_that_the_key_does_not_permit_shows_an_error(browser: Any, served: Served, bound: dict[str, str]) -> None:
    served.key("admin")
    key = served.key(**bound)
    guest = visit(browser, served.url)
    guest.context.add_init_script(f"sessionStorage.setItem('holdfast.key', {key!r});")
    for name in ("health", "models", "settings", "backups"):
        guest.go(f"admin/{name}")
        assert "does not permit" in guest.see(".problem").inner_text(), name
    guest.go("admin/data")
    guest.see(".note-box", has_text="needs an admin key")
    guest.context.close()
    assert not guest.faults


def test_several_memories_are_forgotten_with_undo_and_erased_with_exact_counts(ana: Visitor, served: Served) -> None:
    for text in ("likes rain", "has a kite", "sings <i>loudly</i>"):
        remember(served.url, text)
    ana.go("memories")
    ana.click("[data-action=select]")
    assert ana.see("[data-action=bulk-forget]").is_disabled()
    ana.see(".picked:has-text('kite') .pick").check()
    ana.click("[data-action=bulk-forget]")
    assert "1 memory is hidden" in ana.see("dialog .points").inner_text()
    ana.click("dialog .button.primary")
    ana.page.wait_for_function("() => document.querySelectorAll('.picked').length === 2")
    ana.click(".toast-action")
    ana.page.wait_for_function("() => document.querySelectorAll('.picked').length === 3")
    ana.click("[data-action=pick-all]")
    ana.click("[data-action=bulk-erase]")
    points = ana.see("dialog .points").inner_text()
    assert "3 memories are removed from disk" in points
    assert "5 versions of their texts" in points  # three, and those of forgetting and undoing
    assert ana.see("dialog .button.danger").is_disabled()
    ana.see("dialog input").fill("3")
    ana.click("dialog .button.danger")
    ana.see("dialog .receipt-status.good")
    assert served.client.get("/v1/memories", params={"user": "ana"}).json()["total"] == 0


def test_a_server_that_stops_answering_is_shown_as_stopped_and_then_as_back(browser: Any, tmp_path: Path) -> None:
    with process(tmp_path) as server:
        remember(server.url, "likes rain")
        page = visit(browser, server.url)
        page.go("memories")
        page.see(".memory-row")
        server.popen.send_signal(signal.SIGSTOP)
        try:
            page.see(".stopped", has_text="does not answer")
            page.page.evaluate("() => { location.hash = '#/timeline'; }")
            page.see("#main .skeleton")
            assert page.page.locator(".pulse.on").count() == 0
        finally:
            server.popen.send_signal(signal.SIGCONT)
        page.page.wait_for_function("() => !document.querySelector('.stopped')")
        page.settle()
        server.stop(signal.SIGKILL)
        page.see(".stopped")
        page.context.close()


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


def test_the_key_of_another_tenant_gets_no_settings(served: Served) -> None:
    assert served.as_(served.key("admin", tenant="acme")).get("/v1/settings").status_code == httpx.codes.FORBIDDEN
