"""Conformance tests for embedders.

Subclass :class:`EmbedderSuite` in a test module, under a name that begins with ``Test``, and add a fixture named
``embedder``::

    class TestMine(EmbedderSuite):
        @pytest.fixture
        def embedder(self) -> Embedder:
            return MyEmbedder()
"""

import threading
from typing import TYPE_CHECKING

import numpy as np

from holdfast.protocols import Embedder, Role

if TYPE_CHECKING:
    from holdfast.protocols import Vectors

__all__ = ["ODD_TEXTS", "EmbedderSuite"]

ODD_TEXTS = (
    "",
    "   \n\t ",
    "\x00",
    "\ud800 a lone surrogate",
    "👩‍👩‍👧‍👦",
    "漢字とかな",
    "[CLS] [SEP] [MASK]",
    "x" * 5000,
    "a word, " * 100_000,
)
"""Unusual texts that an embedder must accept: empty, very long, control characters, emoji, special tokens."""

_ROLES: tuple[Role, ...] = ("query", "document")
_TEXTS = (
    "I moved to Lyon last month.",
    "She prefers tea to coffee.",
    "The backup runs at two in the morning.",
)


class EmbedderSuite:
    """Tests that every implementation of the :class:`holdfast.protocols.Embedder` protocol must pass."""

    def test_it_has_a_name_a_length_and_a_sensible_calibration(self, embedder: Embedder) -> None:
        """The embedder has a name, and its vectors have at least one dimension.

        Its calibration cosine for matching texts is higher than the one for unrelated texts.
        """
        unrelated, matching = embedder.calibration
        assert embedder.name
        assert embedder.dimensions > 0
        assert -1 <= unrelated < matching <= 1

    def test_there_is_one_row_of_float32_for_each_text(self, embedder: Embedder) -> None:
        """The result is a float32 matrix with one row per text and ``dimensions`` columns."""
        for role in _ROLES:
            vectors = embedder.embed(_TEXTS, role=role)
            assert vectors.shape == (len(_TEXTS), embedder.dimensions)
            assert vectors.dtype == np.float32

    def test_an_empty_list_of_texts_returns_no_rows(self, embedder: Embedder) -> None:
        """For an empty list of texts, the embedder returns a matrix without rows."""
        assert embedder.embed([], role="document").shape == (0, embedder.dimensions)

    def test_every_vector_has_unit_length(self, embedder: Embedder) -> None:
        """Vectors are normalized, so that a dot product is a cosine."""
        for role in _ROLES:
            _assert_unit(embedder.embed(_TEXTS, role=role))

    def test_unusual_texts_are_embedded_without_errors(self, embedder: Embedder) -> None:
        """Unusual texts raise no error and produce no NaN."""
        for role in _ROLES:
            _assert_unit(embedder.embed(ODD_TEXTS, role=role))

    def test_the_same_text_always_has_the_same_vector(self, embedder: Embedder) -> None:
        """Repeated calls return the same vectors, even with other calls in between."""
        for role in _ROLES:
            first = embedder.embed(_TEXTS, role=role)
            embedder.embed(["something else"], role=role)
            assert np.array_equal(first, embedder.embed(_TEXTS, role=role))

    def test_a_text_has_the_same_vector_alone_and_among_others(self, embedder: Embedder) -> None:
        """A text embedded alone has the same vector as in a batch."""
        for role in _ROLES:
            together = embedder.embed(_TEXTS, role=role)
            alone = [embedder.embed([text], role=role)[0] for text in _TEXTS]
            assert np.array_equal(together, np.stack(alone))

    def test_changing_a_result_does_not_change_later_results(self, embedder: Embedder) -> None:
        """If the caller modifies a returned array, later results do not change."""
        for role in _ROLES:
            given = embedder.embed(_TEXTS, role=role)
            expected = given.copy()
            given[:] = 0
            assert np.array_equal(expected, embedder.embed(_TEXTS, role=role))

    def test_a_question_finds_its_answer(self, embedder: Embedder) -> None:
        """Each question is nearest to the document that answers it."""
        documents = embedder.embed(_TEXTS, role="document")
        questions = embedder.embed(
            ["Which city do I live in now?", "What does she like to drink?", "When is the backup made?"],
            role="query",
        )
        assert (questions @ documents.T).argmax(axis=1).tolist() == [0, 1, 2]

    def test_several_threads_get_the_same_result_as_one(self, embedder: Embedder) -> None:
        """Concurrent calls from several threads return the same vectors as one thread."""
        texts = [f"{text} ({number})" for number in range(4) for text in _TEXTS]
        results: dict[str, Vectors] = {}

        def embed(text: str) -> None:
            results[text] = embedder.embed([text], role="document")[0]

        threads = [threading.Thread(target=embed, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = embedder.embed(texts, role="document")
        assert np.array_equal(np.stack([results[text] for text in texts]), expected)


def _assert_unit(vectors: "Vectors") -> None:
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
