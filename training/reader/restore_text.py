"""Restore the text of the real clauses and memories from the sources, which are not in this repository.

``labels/real.jsonl`` has a checksum of each clause and its position in the user's turn. ``labels/neighbors.jsonl`` has the same
for pairs of sentences from one dialogue, and ``labels/memories.jsonl`` for judged memories, which consist of one or more pieces of
a dialogue. The result is a file that git ignores. Each row has an id and the texts: the previous
turn, the user's own words before the clause, and the clause; or the old and the new sentence.
"""

import argparse
import hashlib
import json
import lzma
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.sources import Mirror

from reader.dialogues import READERS, Turn

HERE = Path(__file__).resolve().parent
BEFORE_CHARS = 300


def main() -> None:
    """Write the texts of all real clauses. Fail if a text is missing, or differs from the labeled text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True, help="folder of bare git directories, owner+name/repo")
    parser.add_argument("--labels", type=Path, default=HERE / "labels" / "real.jsonl")
    parser.add_argument("--pairs", type=Path, default=HERE / "labels" / "neighbors.jsonl")
    parser.add_argument("--memories", type=Path, default=HERE / "labels" / "memories.jsonl")
    parser.add_argument("--to", type=Path, default=HERE / "bundle" / "texts.jsonl.xz")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.labels.read_text(encoding="utf-8").splitlines()]
    pairs = [json.loads(line) for line in options.pairs.read_text(encoding="utf-8").splitlines()]
    memories = [row for row in map(json.loads, options.memories.read_text(encoding="utf-8").splitlines()) if "pieces" in row]
    options.to.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(options.to, "wt", encoding="utf-8") as file:
        for found in restore(rows, Mirror(options.mirror)):
            file.write(json.dumps(found, ensure_ascii=False) + "\n")
        for found in restore_pairs(pairs, Mirror(options.mirror)):
            file.write(json.dumps(found, ensure_ascii=False) + "\n")
        for found in restore_memories(memories, Mirror(options.mirror)):
            file.write(json.dumps(found, ensure_ascii=False) + "\n")
    print(f"{len(rows)} clauses, {len(pairs)} pairs and {len(memories)} memories in {options.to}")


def restore(rows: list[dict[str, Any]], mirror: Mirror) -> Iterator[dict[str, str]]:
    """Yield the text of each clause, source by source. Raise ``ValueError`` if a text is missing or is not the labeled text."""
    wanted = {row["id"]: row for row in rows}
    for source in dict.fromkeys(row["source"] for row in rows):
        turns = turns_of(source, mirror, {row["id"].rsplit(":", 1)[0] for row in rows if row["source"] == source})
        for row in (row for row in rows if row["source"] == source):
            before, turn = turns[row["id"].rsplit(":", 1)[0]]
            start, end = row["at"]
            clause = turn[start:end]
            if checksum(clause) != row["sum"]:
                raise ValueError(f"{row['id']}: this is not the clause that was labeled; the source has another version")
            yield {"id": row["id"], "before": before, "own": turn[:start].rstrip(), "text": clause}
            del wanted[row["id"]]
    if wanted:
        raise ValueError(f"{len(wanted)} clauses were not found, such as {next(iter(wanted))}")


def restore_pairs(rows: list[dict[str, Any]], mirror: Mirror) -> Iterator[dict[str, str]]:
    """Yield both sentences of each pair. Raise ``ValueError`` if a text is missing or is not the labeled text."""
    for source in dict.fromkeys(row["id"].split(":")[0] for row in rows):
        mine = [row for row in rows if row["id"].startswith(f"{source}:")]
        places = {_key(row, side) for row in mine for side in ("old", "new")}
        turns = turns_of(source, mirror, places)
        for row in mine:
            old, new = (turns[_key(row, side)][1][slice(*row[side][1:])] for side in ("old", "new"))
            if checksum(f"{old}\n{new}") != row["sum"]:
                raise ValueError(f"{row['id']}: these are not the sentences that were labeled; the source has another version")
            yield {"id": row["id"], "old": old, "new": new}


def restore_memories(rows: list[dict[str, Any]], mirror: Mirror) -> Iterator[dict[str, str]]:
    """Yield the text of each judged memory. Raise ``ValueError`` if a text is missing or is not the judged text."""
    for source in dict.fromkeys(row["source"] for row in rows):
        mine = [row for row in rows if row["source"] == source]
        dialogues = {row["id"].rsplit(":", 2)[0] for row in mine}
        turns = dict(_all_turns(source, mirror, dialogues))
        for row in mine:
            dialogue, turn, _ = row["id"].rsplit(":", 2)
            text = " ".join(turns[f"{dialogue}:{place}"][1][start:end] for place, start, end in row["pieces"])
            if checksum(text) != row["sum"]:
                raise ValueError(f"{row['id']}: this is not the memory that was judged; the source has another version")
            yield {"id": row["id"], "before": turns[f"{dialogue}:{turn}"][0], "text": text}


def _key(row: dict[str, Any], side: str) -> str:
    """Return the key of the turn that contains one side of a pair."""
    return ":".join([*row["id"].split(":")[:2], str(row[side][0])])


def turns_of(source: str, mirror: Mirror, wanted: set[str]) -> dict[str, tuple[str, str]]:
    """Return the turns of a source whose keys are in ``wanted``, each with the end of the turn before it.

    A key consists of the source, the dialogue and the position of the turn.
    """
    dialogues = {key.rsplit(":", 1)[0] for key in wanted}
    return {key: turn for key, turn in _all_turns(source, mirror, dialogues) if key in wanted}


def _all_turns(source: str, mirror: Mirror, dialogues: set[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield all turns of some dialogues of a source: the key of the turn, the end of the turn before it, and its text."""
    for name, turns in READERS[source](mirror):
        dialogue = f"{source}:" + re.sub(r"[^\w-]", "_", name)
        for place in range(len(turns) if dialogue in dialogues else 0):
            yield f"{dialogue}:{place}", (_before(turns, place), turns[place][1])


def _before(turns: list[Turn], place: int) -> str:
    text = turns[place - 1][1] if place else ""
    return text if len(text) <= BEFORE_CHARS else "…" + text[1 - BEFORE_CHARS :]


def checksum(text: str) -> str:
    """Return a short checksum of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


if __name__ == "__main__":
    main()
