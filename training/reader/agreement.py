"""Report how far two labelers agree on the same clauses, for each labeled field.

Rows in which the second labeler filled in all fields are reported first. In partial rows, the second labeler filled in only
``keep`` and, if the clause is kept, ``kind``.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reader.measure import kappa, overlap
from reader.schema import DEFAULTS

HERE = Path(__file__).resolve().parent
Row = dict[str, Any]


def main() -> None:
    """Print the agreement and kappa of each field: for the rows with all fields first, then for the partial rows."""
    first = {row["id"]: row for name in ("real.jsonl", "clauses.jsonl") for row in _read(name)}
    pairs = [(first[row["id"]], row) for row in _read("second.jsonl")]
    complete = [pair for pair in pairs if "partial" not in pair[1]]
    _print_fields(complete, list(DEFAULTS))
    kept = [(one["span"], other["span"]) for one, other in complete if "span" in one and "span" in other]
    same = sum(one == other for one, other in kept) / len(kept)
    shared = sum(overlap(tuple(one), tuple(other)) for one, other in kept) / len(kept)
    print(f"| span ({len(kept)} kept by both) | {100 * same:.1f} | overlap F1 {shared:.2f} |\n")
    partial = [pair for pair in pairs if "partial" in pair[1]]
    _print_fields(partial, ["keep"])
    _print_fields([pair for pair in partial if pair[0].get("keep") and pair[1].get("keep")], ["kind"])


def _print_fields(pairs: list[tuple[Row, Row]], fields: list[str]) -> None:
    """Print, for each field, how often both labels are the same, and kappa."""
    print(f"{len(pairs)} clauses\n\n| field | same, percent | kappa |\n|---|---|---|")
    for field in fields:
        one, other = ([_plain(row.get(field, DEFAULTS[field])) for row in side] for side in zip(*pairs, strict=True))
        same = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
        value = f"{kappa(one, other):.2f}" if len({*one, *other}) > 1 else "-"
        print(f"| {field} | {100 * same:.1f} | {value} |")


def _read(name: str) -> list[Row]:
    return [json.loads(line) for line in (HERE / "labels" / name).read_text(encoding="utf-8").splitlines()]


def _plain(value: Any) -> Any:
    """Return the part of a label before a colon, so that ``other:mother`` and ``other:sister`` count as the same label."""
    return value.split(":")[0] if isinstance(value, str) else value


if __name__ == "__main__":
    main()
