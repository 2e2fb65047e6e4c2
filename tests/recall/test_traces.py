"""Traces: how each context block was built. They are kept for a while and erased with the data."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from holdfast import Agent, Engine, Memory, Trace
from holdfast.errors import NotFound
from holdfast.protocols import TraceFilter
from holdfast.recall.traces.search_log import SearchLog, noting, step
from holdfast.services import services
from holdfast.testing import FrozenClock, ScriptedChat

BOTH = pytest.mark.everywhere("sqlite", "postgres")
OpenMemory = Callable[..., Engine]
FilesWith = Callable[[str | bytes], list[str]]
QUESTION = "Where does the pangolin live?"


def _outcomes(trace: Trace) -> dict[str, str]:
    return {each.id: each.outcome for each in trace.candidates}


def _stored(memory: Engine) -> list[str]:
    """Write pending traces, as background work does, and return the questions of all traces."""
    memory.drain()
    return [trace.question for trace in services(memory).store.traces(TraceFilter())]


def _some(memory: Engine) -> list[Memory]:
    texts = ["The pangolin lives in Xanadu.", "The pangolin is called Quincy.", "Ana prefers green tea."]
    return [memory.remember(text, user="ana") for text in texts]


@BOTH
def test_a_trace_says_what_went_in_what_stayed_out_and_why(memory: Engine) -> None:
    lives, called, tea = _some(memory)
    pinned = memory.remember("Ana is 41.", user="ana", pinned=True)
    context = memory.context(QUESTION, user="ana", max_tokens=105)
    assert context.trace is not None
    trace = memory.trace(context.trace)
    assert (trace.question, trace.scope.user, trace.tokens, trace.max_tokens) == (QUESTION, "ana", context.tokens, 105)
    assert {each.id for each in trace.candidates if each.outcome == "shown"} == {hit.id for hit in context.hits}
    by_id = {each.id: each for each in trace.candidates}
    assert (by_id[lives.id].rank, by_id[lives.id].outcome) == (1, "shown")
    assert {reason.arm for reason in by_id[lives.id].why} == {"meaning", "text"}
    assert by_id[pinned.id].outcome == "shown"
    assert by_id[called.id].outcome == "budget"
    assert by_id[tea.id].outcome == "floor"
    assert (by_id[tea.id].margin or 0) < 0
    assert trace.found == 4
    assert trace.arms["meaning"] >= 3
    assert trace.milliseconds > 0
    assert {"models", "search"} <= set(trace.steps)


def test_a_duplicate_names_the_better_hit_and_a_covered_message_its_reason(memory: Engine) -> None:
    with memory.session(user="ana") as session:
        said = session.add("user", "I live in Xanadu.")
    memory.drain()
    first = memory.memories(user="ana")[0]
    copy = memory.remember(first.text, user="ana", kind="note") if "note" in {k.name for k in memory.preset.kinds} else None
    trace = memory.trace(memory.context("Where in Xanadu do I live?", user="ana").trace or "")
    outcomes = _outcomes(trace)
    assert outcomes[first.id] == "shown"
    assert outcomes[said.id] == "covered"
    assert copy is None or outcomes[copy.id] == "duplicate"


def test_the_chat_of_an_agent_is_traced_with_its_message(memory: Engine) -> None:
    _some(memory)
    agent = Agent(memory, user="ana", chat=ScriptedChat("In Xanadu."))
    answer = agent.reply(QUESTION)
    trace = memory.trace(answer.context.trace or "")
    assert (trace.session, trace.message) == (agent.session.id, answer.message_id)
    assert memory.traces(session=agent.session.id) == [trace]


def test_writing_a_trace_happens_in_the_background(memory: Engine) -> None:
    _some(memory)
    store = services(memory).store
    memory.context(QUESTION, user="ana")
    assert store.traces(TraceFilter()) == []
    services(memory).scheduler.flush()
    assert len(store.traces(TraceFilter())) == 1


def test_a_store_that_cannot_be_written_costs_the_trace_and_not_the_reply(
    memory: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    _some(memory)
    store = services(memory).store
    with store.write() as tx:
        tx.connection.execute("ALTER TABLE traces RENAME TO gone")  # type: ignore[attr-defined]
    context = memory.context(QUESTION, user="ana")
    assert "Xanadu" in context.text
    services(memory).scheduler.flush()
    assert "could not be written" in caplog.text


def test_with_zero_days_no_trace_is_kept_and_existing_ones_are_removed(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.context(QUESTION, user="ana")
    assert _stored(memory) == [QUESTION]
    memory.close()
    off = open_memory(settings={"trace_days": 0})
    assert off.context(QUESTION, user="ana").trace is None
    assert _stored(off) == []


def test_old_and_surplus_traces_are_purged(open_memory: OpenMemory, clock: FrozenClock) -> None:
    memory = open_memory(settings={"trace_days": 2, "max_traces": 3})
    for number in range(5):
        memory.context(f"Question {number}?", user="ana")
        clock.advance(timedelta(minutes=1))
    assert _stored(memory) == ["Question 4?", "Question 3?", "Question 2?"]
    clock.advance(timedelta(days=2))
    memory.drain()
    assert _stored(memory) == []


@BOTH
@pytest.mark.ledger("X21")
@pytest.mark.parametrize(
    "text", ["Don't save this: is Quxzel mine?", "Off the record, who is Quxzel?", "No guardes esto: ¿quién es Quxzel?"]
)
def test_a_withheld_question_leaves_no_trace_through_any_interface(memory: Engine, text: str) -> None:
    _some(memory)
    agent = Agent(memory, user="ana", chat=ScriptedChat("I do not know."))
    assert agent.reply(text).context.trace is None
    memory.session(user="ana").context(text)  # as a coding agent's hook does, before the message is added
    memory.context(text, user="ana")
    assert memory.session(user="ana", off_record=True).context("Who is Quxzel?").trace is None
    assert _stored(memory) == []


@BOTH
@pytest.mark.ledger("X21")
def test_withholding_the_previous_message_takes_its_trace_along(memory: Engine) -> None:
    session = memory.session(user="ana")
    for flushed in (True, False):
        session.add("user", "Does my knee hurt since the Zorblat run?")
        session.context()
        session.context("My knee and the Zorblat run?")
        if flushed:
            assert len(_stored(memory)) == 2
        session.add("user", "Please don't keep what I just said.")
        assert not [question for question in _stored(memory) if "Zorblat" in question and "knee hurt" in question]
        assert _stored(memory) == [] or not flushed


@BOTH
@pytest.mark.ledger("X5")
def test_erasing_a_user_a_session_a_memory_or_a_message_removes_the_traces(memory: Engine, files_with: FilesWith) -> None:
    lives, *_ = _some(memory)
    said: dict[str, str] = {}
    for user in ("ana", "bob"):
        session = memory.session(id=f"ses_{user}", user=user)
        said[user] = session.add("user", f"Where is the Zugzwang of {user}?").id
        session.context()
        memory.context(f"The Zugzwang of {user}, again?", user=user)
    memory.context("Is it true that the pangolin lives in Xanadu.", user="bob")
    assert len(_stored(memory)) == 5
    memory.erase(id=lives.id)
    assert _stored(memory) == ["The Zugzwang of bob, again?", "Where is the Zugzwang of bob?"]
    memory.erase(source=said["bob"])  # the other trace lists this message
    assert _stored(memory) == []
    memory.context("The Zugzwang of bob, again?", user="bob")
    assert _stored(memory) == ["The Zugzwang of bob, again?"]
    memory.context("The Zugzwang of ana, last time?", user="ana")  # not written yet
    receipt = memory.erase(user="ana")
    assert _stored(memory) == ["The Zugzwang of bob, again?"]
    assert (receipt.status, receipt.verified) == ("erased", True)
    assert files_with("Zugzwang of ana") == []
    memory.erase(user="bob")
    assert files_with("Zugzwang") == []


def test_an_erasure_by_another_process_drops_what_is_not_written_yet(open_memory: OpenMemory, files_with: FilesWith) -> None:
    memory, other = open_memory(), open_memory()
    memory.session(user="ana").add("user", "I like tea.")
    memory.context("The Zugzwang of ana?", user="ana")
    other.erase(user="ana")
    assert _stored(memory) == []
    assert files_with("Zugzwang") == []


def test_secrets_in_a_question_are_redacted(memory: Engine) -> None:
    memory.context("Is my password hunter2Quxzel9 still right?", user="ana")
    assert "hunter2Quxzel9" not in _stored(memory)[0]


def test_a_trace_holds_no_text_of_memories(memory: Engine) -> None:
    _some(memory)
    memory.context("Who is there?", user="ana")
    memory.drain()
    rows = services(memory).store.traces(TraceFilter())
    assert "Xanadu" not in repr(rows)


def test_an_unknown_trace_is_not_found(memory: Engine) -> None:
    with pytest.raises(NotFound, match="There is no trace trc_x"):
        memory.trace("trc_x")


@BOTH
def test_explain_says_what_kept_a_memory_out(memory: Engine, clock: FrozenClock) -> None:
    lives, called, tea = _some(memory)
    explained = memory.explain(lives.id, QUESTION)
    assert (explained.outcome, explained.candidate.rank) == ("shown", 1)
    assert memory.explain(called.id, QUESTION, max_tokens=60).outcome == "budget"
    assert memory.explain(tea.id, QUESTION).outcome == "floor"
    assert memory.explain(lives.id, QUESTION, user="bob").outcome == "scope"
    memory.forget(called.id)
    assert memory.explain(called.id, QUESTION).outcome == "retired"
    web = memory.remember("The pangolin lives in Ruritania.", user="ana", trust=0.2)
    assert memory.explain(web.id, QUESTION).outcome == "origin"
    unindexed = memory.remember("The pangolin lives in Lyon.", user="ana", index=False)
    assert memory.explain(unindexed.id, QUESTION).outcome == "unindexed"
    short = memory.remember("The pangolin lives here today.", user="ana", expires_at=clock.now() + timedelta(hours=1))
    clock.advance(timedelta(hours=2))
    assert memory.explain(short.id, QUESTION).outcome == "retired"
    memory.drain()
    assert memory.traces() == []  # nothing of it is kept, and nothing counts as used
    assert memory.get(lives.id).last_used_at is None
    with pytest.raises(NotFound):
        memory.explain("mem_absent", QUESTION)


def test_explain_says_that_a_memory_is_out_of_scope_even_if_the_preset_lists_memories_without_a_search(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory(preset="rumi")
    tea = memory.remember("prefers green tea", user="ana")
    assert memory.explain(tea.id, "tea").outcome == "shown"
    assert memory.explain(tea.id, "tea", user="bob").outcome == "scope"


def test_explain_finds_the_rank_of_a_memory_that_no_recall_finds(memory: Engine) -> None:
    far = memory.remember("Ana keeps bees.", user="ana")
    for number in range(150):
        memory.remember(f"The pangolin number {number} lives in Xanadu street {number}.", user="ana")
    memory.drain()
    explained = memory.explain(far.id, QUESTION)
    assert explained.outcome in ("not_found", "limit")
    assert (explained.candidate.rank or 0) > 30


def test_the_steps_of_a_search_take_no_longer_than_the_search() -> None:
    log = SearchLog()
    with noting(log):
        for _ in range(2):
            with step("models"):
                pass
    assert 0 < log.steps["models"] <= log.elapsed
