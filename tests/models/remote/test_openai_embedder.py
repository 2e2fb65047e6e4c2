"""The remote embedder satisfies the embedder protocol over a real socket, and its failures are typed errors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from holdfast.chat import usage_of
from holdfast.errors import AnswerInvalid, InvalidInput, ModelError, ModelUnavailable
from holdfast.models.remote.openai_embedder import OpenAIEmbedder, find_traits
from holdfast.models.remote.providers import remote_embedder
from holdfast.models.remote.retrying import RetryPolicy
from holdfast.protocols import Embedder
from holdfast.testing import HashEmbedder
from holdfast.testing.embedders import EmbedderSuite

from .chat_server import MISBEHAVIOR, ChatServer, Refuse, Say, Send, Step

SMALL = "openai:text-embedding-3-small"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def embedder_of(server: ChatServer, name: str = SMALL, **options: Any) -> OpenAIEmbedder:
    made = remote_embedder(name, base_url=server.url, retry_policy=RetryPolicy(first_wait=0.001), **options)
    assert isinstance(made, OpenAIEmbedder)
    return made


class TestOpenAI(EmbedderSuite):
    @pytest.fixture
    def embedder(self, server: ChatServer) -> Embedder:
        return embedder_of(server)

    def test_a_question_finds_its_answer(self, embedder: Embedder) -> None:
        """Use questions that share words with their answers: the test server embeds by words only."""
        documents = embedder.embed(["I moved to Lyon", "She prefers tea"], role="document")
        assert (embedder.embed(["Lyon?", "tea?"], role="query") @ documents.T).argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        (SMALL, 1536),
        ("openai:text-embedding-3-large", 3072),
        ("ollama:nomic-embed-text", 768),
        ("ollama:nomic-embed-text:v1.5", 768),
        ("ollama:mxbai-embed-large", 1024),
        ("lmstudio:text-embedding-nomic-embed-text-v1.5", 768),
    ],
)
def test_a_known_model_has_a_known_length(name: str, dimensions: int) -> None:
    embedder = remote_embedder(name, api_key="k")
    assert (embedder.name, embedder.dimensions) == (name, dimensions)


def test_the_vector_length_of_an_unknown_model_is_found_with_one_call(server: ChatServer) -> None:
    server.embedder = HashEmbedder(dimensions=37)
    embedder = embedder_of(server, "ollama:new-model")
    assert [embedder.dimensions, embedder.dimensions] == [37, 37]
    assert len(server.requests) == 1


def test_a_shorter_vector_is_requested_and_gets_its_own_name(server: ChatServer) -> None:
    embedder = embedder_of(server, dimensions=256)
    assert embedder.name == f"{SMALL}@256"
    assert embedder.embed(["tea"], role="document").shape == (1, 256)
    assert server.bodies[0]["dimensions"] == 256


def test_the_callers_calibration_comes_first() -> None:
    assert remote_embedder(SMALL, api_key="k", calibration=(0.3, 0.9)).calibration == (0.3, 0.9)


def test_nomic_gets_different_prefixes_for_questions_and_documents(server: ChatServer) -> None:
    server.embedder = HashEmbedder(dimensions=768)
    embedder = embedder_of(server, "ollama:nomic-embed-text")
    embedder.embed(["té"], role="query")
    embedder.embed(["té"], role="document")
    assert [body["input"] for body in server.bodies] == [["search_query: té"], ["search_document: té"]]


def test_many_texts_are_sent_in_few_requests_and_stay_in_order(server: ChatServer) -> None:
    texts = [f"text number {number} about tea" for number in range(150)]
    embedder = embedder_of(server)
    together = embedder.embed(texts, role="document")
    assert len(server.requests) == 3
    assert np.array_equal(together[[0, 64, 149]], embedder.embed([texts[0], texts[64], texts[149]], role="document"))


def test_a_long_text_is_cut(server: ChatServer) -> None:
    embedder_of(server).embed(["word " * 100_000], role="document")
    assert len(server.bodies[0]["input"][0]) <= find_traits("text-embedding-3-small").max_characters


def test_costs_add_up(server: ChatServer) -> None:
    embedder = embedder_of(server)
    embedder.embed(["one two three"], role="document")
    server.script(*[Refuse(500)] * 3)
    with pytest.raises(ModelError):
        embedder.embed(["four"], role="document")
    assert (embedder.usage.calls, embedder.usage.input_tokens) == (4, 3)
    assert embedder.usage.cost == pytest.approx(3 * 0.02 / 1_000_000)


@pytest.mark.parametrize("step", MISBEHAVIOR.values(), ids=MISBEHAVIOR)
def test_a_misbehaving_server_causes_a_typed_error_after_at_most_three_calls(server: ChatServer, step: Step) -> None:
    server.script(*[step] * 5)
    with pytest.raises(ModelError) as caught:
        embedder_of(server).embed(["tea"], role="document")
    assert 1 <= len(server.requests) <= 3
    assert usage_of(caught.value).calls == len(server.requests)


@pytest.mark.parametrize(
    "row",
    [
        b'{"index": 0, "embedding": [1, 2]}',
        b'{"index": 0, "embedding": []}',
        b'{"index": 0, "embedding": "AAAA"}',
        b'{"index": 0, "embedding": [[1]]}',
        b'{"index": 0}',
        b'{"index": 0, "embedding": [' + b"0," * 1535 + b"0]}",
        b'{"index": 0, "embedding": [' + b"NaN," * 1535 + b"1]}",
        b'{"index": 0, "embedding": [' + b"1e999," * 1535 + b"1]}",
        b'{"index": 0, "embedding": [' + b"null," * 1535 + b"1]}",
    ],
    ids=["short", "empty", "text", "nested", "missing", "zero", "not numbers", "infinite", "null"],
)
def test_invalid_vectors_are_refused(server: ChatServer, row: bytes) -> None:
    server.script(Send(b'{"data": [' + row + b"]}"))
    with pytest.raises(AnswerInvalid):
        embedder_of(server).embed(["tea"], role="document")


def test_too_few_vectors_are_refused(server: ChatServer) -> None:
    server.script(Send(b'{"data": [{"index": 0, "embedding": [1, 2]}]}'))
    with pytest.raises(AnswerInvalid, match="2 vectors"):
        embedder_of(server, "ollama:new-model", dimensions=2).embed(["tea", "coffee"], role="document")


def test_loading_raises_the_error_of_the_server(server: ChatServer) -> None:
    server.script(*[Refuse(503)] * 3)
    with pytest.raises(ModelUnavailable):
        embedder_of(server).load()


def test_a_temporary_failure_is_not_reported(server: ChatServer) -> None:
    server.script(Refuse(429, retry_after="0"), Say(""))
    assert embedder_of(server).embed(["tea"], role="query").shape == (1, 1536)


def test_a_single_text_instead_of_a_list_is_refused(server: ChatServer) -> None:
    with pytest.raises(InvalidInput, match="list of texts"):
        embedder_of(server).embed("tea", role="document")
