"""Text from tools and web pages keeps its origin and gets less trust."""

from typing import Any

import pytest

from holdfast import Engine, Scope
from holdfast.errors import InvalidInput
from holdfast.services import services
from holdfast.types import Author, Memory, Put
from holdfast.write import Writer


@pytest.mark.ledger("X7", "X4")
def test_a_memory_is_trusted_no_further_than_the_least_of_its_sources(memory: Engine) -> None:
    talk = memory.session(user="ana")
    said = talk.add("user", "The ferry leaves at nine.")
    page = talk.add("tool", "ferry timetable: 9:00", origin="web")
    assert memory.remember("the ferry leaves at nine", user="ana", sources=[said.id]).trust == 1.0
    derived = memory.remember("the ferry leaves at 9:00 sharp", user="ana", sources=[said.id, page.id])
    assert derived.trust == page.trust
    assert memory.remember("catch the nine o'clock ferry", user="ana", sources=[derived.id]).trust == page.trust


@pytest.mark.ledger("X7")
def test_a_change_affects_only_memories_that_its_author_was_shown(memory: Engine) -> None:
    kept = memory.remember("prefers tea", user="ana")
    author = Author(actor="policy")
    change = Put(id=kept.id, scope=kept.scope, kind="fact", text="prefers gin")
    with pytest.raises(InvalidInput), services(memory).store.write() as tx:
        Writer(tx=tx, preset=memory.preset, author=author, now=services(memory).clock.now()).apply([change], shown=())
    assert memory.get(kept.id).text == "prefers tea"


@pytest.mark.ledger("X7")
def test_a_change_cannot_move_a_memory_into_another_scope(memory: Engine) -> None:
    kept = memory.remember("prefers tea", user="ana")
    change = Put(id=kept.id, scope=Scope(user="ben"), kind="fact", text="prefers gin")
    with pytest.raises(InvalidInput), services(memory).store.write() as tx:
        Writer(tx=tx, preset=memory.preset, author=Author(actor="policy"), now=services(memory).clock.now()).apply([change])
    assert memory.memories(user="ben") == []


@pytest.mark.ledger("X7")
def test_revoking_a_source_removes_everything_derived_from_it(memory: Engine) -> None:
    page = memory.session(user="ana").add("tool", "the ferry leaves at ten", origin="web")
    first = memory.remember("the ferry leaves at ten", user="ana", sources=[page.id])
    memory.remember("be at the harbour before ten", user="ana", sources=[first.id])
    own = memory.remember("hates being late", user="ana")
    receipt = memory.erase(source=page.id)
    assert (receipt.memories, receipt.messages) == (2, 1)
    assert [left.id for left in memory.memories(user="ana")] == [own.id]


@pytest.mark.ledger("X7")
def test_a_revision_does_not_raise_the_trust(memory: Engine) -> None:
    page = memory.session(user="ana").add("tool", "the ferry leaves at ten", origin="web")
    derived = memory.remember("the ferry leaves at ten", user="ana", sources=[page.id])
    revised = memory.revise(derived.id, "the ferry leaves at eleven")
    assert revised.trust == memory.get(derived.id).trust == page.trust < 1


@pytest.mark.ledger("X7")
def test_a_retired_source_still_limits_the_trust(memory: Engine) -> None:
    page = memory.session(user="ana").add("tool", "the ferry leaves at ten", origin="web")
    derived = memory.remember("the ferry leaves at ten", user="ana", sources=[page.id])
    memory.forget(derived.id)
    assert memory.remember("be there before ten", user="ana", sources=[derived.id]).trust == page.trust


def _apply(memory: Engine, change: Put, **options: Any) -> Memory:
    with services(memory).store.write() as tx:
        writer = Writer(tx=tx, preset=memory.preset, author=Author(actor="policy"), now=services(memory).clock.now())
        return writer.apply([change], **options)[0]


def test_a_pinned_memory_is_never_superseded_by_a_change_that_replaces_it(memory: Engine) -> None:
    pinned = memory.remember("prefers tea", user="ana", pinned=True)
    loose = memory.remember("prefers mint", user="ana")
    new = _apply(memory, Put(scope=pinned.scope, kind="fact", text="prefers gin", replaces=(pinned.id, loose.id)))
    assert (memory.get(pinned.id).status, memory.get(loose.id).status) == ("live", "superseded")
    again = _apply(memory, Put(scope=pinned.scope, kind="fact", text="prefers gin", replaces=(pinned.id,)))
    assert (again.id, memory.get(pinned.id).status) == (new.id, "live")


@pytest.mark.ledger("X7")
def test_a_change_replaces_only_memories_that_its_author_was_shown(memory: Engine) -> None:
    kept, shown = memory.remember("prefers tea", user="ana"), memory.remember("prefers mint", user="ana")
    change = Put(scope=kept.scope, kind="fact", text="prefers gin", replaces=(shown.id, kept.id))
    with pytest.raises(InvalidInput, match=kept.id):
        _apply(memory, change, shown=[shown.id])
    assert {found.text for found in memory.memories(user="ana")} == {"prefers tea", "prefers mint"}
    _apply(memory, change, shown=[shown.id, kept.id])
    assert [found.text for found in memory.memories(user="ana")] == ["prefers gin"]
