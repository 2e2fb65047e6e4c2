"""Build the input of ``refine.py`` from ``bundle``, the folder that ``assemble.py`` writes.

The input contains each pair in several forms: as it was written, within a longer message, as a short memory in either language, and as
part of a talk between two people. It also contains anchors: texts whose vectors should stay as they are.
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

import variants
from corpus import QUERY_PREFIX, document, lines, read_items
from tokens import encode, read_vocabulary, tokenizer

from data.assemble import language
from holdfast.text.third_person.rewrite import bare_predicate, third_person

ANCHORS = {"text": 25_000, "joined": 4_000, "parallel": 20_000}
"""Number of anchors by type: ordinary English texts, long texts joined from them, and Spanish texts with a translation."""
TALK = 256
"""Items per talk."""


def main() -> None:
    """Write ``refine.npz.xz``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of the model")
    parser.add_argument("--bundle", type=Path, default=Path(__file__).resolve().parents[1] / "bundle")
    options = parser.parse_args()
    items = read_items(options.bundle / "pairs.jsonl.xz")
    builder = Builder(options.bundle)
    plain = [builder.item(item) for item in items if not item["s"]]
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
    memories = sum("memory" in one["forms"] for one in plain)
    print(f"{len(plain)} items, {memories} with a memory, {len(talks)} talks, {len(anchors)} anchors")


class Builder:
    """Collects texts, numbers them, and builds items that refer to texts by number."""

    def __init__(self, bundle: Path) -> None:
        """Read the ordinary text of the training data."""
        self.texts: dict[str, int] = {}
        self._random = random.Random(3)
        self._text = [line.split("\t", 1)[1] for line in lines(bundle / "text.tsv.xz")]
        self._names = (Path(__file__).parent / "names.txt").read_text(encoding="utf-8").split()
        self._parallel = [line.split("\t")[1:] for line in lines(bundle / "parallel.tsv.xz")]
        self._fillers = {
            "en": [text for text in self._text if len(text.split()) < 30],
            "es": [spanish for _, spanish in self._parallel if 4 <= len(spanish.split()) < 30],
        }

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return an item with its questions, and with its document and near misses in each form that the item can have."""
        own = document(item)
        forms = {"plain": [self._row(own), [self._row(text) for text in item["n"]]]}
        if len(item["u"].split()) < 60:
            forms["longer"] = self._grown(own, item["n"], language(item["u"]), 1, 4)
        if item["m"]:
            forms["memory"] = [self._row(item["m"]), [self._row(text) for text in item["x"]]]
            forms["other"] = [self._row(item["o"]), []]
            forms |= {f"{name} third": found for name in ("memory", "other") if (found := self._third(item, name))}
        asked = [*item["q"], item["r"]] if item["r"] else item["q"]
        return {"q": [self._row(text, asked=True) for text in asked], "forms": forms}

    def _third(self, item: dict[str, Any], name: str) -> list[Any] | None:
        """Return a memory and its near misses in the third person, as several presets store them, or None if that is not possible."""
        text, misses = (item["m"], item["x"]) if name == "memory" else (item["o"], [])
        way = self._random.choice(("user", "name", "bare"))
        subject = self._random.choice(self._names) if way == "name" else None
        turned = [_in_third_person(each, way, subject) for each in (text, *misses)]
        if turned[0] is None:
            return None
        return [self._row(turned[0]), [self._row(each) for each in turned[1:] if each is not None]]

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


def _in_third_person(text: str, way: str, subject: str | None) -> str | None:
    """Return a first-person text in the third person, or None if the rules cannot rewrite it."""
    spoken = language(text)
    found = bare_predicate(text, spoken) if way == "bare" else third_person(text, spoken, subject=subject)
    return None if text[:20] in found or "said:" in found or "dijo:" in found else found


if __name__ == "__main__":
    main()
