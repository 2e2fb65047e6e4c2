"""The HTTP calls that adapters use: payloads, batches, namespaces, filters, compare-and-set and strict types."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import Kind
from holdfast.presets import find_preset
from holdfast.testing import HashEmbedder
from tests.server.http_support import Served, serving


@pytest.mark.ledger("X40")
def test_a_payload_goes_in_and_comes_out_unchanged(served: Served) -> None:
    payload = {"z": 1, "a": [None, {"b": 2.5}]}
    made = served.client.post("/v1/sessions/s/messages", json={"role": "assistant", "payload": payload, "user": "ana"})
    assert (made.status_code, made.json()["payload"], made.json()["text"]) == (201, payload, "")
    (listed,) = served.client.get("/v1/sessions/s/messages").json()["items"]
    assert listed["payload"] == payload
    assert served.client.post("/v1/sessions/s/messages", json={"role": "assistant"}).status_code == 400


def test_messages_are_added_together_and_a_retry_adds_none(served: Served) -> None:
    body = {
        "messages": [{"role": "user", "text": "one"}, {"role": "user", "text": "two", "at": "2024-05-01T10:00:00Z"}],
        "user": "ana",
    }
    answers = [served.client.post("/v1/sessions/s/messages/batch", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert [each["text"] for each in served.client.get("/v1/sessions/s/messages").json()["items"]] == ["one", "two"]
    wrong = {"messages": [{"role": "user", "text": "three"}, {"role": "user", "text": " "}]}
    refused = served.client.post("/v1/sessions/s/messages/batch", json=wrong)
    assert refused.status_code == 400
    assert "messages[1]" in refused.json()["detail"]
    assert len(served.client.get("/v1/sessions/s/messages").json()["items"]) == 2


def test_the_last_message_is_removed_and_returned(served: Served) -> None:
    served.client.post("/v1/sessions/s/messages", json={"role": "user", "text": "hello", "user": "ana"})
    removed = served.client.delete("/v1/sessions/s/messages/last")
    assert (removed.status_code, removed.json()["text"]) == (200, "hello")
    assert served.client.delete("/v1/sessions/s/messages/last").status_code == 404
    assert served.client.delete("/v1/sessions/other/messages/last").status_code == 404


def test_memories_are_stored_together(served: Served) -> None:
    body = {
        "memories": [
            {"text": "a river", "namespace": ["docs", "2026"], "key": "k", "metadata": {"a": {"b": [1]}}, "created_at": "2024-05-01T10:00:00Z"},
            {"text": "a bridge", "index": False},
        ],
        "user": "ana",
    }  # fmt: skip
    made = served.client.post("/v1/remember", json=body)
    assert made.status_code == 201
    river, bridge = made.json()["items"]
    assert (river["namespace"], river["metadata"], river["created_at"]) == (
        ["docs", "2026"],
        {"a": {"b": [1]}},
        "2024-05-01T10:00:00Z",
    )
    assert bridge["indexed"] == []
    body["memories"] = [{"text": "fine"}, {"text": "x", "importance": 11}]
    assert served.client.post("/v1/remember", json=body).status_code == 400
    assert served.client.get("/v1/memories", params={"user": "ana"}).json()["total"] == 2


def test_namespaces_and_users_are_listed(served: Served) -> None:
    for namespace in (["docs"], ["docs", "2026"], ["chat"], []):
        served.client.post("/v1/memories", json={"text": "a river", "user": "ana", "namespace": namespace})

    def listed(**params: Any) -> list[list[str]]:
        found: list[list[str]] = served.client.get("/v1/namespaces", params={"user": "ana", **params}).json()["items"]
        return found

    assert listed() == [["chat"], ["docs"], ["docs", "2026"]]
    assert listed(prefix=["docs"]) == [["docs"], ["docs", "2026"]]
    assert listed(suffix=["2026"]) == [["docs", "2026"]]
    assert listed(max_depth=1) == [["chat"], ["docs"]]
    assert listed(limit=1) == [["chat"]]

    def count(**params: Any) -> int:
        return int(served.client.get("/v1/memories", params={"user": "ana", **params}).json()["total"])

    assert (count(namespace=["docs"]), count(namespace_prefix=["docs"]), count(namespace=[""]), count()) == (1, 2, 1, 4)
    users = served.client.get("/v1/users").json()
    assert [(each["user"], each["memories"]) for each in users["items"]] == [("ana", 4)]


def test_filters_work_in_lists_and_in_recall(served: Served) -> None:
    for n in range(4):
        served.client.post(
            "/v1/memories", json={"text": f"lamp number {n}", "user": "ana", "metadata": {"n": n, "in": {"room": "hall"}}}
        )
    where = {"$or": [{"n": {"$lt": 1}}, {"n": {"$in": [3]}}], "in.room": "hall"}
    listed = served.client.get("/v1/memories", params={"user": "ana", "where": json.dumps(where)}).json()
    assert listed["total"] == 2
    found = served.client.post("/v1/recall", json={"query": "lamp", "user": "ana", "where": where, "distinct": False}).json()
    assert {hit["memory"]["metadata"]["n"] for hit in found["hits"]} == {0, 3}
    refused = served.client.post("/v1/recall", json={"query": "lamp", "user": "ana", "where": {"n": {"$mod": 2}}})
    assert refused.status_code == 400
    assert "$mod" in refused.json()["detail"]


def test_recall_takes_offset_distinct_namespace_and_vector(served: Served) -> None:
    for n in range(5):
        served.client.post(
            "/v1/memories", json={"text": "the same note", "key": str(n), "user": "ana", "namespace": ["a", str(n % 2)]}
        )

    def ask(**body: Any) -> list[str]:
        answer = served.client.post("/v1/recall", json={"query": "the same note", "user": "ana", **body})
        assert answer.status_code == 200, answer.text
        return [hit["id"] for hit in answer.json()["hits"]]

    assert len(ask()) == 1
    every = ask(distinct=False)
    assert len(every) == 5
    assert ask(distinct=False, offset=2, limit=2) == every[2:4]
    assert len(ask(distinct=False, namespace=["a", "1"])) == 2
    assert len(ask(distinct=False, namespace_prefix=["a"])) == 5
    vector = HashEmbedder().embed(["the same note"], role="query")[0].tolist()
    assert len(ask(query="", vector=vector, distinct=False)) == 5
    blank = served.client.post("/v1/recall", json={"query": " ", "user": "ana"})
    assert (blank.status_code, blank.json()["code"]) == (400, "invalid_input")
    wrong = served.client.post("/v1/recall", json={"query": "", "vector": [1.0]})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "conflict")


def test_compare_and_set_and_expiry_work_over_http(served: Served) -> None:
    id = served.client.post("/v1/memories", json={"text": "tea", "user": "ana"}).json()["id"]
    changed = served.client.patch(f"/v1/memories/{id}", json={"text": "green tea", "if_revision": 1})
    assert changed.json()["revision"] == 2
    lost = served.client.patch(f"/v1/memories/{id}", json={"text": "black tea", "if_revision": 1})
    assert (lost.status_code, lost.json()["code"]) == (409, "revision_conflict")
    new = {"text": "green tea", "if_revision": 0}
    lost = served.client.post("/v1/memories", json={"user": "ana", **new})
    assert (lost.status_code, lost.json()["code"]) == (409, "revision_conflict")
    assert served.client.post("/v1/remember", json={"user": "ana", "memories": [new]}).json()["code"] == "revision_conflict"
    later = served.client.patch(f"/v1/memories/{id}", json={"expires_at": "2100-01-01T00:00:00Z"}).json()
    assert (later["expires_at"], later["revision"]) == ("2100-01-01T00:00:00Z", 2)
    assert served.client.patch(f"/v1/memories/{id}", json={"expires_at": "never"}).json()["expires_at"] is None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/memories", {"text": "x", "pinned": 0}),
        ("/v1/memories", {"text": "x", "expires_at": 0.5}),
        ("/v1/memories", {"text": "x", "expires_at": "0.5"}),
        ("/v1/memories", {"text": "x", "importance": True}),
        ("/v1/memories", {"text": "x", "user": "\u0092"}),
        ("/v1/recall", {"query": "x", "min_score": False}),
        ("/v1/recall", {"query": "x", "limit": "3"}),
        ("/v1/recall", {"query": "x", "distinct": "no"}),
        ("/v1/context", {"query": "x", "max_tokens": "12"}),
        ("/apps", {"appId": "a", "sharesWith": ""}),
    ],
    ids=str,
)
def test_values_of_another_type_are_not_coerced(served: Served, path: str, body: dict[str, Any]) -> None:
    assert served.client.post(path, json=body).status_code == 400


def test_times_in_a_query_string_are_text(served: Served) -> None:
    assert served.client.get("/v1/memories", params={"known_at": "0.5"}).status_code == 400
    assert served.client.get("/v1/memories", params={"known_at": "2026-01-01T00:00:00Z"}).status_code == 200


def test_an_integer_may_be_written_as_a_float(served: Served) -> None:
    answer = served.client.post(
        "/v1/recall", content='{"query": "x", "limit": 3.0}', headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/v1/memories", "GET, POST"), ("/v1/memories/x", "DELETE, GET, PATCH"), ("/v1/sessions/x/messages/last", "DELETE"), ("/openapi.json", "GET, HEAD")],
)  # fmt: skip
def test_the_response_to_a_wrong_method_lists_all_allowed_methods(served: Served, path: str, allowed: str) -> None:
    answer = served.client.request("OPTIONS", path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


def test_the_first_key_must_be_able_to_create_others(served: Served) -> None:
    for body in ({"scope": "read"}, {"scope": "admin", "user": "ana"}):
        refused = served.client.post("/v1/keys", json=body)
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert served.client.get("/v1/me").json()["keyless"] is True
    made = served.client.post("/v1/keys", json={"scope": "admin"}).json()
    assert served.client.get("/v1/me").status_code == 401
    assert served.as_(made["key"]).post("/v1/keys", json={"scope": "read"}).status_code == 201


def test_the_document_names_the_kinds_of_this_server(served: Served, tmp_path: Path) -> None:
    schemas = served.client.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["KindName"]["enum"] == ["fact", "decision", "event", "context", "summary", "profile"]
    assert schemas["RecalledKindName"]["enum"][-1] == "message"
    assert schemas["MemoryText"]["minLength"] == 1
    default = find_preset("default")
    preset = replace(default, kinds=(*default.kinds, Kind(name="item", meaning="An item", keyed="one", plain=True)))
    with serving(tmp_path, preset=preset) as other:
        schemas = other.client.get("/openapi.json").json()["components"]["schemas"]
        assert "item" in schemas["KindName"]["enum"]
        assert "minLength" not in schemas["MemoryText"]
        made = other.client.post("/v1/memories", json={"text": "", "kind": "item", "key": "/a b  c", "user": "ana"})
        assert (made.status_code, made.json()["text"], made.json()["key"]) == (201, "", "/a b  c")
        assert other.client.post("/v1/forget", json={"key": "/a b  c", "kind": "item", "user": "ana"}).json() == {"forgotten": 1}
        assert other.client.get(f"/v1/memories/{made.json()['id']}").status_code == 404
