"""Tests of Python functions that are used as embedders."""

import numpy as np
import pytest

from holdfast.errors import AnswerInvalid, ModelUnavailable
from holdfast.models.embedding_function import CallableEmbedder
from holdfast.protocols import Embedder
from holdfast.testing import HashEmbedder
from holdfast.testing.embedders import EmbedderSuite

_HASHED = HashEmbedder()


def hashed(text: str) -> list[float]:
    return [5 * float(number) for number in _HASHED.embed([text], role="document")[0]]


class TestFunction(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CallableEmbedder(hashed)

    def test_a_question_finds_its_answer(self, embedder: Embedder) -> None:
        vectors = embedder.embed(["tea with milk", "milk tea", "a bicycle"], role="document")
        assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_an_embedder_is_named_after_its_function_by_default() -> None:
    assert CallableEmbedder(hashed).name == "callable:hashed"
    assert CallableEmbedder(hashed, name="mine").name == "mine"


def test_an_error_in_a_function_counts_as_an_unavailable_model() -> None:
    def broken(text: str) -> list[float]:
        raise ConnectionError(f"nobody answers to {text}")

    with pytest.raises(ModelUnavailable, match="callable:broken raised ConnectionError: nobody answers to tea"):
        CallableEmbedder(broken).embed(["tea"], role="query")


@pytest.mark.parametrize("answer", [None, "text", [], [[1.0, 2.0]], ["a"], [0.0, 0.0], [float("nan"), 1.0]])
def test_an_invalid_vector_is_refused(answer: object) -> None:
    with pytest.raises(AnswerInvalid):
        CallableEmbedder(lambda text: answer).embed(["tea"], role="query")  # type: ignore[arg-type, return-value]


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(AnswerInvalid, match="returned 2 numbers; 3 were expected"):
        CallableEmbedder(lambda text: [1.0, 2.0], dimensions=3).embed(["tea"], role="query")


def test_a_function_may_return_numpy_vectors() -> None:
    assert CallableEmbedder(lambda text: np.array([3.0, 4.0])).embed(["tea"], role="query").tolist() == [  # type: ignore[arg-type, return-value]
        pytest.approx([0.6, 0.8])
    ]
