"""The targets of forget, erase, undo and accept over HTTP: each caller reaches its own data, and nothing else changes."""

from typing import Any

import pytest

from holdfast.services import services
from holdfast.types import Author, Put, Scope
from holdfast.write import Writer
from tests.server.http_support import Served


def _memory(served: Served, user: str | None, text: str, **more: Any) -> str:
    with served.pool.lease(served.pool.tenant) as engine:
        return engine.remember(text, user=user, **more).id


def _texts(served: Served, user: str) -> list[str]:
    with served.pool.lease(served.pool.tenant) as engine:
        return sorted(each.text for each in engine.memories(user=user) if each.scope.user == user)


def test_forgetting_by_id_or_key_affects_only_the_callers_memories(served: Served) -> None:
    tea, shared = _memory(served, "ana", "tea", key="drink"), _memory(served, None, "water", key="drink")
    cocoa = _memory(served, "bob", "cocoa", key="drink")
    ana = served.as_(served.key("write", user="ana"))
    for body in ({}, {"id": tea, "key": "drink"}):
        assert ana.post("/v1/forget", json=body).status_code == 400
    assert ana.post("/v1/forget", json={"id": cocoa}).status_code == 404
    assert ana.post("/v1/forget", json={"id": shared}).status_code == 403
    assert ana.post("/v1/forget", json={"key": "drink"}).json() == {"forgotten": 1}
    assert (_texts(served, "ana"), _texts(served, "bob")) == ([], ["cocoa"])
    assert ana.post("/v1/forget", json={"key": "drink"}).status_code == 404, "the shared memory is not theirs to forget"
    other = _memory(served, "ana", "chess", key="game")
    assert ana.post("/v1/forget", json={"id": other}).json() == {"forgotten": 1}
    anyone = served.as_(served.key("write"))
    assert anyone.post("/v1/forget", json={"key": "drink", "user": "bob"}).json()["forgotten"] >= 1
    assert _texts(served, "bob") == []


def test_erasing_takes_exactly_one_target_and_only_the_callers_data(served: Served) -> None:
    with served.pool.lease(served.pool.tenant) as engine:
        said = {user: engine.session(user=user, id=f"s-{user}").add("user", f"I am {user}.") for user in ("ana", "bob")}
    kept = {user: _memory(served, user, f"{user} likes tea", sources=[said[user].id]) for user in ("ana", "bob")}
    ana = served.as_(served.key("write", user="ana"))
    for body in ({}, {"id": kept["ana"], "session": "s-ana"}, {"source": said["ana"].id, "user": "ana"}):
        assert ana.post("/v1/erase", json=body).status_code == 400
    for body in ({"id": kept["bob"]}, {"session": "s-bob"}, {"source": said["bob"].id}, {"source": "msg_absent"}):
        assert ana.post("/v1/erase", json=body).status_code == 404
    assert ana.post("/v1/erase", json={"user": "ana"}).status_code == 403, "it needs an admin key"
    receipt = ana.post("/v1/erase", json={"source": said["ana"].id}).json()
    assert (receipt["messages"], receipt["memories"], receipt["verified"]) == (1, 1, True)
    assert (_texts(served, "ana"), _texts(served, "bob")) == ([], ["bob likes tea"])
    again = served.as_(served.key("write", user="bob"))
    receipt = again.post("/v1/erase", json={"session": "s-bob"}).json()
    assert (receipt["sessions"], receipt["messages"], receipt["memories"]) == (1, 1, 1)
    _memory(served, "bob", "bob likes chess")
    admin = served.as_(served.key("admin"))
    assert admin.post("/v1/erase", json={"user": "bob"}).json()["memories"] == 1
    assert _texts(served, "bob") == []


def test_undoing_needs_the_right_to_every_memory_of_the_change(served: Served) -> None:
    tea = _memory(served, "ana", "tea")
    ana, bob = (served.as_(served.key("write", user=user)) for user in ("ana", "bob"))
    assert ana.post("/v1/forget", json={"id": tea}).status_code == 200
    change = ana.get(f"/v1/memories/{tea}/history").json()["items"][-1]["id"]
    refused = bob.post("/v1/undo", json={"change": change})
    assert (refused.status_code, refused.json()["detail"]) == (
        404,
        bob.post("/v1/undo", json={"change": "chg_absent"}).json()["detail"].replace("chg_absent", change),
    )
    assert [each["text"] for each in ana.post("/v1/undo", json={"change": change}).json()["items"]] == ["tea"]
    assert _texts(served, "ana") == ["tea"]


@pytest.mark.parametrize(("call", "status"), [("accept", "live"), ("dismiss", "forgotten")])
def test_only_the_owner_decides_on_a_proposal(served: Served, call: str, status: str) -> None:
    old = _memory(served, "ana", "lives in Lyon")
    with served.pool.lease(served.pool.tenant) as engine, services(engine).store.write() as tx:
        writer = Writer(tx=tx, preset=engine.preset, author=Author(actor="test"), now=services(engine).clock.now())
        change = Put(scope=Scope(user="ana"), kind="fact", text="lives in Nantes", replaces=(old,), doubtful=True)
        proposed = writer.apply([change])[0].id
    ana, bob, reader = (
        served.as_(served.key(level, user=user)) for level, user in (("write", "ana"), ("write", "bob"), ("read", "ana"))
    )
    assert [each["id"] for each in reader.get("/v1/proposals").json()["items"]] == [proposed]
    assert bob.get("/v1/proposals").json()["items"] == []
    assert bob.post(f"/v1/proposals/{proposed}/{call}").status_code == 404
    assert reader.post(f"/v1/proposals/{proposed}/{call}").status_code == 403
    done = ana.post(f"/v1/proposals/{proposed}/{call}").json()
    assert (done["id"], done["status"]) == (proposed, status)
    assert _texts(served, "ana") == (["lives in Nantes"] if call == "accept" else ["lives in Lyon"])


@pytest.mark.parametrize("where", ["{", "[1]", '"x"', "[" * 100_000])
def test_a_filter_that_is_no_json_object_is_refused(served: Served, where: str) -> None:
    answer = served.client.get("/v1/memories", params={"user": "ana", "where": where[:2000]})
    assert (answer.status_code, "where" in answer.json()["detail"]) == (400, True)


def test_a_job_is_rerun_by_an_unbound_admin_alone(served: Served) -> None:
    with served.pool.lease(served.pool.tenant) as engine:
        session = engine.session(user="ana")
        session.add("user", "I play the cello.")
        session.end()
        (job,) = engine.jobs()
    admin = served.as_(served.key("admin"))
    for key in (served.key("write"), served.key("admin", user="ana")):
        assert served.as_(key).post(f"/v1/jobs/{job.id}/rerun").status_code == 403
    again = admin.post(f"/v1/jobs/{job.id}/rerun").json()
    assert (again["id"], again["state"]) == (job.id, "queued")
    assert admin.post("/v1/jobs/job_absent/rerun").status_code == 404


def test_a_bound_key_counts_only_its_own_memories(served: Served) -> None:
    _memory(served, "ana", "tea")
    _memory(served, "bob", "cocoa")
    _memory(served, "bob", "chess")
    with served.as_(served.key("read", user="bob")).stream("GET", "/v1/events") as stream:
        lines = iter(stream.iter_lines())
        assert next(lines) == "event: change"
        assert next(lines) == 'data: {"memories":2,"messages":null,"jobs":{}}'
