"""Variants of a pair: as it was written, within a longer message, and as a named person's words.

A memory holds messages of several sentences, and talk between people whose names are known. The pairs are mostly one
sentence of one person who says "I".
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corpus import NAMES, QUERY_PREFIX, document
from data.assemble import language

_THIRD_PERSON = (
    (r"\bam I\b", "is {name}"),
    (r"\b(do) I\b", "does {name}"),
    (r"\b(have) I\b", "has {name}"),
    (r"\bI'm\b|\bI am\b|\bim\b", "{name} is"),
    (r"\bI've\b|\bI have\b", "{name} has"),
    (r"\bI'll\b", "{name} will"),
    (r"\bI'd\b", "{name} would"),
    (r"\bI\b", "{name}"),
    (r"\b[Mm]y\b", "{name}'s"),
    (r"\bmine\b", "{name}'s"),
    (r"\bme\b", "{name}"),
    (r"\bmyself\b", "{name}"),
)


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The texts of one variant."""

    questions: tuple[str, ...]
    document: str
    misses: tuple[str, ...]

    def rows(self, texts: dict[str, int]) -> "Variant":
        """Return the same as rows of a growing set of texts. Questions get their prefix."""
        return Variant(
            questions=[texts.setdefault(QUERY_PREFIX + text, len(texts)) for text in self.questions],
            document=texts.setdefault(self.document, len(texts)),
            misses=[texts.setdefault(text, len(texts)) for text in self.misses],
        )


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to ask and to find the same thing, as rows of a set of texts."""

    questions: list[int]
    document: int
    misses: list[int]


class Maker:
    """Makes the variants of items. The same item always has the same ones."""

    def __init__(self, fillers: Sequence[str]) -> None:
        """Store the texts around which a longer message is made, by language."""
        self._fillers: dict[str, list[str]] = {"en": [], "es": []}
        for text in fillers[:: max(1, len(fillers) // 60_000)]:
            if len(text.split()) < 30:
                self._fillers[language(text)].append(text)

    def variants(self, item: dict[str, Any]) -> list[Texts]:
        """Return the item as it is, and within a longer message."""
        plain = Texts(questions=tuple(item["q"]), document=document(item), misses=tuple(item["n"]))
        if len(item["u"].split()) >= 60:
            return [plain]
        return [plain, self._longer(plain, language(item["u"]), random.Random(item["u"]))]

    def _longer(self, plain: Texts, spoken: str, chance: random.Random) -> Texts:
        fillers = self._fillers[spoken] or [""]

        def grow(text: str) -> str:
            before, after = (chance.choices(fillers, k=chance.randint(0, 2)) for _ in range(2))
            return " ".join([*before, text, *after]).strip()

        return Texts(questions=plain.questions, document=grow(plain.document), misses=tuple(grow(miss) for miss in plain.misses))


def talks(items: Sequence[dict[str, Any]], size: int, seed: int) -> list[list[Texts]]:
    """Return items as talks between two people: each talk has ``size`` items, and all its texts begin with one of two names.

    What was written as such a talk appears three times, each time with other names. If every text of a batch had its own name, the name alone would tell which one is meant.
    """
    chance = random.Random(seed)
    written = [item for item in items if item.get("s")]
    made = [item for item in items if not item.get("s") and language(item["u"]) == "en"]
    found = []
    for some in (written, written, written, made):
        mixed = chance.sample(some, len(some))
        for start in range(0, len(mixed) - size + 1, size):
            names = chance.sample(NAMES, 2)
            found.append([named(item, names, chance) for item in mixed[start : start + size]])
    return found


def named(item: dict[str, Any], names: Sequence[str], chance: random.Random) -> Texts:
    """Return an item as said by one of two people and asked about by name."""
    name, other = names if chance.random() < 0.5 else names[::-1]
    if item.get("s"):
        own = re.compile(rf"\b{re.escape(item['s'])}\b")
        others = [match[1] for text in item["n"] if (match := re.match(r"(\w+): ", text)) and match[1] != item["s"]]

        def rename(text: str) -> str:
            text = own.sub(name, text)
            return re.sub(rf"\b({'|'.join(map(re.escape, others))})\b", other, text) if others else text

        changed = {key: [rename(text) for text in item[key]] for key in ("q", "n")}
        return Texts(
            questions=tuple(changed["q"]),
            document=document({**item, "s": name, "u": rename(item["u"]), "p": rename(item["p"])}),
            misses=tuple(changed["n"]),
        )
    questions = tuple(third_person(text, name) if language(text) == "en" else text for text in item["q"])
    misses = (f"{chance.choice(names)}: {text}" for text in item["n"])
    return Texts(questions=questions, document=document({**item, "s": name}), misses=tuple(misses))


def third_person(text: str, name: str) -> str:
    """Return a question about "I" as one about a named person. The grammar of verbs is left as it is."""
    for pattern, wanted in _THIRD_PERSON:
        text = re.sub(pattern, wanted.format(name=name), text)
    return text
