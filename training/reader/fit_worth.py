"""Fit the weights of ``holdfast.learning.statements.worth`` to judged statements of published dialogues.

Each row of ``labels/worth.jsonl`` has the dialogue, the turn, the checksum of the candidate's text, and the verdict. The text is
read from the sources. The dialogues are from test sources, which the reader was not trained on. ``labels/talks_es.jsonl`` has
Spanish conversations that we wrote, with verdicts; those of the part ``tune`` are used. The script prints the weights, and their
precision and recall in a cross-validation over dialogues.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.sources import Mirror

from holdfast.config.models import make_sentence_reader
from holdfast.learning.statements.context import Context
from holdfast.learning.statements.own_text import own_clauses
from holdfast.learning.statements.read import candidates
from holdfast.learning.statements.rulebook import rulebooks
from holdfast.learning.statements.worth import signals
from holdfast.models.local.registry import DEFAULT_READER
from holdfast.text.language import detect_language
from reader.dialogues import READERS
from reader.restore_text import checksum

HERE = Path(__file__).resolve().parent
FOLDS = 10
PENALTY = 1.0
MAX_CHARACTERS = 3000
MAX_MESSAGES_BACK = 5
Floats = NDArray[np.float64]


def main() -> None:
    """Print the fitted weights, and their precision on held-out dialogues."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path, required=True, help="folder of bare git directories, owner+name/repo")
    parser.add_argument("--labels", type=Path, default=HERE / "labels" / "worth.jsonl")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.labels.read_text(encoding="utf-8").splitlines()]
    found = [*labeled(rows, Mirror(options.mirror)), *labeled_talks(HERE / "labels" / "talks_es.jsonl")]
    names = sorted({name for _, values, _ in found for name in values} - {"team"})
    x = np.array([[values.get(name, 0.0) for name in names] for _, values, _ in found])
    y = np.array([useful for _, _, useful in found], dtype=float)
    held = np.zeros(len(y))
    groups = sorted({dialogue for dialogue, _, _ in found})
    random.Random(0).shuffle(groups)
    fold = np.array([groups.index(dialogue) % FOLDS for dialogue, _, _ in found])
    for part in range(FOLDS):
        held[fold == part] = predicted(fitted(x[fold != part], y[fold != part]), x[fold == part])
    print(f"{len(found)} of {len(rows)} labels found")
    for minimum in (0.4, 0.5, 0.6):
        kept = held >= minimum
        print(f"minimum {minimum}: precision {y[kept].mean():.3f}, recall {y[kept].sum() / y.sum():.3f}")
    print(dict(zip([*names, "bias"], fitted(x, y).round(2).tolist(), strict=True)))


def labeled(rows: list[dict[str, Any]], mirror: Mirror) -> Iterator[tuple[str, dict[str, float], bool]]:
    """Yield, for each judged statement: its dialogue, its signals (numbers that describe it), and the verdict."""
    verdicts = {(row["source"], row["dialogue"], row["turn"], row["sum"]): bool(row["useful"]) for row in rows}
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    for source in sorted({row["source"] for row in rows}):
        wanted = {row["dialogue"] for row in rows if row["source"] == source}
        for name, turns in READERS[source](mirror):
            before = ""
            for number, (is_user, text) in enumerate(turns if name in wanted else ()):
                language = detect_language(text)
                context = Context(before=before, books=rulebooks(language), reader=reader, language=language)
                for each, _, _ in candidates(own_clauses(text[:MAX_CHARACTERS], language), context) if is_user else ():
                    verdict = verdicts.get((source, name, number, checksum(each.text)))
                    if verdict is not None:
                        yield f"{source}:{name}", signals(each), verdict
                before = text


def labeled_talks(path: Path) -> Iterator[tuple[str, dict[str, float], bool]]:
    """Yield the same for each judged statement of the conversations that we wrote."""
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    for talk in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        before: str = ""
        earlier: tuple[str, ...] = ()
        for is_user, text in talk["turns"] if talk["part"] == "tune" else ():
            language = detect_language(text) or detect_language(before)
            context = Context(before=before, books=rulebooks(language), reader=reader, language=language, earlier=earlier)
            for each, _, _ in candidates(own_clauses(text, language), context) if is_user else ():
                verdict = talk["verdicts"].get(each.own)
                if verdict is not None:
                    yield talk["id"], signals(each), verdict == "useful"
            before, earlier = (before, (*earlier, text)[-MAX_MESSAGES_BACK:]) if is_user else (text, earlier)


def fitted(x: Floats, y: Floats) -> Floats:
    """Return the weights of a logistic regression with an L2 penalty. The bias is the last weight."""
    z = np.c_[x, np.ones(len(x))]
    weights = np.zeros(z.shape[1])
    penalty = np.eye(len(weights)) * PENALTY
    penalty[-1, -1] = 1e-3
    for _ in range(30):  # Newton's method
        p = 1 / (1 + np.exp(-z @ weights))
        weights -= np.linalg.solve((z * (p * (1 - p))[:, None]).T @ z + penalty, z.T @ (p - y) + penalty @ weights)
    return weights


def predicted(weights: Floats, x: Floats) -> Floats:
    """Return the predicted probability for each row of ``x``, which contains the signals of one statement."""
    return np.asarray(1 / (1 + np.exp(-(x @ weights[:-1] + weights[-1]))))


if __name__ == "__main__":
    main()
