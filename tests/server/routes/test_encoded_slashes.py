"""Ids and names that contain a slash are reached over HTTP: the client encodes the slash."""

from urllib.parse import quote

import pytest

from tests.server.http_support import Served

PROJECT = "github.com/acme/shop"


@pytest.mark.parametrize("slash", ["%2F", "%2f"])
def test_a_session_whose_id_has_a_slash_is_reached(served: Served, slash: str) -> None:
    assert served.client.post("/v1/sessions", json={"id": "Zürich/7 a", "user": "ana"}).status_code == 201
    path = f"/v1/sessions/{quote('Zürich')}{slash}7%20a"
    assert served.client.post(f"{path}/messages", json={"role": "user", "text": "hello", "user": "ana"}).status_code == 201
    assert served.client.get(f"{path}?user=ana").json()["id"] == "Zürich/7 a"
    assert [each["text"] for each in served.client.get(f"{path}/messages?user=ana").json()["items"]] == ["hello"]


def test_an_app_and_a_user_whose_names_have_a_slash_are_reached(served: Served) -> None:
    with served.pool.lease(served.pool.tenant) as engine:
        engine.remember("uses pnpm", user="ana", app=PROJECT)
    listed = served.client.get(f"/apps/{quote(PROJECT, safe='')}/memories?user=ana")
    assert listed.status_code == 200
    assert "uses pnpm" in listed.text
    assert served.client.put("/v1/users/team%2Fana", json={"language": "es"}).status_code == 200
    assert served.client.get("/v1/users/team%2Fana").json()["language"] == "es"


def test_an_encoded_slash_does_not_lead_to_another_route(served: Served) -> None:
    assert served.client.put("/v1/users/ana%2Foverview", json={"language": "es"}).json()["user"] == "ana/overview"
    assert served.client.get("/v1%2Fusers/ana").status_code == 404


def test_a_topic_whose_name_has_a_slash_is_reached_with_and_without_encoding(served: Served) -> None:
    with served.pool.lease(served.pool.tenant) as engine:
        engine.remember("the garden has tulips", user="ana", topic="home/garden")
    pages = [served.client.get(f"/v1/topics/{name}?user=ana") for name in ("home/garden", "home%2Fgarden")]
    assert [page.status_code for page in pages] == [200, 200]
    assert pages[0].json() == pages[1].json()
