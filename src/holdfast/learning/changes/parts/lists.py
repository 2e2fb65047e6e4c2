"""Cut one item out of a list: "tea and coffee", "with Marisa and Tom", "allergic to bees and to nuts"."""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.learning.changes.parts.claims import begins_clause
from holdfast.learning.changes.parts.segments import segments_of, verb_end
from holdfast.runtime.regex import regex

_AND: Final = {"en": r"(?:and|or|plus|&)", "es": r"(?:y|e|o|más)"}
_LAST_AND: Final = {code: regex(rf"\s*,?\s+{words}\s+(?=\S)", re.IGNORECASE) for code, words in _AND.items()}
_NAME: Final = r"[A-ZÁÉÍÓÚÑ][\w’'-]+(?:\s+[A-ZÁÉÍÓÚÑ][\w’'-]+)*"
_NAMES: Final = {
    code: regex(rf"(?P<first>{_NAME}(?:,\s+{_NAME})*),?(?P<and>\s+{words}\s+)(?P<last>{_NAME})") for code, words in _AND.items()
}
_PREPOSITION: Final = {
    "en": regex(r"(?:to|for|in|at|on|with|of|about|from|against|into)\s+", re.IGNORECASE),
    "es": regex(r"(?:al|a|del|de|en|con|por|para|contra)\s+", re.IGNORECASE),
}
_FAMILY: Final = {"al": "a", "del": "de"}
_ARTICLE: Final = regex(r"(?:el|la|los|las|un|una|unos|unas|mi|mis)\b", re.IGNORECASE)
_STANDS_FOR: Final = regex(
    r"(?:(?:another|the other )?ones?|another|the other|otr[oa]s?|un[oa]|l[oa]s? otr[oa]s?)(?= (?:in|at|on|after|before|for|en|a|al|antes|después|para|por)\b|$)",
    re.IGNORECASE,
)
"""Matches a list item that refers to a noun in an earlier item: "one after lunch" in "a walk at noon and one after lunch"."""
_COUNT: Final = regex(
    r"\b(?:two|three|four|five|six|both|\d+|dos|tres|cuatro|cinco|seis|amb[oa]s)\s+(?=[\w-]+[,:]?\s*$)", re.IGNORECASE
)
"""Matches a number before the noun that ends a text, such as "two" in "I have two cats: ".

If an item is cut from the list, the number is removed, because it is no longer right.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemList:
    """A list inside a clause, such as "bees, wasps and nuts" in "I'm allergic to bees, wasps and nuts".

    ``before`` and ``after`` are the parts of the clause before and after the list. ``joint`` is the text between the last two
    items, here " and ".
    """

    before: str
    items: tuple[str, ...]
    joint: str
    after: str

    def without(self, dropped: set[int]) -> str:
        """Return the clause without the items at the positions in ``dropped``."""
        kept = [item for number, item in enumerate(self.items) if number not in dropped]
        before = _COUNT.sub("", self.before)
        if kept[0] != self.items[0] and _ARTICLE.match(kept[0]):
            before = re.sub(r"\b(a|de)l\s+$", r"\1 ", before)
        listed = kept[0] if len(kept) == 1 else f"{', '.join(kept[:-1])}{self.joint}{kept[-1]}"
        return f"{before}{listed}{self.after}"


def list_in(clause: str, language: str) -> ItemList | None:
    """Return the list that follows the verb of a clause, or None."""
    begin = verb_end(clause, language)
    named = _NAMES[language].search(clause, begin)
    if named:
        items = (*re.split(r",\s+", named["first"]), named["last"])
        return ItemList(before=clause[: named.start()], items=items, joint=named["and"], after=clause[named.end() :])
    joints = list(_LAST_AND[language].finditer(clause, begin))
    if not joints:
        return None
    joint = joints[-1]
    last = clause[joint.end() :]
    start = _first_item(clause, begin, joint.start(), last, language)
    first = clause[start : joint.start()]
    if first.startswith(","):  # a new clause, not the object of the verb: "Solva, it's two miles, and I swim one"
        return None
    items = (*(item for item in re.split(r",\s+", first) if item.strip()), last)
    if (
        len(items) < 2
        or not all(item.strip() for item in items)
        or any(_STANDS_FOR.match(item) or begins_clause(item, language) for item in items)
    ):
        return None
    return ItemList(before=clause[:start], items=items, joint=joint[0], after="")


def _first_item(clause: str, begin: int, end: int, last: str, language: str) -> int:
    """Return the position in a clause at which the first item of a list begins.

    The first item begins after ``begin``, the end of the verb. ``end`` is the position of the "and" before the last item, and
    ``last`` is the last item.
    """
    own = _PREPOSITION[language].match(last)
    if own:  # each item has its preposition: "to bees and to nuts"
        word = _family(own[0])
        for segment in segments_of(clause, language)[1:]:
            if segment.start < end and _family(segment.text.split()[0]) == word:
                return segment.start
        found = re.search(rf"\s(?={re.escape(word)}l?\s)", clause[begin:end])
        return begin + found.end() if found else begin + _spaces(clause[begin:])
    start = begin + _spaces(clause[begin:])
    shared = _PREPOSITION[language].match(clause, start)
    return shared.end() if shared and shared.end() < end else start


def _family(word: str) -> str:
    word = word.strip().casefold()
    return _FAMILY.get(word, word)


def _spaces(text: str) -> int:
    return len(text) - len(text.lstrip())
