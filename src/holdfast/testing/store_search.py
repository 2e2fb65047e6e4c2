"""How every store finds: by words, by vectors, by metadata."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from holdfast.errors import InvalidInput
from holdfast.protocols import Candidates, MemoryFilter, MessageFilter, Space, Store
from holdfast.testing.samples import ANA, AT, BOB, DAY, SHARED, OpenStore, a_memory, a_message, remember, say
from holdfast.types import Scope

if TYPE_CHECKING:
    from holdfast.protocols import Vectors

ODD_TOKENS = (
    "don't", "v2.5", "C++", "c#", "a/b.py", "snake_case", "kebab-case", "user@example.org", "#tag", "@name", "3.14", "1,000",
    "AND", "OR", "NOT", "NEAR", "$HOME", "--flag", "100%", "x=y", "<b>", "`code`", "\u6771\u4eac", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "🎉", "naïve", "Straße",
    "p1x", "I/O", "R&D", "node.js", "/etc/hosts", "C:\\temp", "+34-600-123-456", "2026-03-01", "O'Brien", "rock'n'roll",
)  # fmt: skip
"""Tokens that break naive full-text queries; each must be found by itself."""


def find(
    store: Store, query: str, reader: Scope = ANA, spaces: Sequence[Space] = ("memory", "message"), **more: Any
) -> list[str]:
    """Return the texts found by words, best first."""
    limit = more.pop("limit", 10)
    matches = store.find_text(query, Candidates(reader=reader, spaces=spaces, **more), languages=("en", "es"), limit=limit)
    return texts_of(store, [match.item for match in matches])


def texts_of(store: Store, items: Sequence[int]) -> list[str]:
    """Return the texts of items in their order, whatever revision or message they are."""
    texts = {message.seq: message.text for message in store.messages(MessageFilter(seqs=items))}
    memories = [revision for memory in store.memories(MemoryFilter(statuses=None)) for revision in store.revisions(memory.id)]
    texts.update({memory.item: memory.text for memory in memories})
    return [texts[item] for item in items]


def towards(*angles: float) -> "Vectors":
    """Return unit vectors in a plane, of four numbers each, at these angles in degrees."""
    radians = np.radians(np.array(angles, dtype=np.float32))
    flat = np.zeros((len(angles), 4), dtype=np.float32)
    flat[:, 0], flat[:, 1] = np.cos(radians), np.sin(radians)
    return flat


def embed_all(store: Store, model: str, angles: dict[str, float]) -> int:
    """Give every waiting window the vector at its text's angle."""
    waiting = store.waiting(model, limit=100)
    with store.write(durable=False) as tx:
        return tx.put_vectors(model, [(w.item, w.window) for w in waiting], towards(*(angles[w.text] for w in waiting)))


def nearest(store: Store, model: str, angle: float, reader: Scope = ANA, **more: Any) -> list[str]:
    """Return the texts nearest to an angle."""
    spaces: tuple[Space, ...] = more.pop("spaces", ("memory", "message"))
    limit = more.pop("limit", 10)
    where = Candidates(reader=reader, spaces=spaces, **more)
    return texts_of(store, [match.item for match in store.find_vectors(model, towards(angle)[0], where, limit=limit)])


