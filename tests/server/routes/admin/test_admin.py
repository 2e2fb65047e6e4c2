"""The routes for administrators: settings, models, health, backups, and several memories at once."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from holdfast.config.loading import load_settings
from holdfast.config.settings import Settings
from holdfast.errors import ModelUnavailable
from holdfast.testing import ScriptedChat
from tests.server.http_support import Served, serving
from tests.server.routes.test_device import Hears


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory of the server."""
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def served(tmp_path: Path, home: Path) -> Iterator[Served]:
    with serving(tmp_path / "store", chat=ScriptedChat(respond=lambda asked: "ready")) as found:
        yield found


def test_each_setting_says_where_its_value_comes_from(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "holdfast.toml").write_text("undo_days = 12\nserve_port = 9000\n")
    monkeypatch.setenv("HOLDFAST_SERVE_PORT", "9100")
    chosen = load_settings(rate_limit=7)
    with serving(tmp_path / "store", settings=chosen) as served:
        found = {each["name"]: each for each in served.client.get("/v1/settings").json()["items"]}
    shown = {name: (each["value"], each["origin"], each["place"]) for name, each in found.items()}
    assert shown["undo_days"] == (12, "file", str(home / "holdfast.toml"))
    assert shown["serve_port"] == (9100, "environment", "HOLDFAST_SERVE_PORT")
    assert shown["rate_limit"] == (7, "argument", None)
    assert shown["recall_timeout"] == (0.3, "default", None)
    assert shown["context_tokens"] == (800, "preset", None)
    assert "forgetting can be undone" in found["undo_days"]["help"]


def test_keys_and_passwords_are_not_shown(tmp_path: Path, home: Path) -> None:
    chosen = Settings(chat_key="sk-verysecret", embedder_url="http://me:hunter2@localhost/v1")
    with serving(tmp_path / "store", settings=chosen) as served:
        answer = served.client.get("/v1/settings")
    found = {each["name"]: each["value"] for each in answer.json()["items"]}
    assert found["chat_key"] == "***"
    assert found["embedder_url"] == "http://me:***@localhost/v1"
    assert "verysecret" not in answer.text
    assert "hunter2" not in answer.text


def test_a_model_is_tested_by_a_call_that_counts_as_spend(served: Served) -> None:
    result = served.client.post("/v1/models/chat/test").json()
    assert (result["ok"], result["detail"]) == (True, "ready")
    assert [each["purpose"] for each in served.client.get("/v1/stats").json()["spend"]] == ["test"]
    assert served.client.post("/v1/models/embedder/test").json()["ok"]
    assert served.client.post("/v1/models/reader/test").json()["ok"]


