"""Wishes about memory over HTTP and MCP, and in imported history."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine
from tests.mcp.support import in_process, tell
from tests.places import Place
from tests.server.http_support import Served, serving

pytestmark = pytest.mark.ledger("X21")
BOTH = pytest.mark.everywhere("sqlite", "postgres")
OpenMemory = Callable[..., Engine]


def _say(served: Served, text: str, **headers: str) -> dict[str, Any]:
    body = {"role": "user", "text": text, "user": "ana"}
    answer = served.client.post("/v1/sessions/talk/messages", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    said: dict[str, Any] = answer.json()
    return said


def _recalled(served: Served, query: str) -> list[str]:
    found = served.client.post("/v1/recall", json={"query": query, "user": "ana"}).json()
    return [hit["text"] for hit in found["hits"]]


@BOTH
def test_http_answers_with_what_a_wish_changed(place: Place) -> None:
    with serving(place) as served:
        stored = _say(served, "Remember that I play the violin.")["consent"]
        assert (stored["wish"], [each["text"] for each in stored["memories"]]) == ("remember", ["I play the violin."])
        taken = _say(served, "Forget that I play the violin.")["consent"]
        assert (taken["wish"], len(taken["memories"])) == ("forget", 1)
        assert not [text for text in _recalled(served, "violin") if "play" in text]
        undone = served.client.post("/v1/undo", json={"change": taken["undo"]})
        assert [each["text"] for each in undone.json()["items"]] == ["I play the violin."]
        assert [text for text in _recalled(served, "violin") if "play" in text]
        assert _say(served, "I like tea.")["consent"] is None


@BOTH
def test_http_withholds_and_leaves_nothing_behind(place: Place, files_with: Callable[[str], list[str]]) -> None:
    with serving(place) as served:
        said = _say(served, "Don't save this: I'm pregnant with Quxzel.", **{"Idempotency-Key": "one"})
        assert (said["action"], said["consent"]["wish"]) == ("off_record", "off_record")
        assert not _recalled(served, "Quxzel")
        served.client.post("/v1/sessions/talk/end?user=ana").raise_for_status()
        served.pool.operator.drain()
        listed = served.client.get("/v1/sessions/talk/messages?user=ana").json()
        assert listed["items"] == []
    assert not files_with("Quxzel")


def test_only_a_key_of_the_user_can_undo_over_http(place: Place) -> None:
    with serving(place) as served:
        _say(served, "I play the violin.")
        taken = _say(served, "Forget what I told you about the violin.")["consent"]
        assert (taken["memories"], len(taken["messages"])) == ([], 1)
        other, own = served.key(user="ben"), served.key(user="ana")
        body = {"change": taken["undo"]}
        assert served.as_(other).post("/v1/undo", json=body).status_code == 404
        assert served.as_(own).post("/v1/undo", json=body).status_code == 200


@BOTH
def test_mcp_answers_with_what_a_wish_changed(memory: Engine) -> None:
    def call(name: str, **arguments: Any) -> Any:
        return tell(in_process(memory, user="ana"), lambda client: client.call_tool(name, arguments)).structured_content

    texts = ("Remember that I play the violin.", "Don't save this: I'm pregnant with Quxzel.", "Forget that I play the violin.")
    messages = [{"role": "user", "content": text} for text in texts]
    first = call("add_messages", messages=messages[:2], conversation_id="talk")
    assert [each["wish"] for each in first["consent"]] == ["remember", "off_record"]
    taken = call("add_messages", messages=messages[2:], conversation_id="talk")["consent"][0]
    assert [each["content"] for each in taken["memories"]] == ["I play the violin."]
    assert not memory.memories(user="ana")
    call("undo_change", change_id=taken["change_id"])
    assert [each.text for each in memory.memories(user="ana")] == ["I play the violin."]
    assert "Quxzel" not in json.dumps(call("search_memories", query="Quxzel"))


def test_an_import_leaves_out_what_was_off_the_record(open_memory: OpenMemory, tmp_path: Path) -> None:
    said = [
        ("user", "I live in Lyon."),
        ("assistant", "Nice."),
        ("user", "Don't save this: I'm pregnant with Quxzel."),
        ("assistant", "Congratulations on Quxzel!"),
        ("user", "My boss is Wibblor."),
        ("user", "Don't save what I just said."),
        ("assistant", "Fine."),
        ("user", "Forget that I live in Lyon."),
        ("user", "Remember that I play the violin."),
    ]
    nodes = {
        str(number): {
            "id": str(number),
            "parent": str(number - 1) if number else None,
            "children": [str(number + 1)] if number + 1 < len(said) else [],
            "message": {
                "id": f"m{number}",
                "author": {"role": role},
                "create_time": 1_760_000_000 + number,
                "content": {"content_type": "text", "parts": [text]},
            },
        }
        for number, (role, text) in enumerate(said)
    }
    talk = {"id": "talk", "title": "Talk", "create_time": 1_760_000_000, "current_node": str(len(said) - 1), "mapping": nodes}
    (tmp_path / "conversations.json").write_text(json.dumps([talk]), "utf-8")
    memory = open_memory()
    result = memory.import_from(tmp_path / "conversations.json", user="ana")
    assert result.messages.withheld == 4
    memory.drain()
    kept = [message.text for message in memory.session(id="talk", user="ana").messages()]
    assert kept == ["I live in Lyon.", "Nice.", "Forget that I live in Lyon.", "Remember that I play the violin."]
    assert not [hit for hit in memory.recall("Quxzel Wibblor", user="ana") if "Quxzel" in hit.text or "Wibblor" in hit.text]
    assert any("Lyon" in each.text for each in memory.memories(user="ana"))
