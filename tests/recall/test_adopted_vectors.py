"""Vectors that another program computed: they are stored if the same model computed them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from holdfast import Engine
from holdfast.protocols import MissingVector, Role
from holdfast.recall.embedder.adoption import is_same_model, unit_vectors
from holdfast.services import services
from holdfast.testing import HashEmbedder

if TYPE_CHECKING:
    from holdfast.protocols import Vectors

TEXTS = [f"fact number {number} about the garden" for number in range(20)]


def as_bytes(*numbers: float) -> bytes:
    return np.array(numbers, dtype="<f4").tobytes()


def chunk(item: int, text: str, number: int = 0) -> MissingVector:
    return MissingVector(item, number, text)


def test_each_vector_has_unit_length_and_belongs_to_the_chunk_with_its_text() -> None:
    waiting = [chunk(1, "a"), chunk(2, "b", 3), chunk(4, "unknown")]
    found = unit_vectors(waiting, {"a": as_bytes(3.0, 4.0), "b": as_bytes(0.0, 2.0), "other": as_bytes(1.0, 0.0)}, 2)
    assert {key: [round(float(each), 5) for each in vector] for key, vector in found.items()} == {
        (1, 0): [0.6, 0.8],
        (2, 3): [0.0, 1.0],
    }


@pytest.mark.parametrize(
    "given", [as_bytes(1.0), as_bytes(1.0, 2.0, 3.0), as_bytes(0.0, 0.0), as_bytes(np.nan, 1.0), as_bytes(np.inf, 1.0)]
)
def test_a_vector_of_another_size_without_a_length_or_with_a_number_that_is_not_finite_is_left_out(given: bytes) -> None:
    waiting = [chunk(1, "a"), chunk(2, "b")]
    assert set(unit_vectors(waiting, {"a": given, "b": as_bytes(0.0, 2.0)}, 2)) == {(2, 0)}


def test_vectors_count_as_the_same_model_only_if_all_are_close_to_our_own() -> None:
    own = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    close, far = np.array([0.95, 0.05], dtype=np.float32), np.array([1.0, 0.0], dtype=np.float32)
    assert is_same_model(own, [close, own[1]])
    assert not is_same_model(own, [close, far]), "one of two is from another model"


@pytest.fixture
def waiting(memory: Engine) -> Engine:
    """A memory whose texts have no vectors yet."""
    for text in TEXTS:
        memory.remember(text, user="ana")
    return memory


def adopted(memory: Engine, embedder: HashEmbedder, *, texts: Sequence[str] = TEXTS) -> int:
    vectors = np.asarray(embedder.embed(texts, role="document"), dtype="<f4") * 3
    return services(memory).embedding.adopt({text: row.tobytes() for text, row in zip(texts, vectors, strict=True)})


def test_vectors_of_the_same_model_are_stored_and_found(waiting: Engine) -> None:
    assert adopted(waiting, HashEmbedder()) == len(TEXTS)
    assert adopted(waiting, HashEmbedder()) == 0, "nothing is missing any more"
    hits = waiting.recall("garden", user="ana", limit=3)
    assert all(hit.similarity is not None for hit in hits)


def test_only_texts_that_are_stored_get_a_vector(waiting: Engine) -> None:
    assert adopted(waiting, HashEmbedder(), texts=[*TEXTS[:2], "never stored"]) == 2


@pytest.mark.parametrize("dimensions", [256, 128])
def test_vectors_of_another_model_are_not_stored(waiting: Engine, dimensions: int) -> None:
    class Reversed(HashEmbedder):
        """Another model: its vectors are those of the reversed words."""

        def embed(self, texts: Sequence[str], *, role: Role) -> "Vectors":
            return super().embed([text[::-1] for text in texts], role=role)

    assert adopted(waiting, Reversed(dimensions=dimensions)) == 0
    assert adopted(waiting, HashEmbedder()) == len(TEXTS), "the texts still wait for their vectors"


def test_without_an_embedder_no_vector_is_stored(open_memory: Callable[..., Engine]) -> None:
    memory = open_memory(embedder="none")
    memory.remember(TEXTS[0], user="ana")
    assert adopted(memory, HashEmbedder()) == 0
