"""Stored text is displayed and never executed: 40 XSS payloads in every field."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.sampling import Sample
from tests.server.dashboard.support import VIEWS, Visitor, visit
from tests.server.http_support import process

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(280)]

RUN = "window.__ran=1"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</style></title><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><img src=x onerror="{RUN}">',
    f"'><img src=x onerror='{RUN}'>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<body onload={RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<iframe src=javascript:parent.{RUN}></iframe>",
    f"<object data=javascript:{RUN}></object>",
    f"<embed src=javascript:{RUN}>",
    f"<math><mtext></mtext><mglyph><style><img src=x onerror={RUN}>",
    f"<details open ontoggle={RUN}>x</details>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<a href='javascript:{RUN}'>click</a>",
    f"<form action=javascript:{RUN}><button>go</button></form>",
    "<meta http-equiv=refresh content='0;url=javascript:window.__ran=1'>",
    "<base href='http://203.0.113.7/'>",
    "<link rel=stylesheet href='http://203.0.113.7/x.css'>",
    f"<template><script>{RUN}</script></template>",
    f"[click](javascript:{RUN})",
    f"[click](JaVaScRiPt:{RUN})",
    f"[click]( javascript:{RUN} )",
    f"[click](&#106;avascript:{RUN})",
    f"[click](data:text/html,<script>{RUN}</script>)",
    f"[click](vbscript:{RUN})",
    "[click](//203.0.113.7/x)",
    f"![x](javascript:{RUN})",
    "![x](http://203.0.113.7/pixel.png)",
    f'![x](x "onerror={RUN}")',
    f"`<img src=x onerror={RUN}>`",
    f"```html\n<script>{RUN}</script>\n```",
    f"# <img src=x onerror={RUN}>\n- <script>{RUN}</script>",
    f"> **<svg onload={RUN}>** _[a](javascript:{RUN})_",
    f"{{{{constructor.constructor('{RUN}')()}}}} ${{{RUN}}} #{{{RUN}}}",
    f"\u202e<script>{RUN}</script>\u2028onerror={RUN}",
)
FOREIGN = (
    "#app script, #app iframe, #app img, #app object, #app embed, #app meta, #app base, #app link, #app video, #app form[action]"
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with one memory, session, app and topic per XSS payload."""
    with process(tmp_path_factory.mktemp("hostile")) as server:
        with httpx.Client(base_url=server.url, timeout=30) as client:
            for number, payload in enumerate(PAYLOADS):
                _plant(client, number, payload)
        yield server.url


def _plant(client: httpx.Client, number: int, payload: str) -> None:
    line = " ".join(payload.split())
    memory = {"text": payload, "key": line, "topic": line, "tags": [line], "metadata": {line: payload}, "user": "ana"}
    kept = client.post("/v1/memories", json=memory)
    assert kept.status_code == 201, kept.text
    changed = client.patch(f"/v1/memories/{kept.json()['id']}", json={"text": f"{number} {payload}", "reason": payload})
    assert changed.status_code == 200, changed.text
    for role in ("user", "assistant", line):
        said = {"role": role, "text": payload, "speaker": line, "user": "ana"}
        assert client.post(f"/v1/sessions/hostile-{number}/messages", json=said).status_code == 201
    assert client.post("/apps", json={"appId": line, "name": line, "sharesWith": [line]}).status_code == 201
    begun = client.post("/v1/sessions", json={"id": line, "user": line, "app": line, "agent": line})
    assert begun.status_code == 201, begun.text
    assert client.post("/v1/memories", json={"text": payload, "user": line}).status_code == 201


@pytest.fixture
def ana(browser: Any, url: str) -> Iterator[Visitor]:
    visitor = visit(browser, url)
    yield visitor
    visitor.context.close()
    assert not visitor.faults
    assert visitor.hosts <= {url.removeprefix("http://")}


def assert_nothing_ran(visitor: Visitor, where: str) -> None:
    """Assert that no payload ran, and that none became an element, a handler or an unsafe link."""
    page = visitor.page
    assert page.evaluate("window.__ran") is None, where
    assert page.locator(FOREIGN).count() == 0, where
    handlers = "(all) => all.filter((e) => [...e.attributes].some((a) => a.name.startsWith('on') || a.name === 'srcdoc')).length"
    assert page.eval_on_selector_all("#app *, dialog *", handlers) == 0, where
    addresses = page.eval_on_selector_all("a[href]", "(all) => all.map((a) => a.protocol)")
    assert set(addresses) <= {"http:", "https:", "mailto:"}, where
    assert not visitor.faults, where