class TextPromises:
    """Search by words."""

    def test_words_are_found_in_memories_and_messages(self, store: Store) -> None:
        """The space says which is which."""
        remember(store, a_memory("the parrot is green"))
        say(store, a_message("a parrot can talk"))
        assert set(find(store, "parrot")) == {"the parrot is green", "a parrot can talk"}
        assert find(store, "parrot", spaces=("memory",)) == ["the parrot is green"]
        assert find(store, "parrot", spaces=("message",)) == ["a parrot can talk"]

    def test_a_key_is_found_like_the_text(self, store: Store) -> None:
        """``drink: tea`` answers a question about drinks."""
        remember(store, a_memory("tea", key="drink"))
        assert find(store, "what does she drink?") == ["tea"]

    def test_the_better_match_comes_first_with_a_score_up_to_one(self, store: Store) -> None:
        """Rare words weigh more."""
        remember(store, a_memory("the red house"), a_memory("the red parrot"), a_memory("the red car"))
        matches = store.find_text("red parrot", Candidates(reader=ANA, spaces=("memory",)), languages=("en",), limit=10)
        assert texts_of(store, [matches[0].item]) == ["the red parrot"]
        assert all(0 < match.score <= 1 for match in matches)
        assert [m.score for m in matches] == sorted((m.score for m in matches), reverse=True)

    def test_scores_stay_within_bounds_when_a_word_has_several_spellings(self, store: Store) -> None:
        """One text may hold two stems of one query word."""
        remember(store, a_memory("cos cosa"))
        matches = store.find_text("cosas dragon", Candidates(reader=ANA, spaces=("memory",)), languages=("en", "es"), limit=10)
        assert [0 <= match.score <= 1 for match in matches] == [True]

    @pytest.mark.parametrize(
        ("stored", "query"),
        [
            ("she was running late", "runs"),
            ("two parrots", "parrot"),
            ("ella vive en Córdoba con sus gatos", "gato"),
            ("le gustan las canciones", "cancion"),
            ("el niño come manzanas", "nino manzana"),
            ("un café con leche", "CAFE"),
        ],
    )
    def test_word_forms_and_accents_do_not_matter(self, store: Store, stored: str, query: str) -> None:
        """In English and in Spanish."""
        language = "en" if stored.isascii() and "gustan" not in stored else "es"
        remember(store, a_memory(stored, language=language), a_memory("nothing of that"))
        assert find(store, query) == [stored]

    @pytest.mark.parametrize("token", ODD_TOKENS)
    def test_an_odd_token_finds_its_row(self, store: Store, token: str) -> None:
        """As it is written, alone as a query."""
        remember(store, a_memory("something else entirely"), a_memory(f"here stands {token} in a row"))
        assert find(store, token)[:1] == [f"here stands {token} in a row"]

    @pytest.mark.parametrize(
        "query", ["", "   ", '"', "*", "((", "NEAR(a b, 2)", "text:x", "^", "a AND", "-", "\x00", "'; DROP TABLE memories; --"]
    )
    def test_any_text_is_a_valid_query(self, store: Store, query: str) -> None:
        """Nothing in it is syntax."""
        remember(store, a_memory("a row"))
        assert isinstance(find(store, query), list)
        assert [m.text for m in store.memories(MemoryFilter())] == ["a row"]

    def test_scope_is_part_of_the_search(self, store: Store) -> None:
        """A thousand better rows of others do not hide one's own."""
        remember(
            store, *(a_memory(f"parrot {n}", scope=BOB) for n in range(300)), a_memory("my own parrot, among many other words")
        )
        assert find(store, "parrot", limit=1) == ["my own parrot, among many other words"]
        assert find(store, "parrot", SHARED) == []

    def test_kinds_and_metadata_limit_a_search(self, store: Store) -> None:
        """Both for words."""
        remember(
            store, a_memory("a parrot"), a_memory("one parrot", kind="event"), a_memory("two parrots", metadata={"room": "hall"})
        )
        assert find(store, "parrot", spaces=("memory",), kinds=("event",)) == ["one parrot"]
        assert find(store, "parrot", spaces=("memory",), where={"room": "hall"}) == ["two parrots"]

    def test_a_filter_does_not_lose_rows_behind_better_matches(self, store: Store) -> None:
        """What is filtered out takes no place in the ranking."""
        wanted = a_memory("a parrot with a great many other words around it", metadata={"room": "hall"})
        remember(store, wanted, *(a_memory(f"parrot {n}") for n in range(450)))
        assert find(store, "parrot", spaces=("memory",), where={"room": "hall"}) == [wanted.text]

    def test_an_older_wording_is_found_in_the_archive_alone(self, store: Store) -> None:
        """A revision moves the text before out of the way."""
        (first,) = remember(store, a_memory("the parrot is green"))
        remember(store, replace(first, text="the budgie is green", recorded_at=AT + DAY))
        assert find(store, "parrot") == []
        assert find(store, "parrot", spaces=("archive",)) == ["the parrot is green"]
        assert find(store, "budgie") == ["the budgie is green"]

    def test_a_retired_memory_is_found_in_the_archive_alone(self, store: Store) -> None:
        """And comes back when it is restored."""
        (first,) = remember(store, a_memory("the parrot is green"))
        (second,) = remember(store, replace(first, status="forgotten", recorded_at=AT + DAY))
        assert find(store, "parrot") == []
        assert find(store, "parrot", spaces=("archive",)) == ["the parrot is green"]
        remember(store, replace(second, status="live", recorded_at=AT + 2 * DAY))
        assert find(store, "parrot") == ["the parrot is green"]

    def test_a_word_deep_in_a_long_message_is_found_with_its_window(self, store: Store) -> None:
        """The window shows where."""
        text = "Nothing to see here. " * 2000 + "The password hint is a pangolin. " + "More of nothing. " * 2000
        (message,) = say(store, a_message(text))
        (match,) = store.find_text("pangolin", Candidates(reader=ANA, spaces=("message",)), languages=("en",), limit=5)
        assert match.item == message.seq
        assert "pangolin" in store.window_text(match.item, match.window, text)
        assert len(store.window_text(match.item, match.window, text)) < 5000


