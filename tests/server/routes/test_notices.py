"""Over HTTP, responses and ``/health`` name the components that recall cannot use, such as the embedder."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.models.remote.providers import remote_embedder
from holdfast.protocols import Role
from holdfast.services import services
from holdfast.testing import HashEmbedder, ScriptedChat
from tests.models.remote.chat_server import ChatServer, ReceivedRequest, Refuse, Silence
from tests.server.http_support import Served, eventually, process, serving

MODEL = "ollama:nomic-embed-text"
NOTICE = f"Searched by words only: {MODEL} did not answer in time. A recall waits at most 0.3 s (setting recall_timeout)."
SILENCE = 60.0
"""Time in seconds for which a model does not answer: much longer than any recall takes, on a busy machine, too."""
QUERY = {"query": "parrot called?", "user": "ana"}


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer(HashEmbedder(dimensions=768)) as server:
        yield server


@pytest.fixture
def served(tmp_path: Path, model: ChatServer) -> Iterator[Served]:
    embedder = remote_embedder(MODEL, base_url=model.url)
    with serving(tmp_path, embedder=embedder, chat=ScriptedChat("It is called Basil.")) as served:
        served.client.post("/v1/memories", json={"text": "the parrot is called Basil", "user": "ana"})
        served.pool.operator.drain()
        yield served


def test_a_healthy_recall_has_no_notices(served: Served) -> None:
    assert served.client.post("/v1/recall", json=QUERY).json()["notices"] == []
    assert served.client.post("/v1/context", json=QUERY).json()["notices"] == []
    assert served.client.get("/health").json()["status"] == "ok"


def test_while_the_embedder_hangs_every_answer_and_health_say_so(served: Served, model: ChatServer) -> None:
    model.script(*[Silence(SILENCE)] * 20)
    started = time.monotonic()
    found = served.client.post("/v1/recall", json=QUERY).json()
    assert time.monotonic() - started < SILENCE / 2, "the recall waited for the model"
    assert [hit["text"] for hit in found["hits"]] == ["the parrot is called Basil"]
    assert found["notices"] == [NOTICE]
    assert served.client.post("/v1/context", json=QUERY).json()["notices"] == [NOTICE]
    answer = served.client.post("/v1/sessions/s1/chat", json={"text": "What is the parrot called?", "user": "ana"}).json()
    assert (answer["text"], answer["context"]["notices"]) == ("It is called Basil.", [NOTICE])
    health = served.client.get("/health").json()
    assert (health["status"], health["notices"]) == ("degraded", [NOTICE])
    served.key("admin")
    assert served.client.get("/health").json() == {"status": "degraded"}


@pytest.mark.ledger("X29")
def test_health_says_that_a_model_was_replaced_behind_its_name_until_the_store_has_healed(
    served: Served, model: ChatServer
) -> None:
    services(served.pool.operator).reader.recall_timeout = 30.0  # on a busy machine, too, the model answers in time
    services(served.pool.operator).embedding.model.fingerprint.recheck()  # as after five minutes
    model.embedder = Reversed(dimensions=768)
    served.client.post("/v1/recall", json=QUERY)
    health = served.client.get("/health").json()
    assert health["status"] == "degraded"
    assert health["notices"][0].startswith(f"{MODEL} returns other vectors than before under the same name")
    served.pool.operator.drain()
    assert served.client.get("/health").json()["status"] == "ok"


class Reversed(HashEmbedder):
    """An embedder that stands for another model: it returns different vectors of the same length."""

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        return super().embed(texts, role=role)[:, ::-1]


def test_health_notices_by_itself_that_the_embedder_is_back(served: Served, model: ChatServer) -> None:
    model.script(*[Refuse(400, "no")] * 20)
    served.client.post("/v1/recall", json=QUERY)
    assert served.client.get("/health").json()["status"] == "degraded"
    model.forget()
    services(served.pool.operator).embedding.model.end_pauses()
    assert served.client.get("/health").json()["status"] == "ok"


def test_after_one_tenant_meets_an_outage_no_tenant_waits_for_the_model(served: Served, model: ChatServer) -> None:
    model.script(*[Silence(SILENCE)] * 20)
    served.client.post("/v1/recall", json=QUERY)
    eventually(lambda: len(_queries(model)) == 1)  # on a busy machine, the request arrives after the recall has ended
    other = served.as_(served.key("write", tenant="other"))
    with served.pool.lease("other") as engine:
        services(engine).reader.recall_timeout = SILENCE  # a recall that waited for the model would take this long
        started = time.monotonic()
        assert other.post("/v1/recall", json=QUERY).json()["notices"] == [NOTICE]
        assert time.monotonic() - started < SILENCE / 2, "the recall waited for the model"
    assert len(_queries(model)) == 1


def _queries(model: ChatServer) -> list[ReceivedRequest]:
    """Return the requests to embed the query of the tests."""
    return [request for request in model.requests if QUERY["query"] in str(request.body)]


@pytest.mark.long
def test_the_command_reports_missing_weights_from_the_start(tmp_path: Path) -> None:
    with process(tmp_path, "--embedder", "arctic-embed-s") as server:
        health = httpx.get(f"{server.url}/health").json()
        httpx.post(f"{server.url}/v1/memories", json={"text": "the parrot is called Basil", "user": "ana"})
        found = httpx.post(f"{server.url}/v1/recall", json={"query": "which pet?", "user": "ana"}).json()
    assert health["status"] == "degraded"
    assert health["notices"][0].startswith("Searched by words only: The weights of arctic-embed-s are not on this machine")
    assert found["notices"] == health["notices"]


@pytest.mark.long
def test_the_command_calls_a_remote_embedder_at_start_and_listens_meanwhile(tmp_path: Path, model: ChatServer) -> None:
    model.script(*[Silence(SILENCE)] * 20)
    with process(tmp_path, "--embedder", MODEL, HOLDFAST_EMBEDDER_URL=model.url) as server:
        eventually(lambda: len(model.requests) >= 1)
        assert httpx.get(f"{server.url}/health").status_code == 200
