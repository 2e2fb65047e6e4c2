"""Changing the embedder: vectors of two models are never compared, word search still works, and an interrupted change resumes."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from holdfast import Engine
from holdfast.errors import ModelError
from holdfast.protocols import Role
from holdfast.services import services
from holdfast.testing import EmbedderSuite, HashEmbedder

OLD, NEW, THIRD = HashEmbedder("old", 64), HashEmbedder("new", 96), HashEmbedder("third", 32)
DONE = 32
"""Number of texts that are embedded before ``Fragile`` fails. It is the size of one batch."""
TEXTS = [f"the parrot number {n} is called Basil" for n in range(40)]


class TestHashEmbedder(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> HashEmbedder:
        return HashEmbedder()

    def test_a_question_finds_its_answer(self, embedder: HashEmbedder) -> None:  # type: ignore[override]
        """Use questions that share words with their answers, because this embedder knows no synonyms."""
        documents = embedder.embed(["She moved to Lyon.", "He prefers tea."], role="document")
        questions = embedder.embed(["Who moves?", "What would he prefer?"], role="query")
        assert (questions @ documents.T).argmax(axis=1).tolist() == [0, 1]


class Fragile(HashEmbedder):
    """An embedder that fails after a number of texts, like a killed process."""

    left = DONE

    def embed(self, texts: Sequence[str], *, role: Role):  # type: ignore[no-untyped-def]
        if role == "document":
            self.left -= len(texts)
            if self.left < 0:
                raise KeyboardInterrupt
        return super().embed(texts, role=role)


@pytest.fixture
def embedded(open_memory: Callable[..., Engine]) -> None:
    """A store in which every text has a vector of the old model."""
    with open_memory(embedder=OLD) as memory:
        for text in TEXTS:
            memory.remember(text, user="ana")
        memory.drain()
        assert memory.stats().vectors == len(TEXTS)


@pytest.mark.ledger("X17")
@pytest.mark.usefixtures("embedded")
def test_the_new_model_replaces_the_old_once_it_is_complete(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(embedder=NEW)
    assert (memory.stats().models, memory.stats().waiting_for_vectors) == (("old", "new"), len(TEXTS))
    memory.drain()
    stats = memory.stats()
    assert (stats.models, stats.vectors, stats.waiting_for_vectors) == (("new",), len(TEXTS), 0)
    assert memory.recall("parrot number 7", user="ana")[0].text == TEXTS[7]
    assert all(finding.ok for finding in memory.doctor())


@pytest.mark.ledger("X17")
@pytest.mark.usefixtures("embedded")
def test_the_first_question_after_a_change_is_answered(open_memory: Callable[..., Engine]) -> None:
    hits = open_memory(embedder=NEW).recall("parrot number 7", user="ana")
    assert hits[0].text == TEXTS[7]


@pytest.mark.ledger("X17")
@pytest.mark.usefixtures("embedded")
def test_recall_searches_by_words_until_the_new_model_has_vectors(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(embedder=_unloadable("new"))
    hit = memory.recall("parrot number 7", user="ana")[0]
    assert (hit.text, hit.similarity, [reason.arm for reason in hit.why]) == (TEXTS[7], None, ["text"])
    memory.drain()
    assert memory.stats().models == ("old", "new")


@pytest.mark.ledger("X17")
@pytest.mark.usefixtures("embedded")
def test_an_interrupted_change_continues_where_it_stopped(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(embedder=Fragile("new", 96))
    with pytest.raises(KeyboardInterrupt):
        services(memory).embedding.catch_up(limit=None)
    stats = memory.stats()
    assert (stats.models, stats.waiting_for_vectors) == (("old", "new"), len(TEXTS) - DONE)
    memory.close()
    again = open_memory(embedder=NEW)
    assert again.drain() == len(TEXTS) - DONE
    assert (again.stats().models, again.stats().vectors) == (("new",), len(TEXTS))


@pytest.mark.ledger("X17")
@pytest.mark.usefixtures("embedded")
def test_going_back_to_the_old_embedder_during_a_change_needs_no_new_vectors(open_memory: Callable[..., Engine]) -> None:
    open_memory(embedder=NEW).close()
    memory = open_memory(embedder=OLD)
    assert memory.recall("parrot number 7", user="ana")[0].similarity is not None
    assert memory.drain() == 0
    assert memory.stats().models == ("old",)


@pytest.mark.ledger("X17")
@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize("chosen", [OLD, NEW, THIRD], ids=lambda embedder: embedder.name)
def test_a_store_with_complete_vectors_of_two_models_keeps_only_those_of_the_configured_one(
    open_memory: Callable[..., Engine], chosen: HashEmbedder
) -> None:
    with open_memory(embedder=NEW) as both:
        services(both).embedding.catch_up()
        assert (both.stats().models, both.stats().vectors) == (("old", "new"), 2 * len(TEXTS))
    memory = open_memory(embedder=chosen)
    assert memory.recall("parrot number 7", user="ana")[0].text == TEXTS[7]
    memory.drain()
    assert (memory.stats().models, memory.stats().vectors) == ((chosen.name,), len(TEXTS))
    assert memory.recall("parrot number 7", user="ana")[0].similarity is not None


@pytest.mark.usefixtures("embedded")
def test_messages_added_during_the_change_are_found_too(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(embedder=NEW)
    memory.remember("a walrus came by", user="ana")
    assert memory.recall("walrus", user="ana")[0].text == "a walrus came by"
    memory.drain()
    assert memory.stats().vectors == len(TEXTS) + 1


def test_search_works_after_the_only_memory_is_forgotten(memory: Engine) -> None:
    made = memory.remember("prefers tea", user="ana")
    memory.drain()
    memory.forget(made.id)
    assert memory.recall("tea", user="ana") == []


@pytest.mark.ledger("X1")
def test_without_weights_it_works_by_words_and_says_so_once(
    open_memory: Callable[..., Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOLDFAST_MODELS", str(tmp_path / "no-models"))
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        memory = open_memory(embedder="arctic-embed-s")
        memory.remember("the parrot is called Basil", user="ana")
        for _ in range(3):
            assert [hit.text for hit in memory.recall("parrot", user="ana")] == ["the parrot is called Basil"]
            memory.context("parrot", user="ana")
            memory.drain()
    assert len(caplog.records) == 1
    assert "by words only" in caplog.records[0].getMessage()
    assert not next(finding for finding in memory.doctor() if finding.check == "embedder").ok


def test_an_embedder_that_is_switched_off_is_not_a_problem(
    open_memory: Callable[..., Engine], caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(embedder="none")
    memory.remember("the parrot is called Basil", user="ana")
    assert memory.recall("parrot", user="ana")
    memory.drain()
    assert caplog.records == []
    assert all(finding.ok for finding in memory.doctor())


def _unloadable(name: str) -> HashEmbedder:
    return _Unloadable(name, 96)


class _Unloadable(HashEmbedder):
    def embed(self, texts: Sequence[str], *, role: Role):  # type: ignore[no-untyped-def]
        raise ModelError("the weights are on the way")
