"""Memories over HTTP: store, list, revise, forget, undo and erase."""

from typing import Any

import pytest

from tests.server.http_support import Served


def _remember(served: Served, text: str = "prefers tea", **more: object) -> dict[str, object]:
    answer = served.client.post("/v1/memories", json={"text": text, "user": "ana", **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, object] = answer.json()
    return made


@pytest.mark.everywhere
def test_a_stored_memory_is_recalled_with_the_reasons(served: Served) -> None:
    made = _remember(served, key="drink")
    (hit,) = served.client.post("/v1/recall", json={"query": "tea", "user": "ana"}).json()["hits"]
    assert (hit["id"], hit["text"], hit["kind"], hit["memory"]["key"]) == (made["id"], "prefers tea", "fact", "drink")
    assert set(hit["why"][0]) == {"arm", "rank", "score"}


@pytest.mark.everywhere
def test_a_user_does_not_see_the_memories_of_another_user(served: Served) -> None:
    _remember(served)
    assert served.client.post("/v1/recall", json={"query": "tea", "user": "bob"}).json()["hits"] == []
    assert served.client.get("/v1/memories?user=bob").json()["items"] == []


@pytest.mark.everywhere
def test_a_long_list_comes_in_pages_and_says_how_long_it_is(served: Served) -> None:
    for number in range(5):
        _remember(served, f"fact number {number}")
    first = served.client.get("/v1/memories?user=ana&limit=2").json()
    assert (len(first["items"]), first["next_offset"], first["total"]) == (2, 2, 5)
    last = served.client.get("/v1/memories?user=ana&limit=2&offset=4").json()
    assert (len(last["items"]), last["next_offset"]) == (1, None)


@pytest.mark.everywhere
def test_a_list_is_filtered_by_kind_key_and_metadata(served: Served) -> None:
    _remember(served, "kettle", metadata={"room": "kitchen"}, key="thing")
    _remember(served, "we buy a lamp", kind="decision", metadata={"room": "hall"})
    client = served.client
    assert [each["text"] for each in client.get("/v1/memories?user=ana&kind=decision").json()["items"]] == ["we buy a lamp"]
    assert [each["text"] for each in client.get("/v1/memories?user=ana&key=thing").json()["items"]] == ["kettle"]
    found = client.get("/v1/memories", params={"user": "ana", "where": '{"room": "hall"}'}).json()
    assert ([each["text"] for each in found["items"]], found["total"]) == (["we buy a lamp"], 1)


@pytest.mark.everywhere
def test_a_correction_can_empty_tags_and_metadata(served: Served) -> None:
    made = _remember(served, tags=["drinks"], metadata={"room": "kitchen"})
    revised = served.client.patch(f"/v1/memories/{made['id']}", json={"tags": [], "metadata": {}}).json()
    assert (revised["tags"], revised["metadata"], revised["text"]) == ([], {}, "prefers tea")


@pytest.mark.everywhere
def test_a_correction_keeps_the_id_and_what_was_not_given(served: Served) -> None:
    made = _remember(served, tags=["drinks"], metadata={"room": "kitchen"})
    revised = served.client.patch(f"/v1/memories/{made['id']}", json={"text": "prefers green tea"}).json()
    assert (revised["id"], revised["revision"], revised["tags"]) == (made["id"], 2, ["drinks"])
    assert revised["metadata"] == {"room": "kitchen"}
    history = served.client.get(f"/v1/memories/{made['id']}/history").json()["items"]
    assert [(each["action"], each["after"]["text"]) for each in history] == [
        ("created", "prefers tea"),
        ("revised", "prefers green tea"),
    ]


@pytest.mark.everywhere
def test_forgetting_can_be_undone(served: Served) -> None:
    made = _remember(served)
    assert served.client.delete(f"/v1/memories/{made['id']}").json() == {"forgotten": 1}
    assert served.client.get("/v1/memories?user=ana").json()["items"] == []
    change = served.client.get(f"/v1/memories/{made['id']}/history").json()["items"][-1]["id"]
    (back,) = served.client.post("/v1/undo", json={"change": change}).json()["items"]
    assert (back["id"], back["status"]) == (made["id"], "live")


@pytest.mark.everywhere
def test_a_key_is_forgotten_by_name(served: Served) -> None:
    _remember(served, key="drink")
    _remember(served, "coffee on Sundays", key="drink")
    assert served.client.post("/v1/forget", json={"key": "drink", "user": "ana"}).json() == {"forgotten": 2}


def test_forgetting_an_unknown_key_is_not_found_for_every_caller(served: Served) -> None:
    _remember(served, key="drink", user="bob")
    body = {"key": "drink", "user": "ana"}
    unbound = served.client.post("/v1/forget", json=body)
    bound = served.as_(served.key("write", user="ana")).post("/v1/forget", json=body)
    for answer in (unbound, bound):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("given", [{"kind": "fact"}, {"kinds": "fact"}, {"kind": ["fact"]}, {"kinds": ["fact"]}])
def test_kind_and_kinds_take_one_or_several(served: Served, given: dict[str, Any]) -> None:
    _remember(served, key="drink")
    _remember(served, "had tea with her sister", kind="event")
    hits = served.client.post("/v1/recall", json={"query": "tea", "user": "ana", **given}).json()["hits"]
    assert {hit["kind"] for hit in hits} == {"fact"}
    listed = served.client.get("/v1/memories", params={"user": "ana", **given}).json()
    assert (listed["total"], {each["kind"] for each in listed["items"]}) == (1, {"fact"})
    assert served.client.post("/v1/forget", json={"key": "drink", "user": "ana", **given}).json() == {"forgotten": 1}


def test_kind_and_kinds_together_name_the_kinds_of_both(served: Served) -> None:
    for kind in ("fact", "event", "decision"):
        served.client.post("/v1/memories", json={"text": f"tea, a {kind}", "kind": kind, "user": "ana"})
    answer = served.client.post("/v1/recall", json={"query": "tea", "user": "ana", "kind": "fact", "kinds": ["fact", "event"]})
    assert {hit["kind"] for hit in answer.json()["hits"]} == {"fact", "event"}
    listed = served.client.get("/v1/memories", params={"user": "ana", "kind": "fact", "kinds": "event"})
    assert listed.json()["total"] == 2


@pytest.mark.everywhere
def test_erasing_gives_a_receipt_and_leaves_nothing(served: Served) -> None:
    made = _remember(served)
    receipt = served.client.delete(f"/v1/memories/{made['id']}?erase=true").json()
    assert (receipt["memories"], receipt["verified"]) == (1, True)
    assert served.client.get(f"/v1/memories/{made['id']}").status_code == 404


def test_a_user_is_erased_across_apps(served: Served) -> None:
    _remember(served)
    _remember(served, "left the oven on", app="kitchen")
    assert served.client.post("/v1/erase", json={"user": "ana"}).json()["memories"] == 2


@pytest.mark.everywhere
def test_a_memory_names_the_messages_it_came_from(served: Served) -> None:
    talk = served.client.post("/v1/sessions", json={"user": "ana"}).json()["id"]
    said = served.client.post(f"/v1/sessions/{talk}/messages", json={"role": "user", "text": "I live in Lyon."}).json()
    served.client.post(f"/v1/sessions/{talk}/end")
    assert served.client.post("/v1/work").json()["steps"] > 0
    memories = served.client.get("/v1/memories?user=ana").json()["items"]
    (learnt,) = [each for each in memories if "Lyon" in each["text"]]
    sources = served.client.get(f"/v1/memories/{learnt['id']}/sources").json()
    assert [each["id"] for each in sources["messages"]] == [said["id"]]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"user": "ana"}, "text"),
        ({"text": "x", "colour": "red"}, "colour"),
        ({"text": "x", "kind": "no such kind"}, "no such kind"),
        ({"text": "x", "importance": 11}, "importance"),
        ({"text": "x", "expires_at": "yesterday-ish"}, "expires_at"),
        ({"text": "x", "metadata": {"deep": {"er": 10**400}}}, "er"),
    ],
)
def test_an_invalid_request_gets_a_problem_that_names_the_error(served: Served, body: dict[str, object], named: str) -> None:
    answer = served.client.post("/v1/memories", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    problem = answer.json()
    assert problem["code"] == "invalid_input"
    assert named in problem["detail"]


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"text"', b"", b"\xff\xfe", b'{"text": "a\\ud800b"}', b"nul", b"1" * 5000])
def test_a_body_that_is_not_an_object_is_refused(served: Served, body: bytes) -> None:
    answer = served.client.post("/v1/memories", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_an_unknown_path_and_a_wrong_method_are_problems_too(served: Served) -> None:
    lost = served.client.get("/v1/nothing")
    wrong = served.client.put("/v1/recall", json={})
    assert (lost.status_code, lost.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"], wrong.headers["allow"]) == (405, "method_not_allowed", "POST")


def test_a_text_over_the_limit_is_too_large(served: Served) -> None:
    answer = served.client.post("/v1/memories", json={"text": "x" * (5 << 20)})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.everywhere
def test_text_in_any_script_is_read_back_unchanged(served: Served) -> None:
    text = "¿Dónde vive la señora Ibáñez? En Cádiz 🌊 \u202e\u0000"
    made = _remember(served, text)
    assert made["text"] == text.replace("\u0000", "\ufffd")
    assert "señora" in served.client.get(f"/v1/memories/{made['id']}").text


@pytest.mark.parametrize(
    ("body", "named"),
    [('{"query": 7}', "query: "), ("{bad", "The body is not valid JSON, at character 1: "), ("7", "the body: ")],
)
def test_the_error_for_an_invalid_body_names_the_wrong_member(served: Served, body: str, named: str) -> None:
    answer = served.client.post("/v1/recall", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["detail"].startswith(named)


def test_the_error_for_broken_json_says_what_is_wrong_and_what_to_do(served: Served) -> None:
    answer = served.client.post("/v1/memories", content='{"text": "x",', headers={"Content-Type": "application/json"})
    assert answer.json()["detail"] == (
        "The body is not valid JSON, at character 13: Expecting property name enclosed in double quotes. Nothing was changed. "
        "Send JSON as /openapi.json describes it."
    )


KEY = "sk-" + "proj-Q7fX2mLpZ9vKcT4nRw8yBd3hJs6gUe1aKk"


def test_an_answer_lists_the_secrets_that_were_replaced(served: Served) -> None:
    made = _remember(served, f"the {KEY}", metadata={KEY: 1})
    assert made["redacted"] == [{"field": "text", "kind": "api key"}, {"field": "metadata name", "kind": "api key"}]
    assert served.client.get(f"/v1/memories/{made['id']}").json()["redacted"] == []
    said = served.client.post("/v1/sessions/s1/messages", json={"role": "user", "text": f"use {KEY}", "user": "ana"}).json()
    assert (said["text"], said["redacted"]) == ("use [redacted api key]", [{"field": "text", "kind": "api key"}])
    chat = served.client.post("/v1/sessions/s1/chat", json={"text": f"use {KEY}"})
    assert chat.json()["redacted"] == [{"field": "text", "kind": "api key"}]


def test_redaction_can_be_switched_off_per_request(served: Served) -> None:
    made = _remember(served, f"the {KEY}", redact=False)
    assert (made["text"], made["redacted"]) == (f"the {KEY}", [])
    revised = served.client.patch(f"/v1/memories/{made['id']}", json={"text": f"now {KEY}", "redact": False}).json()
    assert (revised["text"], revised["redacted"]) == (f"now {KEY}", [])
    message = {"role": "user", "text": f"use {KEY}", "user": "ana", "redact": False}
    assert served.client.post("/v1/sessions/s1/messages", json=message).json()["text"] == f"use {KEY}"


@pytest.mark.parametrize("expires_at", ["-1", "1969-12-31", -86400])
def test_an_expiry_in_the_distant_past_is_refused(served: Served, expires_at: object) -> None:
    answer = served.client.post("/v1/memories", json={"text": "prefers tea", "user": "ana", "expires_at": expires_at})
    assert answer.status_code in (400, 409)
    assert served.client.get("/v1/memories?user=ana").json()["total"] == 0


def test_a_valid_request_with_a_past_expiry_contradicts_the_clock(served: Served) -> None:
    past = {"expires_at": "0408-10-03T20:24:38Z"}
    made = served.client.post("/v1/memories", json={"text": "prefers tea", "user": "ana"}).json()
    for answer in (
        served.client.post("/v1/memories", json={"text": "prefers tea", "user": "ana", **past}),
        served.client.post("/v1/remember", json={"memories": [{"text": "likes tea", **past}], "user": "ana"}),
        served.client.patch(f"/v1/memories/{made['id']}", json=past),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert "is in the past" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/v1/memories", {"text": "likes tea"}), ("PUT", "/v1/topics/tea", {"markdown": "# Tea\n\n- likes tea\n"})],
)
def test_a_write_that_names_its_user_only_in_the_query_is_refused(
    served: Served, method: str, path: str, body: dict[str, str]
) -> None:
    refused = served.client.request(method, path, params={"user": "ana"}, json=body)
    assert (refused.status_code, served.client.get("/v1/memories").json()["items"]) == (400, [])
    assert "reads no user from the query" in refused.json()["detail"]
    assert served.client.request(method, path, json={**body, "user": "ana"}).status_code in {200, 201}


def test_a_list_has_fifty_items_if_no_number_is_given(served: Served) -> None:
    for number in range(52):
        served.client.post("/v1/memories", json={"text": f"owns book {number}", "user": "ana"})
    page = served.client.get("/v1/memories?user=ana").json()
    assert (len(page["items"]), page["total"]) == (50, 52)


def test_the_preview_of_an_erased_message_needs_no_session(served: Served) -> None:
    session = served.client.post("/v1/sessions", json={"user": "ana"}).json()["id"]
    message = served.client.post(f"/v1/sessions/{session}/messages", json={"role": "user", "text": "I play the cello."}).json()
    of_message = served.client.post("/v1/erase/preview", json={"source": message["id"]}).json()
    of_session = served.client.post("/v1/erase/preview", json={"session": session}).json()
    assert (of_message["messages"], of_session["messages"], of_session["sessions"]) == (1, 1, 1)
