"""Load the training data: items (an utterance with questions about it), and texts with the vectors that they should get.

Each text should get the vector that the teacher model has for an English text: the text itself, or its translation.
"""

import json
import lzma
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
"""The prefix that the old model expects before a question. A document has no prefix."""
_QUERY_SHARE = 30
"""Percentage of ordinary texts that are embedded as questions. For texts that do not end with "?", it is half of that."""
_JOINED = 0.4
"""Number of long rows made by joining texts, as a share of the texts."""
NAMES = tuple((Path(__file__).resolve().parent / "data" / "names.txt").read_text(encoding="utf-8").split())
"""First names of speakers."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Texts to train on. The vector of ``texts[i]`` should become the teacher's vector of ``targets[target[i]]``."""

    texts: list[str]
    target: np.ndarray
    targets: list[str]


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a compressed file."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def read_items(path: Path, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the items of a file. An item has an utterance, questions about it, and near misses (similar wrong answers)."""
    found = [json.loads(line) for line in lines(path)]
    return found if limit is None else random.Random(0).sample(found, min(limit, len(found)))


def document(item: dict[str, Any]) -> str:
    """Return the document of an item: the speaker and the preceding question, if there are any, then the utterance."""
    speaker = f"{item['s']}:" if item.get("s") else ""
    return " ".join(part for part in (speaker, item["p"], item["u"]) if part)


def as_role(text: str) -> str:
    """Return the text, with the question prefix for some texts. A hash of the text decides, so the choice is always the same."""
    is_query = zlib.crc32(text.encode()) % 100 < (70 if text.endswith("?") else _QUERY_SHARE // 2)
    return QUERY_PREFIX + text if is_query else text


def read_rows(bundle: Path, items: list[dict[str, Any]], is_english: Any, limit: int | None = None) -> Rows:
    """Return the training texts of stage A, which teaches an encoder to reproduce a teacher's vectors.

    Each text comes with the English text whose vector it should get: itself, or its translation. Sentence pairs written by
    people are added twice, and rule-based translations once. Long rows are joined from several texts, because a message is
    longer than a sentence. Some long rows start with a speaker's name.
    """
    targets: dict[str, int] = {}
    texts, target = [], []

    def add(text: str, english: str) -> None:
        role = as_role(english)
        number = targets.setdefault(role, len(targets))
        texts.append(QUERY_PREFIX + text if role != english else text)
        target.append(number)

    english = [line.split("\t", 1)[1] for line in lines(bundle / "text.tsv.xz")]
    parallel = [line.split("\t") for name in ("parallel", "rules") for line in lines(bundle / f"{name}.tsv.xz")]
    if limit is not None:
        english, parallel = (random.Random(0).sample(rows, min(limit, len(rows))) for rows in (english, parallel))
    own = [text for item in items for text in (document(item), *item["q"], *item["n"]) if is_english(text)]
    for text in dict.fromkeys([*own, *english, *(row[1] for row in parallel)]):
        add(text, text)
    for name, one, other in parallel:
        for _ in range(1 if name == "rules" else 2):
            add(other, one)
    chance = random.Random(1)
    for _ in range(int(_JOINED * len(english))):
        add(*_joined(chance, [(text, text) for text in chance.choices(english, k=chance.randint(1, 5))]))
    for _ in range(int(_JOINED * len(parallel))):
        add(*_joined(chance, [(row[2], row[1]) for row in chance.choices(parallel, k=chance.randint(1, 4))]))
    return Rows(texts=texts, target=np.array(target), targets=list(targets))


def _joined(chance: random.Random, parts: list[tuple[str, str]]) -> tuple[str, str]:
    """Join several texts into one text, and their English versions into another. Return both.

    ``parts`` contains pairs of a text and its English version. Both results start with the same speaker's name: always if
    there is only one pair, otherwise with a probability of one half.
    """
    speaker = f"{chance.choice(NAMES)}: " if len(parts) == 1 or chance.random() < 0.5 else ""
    text, english = (" ".join(part[side] for part in parts) for side in (0, 1))
    return speaker + text, speaker + english
