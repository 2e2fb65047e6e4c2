"""Tests of training the classifier's weights on the labeled set."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from holdfast.learning.statements.rulebook import LANGUAGES
from holdfast_bench.learning.labelled_set import Item, cases, make_case
from holdfast_bench.learning.train_classifier import fitted, train, write

SHIPPED = Path(str(files("holdfast.learning") / "words" / "classifier.json"))
MAX_BYTES = 100_000


def test_what_stands_only_in_good_clauses_speaks_for_a_clause() -> None:
    weights = fitted([({"k kin": 1.0}, True), ({"k output": 1.0}, False)] * 5)
    assert weights["k kin"] > 0 > weights["k output"]


def test_what_is_seen_once_is_not_learnt_from() -> None:
    seen_often: list[tuple[dict[str, float], bool]] = [({"k kin": 1.0}, True), ({}, False)]
    assert "k rare" not in fitted([*seen_often * 5, ({"k rare": 1.0}, True)])


def test_each_language_learns_from_its_own_cases() -> None:
    good = [make_case(f"g{n}", [f"my sister has {n} dogs"], [Item(has=("sister",))]) for n in range(2, 9)]
    weights = train([*good, *(make_case(f"b{n}", [f"the train has {n} doors"], []) for n in range(2, 9))])
    assert len(weights["en"]) > 1
    assert list(weights["es"]) == ["bias"]


def test_weights_are_written_as_they_are_read(tmp_path: Path) -> None:
    write(tmp_path / "classifier.json", {"en": {"bias": 0.5}, "es": {}})
    assert json.loads((tmp_path / "classifier.json").read_text("utf-8")) == {"en": {"bias": 0.5}, "es": {}}


def test_the_shipped_weights_are_small() -> None:
    assert SHIPPED.stat().st_size < MAX_BYTES


@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_shipped_weights_come_from_the_shipped_set(language: str) -> None:
    shipped = json.loads(SHIPPED.read_text("utf-8"))[language]
    again = train([case for name in ("train", "dev") for case in cases(name) if case.language == language])[language]
    assert again == pytest.approx(shipped, abs=0.02)
