"""Wishes and similar sentences of eleven speakers, such as a teenager, a pensioner, an engineer, and people who dictate.

The author of ``voices.jsonl`` had not read the rules. Rows whose ``source`` is ``first`` were used to tune the rules; rows with
``second`` were held out. ``wish`` labels the messages that a wish covers: the message itself (``off_record``), the one before it
(``previous``), or all that follow (``rest``). ``forget`` means that something known must be forgotten.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.models import make_sentence_reader
from holdfast.learning.wishes import read_wish

pytestmark = [pytest.mark.ledger("X21"), pytest.mark.long]
ROWS = [json.loads(line) for line in (Path(__file__).parent / "voices.jsonl").read_text("utf-8").splitlines()]
REACHES = {"previous": ("previous", "around"), "rest": ("rest",), "off_record": ("message", "previous", "next", "rest", "around")}


def _obeyed(source: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield each labeled wish of a source, with True if the rules interpret it as labeled."""
    reader = make_sentence_reader("talk-reader-s")
    for row in ROWS:
        if row["source"] == source and row["wish"] != "none":
            found = read_wish(row["text"], before="Ok.", reader=reader)
            meant = found is not None and (found.wish == "forget" or found.reach in REACHES.get(row["wish"], ()))
            points = found is not None and found.wish == "forget" and (row["wish"] == "forget" or found.points_back)
            yield row, meant and (points or (found is not None and found.wish == "off_record" and row["wish"] != "forget"))


def _false_alarms(source: str) -> list[str]:
    reader = make_sentence_reader("talk-reader-s")
    found = {row["text"]: read_wish(row["text"], before="Ok.", reader=reader) for row in _look_alikes(source)}
    return [text for text, wish in found.items() if wish is not None and wish.wish != "remember"]


def _look_alikes(source: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["source"] == source and row["wish"] == "none"]


@pytest.mark.parametrize(("source", "least"), [("first", 0.9), ("second", 0.89)])
def test_wishes_of_many_speakers_are_obeyed(source: str, least: float) -> None:
    marks = list(_obeyed(source))
    missed = [row["text"] for row, is_obeyed in marks if not is_obeyed]
    assert 1 - len(missed) / len(marks) >= least, missed


@pytest.mark.parametrize(("source", "most"), [("first", 0.025), ("second", 0.06)])
def test_similar_sentences_of_many_speakers_are_rarely_taken_for_wishes(source: str, most: float) -> None:
    mistaken = _false_alarms(source)
    assert len(mistaken) / len(_look_alikes(source)) <= most, mistaken
