"""People in the dashboard, in a real browser: the default user, the list of people, and the page of a person."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.dashboard.support import Visitor, remember, visit
from tests.server.http_support import process

pytestmark = [pytest.mark.ledger("X37"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server whose default user is Noor."""
    home: Path = tmp_path_factory.mktemp("people")
    with process(home, HOLDFAST_USER="noor") as server:
        yield server.url


@pytest.fixture
def visitor(browser: Any, url: str) -> Iterator[Visitor]:
    """A browser without a chosen scope.

    After the test, checks that the page logged no error and contacted no other host.
    """
    found = visit(browser, url, user=None)
    yield found
    found.context.close()
    assert not found.faults
    assert found.hosts <= {url.removeprefix("http://")}


@pytest.mark.long
def test_the_chat_uses_the_default_user_and_says_so(visitor: Visitor, url: str) -> None:
    visitor.go("chat")
    assert visitor.see("[data-action=whose]").inner_text() == "Memory of noor"
    assert "memory of noor" in visitor.see(".welcome").inner_text()
    visitor.say("My aunt Petra keeps bees.")
    visitor.see(".no-model")
    newest, *_ = visitor.page.evaluate("async () => (await (await fetch('/v1/sessions')).json()).items.map((one) => one.user)")
    assert newest == "noor"


@pytest.mark.long
def test_shared_memory_is_a_choice_that_lasts_and_is_shown_as_such(visitor: Visitor) -> None:
    visitor.go("chat")
    visitor.click("[data-action=whose]")
    visitor.click("dialog .actions.end .button", has_text="Shared data only")
    visitor.see(".whose.is-shared", has_text="every user can recall")
    visitor.page.reload()
    visitor.see(".whose.is-shared")


@pytest.mark.long
def test_the_default_user_is_not_stored_as_a_choice(visitor: Visitor) -> None:
    visitor.go("chat")
    visitor.see("[data-action=whose]")
    visitor.click(".side [data-action=theme]")
    visitor.page.wait_for_function("() => JSON.parse(localStorage.getItem('holdfast.settings')).theme === 'light'")
    assert visitor.page.evaluate("() => JSON.parse(localStorage.getItem('holdfast.settings')).user") is None


@pytest.mark.long
@pytest.mark.parametrize(("user", "title"), [("nadia", "nadia has no memories yet"), (None, "No shared memories")])
def test_a_direct_visit_to_an_empty_list_says_that_others_have_memories(
    browser: Any, url: str, user: str | None, title: str
) -> None:
    """The first view is drawn before the statistics have arrived."""
    remember(url, "Plays the oboe", user="zoe")
    total = httpx.get(f"{url}/v1/stats").json()["memories"]
    visitor = visit(browser, url)
    chosen = json.dumps({"theme": "auto", "language": None, "user": user, "app": None, "agent": None, "scopeChosen": True})
    visitor.context.add_init_script(f"localStorage.setItem('holdfast.settings', {json.dumps(chosen)});")
    for _ in range(2):
        visitor.page.goto(f"{url}/#/memories")
        visitor.page.reload()
        shown = visitor.see("#main .empty", has_text=title).inner_text()
        assert f"This store has {total} memor" in shown
        assert "Choose whose memories to see" in shown
    visitor.context.close()
    assert not visitor.faults


@pytest.mark.long
def test_people_are_listed_with_counts_and_found_by_name(visitor: Visitor, url: str) -> None:
    for name, text in (("maría", "María plays the cello"), ("marta", "Marta has a red bicycle"), ("jon", "Jon is a baker")):
        remember(url, text, user=name)
    visitor.go("people")
    assert "1 memory" in visitor.see(".person-row", has_text="jon").inner_text()
    visitor.page.keyboard.press("/")
    visitor.page.keyboard.type("MARÍ")
    visitor.page.wait_for_function("() => document.querySelectorAll('.person-row').length === 1")
    assert "maría" in visitor.see(".person-row").inner_text()
    visitor.see("input[type=search]").fill("nobody is called this")
    assert "No name contains" in visitor.see(".empty").inner_text()


@pytest.fixture(scope="module")
def clara(url: str) -> str:
    """Store facts about a person, one of which replaces another. Return the person's name."""
    remember(url, "Lives in Lyon", user="clara", kind="profile", key="home", valid_from="2021-03-01T00:00:00Z")
    remember(url, "Lives in Turin", user="clara", kind="profile", key="home", valid_from="2024-06-01T00:00:00Z")
    remember(url, "Is allergic to walnuts", user="clara")
    remember(url, "The office closes at six", user=None)
    return "clara"


