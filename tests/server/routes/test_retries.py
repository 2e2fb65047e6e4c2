"""Idempotency keys: a repeated request has no second effect."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from holdfast.testing import ScriptedChat
from tests.server.http_support import Served, serving

KEY = {"Idempotency-Key": "5c1e3a52-0001"}
pytestmark = [pytest.mark.ledger("X20"), pytest.mark.long]


@pytest.mark.everywhere
def test_a_retried_write_is_answered_with_the_stored_answer(served: Served) -> None:
    body = {"role": "user", "text": "I live in Lyon.", "user": "ana"}
    first, again = (served.client.post("/v1/sessions/t/messages", json=body, headers=KEY) for _ in range(2))
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert ("Idempotency-Replayed" in first.headers, again.headers["Idempotency-Replayed"]) == (False, "true")
    assert len(served.client.get("/v1/sessions/t/messages").json()["items"]) == 1


@pytest.mark.everywhere
def test_another_request_under_the_same_key_is_a_conflict(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "tea"}, headers=KEY)
    for answer in (
        served.client.post("/v1/memories", json={"text": "coffee"}, headers=KEY),
        served.client.post("/v1/sessions", json={"id": "x"}, headers=KEY),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert [each["text"] for each in served.client.get("/v1/memories").json()["items"]] == ["tea"]


def test_the_query_is_part_of_the_request(served: Served) -> None:
    for user in ("ana", "bob"):
        served.client.post("/v1/sessions/t/messages", json={"role": "user", "text": "hi", "user": user})
    assert served.client.post("/v1/sessions/t/end?user=ana", headers=KEY).json()["user"] == "ana"
    other = served.client.post("/v1/sessions/t/end?user=bob", headers=KEY)
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert served.client.get("/v1/sessions/t?user=bob").json()["status"] == "open"


def test_a_refused_write_can_be_corrected_and_retried(served: Served) -> None:
    assert served.client.post("/v1/memories", json={"text": "x", "kind": "none such"}, headers=KEY).status_code == 400
    assert served.client.post("/v1/memories", json={"text": "x", "kind": "none such"}, headers=KEY).status_code == 400


def test_a_session_is_started_once_however_often_it_is_requested(served: Served) -> None:
    ids = {served.client.post("/v1/sessions", json={"user": "ana"}, headers=KEY).json()["id"] for _ in range(3)}
    assert len(ids) == 1


@pytest.mark.everywhere
def test_two_callers_with_the_same_idempotency_key_never_get_each_others_response(served: Served) -> None:
    ana, bob = (served.as_(served.key(user=user)) for user in ("ana", "bob"))
    hers = ana.post("/v1/memories", json={"text": "the pangolin"}, headers=KEY)
    his = bob.post("/v1/memories", json={"text": "the pangolin"}, headers=KEY)
    assert hers.status_code == his.status_code == 201
    assert hers.json()["id"] != his.json()["id"]


@pytest.mark.everywhere
def test_twenty_requests_with_one_idempotency_key_have_one_effect(served: Served) -> None:
    def send(_number: int) -> int:
        body = {"role": "user", "text": "once", "user": "ana"}
        return httpx.post(f"{served.url}/v1/sessions/t/messages", json=body, headers=KEY, timeout=30).status_code

    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(send, range(20)))
    assert set(statuses) <= {201, 409}
    assert 201 in statuses
    assert len(served.client.get("/v1/sessions/t/messages").json()["items"]) == 1


def test_a_repeated_request_gets_the_stored_stream_without_a_model_call(tmp_path: Path) -> None:
    model = ScriptedChat("Hello there.")
    with serving(tmp_path, chat=model) as server:
        first, again = (
            server.client.post("/v1/sessions/t/chat", json={"text": "hi", "stream": True, "user": "ana"}, headers=KEY)
            for _ in range(2)
        )
        kept = server.client.get("/v1/sessions/t/messages").json()["items"]
    assert (first.text, again.headers["content-type"]) == (again.text, first.headers["content-type"])
    assert (len(model.asked), len(kept)) == (1, 2)


def test_a_retry_after_a_model_failure_stores_no_second_message(served: Served) -> None:
    for _ in range(2):
        assert served.client.post("/v1/sessions/t/chat", json={"text": "hi", "user": "ana"}, headers=KEY).status_code == 503
    assert len(served.client.get("/v1/sessions/t/messages").json()["items"]) == 1


@pytest.mark.everywhere
def test_an_erasure_removes_the_stored_responses(served: Served) -> None:
    made = served.client.post("/v1/memories", json={"text": "a secret pangolin", "user": "ana"}, headers=KEY).json()
    served.client.post("/v1/erase", json={"id": made["id"]})
    again = served.client.post("/v1/memories", json={"text": "a secret pangolin", "user": "ana"}, headers=KEY)
    assert "Idempotency-Replayed" not in again.headers


@pytest.mark.parametrize("key", ["", "x" * 300])
def test_an_invalid_idempotency_key_is_refused(served: Served, key: str) -> None:
    answer = served.client.post("/v1/memories", json={"text": "tea"}, headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