class VectorPromises:
    """Search by vectors, of one model at a time."""

    def test_nothing_waits_for_a_model_nobody_wants(self, store: Store) -> None:
        """And nothing is found by it."""
        remember(store, a_memory("one"))
        assert store.waiting("a", limit=10) == []
        assert nearest(store, "a", 0) == []

    def test_everything_stored_and_to_come_waits_for_a_wanted_model(self, store: Store) -> None:
        """Asking again changes nothing."""
        remember(store, a_memory("one"))
        with store.write() as tx:
            assert tx.use_model("a") == 1
        say(store, a_message("two"))
        with store.write() as tx:
            assert tx.use_model("a") == 2
        assert {w.text for w in store.waiting("a", limit=10)} == {"one", "two"}

    def test_a_readers_newest_wait_first(self, store: Store) -> None:
        """And only what they may see."""
        _want(store, "a")
        remember(store, a_memory("old"), a_memory("new"), a_memory("bob's", scope=BOB))
        assert [w.text for w in store.waiting("a", reader=ANA, limit=10)] == ["new", "old"]

    def test_vectors_rank_by_cosine(self, store: Store) -> None:
        """The score is the cosine, to a hundredth."""
        _want(store, "a")
        remember(store, a_memory("near"), a_memory("far"), a_memory("opposite"))
        assert embed_all(store, "a", {"near": 10, "far": 60, "opposite": 180}) == 3
        assert nearest(store, "a", 0) == ["near", "far", "opposite"]
        matches = store.find_vectors("a", towards(0)[0], Candidates(reader=ANA, spaces=("memory",)), limit=3)
        assert [match.score for match in matches] == pytest.approx(np.cos(np.radians([10, 60, 180])).tolist(), abs=0.01)

    def test_only_what_waits_takes_a_vector(self, store: Store) -> None:
        """Not what has one, and not what went away while it was computed."""
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

    def test_two_models_stand_side_by_side_and_never_meet(self, store: Store) -> None:
        """Also of different lengths."""
        remember(store, a_memory("one"), a_memory("two"))
        _want(store, "a")
        embed_all(store, "a", {"one": 0, "two": 90})
        _want(store, "b")
        waiting = store.waiting("b", limit=10)
        wide = np.eye(8, dtype=np.float32)
        with store.write() as tx:
            tx.put_vectors("b", [(w.item, w.window) for w in waiting], wide[[0 if w.text == "two" else 1 for w in waiting]])
        assert nearest(store, "a", 0, limit=1) == ["one"]
        found = store.find_vectors("b", wide[0], Candidates(reader=ANA, spaces=("memory",)), limit=1)
        assert texts_of(store, [found[0].item]) == ["two"]

    def test_a_model_without_vectors_finds_nothing_where_another_has_some(self, store: Store) -> None:
        """As after a change of embedder."""
        remember(store, a_memory("one"))
        _want(store, "a")
        embed_all(store, "a", {"one": 0})
        _want(store, "b")
        assert nearest(store, "b", 0) == []

    def test_a_dropped_model_leaves_nothing_and_the_other_all(self, store: Store) -> None:
        """Its queue is gone too."""
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
        assert store.waiting("a", limit=10) == []

    def test_a_dropped_model_can_come_back(self, store: Store) -> None:
        """Everything waits for it again."""
        remember(store, a_memory("one"))
        _want(store, "a")
        embed_all(store, "a", {"one": 0})
        with store.write() as tx:
            tx.drop_model("a")
            assert tx.use_model("a") == 1

    def test_a_retired_memory_is_near_in_the_archive_alone(self, store: Store) -> None:
        """Its vector moves with it, without being made again."""
        _want(store, "a")
        (first,) = remember(store, a_memory("one"))
        embed_all(store, "a", {"one": 0})
        remember(store, replace(first, status="forgotten", recorded_at=AT + DAY))
        assert nearest(store, "a", 0) == []
        assert nearest(store, "a", 0, spaces=("archive",)) == ["one"]
        assert store.waiting("a", limit=10) == []

    def test_a_new_wording_waits_for_a_vector_of_its_own(self, store: Store) -> None:
        """The old one stays with the old text."""
        _want(store, "a")
        (first,) = remember(store, a_memory("one"))
        embed_all(store, "a", {"one": 0})
        remember(store, replace(first, text="two", recorded_at=AT + DAY))
        assert nearest(store, "a", 0) == []
        assert [w.text for w in store.waiting("a", limit=10)] == ["two"]
        assert nearest(store, "a", 0, spaces=("archive",)) == ["one"]

    def test_scope_kinds_and_metadata_limit_a_search_by_vectors(self, store: Store) -> None:
        """Before ranking."""
        _want(store, "a")
        remember(
            store,
            a_memory("bob's", scope=BOB), a_memory("event", kind="event"), a_memory("hall", metadata={"room": "hall"}), a_memory("plain"),
        )  # fmt: skip
        embed_all(store, "a", {"bob's": 0, "event": 10, "hall": 20, "plain": 1})
        assert nearest(store, "a", 0, limit=1) == ["plain"]
        assert nearest(store, "a", 0, limit=1, spaces=("memory",), kinds=("event",)) == ["event"]
        assert nearest(store, "a", 0, limit=1, spaces=("memory",), where={"room": "hall"}) == ["hall"]

    def test_a_long_message_is_found_by_its_best_window_once(self, store: Store) -> None:
        """Each window has a vector of its own."""
        _want(store, "a")
        (message,) = say(store, a_message("Some words to fill a window with. " * 300))
        waiting = store.waiting("a", limit=100)
        assert len(waiting) > 3
        with store.write() as tx:
            tx.put_vectors("a", [(w.item, w.window) for w in waiting], towards(*(0 if w.window == 2 else 90 for w in waiting)))
        matches = store.find_vectors("a", towards(0)[0], Candidates(reader=ANA, spaces=("message",)), limit=5)
        assert [(match.item, match.window) for match in matches] == [(message.seq, 2)]

    def test_another_handle_follows_every_change_of_the_vectors(self, store: Store, open_store: OpenStore) -> None:
        """Additions, removals and moves reach an index that was loaded before."""
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
        assert nearest(other, "a", 0, spaces=("archive",)) == []

    def test_similarities_are_pairwise_cosines(self, store: Store) -> None:
        """Zero where a vector is missing."""
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