def test_a_reranker_and_a_transcriber_are_tested_with_a_call(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_RERANKER", "chat")
    model = ScriptedChat(json.dumps({"ratings": [{"note": 1, "rating": 3}]}))
    with serving(tmp_path / "store", chat=model, transcriber=Hears("", " well ")) as served:
        reranker, silent, heard = [
            served.client.post(f"/v1/models/{role}/test").json() for role in ("reranker", "transcriber", "transcriber")
        ]
    assert (reranker["ok"], reranker["name"], reranker["detail"]) == (True, "chat", "1.00, none")
    assert (silent["ok"], silent["name"], "as it should for silence" in silent["detail"]) == (True, "told", True)
    assert heard["detail"] == "well"


def test_testing_a_role_without_a_model_reports_that_none_is_configured(served: Served) -> None:
    result = served.client.post("/v1/models/reranker/test").json()
    assert (result["ok"], result["name"], result["detail"]) == (False, None, "No model is configured.")


def test_testing_a_model_that_fails_reports_the_error(tmp_path: Path, home: Path) -> None:
    def fail(asked: object) -> str:
        raise ModelUnavailable("The quota is used up.")

    with serving(tmp_path / "store", chat=ScriptedChat(respond=fail)) as served:
        result = served.client.post("/v1/models/chat/test").json()
    assert (result["ok"], "quota is used up" in result["detail"]) == (False, True)


def test_models_are_listed_with_their_problems(tmp_path: Path, home: Path) -> None:
    chosen = Settings(chat="none", reranker="chat")
    with serving(tmp_path / "store", settings=chosen) as served:
        found = {each["role"]: each for each in served.client.get("/v1/models").json()["items"]}
    assert set(found) == {"chat", "embedder", "reranker", "reader", "transcriber"}
    assert found["chat"]["name"] is None
    assert found["embedder"]["name"]


@contextmanager
def ollama(answer: bytes, *, delay: float = 0.0) -> Iterator[int]:
    """A program that responds like Ollama, on a free port of the loopback address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(delay)
            self.send_response(200 if self.path == "/api/tags" else 404)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_a_local_ollama_is_found_with_its_models(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with ollama(json.dumps({"models": [{"name": "llama3.2:latest"}, {"name": 7}]}).encode()) as port:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{port}")
        found = served.client.get("/v1/ollama").json()
    assert found == {"found": True, "url": f"http://127.0.0.1:{port}", "models": ["llama3.2:latest"]}


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"\xff"])
def test_another_program_on_the_port_is_not_ollama(served: Served, monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    with ollama(answer) as port:
        monkeypatch.setenv("OLLAMA_HOST", f"http://localhost:{port}")
        assert not served.client.get("/v1/ollama").json()["found"]


def test_an_ollama_that_hangs_delays_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{silent.getsockname()[1]}")
        started = time.perf_counter()
        assert not served.client.get("/v1/ollama").json()["found"]
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("host", ["192.0.2.1", "http://example.org", "[::bad"])
def test_an_address_of_another_machine_is_not_used(served: Served, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    with ollama(b'{"models": []}') as port:
        monkeypatch.setenv("OLLAMA_HOST", f"{host}:{port}")
        assert not served.client.get("/v1/ollama").json()["found"]


def test_health_names_the_cause_and_the_remedy(tmp_path: Path, home: Path) -> None:
    with serving(tmp_path / "store", settings=Settings(chat="none", reranker="chat")) as served:
        report = served.client.get("/v1/doctor").json()
    assert report["ok"] is False
    first = report["items"][0]
    assert (first["check"], first["ok"]) == ("reranker", False)
    assert "Set `chat`" in first["detail"]
    assert any(each["ok"] for each in report["items"])


def test_a_backup_is_written_listed_and_reached_by_erasures(served: Served) -> None:
    client = served.client
    kept = client.post("/v1/memories", json={"text": "keeps an axolotl", "user": "ana"}).json()
    made = client.post("/v1/backups").json()
    again = client.post("/v1/backups").json()
    assert made["path"] != again["path"]
    assert Path(made["path"]).stat().st_size == made["bytes"]
    assert [each["path"] for each in client.get("/v1/backups").json()["items"]] == [again["path"], made["path"]]
    assert b"axolotl" in Path(made["path"]).read_bytes()
    receipt = client.post("/v1/erase", json={"id": kept["id"]}).json()
    assert receipt["verified"]
    assert b"axolotl" not in Path(made["path"]).read_bytes()
    Path(made["path"]).unlink()
    assert [each["exists"] for each in client.get("/v1/backups").json()["items"]] == [True, False]


def _stored(served: Served, *texts: str) -> list[str]:
    made = [served.client.post("/v1/memories", json={"text": text, "user": "ana"}).json() for text in texts]
    return [each["id"] for each in made]


def test_a_dry_run_counts_exactly_what_an_erasure_removes(served: Served) -> None:
    client = served.client
    client.post("/v1/sessions/talk/messages", json={"role": "user", "text": "My sister Vera lives in Oslo.", "user": "ana"})
    client.post("/v1/sessions/talk/end")
    client.post("/v1/work")
    learned = [each["id"] for each in client.get("/v1/memories", params={"user": "ana"}).json()["items"]]
    ids = [*learned, *_stored(served, "likes rain", "has a kite")]
    client.patch(f"/v1/memories/{ids[-1]}", json={"text": "has a red kite"})
    body = {"ids": ids, "action": "erase"}
    counted = client.post("/v1/memories/bulk", json={**body, "dry_run": True}).json()
    assert counted["receipts"] == []
    assert client.get("/v1/memories", params={"user": "ana"}).json()["total"] == len(ids)
    done = client.post("/v1/memories/bulk", json=body).json()
    receipts = done["receipts"]
    assert counted["losses"] == done["losses"]
    assert counted["losses"]["memories"] == len(ids) == sum(each["memories"] for each in receipts)
    assert counted["losses"]["revisions"] == len(ids) + 1 == sum(each["revisions"] for each in receipts)
    assert counted["losses"]["messages"] == len(learned) > 0
    assert all(each["verified"] for each in receipts)
    assert served.pool.operator.stats().memories == 0


def test_erasing_several_reaches_the_bytes_of_the_store_and_of_its_backups(served: Served) -> None:
    client = served.client
    texts = [f"keeps the {name} in the shed" for name in ("xylophone", "zeppelin", "quokka")]
    ids = _stored(served, *texts, "likes rain")
    copy = Path(client.post("/v1/backups").json()["path"])
    done = client.post("/v1/memories/bulk", json={"ids": ids[:3], "action": "erase"}).json()
    assert [each["target"] for each in done["receipts"]] == [{"memory": id} for id in ids[:3]]
    assert all(each["verified"] and each["status"] == "erased" for each in done["receipts"])
    left = b"".join(path.read_bytes() for path in (*copy.parent.iterdir(), *copy.parent.parent.glob("memory.db*")))
    assert not any(text.encode() in left for text in texts)
    assert b"likes rain" in left
    assert [each["text"] for each in client.get("/v1/memories", params={"user": "ana"}).json()["items"]] == ["likes rain"]


def test_forgetting_several_can_be_undone(served: Served) -> None:
    client, ids = served.client, _stored(served, "likes rain", "has a kite", "sings")
    done = client.post("/v1/memories/bulk", json={"ids": ids[:2], "action": "forget"}).json()
    assert [each["id"] for each in client.get("/v1/memories", params={"user": "ana"}).json()["items"]] == ids[2:]
    assert len(done["changes"]) == 2
    for change in done["changes"]:
        client.post("/v1/undo", json={"change": change})
    assert client.get("/v1/memories", params={"user": "ana"}).json()["total"] == 3


def test_one_missing_id_changes_nothing(served: Served) -> None:
    ids = _stored(served, "likes rain")
    answer = served.client.post("/v1/memories/bulk", json={"ids": [*ids, "mem_absent"], "action": "erase"})
    assert answer.status_code == 404
    assert served.client.get("/v1/memories", params={"user": "ana"}).json()["total"] == 1


def test_a_bound_key_cannot_remove_memories_of_others(served: Served) -> None:
    ids = _stored(served, "likes rain")
    bob = served.as_(served.key("admin", user="bob"))
    for action in ("forget", "erase"):
        assert bob.post("/v1/memories/bulk", json={"ids": ids, "action": action}).status_code == 404
        assert bob.post("/v1/memories/bulk", json={"ids": ids, "action": action, "dry_run": True}).status_code == 404
