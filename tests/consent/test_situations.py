"""Wishes in ordinary situations, and sentences that resemble them, through the public interface.

The author of ``situations.jsonl`` knew neither the rules nor the training text, and the file was frozen before it was measured:
142 of 150 wishes were obeyed, and 4 of 150 other messages were mistaken. The minima below are these figures.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import Engine

pytestmark = [pytest.mark.ledger("X21"), pytest.mark.long]
ROWS = [json.loads(line) for line in (Path(__file__).parent / "situations.jsonl").read_text("utf-8").splitlines()]


def _is_obeyed(memory: Engine, row: dict[str, Any]) -> bool:
    """Return True if a message is taken for a wish not to keep something."""
    with memory.session(user=row["id"]) as talk:
        if row["earlier"]:
            talk.add("user", row["earlier"])
        if row["before"]:
            talk.add("assistant", row["before"])
        consent = talk.add("user", row["text"]).consent
    return consent is not None and consent.wish in ("off_record", "forget")


def test_wishes_in_ordinary_situations_are_obeyed(memory: Engine) -> None:
    missed = [row["text"] for row in ROWS if row["wish"] != "none" and not _is_obeyed(memory, row)]
    assert len(missed) <= 8, missed


def test_similar_messages_in_ordinary_situations_are_no_wishes(memory: Engine) -> None:
    mistaken = [row["text"] for row in ROWS if row["wish"] == "none" and _is_obeyed(memory, row)]
    assert len(mistaken) <= 4, mistaken
