"""Responses contain every value of the engine's objects."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from holdfast import types
from holdfast.agent.agent import Answer
from holdfast.agent.tools import ToolResult, ToolUse
from holdfast.chat import ToolCall, Usage
from holdfast.server.api import convert
from holdfast.testing.samples import a_job, a_memory, a_message

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCOPE = types.Scope(user="ana", app="kitchen", agent="robot")
MEMORY = a_memory("I live in Lyon", scope=SCOPE)
MESSAGE = a_message("I live in Lyon.", scope=SCOPE, asked="Where?")
_WHY = (types.Reason(arm="text", rank=2, score=0.5),)
HIT = types.Hit(memory=MEMORY, score=0.75, margin=0.5, why=_WHY, similarity=0.25, is_quoted=True)
SAID = types.Hit(message=MESSAGE, score=0.5, margin=-0.5, why=_WHY, successor=a_memory("I live in Nantes", scope=SCOPE))
CONTEXT = types.Context(
    text="<memory>", tokens=7, stable="<mem", changing="ory>", hits=(HIT,), left_out=(HIT,), notices=("slow",), trace="trc_1"
)
CONSENT = types.Consent(wish="forget", memories=(MEMORY,), messages=("msg_1",), undo="bat_1")


@pytest.mark.parametrize(
    "made", [convert.hit(HIT), convert.context(CONTEXT), convert.consent(CONSENT)], ids=lambda made: type(made).__name__
)
def test_every_field_of_a_response_is_filled_in(made: BaseModel) -> None:
    assert made.model_fields_set == set(type(made).model_fields)


def test_a_hit_has_the_values_of_the_engine() -> None:
    made, said = convert.hit(HIT), convert.hit(SAID)
    assert (made.id, made.kind, made.text, made.score, made.relevant) == (HIT.id, HIT.kind, HIT.text, 0.75, True)
    assert (made.provenance, made.asked, made.similarity, made.at) == ("quoted", None, 0.25, HIT.at)
    assert [(each.arm, each.rank, each.score) for each in made.why] == [("text", 2, 0.5)]
    assert made.memory is not None
    assert (made.memory.id, made.message, made.successor) == (MEMORY.id, None, None)
    assert (made.memory.user, made.memory.app, made.memory.agent) == ("ana", "kitchen", "robot")
    assert said.message is not None
    assert said.successor is not None
    assert (said.message.id, said.memory, said.successor.text) == (MESSAGE.id, None, "I live in Nantes")
    assert (said.relevant, said.asked, said.provenance) == (False, "Where?", "user")


def test_a_context_has_the_values_of_the_engine() -> None:
    made = convert.context(CONTEXT)
    assert (made.text, made.tokens, made.stable, made.changing) == ("<memory>", 7, "<mem", "ory>")
    assert ([len(made.hits), len(made.left_out)], made.notices, made.trace) == ([1, 1], ["slow"], "trc_1")


def test_a_reply_of_the_agent_has_its_tool_uses_ids_and_cost() -> None:
    use = ToolUse(call=ToolCall(id="1", name="recall", arguments={"query": "x"}), result=ToolResult(ok=True, text="found"))
    usage = Usage(calls=2, input_tokens=3, output_tokens=4, cost=0.5)
    made = convert.answer(
        Answer(text="hi", context=CONTEXT, tool_uses=(use,), message_id="msg_1", reply_id="msg_2", usage=usage, consent=CONSENT)
    )
    assert (made.text, made.context.text, made.message_id, made.reply_id) == ("hi", "<memory>", "msg_1", "msg_2")
    assert [(each.name, each.arguments, each.ok, each.text) for each in made.tool_uses] == [
        ("recall", {"query": "x"}, True, "found")
    ]
    assert made.consent is not None
    assert (made.consent.wish, made.consent.messages, made.consent.undo) == ("forget", ["msg_1"], "bat_1")
    assert (made.usage.calls, made.usage.input_tokens, made.usage.output_tokens, made.usage.cost) == (2, 3, 4, 0.5)


def test_a_change_has_the_values_of_its_author() -> None:
    author = types.Author(actor="digest", model="m", prompt="p", job="job_1")
    made = convert.change(
        types.ChangeRecord(
            id="chg_1",
            batch="bat_1",
            at=AT,
            action="revised",
            memory="mem_1",
            revision=2,
            author=author,
            reason="why",
            after=MEMORY,
        )
    )
    assert (made.id, made.batch, made.at, made.action, made.memory, made.revision) == (
        "chg_1",
        "bat_1",
        AT,
        "revised",
        "mem_1",
        2,
    )
    assert (made.actor, made.model, made.prompt, made.job, made.reason) == ("digest", "m", "p", "job_1", "why")
    assert made.after is not None
    assert made.after.id == MEMORY.id


def test_messages_sessions_jobs_and_receipts_have_their_scope_and_payload() -> None:
    message = convert.message(MESSAGE)
    assert (message.id, message.user, message.app, message.agent, message.consent) == (
        MESSAGE.id,
        "ana",
        "kitchen",
        "robot",
        None,
    )
    session = convert.session(types.SessionRecord(id="s", scope=SCOPE, started_at=AT, last_at=AT, metadata={"a": 1}))
    assert (session.id, session.user, session.app, session.agent, session.metadata) == ("s", "ana", "kitchen", "robot", {"a": 1})
    assert convert.job(a_job("x", payload={"session": "s"})).payload == {"session": "s"}
    assert convert.receipt(types.Receipt(id="r", target={"user": "ana"}, at=AT)).target == {"user": "ana"}
    assert convert.consent(None) is None


@pytest.mark.parametrize(("lifetime", "shown"), [(None, None), ("day", "day"), (timedelta(hours=1), "3600")])
def test_the_lifetime_of_a_kind_is_shown_in_seconds(lifetime: Any, shown: str | None) -> None:
    made = convert.kind(
        types.Kind(name="mood", meaning="A mood", lifetime=lifetime, pinned=True, keyed="one", renewed_by_use=True)
    )
    assert (made.name, made.meaning, made.keyed, made.pinned, made.renewed_by_use) == ("mood", "A mood", "one", True, True)
    assert made.lifetime == shown


@pytest.mark.parametrize(("count", "shown", "following"), [(2, 2, None), (3, 2, 12), (0, 0, None)])
def test_a_page_names_the_next_one_if_there_is_more(count: int, shown: int, following: int | None) -> None:
    items, then = convert.page_of(range(count), limit=2, offset=10)
    assert (items, then) == (list(range(shown)), following)
