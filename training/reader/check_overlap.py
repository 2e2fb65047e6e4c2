"""Check that the reader is not trained on text of a benchmark or of its own test examples.

A training text must not share a run of eight words with such a text, and a short one (four to seven words) must not equal it. The
script first tests itself with a text that it must find. It prints the shared texts of each source, and exits with 1 if a text
of eight or more words is shared. Short sentences such as "I love that movie" are said by many people, so they are only counted.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import overlap

from reader.examples import Example, read

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Check the training examples, and print the shared texts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path, default=HERE / "labels")
    parser.add_argument("--texts", type=Path, default=HERE / "bundle" / "texts.jsonl.xz", help="made by restore_text.py")
    parser.add_argument("--forbidden", type=Path, nargs="*", default=[], help="benchmark files and folders")
    parser.add_argument("--sources", nargs="*", help="check only the training examples of these sources")
    options = parser.parse_args()
    examples = read(options.labels, options.texts)
    training = [each for each in examples if each.split != "test" and (not options.sources or each.source in options.sources)]
    tests = [text for each in examples if each.split == "test" for text in (each.first, each.text)]
    found = report("test examples", overlap.Forbidden(tests), max(tests, key=len), training)
    for path in options.forbidden:
        texts = [text for file in overlap._files(path) for text in overlap._strings(file)]
        found += report(str(path), overlap.Forbidden(texts), max(texts, key=len), training)
    return int(found > 0)


def report(name: str, forbidden: overlap.Forbidden, planted: str, training: Sequence[Example]) -> int:
    """Print what the training examples share with the forbidden texts. Return the number of long texts."""
    if not forbidden.shares(f"well {planted} indeed"):
        raise SystemExit(f"{name}: a planted text was not found")
    long, short = shared(forbidden, training)
    print(f"{name}: {forbidden.texts} texts; {len(long)} long and {len(short)} short texts of {len(training)} examples shared")
    print(f"    by source: {dict(Counter(source for source, _ in long))}")
    for source, text in long[:10]:
        print(f"    {source}: {text}")
    return len(long)


def shared(forbidden: overlap.Forbidden, training: Iterable[Example]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return two lists of shared texts, each text with its source: texts of at least eight words, and shorter texts."""
    long, short = [], []
    for each in training:
        for text in (each.first, each.text):
            if forbidden.shares(text):
                (long if len(overlap._words(text)) >= overlap.WORDS else short).append((each.source, text))
    return long, short


if __name__ == "__main__":
    sys.exit(main())
