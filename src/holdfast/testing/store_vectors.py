"""Conformance tests for vector search."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from holdfast.errors import AnswerInvalid
from holdfast.protocols import SearchFilter, Space, Store
from holdfast.testing.samples import ANA, AT, BOB, DAY, OpenStore, a_memory, a_message, remember, say
from holdfast.testing.store_search import texts_of
from holdfast.types import Scope

if TYPE_CHECKING:
    from holdfast.protocols import Vectors


def towards(*angles: float) -> "Vectors":
    """Return one 4-dimensional unit vector per angle. The angles are in degrees, and all vectors lie in one plane."""
    radians = np.radians(np.array(angles, dtype=np.float32))
    flat = np.zeros((len(angles), 4), dtype=np.float32)
    flat[:, 0], flat[:, 1] = np.cos(radians), np.sin(radians)
    return flat


def embed_all(store: Store, model: str, angles: dict[str, float]) -> int:
    """Store vectors for the chunks that have none, but for at most 100 chunks. Return the number of stored vectors.

    ``angles`` maps the text of a chunk to the angle of its vector in degrees.
    """
    waiting = store.missing_vectors(model, limit=100)
    with store.write(durable=False) as tx:
        return tx.put_vectors(model, [(w.item, w.chunk) for w in waiting], towards(*(angles[w.text] for w in waiting)))


def nearest(store: Store, model: str, angle: float, reader: Scope = ANA, **more: Any) -> list[str]:
    """Return the texts whose vectors are closest to the vector at an angle (in degrees), closest first.

    ``more`` are other fields of the ``SearchFilter``, and the ``limit`` of the search.
    """
    spaces: tuple[Space, ...] = more.pop("spaces", ("memory", "message"))
    limit = more.pop("limit", 10)
    where = SearchFilter(reader=reader, spaces=spaces, **more)
    return texts_of(store, [match.item for match in store.find_vectors(model, towards(angle)[0], where, limit=limit)])


class VectorPromises:
    """Tests that every store must pass for vector search, which uses the vectors of one embedding model at a time."""

    def test_nothing_waits_for_an_unregistered_model(self, store: Store) -> None:
        """If a model is not registered, no chunk waits to be embedded, and a search finds nothing."""
        remember(store, a_memory("one"))
        assert store.missing_vectors("a", limit=10) == []
        assert nearest(store, "a", 0) == []

    def test_stored_and_new_texts_wait_for_a_registered_model(self, store: Store) -> None:
        """Texts stored before and after a model is registered wait to be embedded by it. Registering it twice changes nothing."""
        remember(store, a_memory("one"))
        with store.write() as tx:
            assert tx.use_model("a") == 1
        say(store, a_message("two"))
        with store.write() as tx:
            assert tx.use_model("a") == 2
        assert {w.text for w in store.missing_vectors("a", limit=10)} == {"one", "two"}

    def test_vector_lengths_are_listed_and_only_vectors_of_the_querys_length_are_compared(self, store: Store) -> None:
        """A query is compared only with vectors of its own length.

        A model can have vectors of other lengths if another model was installed under the same name.
        """
        _want(store, "a")
        remember(store, a_memory("short"), a_memory("long"))
        for waiting, length in zip(store.missing_vectors("a", limit=2), (4, 6), strict=True):
            with store.write(durable=False) as tx:
                tx.put_vectors("a", [(waiting.item, waiting.chunk)], np.ones((1, length), dtype=np.float32) / np.sqrt(length))
        assert store.vector_lengths("a") == {4, 6}
        assert store.vector_lengths("b") == set()
        assert len(nearest(store, "a", 0)) <= 1
        with pytest.raises(AnswerInvalid), store.write(durable=False) as tx:
            tx.put_vectors("a", [(1, 0)], np.full((1, 4), np.nan, dtype=np.float32))

    def test_the_registered_models_are_listed(self, store: Store) -> None:
        """Models are listed in the order of their registration."""
        for model in ("b", "a", "b"):
            _want(store, model)
        assert store.models() == ["b", "a"]

    def test_waiting_chunks_of_a_reader_are_listed_newest_first(self, store: Store) -> None:
        """The chunks that wait to be embedded are listed newest first. Only chunks that the reader may see are listed."""
        _want(store, "a")
        remember(store, a_memory("old"), a_memory("new"), a_memory("bob's", scope=BOB))
        assert [w.text for w in store.missing_vectors("a", reader=ANA, limit=10)] == ["new", "old"]

    def test_waiting_items_are_counted_once_per_reader(self, store: Store) -> None:
        """An item with several chunks that wait is counted once. Items that the reader may not see are not counted."""
        assert store.count_missing_vectors("a", reader=ANA) == 0
        _want(store, "a")
        remember(store, a_memory("long " * 2000), a_memory("short"), a_memory("bob's", scope=BOB))
        say(store, a_message("said"))
        assert len(store.missing_vectors("a", reader=ANA, limit=10)) > 3
        assert store.count_missing_vectors("a", reader=ANA) == 3
        assert store.count_missing_vectors("a", reader=BOB) == 1

    def test_selected_waiting_chunks_are_listed(self, store: Store) -> None:
        """With ``windows``, only the given chunks are listed, and only if they have no vector and the reader may see them."""
        _want(store, "a")
        done, old, new, others = remember(store, a_memory("done"), a_memory("old"), a_memory("new"), a_memory("bob's", scope=BOB))
        with store.write(durable=False) as tx:
            tx.put_vectors("a", [(done.item, 0)], towards(0))
        chosen = [(memory.item, 0) for memory in (done, old, others)]
        assert [w.text for w in store.missing_vectors("a", reader=ANA, windows=chosen, limit=10)] == ["old"]
        assert [w.text for w in store.missing_vectors("a", reader=ANA, windows=[(old.item, 0), (new.item, 0)], limit=1)] == [
            "new"
        ]
        assert store.missing_vectors("a", reader=ANA, windows=[], limit=10) == []

    def test_vectors_rank_by_cosine(self, store: Store) -> None:
        """The score of a match is its cosine with the query, within 0.01."""
        _want(store, "a")
        remember(store, a_memory("near"), a_memory("far"), a_memory("opposite"))
        assert embed_all(store, "a", {"near": 10, "far": 60, "opposite": 180}) == 3
        assert nearest(store, "a", 0) == ["near", "far", "opposite"]
        matches = store.find_vectors("a", towards(0)[0], SearchFilter(reader=ANA, spaces=["memory"]), limit=3)
        assert [match.score for match in matches] == pytest.approx(np.cos(np.radians([10, 60, 180])).tolist(), abs=0.01)

    def test_only_waiting_chunks_get_a_vector(self, store: Store) -> None:
        """``put_vectors`` skips chunks that already have a vector and chunks removed in the meantime."""
        _want(store, "a")
        one, two = remember(store, a_memory("one"), a_memory("two"))
        waiting = [(one.item, 0), (two.item, 0)]
        with store.write() as tx:
            tx.remove_memories([two.id])
        with store.write() as tx:
            assert tx.put_vectors("a", waiting, towards(0, 90)) == 1
            assert tx.put_vectors("a", waiting, towards(180, 180)) == 0
            assert tx.put_vectors("unwanted", waiting, towards(0, 0)) == 0
        assert nearest(store, "a", 0) == ["one"]
        assert store.stats()["vectors"] == 1

    def test_vectors_of_two_models_are_stored_side_by_side_and_never_compared(self, store: Store) -> None:
        """Vectors of two models with different dimensions are stored and searched independently."""
        remember(store, a_memory("one"), a_memory("two"))
        _want(store, "a")
        embed_all(store, "a", {"one": 0, "two": 90})
        _want(store, "b")
        waiting = store.missing_vectors("b", limit=10)
        wide = np.eye(8, dtype=np.float32)
        with store.write() as tx:
            tx.put_vectors("b", [(w.item, w.chunk) for w in waiting], wide[[0 if w.text == "two" else 1 for w in waiting]])
        assert nearest(store, "a", 0, limit=1) == ["one"]
        found = store.find_vectors("b", wide[0], SearchFilter(reader=ANA, spaces=["memory"]), limit=1)
        assert texts_of(store, [found[0].item]) == ["two"]

    def test_a_model_without_vectors_finds_nothing_although_another_has_vectors(self, store: Store) -> None:
        """A search with a new embedding model finds nothing as long as only the old model's vectors are stored."""
        remember(store, a_memory("one"))
        _want(store, "a")
        embed_all(store, "a", {"one": 0})
        _want(store, "b")
        assert nearest(store, "b", 0) == []

    def test_a_dropped_model_is_removed_completely_and_other_models_stay(self, store: Store) -> None:
        """Dropping a model removes its vectors and its queue of chunks to embed. Other models keep theirs."""
        remember(store, a_memory("one"))
        for model in ("a", "b"):
            _want(store, model)
            embed_all(store, model, {"one": 0})
        remember(store, a_memory("two"))
        with store.write() as tx:
            tx.drop_model("a")
        assert nearest(store, "a", 0) == []
        assert nearest(store, "b", 0) == ["one"]
        assert (store.stats()["vectors"], store.stats()["models"]) == (1, ["b"])
        assert store.missing_vectors("a", limit=10) == []

    def test_a_dropped_model_can_be_registered_again(self, store: Store) -> None:
        """If a dropped model is registered again, all texts wait to be embedded by it again."""
        remember(store, a_memory("one"))
        _want(store, "a")
        embed_all(store, "a", {"one": 0})
        with store.write() as tx:
            tx.drop_model("a")
            assert tx.use_model("a") == 1

    def test_a_retired_memory_is_found_by_vector_only_in_the_archive(self, store: Store) -> None:
        """When a memory is retired, its vector moves to the archive and is not computed again."""
        _want(store, "a")
        (first,) = remember(store, a_memory("one"))
        embed_all(store, "a", {"one": 0})
        remember(store, replace(first, status="forgotten", recorded_at=AT + DAY))
        assert nearest(store, "a", 0) == []
        assert nearest(store, "a", 0, spaces=["archive"]) == ["one"]
        assert store.missing_vectors("a", limit=10) == []

    def test_a_new_text_waits_for_its_own_vector(self, store: Store) -> None:
        """If the text of a memory changes, the new text needs a new vector. The old vector stays in the archive."""
        _want(store, "a")
        (first,) = remember(store, a_memory("one"))
        embed_all(store, "a", {"one": 0})
        remember(store, replace(first, text="two", recorded_at=AT + DAY))
        assert nearest(store, "a", 0) == []
        assert [w.text for w in store.missing_vectors("a", limit=10)] == ["two"]
        assert nearest(store, "a", 0, spaces=["archive"]) == ["one"]

    def test_scope_kinds_and_metadata_limit_a_search_by_vectors(self, store: Store) -> None:
        """Scope, ``kinds`` and ``where`` are applied before the limit."""
        _want(store, "a")
        remember(
            store,
            a_memory("bob's", scope=BOB),
            a_memory("event", kind="event"),
            a_memory("hall", metadata={"room": "hall"}),
            a_memory("plain"),
        )
        embed_all(store, "a", {"bob's": 0, "event": 10, "hall": 20, "plain": 1})
        assert nearest(store, "a", 0, limit=1) == ["plain"]
        assert nearest(store, "a", 0, limit=1, spaces=("memory",), kinds=("event",)) == ["event"]
        assert nearest(store, "a", 0, limit=1, spaces=("memory",), where={"room": "hall"}) == ["hall"]

    def test_a_long_message_is_found_once_by_its_best_chunk(self, store: Store) -> None:
        """A long message is returned once, with the chunk that matches best."""
        _want(store, "a")
        (message,) = say(store, a_message("Some words to fill a window with. " * 300))
        waiting = store.missing_vectors("a", limit=100)
        assert len(waiting) > 3
        with store.write() as tx:
            tx.put_vectors("a", [(w.item, w.chunk) for w in waiting], towards(*(0 if w.chunk == 2 else 90 for w in waiting)))
        matches = store.find_vectors("a", towards(0)[0], SearchFilter(reader=ANA, spaces=["message"]), limit=5)
        assert [(match.item, match.chunk) for match in matches] == [(message.seq, 2)]

    def test_another_handle_sees_every_change_of_the_vectors(self, store: Store, open_store: OpenStore) -> None:
        """A handle is an open store object. It sees the vectors that another handle adds, moves or removes.

        This holds even if the handle has already loaded its vector index.
        """
        other = open_store()
        _want(store, "a")
        one, _ = remember(store, a_memory("one"), a_memory("two"))
        embed_all(store, "a", {"one": 0, "two": 90})
        assert nearest(other, "a", 0) == ["one", "two"]
        remember(store, a_memory("three"))
        embed_all(store, "a", {"three": 1})
        assert nearest(other, "a", 0) == ["one", "three", "two"]
        remember(store, replace(one, status="forgotten", recorded_at=AT + DAY))
        assert nearest(other, "a", 0) == ["three", "two"]
        with store.write() as tx:
            tx.remove_memories([one.id])
        assert nearest(other, "a", 0, spaces=["archive"]) == []

    def test_similarities_are_pairwise_cosines(self, store: Store) -> None:
        """``similarities`` returns the cosine of each pair of items, or 0 if a vector is missing."""
        _want(store, "a")
        one, two = remember(store, a_memory("one"), a_memory("two"))
        embed_all(store, "a", {"one": 0, "two": 60})
        (three,) = remember(store, a_memory("three"))
        cosines = store.similarities("a", [one.item, two.item, three.item])
        assert cosines is not None
        assert cosines[0].tolist() == pytest.approx([1, 0.5, 0], abs=0.01)
        assert store.similarities("unwanted", [one.item]) is None


def _want(store: Store, model: str) -> None:
    with store.write() as tx:
        tx.use_model(model)
