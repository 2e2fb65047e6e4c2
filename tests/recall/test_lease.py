"""The lease that lets one of several processes do shared work."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import holdfast
from holdfast.config.opening import open_engine
from holdfast.errors import ModelUnavailable
from holdfast.protocols import Embedder, Role, Store
from holdfast.recall.embedder.fingerprint import FIXED_TEXTS
from holdfast.recall.embedder.loaded import EmbedderSource
from holdfast.recall.lease import ProcessLease
from holdfast.stores.sqlite.store import SQLiteStore
from holdfast.testing import HashEmbedder
from tests.server.http_support import eventually


def opened(tmp_path: Path) -> Store:
    return SQLiteStore(tmp_path / "memory.db")


def test_a_lease_is_exclusive_until_it_is_released(tmp_path: Path) -> None:
    one, other = (ProcessLease(opened(tmp_path), "work") for _ in range(2))
    assert (one.acquire(), other.acquire(), one.acquire()) == (True, False, True)
    one.release()
    assert (other.acquire(), one.acquire()) == (True, False)


def test_leases_with_different_names_are_independent(tmp_path: Path) -> None:
    assert ProcessLease(opened(tmp_path), "one").acquire()
    assert ProcessLease(opened(tmp_path), "another").acquire()


def test_a_lease_that_is_not_released_expires(tmp_path: Path) -> None:
    one, other = (ProcessLease(opened(tmp_path), "work", seconds=0.4) for _ in range(2))
    assert one.acquire()
    assert not other.acquire()
    time.sleep(0.5)
    assert other.acquire()


def test_a_lease_recorded_by_a_clock_far_ahead_still_expires(tmp_path: Path) -> None:
    one, other = ProcessLease(opened(tmp_path), "work", seconds=3600), ProcessLease(opened(tmp_path), "work")
    assert one.acquire()
    assert other.acquire()


class Counting(HashEmbedder):
    """An embedder that records the texts it embeds. The fixed texts of the fingerprint check are not recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Record the texts, and embed them slowly enough for two processes to overlap."""
        self.given += [text for text in texts if text not in FIXED_TEXTS]
        time.sleep(0.01)
        return super().embed(texts, role=role)


def test_a_process_that_cannot_embed_leaves_the_work_to_another(tmp_path: Path) -> None:
    able = Counting()

    def unable() -> Embedder:
        raise ModelUnavailable("its weights are not here")

    lacking = EmbedderSource(name=able.name, load=unable)
    with open_engine(tmp_path, embedder=lacking) as one, holdfast.open(tmp_path, embedder=able) as other:
        one.remember("the parrot eats mango", user="ana")
        other.remember("the cat eats tuna", user="ana")
        eventually(lambda: other.stats().waiting_for_vectors == 0, 20)
    assert len(able.given) == 2


def test_two_memories_of_one_store_embed_each_text_once(tmp_path: Path) -> None:
    embedders = [Counting(), Counting()]
    with holdfast.open(tmp_path, embedder=embedders[0]) as one, holdfast.open(tmp_path, embedder=embedders[1]) as other:
        said = [f"thing number {number}" for number in range(40)]
        for number, text in enumerate(said):
            (one, other)[number % 2].remember(text, user="ana")
        eventually(lambda: one.stats().waiting_for_vectors == 0, 20)
    assert sorted(embedders[0].given + embedders[1].given) == sorted(said)
