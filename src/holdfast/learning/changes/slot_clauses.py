"""Split a text into clauses, each with subject, predicate and cues. Cues are words such as "now" or "no longer".

Clauses that are not stated as true are skipped: wishes, plans, questions, and reports of what others said. So are clauses
about a single occasion, because they do not change a habit.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.phrases import SlotPhrases, accent_free, folded, phrases
from holdfast.runtime.regex import regex
from holdfast.text.clean import one_line

USER: Final = "user"

_CONTRACTIONS: Final = (
    (regex(r"[’ʼ`]"), "'"),
    (regex(r"\bi'?m\b", re.IGNORECASE), "I am"),
    (regex(r"\b(you|we|they)'re\b", re.IGNORECASE), r"\1 are"),
    (regex(r"\b(\w+)'ve\b", re.IGNORECASE), r"\1 have"),
    (regex(r"\b(\w+)'ll\b", re.IGNORECASE), r"\1 will"),
    (regex(r"\b(\w+)'d\b", re.IGNORECASE), r"\1 would"),
    (regex(r"\bcan'?t\b", re.IGNORECASE), "cannot"),
    (regex(r"\bcannot stand\b([^.;]*?) any ?more\b", re.IGNORECASE), r"now detest\1"),
    (regex(r"\b(?:cannot|could not) stand\b|\bno (?:soporto|aguanto)\b", re.IGNORECASE), "detest"),
    (regex(r"\bwon'?t\b", re.IGNORECASE), "will not"),
    (regex(r"\b(do|does|did|is|are|was|were|has|have|had)n'?t\b", re.IGNORECASE), r"\1 not"),
    (regex(r"\b(\w+)'s (?=(?:at|on|now|moved|been|called|named|over|gone|done|dead|closed|not|no longer)\b)"), r"\1 is "),
    (
        regex(
            r"\b(it|he|she|that|there|(?:sur|nick|user|last )?name|birthday|number|password)'s\b(?! (?:name|birthday))",
            re.IGNORECASE,
        ),
        r"\1 is",
    ),
)
_PARAPHRASES: Final = tuple(
    (regex(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"\b(?:I|the user|user) reports? to (?=[A-ZÁÉÍÓÚÑ])", "my boss is "),
        (
            r"(?:\b(?:I|we|the user|user) (?:have|has|got|have got|found)|(?<!\w )\b(?:have|got|found)) a new ([\w ]{3,20}?)(?:,? (?:his|her|its|their) name is|,? (?:named|called)|, it is|,(?= (?-i:[A-Z])))",
            r"my new \1 is",
        ),
        (
            r"\b(?:tengo|tenemos|tiene|me toca) (?:un |una )?(?:nuev[oa] (\w+)|(\w+) nuev[oa]),? (?:que )?(?:se llama|es)\b",
            r"mi nuevo \1\2 se llama",
        ),
        (r"\bmy \w+ and I(?= (?:have |are |were )?(?:got )?(?:divorced|separated)\b)", "I"),
        (
            r"\b((?-i:[A-Z])\w+) and I ((?:have |are |were )?(?:got )?(?:divorced|separated))(?= now|[.,!]|$)",
            r"I \2 from \1",
        ),
        (r"\b((?-i:[A-Z])\w+) and I ((?:have )?(?:split|broken|broke) up)(?= now|[.,!]|$)", r"I \2 with \1"),
        (
            r"\b((?-i:[A-ZÁÉÍÓÚÑ])\w+) y yo ((?:ya )?nos (?:hemos separado|separamos|hemos divorciado|divorciamos))\b",
            r"nosotros \2 de \1",
        ),
        (r"\b(?-i:[A-ZÁÉÍÓÚÑ])\w+ y yo\b", "nosotros"),
        (r"\b(?:el|la|los|las) ([\w ]{2,30}?) (?:del usuario|de la usuaria)\b", r"mi \1"),
    )
)
"""Patterns that rewrite longer phrases as possessives: "I report to Ana" becomes "my boss is Ana"."""
_ABBREVIATION: Final = regex(r"\b(Dr|Mr|Mrs|Ms|St|Sr|Sra|Dra|Av|vs|a\.m|p\.m|approx)\.", re.IGNORECASE)
_NAME: Final = "(?-i:[A-ZÁÉÍÓÚÑ][\\wáéíóúñ-]*[a-záéíóúñ])"
_NO_NAME: Final = (
    r"(?!(?:My|The|Our|His|Her|Mi|Mis|El|La|Los|Las|Me|Se|Nos|Ya|No|It|He|She|They|Un|Una|Favou?rite|Name|Job|Age)\b)"
)
_SUCCEEDED: Final = frozenset({"boss", "partner", "landlord", "roommate"})
"""Roles that only one person has at a time, such as boss. A new person in the role replaces the previous person."""
_NEW: Final = regex(r"\S+(?: user's)? (?:new|nuev[oa])\b", re.IGNORECASE)
_TRIED_CUES: Final = ("ended", "past", "not", "now", "also", "plain")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotClause:
    """One clause of a text."""

    text: str
    subject: str | None
    """``user``, a role (with a name if one is given: ``sister:ana``), a name, or None if the subject is unknown."""
    predicate: str
    """The clause without its subject and without cue words, such as "now" or "no longer"."""
    cues: frozenset[str]
    denied: str = ""
    """The value that the clause rejects, such as "Alex" in "Lex, not Alex"."""


def expanded(text: str) -> str:
    """Return the text on one line with contractions and a few other phrases written out."""
    text = one_line(text)
    for pattern, full in (*_CONTRACTIONS, *_PARAPHRASES):
        text = pattern.sub(full, text)
    return text


def clauses_of(text: str, words: SlotPhrases, *, plans: bool = False) -> list[SlotClause]:
    """Return the clauses of a text that state something as true. With ``plans``, also return clauses about plans and wishes."""
    return list(_cached_clauses(text, words.language, plans))


@lru_cache(maxsize=1024)  # a new statement is compared with many known ones, by several rules
def _cached_clauses(text: str, language: str, plans: bool) -> tuple[SlotClause, ...]:  # noqa: FBT001  (part of the key)
    return tuple(_clauses(text, phrases(language), plans=plans))


def _clauses(text: str, words: SlotPhrases, *, plans: bool) -> Iterator[SlotClause]:
    subject: str | None = USER
    stated = " ".join(piece for piece in re.split(r"(?<=[.!?])\s+", text) if "?" not in piece)
    for piece in words.clauses["split"].split(_ABBREVIATION.sub(r"\1", expanded(stated))):
        clause = _without_lead(piece.strip(" ,\"'“”«»*"), words)
        if not clause or words.cues["reported"].search(clause):
            continue
        subject, rest = _subject(clause, words) or (_inherited_subject(clause, subject, words), clause)
        succeeds = subject in _SUCCEEDED and _NEW.match(clause) is not None
        if plans or words.cues["unreal"].search(clause) is None:
            contrast = words.clauses["contrast"].search(rest)
            predicate, cues = _without_cues(rest[: contrast.start()] if contrast else rest, words)
            if not plans and _is_one_occasion(clause, cues, words):
                continue
            denied = contrast.group("v") if contrast else ""
            yield SlotClause(
                text=clause, subject=subject, predicate=predicate, cues=cues | {"now"} if succeeds else cues, denied=denied
            )


def _is_one_occasion(clause: str, cues: frozenset[str], words: SlotPhrases) -> bool:
    """Return True if a clause is only about a single occasion, such as "just this once", or "I did not run this morning"."""
    if words.cues["once"].search(clause):
        return True
    return "not" in cues and not cues & {"ended", "now"} and words.cues["occasion"].search(clause) is not None


def _without_lead(piece: str, words: SlotPhrases) -> str:
    for _ in range(3):
        match = words.clauses["lead"].match(piece)
        if match is None or match.end() == len(piece):
            break
        piece = piece[match.end() :]
    match = words.clauses["opening"].match(piece)
    return piece[match.end() :] if match else piece


def _subject(clause: str, words: SlotPhrases) -> tuple[str | None, str] | None:
    """Return a pair: the subject of a clause, and the text of the clause after the subject.

    If the clause begins with a word such as "he" or "this", the subject is unknown. The pair is then None and the whole
    clause. If the clause names no subject at all, the result is None instead of a pair.
    """
    kin = _kin_pattern(words.language).match(clause)
    if kin:
        role = next(role for role in words.kin if kin.group(role))
        name = kin.group("name")
        return (f"{role}:{folded(name)}" if name else role), clause[kin.end() :]
    for pattern in ("users", "user"):
        match = words.clauses[pattern].match(clause)
        if match:
            return USER, clause[match.end() :]
    if words.clauses["others"].match(clause):
        return None, clause
    named = _name_pattern(words.language).match(clause)
    if named is None or words.events.match(named.group("name")):
        return None
    if any(words.cues[cue].match(named.group("name")) for cue in _TRIED_CUES):
        return None
    return folded(named.group("name")), clause[named.end() :]


def _inherited_subject(clause: str, before: str | None, words: SlotPhrases) -> str | None:
    """Return the subject of a clause that does not name its subject. ``before`` is the subject of the previous clause, or None.

    If the clause begins with a word such as "my", the subject is the user. Otherwise the subject is ``before``.
    """
    owned = re.match(words.clauses["my"].pattern + r"\b", clause, re.IGNORECASE)
    return USER if owned or words.clauses["first"].match(clause) else before


@lru_cache(maxsize=4)
def _kin_pattern(language: str) -> re.Pattern[str]:
    words = phrases(language)
    my, adjectives = words.clauses["my"].pattern, words.clauses["adjectives"].pattern
    roles = "|".join(f"(?P<{role}>{accent_free(names)})" for role, names in words.kin.items())
    return regex(
        rf"(?:a )?(?:{my})\s+(?:{adjectives})*(?:{roles})\b(?:,?\s+(?P<name>{_NAME})\b,?)?(?:'s)?\s+",
        re.IGNORECASE,
    )


@lru_cache(maxsize=4)
def _name_pattern(language: str) -> re.Pattern[str]:
    third = phrases(language).clauses["third"].pattern
    return regex(rf"{_NO_NAME}(?P<name>{_NAME}(?: {_NAME})?)(?:\s+(?={third})|'s\s+)", re.IGNORECASE)


def _without_cues(predicate: str, words: SlotPhrases) -> tuple[str, frozenset[str]]:
    temporary = words.cues["temporary"].search(predicate)
    # "We moved to Lyon over the summer" tells when, not for how long.
    told_when = temporary and temporary[0].casefold().startswith("over ") and words.cues["moving"].search(predicate)
    found = {"temporary"} if temporary and not told_when else set()
    for name in _TRIED_CUES:
        predicate, count = words.cues[name].subn(" ", predicate)
        if count:
            found.add(name)
    return " ".join(predicate.split()).strip(" ,"), frozenset(found)
