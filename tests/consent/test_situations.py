"""Wishes in ordinary situations, and sentences that resemble them, through the public interface.

The authors of ``situations.jsonl`` and ``everyday.jsonl`` knew neither the rules nor the training text, and the files were frozen before
they were measured: 142 and 147 of 150 wishes were obeyed, and 4 and 0 of 150 other messages were mistaken. The second author's wishes are
plainer. The limits below are these figures.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine

pytestmark = [pytest.mark.ledger("X21"), pytest.mark.long]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(__file__).parent / f"{name}.jsonl").read_text("utf-8").splitlines()]


def _is_obeyed(memory: Engine, row: dict[str, Any]) -> bool:
    """Return True if a message is taken for a wish not to keep something."""
    with memory.session(user=row["id"]) as talk:
        if row["earlier"]:
            talk.add("user", row["earlier"])
        if row["before"]:
            talk.add("assistant", row["before"])
        consent = talk.add("user", row["text"]).consent
    return consent is not None and consent.wish in ("off_record", "forget")


@pytest.mark.parametrize(("name", "limit"), [("situations", 8), ("everyday", 3)])
def test_wishes_in_ordinary_situations_are_obeyed(memory: Engine, name: str, limit: int) -> None:
    missed = [row["text"] for row in _rows(name) if row["wish"] != "none" and not _is_obeyed(memory, row)]
    assert len(missed) <= limit, missed


@pytest.mark.parametrize(("name", "limit"), [("situations", 4), ("everyday", 0)])
def test_similar_messages_in_ordinary_situations_are_no_wishes(memory: Engine, name: str, limit: int) -> None:
    mistaken = [row["text"] for row in _rows(name) if row["wish"] == "none" and _is_obeyed(memory, row)]
    assert len(mistaken) <= limit, mistaken
