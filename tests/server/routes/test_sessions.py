"""Sessions over HTTP: messages, chat, streaming, ending and erasing."""

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

from holdfast.chat import Reply, ToolCall
from holdfast.errors import ModelUnavailable
from holdfast.models.remote.providers import chat_model
from holdfast.testing import ScriptedChat
from tests.models.remote.chat_server import ChatServer, Say, Silence
from tests.places import Place
from tests.server.http_support import Served, eventually, serving


@pytest.fixture
def model() -> ScriptedChat:
    return ScriptedChat(respond=lambda asked: f"You said {len(asked.turns)} things.")


@pytest.fixture
def talking(place: Place, model: ScriptedChat) -> Iterator[Served]:
    with serving(place, chat=model) as server:
        yield server


def _say(served: Served, talk: str, text: str, **more: object) -> dict[str, Any]:
    answer = served.client.post(f"/v1/sessions/{talk}/messages", json={"role": "user", "text": text, "user": "ana", **more})
    assert answer.status_code == 201, answer.text
    said: dict[str, Any] = answer.json()
    return said


def _events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.everywhere
def test_messages_of_a_session_belong_to_the_user_for_whom_it_was_begun(served: Served) -> None:
    begun = served.client.post("/v1/sessions", json={"user": "ana", "app": "kitchen"}).json()
    said = _say(served, begun["id"], "I live in Lyon.")
    assert (said["user"], said["app"], said["session"]) == ("ana", "kitchen", begun["id"])
    assert served.client.get(f"/v1/sessions/{begun['id']}").json()["user"] == "ana"


def test_a_message_creates_a_missing_session(served: Served) -> None:
    said = _say(served, "my-own-id", "hello", user="ana")
    assert said["session"] == "my-own-id"
    assert [each["id"] for each in served.client.get("/v1/sessions?user=ana").json()["items"]] == ["my-own-id"]


@pytest.mark.everywhere
def test_the_same_id_of_two_users_names_two_sessions(served: Served) -> None:
    _say(served, "talk", "hello from ana", user="ana")
    _say(served, "talk", "hello from bob", user="bob")
    for user in ("ana", "bob"):
        (said,) = served.client.get(f"/v1/sessions/talk/messages?user={user}").json()["items"]
        assert said["text"] == f"hello from {user}"
    ambiguous = served.client.get("/v1/sessions/talk")
    assert (ambiguous.status_code, ambiguous.json()["code"]) == (409, "conflict")
    assert served.client.delete("/v1/sessions/talk/messages/last").status_code == 409
    assert served.client.delete("/v1/sessions/talk/messages/last?user=bob").json()["text"] == "hello from bob"
    assert served.client.post("/v1/sessions/talk/end?user=bob").json()["user"] == "bob"
    assert served.client.get("/v1/sessions/talk?user=ana").json()["status"] == "open"
    assert served.client.delete("/v1/sessions/talk?user=ana").json()["messages"] == 1
    assert served.client.get("/v1/sessions/talk").json()["user"] == "bob"


@pytest.mark.parametrize("path", ["messages", "messages/batch", "chat", "context", "end"])
def test_an_unknown_id_without_a_scope_is_refused(served: Served, path: str) -> None:
    said = {"role": "user", "text": "hi"}
    bodies = {"messages": said, "messages/batch": {"messages": [said]}, "chat": {"text": "hi"}}
    answer = served.client.post(f"/v1/sessions/ses_nope/{path}", json=bodies.get(path, {}))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert served.client.post("/v1/sessions", json={"id": "ses_nope"}).status_code == 404
    assert served.client.get("/v1/sessions").json()["items"] == []