@pytest.mark.long
def test_the_page_of_a_person_shows_who_they_are_and_the_life_of_each_fact(visitor: Visitor, clara: str) -> None:
    visitor.go("people")
    visitor.click(".person-row", has_text=clara)
    assert "Is allergic to walnuts." in visitor.see(".portrait").inner_text()
    assert "Lyon" not in visitor.see(".portrait").inner_text()
    homes = visitor.see(".lives", has_text="Home")
    assert homes.locator(".life .memory-text").all_inner_texts() == ["Lives in Lyon", "Lives in Turin"]
    old, new = homes.locator(".life").all()
    assert "Replaced by “Lives in Turin”." in old.inner_text()
    assert "Mar 1, 2021 to Jun 1, 2024" in old.inner_text()
    assert "since Jun 1, 2024" in new.inner_text()
    ends = [each.locator(".life-bar").bounding_box() for each in (old, new)]
    assert abs(ends[0]["x"] + ends[0]["width"] - ends[1]["x"]) < 3
    assert "1 memory that everyone shares" in visitor.see(".person-shared").inner_text()
    visitor.page.keyboard.press("j")
    visitor.page.keyboard.press("Enter")
    visitor.see(".memory-full")


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en-US", "es-ES"])
def test_the_page_of_a_person_fits_a_phone(browser: Any, url: str, clara: str, theme: Any, language: str) -> None:
    phone = visit(browser, url, language=language, size=(390, 800), is_mobile=True, has_touch=True, color_scheme=theme)
    phone.go(f"people/{clara}")
    phone.see(".life")
    assert phone.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert ("Salud" if language == "es-ES" else "Health") in phone.see(".areas").inner_text()
    phone.context.close()
    assert not phone.faults


@pytest.mark.long
def test_a_person_is_exported_as_a_file(visitor: Visitor, clara: str) -> None:
    visitor.go(f"people/{clara}")
    with visitor.page.expect_download() as saved:
        visitor.click("[data-action=export]")
    assert saved.value.suggested_filename == "clara.jsonl"
    assert "Lives in Lyon" in Path(saved.value.path()).read_text("utf-8")


@pytest.mark.long
def test_erasing_a_person_says_what_will_be_lost_and_gives_a_receipt(visitor: Visitor, url: str) -> None:
    remember(url, "Collects stamps", user="tomas")
    visitor.go("people/tomas")
    assert "1 memory (1 live, 0 retired)" in visitor.see(".person-erase").inner_text()
    visitor.click(".person-erase [data-action=erase]")
    assert "1 memory (1 live, 0 retired) is removed from disk" in visitor.see("dialog .points").inner_text()
    assert visitor.see("dialog .button.danger").is_disabled()
    visitor.see("dialog input").fill("tomas")
    visitor.click("dialog .button.danger")
    visitor.see("dialog .receipt", has_text="tomas")
    visitor.page.keyboard.press("Escape")
    visitor.see(".person-row")
    assert visitor.page.locator(".person-row", has_text="tomas").count() == 0


@pytest.mark.long
def test_the_settings_also_say_what_erasing_a_user_removes(browser: Any, url: str) -> None:
    remember(url, "Collects coins", user="pilar")
    visitor = visit(browser, url, user="pilar")
    visitor.go("settings")
    visitor.click(".danger-zone .button")
    assert "1 memory (1 live, 0 retired)" in visitor.see("dialog .points").inner_text()
    visitor.context.close()
    assert not visitor.faults


@pytest.mark.long
def test_with_many_sessions_the_rest_of_the_page_stays_reachable(visitor: Visitor, url: str) -> None:
    for number in range(12):
        body = {"role": "user", "text": f"hello number {number}", "user": "vera"}
        assert httpx.post(f"{url}/v1/sessions/vera-{number}/messages", json=body, timeout=30).status_code == 201
    visitor.go("people/vera")
    visitor.see(".person-sessions .session-row")
    assert visitor.page.locator(".person-sessions .session-row").count() == 10
    visitor.click("[data-action=older]")
    visitor.page.wait_for_function("() => document.querySelectorAll('.person-sessions .session-row').length === 12")
    assert visitor.page.locator("[data-action=older]").count() == 0


@pytest.mark.long
def test_a_key_of_a_user_sees_the_page_of_that_user_alone_and_cannot_erase(browser: Any, tmp_path: Path) -> None:
    with process(tmp_path) as server:
        remember(server.url, "Collects stamps", user="tomas")
        admin = httpx.post(f"{server.url}/v1/keys", json={"scope": "admin"}, timeout=30).json()["key"]
        headers = {"Authorization": f"Bearer {admin}"}
        body = {"scope": "read", "user": "tomas"}
        key = httpx.post(f"{server.url}/v1/keys", json=body, headers=headers, timeout=30).json()["key"]
        guest = visit(browser, server.url, user=None)
        guest.context.add_init_script(f"sessionStorage.setItem('holdfast.key', {key!r});")
        guest.go("people")
        assert "Collects stamps" in guest.see(".life").inner_text()
        assert guest.see(".person-erase [data-action=erase]").is_disabled()
        guest.go("chat")
        assert guest.see("[data-action=whose]").inner_text() == "Memory of tomas"
        guest.context.close()
        assert not guest.faults
