"""Tests of the speed benchmark: every library gets the same task, and all measurements are reported."""

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast_bench.speed import benchmark, floor
from holdfast_bench.speed.corpus import Corpus, GivenVectors, make_corpus
from holdfast_bench.speed.measure import open_side
from holdfast_bench.speed.peers import installed, reaches
from holdfast_bench.speed.sides import Holdfast, Query, Row

SIDES = [Holdfast.name, *installed()]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus(80, questions=20, seed=3, dimensions=16)


def _rows(corpus: Corpus) -> list[Row]:
    pairs = enumerate(zip(corpus.texts, corpus.vectors, strict=True))
    return [Row(number=n, text=text, vector=vector, user=f"user{n % 2}") for n, (text, vector) in pairs]


def _query(corpus: Corpus, user: str, *, part: str | None = None, kind: str | None = None) -> Query:
    return Query(text=corpus.questions[0], vector=corpus.question_vectors[0], user=user, part=part, kind=kind)


def test_the_same_seed_gives_the_same_data(corpus: Corpus) -> None:
    again = make_corpus(80, questions=20, seed=3, dimensions=16)
    assert (again.texts, again.questions) == (corpus.texts, corpus.questions)
    assert np.array_equal(again.vectors, corpus.vectors)


def test_vectors_have_unit_length(corpus: Corpus) -> None:
    assert np.allclose(np.linalg.norm(corpus.vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(np.linalg.norm(corpus.question_vectors, axis=1), 1, atol=1e-5)


def test_questions_are_of_natural_length_and_hold_stop_words(corpus: Corpus) -> None:
    assert all(len(question.split()) >= 10 and " the " in question for question in corpus.questions)


@pytest.mark.parametrize("name", SIDES)
def test_every_library_finds_only_the_data_of_the_given_user(name: str, corpus: Corpus, tmp_path: Path) -> None:
    rows = _rows(corpus)
    side = open_side(name, tmp_path, GivenVectors(corpus))
    side.put(rows)
    found = side.find(_query(corpus, "user1"))
    side.close()
    assert found
    assert set(found) <= {row.text for row in rows if row.user == "user1"}


@pytest.mark.parametrize("name", SIDES)
def test_every_library_filters_by_metadata_and_kind(name: str, corpus: Corpus, tmp_path: Path) -> None:
    rows = _rows(corpus)
    side = open_side(name, tmp_path, GivenVectors(corpus))
    side.put(rows)
    by_part = side.find(_query(corpus, "user1", part="part3"))
    by_kind = side.find(_query(corpus, "user0", kind="event"))
    side.close()
    assert by_part
    assert set(by_part) <= {row.text for row in rows if row.user == "user1" and row.part == "part3"}
    assert by_kind
    assert set(by_kind) <= {row.text for row in rows if row.user == "user0" and row.kind == "event"}


@pytest.mark.parametrize("name", SIDES)
def test_items_added_one_by_one_are_there_after_reopening(name: str, corpus: Corpus, tmp_path: Path) -> None:
    rows = _rows(corpus)[:3]
    side = open_side(name, tmp_path, GivenVectors(corpus))
    for row in rows:
        side.put([row])
    side.close()
    side = open_side(name, tmp_path, GivenVectors(corpus))
    found = {text for user in ("user0", "user1") for text in side.find(_query(corpus, user))}
    side.close()
    assert found <= {row.text for row in rows}
    assert found


def test_the_measured_hardware_limits_are_positive(tmp_path: Path) -> None:
    assert floor.bandwidth() > 1e8
    assert floor.one_sync(tmp_path) > 0
    assert not list(tmp_path.iterdir())


def test_a_peer_that_would_take_too_long_is_left_out() -> None:
    assert reaches("mem0", 10_000)
    assert not reaches("mem0", 100_000)
    assert reaches("Chroma", 100_000)


@pytest.mark.long
def test_the_json_report_has_every_metric_of_every_library_and_the_speed_limits(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.run(sizes=[60], seed=1, as_json=True, peers_up_to=0)
    report = json.loads(capsys.readouterr().out)
    assert [(side["side"], side["many"]) for side in report["sides"]] == [("Holdfast", False), ("Holdfast", True)]
    wanted = {"add", "add_wall", "find", "find_part", "find_kind", "vectors", "words", "cold", "resident", "disk", "import"}
    for side in report["sides"]:
        assert wanted <= set(side["numbers"])
        assert all(side["numbers"][what] > 0 for what in wanted)
    assert report["floor"]["bandwidth"] > 0


def test_the_table_says_which_peers_were_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    report = benchmark.Report(quiet=False)
    benchmark.show_table(report, 60, many=False, sides=[Holdfast.name], skipped=["Chroma", "mem0"])
    assert "not measured at this size, because it would take too long: Chroma, mem0" in capsys.readouterr().out
