"""The training data of the reader in memory: clauses, wishes about memory, and pairs of an old and a new claim."""

import hashlib
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reader.schema import HEADS, numbers

DEV = 12
"""One of this many training dialogues chooses thresholds and the best of several runs."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A text to read, with what stands before it and the known answers, as numbers. A missing answer does not count."""

    id: str
    source: str
    split: str
    lang: str
    first: str
    """The turn before, or the old claim of a pair."""
    text: str
    labels: dict[str, int]
    span: tuple[int, int] | None = None
    is_pair: bool = False
    draw: str = ""
    how: str = ""


def read(labels: Path, texts: Path, *, own_chars: int = 0) -> list[Example]:
    """Return all examples. ``own_chars`` adds the end of the user's own words before the clause to the turn before."""
    with lzma.open(texts, "rt", encoding="utf-8") as file:
        restored = {row["id"]: row for row in map(json.loads, file)}
    real = [_clause({**row, **restored[row["id"]]}, own_chars) for row in _rows(labels / "real.jsonl")]
    written = [_clause(row, own_chars) for row in _rows(labels / "clauses.jsonl")]
    wishes = [_wish(row) for row in _rows(labels / "wishes.jsonl")]
    return [*real, *written, *wishes, *(_pair(row) for row in _rows(labels / "changes.jsonl"))]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _split(row: dict[str, Any]) -> str:
    """Return the split of a row. Some training dialogues are kept aside for choices."""
    key = row["id"] if row["id"].count(":") == 1 else row["id"].rsplit(":", 2)[0]
    is_dev = row["split"] == "train" and hashlib.sha256(f"dev {key}".encode()).digest()[0] % DEV == 0
    return "dev" if is_dev else row["split"]


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "source": row["source"], "split": _split(row), "lang": row["lang"]}


def _clause(row: dict[str, Any], own_chars: int) -> Example:
    """Return a clause. A wish not to save it may stand in another clause, so it says nothing about keep and consent here."""
    labels = numbers(row)
    if labels["consent"] == HEADS["consent"].index("off_record"):
        del labels["consent"], labels["keep"]
    own = row["own"][-own_chars:] if own_chars else ""
    first = f"{row['before']} / {own}" if own else row["before"]
    span = tuple(row["span"]) if "span" in row else None
    return Example(**_known(row), first=first, text=row["text"], labels=labels, span=span, draw=row.get("draw", ""))


def _wish(row: dict[str, Any]) -> Example:
    labels = {"consent": HEADS["consent"].index(row["consent"])}
    return Example(**_known(row), first=row["before"], text=row["text"], labels=labels)


def _pair(row: dict[str, Any]) -> Example:
    labels = {"change": HEADS["change"].index(row["change"])}
    return Example(**_known(row), first=row["old"], text=row["new"], labels=labels, is_pair=True, how=row["how"])
