"""Long texts are split into chunks without loss."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.chunks import MAX_CHUNKS, chunk_spans, split_chunks

prose = st.text(alphabet=st.sampled_from("ab .!?\n。é👍"), max_size=600) | st.text(max_size=600)
sizes = st.integers(1, 80).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2)))


@pytest.mark.long
@given(text=prose, shape=sizes)
def test_chunks_cover_every_character_in_order(text: str, shape: tuple[int, int]) -> None:
    size, overlap = shape
    spans = chunk_spans(text, size, overlap)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start < next_start <= end < next_end
        assert end - next_start <= overlap


@given(text=prose, shape=sizes)
def test_no_chunk_is_larger_than_asked(text: str, shape: tuple[int, int]) -> None:
    assert all(len(chunk) <= shape[0] for chunk in split_chunks(text, *shape))


@given(text=prose, shape=sizes)
def test_the_same_text_always_has_the_same_chunks(text: str, shape: tuple[int, int]) -> None:
    assert split_chunks(text, *shape) == split_chunks(text, *shape)


@pytest.mark.parametrize("text", ["", "short", "x" * 1600])
def test_a_text_that_fits_is_its_own_chunk(text: str) -> None:
    assert split_chunks(text) == [text]


def test_a_chunk_ends_with_a_sentence_where_one_ends_near() -> None:
    text = "This is a sentence of some length. " * 200
    chunks = split_chunks(text)
    assert all(chunk.endswith(". ") for chunk in chunks)
    assert all(len(chunk) > 1200 for chunk in chunks[:-1])


def test_a_chunk_starts_with_a_whole_word() -> None:
    chunks = split_chunks("immeasurable " * 500, size=300, overlap=50)
    assert all(chunk.startswith("immeasurable") for chunk in chunks)


@pytest.mark.parametrize("piece", ["x", "word ", "A sentence. ", "\n", "字。"])
def test_four_mebibytes_are_covered_within_the_limit_and_quickly(piece: str) -> None:
    text = (piece * (4 * 1024 * 1024 // len(piece) + 1))[: 4 * 1024 * 1024]
    began = time.thread_time()
    spans = chunk_spans(text)
    assert time.thread_time() - began < 5
    assert len(spans) <= MAX_CHUNKS
    assert spans[-1][1] == len(text)


def test_a_text_beyond_the_limit_has_no_further_chunks() -> None:
    spans = chunk_spans("x" * (MAX_CHUNKS * 10), size=8, overlap=0)
    assert len(spans) == MAX_CHUNKS
    assert all(end - start == 8 for start, end in spans)


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 6), (10, -1)])
def test_chunks_that_could_not_advance_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="cannot overlap"):
        split_chunks("text", size, overlap)
