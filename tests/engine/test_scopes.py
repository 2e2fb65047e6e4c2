"""Visibility: a reader sees a row if and only if each part of the row's scope is missing or equals the reader's part."""

import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import Engine, Scope
from holdfast.testing import FrozenClock, HashEmbedder

PARTS = (None, "one", "two")
SCOPES = [Scope(app=app, user=user, agent=agent) for app, user, agent in product(PARTS, repeat=3)]


def named(scope: Scope) -> dict[str, Any]:
    return {"app": scope.app, "user": scope.user, "agent": scope.agent}


@pytest.fixture(scope="module")
def everywhere() -> Iterator[Engine]:
    """An engine with a memory and a message in each of 27 scopes: app, user and agent are each missing, "one" or "two"."""
    with tempfile.TemporaryDirectory() as folder:
        memory = holdfast.open(Path(folder) / "memory.db", worker="none", embedder=HashEmbedder(), clock=FrozenClock())
        for number, scope in enumerate(SCOPES):
            memory.remember(f"memory parrot number{number}", pinned=number % 2 == 0, **named(scope))
            memory.session(**named(scope)).add("user", f"message parrot number{number}")
        memory.drain()
        yield memory
        memory.close()


def visible(kind: str, reader: Scope) -> set[str]:
    return {f"{kind} parrot number{number}" for number, owner in enumerate(SCOPES) if reader.sees(owner)}


@pytest.mark.ledger("A6", "X8")
@given(reader=st.sampled_from(SCOPES))
@settings(max_examples=27, deadline=None)
def test_a_reader_lists_exactly_what_is_shared_with_it(everywhere: Engine, reader: Scope) -> None:
    assert {m.text for m in everywhere.memories(**named(reader))} == visible("memory", reader)


@pytest.mark.ledger("A6", "X8")
@given(reader=st.sampled_from(SCOPES), query=st.sampled_from(["parrot", "memory", "number7 parrot"]))
@settings(max_examples=60, deadline=None)
def test_a_reader_recalls_nothing_but_what_is_shared_with_it(everywhere: Engine, reader: Scope, query: str) -> None:
    found = {hit.text for hit in everywhere.recall(query, limit=100, **named(reader))}
    assert found <= visible("memory", reader) | visible("message", reader)


@given(reader=st.sampled_from(SCOPES), number=st.integers(0, len(SCOPES) - 1))
@settings(max_examples=80, deadline=None)
def test_a_reader_finds_only_items_that_it_may_see(everywhere: Engine, reader: Scope, number: int) -> None:
    found = {hit.text for hit in everywhere.recall(f"number{number}", limit=100, min_score=0.3, **named(reader))}
    expected = reader.sees(SCOPES[number])
    assert (f"memory parrot number{number}" in found) is expected
    assert (f"message parrot number{number}" in found) is expected


@given(reader=st.sampled_from(SCOPES))
@settings(max_examples=27, deadline=None)
def test_a_context_block_contains_only_data_that_the_reader_may_see(everywhere: Engine, reader: Scope) -> None:
    block = everywhere.context("parrot", max_tokens=4000, **named(reader))
    assert {hit.text for hit in block.hits} <= visible("memory", reader) | visible("message", reader)


def test_a_user_sees_their_general_memories_but_not_those_of_an_app(memory: Engine) -> None:
    memory.remember("in general", user="ana")
    memory.remember("in the kitchen", user="ana", app="kitchen")
    assert {m.text for m in memory.memories(user="ana")} == {"in general"}
    assert {m.text for m in memory.memories(user="ana", app="kitchen")} == {"in general", "in the kitchen"}


def test_tenants_of_one_file_are_separate(open_memory: Callable[..., Engine]) -> None:
    ours, theirs = open_memory(), open_memory(tenant="other")
    made = theirs.remember("a parrot", user="ana")
    assert (ours.memories(user="ana"), ours.recall("parrot", user="ana")) == ([], [])
    with pytest.raises(holdfast.HoldfastError):
        ours.get(made.id)
    with pytest.raises(holdfast.NotFound):
        ours.forget(made.id)
    assert ours.erase(user="ana").memories == 0
    assert theirs.memories(user="ana") == [made]


def test_user_names_are_used_without_invisible_characters(memory: Engine) -> None:
    odd = " an\u200ba\n"
    memory.remember("prefers tea", user=odd)
    memory.session(user=odd).add("user", "hello there")
    assert [m.text for m in memory.memories(user="ana")] == ["prefers tea"]
    assert len(memory.sessions(user=odd)) == 1
    assert memory.erase(user=odd).memories == 1
    assert memory.memories(user="ana") == []
