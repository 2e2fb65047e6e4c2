"""Fit the thresholds of ``holdfast.learning.changes.compare_claims`` to labeled pairs of claims.

The thresholds are chosen on the training pairs that no network was trained on (the split ``dev``). They maximize the share of
changes found, while at least 98 % of the look-alikes are kept and at most 5 % of the ended claims are wrong. The result is
reported on the test pairs, with 95 % confidence intervals (Wilson), before and after. Each pair is compared as the nearest
memory. The look-alikes of the newer authors were written to be hard, so the thresholds in use are lower than the fitted ones
(``docs/project/decisions/learning.md``). Run it again after each training of the reader:

    python training/fit_changes.py
"""

import argparse
import itertools
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reader.examples import is_dev

from holdfast.config.models import make_sentence_reader
from holdfast.learning.changes import compare_claims
from holdfast.learning.changes.compare_claims import ClaimComparer, Thresholds, common_words
from holdfast.learning.changes.end_reason import replaces
from holdfast.models.local.registry import DEFAULT_READER
from holdfast.protocols import SentenceReader

HERE = Path(__file__).resolve().parent
MIN_LOOK_ALIKES = 0.98
MAX_WRONG = 0.05
GRID = (0.5, 0.6, 0.7, 0.75, 0.8, 0.84, 0.87, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975)
GROUPS = ("direct", "sideways", "lookalike", "repeat", "unrelated-near")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A labeled pair: an old and a new claim, and whether rules alone find a change."""

    old: str
    new: str
    how: str
    ends: bool
    by_rules: bool


def main() -> None:
    """Print the fitted thresholds, and the results on the test pairs before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path, default=HERE / "reader" / "labels" / "changes.jsonl")
    parser.add_argument("--misses", action="store_true", help="print the wrong pairs of the split dev")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.labels.read_text(encoding="utf-8").splitlines()]
    reader = make_sentence_reader(DEFAULT_READER)
    assert reader is not None
    dev = [pair(row) for row in rows if is_dev(row)]
    test = [pair(row) for row in rows if row["split"] == "test"]
    known = compare_claims.THRESHOLDS
    print(f"{len(dev)} pairs to fit, {len(test)} to test; reader {reader.name}")
    report("dev, before", dev, finds(reader, dev, known))
    fitted = fit(dev, reader, known)
    print(f"fitted: {fitted}")
    report("dev, after", dev, finds(reader, dev, fitted))
    report("test, rules alone", test, [each.by_rules for each in test])
    report("test, before", test, finds(reader, test, known))
    report("test, after", test, finds(reader, test, fitted))
    if options.misses:
        print_misses(dev, finds(reader, dev, fitted), reader)


def pair(row: dict[str, str]) -> Pair:
    """Return a row of the labels as a pair."""
    by_rules = replaces(row["old"], row["new"], row["lang"])
    return Pair(old=row["old"], new=row["new"], how=row["how"], ends=row["change"] == "ends", by_rules=by_rules)


def finds(reader: SentenceReader, pairs: Sequence[Pair], thresholds: Thresholds) -> list[bool]:
    """Return, for each pair, whether the rules or the reader find that the new claim ends the old one."""
    comparer = ClaimComparer(reader, thresholds=thresholds)
    return [each.by_rules or comparer.change(each.old, each.new, whole=each.new) is not None for each in pairs]


def fit(pairs: Sequence[Pair], reader: SentenceReader, known: Thresholds) -> Thresholds:
    """Return the thresholds that find the most changes within the limits. If there are none, return the known ones."""
    never = replace(known, shared=2.0, unshared=2.0, unrelated=2.0)
    by_shared = {one: finds(reader, pairs, replace(never, shared=one)) for one in GRID}
    by_unshared = {one: finds(reader, pairs, replace(never, unshared=one, unrelated=max(one, known.unrelated))) for one in GRID}
    best, most = known, -1.0
    for shared, unshared in itertools.product(GRID, GRID):
        found = [one or other for one, other in zip(by_shared[shared], by_unshared[unshared], strict=True)]
        kept = share(found, pairs, "lookalike", wanted=False)
        ended = [each for each, is_found in zip(pairs, found, strict=True) if is_found]
        wrong = sum(not each.ends for each in ended) / max(len(ended), 1)
        gain = share(found, pairs, "direct") + share(found, pairs, "sideways")
        if kept >= MIN_LOOK_ALIKES and wrong <= MAX_WRONG and gain > most:
            best, most = replace(known, shared=shared, unshared=unshared, unrelated=max(unshared, known.unrelated)), gain
    return best


def share(found: Sequence[bool], pairs: Sequence[Pair], how: str, *, wanted: bool = True) -> float:
    """Return the share of the pairs of one type for which the answer is the wanted one."""
    answers = [is_found == wanted for is_found, each in zip(found, pairs, strict=True) if each.how == how]
    return sum(answers) / max(len(answers), 1)


def report(name: str, pairs: Sequence[Pair], found: Sequence[bool]) -> None:
    """Print the results of one set of pairs, in percent, with confidence intervals."""
    parts = []
    for how in GROUPS:
        wanted = how in ("direct", "sideways")
        answers = [is_found == wanted for is_found, each in zip(found, pairs, strict=True) if each.how == how]
        parts.append(f"{how} {interval(sum(answers), len(answers))}")
    ended = [each for each, is_found in zip(pairs, found, strict=True) if is_found]
    parts.append(f"wrong among ended {interval(sum(not each.ends for each in ended), len(ended))}")
    print(f"{name}: {'; '.join(parts)}")


def interval(right: int, total: int) -> str:
    """Return a share in percent with its 95 % confidence interval (Wilson)."""
    if not total:
        return "-"
    z, p = 1.96, right / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    return f"{100 * p:.1f} % ({100 * (middle - half):.0f}-{100 * (middle + half):.0f}, n {total})"


def print_misses(pairs: Sequence[Pair], found: Sequence[bool], reader: SentenceReader) -> None:
    """Print each pair with a wrong answer, with the reader's probability and the number of common words."""
    for each, is_found in zip(pairs, found, strict=True):
        if is_found != each.ends and each.how != "repeat":
            chance = reader.compare(each.old, each.new).ends
            print(f"{each.how} {chance:.3f} {common_words(each.old, each.new)} {each.by_rules} | {each.old} | {each.new}")


if __name__ == "__main__":
    main()
