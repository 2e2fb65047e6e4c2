"""Recognize that an old claim and a new claim are about two persons or things of the same sort.

Examples are the user's daughter and son, two flights to different towns, and the car insurance and the home insurance. What
happens to one of them does not change the other.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.learning.changes.moments import moments_of
from holdfast.learning.changes.phrases import LANGUAGES, phrases
from holdfast.learning.changes.slot_clauses import clauses_of
from holdfast.learning.changes.wording import meaning, shared_words
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS, detect_language

_NUMBER: Final = regex(r"\d+")
_NAMING_NUMBER: Final = regex(r"(?:\b(?:number|numero|num|no|nro|n)\b\.?[oº°]?|[#nº°]) ?\d+")
"""Matches a number that identifies a thing, such as "number 4", in a text in lower case and without accents."""
_OWN_THING: Final = regex(r"\b(?:my|our|mi|mis|nuestr[oa]s?) (?P<thing>\w{3,})")
_OF_SOMEBODY: Final = regex(
    r"(?:\b(?!(?:it|that|what|there|here|he|she|who|let)['’]s)\w{2,}['’]s |\b(?:his|her|their|sus?) )(?P<thing>\w{3,})"
)
"""Matches a thing of somebody else, such as "Deepa's manager", in a text in lower case and without accents.

