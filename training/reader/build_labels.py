"""Build ``labels/`` from the labelers' answers.

Real clauses are stored without their text, and clauses written for this project with their text. The answers folder has
``batches/``, ``answers/``, ``answers2/``, ``written/`` and ``index.jsonl``. Labels with their default value (``schema.DEFAULTS``)
are left out of the files.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.sources import Mirror

from reader.restore_text import checksum, turns_of
from reader.schema import DEFAULTS

HERE = Path(__file__).resolve().parent
Row = dict[str, Any]
HELD = 5
"""One in this many written dialogues and pairs is held out as a test."""
WRITTEN = ("es_a", "mix_b", "project_g", "plain_h")
"""Files of clauses that were written for this project."""
TRAIN_ONLY = ("project_g", "plain_h", "changes_e")
TEST_BATCHES = range(33, 42)
"""Batches whose second labels are not used to measure agreement."""


def main() -> None:
    """Write all files of labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", type=Path, help="folder of the labelers' answers")
    parser.add_argument("--mirror", type=Path, required=True, help="folder of bare git directories, owner+name/repo")
    parser.add_argument("--to", type=Path, default=HERE / "labels")
    options = parser.parse_args()
    options.to.mkdir(exist_ok=True)
    batches = {row["id"]: row for row in _folder(options.answers / "batches")}
    index = {row["id"]: row for row in _read(options.answers / "index.jsonl")}
    answers = [row for row in _folder(options.answers / "answers") if "drop" not in row]
    written = options.answers / "written"
    _write(options.to / "real.jsonl", _real(answers, batches, index, Mirror(options.mirror)))
    _write(options.to / "second.jsonl", _second(_folder(options.answers / "answers2"), answers, batches, index))
    _write(options.to / "clauses.jsonl", (_clause(row) for name in WRITTEN for row in _read(written / f"{name}.jsonl")))
    _write(options.to / "wishes.jsonl", _wishes(written))
    _write(options.to / "changes.jsonl", (_change(row) for part in "abcde" for row in _read(written / f"changes_{part}.jsonl")))


def _read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _folder(path: Path) -> list[Row]:
    return [row for file in sorted(path.glob("*.jsonl")) for row in _read(file)]


def _write(path: Path, rows: Iterable[Row]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(lines)}")


def _labels(row: Row) -> Row:
    """Return the labels that differ from their defaults."""
    return {name: row[name] for name, usual in DEFAULTS.items() if row.get(name, usual) != usual}


def _span(row: Row, clause: str) -> Row:
    """Return the position of the span in the clause. Return an empty dict if there is no span."""
    span = row.get("span", "")
    return {"span": [clause.index(span), clause.index(span) + len(span)]} if span else {}


def _real(answers: list[Row], batches: dict[str, Row], index: dict[str, Row], mirror: Mirror) -> Iterable[Row]:
    """Yield the labels of the real clauses, with the position of each clause in its turn."""
    by_source: dict[str, list[Row]] = {}
    for row in answers:
        by_source.setdefault(row["id"].split(":")[0], []).append(row)
    for source, rows in by_source.items():
        turns = turns_of(source, mirror, {row["id"].rsplit(":", 1)[0] for row in rows})
        for row in rows:
            about, clause = index[row["id"]], batches[row["id"]]["clause"]
            start = turns[row["id"].rsplit(":", 1)[0]][1].index(clause)
            known = {"id": row["id"], "source": source, "split": about["split"], "draw": about["draw"], "lang": about["lang"]}
            place = {"at": [start, start + len(clause)], "sum": checksum(clause)}
            yield {**known, **place, **_labels(row), **_span(row, clause)}


def _second(second: list[Row], first: list[Row], batches: dict[str, Row], index: dict[str, Row]) -> Iterable[Row]:
    """Yield the labels that the second labeler gave to clauses that the first labeler labeled, too. Used to measure agreement."""
    known = {row["id"] for row in first}
    for row in second:
        if row["id"] in known and "drop" not in row and index[row["id"]]["batch"] not in TEST_BATCHES:
            yield {"id": row["id"], **_labels(row), **_span(row, batches[row["id"]]["clause"])}


def _split(source: str, key: str) -> str:
    """Return the split (``train`` or ``test``) of a dialogue or pair that was written for this project.

    Sources with the same content in English and Spanish are for training only.
    """
    return "train" if source in TRAIN_ONLY else "test" if hashlib.sha256(key.encode()).digest()[0] % HELD == 0 else "train"


def _clause(row: Row) -> Row:
    """Return a clause that was written for this project. All clauses of a dialogue are in the same split."""
    source, dialogue = row["id"].split(":")[:2]
    known = {"id": row["id"], "source": source, "split": _split(source, f"{source}:{dialogue}"), "lang": row["lang"]}
    own = row["turn"].partition(row["clause"])[0] if row["clause"] in row["turn"] else ""
    text = {"before": row["before"], "own": " ".join(own.split()), "text": row["clause"]}
    return {**known, **text, **_labels(row), **_span(row, row["clause"])}


def _wishes(written: Path) -> Iterable[Row]:
    """Yield the wishes about memory. The wishes of the author in ``consent_unseen`` are the test split."""
    for name in (*(f"consent_train_{part}" for part in "abcdefi"), "consent_unseen"):
        split = "test" if name == "consent_unseen" else "train"
        for number, row in enumerate(_read(written / f"{name}.jsonl")):
            known = {"id": f"{name}:{number}", "source": name, "split": split, "lang": row["lang"]}
            yield {**known, "before": row["before"], "text": row["text"], "consent": row["wish"]}


def _change(row: Row) -> Row:
    """Return a pair of an old and a new claim."""
    source = f"changes_{row['id'][1]}"  # "cb:12" is of author b
    known = {
        "id": row["id"],
        "source": source,
        "split": _split(source, row["old"].casefold()),
        "lang": row["lang"],
        "how": row["how"],
    }
    return {**known, "old": row["old"], "new": row["new"], "change": row["label"]}


if __name__ == "__main__":
    main()
