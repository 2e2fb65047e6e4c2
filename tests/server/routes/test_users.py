"""Users over HTTP: the default user, the list of people, and the overview of one person."""

from pathlib import Path

import pytest

from holdfast.config.default_user import default_user
from holdfast.config.settings import Settings
from holdfast.services import services
from holdfast.testing.samples import a_memory
from holdfast.types import Scope
from tests.server.http_support import Served, serving

pytestmark = pytest.mark.ledger("X37")


def test_a_local_caller_learns_the_default_user(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(user="noor")) as server:
        assert server.client.get("/v1/me").json()["default_user"] == "noor"


def test_without_a_chosen_default_the_login_name_is_proposed(served: Served) -> None:
    assert served.client.get("/v1/me").json()["default_user"] == default_user(Settings()).name


def test_only_the_operator_s_admin_keys_learn_the_default_user(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(user="noor")) as server:
        keys = {
            "admin": server.key("admin"),
            "reader": server.key("read"),
            "app": server.key("admin", app="kitchen"),
            "tenant": server.key("admin", tenant="acme"),
            "user": server.key("read", user="ana"),
        }
        found = {name: server.as_(key).get("/v1/me").json()["default_user"] for name, key in keys.items()}
    assert found == {"admin": "noor", "reader": None, "app": None, "tenant": None, "user": "ana"}


@pytest.mark.everywhere
def test_people_are_found_by_a_part_of_their_name_without_case_or_accents(served: Served) -> None:
    for name in ("María López", "marisol", "Gina", "أمينة", "50%"):
        served.client.post("/v1/memories", json={"text": f"a fact about {name}", "user": name})

    def found(**params: str) -> list[str]:
        return [each["user"] for each in served.client.get("/v1/users", params=params).json()["items"]]

    assert found(q="MARI") == ["María López", "marisol"]
    assert found(q="lópez") == found(q="lopez") == ["María López"]
    assert found(q="أمينة") == ["أمينة"]
    assert found(q="%") == ["50%"]
    assert found(q="_") == []
    assert len(found()) == 5


def test_a_search_for_people_is_paged(served: Served) -> None:
    for number in range(5):
        served.client.post("/v1/memories", json={"text": "a fact", "user": f"ana {number}"})
    served.client.post("/v1/memories", json={"text": "a fact", "user": "bo"})
    seen, offset = [], 0
    while offset is not None:
        page = served.client.get("/v1/users", params={"q": "ana", "limit": 2, "offset": offset}).json()
        seen += [each["user"] for each in page["items"]]
        offset = page["next_offset"]
    assert seen == [f"ana {number}" for number in range(5)]


def test_only_an_unbound_key_lists_people(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "a fact", "user": "ana"})
    reader, bound = served.as_(served.key("read")), served.as_(served.key("admin", user="ana"))
    assert [each["user"] for each in reader.get("/v1/users", params={"q": "a"}).json()["items"]] == ["ana"]
    assert bound.get("/v1/users", params={"q": "a"}).status_code == 403


@pytest.mark.everywhere
def test_an_overview_has_the_facts_by_area_and_what_replaced_them(served: Served) -> None:
    def remember(text: str, **more: object) -> None:
        assert served.client.post("/v1/memories", json={"text": text, **more}).status_code == 201

    remember("Lives in Lyon", user="ana", kind="profile", key="home")
    remember("Lives in Turin", user="ana", kind="profile", key="home")
    remember("Is allergic to penicillin", user="ana", app="kitchen")
    remember("Lives in Oslo", user="bo")
    remember("The office closes at six")
    remember("Ana is a doctor from Lyon.", user="ana", kind="profile", key="summary of all")
    found = served.client.get("/v1/users/ana/overview").json()
    facts = {each["memory"]["text"]: each for each in found["facts"]}
    assert {text: each["area"] for text, each in facts.items()} == {
        "Lives in Lyon": "home",
        "Lives in Turin": "home",
        "Is allergic to penicillin": "health",
    }
    assert facts["Lives in Lyon"]["memory"]["replaced_by"] == facts["Lives in Turin"]["memory"]["id"]
    assert (found["memories"], found["retired"], found["sessions"], found["shared"]) == (3, 1, 0, 1)
    assert found["document"]["text"] == "Ana is a doctor from Lyon."
    assert {each["text"] for each in found["durable"]} == {"Lives in Turin", "Is allergic to penicillin"}


def test_the_facts_of_an_overview_are_paged(served: Served) -> None:
    for number in range(5):
        served.client.post("/v1/memories", json={"text": f"Owns boat number {number}", "user": "ana"})
    seen: list[str] = []
    offset = 0
    while offset is not None:
        page = served.client.get("/v1/users/ana/overview", params={"limit": 2, "offset": offset}).json()
        seen += [each["memory"]["text"] for each in page["facts"]]
        offset = page["next_offset"]
    assert sorted(seen) == [f"Owns boat number {number}" for number in range(5)]


def test_text_of_others_does_not_describe_a_person(served: Served) -> None:
    served.client.post("/v1/sessions/s/messages", json={"role": "tool", "origin": "web", "text": "x", "user": "ana"})
    with served.pool.lease(served.pool.tenant) as memory, services(memory).store.write() as tx:
        tx.add_revision(a_memory("Is allergic to honesty", scope=Scope(tenant=served.pool.tenant, user="ana"), trust=0.2))
    found = served.client.get("/v1/users/ana/overview").json()
    assert [each["memory"]["text"] for each in found["facts"]] == ["Is allergic to honesty"]
    assert found["durable"] == []


def test_an_overview_needs_a_key_that_may_read_all_of_the_user(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "Lives in Lyon", "user": "ana"})
    statuses = {
        name: served.as_(served.key("read", **bound)).get("/v1/users/ana/overview").status_code
        for name, bound in {
            "any": {},
            "ana": {"user": "ana"},
            "bo": {"user": "bo"},
            "app": {"app": "kitchen"},
            "agent": {"agent": "x"},
        }.items()
    }
    assert statuses == {"any": 200, "ana": 200, "bo": 404, "app": 403, "agent": 403}
