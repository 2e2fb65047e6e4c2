"""The ``traces`` commands."""

import pytest

from tests.cli.support import Holdfast

pytestmark = pytest.mark.ledger("X37")


def test_a_context_block_leaves_a_trace_that_says_what_was_in_it(holdfast: Holdfast) -> None:
    holdfast("remember", "The spare key hangs behind the piano", "--user", "ana")
    holdfast("remember", "Grandfather raises bees in Galway", "--user", "ana")
    holdfast("context", "where does the spare key hang?", "--user", "ana")

    (found,) = holdfast.json("traces", "list", "--user", "ana")

    assert found["question"] == "where does the spare key hang?"
    shown = holdfast.json("traces", "show", found["id"])
    assert (
        next(each for each in shown["candidates"] if each["outcome"] == "shown")["text"] == "The spare key hangs behind the piano"
    )
    text = holdfast("traces", "show", found["id"]).stdout
    assert "In the block: 1 item" in text
    assert "behind the piano" in text.split("Left out")[0]


def test_traces_of_others_are_not_listed(holdfast: Holdfast) -> None:
    holdfast("remember", "The spare key hangs behind the piano", "--user", "ana")
    holdfast("context", "where is the key?", "--user", "ana")
    assert holdfast.json("traces", "list", "--user", "bob") == []


def test_why_not_says_what_keeps_a_memory_out(holdfast: Holdfast) -> None:
    kept = holdfast.json("remember", "The spare key hangs behind the piano", "--user", "ana")
    id = kept["id"] if "id" in kept else kept["memory"]["id"]
    question = "where does the spare key hang?"

    assert "shown: in the block" in holdfast("traces", "why-not", id, question, "--user", "ana").stdout
    assert "scope: belongs to another user" in holdfast("traces", "why-not", id, question, "--user", "bob").stdout
    holdfast("forget", id)
    assert "retired: superseded, forgotten or expired" in holdfast("traces", "why-not", id, question).stdout
    assert holdfast.json("traces", "list") == []


def test_an_unknown_trace_or_memory_is_a_clear_error(holdfast: Holdfast) -> None:
    assert holdfast.error("traces", "show", "trc_nothing")["code"] == "not_found"
    assert holdfast.error("traces", "why-not", "mem_nothing", "tea")["code"] == "not_found"
    assert "holdfast context" in holdfast("traces", "list").stderr
