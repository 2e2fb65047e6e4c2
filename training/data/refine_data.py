"""Build the input of ``refine.py`` from ``bundle``, the folder that ``assemble.py`` writes.

The input contains pairs in both languages, also within longer messages and within talks between two people. It also contains
anchors: texts whose vectors should stay as they are.

Run this script after ``assemble.py``. Apertium translates each item into the other language, English or Spanish. Translations
that share a run of eight words with a benchmark or a held-out pair are dropped.
"""

import argparse
import io
import json
import lzma
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import overlap
import variants
from corpus import QUERY_PREFIX, document, lines, read_items
from tokens import encode, read_vocabulary, tokenizer

from data.assemble import language, texts_of
from data.translate import CHUNK, translate

ANCHORS = {"text": 25_000, "joined": 4_000, "parallel": 20_000}
"""Number of anchors by type: ordinary English texts, long texts joined from them, and Spanish texts with a translation."""
TALK = 256
"""Items per talk."""


def main() -> None:
    """Write ``refine.npz.xz``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="folder with the unpacked Debian packages of Apertium")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of the model")
    parser.add_argument("--forbidden", type=Path, nargs="+", required=True, help="benchmark files and folders")
    parser.add_argument("--bundle", type=Path, default=Path(__file__).resolve().parents[1] / "bundle")
    options = parser.parse_args()
    items, dev = (read_items(options.bundle / f"{name}.jsonl.xz") for name in ("pairs", "dev"))
    forbidden = [overlap.Forbidden.read(options.forbidden), overlap.Forbidden(text for item in dev for text in texts_of(item))]
    builder = Builder(options.bundle, translations(items, options.root, forbidden))
    plain = [builder.item(number, item) for number, item in enumerate(item for item in items if not item["s"])]
    talks = [[builder.named(one) for one in talk] for talk in variants.talks(items, TALK, 1)]
    anchors, targets = builder.anchors()
    encoded = encode(tokenizer(read_vocabulary(options.vocabulary)), list(builder.texts), max_tokens=224)
    content = io.BytesIO()
    np.savez(
        content,
        ids=encoded.ids.astype(np.uint16),
        starts=encoded.starts,
        items=np.frombuffer(json.dumps({"items": plain, "talks": talks}).encode(), dtype=np.uint8),
        anchors=np.array(anchors),
        targets=np.array(targets),
    )
    (options.bundle / "refine.npz.xz").write_bytes(lzma.compress(content.getvalue(), preset=2))
    print(
        f"{len(plain)} items, {sum(bool(one['other']) for one in plain)} translated, {len(talks)} talks, {len(anchors)} anchors"
    )


def translations(items: list[dict[str, Any]], root: Path, forbidden: list[overlap.Forbidden]) -> dict[str, str]:
    """Translate the texts of the items with Apertium. Return a mapping from each text to its translation.

    Bad translations, and translations that share a run of eight words with a forbidden text, are left out.
    """
    texts = dict.fromkeys(text for item in items if not item["s"] for text in texts_of(item))
    found: dict[str, str] = {}
    for spoken, direction in (("es", "spa-eng"), ("en", "eng-spa")):
        some = [text for text in texts if language(text) == spoken]
        for start in range(0, len(some), CHUNK):
            made = translate(some[start : start + CHUNK], root, direction)
            found.update((text, other) for text, other in made if not any(rule.shares(other) for rule in forbidden))
    return found


class Builder:
    """Collects texts, numbers them, and builds items that refer to texts by number."""

    def __init__(self, bundle: Path, other: dict[str, str]) -> None:
        """Read the ordinary text of the training data. ``other`` maps a text to its translation."""
        self.texts: dict[str, int] = {}
        self._other, self._random = other, random.Random(3)
        self._text = [line.split("\t", 1)[1] for line in lines(bundle / "text.tsv.xz")]
        self._parallel = [line.split("\t")[1:] for line in lines(bundle / "parallel.tsv.xz")]
        self._fillers = {
            "en": [text for text in self._text if len(text.split()) < 30],
            "es": [spanish for _, spanish in self._parallel if 4 <= len(spanish.split()) < 30],
        }

    def item(self, number: int, item: dict[str, Any]) -> dict[str, Any]:
        """Return an item with its questions, and with its document and near misses in four forms.

        The forms are: as written, within a message of a few sentences, within a long message, and translated. A form that
        the item cannot have is None.
        """
        spoken, own = language(item["u"]), document(item)
        made: dict[str, Any] = {
            "q": [self._row(text, asked=True) for text in item["q"]],
            "plain": [self._row(own), [self._row(text) for text in item["n"]]],
            "other_q": [self._row(self._other[text], asked=True) for text in item["q"] if text in self._other],
            "longer": None,
            "long": None,
            "other": None,
        }
        if len(item["u"].split()) < 60:
            made["longer"] = self._grown(own, item["n"], spoken, 1, 4)
            if number % 3 == 0:
                made["long"] = self._grown(own, item["n"], spoken, 7, 11)
        if all(text in self._other for text in (item["p"], item["u"]) if text):
            parts = [self._other[text] for text in (item["p"], item["u"]) if text]
            made["other"] = [
                self._row(" ".join(parts)),
                [self._row(self._other[text]) for text in item["n"] if text in self._other],
            ]
        return made

    def named(self, one: variants.Texts) -> tuple[list[int], int, list[int]]:
        """Return one item of a talk: its questions, its document and its near misses, each text as its number."""
        rows = one.rows(self.texts)
        return rows.questions, rows.document, rows.misses

    def anchors(self) -> tuple[list[int], list[int]]:
        """Return two lists of text numbers: the anchor texts, and for each the text whose old vector it should have."""
        rows: list[tuple[int, int]] = []
        for text in self._some(self._text, ANCHORS["text"]):
            row = self._row(text, asked=self._is_asked(text))
            rows.append((row, row))
        for text in self._random.choices(self._fillers["en"], k=ANCHORS["joined"]):
            row = self._row(self._grow(text, "en", 3, 10))
            rows.append((row, row))
        for english, spanish in self._some(self._parallel, ANCHORS["parallel"]):
            asked = self._is_asked(english)
            rows.append((self._row(spanish, asked=asked), self._row(english, asked=asked)))
        return [row for row, _ in rows], [target for _, target in rows]

    def _some(self, rows: list[Any], limit: int) -> list[Any]:
        return self._random.sample(rows, min(limit, len(rows)))

    def _is_asked(self, text: str) -> bool:
        return text.endswith("?") and self._random.random() < 0.7

    def _row(self, text: str, *, asked: bool = False) -> int:
        return self.texts.setdefault(QUERY_PREFIX + text if asked else text, len(self.texts))

    def _grown(self, own: str, misses: list[str], spoken: str, low: int, high: int) -> list[Any]:
        return [
            self._row(self._grow(own, spoken, low, high)),
            [self._row(self._grow(text, spoken, low, high)) for text in misses[:2]],
        ]

    def _grow(self, text: str, spoken: str, low: int, high: int) -> str:
        """Insert a text at a random position among random other texts."""
        around = self._random.choices(self._fillers[spoken], k=self._random.randint(low, high))
        at = self._random.randint(0, len(around))
        return " ".join([*around[:at], text, *around[at:]])


if __name__ == "__main__":
    main()
