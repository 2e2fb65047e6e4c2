"""Find names and people in a statement of the model (one entry of a model's answer) that nobody mentioned."""

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import Final

from holdfast.learning.answer_check.relations import person_at
from holdfast.learning.answer_check.sentences import Voice, Word, bare, plain_words
from holdfast.learning.answer_check.words import Person, hints, people, translations, words
from holdfast.text.names import find_names

_MIN_TYPO_LENGTH: Final = 5
_MIN_TYPO_RATIO: Final = 0.88
_MIN_COGNATE_LENGTH: Final = 6
_MIN_COGNATE_RATIO: Final = 0.8
_MAX_COGNATE_DIFFERENCE: Final = 3
"""Maximum difference between the lengths of two words that count as one word in two languages."""


def unknown_name(item: str, texts: Sequence[str], user_names: frozenset[str]) -> bool:
    """Return True if a statement of the model (``item``) contains a name that none of the texts contains.

    A name with a typing error, its abbreviation and its translation count as the same name. ``user_names`` are words that
    name the user.
    """
    shown = {bare(word).removesuffix("'s") for text in texts for word in re.findall(r"[\w'’.&-]+", text.casefold())}
    shown |= {part for word in shown for part in re.findall(r"[^\W_]+", word)} | user_names | words("user")
    initials = {word for text in texts for word in re.findall(r"\b[A-Z]{2,5}\b", text)}
    for name in find_names(item):
        parts = [part for part in re.findall(r"[^\W_]+", bare(name.casefold())) if len(part) > 1]
        if "".join(part[0] for part in name.split()).upper() in initials or _is_date_word(parts):
            continue
        if any(not _is_shown(part, shown) for part in parts if part not in words("polarity", "boundary")):
            return True
    return False


def _is_shown(name: str, shown: set[str]) -> bool:
    """Return True if ``shown``, the words of the texts, contains a name, its translation or a misspelled form of it.

    For example, "Alemania" is a translation of "Germany".
    """
    return name in shown or not translations().get(name, frozenset()).isdisjoint(shown) or _is_misspelled(name, shown)


def _is_date_word(parts: Sequence[str]) -> bool:
    from_dates = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
    months = "january february march april may june july august september october november december".split()
    return all(part in from_dates or part in months or part.isdigit() for part in parts)


def is_cognate(word: str, shown: Collection[str]) -> bool:
    """Return True if the spelling of a word is close to that of a word in ``shown``: "cholesterol" and "colesterol"."""
    return len(word) >= _MIN_COGNATE_LENGTH and any(
        word[:1] == other[:1] and SequenceMatcher(None, word, other, autojunk=False).ratio() >= _MIN_COGNATE_RATIO
        for other in shown
        if abs(len(word) - len(other)) <= _MAX_COGNATE_DIFFERENCE
    )


def _is_misspelled(name: str, shown: set[str]) -> bool:
    """Return True if the texts contain the name with a typing error, such as "philadelpia".

    ``shown`` are the words of the texts, in lower case.
    """
    return len(name) >= _MIN_TYPO_LENGTH and any(
        abs(len(word) - len(name)) <= 1
        and word[:1] == name[:1]
        and len(word) >= _MIN_TYPO_LENGTH
        and SequenceMatcher(None, word, name, autojunk=False).ratio() >= _MIN_TYPO_RATIO
        for word in shown
    )


def unknown_person(item: str, read: Sequence[Word], texts: Sequence[str]) -> bool:
    """Return True if a statement of the model mentions a sort of person, such as a sister, that the texts do not mention.

    Only sorts of persons with a gender are checked: "sister", but not "sibling". If the statement mentions the user's sister,
    and the texts mention only sisters of other people, the result is True. ``item`` is the statement, and ``read`` are its
    words.
    """
    known = hints() | people()
    mentioned = {known[word] for text in texts for word in (found.removesuffix("'s") for found in _words(text)) if word in known}
    named = {person for text in texts for person in _people_in(text)}
    if any(person.whose == "user" and _is_someone_elses(person, named) for person in _people_in(item, "report")):
        return True
    mentioned |= named
    for word in read:
        person = people().get(word.text.removesuffix("'s"))
        if person is not None and person.gender != "any" and not any(person.may_be(other) for other in mentioned):
            return True
        if person is not None and _is_contradicted(person, mentioned):
            return True
    return False


def _people_in(text: str, voice: Voice = "user") -> set[Person]:
    """Return the types of people and animals that a text mentions, such as "sister", each with its owner if known.

    The owner is the user or another person. Two words can name one relative: "son" in "my sister's son" is a nephew.
    ``voice`` says who wrote the text.
    """
    plain = _words(text)
    names = {bare(part.casefold()) for name in find_names(text) for part in name.split()}
    return {person_at(plain, at, voice, names) for at, word in enumerate(plain) if word.removesuffix("'s") in people()}


def _words(text: str) -> list[str]:
    return plain_words(text, re.findall(r"[\w'-]+", text.casefold().replace("’", "'")))[0]


def _is_someone_elses(person: Person, mentioned: set[Person]) -> bool:
    """Return True if the texts mention relatives or animals of this type, such as sisters, and all belong to other people."""
    same = [other for other in mentioned if other.family == person.family]
    return bool(same) and all(other.whose == "other" for other in same)


def _is_contradicted(person: Person, mentioned: set[Person]) -> bool:
    """Return True if the texts mention this sort of relative only with the other gender: a brother, but no sister.

    ``person`` is the relative in the statement of the model, and ``mentioned`` are the people in the texts. Words without a
    gender, such as "sibling", do not count. If ``person`` has no gender, return False.
    """
    family = {other.gender for other in mentioned if other.family == person.family}
    return person.gender != "any" and bool(family) and person.gender not in family and family != {"any"}
