"""The second embedder for other languages: used from the first text that needs it, and not loaded for English."""

from collections.abc import Callable

import pytest

from holdfast import Engine
from holdfast.config.models import make_embedder, make_second_embedder
from holdfast.config.settings import load_settings
from holdfast.models.local.packaged import is_installed
from holdfast.models.local.registry import PACKAGED, SECOND_MODEL
from holdfast.testing import HashEmbedder
from holdfast.text.language import is_foreign

FIRST, SECOND = HashEmbedder("first", 64), HashEmbedder("second", 96)
ENGLISH = ["the parrot is called Basil", "the ferry leaves at nine", "she prefers tea to coffee"]
SPANISH = "el loro se llama Basilio y vive en la cocina"


@pytest.fixture
def both(open_memory: Callable[..., Engine]) -> Engine:
    """A memory with English texts and a second embedder."""
    memory = open_memory(embedder=FIRST, second=SECOND)
    for text in ENGLISH:
        memory.remember(text, user="ana")
    memory.drain()
    return memory


def test_a_store_in_english_embeds_nothing_twice(both: Engine) -> None:
    both.recall("what is the parrot called?", user="ana")
    both.drain()
    stats = both.stats()
    assert (stats.models, stats.vectors, stats.waiting_for_vectors) == (("first",), len(ENGLISH), 0)


def test_a_text_in_another_language_calls_for_the_second_model_for_all_there_is(both: Engine) -> None:
    both.remember(SPANISH, user="ana")
    both.drain()
    stats = both.stats()
    assert (stats.models, stats.vectors) == (("first", "second"), 2 * (len(ENGLISH) + 1))


def test_a_question_in_another_language_calls_for_it_too(both: Engine) -> None:
    hits = both.recall("¿Cómo se llama el parrot?", user="ana")
    assert hits[0].text == ENGLISH[0]
    both.drain()
    assert both.stats().models == ("first", "second")
    assert both.stats().vectors == 2 * len(ENGLISH)


def test_what_is_said_later_has_both_vectors(both: Engine) -> None:
    both.recall("¿Dónde está el ferry?", user="ana")
    both.remember("the walrus sleeps", user="ana")
    both.drain()
    assert both.stats().vectors == 2 * (len(ENGLISH) + 1)


def test_english_among_other_languages_is_ranked_as_if_it_were_alone(open_memory: Callable[..., Engine], both: Engine) -> None:
    alone = both.recall("what does she prefer?", user="ana")
    both.remember(SPANISH, user="ana")
    both.drain()
    among = [hit for hit in both.recall("what does she prefer?", user="ana") if hit.text != SPANISH]
    assert [(hit.text, hit.similarity) for hit in among] == [(hit.text, hit.similarity) for hit in alone]


def test_a_cosine_of_the_second_is_measured_as_the_first_would(both: Engine) -> None:
    both.remember(SPANISH, user="ana")
    both.drain()
    (hit, *_) = both.recall(SPANISH, user="ana")
    (low, high), (own_low, own_high) = SECOND.calibration, FIRST.calibration
    assert hit.similarity == pytest.approx(own_low + (1 - low) / (high - low) * (own_high - own_low), abs=0.02)


def test_going_on_without_it_removes_its_vectors(open_memory: Callable[..., Engine], both: Engine) -> None:
    both.remember(SPANISH, user="ana")
    both.drain()
    both.close()
    memory = open_memory(embedder=FIRST, second="none")
    memory.drain()
    assert (memory.stats().models, memory.stats().vectors) == (("first",), len(ENGLISH) + 1)


def test_going_on_with_it_keeps_its_vectors(open_memory: Callable[..., Engine], both: Engine) -> None:
    both.remember(SPANISH, user="ana")
    both.drain()
    both.close()
    memory = open_memory(embedder=FIRST, second=SECOND)
    assert memory.drain() == 0
    assert memory.stats().models == ("first", "second")


def test_an_embedder_of_ones_own_gets_no_second_by_itself() -> None:
    settings = load_settings({})
    own, ours = make_embedder(FIRST), make_embedder("arctic-embed-s")
    assert make_second_embedder(None, own, settings) is None
    assert make_second_embedder(None, None, settings) is None
    assert make_second_embedder("none", ours, settings) is None
    second = make_second_embedder(None, ours, settings)
    assert (second is not None) == is_installed(PACKAGED[SECOND_MODEL])


@pytest.mark.parametrize(
    "text",
    [
        "¿Dónde vivo?",
        "Vivo en Madrid",
        "Qué coche conduzco",
        "Soy alérgica a los cacahuetes.",
        "ME GUSTA EL TÉ",
        "Je ne mange pas de viande",
        "Ich wohne in der Stadt und bin müde",
        "Я живу в Москве",
        "私は東京に住んでいます",
    ],
)
def test_another_language_shows(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Lyon now.",
        "Loves Las Vegas",
        "Los Angeles is hot",
        "See ya!",
        "",
        "42",
        "👍",
        "Basil",
        "No",
        "She read Don Quijote de la Mancha to us",
        "the café near us",
        "Prefers tea",
        "Who moved to El Paso?",
    ],
)
def test_english_and_what_could_be_either_does_not(text: str) -> None:
    assert not is_foreign(text)
