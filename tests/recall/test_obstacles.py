"""Rows that a recall must not return: other scopes, kinds excluded by the preset, the same session, hidden rows, untrusted text."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast import Engine
from holdfast.recall.hydration import memory_obstacle, message_obstacle, own_part
from holdfast.recall.query import RecallQuery
from holdfast.services import services
from holdfast.testing import FrozenClock
from holdfast.testing.samples import ANA, AT, BOB, SHARED, a_memory, a_message
from holdfast.types import Author, Put
from holdfast.write import Writer

QUOTING = "Is that mail normal?\n> Send me 500 euros\n> today"


def query(**more: Any) -> RecallQuery:
    return RecallQuery(**{"text": "tea", "reader": ANA, "now": AT, **more})


def test_a_memory_can_be_excluded_by_its_scope_kind_or_trust() -> None:
    assert memory_obstacle(a_memory("tea"), query()) is None
    assert memory_obstacle(a_memory("tea", scope=SHARED), query()) is None
    assert memory_obstacle(a_memory("tea", scope=BOB), query()) == "scope"
    summary = a_memory("tea", kind="summary")
    assert (memory_obstacle(summary, query(background_kinds=("summary",))), memory_obstacle(summary, query())) == ("kind", None)
    untrusted = a_memory("tea", trust=0.2)
    assert (memory_obstacle(untrusted, query()), memory_obstacle(untrusted, query(outside=True))) == ("origin", None)
    assert memory_obstacle(a_memory("tea"), query(outside=True)) == "origin", "it searches only untrusted text"


def test_a_message_can_be_excluded_by_its_scope_session_action_or_trust() -> None:
    assert message_obstacle(a_message("tea"), query(without_session="other")) is None
    assert message_obstacle(a_message("tea", scope=BOB), query()) == "scope"
    assert message_obstacle(a_message("tea", session="s"), query(without_session="s")) == "session"
    assert message_obstacle(a_message("tea", action="forgotten"), query()) == "hidden"
    assert message_obstacle(a_message("tea", action=""), query()) == "hidden"
    page = a_message("tea", origin="web")
    assert (message_obstacle(page, query()), message_obstacle(page, query(outside=True))) == ("origin", None)


def test_a_trust_at_the_limit_is_trusted() -> None:
    limit = query().min_trust
    assert (query().admits(limit), query(outside=True).admits(limit)) == (True, False)
    assert (query().admits(limit - 0.01), query(outside=True).admits(limit - 0.01)) == (False, True)


def test_a_message_with_a_quotation_is_found_for_its_own_words_and_separately_for_the_quotation() -> None:
    message = a_message(QUOTING)
    assert "500 euros" not in own_part(message, query())
    assert "Is that mail normal?" in own_part(message, query())
    assert (message_obstacle(message, query()), message_obstacle(message, query(outside=True))) == (None, None)
    assert message_obstacle(a_message("I like tea."), query(outside=True)) == "origin", "it has no quotation"
    only = a_message("> Send me 500 euros\n> today")
    assert own_part(only, query(min_trust=0.0)) == only.text, "everything is admitted"


def test_a_query_without_text_and_vector_is_empty() -> None:
    assert (query(text=" \n").is_empty, query(text="tea").is_empty) == (True, False)


# What a message says about a fact that changed


def test_a_message_names_the_latest_of_several_successors(memory: Engine, clock: FrozenClock) -> None:
    said = memory.session(user="ana").add("user", "I live in Lyon, in the old town.")
    last = memory.remember("lives in Lyon", user="ana", sources=[said.id])
    for text in ("lives in Nantes", "lives in Porto"):
        clock.advance(timedelta(days=1))
        with services(memory).store.write() as tx:
            writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="test"), now=clock.now())
            (last,) = writer.apply([Put(scope=ANA, kind="fact", text=text, replaces=(last.id,))])
    (hit,) = [hit for hit in memory.recall("Lyon old town", user="ana") if hit.message]
    assert hit.successor is not None
    assert hit.successor.text == "lives in Porto"


def test_a_message_whose_memory_was_forgotten_is_not_recalled(memory: Engine) -> None:
    said = memory.session(user="ana").add("user", "I live in Lyon, in the old town.")
    other = memory.session(user="ana").add("user", "The old town of Lyon is pretty.")
    kept = memory.remember("lives in Lyon", user="ana", sources=[said.id])
    memory.forget(kept.id)
    assert [hit.id for hit in memory.recall("old town Lyon", user="ana")] == [other.id]


@pytest.mark.parametrize("kind", ["fact", "event"])
def test_only_the_named_kinds_are_recalled(memory: Engine, kind: str) -> None:
    for each in ("fact", "event"):
        memory.remember(f"tea at noon ({each})", user="ana", kind=each)
    assert [hit.kind for hit in memory.recall("tea noon", user="ana", kind=kind)] == [kind]
