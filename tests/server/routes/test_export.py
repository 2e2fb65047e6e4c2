"""Exports over HTTP: the same bytes as from the library, limited to the rights of the key."""

import json
import zipfile
from io import BytesIO

import pytest

from tests.server.http_support import Served


@pytest.fixture
def filled(served: Served) -> Served:
    for user in ("ana", "bob"):
        served.client.post(f"/v1/sessions/{user}s/messages", json={"role": "user", "text": f"I am {user}.", "user": user})
        served.client.post("/v1/memories", json={"text": f"fact of {user}", "user": user})
    return served


@pytest.mark.ledger("X18", "X13")
def test_the_stream_is_the_export_of_the_library(filled: Served) -> None:
    found = filled.client.get("/v1/export", params={"user": "ana"})
    assert (found.status_code, found.headers["content-type"]) == (200, "application/x-ndjson")
    assert found.headers["content-disposition"] == 'attachment; filename="holdfast.jsonl"'
    file = BytesIO()
    with filled.pool.lease(filled.pool.tenant) as memory:
        memory.export(file, user="ana")
    assert found.content == file.getvalue()
    assert b"bob" not in found.content


def test_a_bound_key_exports_only_its_own_data(filled: Served) -> None:
    filled.key("admin")
    ana = filled.as_(filled.key("read", user="ana"))
    lines = [json.loads(line) for line in ana.get("/v1/export").content.splitlines()]
    assert lines[0]["selection"] == {"user": "ana"}
    assert ana.get("/v1/export", params={"user": "bob"}).status_code == 404
    assert ana.get("/v1/sessions/bobs/export").status_code == 404
    assert filled.client.get("/v1/export").status_code == 401


def test_a_bound_key_does_not_see_memories_of_others_derived_from_its_messages(filled: Served) -> None:
    with filled.pool.lease(filled.pool.tenant) as memory:
        source = memory.session(id="anas").messages()[0].id
        memory.remember("bob heard that ana is here", user="bob", sources=[source])
    whole = filled.client.get("/v1/export", params={"user": "ana"})
    assert b"bob heard" in whole.content  # erasing ana removes it
    filled.key("admin")
    ana = filled.as_(filled.key("read", user="ana"))
    assert b"bob heard" not in ana.get("/v1/export").content
    assert b"bob heard" not in ana.get("/v1/sessions/anas/export").content


def test_a_session_and_other_formats_are_exported(filled: Served) -> None:
    session = filled.client.get("/v1/sessions/anas/export", params={"format": "markdown"})
    assert session.headers["content-type"].startswith("text/markdown")
    assert "I am ana." in session.text
    bundle = filled.client.get("/v1/export", params={"format": "pam"})
    assert "memory-store.json" in zipfile.ZipFile(BytesIO(bundle.content)).namelist()
    assert filled.client.get("/v1/export", params={"format": "xml"}).status_code == 400


def test_an_export_has_traces_that_background_work_has_not_written_yet(filled: Served) -> None:
    filled.client.post("/v1/context", json={"query": "what does ana like?", "user": "ana"})
    assert '"type":"trace"' in filled.client.get("/v1/export", params={"user": "ana"}).text