``_OWN_THING`` matches a thing of the user, such as "my manager".
"""
_RELATIVES: Final = frozenset(
    {"mother", "father", "sister", "brother", "son", "daughter", "grandmother", "grandfather", "aunt", "uncle", "niece", "nephew"}
    | {"partner"}
)
"""Roles of which a person has only one toward the user. A child or a cousin can also be called by another role."""
_AGE: Final = regex(
    r"\b(?:(?P<old>older|oldest|elder|eldest|big)|younger|youngest|little) (?P<who>\w{3,})|(?P<quien>\w{4,}) (?:(?P<mayor>mayor)|menor|pequen[oa])\b"
)
"""Matches a relative with an age, such as "older sister" or "hermana mayor", in lower case and without accents."""
_ENGLISH: Final = frozenset({"my", "our", "the", "this"})
_DETERMINERS: Final = _ENGLISH | frozenset("mi mis nuestro nuestra nuestros nuestras el la los las un una".split())
_SUCCESSIVE: Final = frozenset("new nuevo nueva old other next last current own whole first second".split())
"""Words that do not tell one thing from another of its sort, because both can take the same place one after the other."""
_LINKS: Final = {"to": "to", "a": "to", "al": "to", "with": "with", "of": "of", "de": "de", "del": "de", "con": "de"}
"""Words between a thing and what tells it from others. Links with the same value count as one: "del médico", "con el médico"."""
_VALUE_LINKS: Final = frozenset({"to", "with", "a", "al"})
"""Words that can begin the new value of a changed thing, as in "I moved my meeting to Friday"."""
_ENDED: Final = regex(
    r"cancell?ed|stopped|quit|dropped|finished|closed|left|up|(?:cancel|anul|dej|termin|acab)(?:e|o|ado|aron|amos)"
)
"""Matches the last word of a verb that says that something ended, such as "up" in "gave up". The ended thing follows it."""
_MOVED: Final = regex(
    r"moved|switched|replaced|changed|rescheduled|postponed|swapped"
    r"|(?:mov|cambi|reemplaz|sustitu|aplaz|adelant|pas)(?:e|i|o|io|ado|ido|aron|ieron|amos|imos)"
)
"""Matches a verb that gives something a new value. The changed thing follows it, and then often the new value."""
_STOP_WORDS: Final = STOP_WORDS["en"] | STOP_WORDS["es"]
_TOKEN: Final = regex(r"[\w-]+|[,;.:!?]")
_MAX_KIND: Final = 2
"""Maximum number of words between a determiner and its noun, such as "home wifi" in "my home wifi router"."""


class _Thing(NamedTuple):
    """A thing that a claim names: the stem of its noun, and the words that tell it from others of its sort.

    ``marks`` maps the link of such words, as in "flight to Oslo", to the words. For words before the noun, as in "car
    insurance", the link is empty.
    """

    noun: str
    marks: dict[str, str]


def are_different(old: str, new: str) -> bool:
    """Return True if a new claim is about another person or thing than an old claim, although of the same sort."""
    others = (are_numbered, have_other_owners, are_other_relatives, changes_another)
    return any(differ(old, new) for differ in others)


def have_other_owners(old: str, new: str) -> bool:
    """Return True if both claims are about the same sort of thing, but one thing is the user's and the other somebody else's.

    For example, one claim is about "my manager", and the other about "Deepa's manager".
    """
    one, two = (fold(text) for text in (old, new))
    for this, other in ((one, two), (two, one)):
        owned = {match["thing"] for match in _OF_SOMEBODY.finditer(other)}
        own = {match["thing"] for match in _OWN_THING.finditer(this)}
        if owned & own and not owned & {match["thing"] for match in _OWN_THING.finditer(other)}:
            return True
    return False


def are_numbered(old: str, new: str) -> bool:
    """Return True if two claims differ only in their numbers, and one of these numbers identifies a thing.

    For example, "shelf number 1 is for tea" and "shelf number 2 is for tea" are about two shelves. The longer claim can
    begin with additional words, such as "we decided that".
    """
    claims = [fold(claim).rstrip(" .!") for claim in (old, new)]
    shorter, longer = sorted((_NUMBER.sub("#", claim) for claim in claims), key=len)
    names = [[match.group() for match in _NAMING_NUMBER.finditer(claim)] for claim in claims]
    return longer.endswith(shorter) and names[0] != names[1]


def are_other_relatives(old: str, new: str) -> bool:
    """Return True if each text is only about relatives of the user, and these are different persons.

    For example, one text is about the daughter and the other about the son, or about the older and the younger sister.
    """
    before, after = _relatives_in(old), _relatives_in(new)
    if before and after and before.isdisjoint(after):
        return True
    ages, others = _ages_in(old), _ages_in(new)
    return any(who in others and others[who] != is_old for who, is_old in ages.items())


@lru_cache(maxsize=1024)  # a new statement is compared with many known ones
def _relatives_in(text: str) -> frozenset[str]:
    """Return the roles of the relatives that a text is about, or nothing if it is also about somebody else."""
    code = detect_language(text)
    for language in (code,) if code in LANGUAGES else LANGUAGES:
        subjects = {(clause.subject or "").partition(":")[0] for clause in clauses_of(text, phrases(language))}
        if subjects and subjects <= _RELATIVES:
            return frozenset(subjects)
    return frozenset()


def _ages_in(text: str) -> dict[str, bool]:
    """Map each relative that a text calls older or younger to True for older, and False for younger."""
    found = _AGE.finditer(fold(text))
    return {match["who"] or match["quien"]: bool(match["old"] or match["mayor"]) for match in found}


def changes_another(old: str, new: str) -> bool:
    """Return True if a new claim is about the change of a thing, and the old claim names another thing of the same sort.

    For example, the new claim is "I cancelled the flight to Rome", and the old claim names the flight to Oslo. A thing that
    the new claim gives as a new value is not meant: "I moved to the Porto office" changes which office is meant. The things are
    not different either if the new claim names the old value, as in "Purple is out, my favourite color is green".
    """
    known = list(_things_in(old))
    for other in _things_in(new, only_changed=True):
        for one in known:
            shared = one.marks.keys() & other.marks.keys() if one.noun == other.noun else set()
            if any(not shared_words(one.marks[sort], f"{other.marks[sort]} {new}") for sort in shared):
                return not _names_value(old, new, one.noun)
    return False


def _names_value(old: str, new: str, noun: str) -> bool:
    """Return True if a new claim names something else of the old claim than its thing (``noun``) and a time."""
    return any(word != noun and not word.isdigit() and not moments_of(word) for word in shared_words(old, new))


def _things_in(text: str, *, only_changed: bool = False) -> Iterator[_Thing]:
    """Yield the things that a text names with a mark. With ``only_changed``, yield only those that the text says to change.

    These are the subject of a clause, and the object of a verb of change.
    """
    words: list[str] = _TOKEN.findall(fold(text))
    for at, word in enumerate(words):
        start = _start_of(words, at)
        before = words[start - 1] if start else ","
        moved = _MOVED.fullmatch(before) is not None
        changes = moved or _ENDED.fullmatch(before) is not None
        if (only_changed and not changes and before.isalnum()) or not _is_noun(words, at):
            continue
        described = words[start] in _ENGLISH and not _SUCCESSIVE & set(words[start:at])  # Spanish puts these words after the noun
        marks = {"": " ".join(words[start + 1 : at])} if described else {}
        link = words[at + 1] if at + 1 < len(words) else ""
        if link in _LINKS and not (moved and link in _VALUE_LINKS):
            what = next((each for each in words[at + 2 : at + 4] if each not in _DETERMINERS and each not in ("a", "an")), "")
            marks[_LINKS[link]] = what if what.isalpha() and not moments_of(what) else ""
        noun = meaning(word, None)
        marks = {sort: mark for sort, mark in marks.items() if mark}
        if noun and marks:
            yield _Thing(noun=min(noun), marks=marks)


def _start_of(words: Sequence[str], noun: int) -> int:
    """Return the position at which the phrase of a noun begins: that of its determiner, or of the noun if it has none."""
    for start in range(noun - 1, max(noun - _MAX_KIND - 2, -1), -1):
        if words[start] in _DETERMINERS:
            return start
        if words[start] in _STOP_WORDS and words[start] not in _SUCCESSIVE:
            break
    return noun


def _is_noun(words: Sequence[str], at: int) -> bool:
    """Return True if the word at a position can be the last word of a thing: no content word follows, and it is no known verb."""
    following = words[at + 1] if at + 1 < len(words) else ""
    if (
        _MOVED.fullmatch(words[at])
        or _ENDED.fullmatch(words[at])
        or any(phrases(code).clauses["third"].fullmatch(words[at]) for code in LANGUAGES)
    ):
        return False
    return following in _STOP_WORDS or not meaning(following, None)
