"""The routes for imports, the default user and sample data."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import holdfast
from holdfast import Kind
from holdfast.config.settings import Settings
from holdfast.importers.formats import FORMATS
from holdfast.server.routes.admin.imports import _Format
from tests.server.http_support import Served, serving

NOTES = "".join(f"- [2024-05-{day:02}] - Has visited town number {day}\n" for day in range(1, 29)).encode()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory of the server."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def served(tmp_path: Path, home: Path) -> Iterator[Served]:
    with serving(tmp_path / "store") as found:
        yield found


def send(served: Served, content: bytes, **query: Any) -> Any:
    return served.client.post("/v1/import", params={"name": "notes.txt", "user": "ana", **query}, content=content)


def test_a_dry_run_counts_and_stores_nothing_then_the_import_stores_the_same(served: Served) -> None:
    tried = send(served, NOTES, dry_run=True).json()
    assert (tried["format"], tried["dry_run"], tried["memories"]["found"]) == ("pasted", True, 28)
    assert served.client.get("/v1/setup").json()["empty"]
    done = send(served, NOTES).json()
    assert done["memories"]["imported"] == 28
    again = send(served, NOTES).json()
    assert (again["memories"]["imported"], again["memories"]["known"]) == (0, 28)
    assert served.client.get("/v1/memories", params={"user": "ana"}).json()["total"] == 28


def test_progress_is_streamed_and_ends_with_the_result(served: Served) -> None:
    many = "".join(f"- [2024-05-01] - Has read book number {number}\n" for number in range(600)).encode()
    answer = send(served, many, stream=True)
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    steps = [(block[0].removeprefix("event: "), json.loads(block[1].removeprefix("data: "))) for block in blocks]
    assert [name for name, _ in steps] == ["progress"] * 3 + ["answer"]
    assert [data["done"] for _, data in steps[:-1]] == [200, 400, 600]
    assert steps[-1][1]["memories"]["imported"] == 600


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b'{"type":"holdfast-export","version":1}\n{"type":"mem'])
def test_a_file_that_cannot_be_read_is_refused_and_stores_nothing(served: Served, content: bytes) -> None:
    answer = served.client.post("/v1/import", params={"name": "x.bin"}, content=content)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert "holdfast-private" not in answer.text  # the server's folders are not shown
    assert served.client.get("/v1/setup").json()["empty"]
    assert send(served, NOTES).status_code == 200  # the failed import does not block the next one


def test_an_archive_that_unpacks_to_more_than_a_gigabyte_is_refused(served: Served) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", b"[]")
        archive.getinfo("conversations.json").file_size = 2 << 30  # as an archive of zeros has
    answer = served.client.post("/v1/import", params={"name": "chatgpt.zip"}, content=packed.getvalue())
    assert answer.status_code == 400
    assert "1 GB" in answer.json()["detail"]


def test_the_file_name_cannot_leave_its_folder(served: Served, tmp_path: Path) -> None:
    for name in ("../../escaped.txt", "..\\..\\escaped.txt", "/tmp/escaped.txt", ".."):
        assert served.client.post("/v1/import", params={"name": name, "user": "ana"}, content=NOTES).status_code in {200, 400}
    assert not list(tmp_path.rglob("escaped*"))


def test_an_export_is_imported_into_another_store(served: Served, tmp_path: Path) -> None:
    served.client.post("/v1/memories", json={"text": "keeps an axolotl", "user": "ana"})
    exported = served.client.get("/v1/export").content
    with serving(tmp_path / "other") as other:
        done = other.client.post("/v1/import", params={"name": "all.jsonl"}, content=exported).json()
        assert (done["format"], done["memories"]["imported"]) == ("holdfast", 1)
        assert other.client.get("/v1/memories", params={"user": "ana"}).json()["items"][0]["text"] == "keeps an axolotl"


def test_every_format_can_be_named() -> None:
    assert list(get_args(_Format)) == [each.name for each in FORMATS]


def test_a_zipped_folder_is_imported_and_an_unknown_collection_names_the_file(served: Served) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("vault/People/Ida.md", "Plays the oboe.")
    done = served.client.post("/v1/import", params={"name": "vault.zip", "user": "ana"}, content=packed.getvalue())
    assert (done.json()["format"], done.json()["memories"]["imported"]) == ("markdown", 1)
    refused = served.client.post(
        "/v1/import", params={"name": "v.zip", "format": "mem0", "collection": "x"}, content=packed.getvalue()
    )
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith("v.zip has no collection 'x'")


def test_a_running_server_has_the_plain_kinds_of_an_import_at_once(served: Served, tmp_path: Path) -> None:
    described = served.client.get("/openapi.json").json()["components"]["schemas"]["KindName"]["enum"]
    with holdfast.open(tmp_path / "other.db", worker="none", kinds=[Kind(name="item", meaning="A file", plain=True)]) as other:
        other.remember("x", user="ana", kind="item")
        other.export(tmp_path / "all.jsonl")
    done = served.client.post("/v1/import", params={"name": "all.jsonl"}, content=(tmp_path / "all.jsonl").read_bytes())
    assert done.json()["memories"]["imported"] == 1
    stored = served.client.post("/v1/memories", json={"user": "ana", "text": "y", "kind": "item"})
    assert (stored.status_code, stored.json()["kind"]) == (201, "item")
    assert served.client.get("/openapi.json").json()["components"]["schemas"]["KindName"]["enum"] == [*described, "item"]


def test_the_first_start_asks_who_the_user_is(served: Served, home: Path) -> None:
    first = served.client.get("/v1/setup").json()
    assert (first["empty"], first["is_user_chosen"]) == (True, False)
    chosen = served.client.put("/v1/setup/user", json={"user": "Noor"}).json()
    assert (chosen["user"], chosen["is_user_chosen"]) == ("Noor", True)
    assert served.client.get("/v1/me").json()["default_user"] == "Noor"
    assert 'user = "Noor"' in (home / "holdfast.toml").read_text()


def test_a_default_user_that_a_setting_names_is_not_replaced(tmp_path: Path, home: Path) -> None:
    with serving(tmp_path / "store", settings=Settings(user="ana")) as served:
        assert served.client.put("/v1/setup/user", json={"user": "Noor"}).status_code == 409
        assert served.client.get("/v1/setup").json()["user"] == "ana"
    assert not home.exists()


@pytest.mark.parametrize("language", ["en", "es"])
def test_sample_data_is_stored_once_and_removed_completely(served: Served, tmp_path: Path, language: str) -> None:
    client = served.client
    client.post("/v1/memories", json={"text": "is a real person", "user": "ana"})
    users = client.post("/v1/samples", json={"language": language}).json()["users"]
    assert len(users) == 2
    assert client.post("/v1/samples", json={"language": "en"}).status_code == 409
    client.post("/v1/work")
    assert client.get("/v1/setup").json()["samples"] == users
    homes = client.get(f"/v1/users/{users[0]}/overview").json()
    assert homes["retired"] == 1  # the earlier home
    assert homes["sessions"] == 2
    hits = client.post("/v1/recall", json={"query": "Lyon Bruno", "user": "ana"}).json()["hits"]
    assert all(hit["text"] == "is a real person" for hit in hits)
    receipts = client.delete("/v1/samples").json()["receipts"]
    assert len(receipts) == 2
    assert all(each["verified"] for each in receipts)
    assert [each["user"] for each in client.get("/v1/users").json()["items"]] == ["ana"]
    assert client.get("/v1/setup").json()["samples"] == []
    assert client.delete("/v1/samples").json()["receipts"] == []
    store = (tmp_path / "store").rglob("*")
    assert not [file for file in store if file.is_file() and b"Bruno" in file.read_bytes()]


def test_sample_data_never_touches_a_real_user_of_the_same_name(served: Served) -> None:
    served.client.post("/v1/memories", json={"text": "is real", "user": "Marta (sample)"})
    assert served.client.post("/v1/samples", json={"language": "en"}).status_code == 409
    assert served.client.delete("/v1/samples").json()["receipts"] == []
    assert served.client.get("/v1/memories", params={"user": "Marta (sample)"}).json()["total"] == 1


def stored(served: Served) -> bool:
    return not served.client.get("/v1/setup").json()["empty"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("upload", b"garbage"), ("notes.md", b"# Pets\n\nThe cat is called Olga."), ("notes.txt", NOTES)],
)
def test_a_file_without_an_owner_is_refused_unless_sharing_it_is_chosen(served: Served, name: str, content: bytes) -> None:
    refused = served.client.post("/v1/import", params={"name": name}, content=content)
    assert refused.status_code == 400
    assert "Nothing was imported. Name the user, app or agent" in refused.json()["detail"]
    assert not stored(served)
    chosen = served.client.post("/v1/import", params={"name": name, "shared": True}, content=content)
    assert (chosen.status_code, chosen.json()["memories"]["imported"] > 0) == (200, True)


@pytest.mark.parametrize("owner", ["user", "app", "agent"])
def test_naming_an_owner_is_enough_to_import_a_file(served: Served, owner: str) -> None:
    assert served.client.post("/v1/import", params={"name": "n.txt", owner: "fern"}, content=NOTES).status_code == 200


def test_a_file_that_names_its_users_needs_no_owner(served: Served) -> None:
    owned = {"results": [{"id": "1", "memory": "Prefers tea", "user_id": "ana"}]}
    assert served.client.post("/v1/import", params={"name": "m.json"}, json=owned).status_code == 200
    mixed = {"results": [*owned["results"], {"id": "2", "memory": "Has a boat"}]}
    assert served.client.post("/v1/import", params={"name": "m.json"}, json=mixed).status_code == 400
    assert served.client.get("/v1/memories", params={"user": "ana"}).json()["total"] == 1


@pytest.mark.parametrize("content", [b"garbage", b'"garbage"', b"12", b"{'text': 'tea'}", b"%PDF-1.4"])
def test_a_body_that_is_sent_as_json_and_is_none_is_refused(served: Served, content: bytes) -> None:
    for query in ({}, {"user": "ana"}, {"shared": True}, {"user": "ana", "format": "text"}):
        answer = served.client.post("/v1/import", params=query, content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert "the body is not a JSON export" in answer.json()["detail"]
        assert "Send the bytes of one file" in answer.json()["detail"]
    assert not stored(served)


@pytest.mark.parametrize("content", [b'{"colour": "green"}', b'[{"colour": "green"}]', b'{"a": 1}\n{"a": 2}\n'])
def test_json_of_an_unknown_program_is_not_stored_as_a_text_document(served: Served, content: bytes) -> None:
    for name in ("upload", "notes.txt"):
        answer = served.client.post("/v1/import", params={"name": name, "user": "ana"}, content=content)
        assert answer.status_code == 400
        assert "was not recognized" in answer.json()["detail"]
    assert not stored(served)
    named = served.client.post("/v1/import", params={"name": "notes.txt", "user": "ana", "format": "text"}, content=content)
    assert named.json()["memories"]["imported"] == 1


def test_a_bound_key_may_not_read_the_setup(served: Served) -> None:
    admin, bound = served.key("admin"), served.key("admin", user="ana")
    assert served.as_(bound).get("/v1/setup").status_code == 403
    assert served.as_(admin).get("/v1/setup").status_code == 200


def test_the_messages_of_a_sample_follow_each_other(served: Served) -> None:
    user = served.client.post("/v1/samples", json={"language": "en"}).json()["users"][0]
    session = served.client.get("/v1/sessions", params={"user": user}).json()["items"][0]["id"]
    times = [each["at"] for each in served.client.get(f"/v1/sessions/{session}/messages", params={"user": user}).json()["items"]]
    assert len(times) > 2
    assert times == sorted(set(times))