def test_there_are_forty_payloads() -> None:
    assert len(set(PAYLOADS)) == 40


@pytest.mark.long
def test_no_view_executes_payloads_that_it_lists(ana: Visitor) -> None:
    for name in VIEWS:
        ana.go(name)
        ana.page.mouse.wheel(0, 20_000)
        ana.page.wait_for_timeout(250)
        assert_nothing_ran(ana, name)


@pytest.mark.long
def test_no_page_of_a_memory_executes_payloads_in_any_field(ana: Visitor, url: str, sample: Sample) -> None:
    for memory in sample.of(httpx.get(f"{url}/v1/memories", params={"user": "ana", "limit": "500"}).json()["items"], every=4):
        ana.go(f"memories/{memory['id']}")
        ana.see(".memory-page code", has_text=memory["id"])
        assert ana.page.locator(".memory-full").text_content() == memory["text"]
        assert_nothing_ran(ana, memory["text"])


@pytest.mark.long
def test_no_form_executes_payloads_that_it_edits(ana: Visitor, url: str, sample: Sample) -> None:
    for memory in sample.of(httpx.get(f"{url}/v1/memories", params={"user": "ana", "limit": "10"}).json()["items"], every=2):
        ana.go(f"memories/{memory['id']}")
        ana.see(".memory-page code", has_text=memory["id"])
        ana.click("[data-action=edit]")
        assert ana.see(".edit-form textarea").input_value() == memory["text"]
        assert_nothing_ran(ana, memory["text"])


@pytest.mark.long
def test_no_topic_page_or_preview_executes_payloads(ana: Visitor, url: str, sample: Sample) -> None:
    for topic in sample.of(httpx.get(f"{url}/v1/topics", params={"user": "ana"}).json()["items"], every=4, start=1):
        ana.go(f"topics/{quote(topic['topic'], safe='')}")
        ana.see(".topic .prose, .problem")
        assert_nothing_ran(ana, topic["topic"])
        if "/" in topic["topic"]:  # cannot be part of a URL hash, so it has no page
            continue
        ana.click("[data-action=edit]")
        ana.see(".preview")
        assert_nothing_ran(ana, topic["topic"])


@pytest.mark.long
def test_no_conversation_executes_payloads_in_messages_or_speakers(ana: Visitor, sample: Sample) -> None:
    for number in sample.of(range(len(PAYLOADS)), every=4, start=2):
        ana.go(f"sessions/hostile-{number}")
        ana.see(".message .said")
        assert_nothing_ran(ana, PAYLOADS[number])


@pytest.mark.long
def test_no_search_executes_payloads_that_it_finds(ana: Visitor) -> None:
    ana.go("memories?q=script")
    ana.see(".hit-row, .hit")
    for why in ana.page.locator(".why summary").all():
        why.click()
    assert_nothing_ran(ana, "search")


@pytest.mark.long
def test_no_payload_in_the_name_of_a_user_app_or_agent_is_executed(ana: Visitor, sample: Sample) -> None:
    ana.go("memories")
    for payload in sample.of(PAYLOADS, every=4, start=3):
        line = " ".join(payload.split())
        ana.click(".side .scope")
        ana.see("dialog .suggestion")
        assert_nothing_ran(ana, payload)
        ana.see("dialog input >> nth=0").fill(line)
        ana.click("dialog button[type=submit]")
        ana.see(".side .scope span", has_text=line)
        ana.see(".memory-row")
        assert_nothing_ran(ana, payload)


@pytest.mark.long
def test_no_chat_turn_executes_payloads_in_its_text_or_hits(ana: Visitor) -> None:
    ana.go("chat")
    for count, payload in enumerate(PAYLOADS[::8], 1):
        ana.say(" ".join(payload.split()))
        ana.page.wait_for_function(f"() => document.querySelectorAll('.no-model').length === {count}")
    ana.see(".aside .hit")
    assert_nothing_ran(ana, "chat")


@pytest.mark.long
def test_hostile_markdown_is_parsed_in_linear_time(ana: Visitor) -> None:
    ana.go("topics/Slow?edit=1")
    source = ana.see("textarea.markdown-source")
    for piece in ("**a ", "[a](", "`a", "> ", "- ", "_a", "![", "http://"):
        source.fill(piece * 12_000)
    assert ana.page.evaluate("performance.now()") < 60_000
