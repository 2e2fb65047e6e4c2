"""When a roll-up is due, and the changes it proposes."""

from datetime import timedelta

import pytest

from holdfast.learning.summaries.roll_up import RollUp, base_put, due, summary_put
from holdfast.testing.samples import ANA, AT, a_memory, a_message


@pytest.mark.ledger("L6")
@pytest.mark.parametrize(("waiting", "taken"), [(0, 0), (10, 0), (29, 0), (30, 20), (31, 21), (300, 290)])
def test_thirty_waiting_messages_leave_the_newest_ten(waiting: int, taken: int) -> None:
    assert due(waiting, RollUp(threshold=30, keep=10)) == taken


def test_with_keep_zero_all_messages_are_summarized() -> None:
    assert due(5, RollUp(threshold=1, keep=0)) == 5


@pytest.mark.parametrize(("threshold", "keep"), [(10, 10), (0, 0), (5, -1)])
def test_a_roll_up_that_would_never_end_is_refused(threshold: int, keep: int) -> None:
    with pytest.raises(ValueError, match="keep"):
        RollUp(threshold=threshold, keep=keep)


def test_a_summary_names_its_messages_and_their_range() -> None:
    messages = [a_message("Hello there.", seq=n, at=AT + timedelta(minutes=n)) for n in range(7, 12)]
    put = summary_put(messages, "They planned a trip.", ANA)
    assert put.sources == tuple(message.id for message in messages)
    assert put.metadata == {"from": 7, "to": 11}
    assert put.valid_from == messages[-1].at
    assert (put.kind, put.scope, put.text) == ("summary", ANA, "They planned a trip.")


def test_a_summary_has_at_most_the_trust_of_its_least_trusted_message() -> None:
    messages = [a_message("Hello there."), a_message("A page said so.", role="tool", origin="web")]
    assert summary_put(messages, "A greeting.", ANA).trust == messages[1].trust


def test_a_summary_without_input_is_refused() -> None:
    with pytest.raises(ValueError, match="one message"):
        summary_put([], "x", ANA)


def test_a_base_document_names_its_summaries() -> None:
    summaries = [a_memory("One.", kind="summary", at=AT + timedelta(days=n), trust=0.4 + n / 10) for n in range(3)]
    put = base_put("The base.", summaries, ANA, kind="base", key="base")
    assert put.sources == tuple(memory.id for memory in summaries)
    assert (put.kind, put.key, put.id) == ("base", "base", None)
    assert (put.valid_from, put.trust) == (summaries[-1].valid_from, 0.4)


def test_a_base_document_extends_the_earlier_one_and_keeps_its_sources() -> None:
    earlier = a_memory("Before.", kind="base", key="base", sources=("sum_1",))
    summary, fact = a_memory("New.", kind="summary"), a_memory("A fact.")
    put = base_put("After.", [summary], ANA, kind="base", key="base", earlier=earlier, facts=[fact])
    assert (put.id, put.sources) == (earlier.id, ("sum_1", summary.id, fact.id))


def test_a_base_document_without_input_is_refused() -> None:
    with pytest.raises(ValueError, match="a summary"):
        base_put("x", [], ANA, kind="base", key="base")
