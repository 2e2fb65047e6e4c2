"""Variants of a pair: as it was written, in a longer message, and as the words of a named person.

Stored messages have several sentences, and the names of speakers are often known. Most pairs, however, are one sentence in the
first person. The variants make the pairs more like stored messages.
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
        """Add the texts to ``texts``, which gives each text a number, and return the variant with these numbers.

        The question prefix is put before each question.
        """
        return Variant(
            questions=[texts.setdefault(QUERY_PREFIX + text, len(texts)) for text in self.questions],
            document=texts.setdefault(self.document, len(texts)),
            misses=[texts.setdefault(text, len(texts)) for text in self.misses],
        )


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A variant that refers to its texts by their numbers in a list of all texts."""

    questions: list[int]
    document: int
    misses: list[int]


class Maker:
    """Builds the variants of items. The same item always gets the same variants."""

    def __init__(self, fillers: Sequence[str]) -> None:
        """Store ordinary texts by language. They are put before and after a text to make a longer message."""
        self._fillers: dict[str, list[str]] = {"en": [], "es": []}
        for text in fillers[:: max(1, len(fillers) // 60_000)]:
            if len(text.split()) < 30:
                self._fillers[language(text)].append(text)

    def variants(self, item: dict[str, Any]) -> list[Texts]:
        """Return the item as it was written, and in a longer message."""
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
    """Return items as talks between two people. Each talk has ``size`` items, and each document starts with one of two names.

    Only two names are used, because the name alone would identify the right document if each document of a batch had its own.
    Items that were written with a speaker appear three times, each time with other names.
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
    """Return an item whose document is said by one of two people, and whose questions name that person."""
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
    """Change a question about "I" to a question about a named person. Verb forms are not corrected."""
    for pattern, wanted in _THIRD_PERSON:
        text = re.sub(pattern, wanted.format(name=name), text)
    return text
