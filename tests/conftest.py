"""What most tests need: a memory on real parts, a clock that stands still, and a look at the bytes on disk."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite(
    *(
        f"holdfast.testing.{name}"
        for name in ("embedders", "store_care", "store_records", "store_search", "store_vectors", "store_writes")
    )
)

import holdfast  # noqa: E402  (after the rewriting of its asserts was asked for)
from holdfast import Engine  # noqa: E402
from holdfast.testing import FrozenClock, HashEmbedder  # noqa: E402

# Bugs found and not mended yet: part of a test's name, and what is wrong. Strict: a mended one must be taken off.
KNOWN_BUGS = {
    "test_a_model_without_vectors_finds_nothing": "a partition without vectors of the model makes VectorIndex(0): ValueError",
    "test_a_retired_memory_is_near_in_the_archive_alone": "VectorIndex(0): ValueError",
    "test_a_new_wording_waits_for_a_vector_of_its_own": "VectorIndex(0): ValueError",
    "test_another_handle_follows_every_change_of_the_vectors": "VectorIndex(0): ValueError",
    "test_a_forgotten_only_memory_leaves_a_search_that_works": "VectorIndex(0): ValueError",
    "test_as_of_gives_what_held_then": "VectorIndex(0): ValueError",
    "test_forgetting_by_id_hides_at_once": "VectorIndex(0): ValueError",
    "test_forgetting_needs_one_thing_to_forget_and_else_forgets_nothing[wanted2]": "forget(id='') forgets every shared memory",
    "test_what_somebody_else_said_too_is_no_residue": "the same text of another user counts as residue for ever",
    "test_what_was_forgotten_does_not_come_back_with_its_message": "VectorIndex(0); and after the purge the message is recalled again",
    "test_scores_stay_within_bounds_when_a_word_has_several_spellings": "a negative BM25 weight gives a negative score",
    "test_a_filter_does_not_lose_rows_behind_better_matches": "the text arm filters after it has cut to the best",
    "test_a_long_session_does_not_hide_what_others_said": "the session's own messages take all places and are dropped afterwards",
    "test_the_successor_is_the_latest_of_a_chain": "the successor of a successor is not followed",
    "test_words_serve_while_no_vector_of_the_new_model_is_there": "a ModelError of embed() stops recall",
    "test_a_source_is_revoked_also_when_its_raw_message_is_long_gone": "retention removes the provenance",
    "test_a_use_counts_from_when_it_was": "uses are written down after the purge, and as of then",
    "test_names_are_taken_without_invisible_characters": "sessions(user=) takes the name as it is",
    "test_a_closed_store_says_so": "check() opens a new connection after close()",
    "test_every_way_in_says_that_the_store_is_closed": "check() opens a new connection after close()",
    "test_the_check_reports_text_that_is_no_longer_valid": "UnicodeDecodeError out of check()",
    "test_reading_text_that_is_no_longer_valid": "UnicodeDecodeError out of a read",
    "test_marks_that_nobody_sees_are_taken_out": "U+061C and tag characters pass into the block",
    "test_a_sign_is_found_beside_other_signs": "a chunk without words is one token, punctuation and all",
    "test_odd_tokens_find_their_rows_in_a_sentence[what about": "as above: an emoji with punctuation beside it",
    'test_odd_tokens_find_their_rows_in_a_sentence["': "as above",
    "test_odd_tokens_find_their_rows_in_a_sentence[(": "as above",
    "test_odd_tokens_find_their_rows_in_a_sentence[\\xbf": "as above",
    "test_a_short_text_is_found_by_its_words_whatever_language_it_seems_to_be_in[tea": "one stop word decides the language",
    "test_no_term_holds_anything_but_letters_and_digits": "a lone combining mark makes an empty term",
    "test_what_cannot_be_remembered_is_refused[{'text': 'x', 'trust'": "trust is not checked",
    "test_what_cannot_be_remembered_is_refused[{'text': 'x', 'origin'": "origin is not checked",
    "test_what_cannot_be_remembered_is_refused[{'text': 'x', 'expires_at'": "OverflowError",
    "test_what_cannot_be_asked_is_refused[lone-": "UnicodeEncodeError",
    "test_what_cannot_be_asked_is_refused[huge-number]": "OverflowError",
    "test_what_cannot_be_asked_is_refused[year-nought]": "OverflowError",
    **dict.fromkeys(
        (f"test_a_hostile_id_meets_nothing_but_errors_of_ours[lone-<lambda>{n}]" for n in range(7)), "UnicodeEncodeError"
    ),
    "test_state_machine.py": "VectorIndex(0), and the residue of what another user said too",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part, reason in KNOWN_BUGS.items():
            if part in item.nodeid:
                # Shrinking a known failure of the state machine takes minutes.
                item.add_marker(pytest.mark.xfail(strict=True, reason=reason, run="state_machine" not in part))


@pytest.fixture
def clock() -> FrozenClock:
    """Noon on the first of March 2026, a Sunday."""
    return FrozenClock("2026-03-01T12:00:00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The only folder the memory writes to."""
    return tmp_path / "home"


@pytest.fixture
def open_memory(folder: Path, clock: FrozenClock) -> Iterator[Callable[..., Engine]]:
    """Open the same place again and again; everything is closed at the end."""
    opened: list[Engine] = []

    def open_one(**options: Any) -> Engine:
        options = {"worker": "none", "embedder": HashEmbedder(), "clock": clock, **options}
        opened.append(holdfast.open(options.pop("path", folder / "memory.db"), **options))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., Engine]) -> Engine:
    """A new memory with the default preset."""
    return open_memory()


@pytest.fixture
def files_with(folder: Path) -> Callable[[str | bytes], list[str]]:
    """Return the names of the files on disk that hold some bytes, in any case."""

    def look(needle: str | bytes) -> list[str]:
        wanted = (needle.encode() if isinstance(needle, str) else needle).lower()
        return sorted(file.name for file in folder.rglob("*") if file.is_file() and wanted in file.read_bytes().lower())

    return look
