"""Titles of sessions, and the people and places around a user, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.http_support import Served, serving

pytestmark = pytest.mark.ledger("X37")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as found:
        yield found


def titled(served: Served, *texts: str, **more: str) -> str | None:
    """Add messages of a user to a new session, and return its title."""
    id = f"ses-{abs(hash(texts))}"
    for text in texts:
        body = {"role": "user", "text": text, "user": "zoe", **more}
        assert served.client.post(f"/v1/sessions/{id}/messages", json=body).status_code == 201
    one = served.client.get(f"/v1/sessions/{id}", params={"user": "zoe"}).json()["title"]
    listed = {each["id"]: each["title"] for each in served.client.get("/v1/sessions", params={"user": "zoe"}).json()["items"]}
    assert listed[id] == one
    title: str | None = one
    return title


def test_a_session_is_titled_after_its_first_statement(served: Served) -> None:
    title = titled(served, "Hi!", "Could you help me?", "The roof of our barn leaks since Sunday. It rains.", "And I own a goat.")
    assert title == "The roof of our barn leaks since Sunday"


def test_a_session_of_questions_is_titled_after_the_first(served: Served) -> None:
    assert titled(served, "Hola", "¿Dónde guardé la escalera?") == "¿Dónde guardé la escalera?"


def test_a_session_of_small_talk_has_no_title(served: Served) -> None:
    assert titled(served, "Hi there!") is None


def test_a_long_statement_is_cut_between_words(served: Served) -> None:
    title = titled(served, "I keep the " + "spotted salamander " * 8 + "in a tank")
    assert title is not None
    assert len(title) <= 70
    assert title.endswith("…")
    assert title[:-1].split()[-1] in {"spotted", "salamander"}


def test_noise_does_not_become_a_title(served: Served) -> None:
    assert titled(served, "I told the neighbors about the surprise party.", action="IGNORE") is None


def test_a_session_says_when_its_last_message_was_said(served: Served) -> None:
    body = {"role": "user", "text": "We planted an almond tree.", "user": "zoe", "at": "2023-04-01T10:00:00Z"}
    assert served.client.post("/v1/sessions/old/messages", json=body).status_code == 201
    found = served.client.get("/v1/sessions/old", params={"user": "zoe"}).json()
    assert found["said_at"].startswith("2023-04-01T10:00")
    assert not found["last_at"].startswith("2023")


def test_people_and_places_are_distinguished_and_linked(served: Served) -> None:
    for text in ("Her brother Oduya lives in Mombasa", "Moved to Mombasa in 2019", "Works for Brightlane", "Swims on Mondays"):
        served.client.post("/v1/memories", json={"text": text, "user": "zoe"})
    served.client.post("/v1/memories", json={"text": "His sister Petronella lives in Riga", "user": "someone-else"})
    found = served.client.get("/v1/users/zoe/around").json()
    assert {each["name"]: each["kind"] for each in found["names"]} == {
        "Mombasa": "place",
        "Oduya": "person",
        "Brightlane": "other",
    }
    assert found["names"][0]["count"] == 2
    assert [sorted(each["between"]) for each in found["links"]] == [["Mombasa", "Oduya"]]


def test_a_key_of_another_user_or_of_an_app_cannot_read_the_people_around_a_user(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "Her brother Oduya lives in Mombasa", "user": "zoe"})
    assert served.as_(served.key("read", user="jon")).get("/v1/users/zoe/around").status_code == 404
    assert served.as_(served.key("read", app="kitchen")).get("/v1/users/zoe/around").status_code == 403
