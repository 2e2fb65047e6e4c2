"""The sentence reader caches recent results, so that the model does not run again when a message is digested or compared."""

import time
from functools import partial

from holdfast.config.models import make_sentence_reader
from holdfast.models.local import cached_reader


def test_a_second_reading_of_a_sentence_costs_no_model_run() -> None:
    reader = make_sentence_reader("talk-reader-s")
    assert reader is not None
    reader.read("Warm up.")
    begin = time.process_time()
    first = [reader.read(f"I live in house number {number}.", before="Where do you live?") for number in range(20)]
    once = time.process_time() - begin
    begin = time.process_time()
    again = [reader.read(f"I live in house number {number}.", before="Where do you live?") for number in range(20)]
    assert time.process_time() - begin < once / 5
    assert [id(each) for each in again] == [id(each) for each in first]


def test_the_previous_turn_is_part_of_the_input() -> None:
    reader = make_sentence_reader("talk-reader-s")
    assert reader is not None
    alone = reader.read("Yes, two.")
    assert reader.read("Yes, two.", before="Do you have any cats?").keep > alone.keep


def test_a_pair_of_statements_is_compared_only_once() -> None:
    reader = make_sentence_reader("talk-reader-s")
    assert reader is not None
    first = reader.compare("I live in Berlin.", "I moved to Munich.")
    assert reader.compare("I live in Berlin.", "I moved to Munich.") is first
    assert reader.compare("I moved to Munich.", "I live in Berlin.") != first


def test_a_full_cache_is_emptied() -> None:
    results: dict[bytes, str] = {}
    for number in range(cached_reader._MAX_RESULTS + 2):
        assert cached_reader._cached(results, "", str(number), partial(str, number)) == str(number)
    assert len(results) == 2
