"""Find out which relative or acquaintance a word means, and whose relative or acquaintance this is."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from holdfast.learning.answer_check.words import Person, people, relative_of, words
from holdfast.text.language import STOP_WORDS

_HIS: Final = frozenset({"his", "her", "their"})


def person_at(plain: list[str], at: int, voice: str, names: Collection[str] = ()) -> Person:
    """Return the type of person meant by the word at position ``at`` of a sentence, and whose relative this person is.

    "Son" in "my sister's son" means a nephew, and so does "hijo" in "el hijo de mi hermana". The word at ``at`` must be a word
    for a person. ``plain`` are the words of the sentence, ``voice`` says who wrote the sentence, and ``names`` are the words
    that name people other than the user.
    """
    person = people()[plain[at].removesuffix("'s")]
    owner = _owner_of(plain, at, names)
    if voice == "report" and owner in _HIS:  # "the user and his father"
        return person
    if owner in people():
        other = people()[owner]
        return relative_of(other, person) or (person if other.family == "spouse" else replace(person, whose="other"))
    if owner in words("user") or owner in words("speaker", "possessive"):
        return replace(person, whose="user")
    return replace(person, whose="other") if owner else person


def _owner_of(plain: list[str], at: int, names: Collection[str]) -> str:
    """Return the word that says whose relative or animal is meant: "neighbor" in "my neighbor's dog". Empty if there is none."""
    before = plain[at - 1] if at else ""
    if before.endswith("'s") or before in words("speaker", "possessive") or before in _HIS:
        return before.removesuffix("'s")
    after = [word for word in plain[at + 1 : at + 4] if word not in words("speaker", "possessive") and word not in ("el", "la")]
    if after[:1] not in (["of"], ["de"], ["del"]) or not after[1:]:
        return ""
    return after[1] if after[1] in people() or after[1] in words("user") or after[1] in names else ""


def is_anyone(word: str) -> bool:
    """Return True if a word stands for a relative or an acquaintance, such as "sister" or "landlord"."""
    return word in people() or word in words("roles", "words")


def is_acquaintance(plain: list[str], at: int, names: Collection[str]) -> bool:
    """Return True if the word at position ``at`` names a person by a role in the user's life, such as "landlord".

    The role needs an owner: "my landlord". ``plain`` are the words of the sentence, and ``names`` are the words that name
    people other than the user.
    """
    is_role = plain[at].removesuffix("'s") in words("roles", "words")
    return is_role and _is_owned(plain, at) and not _is_modifier(plain, at, names)


def _is_owned(plain: list[str], at: int) -> bool:
    """Return True if a word for a role is used with an owner: "my landlord", "the user's au pair", "el casero del usuario"."""
    before = plain[max(0, at - 2) : at]
    owned = any(word in words("speaker", "possessive") or word in ("user's", "users'") for word in before)
    return owned or (plain[at + 1 : at + 2] in (["del"], ["de"]) and not words("user").isdisjoint(plain[at + 2 : at + 4]))


def _is_modifier(plain: list[str], at: int, names: Collection[str]) -> bool:
    """Return True if a word for a role only describes the noun after it, such as "dentist" in "my dentist appointment"."""
    after = plain[at + 1] if at + 1 < len(plain) else "."
    is_stop = after in STOP_WORDS["en"] or after in STOP_WORDS["es"]
    return after.isalpha() and not is_stop and after not in names and not after.endswith(("s", "ed", "o", "a", "e"))


def is_whose(plain: list[str], at: int) -> bool:
    """Return True if the word at position ``at`` only says whose friend or relative is meant.

    An example is "child" in "a friend of my child". ``plain`` are the words of the sentence, and the word at ``at`` is
    a word for a person.
    """
    place = next((step for step in range(at - 1, max(-1, at - 4), -1) if plain[step] in ("of", "de", "del")), 0)
    return place > 0 and plain[place - 1] in people()