METADATA: dict[str, Any] = {"text": "b", "int": 3, "real": 2.5, "yes": True, "no": False, "none": None}


class MetadataPromises:
    """Filters on metadata: every primitive type, every comparison, any key."""

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            ({"text": "b"}, True),
            ({"text": "B"}, False),
            ({"int": 3}, True),
            ({"int": 3.0}, True),
            ({"int": "3"}, False),
            ({"real": 2.5}, True),
            ({"yes": True}, True),
            ({"yes": 1}, False),
            ({"no": False}, True),
            ({"no": 0}, False),
            ({"none": None}, True),
            ({"absent": None}, False),
            ({"text": ["a", "b"]}, True),
            ({"text": []}, False),
            ({"int": [1, "b", 3]}, True),
            ({"int": {"$gt": 2}}, True),
            ({"int": {"$gt": 3}}, False),
            ({"int": {"$gte": 3}}, True),
            ({"real": {"$lt": 2.6}}, True),
            ({"real": {"$lte": 2.4}}, False),
            ({"text": {"$ne": "a"}}, True),
            ({"text": {"$ne": "b"}}, False),
            ({"text": {"$gt": "a", "$lt": "c"}}, True),
            ({"int": {"$gt": 1, "$lt": 3}}, False),
            ({"text": "b", "int": 3}, True),
            ({"text": "b", "int": 4}, False),
        ],
    )
    def test_a_filter_finds_what_it_says(self, store: Store, where: dict[str, Any], found: bool) -> None:  # noqa: FBT001
        """JSON's types count: true is not 1, and '3' is not 3."""
        remember(store, a_memory("the one", metadata=METADATA))
        assert bool(store.memories(MemoryFilter(where=where))) is found

    @pytest.mark.parametrize(
        "key",
        [
            "a.b",
            "$.a",
            '"',
            "'",
            "'; DROP TABLE memories; --",
            "a'] OR 1=1 --",
            "ключ",
            "",
            " ",
            "[0]",
            "$",
            "%s",
            "{}",
            "?1",
            "\\",
            "\n",
        ],
    )
    def test_a_hostile_key_is_a_key_like_any_other(self, store: Store, key: str) -> None:
        """Bound, never formatted."""
        remember(store, a_memory("the one", metadata={key: 1}), a_memory("another", metadata={"x": 1}))
        assert [m.text for m in store.memories(MemoryFilter(where={key: 1}))] == ["the one"]
        assert [m.text for m in store.memories(MemoryFilter(where={key: {"$gte": 1}}))] == ["the one"]

    def test_an_unknown_comparison_is_refused(self, store: Store) -> None:
        """With the known ones named."""
        with pytest.raises(InvalidInput, match=r"\$gte"):
            store.memories(MemoryFilter(where={"a": {"$regex": "x"}}))

    def test_a_value_that_is_no_primitive_is_refused(self, store: Store) -> None:
        """Naming the key."""
        with pytest.raises(InvalidInput, match="'a'"):
            store.memories(MemoryFilter(where={"a": object()}))
