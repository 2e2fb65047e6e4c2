"""The events of a streamed chat: pieces of the reply, then the complete answer with what was recalled."""

import json

from holdfast.agent.agent import Answer
from holdfast.server.routes.chat import _event
from holdfast.testing.samples import AT, a_memory
from holdfast.types import Context, Hit


def test_the_last_event_has_the_recalled_memories_with_their_times_as_text() -> None:
    hit = Hit(memory=a_memory("likes tea"), score=0.9)
    context = Context(text="likes tea", tokens=3, stable="", changing="likes tea", hits=(hit,))
    head, data = (
        _event(Answer(text="Tea?", context=context, message_id="msg_1", reply_id="msg_2")).decode().strip().split("\n", 1)
    )
    answer = json.loads(data.removeprefix("data: "))
    assert (head, answer["text"], answer["message_id"], answer["reply_id"]) == ("event: answer", "Tea?", "msg_1", "msg_2")
    (found,) = answer["context"]["hits"]
    assert (found["text"], found["memory"]["created_at"][:10]) == ("likes tea", AT.date().isoformat())


def test_a_piece_of_the_reply_is_an_event_of_its_own() -> None:
    assert _event("Te\na?") == b'event: piece\ndata: {"text":"Te\\na?"}\n\n'
