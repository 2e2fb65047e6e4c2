"""The query gate: general questions need stronger hits than questions about a person's life."""

from collections.abc import Callable

import numpy as np
import pytest

from holdfast import Engine
from holdfast.config.models import make_embedder
from holdfast.models.local.registry import DEFAULT_MODEL, find
from holdfast.recall.query_vector import QueryVector
from holdfast.recall.relevance.query_gate import UNKNOWN, QueryGate, gate_of
from holdfast.services import services
from holdfast.testing import HashEmbedder


def test_the_default_model_has_a_gate_that_fits_its_vectors() -> None:
    gate = gate_of(DEFAULT_MODEL)
    assert gate is not None
    assert len(gate.weights) == find(DEFAULT_MODEL).dimensions


@pytest.mark.parametrize("name", ["unknown", "../arctic-embed-s", "", "openai:text-embedding-3-small"])
def test_an_embedder_without_weights_has_no_gate(name: str) -> None:
    assert gate_of(name) is None


def test_the_floor_is_lower_for_more_personal_queries() -> None:
    gate = QueryGate(weights=np.array([1.0, 0.0], dtype=np.float32), bias=0.0, floor=3.0, slope=5.0, foreign_shift=2.0)
    personal, general = (gate.judge(np.array([value, 0.0], dtype=np.float32), foreign=False) for value in (0.5, -1.0))
    assert personal.floor == pytest.approx(0.5)
    assert general.floor == pytest.approx(8.0)
    assert gate.judge(np.array([0.5, 0.0], dtype=np.float32), foreign=True).floor == pytest.approx(2.5)
    assert UNKNOWN.floor == 2.0


def test_a_vector_of_another_length_is_an_error() -> None:
    gate = QueryGate(weights=np.array([1.0, 0.0], dtype=np.float32), bias=0.0, floor=3.0, slope=5.0, foreign_shift=2.0)
    with pytest.raises(ValueError, match="mismatch"):
        gate.judge(np.zeros(3, dtype=np.float32), foreign=False)


def test_a_query_in_another_language_needs_stronger_hits(open_memory: Callable[..., Engine]) -> None:
    parts = services(open_memory(embedder=HashEmbedder(DEFAULT_MODEL, find(DEFAULT_MODEL).dimensions)))
    vector = np.zeros(find(DEFAULT_MODEL).dimensions, dtype=np.float32)
    english, spanish = (
        QueryVector(parts.store, parts.embedding, text, vector=vector).verdict for text in ("Where do I live?", "¿Dónde vivo?")
    )
    gate = gate_of(DEFAULT_MODEL)
    assert gate is not None
    assert spanish.floor - english.floor == pytest.approx(gate.foreign_shift)
    assert gate.foreign_shift > 0


def test_short_queries_about_oneself_need_weaker_hits_than_short_general_ones() -> None:
    gate, source = gate_of(DEFAULT_MODEL), make_embedder(DEFAULT_MODEL)
    assert gate is not None
    assert source is not None
    asked = {
        "personal": ("my locker number", "how tall is my son?", "what is my surname", "mi matrícula", "cómo se llama mi suegra"),
        "general": (
            "recipe for paella",
            "distance to the moon",
            "reverse a string in java",
            "receta de tarta",
            "qué es un volcán",
        ),
    }
    floors = {
        name: [gate.judge(vector, foreign=False).floor for vector in source.load().embed(texts, role="query")]
        for name, texts in asked.items()
    }
    assert max(floors["personal"]) < 3, floors
    assert min(floors["general"]) > 6, floors


@pytest.mark.parametrize(
    ("asked", "said"), [("café", "the café in 日本 is naïve"), ("volcano", "The volcano near the hut smokes.")]
)
def test_a_keyword_finds_the_memory_that_contains_it(open_memory: Callable[..., Engine], asked: str, said: str) -> None:
    memory = open_memory(embedder=DEFAULT_MODEL)
    memory.remember(said, user="ana")
    assert [hit.text for hit in memory.recall(asked, user="ana") if hit.is_relevant] == [said]


def test_facts_that_differ_in_one_word_are_all_returned(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(embedder=DEFAULT_MODEL)
    for drink in ("green tea", "black coffee", "cold milk", "apple juice"):
        memory.remember(f"Ana likes to drink {drink} in the morning.", user="ana")
    assert len(memory.recall("What does Ana like to drink in the morning?", user="ana")) == 4
