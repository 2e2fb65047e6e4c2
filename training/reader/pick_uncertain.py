"""Pick clauses of the training sources that are worth labeling: the current reader is uncertain about them, or keeps them.

The engine's own code reads each clause with the turn before it. A clause is picked if the reader's probability or the engine's score
is near the middle ("uncertain"), or if the engine keeps it ("kept"). Dialogues with labels are skipped. Each row of the result has
the id, the previous turn, the whole turn, the clause, the answers of the reader and the score. The result contains text of the
sources, so it is not stored in this repository.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.sources import Mirror

from holdfast.config.models import make_sentence_reader
from holdfast.learning.statements.candidate import worth
from holdfast.learning.statements.context import Context
from holdfast.learning.statements.own_text import own_clauses
from holdfast.learning.statements.read import candidates
from holdfast.learning.statements.rulebook import rulebooks
from holdfast.models.local.registry import DEFAULT_READER
from holdfast.protocols import SentenceReader
from holdfast.text.language import detect_language
from reader.dialogues import READERS, Turn
from reader.restore_text import _before

HERE = Path(__file__).resolve().parent
TEST_SOURCES = ("meena", "persuasion", "arena")
UNCERTAIN_KEEP = (0.25, 0.75)
UNCERTAIN_WORTH = (0.35, 0.65)
MIN_WORTH = 0.5
MIN_WORDS = 2
MAX_CHARACTERS = 3000
Row = dict[str, Any]


def main() -> None:
    """Write the picked clauses of one source."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", choices=sorted(set(READERS) - set(TEST_SOURCES)))
    parser.add_argument("--mirror", type=Path, required=True, help="folder of bare git directories, owner+name/repo")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--dialogues", type=int, default=1800, help="number of dialogues to read")
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    labeled = _labeled_dialogues(HERE / "labels")
    found = [one for one in READERS[options.source](Mirror(options.mirror)) if _key(options.source, one[0]) not in labeled]
    random.Random(options.seed).shuffle(found)
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    with options.to.open("w", encoding="utf-8") as file:
        for name, turns in found[: options.dialogues]:
            for row in picked(_key(options.source, name), turns, reader):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def picked(key: str, turns: list[Turn], reader: SentenceReader) -> Iterator[Row]:
    """Yield the clauses of a dialogue that are worth labeling."""
    for place, (is_user, text) in enumerate(turns):
        if not is_user or len(text) > MAX_CHARACTERS:
            continue
        language = detect_language(text)
        before = turns[place - 1][1] if place else ""
        context = Context(before=before, books=rulebooks(language), reader=reader, language=language)
        clauses = own_clauses(text, language)
        scores = [(each.own, worth(each)) for each, _, _ in candidates(clauses, context)]
        for number, clause in enumerate(clauses):
            if clause not in text or len(clause.split()) < MIN_WORDS:
                continue
            reading = context.read(clause)
            score = max((value for own, value in scores if own in clause), default=0.0)
            why = reason(reading.keep, score)
            if why:
                start = text.index(clause)
                words = {"before": _before(turns, place), "turn": text, "clause": clause, "at": [start, start + len(clause)]}
                answers = {"keep": reading.keep, "whose": reading.owner, "kind": reading.area, "time": reading.time}
                yield {"id": f"{key}:{place}:{number}", "why": why, **words, **answers, "worth": score}


def reason(keep: float, score: float) -> str:
    """Return why a clause is worth labeling, or an empty text if it is not."""
    if UNCERTAIN_KEEP[0] <= keep <= UNCERTAIN_KEEP[1] or UNCERTAIN_WORTH[0] <= score <= UNCERTAIN_WORTH[1]:
        return "uncertain"
    return "kept" if score >= MIN_WORTH else ""


def _labeled_dialogues(labels: Path) -> set[str]:
    """Return the source and dialogue of each labeled clause."""
    lines = [
        line for name in ("real", "neighbors") for line in (labels / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return {":".join(json.loads(line)["id"].split(":")[:2]) for line in lines}


def _key(source: str, name: str) -> str:
    """Return the source and the name of a dialogue as they stand in the ids of its clauses."""
    safe = re.sub(r"[^\w-]", "_", name)
    return f"{source}:{safe}"


if __name__ == "__main__":
    main()
