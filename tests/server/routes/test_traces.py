"""Traces over HTTP: list them, read one, and explain a memory."""

from typing import Any

import pytest

from tests.server.http_support import Served

QUESTION = "Where does the pangolin live?"


def _remember(served: Served, text: str, **more: object) -> str:
    id: str = served.client.post("/v1/memories", json={"text": text, "user": "ana", **more}).json()["id"]
    return id


def _context(served: Served, query: str = QUESTION, **more: object) -> dict[str, Any]:
    found: dict[str, Any] = served.client.post("/v1/context", json={"query": query, "user": "ana", **more}).json()
    return found


@pytest.mark.everywhere("sqlite", "postgres")
def test_a_context_names_its_trace(served: Served) -> None:
    lives, tea = _remember(served, "The pangolin lives in Xanadu."), _remember(served, "Ana prefers green tea.")
    block = _context(served)
    trace = served.client.get(f"/v1/traces/{block['trace']}").json()
    assert (trace["question"], trace["user"], trace["tokens"]) == (QUESTION, "ana", block["tokens"])
    found = {each["id"]: each for each in trace["candidates"]}
    assert (found[lives]["outcome"], found[lives]["rank"], found[lives]["text"]) == ("shown", 1, "The pangolin lives in Xanadu.")
    assert (found[tea]["outcome"], found[tea]["changed"]) == ("floor", False)
    assert (trace["shown"], trace["found"]) == (1, 2)
    assert trace["steps"]["search"] > 0
    (listed,) = served.client.get("/v1/traces", params={"user": "ana"}).json()["items"]
    assert listed == {name: value for name, value in trace.items() if name in listed}
    assert served.client.get("/v1/traces", params={"user": "bob"}).json()["items"] == []


def test_a_trace_of_a_session_names_its_message(served: Served) -> None:
    served.client.post("/v1/sessions", json={"id": "talk", "user": "ana"})
    said = served.client.post("/v1/sessions/talk/messages", json={"role": "user", "text": QUESTION}).json()
    block = served.client.post("/v1/sessions/talk/context", json={}).json()
    (listed,) = served.client.get("/v1/traces", params={"session": "talk"}).json()["items"]
    assert (listed["id"], listed["session"], listed["message"]) == (block["trace"], "talk", said["id"])
    assert served.client.get("/v1/traces", params={"session": "other"}).json()["items"] == []


def test_a_trace_shows_the_present_text_and_says_that_it_changed(served: Served) -> None:
    id = _remember(served, "The pangolin lives in Xanadu.")
    trace = _context(served)["trace"]
    served.client.patch(f"/v1/memories/{id}", json={"text": "The pangolin lives in Ruritania."})
    (each,) = served.client.get(f"/v1/traces/{trace}").json()["candidates"]
    assert (each["text"], each["changed"]) == ("The pangolin lives in Ruritania.", True)


@pytest.mark.ledger("X8")
def test_a_key_sees_only_the_traces_of_its_own_scope(served: Served) -> None:
    _remember(served, "The pangolin lives in Xanadu.")
    trace = _context(served)["trace"]
    ana, bob = served.as_(served.key("read", user="ana")), served.as_(served.key("read", user="bob"))
    assert ana.get(f"/v1/traces/{trace}").status_code == 200
    assert [each["id"] for each in ana.get("/v1/traces").json()["items"]] == [trace]
    assert bob.get(f"/v1/traces/{trace}").status_code == 404
    assert bob.get("/v1/traces").json()["items"] == []
    assert bob.get("/v1/traces", params={"user": "ana"}).status_code == 404


def test_explain_says_what_kept_a_memory_out(served: Served) -> None:
    lives, tea = _remember(served, "The pangolin lives in Xanadu."), _remember(served, "Ana prefers green tea.")

    def ask(id: str, **more: object) -> dict[str, Any]:
        found: dict[str, Any] = served.client.post(f"/v1/memories/{id}/explain", json={"query": QUESTION, **more}).json()
        return found

    shown = ask(lives)
    assert (shown["outcome"], shown["candidate"]["rank"], shown["trace"]["id"]) == ("shown", 1, None)
    assert ask(tea)["outcome"] == "floor"
    assert ask(tea, user="bob")["outcome"] == "scope"
    later = _remember(served, "The pangolin lives in Ruritania.")
    served.client.request("DELETE", f"/v1/memories/{later}")
    assert ask(later)["outcome"] == "retired"
    assert served.client.get("/v1/traces").json()["items"] == []