@pytest.mark.ledger("X8")
def test_a_bound_key_cannot_change_what_all_share(served: Served) -> None:
    served.client.post("/v1/sessions", json={"id": "kitchen", "shared": True})
    served.client.post("/v1/sessions/kitchen/messages", json={"role": "user", "text": "hi"})
    shared = served.client.post("/v1/memories", json={"text": "the oven is hot"}).json()["id"]
    ana, owner = served.as_(served.key(user="ana")), served.as_(served.key("admin"))
    assert ana.get(f"/v1/memories/{shared}").status_code == 200
    for refused, status in (
        (ana.patch(f"/v1/memories/{shared}", json={"text": "the oven is cold"}), 403),
        (ana.post("/v1/sessions/kitchen/end"), 404),
        (ana.delete("/v1/sessions/kitchen/messages/last"), 404),
        (ana.delete("/v1/sessions/kitchen"), 404),
    ):
        assert refused.status_code == status
    assert owner.get(f"/v1/memories/{shared}").json()["text"] == "the oven is hot"
    assert owner.get("/v1/sessions/kitchen").json()["status"] == "open"
    assert len(owner.get("/v1/sessions/kitchen/messages").json()["items"]) == 1


def test_a_shared_session_is_an_explicit_choice(served: Served) -> None:
    begun = served.client.post("/v1/sessions", json={"id": "kitchen", "shared": True}).json()
    assert (begun["id"], begun["user"]) == ("kitchen", None)
    assert served.client.post("/v1/sessions/kitchen/messages", json={"role": "user", "text": "hi"}).json()["user"] is None


@pytest.mark.parametrize("path", ["messages", "chat", "context", "end"])
def test_a_session_id_of_another_scope_gets_the_same_answer_as_an_unknown_id(talking: Served, path: str) -> None:
    _say(talking, "hers", "my secret", user="ana")
    bob = talking.as_(talking.key("write", user="bob"))
    bodies = {"messages": {"role": "user", "text": "hi"}, "chat": {"text": "hi"}, "context": {"query": "secret"}}
    answers = [bob.post(f"/v1/sessions/{id}/{path}", json=bodies.get(path, {})) for id in ("hers", "none")]
    assert answers[0].status_code == answers[1].status_code
    assert set(answers[0].json()) == set(answers[1].json())
    assert "my secret" not in answers[0].text
    assert [
        each["text"] for each in talking.as_(talking.key("read")).get("/v1/sessions/hers/messages?user=ana").json()["items"]
    ] == ["my secret"]


@pytest.mark.everywhere
@pytest.mark.ledger("X20")
def test_a_retry_with_the_same_client_id_stores_no_second_message(served: Served) -> None:
    first, again = (_say(served, "talk", "hello", id="c1", speaker="ana") for _ in range(2))
    assert first == again
    assert first["speaker"] == "ana"
    other = served.client.post("/v1/sessions/talk/messages", json={"role": "user", "text": "other", "id": "c1", "user": "ana"})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


@pytest.mark.everywhere
def test_messages_are_listed_from_the_end_or_after_a_given_one(served: Served) -> None:
    seqs = [_say(served, "talk", f"number {number}")["seq"] for number in range(5)]
    last = served.client.get("/v1/sessions/talk/messages?limit=2").json()
    assert [each["text"] for each in last["items"]] == ["number 3", "number 4"]
    onward = served.client.get(f"/v1/sessions/talk/messages?limit=2&after_seq={seqs[1]}").json()
    assert [each["text"] for each in onward["items"]] == ["number 2", "number 3"]
    assert onward["next_seq"] == seqs[3]


@pytest.mark.everywhere
def test_a_page_of_jobs_says_where_the_next_one_starts(served: Served) -> None:
    for name in ("a", "b", "c"):
        _say(served, name, "hello")
        served.client.post(f"/v1/sessions/{name}/end?user=ana")
    pages = [served.client.get(f"/v1/jobs?limit=2&offset={offset}").json() for offset in (0, 1, 2)]
    assert [(len(page["items"]), page["next_offset"]) for page in pages] == [(2, 2), (2, None), (1, None)]


