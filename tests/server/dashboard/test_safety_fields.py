"""Hostile text in fields that no HTTP request can set: kinds, job errors, tenants, model names, session metadata, and receipts.

Such text comes from models, other programs' files and older versions. The tests write it directly to the store.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from holdfast.forgetting.records import Registry
from holdfast.protocols import Store
from holdfast.services import services
from holdfast.testing.samples import AT, a_change, a_job, a_memory, a_message, a_session
from holdfast.types import Author, Scope, Spend
from tests.server.dashboard.support import VIEWS, Visitor, visit
from tests.server.dashboard.test_safety import RUN, assert_nothing_ran
from tests.server.http_support import Served, serving

pytestmark = [pytest.mark.ledger("X12"), pytest.mark.timeout(280), pytest.mark.long]

HOSTILE = (
    f"<script>{RUN}</script>",
    f'"><img src=x onerror="{RUN}">',
    f"<svg onload={RUN}>",
    f"[click](javascript:{RUN})",
    "![x](http://203.0.113.7/pixel.png)",
    f"<a href='javascript:{RUN}' onclick={RUN}>click</a>",
    f"\u202e<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>\u202c",
)
TENANT = f"<img src=x onerror={RUN}>"
COPY = f"<img src=x onerror={RUN}>.db"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("fields")
    with serving(folder, tenant=TENANT) as found:
        store = services(found.pool.operator).store
        for number, text in enumerate(HOSTILE):
            _plant(store, number, text)
        copy = folder / COPY
        copy.write_text("This is no store, so erasing in it fails.", "utf-8")
        Registry(store.location).add_copy(copy)
        yield found


def _plant(store: Store, number: int, text: str) -> None:
    """Store the text in every field of every record."""
    person, at = f"{number} {text}", AT
    with store.write() as tx:
        for user in ("ana", person):
            scope = Scope(tenant=TENANT, user=user, app=text, agent=text)
            for owner in (scope, Scope(tenant=TENANT, user=user)):
                names: dict[str, Any] = {"key": text, "topic": text, "tags": (text,), "namespace": (text,), "reason": text}
                stored = tx.add_revision(
                    a_memory(f"{text} {owner.app}", scope=owner, kind=text, metadata={text: {text: [text]}}, **names)
                )
                author = Author(actor=text, model=text, prompt=text, job=text)
                tx.add_change(a_change(stored, batch=f"bat_{stored.id}", reason=text, author=author))
            session = a_session(
                f"{number}-{user[:3]}", scope=Scope(tenant=TENANT, user=user), metadata={"title": text, text: text}
            )
            tx.add_session(session)
            said = a_message(text, scope=session.scope, session=session.id, speaker=text, payload={text: text})
            tx.add_message(said)
        for state in ("dead", "queued"):
            job = a_job(f"{state} {number}", kind=text, payload={"user": text, text: text}, at=at)
            tx.add_job(replace(job, state=state, error=text, worker=text, attempt=3))
        tx.add_spend(
            Spend(day=f"{at:%Y-%m-%d}", purpose=text, model=text, calls=1, input_tokens=1, output_tokens=1, seconds=1.0, cost=0.1)
        )


@pytest.fixture
def ana(browser: Any, served: Served) -> Iterator[Visitor]:
    visitor = visit(browser, served.url)
    yield visitor
    visitor.context.close()
    assert not visitor.faults
    assert visitor.hosts <= {served.url.removeprefix("http://")}


def test_no_view_executes_payloads_from_the_store(ana: Visitor) -> None:
    for name in VIEWS:
        ana.go(name)
        ana.page.wait_for_timeout(100)
        assert_nothing_ran(ana, name)


def test_errors_workers_and_payloads_of_jobs_are_shown_as_text(ana: Visitor) -> None:
    ana.go("jobs?state=dead")
    ana.see(".job-error")
    for summary in ana.page.locator(".job details summary").all():
        summary.click()
    shown = ana.page.locator(".job-error span").all_text_contents()
    assert set(HOSTILE) <= set(shown)
    assert_nothing_ran(ana, "jobs")


def test_the_tenant_is_shown_as_text(ana: Visitor) -> None:
    ana.go("settings")
    ana.see("dd", has_text=TENANT)
    assert_nothing_ran(ana, "settings")


def test_every_field_of_a_memory_and_of_its_history_is_shown_as_text(ana: Visitor, served: Served) -> None:
    found = served.client.get("/v1/memories", params={"user": "ana", "limit": 50}).json()["items"]
    assert found
    for memory in found:
        ana.go(f"memories/{memory['id']}")
        ana.see(".memory-page code", has_text=memory["id"])
        assert_nothing_ran(ana, memory["kind"])


def test_every_session_is_shown_as_text(ana: Visitor) -> None:
    for number, text in enumerate(HOSTILE):
        ana.go(f"sessions/{number}-ana")
        ana.see(".message .said")
        assert_nothing_ran(ana, text)


def test_a_person_and_the_receipt_of_their_erasure_are_shown_as_text(ana: Visitor, served: Served) -> None:
    for number, text in list(enumerate(HOSTILE))[1:3]:
        name = f"{number} {text}"
        ana.go(f"people/{quote(name, safe='')}")
        ana.see(".person h1", has_text=name)
        assert_nothing_ran(ana, text)
        ana.click("[data-action=erase]")
        ana.see("dialog input").fill(name)
        assert_nothing_ran(ana, text)
        ana.click("dialog button.danger")
        ana.see("dialog table.receipt", has_text=name)
        assert Path(COPY).name in str(ana.page.locator("dialog").text_content())
        assert_nothing_ran(ana, text)
        ana.page.keyboard.press("Escape")
        ana.page.locator("dialog").wait_for(state="detached")


def test_markdown_becomes_nodes_and_only_safe_addresses_links(ana: Visitor) -> None:
    ana.go("topics/Trial?edit=1")
    text = "# Head\n\n**bold** *em* `code` ~~gone~~ [web](https://example.org/a?b=1) [no](javascript:alert(1)) <b>raw</b>\n\n1. one\n2. two\n\n> said\n\n---\n\n```\n<i>\n```\n"
    ana.see("textarea.markdown-source").fill(text)
    preview = ana.see(".preview .prose")
    tags = preview.evaluate("(node) => [...node.querySelectorAll('*')].map((e) => e.localName).join(' ')")
    assert tags == "h2 p strong em code s a ol li li blockquote p hr pre code"
    assert "<b>raw</b>" in preview.inner_text()
    assert "[no](javascript:alert(1))" in preview.inner_text()
    assert preview.locator("a").get_attribute("rel") == "noopener noreferrer nofollow"


def test_the_content_security_policy_forbids_foreign_scripts(served: Served) -> None:
    policy = httpx.get(served.url).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
