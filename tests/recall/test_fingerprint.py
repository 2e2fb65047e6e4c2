"""An embedder that returns different vectors under the same name, or that misbehaves."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast import Engine
from holdfast.errors import AnswerInvalid, ModelError
from holdfast.protocols import Role
from holdfast.recall.embedder.calls import EmbedderCalls
from holdfast.recall.embedder.fingerprint import FIXED_TEXTS
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.services import services
from holdfast.testing import HashEmbedder
from tests.models.remote.chat_server import ChatServer

pytestmark = [pytest.mark.ledger("X29"), pytest.mark.ledger("X17")]
OpenMemory = Callable[..., Engine]
MODEL = "ollama:some-model"
TEXTS = [f"the otter number {n} sleeps in pond {n + 100}" for n in range(20)]


class Shifted(HashEmbedder):
    """An embedder whose dimensions are in another order, like another model with vectors of the same length."""

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        return np.roll(super().embed(texts, role=role), 17, axis=1)


class Broken(HashEmbedder):
    """An embedder that passes the right vectors to the function ``answer`` and returns what ``answer`` returns."""

    computes = False

    def __init__(self, answer: Callable[[NDArray[np.float32], Sequence[str]], Any]) -> None:
        super().__init__()
        self.answer = answer

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.answer(super().embed(texts, role=role), texts)
        return found


def finding(memory: Engine) -> tuple[bool, str]:
    (found,) = [each for each in memory.doctor() if each.check == "embedder vectors"]
    return found.ok, found.detail


def remember_all(memory: Engine) -> None:
    for text in TEXTS:
        memory.remember(text, user="ana")
    memory.drain()
    assert (memory.stats().vectors, finding(memory)[0]) == (len(TEXTS), True)


def assert_heals(memory: Engine) -> None:
    """Assert that recall still works, that the change of the vectors is reported, and that background work replaces them all."""
    assert memory.recall("otter number 7", user="ana")[0].text == TEXTS[7]
    ok, detail = finding(memory)
    assert not ok
    assert "embedded again" in detail
    assert any("embedded again" in notice for notice in services(memory).reader.notices)
    memory.drain()
    assert (memory.stats().vectors, memory.stats().waiting_for_vectors) == (len(TEXTS), 0)
    assert finding(memory)[0]
    assert services(memory).reader.notices == []
    hits = memory.recall("otter number 7 pond 107", user="ana")
    assert hits[0].text == TEXTS[7]
    assert hits[0].similarity is not None
    assert hits[0].similarity > 0.5


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(HashEmbedder(dimensions=480)) as server:
        yield server


@pytest.mark.long
@pytest.mark.everywhere
@pytest.mark.parametrize(
    "other", [HashEmbedder(dimensions=320), Shifted(dimensions=480)], ids=["another length", "the same length"]
)
def test_a_model_that_was_replaced_between_two_runs_is_noticed_and_the_store_heals(
    open_memory: OpenMemory, server: ChatServer, other: HashEmbedder
) -> None:
    options = {"embedder": MODEL, "settings": {"embedder_url": server.url}}
    with open_memory(**options) as memory:
        remember_all(memory)
    server.embedder = other
    assert_heals(open_memory(**options))


def test_a_model_may_change_its_vector_length_and_change_it_back(open_memory: OpenMemory, server: ChatServer) -> None:
    memory = open_memory(embedder=MODEL, settings={"embedder_url": server.url})
    remember_all(memory)
    for length in (640, 480, 320):
        server.embedder = HashEmbedder(dimensions=length)
        memory.recall(f"anything new for {length}", user="ana")
        assert_heals(memory)
        assert services(memory).store.vector_lengths(MODEL) == {length}


def test_a_function_may_change_the_length_of_its_vectors(open_memory: OpenMemory) -> None:
    lengths = [240]

    def embed(text: str) -> list[float]:
        return [float(number) for number in HashEmbedder(dimensions=lengths[0]).embed([text], role="document")[0]]

    memory = open_memory(embedder=embed)
    remember_all(memory)
    lengths[0] = 400
    memory.recall("a new question", user="ana")
    assert_heals(memory)


def test_another_process_checks_its_embedder_when_the_recorded_vectors_change(open_memory: OpenMemory) -> None:
    first, second = HashEmbedder("same", 640), Shifted("same", 640)
    one = open_memory(embedder=first)
    remember_all(one)
    other = open_memory(embedder=second)
    other.recall("otter", user="ana")
    assert services(other).embedding.is_embedding_again
    with pytest.raises(AnswerInvalid, match="Another process"), services(one).store.write() as tx:
        services(one).embedding.model.fingerprint.confirm(tx)  # as when a batch was embedded meanwhile
    one.recall("otter", user="ana")  # follows, with its own vectors
    one.drain()
    assert (one.stats().vectors, one.stats().waiting_for_vectors) == (len(TEXTS), 0)


def test_processes_with_different_models_under_one_name_do_not_rebuild_endlessly(open_memory: OpenMemory) -> None:
    one, other = open_memory(embedder=HashEmbedder("same", 640)), open_memory(embedder=Shifted("same", 640))
    remember_all(one)
    found = [each.recall("otter", user="ana") for each in (one, other) * 6]
    assert all(found)
    assert any("within an hour" in notice for hits in found for notice in hits.notices)


def test_the_vectors_of_an_earlier_version_with_two_lengths_are_computed_again(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="none")
    for text in TEXTS:
        memory.remember(text, user="ana")
    store = services(memory).store
    with store.write() as tx:
        tx.use_model("same")
    for dimensions in (240, 320):
        some = store.missing_vectors("same", limit=10)
        vectors = HashEmbedder("same", dimensions).embed([chunk.text for chunk in some], role="document")
        with store.write() as tx:
            tx.put_vectors("same", [(chunk.item, chunk.chunk) for chunk in some], vectors)
    memory.close()
    again = open_memory(embedder=HashEmbedder("same", 320))
    assert "2 different lengths (240, 320)" in finding(again)[1]
    assert_heals(again)


def test_a_store_with_two_lengths_answers_by_words_while_the_embedder_is_away(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder("same", 240))
    remember_all(memory)
    memory.remember("an otter from elsewhere", user="ana")
    store = services(memory).store
    (chunk,) = store.missing_vectors("same", limit=1)
    with store.write() as tx:
        tx.put_vectors("same", [(chunk.item, chunk.chunk)], np.ones((1, 9), dtype=np.float32))
    memory.close()

    def fail(vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        raise ModelError("away")

    broken = Broken(fail)
    broken.name = "same"
    assert len(open_memory(embedder=broken).recall("otter", user="ana")) > 3


ANSWERS: dict[str, Callable[[NDArray[np.float32], Sequence[str]], Any]] = {
    "NaN": lambda vectors, _: vectors * np.nan,
    "infinity": lambda vectors, _: vectors * np.inf,
    "zeros": lambda vectors, _: vectors * 0,
    "too few": lambda vectors, _: vectors[:-1],
    "wrong length": lambda vectors, _: vectors[:, :9],
    "text": lambda _, __: "no vectors",
    "nothing": lambda _, __: None,
    "ragged": lambda vectors, _: [vectors[0], [1.0]],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_embedder_with_unusable_vectors_is_a_typed_error_and_digestion_continues(open_memory: OpenMemory, name: str) -> None:
    memory = open_memory(embedder=Broken(ANSWERS[name]))
    with memory.session(user="ana") as session:
        session.add("user", "My otter is called Basil.")
    memory.drain()
    assert [job.state for job in memory.jobs()] == ["done"]
    hits = memory.recall("otter", user="ana")
    assert any("Basil" in hit.text for hit in hits)
    assert hits.notices[0].startswith("Searched by words only: hash-256")
    with pytest.raises(ModelError):
        services(memory).embedding.model.embed(Broken(ANSWERS[name]), ["a", "b"], "document")
    assert (memory.stats().vectors, memory.stats().waiting_for_vectors > 0) == (0, True)


def test_an_embedder_that_raises_in_a_property_is_a_typed_error_too(open_memory: OpenMemory) -> None:
    class NoLength(HashEmbedder):
        @property
        def dimensions(self) -> int:
            raise RuntimeError("unknown")

        @dimensions.setter
        def dimensions(self, value: int) -> None:
            pass

    memory = open_memory(embedder=NoLength())
    memory.remember("the otter is called Basil", user="ana")
    memory.drain()
    assert memory.recall("otter", user="ana")[0].text == "the otter is called Basil"


def test_one_text_without_a_vector_does_not_hold_up_the_others(open_memory: OpenMemory) -> None:
    def answer(vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        vectors[["pond 107" in text for text in texts]] = np.nan
        return vectors

    memory = open_memory(embedder=Broken(answer))
    for text in TEXTS:
        memory.remember(text, user="ana")
    memory.drain()
    assert (memory.stats().vectors, memory.stats().waiting_for_vectors) == (len(TEXTS) - 1, 1)
    assert finding(memory) == (False, "hash-256 returned unusable vectors for 1 text; it is found by words only.")
    assert memory.recall("pond 107", user="ana")[0].text == TEXTS[7]


def test_an_embedder_without_stable_vectors_is_refused_and_drops_nothing(open_memory: OpenMemory) -> None:
    with open_memory(embedder=HashEmbedder()) as memory:
        remember_all(memory)
    random = np.random.default_rng(1)
    unstable = open_memory(embedder=Broken(lambda vectors, _: random.normal(size=vectors.shape)))
    assert "different vectors for the same text" in unstable.recall("otter", user="ana").notices[0]
    assert unstable.stats().vectors == len(TEXTS)


def test_vectors_that_are_not_of_unit_length_are_scaled(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=Broken(lambda vectors, _: vectors * 25))
    remember_all(memory)
    hit = memory.recall(TEXTS[7], user="ana")[0]
    assert (hit.text, round(hit.similarity or 0, 1)) == (TEXTS[7], 1.0)


def test_an_embedder_that_hangs_does_not_stop_background_work(open_memory: OpenMemory) -> None:
    release = threading.Event()

    def hang(vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        release.wait(20)
        return vectors

    hanging = Broken(hang)
    source = EmbedderSource(name=hanging.name, load=lambda: hanging, calls=EmbedderCalls(background_seconds=0.2))
    memory = open_memory(embedder=source)
    try:
        for number in range(3):
            with memory.session(user="ana") as session:
                session.add("user", f"My otter number {number} is called Basil{number}.")
        memory.drain()
        assert {job.state for job in memory.jobs()} == {"done"}
        assert services(memory).reader.notices[0].startswith("Searched by words only: hash-256 did not answer")
    finally:
        release.set()


def test_an_interrupted_change_continues_in_the_next_process(open_memory: OpenMemory) -> None:
    with open_memory(embedder=HashEmbedder("same", 640)) as memory:
        remember_all(memory)
    with open_memory(embedder=Shifted("same", 640)) as memory:
        memory.recall("otter", user="ana")
        services(memory).embedding.catch_up(limit=8)
        assert 0 < memory.stats().waiting_for_vectors < len(TEXTS)
    again = open_memory(embedder=Shifted("same", 640))
    assert not finding(again)[0]
    assert again.drain() <= len(TEXTS) - 8
    assert (again.stats().vectors, finding(again)[0]) == (len(TEXTS), True)


def test_the_fixed_texts_are_the_same_in_every_version() -> None:
    assert [hash_of(text) for text in FIXED_TEXTS] == ["0f3f", "c2fb", "7108"]


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:4]
