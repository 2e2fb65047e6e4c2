"""Topic pages, apps, statistics, users, access keys, and the OpenAPI document."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.testing import ScriptedChat
from tests.server.http_support import Served, serving

ANA = {"user": "ana"}


def _page(served: Served, markdown: str, **more: Any) -> Any:
    return served.client.put("/v1/topics/garden", json={"markdown": markdown, **ANA, **more})


def _long(served: Served, lines: int = 12) -> str:
    text = "# Garden\n\n" + "".join(f"- the bed number {number} has its own plants\n" for number in range(lines))
    page: dict[str, Any] = _page(served, text).json()
    return str(page["markdown"])


@pytest.mark.everywhere
def test_lines_of_a_page_that_a_person_writes_become_memories(served: Served) -> None:
    page = _page(served, "# Garden\n\n- the tomatoes are planted (2026-05-02)\n- roses are red").json()
    assert (page["topic"], page["title"], len(page["lines"])) == ("garden", "Garden", 2)
    assert page["lines"][0]["valid_from"].startswith("2026-05-02")
    listed = served.client.get("/v1/topics", params=ANA).json()["items"]
    assert [(each["topic"], each["lines"]) for each in listed] == [("garden", 2)]
    assert served.client.get("/v1/topics/garden", params=ANA).json() == page


@pytest.mark.everywhere
def test_an_edited_line_is_a_revision_and_a_missing_one_is_forgotten(served: Served) -> None:
    before = _page(served, "# Garden\n\n- the tomatoes are planted\n- roses are red\n").json()
    text = before["markdown"].replace("the tomatoes are planted", "the tomatoes are ripe")
    text = "\n".join(row for row in text.splitlines() if "roses" not in row)
    after = _page(served, text, base=before["markdown"]).json()
    assert [(each["id"], each["text"], each["revision"]) for each in after["lines"]] == [
        (before["lines"][0]["id"], "the tomatoes are ripe", 2)
    ]
    assert served.client.get("/v1/memories?user=ana&retired=true").json()["items"][0]["text"] == "roses are red"


@pytest.mark.everywhere
def test_memories_learned_since_the_edit_began_stay(served: Served) -> None:
    before = _page(served, "# Garden\n\n- roses are red\n").json()
    served.client.post("/v1/memories", json={"text": "the hose is new", "topic": "garden", **ANA})
    after = _page(served, before["markdown"] + "- the shed is green\n", base=before["markdown"]).json()
    assert {each["text"] for each in after["lines"]} == {"roses are red", "the hose is new", "the shed is green"}


def test_taking_many_lines_away_needs_to_be_confirmed(served: Served) -> None:
    text = _long(served)
    short = "\n".join(text.splitlines()[:5]) + "\n"
    answer = _page(served, short, base=text)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "9 of the 12 lines" in answer.json()["detail"]
    assert len(served.client.get("/v1/topics/garden", params=ANA).json()["lines"]) == 12
    assert len(_page(served, short, base=text, confirm=True).json()["lines"]) == 3


def test_a_new_title_renames_the_topic(served: Served) -> None:
    before = _page(served, "# Garden\n\n- roses are red\n").json()
    after = _page(served, before["markdown"].replace("# Garden", "# Back yard"), base=before["markdown"]).json()
    assert (after["title"], after["lines"][0]["id"]) == ("Back yard", before["lines"][0]["id"])
    assert served.client.get("/v1/topics/garden", params=ANA).status_code == 404


def test_a_preset_without_topics_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, preset="reachy") as server:
        assert server.client.get("/v1/topics").json() == {"items": []}
        answer = _page(server, "# Garden\n\n- roses\n")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


@pytest.mark.everywhere
@pytest.mark.ledger("A7")
def test_an_app_is_installed_listed_and_uninstalled(served: Served) -> None:
    made = served.client.post("/apps", json={"appId": "kitchen", "name": "Kitchen", "sharesWith": ["hall"]})
    assert (made.status_code, made.json()["installed"], made.json()["sharesWith"]) == (201, True, ["hall"])
    served.client.post("/v1/memories", json={"text": "the oven is hot", "app": "kitchen", **ANA})
    (listed,) = served.client.get("/apps").json()["apps"]
    assert (listed["appId"], listed["name"], listed["memoryCount"]) == ("kitchen", "Kitchen", 1)
    assert served.client.delete("/apps/kitchen").json() == {"success": True, "deletedCount": 0}
    assert served.client.get("/apps").json()["apps"] == []
    assert len(served.client.get("/apps/kitchen/memories").json()["memories"]) == 1
    assert served.client.delete("/apps/kitchen?purgeMemories=true").json() == {"success": True, "deletedCount": 1}


@pytest.mark.ledger("A7")
def test_an_app_s_memories_are_listed_deleted_and_purged_with_the_count(tmp_path: Path) -> None:
    with serving(tmp_path, preset="apps") as server:
        client = server.client
        talk = client.post("/v1/sessions", json={"app": "kitchen", **ANA}).json()["id"]
        for text in ("My oven is a Bosch.", "I bake bread every Sunday."):
            client.post(f"/v1/sessions/{talk}/messages", json={"role": "user", "text": text})
        client.post(f"/v1/sessions/{talk}/end")
        client.post("/v1/work")
        (memory,) = client.get("/apps/kitchen/memories").json()["memories"]
        assert set(memory) == {"id", "content", "createdAt", "updatedAt", "sourceConversationId", "metadata"}
        assert "Bosch" in memory["content"]
        assert memory["sourceConversationId"] == talk
        assert memory["metadata"].keys() >= {"importance", "tags", "relatedConversations"}
        assert 0 <= memory["metadata"]["importance"] <= 10
        assert memory["metadata"]["tags"]
        assert memory["metadata"]["relatedConversations"] == []
        assert client.get(f"/conversations/{talk}/app").json() == {"appId": "kitchen"}
        assert client.get("/conversations/none/app").json() == {"appId": None}
        assert client.delete(f"/apps/hall/memories/{memory['id']}").status_code == 404
        assert client.delete(f"/apps/kitchen/memories/{memory['id']}").json() == {"success": True}
        assert client.delete(f"/apps/kitchen/memories/{memory['id']}").status_code == 404
        for text in ("one", "two"):  # as an import stores them: without messages
            client.post("/v1/memories", json={"text": text, "app": "kitchen", "metadata": {"conversation": "c9"}})
        assert {each["sourceConversationId"] for each in client.get("/apps/kitchen/memories").json()["memories"]} == {"c9"}
        assert client.delete("/apps/kitchen/memories").json() == {"success": True, "deletedCount": 2}
        assert client.get("/apps/metrics").json()["conversations"] == 1


@pytest.mark.everywhere
def test_an_app_s_context_compactions_and_energy_are_served(tmp_path: Path) -> None:
    with serving(tmp_path, preset="apps") as server:
        client = server.client
        for number in range(11):
            made = client.post(
                "/v1/memories", json={"text": f"The user's locker {number} is in hall {number * 7}.", "app": "gym"}
            )
            assert made.status_code == 201
        talk = client.post("/v1/sessions", json={"app": "gym"}).json()["id"]
        client.post(f"/v1/sessions/{talk}/messages", json={"role": "user", "text": "Where is locker 3?"})
        assert client.post("/apps/energy", json={"level": 0.1, "used": 50}).json()["level"] == 0.1
        client.post("/v1/work")
        assert len(client.get("/apps/gym/memories").json()["memories"]) == 11, "a low battery holds the work back"
        client.post("/apps/energy", json={"level": 0.9})
        assert client.post("/apps/energy", json={"used": False}).status_code == 400  # not 0
        client.post("/v1/work")
        assert len(client.get("/apps/gym/memories").json()["memories"]) == 10
        (removed,) = client.get("/apps/gym/compactions").json()["compactions"]
        assert removed["reason"]
        assert "locker" in removed["text"]
        for point in ("unanswered", "review", "selection"):
            block = client.get("/apps/gym/context", params={"point": point, "conversation": talk}).json()
            assert block["text"].startswith("(memories for app: gym)")
            assert len(block["memories"]) == 10
        assert client.get("/apps/gym/context", params={"point": "nowhere"}).status_code == 400
        assert client.get("/apps/gym/context", params={"conversation": "none"}).status_code == 404
        assert client.post("/apps/energy", json={"level": 7}).status_code == 400


def test_statistics_count_days_kinds_lag_and_recalls(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "prefers tea", **ANA})
    served.client.post("/v1/memories", json={"text": "we buy a lamp", "kind": "decision", **ANA})
    for _ in range(3):
        served.client.post("/v1/recall", json={"query": "tea", **ANA})
    served.client.post("/v1/sessions/t/messages", json={"role": "user", "text": "I live in Lyon.", **ANA})
    served.client.post("/v1/sessions/t/end")
    stats = served.client.get("/v1/stats").json()
    assert (stats["memories"], stats["messages"], stats["sessions"]) == (2, 1, 1)
    assert stats["by_kind"] == {"fact": 1, "decision": 1}
    assert {(each["kind"], each["count"]) for each in stats["memories_per_day"]} == {("fact", 1), ("decision", 1)}
    assert (stats["queue"]["queued"], stats["recall_ms"]["count"]) == (1, 3)
    assert 0 < stats["recall_ms"]["p50"] <= stats["recall_ms"]["p95"]
    assert stats["digestion_lag_seconds"] >= 0
    assert stats["store_bytes"] > 0
    served.client.post("/v1/work")
    after = served.client.get("/v1/stats").json()
    assert (after["queue"]["queued"], after["digestion_lag_seconds"]) == (0, 0)
    assert after["energy"] > 0


def test_the_spend_of_replies_is_counted(tmp_path: Path) -> None:
    with serving(tmp_path, chat=ScriptedChat("Hello.")) as server:
        server.client.post("/v1/sessions/t/chat", json={"text": "hi", **ANA})
        (spend,) = server.client.get("/v1/stats").json()["spend"]
    assert (spend["purpose"], spend["model"], spend["calls"]) == ("chat", "scripted", 1)


def test_a_user_s_zone_and_language_are_kept(served: Served) -> None:
    told = served.client.put("/v1/users/ana", json={"timezone": "Europe/Madrid", "language": "es"}).json()
    assert told == served.client.get("/v1/users/ana").json()
    assert told == {"user": "ana", "timezone": "Europe/Madrid", "language": "es"}
    wrong = served.client.put("/v1/users/ana", json={"timezone": "Middle/Earth"})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")


@pytest.mark.everywhere
@pytest.mark.ledger("X8")
def test_a_key_is_created_listed_without_its_secret_and_revoked_at_once(served: Served) -> None:
    admin = served.as_(served.key("admin"))
    made = admin.post("/v1/keys", json={"scope": "write", "user": "ana", "label": "phone"}).json()
    phone = served.as_(made["key"])
    assert phone.get("/v1/me").json()["user"] == "ana"
    listed = admin.get("/v1/keys").json()["items"]
    assert made["id"] in [each["id"] for each in listed]
    assert made["key"] not in admin.get("/v1/keys").text
    admin.delete(f"/v1/keys/{made['id']}")
    assert phone.get("/v1/me").status_code == 401


def test_the_document_has_examples_and_a_problem_for_every_operation(served: Served) -> None:
    document = served.client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            wrong = {"401", "404", "429"} - set(operation["responses"]) if path != "/health" else set()
            assert not wrong, (method, path, wrong)
            assert operation["operationId"]
            assert operation["summary"]
            assert operation["description"]
    assert "422" not in str(document["paths"].keys())
    assert document["components"]["schemas"]["Memory"]["properties"]["text"]["examples"] == ["prefers tea"]


def test_the_document_describes_every_parameter_and_field(served: Served) -> None:
    document = served.client.get("/openapi.json").json()
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    bare = [
        (each["operationId"], one["name"])
        for each in operations
        for one in each.get("parameters", ())
        if "description" not in one
    ]
    for name, schema in document["components"]["schemas"].items():
        bare += [(name, field) for field, rule in schema.get("properties", {}).items() if "description" not in rule]
    assert bare == []


def test_the_dashboard_is_served_at_the_root(served: Served) -> None:
    page = served.client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert served.client.get("/no-such-file.js").headers["content-type"] == "application/problem+json"
    for outside in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py"):
        assert served.client.get(outside).status_code == 404


def test_the_openapi_document_needs_a_key_where_others_do(served: Served) -> None:
    assert served.client.get("/openapi.json").status_code == 200
    key = served.key("read")
    assert served.client.get("/openapi.json").status_code == 401
    assert served.as_(key).get("/openapi.json").json()["openapi"].startswith("3.")


def test_the_first_key_of_a_server_must_be_an_admin_key(served: Served) -> None:
    refused = served.client.post("/v1/keys", json={"scope": "write"})
    assert refused.status_code == 409
    assert "The first key must be an admin key" in refused.json()["detail"]
    assert served.client.get("/v1/keys").json()["items"] == []
    admin = served.client.post("/v1/keys", json={"scope": "admin"}).json()["key"]
    assert served.as_(admin).post("/v1/keys", json={"scope": "write", "user": "ana"}).status_code == 201


def test_a_key_that_is_bound_to_an_app_cannot_change_the_settings_of_a_user(served: Served) -> None:
    for bound in ({"app": "kitchen"}, {"app": "kitchen", "user": "ana"}, {"agent": "cook"}):
        answer = served.as_(served.key("write", **bound)).put("/v1/users/ana", json={"timezone": "Asia/Tokyo"})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    own = served.as_(served.key("write", user="ana"))
    assert own.put("/v1/users/ana", json={"timezone": "Asia/Tokyo"}).json()["timezone"] == "Asia/Tokyo"


def test_a_memory_of_an_app_names_the_session_of_its_first_message(served: Served) -> None:
    with served.pool.lease("default") as memory:
        said = memory.session(id="c7", user="ana", app="kitchen").add("user", "The oven runs hot.")
        earlier = memory.remember("the oven is old", user="ana", app="kitchen")
        memory.remember("the oven runs hot", user="ana", app="kitchen", sources=[earlier.id, said.id])
    listed = served.client.get("/apps/kitchen/memories?user=ana").json()["memories"]
    assert {each["content"]: each["sourceConversationId"] for each in listed} == {
        "the oven is old": None,
        "the oven runs hot": "c7",
    }
