"""Report how far two labelers agree, for each field, on the clauses that both have labeled."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reader.measure import kappa, overlap
from reader.schema import DEFAULTS

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Print a table with the agreement and kappa of each field."""
    first = {row["id"]: row for row in _read("real.jsonl")}
    pairs = [(first[row["id"]], row) for row in _read("second.jsonl")]
    print(f"{len(pairs)} clauses\n\n| field | same, percent | kappa |\n|---|---|---|")
    for field, usual in DEFAULTS.items():
        one, other = ([_plain(row.get(field, usual)) for row in side] for side in zip(*pairs, strict=True))
        same = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
        value = f"{kappa(one, other):.2f}" if len({*one, *other}) > 1 else "-"
        print(f"| {field} | {100 * same:.1f} | {value} |")
    kept = [(one["span"], other["span"]) for one, other in pairs if "span" in one and "span" in other]
    same = sum(one == other for one, other in kept) / len(kept)
    shared = sum(overlap(tuple(one), tuple(other)) for one, other in kept) / len(kept)
    print(f"| span ({len(kept)} kept by both) | {100 * same:.1f} | overlap F1 {shared:.2f} |")


def _read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "labels" / name).read_text(encoding="utf-8").splitlines()]


def _plain(value: Any) -> Any:
    """Return the part of a label before a colon. It leaves out how a person is related to the user, such as "mother"."""
    return value.split(":")[0] if isinstance(value, str) else value


if __name__ == "__main__":
    main()
