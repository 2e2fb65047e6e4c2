"""Check that no training text occurs in a benchmark.

No text in ``bundle`` (the folder of training data) may share a run of eight words with a benchmark text. A short text (four to
seven words) must not be a whole benchmark text either. The script first tests itself: it must find a benchmark sentence inside
other words. It exits with 1 if a shared text is found.

``--drop`` first removes the lines with a shared text from the training data. This is needed for rule-based translations, because
they are made after the sources were filtered.
"""

import argparse
import json
import sys
from pathlib import Path

import corpus
import overlap
from data.assemble import _write_lines, texts_of

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Check every text of the training data. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=HERE / "bundle")
    parser.add_argument("--forbidden", type=Path, nargs="+", required=True, help="benchmark files and folders")
    parser.add_argument("--drop", action="store_true", help="remove the lines that share something, then check")
    options = parser.parse_args()
    if options.drop:
        _drop(options.bundle, overlap.Forbidden.read(options.forbidden))
    found = 0
    for path in options.forbidden:
        forbidden = overlap.Forbidden.read([path])
        texts = [text for file in overlap._files(path) for text in overlap._strings(file) if len(text.split()) >= 12]
        if not texts or not forbidden.shares(f"well {texts[len(texts) // 2]} indeed"):
            raise SystemExit(f"{path}: a planted sentence was not found")
        shared = {name: [text for text in texts_in(options.bundle / name) if forbidden.shares(text)] for name in NAMES}
        counts = ", ".join(f"{name} {len(texts)}" for name, texts in shared.items())
        print(f"{path}: {forbidden.texts} texts; shared with {counts}")
        for texts in shared.values():
            found += len(texts)
            for text in texts[:3]:
                print(f"    {text}")
    print("nothing is shared" if not found else f"{found} texts are shared")
    return int(found > 0)


NAMES = ("pairs.jsonl.xz", "text.tsv.xz", "parallel.tsv.xz", "rules.tsv.xz")
"""Files of the bundle that are trained on."""


def _drop(bundle: Path, forbidden: overlap.Forbidden) -> None:
    for name in ("parallel.tsv.xz", "rules.tsv.xz"):
        rows = list(corpus.lines(bundle / name))
        kept = [row for row in rows if not any(map(forbidden.shares, row.split("\t")[1:]))]
        print(f"{name}: {len(rows) - len(kept)} of {len(rows)} lines dropped")
        if len(kept) < len(rows):
            _write_lines(bundle / name, kept)


def texts_in(path: Path) -> list[str]:
    """Return every text in one file of the training data."""
    if path.name.startswith("pairs"):
        return [text for line in corpus.lines(path) for text in texts_of(json.loads(line))]
    return [text for line in corpus.lines(path) for text in line.split("\t")[1:]]


if __name__ == "__main__":
    sys.exit(main())
