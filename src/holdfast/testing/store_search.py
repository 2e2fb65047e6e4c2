"""Conformance tests for full-text search."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holdfast.protocols import MemoryFilter, MessageFilter, SearchFilter, Space, Store
from holdfast.testing.samples import ANA, AT, BOB, DAY, SHARED, a_memory, a_message, remember, say
from holdfast.types import Scope

ODD_TOKENS = (
    "don't", "v2.5", "C++", "c#", "a/b.py", "snake_case", "kebab-case", "user@example.org", "#tag", "@name", "3.14", "1,000",
    "AND", "OR", "NOT", "NEAR", "$HOME", "--flag", "100%", "x=y", "<b>", "`code`", "\u6771\u4eac", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", "🎉", "naïve", "Straße",
    "p1x", "I/O", "R&D", "node.js", "/etc/hosts", "C:\\temp", "+34-600-123-456", "2026-03-01", "O'Brien", "rock'n'roll",
)  # fmt: skip
"""Tokens that break naive full-text queries. A query for such a token must find the text that contains it."""


def find(
    store: Store, query: str, reader: Scope = ANA, spaces: Sequence[Space] = ("memory", "message"), **more: Any
) -> list[str]:
    """Return the texts that a search by words finds, best first.

    ``more`` are other fields of the ``SearchFilter``, and the ``limit`` of the search.
    """
    limit = more.pop("limit", 10)
    matches = store.find_text(query, SearchFilter(reader=reader, spaces=spaces, **more), languages=("en", "es"), limit=limit)
    return texts_of(store, [match.item for match in matches])


def texts_of(store: Store, items: Sequence[int]) -> list[str]:
    """Return the texts of items in the given order. An item is a message or any revision of a memory."""
    texts = {message.seq: message.text for message in store.messages(MessageFilter(seqs=items))}
    memories = [revision for memory in store.memories(MemoryFilter(statuses=None)) for revision in store.revisions(memory.id)]
    texts.update({memory.item: memory.text for memory in memories})
    return [texts[item] for item in items]


class TextPromises:
    """Tests that every store must pass for full-text search."""

    def test_words_are_found_in_memories_and_messages(self, store: Store) -> None:
        """``spaces`` selects whether memories, messages or both are searched."""
        remember(store, a_memory("the parrot is green"))
        say(store, a_message("a parrot can talk"))
        assert set(find(store, "parrot")) == {"the parrot is green", "a parrot can talk"}
        assert find(store, "parrot", spaces=["memory"]) == ["the parrot is green"]
        assert find(store, "parrot", spaces=["message"]) == ["a parrot can talk"]

    def test_a_key_is_found_like_the_text(self, store: Store) -> None:
        """A query that names a memory's key finds the memory."""
        remember(store, a_memory("tea", key="drink"))
        assert find(store, "what does she drink?") == ["tea"]

    def test_the_better_match_comes_first_with_a_score_up_to_one(self, store: Store) -> None:
        """The text with the rarer query word comes first. Scores are above 0 and at most 1."""
        remember(store, a_memory("the red house"), a_memory("the red parrot"), a_memory("the red car"))
        matches = store.find_text("red parrot", SearchFilter(reader=ANA, spaces=["memory"]), languages=("en",), limit=10)
        assert texts_of(store, [matches[0].item]) == ["the red parrot"]
        assert all(0 < match.score <= 1 for match in matches)
        assert [m.score for m in matches] == sorted((m.score for m in matches), reverse=True)

    def test_scores_stay_within_bounds_when_a_word_has_several_spellings(self, store: Store) -> None:
        """A query word can have several stems. A text that contains two of these stems scores at most 1."""
        remember(store, a_memory("cos cosa"))
        matches = store.find_text("cosas dragon", SearchFilter(reader=ANA, spaces=["memory"]), languages=("en", "es"), limit=10)
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
        """A query matches other inflections of its words, and words without their accents, in English and Spanish."""
        language = "en" if stored.isascii() and "gustan" not in stored else "es"
        remember(store, a_memory(stored, language=language), a_memory("nothing of that"))
        assert find(store, query) == [stored]

    @pytest.mark.parametrize("token", ODD_TOKENS)
    def test_an_unusual_token_finds_its_row(self, store: Store, token: str) -> None:
        """A token with punctuation, used alone as a query, finds the text that contains it."""
        remember(store, a_memory("something else entirely"), a_memory(f"here stands {token} in a row"))
        assert find(store, token)[:1] == [f"here stands {token} in a row"]

    @pytest.mark.parametrize(
        "query", ["", "   ", '"', "*", "((", "NEAR(a b, 2)", "text:x", "^", "a AND", "-", "\x00", "'; DROP TABLE memories; --"]
    )
    def test_any_text_is_a_valid_query(self, store: Store, query: str) -> None:
        """No character in a query is interpreted as search syntax."""
        remember(store, a_memory("a row"))
        assert isinstance(find(store, query), list)
        assert [m.text for m in store.memories(MemoryFilter())] == ["a row"]

    def test_scope_is_part_of_the_search(self, store: Store) -> None:
        """The reader's own matches are found, even if texts that the reader may not see match better."""
        remember(
            store, *(a_memory(f"parrot {n}", scope=BOB) for n in range(300)), a_memory("my own parrot, among many other words")
        )
        assert find(store, "parrot", limit=1) == ["my own parrot, among many other words"]
        assert find(store, "parrot", SHARED) == []

    def test_kinds_and_metadata_limit_a_search(self, store: Store) -> None:
        """``kinds`` and ``where`` filter the results of a search by words."""
        remember(
            store, a_memory("a parrot"), a_memory("one parrot", kind="event"), a_memory("two parrots", metadata={"room": "hall"})
        )
        assert find(store, "parrot", spaces=("memory",), kinds=("event",)) == ["one parrot"]
        assert find(store, "parrot", spaces=("memory",), where={"room": "hall"}) == ["two parrots"]

    def test_a_filter_does_not_lose_rows_behind_better_matches(self, store: Store) -> None:
        """Filters apply before the limit. Matches that a filter rejects do not count toward the limit."""
        expected = a_memory("a parrot with a great many other words around it", metadata={"room": "hall"})
        remember(store, expected, *(a_memory(f"parrot {n}") for n in range(450)))
        assert find(store, "parrot", spaces=("memory",), where={"room": "hall"}) == [expected.text]

    def test_a_time_filter_applies_to_messages(self, store: Store) -> None:
        """``said`` selects messages by time ranges. The end of a range is excluded. Memories are not filtered by ``said``."""
        say(store, *(a_message(f"parrot {day}", at=AT + day * DAY, session=f"ses_{day}") for day in range(6)))
        remember(store, a_memory("the parrot is green"))
        days = [(AT + DAY, AT + 2 * DAY), (AT + 4 * DAY, AT + 5 * DAY)]
        assert set(find(store, "parrot", spaces=["message"], said=days)) == {"parrot 1", "parrot 4"}
        assert find(store, "parrot", spaces=["message"], said=days, without_session="ses_1") == ["parrot 4"]
        assert find(store, "parrot", spaces=["message"], said=[(AT + 9 * DAY, AT + 10 * DAY)]) == []
        assert find(store, "parrot", spaces=["memory"], said=days) == ["the parrot is green"]

    def test_tidying_ends_and_changes_no_result(self, store: Store) -> None:
        """If ``tidy()`` (one step of maintenance) is called often enough, nothing is left to do.

        Search results stay the same.
        """
        for n in range(40):
            remember(store, a_memory(f"parrot {n} of the harbour"))
        before = find(store, "parrot 7 harbour")
        steps = 0
        while store.tidy():
            steps += 1
            assert steps < 1000, "tidy() never returns False"
        assert find(store, "parrot 7 harbour") == before

    def test_the_text_of_an_old_revision_is_found_only_in_the_archive(self, store: Store) -> None:
        """The text of an old revision is found only in the archive."""
        (first,) = remember(store, a_memory("the parrot is green"))
        remember(store, replace(first, text="the budgie is green", recorded_at=AT + DAY))
        assert find(store, "parrot") == []
        assert find(store, "parrot", spaces=["archive"]) == ["the parrot is green"]
        assert find(store, "budgie") == ["the budgie is green"]

    def test_a_retired_memory_is_found_only_in_the_archive(self, store: Store) -> None:
        """A retired memory is found only in the archive, until it is restored."""
        (first,) = remember(store, a_memory("the parrot is green"))
        (second,) = remember(store, replace(first, status="forgotten", recorded_at=AT + DAY))
        assert find(store, "parrot") == []
        assert find(store, "parrot", spaces=["archive"]) == ["the parrot is green"]
        remember(store, replace(second, status="live", recorded_at=AT + 2 * DAY))
        assert find(store, "parrot") == ["the parrot is green"]

    def test_a_word_deep_in_a_long_message_is_found_with_its_chunk(self, store: Store) -> None:
        """A word at the end of a long message is found. The match names the chunk that contains the word."""
        text = "Nothing to see here. " * 2000 + "The password hint is a pangolin. " + "More of nothing. " * 2000
        (message,) = say(store, a_message(text))
        (match,) = store.find_text("pangolin", SearchFilter(reader=ANA, spaces=["message"]), languages=("en",), limit=5)
        assert match.item == message.seq
        assert "pangolin" in store.chunk_text(match.item, match.chunk, text)
        assert len(store.chunk_text(match.item, match.chunk, text)) < 5000

    @pytest.mark.parametrize("gone", ["removed", "hidden"])
    def test_a_reply_is_found_by_its_question_until_the_question_is_removed(self, store: Store, gone: str) -> None:
        """A reply is stored and indexed with the question that it answers.

        When the question is removed or hidden, its words are removed from the row of the reply, from the index entries of the
        reply, and from the text to embed.
        """
        with store.write() as tx:
            tx.use_model("test")
        (question,) = say(store, a_message("any allergies?", role="assistant"))
        (reply,) = say(store, a_message("just shellfish", act="reply", asked="any allergies?", answers=question.seq))
        assert set(find(store, "allergies")) == {"any allergies?", "just shellfish"}
        assert "any allergies? just shellfish" in [chunk.text for chunk in store.missing_vectors("test", limit=9)]
        with store.write() as tx:
            if gone == "removed":
                tx.remove_messages([question.id])
            else:
                tx.set_action([question.id], "forgotten")
        assert "just shellfish" not in find(store, "allergies")
        assert find(store, "shellfish") == ["just shellfish"]
        (left,) = store.messages(MessageFilter(seqs=[reply.seq]))
        assert (left.asked, left.answers, left.act) == (None, None, "reply")
        assert "just shellfish" in [chunk.text for chunk in store.missing_vectors("test", limit=9)]

    def test_a_message_keeps_its_dialogue_act_and_its_metadata_has_the_text_if_it_asks(self, store: Store) -> None:
        """``places()`` returns the dialogue act of a message.

        It returns the text of the message only if the message asks something, or if its dialogue act is unknown.
        """
        plain, asking, old = say(
            store,
            a_message("I live in Lyon", act="statement"),
            a_message("I live in Lyon, and you?", act="statement", asks=True),
            a_message("stored by an older version"),
        )
        places = {place.seq: place for place in store.places([plain.seq, asking.seq, old.seq])}
        assert [(places[each.seq].act, places[each.seq].text) for each in (plain, asking, old)] == [
            ("statement", None),
            ("statement", "I live in Lyon, and you?"),
            (None, "stored by an older version"),
        ]
