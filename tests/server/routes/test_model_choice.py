"""A model is chosen over HTTP for the next start: it is checked first, and saved in the settings file."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.loading import load_settings
from tests.models.remote.chat_server import ChatServer
from tests.server.http_support import Served, serving

pytestmark = pytest.mark.ledger("X12")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with a settings file, and a working directory without one."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "holdfast.toml").write_text('undo_days = 12  # two weeks are too long\nuser = "ana"\n', "utf-8")
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HOLDFAST_CHAT", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    with serving(home, settings=load_settings()) as found:
        yield found


def _models(served: Served) -> dict[str, dict[str, Any]]:
    return {each["role"]: each for each in served.client.get("/v1/models").raise_for_status().json()["items"]}


def test_a_chosen_model_is_saved_and_used_from_the_next_start(served: Served, home: Path) -> None:
    assert _models(served)["reader"]["next"] is None
    found = served.client.put("/v1/models/reader", json={"name": "none"}).raise_for_status().json()
    assert found == {"role": "reader", "name": "none", "place": str(home / "holdfast.toml")}
    text = (home / "holdfast.toml").read_text("utf-8")
    assert tomllib.loads(text) == {"reader": "none", "undo_days": 12, "user": "ana"}
    assert "# two weeks are too long" in text
    assert _models(served)["reader"]["next"] == "none"
    assert load_settings().reader == "none"


def test_a_provider_is_checked_before_it_is_saved(served: Served, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = (home / "holdfast.toml").read_text("utf-8")
    for role, name in (("chat", "openai:gpt-4o-mini"), ("chat", "nobody"), ("embedder", "no-such"), ("reranker", "no-such")):
        refused = served.client.put(f"/v1/models/{role}", json={"name": name})
        assert refused.status_code == 400, (role, name, refused.text)
        assert refused.json()["detail"]
    assert (home / "holdfast.toml").read_text("utf-8") == before


def test_a_reachable_chat_model_is_accepted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer() as server:
        monkeypatch.setenv("HOLDFAST_CHAT_URL", server.url)
        with serving(home, settings=load_settings()) as served:
            served.client.put("/v1/models/chat", json={"name": "mine:small"}).raise_for_status()
            assert _models(served)["chat"]["next"] == "mine:small"


def test_a_model_that_a_variable_or_an_argument_sets_cannot_be_chosen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_READER", "none")
    with serving(home, settings=load_settings(reranker="chat")) as served:
        models = _models(served)
        assert (models["reader"]["set_by"], models["reranker"]["set_by"]) == ("HOLDFAST_READER", "argument")
        assert models["reader"]["choices"] == []
        for role in ("reader", "reranker"):
            assert served.client.put(f"/v1/models/{role}", json={"name": "none"}).status_code == 409


def test_only_the_operator_chooses_models(served: Served) -> None:
    admin = served.key("admin")
    for key in (served.key("write"), served.key("admin", user="ana")):
        assert served.as_(key).put("/v1/models/reader", json={"name": "none"}).status_code == 403
    assert served.as_(admin).put("/v1/models/reader", json={"name": "none"}).status_code == 200
