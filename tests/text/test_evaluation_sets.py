"""Scores of the JSON reader and the language identifier on the sets that docs/project/decisions.md reports.

Half B of each set was held out: nothing was tuned on it. A score may rise. A lower score means a regression or a
deliberate change of policy.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.text.json.find import read_json
from holdfast.text.language import detect_language, is_foreign

DATA = Path(__file__).parent / "data"
NOTHING = object()


def rows(name: str, half: str) -> Iterator[dict[str, Any]]:
    with (DATA / name).open(encoding="utf-8") as file:
        yield from (row for row in map(json.loads, file) if row["half"] == half)


def outcome(row: dict[str, Any]) -> str:
    """Classify the result of parsing one answer: ``right``, ``refused``, ``wrong`` or ``made up``.

    ``made up`` means that a value was returned although the answer contains nothing usable.
    """
    try:
        value = read_json(row["text"])
    except ValueError:
        value = NOTHING
    allowed = [*([row["value"]] if "value" in row else []), *row.get("also", [])]
    if value is NOTHING:
        return "right" if row.get("nothing") or row.get("nothing_also") else "refused"
    if value in allowed:
        return "right"
    return "made up" if row.get("nothing") else "wrong"


@pytest.mark.parametrize(("half", "min_right", "max_made_up"), [("A", 92, 3), ("B", 97, 0)])
def test_the_json_reader_keeps_its_score(half: str, min_right: int, max_made_up: int) -> None:
    found = Counter(outcome(row) for row in rows("json_answers.jsonl", half))
    assert found["right"] >= min_right, found
    assert found["made up"] <= max_made_up, found


@pytest.mark.parametrize(("half", "language", "min_right"), [("A", "en", 64), ("A", "es", 68), ("B", "en", 64), ("B", "es", 59)])
def test_the_language_identifier_keeps_its_score_and_abstains_in_doubt(half: str, language: str, min_right: int) -> None:
    found = Counter(detect_language(row["text"]) for row in rows("utterances.jsonl", half) if row["language"] == language)
    assert found[language] >= min_right, found
    assert set(found) <= {language, None}, found


@pytest.mark.parametrize("half", ["A", "B"])
def test_no_english_utterance_counts_as_foreign(half: str) -> None:
    assert not [row["text"] for row in rows("utterances.jsonl", half) if row["language"] == "en" and is_foreign(row["text"])]


@pytest.mark.parametrize(("half", "min_foreign"), [("A", 82), ("B", 79)])
def test_most_spanish_utterances_count_as_foreign(half: str, min_foreign: int) -> None:
    spanish = [row["text"] for row in rows("utterances.jsonl", half) if row["language"] == "es"]
    assert sum(map(is_foreign, spanish)) >= min_foreign
