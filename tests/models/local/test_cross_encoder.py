"""Tests of the cross-encoder: its ratings, texts that it does not rate, and its weights."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import WeightsMissing
from holdfast.models.local.cross_encoder import CrossEncoder
from holdfast.models.local.registry import RERANKERS
from holdfast.protocols import Candidate
from holdfast.testing import HashEmbedder

NAME = "ms-marco-minilm-l12"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FITTING = "Melanie: I've been painting for seven years now, ever since the pottery class"
BESIDE = "Caroline: how long have you been doing that, Mel? It looks lovely"


@pytest.fixture(scope="module")
def encoder(weights_of: Callable[[str], Path]) -> CrossEncoder:
    return CrossEncoder(RERANKERS[NAME], weights_of(NAME))


def rated(encoder: CrossEncoder, question: str, *texts: str) -> list[float | None]:
    return encoder.rate(question, [Candidate(text=text) for text in texts], asked_at=NOW)


@pytest.mark.weights
def test_the_published_example_of_the_model_gets_the_published_ratings(encoder: CrossEncoder) -> None:
    population = "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers."
    museums = "Berlin is well known for its museums."
    found = rated(encoder, "How many people live in Berlin?", population, museums)
    # The logits are 9.2 and -4.1, within the precision of int8.
    assert found == [pytest.approx(1.0, abs=0.02), pytest.approx(0.345, abs=0.03)]


@pytest.mark.weights
def test_an_answer_is_rated_above_a_text_on_the_same_subject(encoder: CrossEncoder) -> None:
    fitting, beside, neither = rated(encoder, "How long has Melanie been painting?", FITTING, BESIDE, "the car is in the garage")
    assert fitting is not None
    assert beside is not None
    assert neither is not None
    assert fitting > beside > neither


@pytest.mark.weights
def test_texts_that_are_not_english_are_not_rated(encoder: CrossEncoder) -> None:
    assert rated(encoder, "¿Desde cuándo pinta Melanie?", FITTING) == [None]
    spanish, english = rated(encoder, "How long has Melanie been painting?", "Melanie pinta desde hace siete años", FITTING)
    assert spanish is None
    assert english is not None


@pytest.mark.weights
@pytest.mark.parametrize("text", ["", " ", "word " * 5000, "x" * 10_000, "[SEP] [CLS]", "🎉"])
def test_any_text_gets_a_rating_within_bounds(encoder: CrossEncoder, text: str) -> None:
    for question, note in (("what is it?", text), (text or "?", "it is a note")):
        (found,) = rated(encoder, question, note)
        assert found is None or 0 <= found <= 1


@pytest.mark.weights
def test_recall_with_it_puts_the_answer_first(encoder: CrossEncoder, tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "memory.db", embedder=HashEmbedder(), reranker=encoder, worker="none") as memory:
        for text in (BESIDE, FITTING, "Caroline: painting is painting, long or short"):
            memory.remember(text, user="ana")
        first = memory.recall("How long has Melanie been painting?", user="ana", limit=1)[0]
    assert first.text == FITTING
    assert first.why[-1].arm == f"rerank:{NAME}"


def test_without_weights_loading_it_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=f"holdfast models pull {NAME}"):
        CrossEncoder(RERANKERS[NAME], tmp_path).load()


def test_without_weights_recall_works_by_words_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOLDFAST_MODELS", str(tmp_path / "models"))
    with holdfast.open(tmp_path / "memory.db", embedder=HashEmbedder(), reranker=NAME, worker="none") as memory:
        for text in (BESIDE, FITTING):
            memory.remember(text, user="ana")
        for _ in range(2):
            assert len(memory.recall("painting", user="ana")) == 2
    assert sum(f"holdfast models pull {NAME}" in record.message for record in caplog.records) == 1
