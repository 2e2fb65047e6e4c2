"""Split a clause into segments: its core (subject, verb and object), and phrases with a place, time, companion or role."""

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from holdfast.learning.changes.moments import moments_of
from holdfast.learning.changes.parts.claims import subject_of
from holdfast.runtime.regex import regex

Sort: TypeAlias = Literal["core", "place", "time", "company", "role", "other"]

_DAYS: Final = {
    "en": r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mornings?|afternoons?|evenings?|nights?|weekends?|weekdays?|noon|midnight)",
    "es": r"(?:lunes|martes|miércoles|miercoles|jueves|viernes|sábados?|sabados?|domingos?|fin(?:es)? de semana|findes?|mañanas?|tardes?|noches?)",
}
_STARTS: Final = {
    "en": regex(
        rf"(?:(?<=\s)|(?<=,))(?P<word>with|alone|by myself|on my own|together with|alongside|in|at|on|near|next to|behind|by|inside|outside|to|from|for|as|since|until|during|before|after"
        rf"|every|each|twice|once|(?:on )?(?:the )?(?={_DAYS['en']}\b))(?=\s|\b)",
        re.IGNORECASE,
    ),
    "es": regex(
        rf"(?:(?<=\s)|(?<=,))(?P<word>junto con|con|sol[oa](?=\s+(?:en|desde)\b|$)|en|cerca de|al lado de|detrás de|para|desde|hasta|por|como|durante|antes de|después de|cada|al|a las?|a"
        rf"|(?:tod[oa]s )?(?:los|el|las) (?={_DAYS['es']}\b)|(?=(?:lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bados?|domingos?)\b))(?=\s|\b)",
        re.IGNORECASE,
    ),
}
ALONE: Final = ("alone", "by myself", "on my own", "solo", "sola")
"""Words that say that somebody has no companion."""
_SORTS: Final[dict[str, Sort]] = {
    **dict.fromkeys(("with", "together with", "alongside", "con", "junto con", *ALONE), "company"),
    **dict.fromkeys(("in", "at", "on", "near", "next to", "behind", "by", "inside", "outside", "to", "from"), "place"),
    **dict.fromkeys(("en", "cerca de", "al lado de", "detrás de", "al", "a"), "place"),
    **dict.fromkeys(("as", "como", "de"), "role"),
    **dict.fromkeys(("since", "until", "during", "before", "after", "every", "each", "twice", "once"), "time"),
    **dict.fromkeys(("desde", "hasta", "durante", "antes de", "después de", "cada", "a la", "a las"), "time"),
}
_ROLE: Final = regex(r"(?<=\s)(?P<word>de)(?=\s)", re.IGNORECASE)
_PERSON: Final = regex(
    r"\b(?:my|our|his|her|their|mis?|sus?|nuestr[oa]s?|friends|kids|roommates|housemates|flatmates|colleagues|amig[oa]s|compañer[oa]s)\b"
    r"|\s(?-i:[A-ZÁÉÍÓÚÑ])\w|\b(?:la|el) (?:profesora?|señora?|dra?|doctora?)\b",
    re.IGNORECASE,
)
_WORKS: Final = regex(r"(?:trabaj|labur|curr)\w+\s+", re.IGNORECASE)
DAYS: Final = {code: regex(rf"\b{days}\b", re.IGNORECASE) for code, days in _DAYS.items()}
_VERB_GROUP: Final = {
    "en": regex(
        r"\s*(?:['’](?:m|ve|re|s|d)|(?:am|is|are|was|have|has|had|been|gets?|got|do|does|will|can|also|now|still|usually|always|only|not|never)\b|\s)*\s*(?!(?:an?|the|my|our|no|some|two|three|\d+|in|at|on|with|to|for|from|near|by|as|every)\b)[\w’'-]*",
        re.IGNORECASE,
    ),
    "es": regex(
        r"\s*(?:(?:ya|no|también|ahora|siempre|me|nos|se|le|les|he|ha|hemos|estoy|está|estamos|suelo|suele|solemos|sigo|sigue)\s+|(?:soy|es|somos|son)\s+(?=\w+\s+(?:al?|del?|en|con|por|para)\s))*(?!(?:un|una|el|la|los|las|mi|mis|en|con|a|al|de|para|por|cada)\b)[\w-]*",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a clause. ``start`` and ``end`` are positions in the clause."""

    start: int
    end: int
    sort: Sort
    text: str


def segments_of(clause: str, language: str) -> list[Segment]:
    """Return the segments of a clause, in order. The first one is the core (subject, verb and object)."""
    begin = verb_end(clause, language)
    starts = [(found.start(), found["word"].strip().casefold()) for found in _STARTS[language].finditer(clause, begin)]
    works = _WORKS.match(clause, len(subject_of(clause, language))) if language == "es" else None
    if works and (role := _ROLE.match(clause, works.end())):
        starts.append((role.start(), "de"))
    places: list[tuple[int, str]] = []
    for start, word in sorted(dict(sorted(starts, reverse=True)).items()):
        before = clause[places[-1][0] : start].strip().casefold() if places else ""
        if not places or before in ALONE or before != places[-1][1]:
            places.append((start, word))  # "on" and "Wednesdays" are one phrase
    ends = [*(place for place, _ in places[1:]), len(clause)][: len(places)]
    core_end = places[0][0] if places else len(clause)
    found = [Segment(start=0, end=core_end, sort="core", text=clause[:core_end])]
    for (start, word), end in zip(places, ends, strict=True):
        text = clause[start:end]
        found.append(Segment(start=start, end=end, sort=_sort(word, text, language), text=text))
    return found


def verb_end(clause: str, language: str) -> int:
    """Return the position after the verb of a clause."""
    subject = subject_of(clause, language)
    begin = len(clause) - len(clause[len(subject) :].lstrip()) if subject else 0
    group = _VERB_GROUP[language].match(clause, begin)
    return group.end() if group else begin


def _sort(word: str, text: str, language: str) -> Sort:
    if DAYS[language].search(text) or moments_of(text):
        return "time"
    if _SORTS.get(word) == "company" and word not in ALONE and not _PERSON.search(text):
        return "other"  # "with a balcony"
    return _SORTS.get(word, "time" if not word or word.rsplit(maxsplit=1)[-1] in ("los", "el", "las", "the") else "other")