def test_memories_are_extracted_from_an_ended_session(served: Served) -> None:
    _say(served, "talk", "I moved to Lyon last month.", user="ana")
    assert served.client.post("/v1/sessions/talk/end").json()["status"] == "ended"
    assert served.client.get("/v1/jobs?state=queued").json()["items"][0]["kind"] == "digest"
    served.client.post("/v1/work")
    context = served.client.post("/v1/context", json={"query": "when did she move to Lyon?", "user": "ana"}).json()
    assert "Lyon" in context["text"]
    assert context["tokens"] > 0


def test_a_session_s_context_is_about_the_last_thing_said(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "prefers tea", "user": "ana"})
    _say(served, "talk", "what tea do I like?", user="ana")
    context = served.client.post("/v1/sessions/talk/context", json={"persona": "You are kind."}).json()
    assert context["text"].startswith("You are kind.")
    assert "prefers tea" in context["text"]


@pytest.mark.everywhere
def test_an_erased_session_is_gone(served: Served) -> None:
    _say(served, "talk", "hello")
    assert served.client.delete("/v1/sessions/talk").json()["messages"] == 1
    assert served.client.get("/v1/sessions/talk").status_code == 404


@pytest.mark.everywhere
def test_a_reply_comes_with_what_the_model_was_told(talking: Served) -> None:
    talking.client.post("/v1/memories", json={"text": "prefers tea", "user": "ana"})
    answer = talking.client.post(
        "/v1/sessions/t/chat", json={"text": "tea or coffee?", "user": "ana", "persona": "Be brief."}
    ).json()
    assert answer["text"] == "You said 2 things."
    assert [hit["text"] for hit in answer["context"]["hits"]] == ["prefers tea"]
    kept = talking.client.get("/v1/sessions/t/messages").json()["items"]
    assert [(each["id"], each["role"]) for each in kept] == [(answer["message_id"], "user"), (answer["reply_id"], "assistant")]


def test_tools_a_model_used_are_shown(tmp_path: Path) -> None:
    call = ToolCall(id="1", name="remember", arguments={"key": "drink", "value": "tea"})
    model = ScriptedChat(Reply(text="", tool_calls=(call,)), "Noted.")
    with serving(tmp_path, chat=model) as server:
        answer = server.client.post("/v1/sessions/t/chat", json={"text": "I drink tea", "user": "ana"}).json()
    assert [(use["name"], use["ok"], use["arguments"]["value"]) for use in answer["tool_uses"]] == [("remember", True, "tea")]


def test_a_reply_comes_piece_by_piece_and_then_whole(talking: Served) -> None:
    answer = talking.client.post("/v1/sessions/t/chat", json={"text": "hello", "stream": True, "user": "ana"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *pieces, (name, whole) = _events(answer.text)
    assert {each for each, _ in pieces} == {"piece"}
    assert (name, whole["text"]) == ("answer", "".join(data["text"] for _, data in pieces))
    kept = talking.client.get("/v1/sessions/t/messages").json()["items"]
    assert kept[-1]["id"] == whole["reply_id"]


def test_a_stream_that_breaks_off_ends_with_a_problem_and_keeps_what_was_said(tmp_path: Path) -> None:
    with ChatServer() as model:
        model.script(Say("This is going to be long", break_off=True))
        with serving(tmp_path, chat=_remote(model)) as server:
            answer = server.client.post("/v1/sessions/t/chat", json={"text": "hello", "stream": True, "user": "ana"})
            name, problem = _events(answer.text)[-1]
            assert (name, problem["status"]) == ("error", 503)
            kept = server.client.get("/v1/sessions/t/messages").json()["items"]
    assert [(each["role"], each["action"]) for each in kept] == [("user", None), ("assistant", "interrupted")]


def _remote(server: ChatServer) -> Any:
    return chat_model("openai:gpt-4o-mini", base_url=server.url, api_key="k")


@pytest.mark.ledger("L2")
def test_without_a_model_the_message_is_kept_and_the_context_shown(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "prefers tea"})
    answer = served.client.post("/v1/sessions/t/chat", json={"text": "tea or coffee?", "user": "ana"})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (503, "no_chat_model")
    assert "prefers tea" in problem["context"]["text"]
    assert [each["id"] for each in served.client.get("/v1/sessions/t/messages").json()["items"]] == [problem["message_id"]]


def test_without_a_model_a_stream_is_refused_before_it_begins(served: Served) -> None:
    answer = served.client.post("/v1/sessions/t/chat", json={"text": "hello", "stream": True, "user": "ana"})
    assert (answer.status_code, answer.json()["code"]) == (503, "no_chat_model")


@pytest.mark.ledger("L2")
def test_a_message_is_on_disk_before_the_model_is_called(tmp_path: Path) -> None:
    found: list[str] = []
    server: Served

    def look(_asked: Any) -> str:
        found.extend(each["text"] for each in httpx.get(f"{server.url}/v1/sessions/t/messages").json()["items"])
        return "ok"

    with serving(tmp_path, chat=ScriptedChat(respond=look)) as server:
        server.client.post("/v1/sessions/t/chat", json={"text": "remember the milk", "user": "ana"})
    assert found == ["remember the milk"]


def test_a_failing_model_is_reported_as_a_problem(tmp_path: Path) -> None:
    with serving(tmp_path, chat=ScriptedChat(ModelUnavailable("The model sleeps."))) as server:
        answer = server.client.post("/v1/sessions/t/chat", json={"text": "hello", "user": "ana"})
    assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (503, "model_unavailable", "The model sleeps.")


@pytest.mark.long
def test_adding_and_recalling_work_while_many_requests_wait_for_a_dead_model(tmp_path: Path) -> None:
    with ChatServer(respond=lambda _asked: Silence(20)) as model, serving(tmp_path, chat=_remote(model)) as server:

        def wait(number: int) -> None:
            with contextlib.suppress(httpx.TimeoutException):
                httpx.post(f"{server.url}/v1/sessions/s{number}/chat", json={"text": "hello", "user": "ana"}, timeout=8)

        waiting = [threading.Thread(target=wait, args=(number,)) for number in range(48)]
        for each in waiting:
            each.start()
        eventually(lambda: len(model.requests) >= 16)  # the others of this tenant wait in line
        for number in range(20):
            assert server.client.post("/v1/memories", json={"text": f"fact {number}"}, timeout=3).status_code == 201
            assert server.client.post("/v1/recall", json={"query": "fact"}, timeout=3).json()["hits"]
        model.stopping.set()
        for each in waiting:
            each.join()


@pytest.mark.everywhere
def test_listeners_are_notified_of_changes(served: Served) -> None:
    with served.client.stream("GET", "/v1/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: change"
        assert json.loads(next(lines).removeprefix("data: "))["memories"] == 0
        httpx.post(f"{served.url}/v1/memories", json={"text": "prefers tea"})
        told = [line for line in (next(lines) for _ in range(3)) if line.startswith("data: ")]
    assert json.loads(told[0].removeprefix("data: "))["memories"] == 1


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Record every SQL statement that any SQLite connection executes."""
    ran: list[str] = []

    def note(_cursor: Any, sql: str, _values: Any) -> bool:
        ran.append(sql)
        return True

    def trace(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    apsw.connection_hooks.append(trace)
    yield ran
    apsw.connection_hooks.remove(trace)


@pytest.mark.parametrize("known", [False, True])
def test_one_message_reads_the_session_at_most_twice(tmp_path: Path, statements: list[str], *, known: bool) -> None:
    with serving(tmp_path) as served:
        if known:
            served.client.post("/v1/sessions/s1/messages", json={"role": "user", "text": "hello", "user": "ana"})
        statements.clear()
        served.client.post(
            "/v1/sessions/s1/messages", json={"role": "user", "text": "I like tea", "user": "ana"}
        ).raise_for_status()
    assert 1 <= len([sql for sql in statements if "FROM sessions" in sql]) <= 2
