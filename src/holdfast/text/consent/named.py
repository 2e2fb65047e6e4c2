"""Find messages that may ask to forget something by its name alone: "forget the tattoo", "olvida la cirugía".

The same words often mean something else: "forget the soup, I'll have the fish". So such a message is no wish by itself. It
becomes one if something stored about the user contains every word of the name.
"""

from dataclasses import dataclass
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.consent import english, spanish
from holdfast.text.consent.rules import fold_places, names_no_subject, own_words

__all__ = ["NamedSubject", "find_named", "person_to_forget", "with_name"]

_NAME: Final = r"(?P<subject>[^,.;:!?()\n]{2,60}?)"
_AFTER: Final = r"(?:,? (?:please|pls|ok|okay|thanks|now|already|por favor|porfa|gracias|ya|si|dale))*"
_END: Final = rf"{_AFTER}(?:\s*[.!?]*$|(?P<reason>\s*[,.;:!–—-]\s*\w.*$))"
_PATTERNS: Final = (
    (regex(rf"{english.FORGET_NAMED}{_NAME}{_END}"), regex(english.FORGET_UNLESS)),
    (regex(rf"{spanish.FORGET_NAMED}{_NAME}{_END}"), regex(spanish.FORGET_UNLESS)),
)
_PRONOUN: Final = regex(
    r"(?<=\b(?:de|on|of) )(?:el|ella|ellos|ellas|him|her|them)$|(?<=\b(?:sobre|about) )(?:el|ella|ellos|ellas|him|her|them)$"
)
"""Matches a pronoun at the end of a subject, as in "everything about her"."""
_FORGET_PERSON: Final = regex(
    r"(?:[,.;:!]|\b(?:y|and|so|asi que)) *(?:(?:please|pls|just|por favor|porfa|ya|mejor) )*(?:olvida(?:lo|la)|olvidate de (?:el|ella)|(?:forget|delete|erase) (?:him|her))(?:,? (?:please|pls|por favor|porfa))?[.!]*$"
)
"""Matches the end of a message that asks to forget a person whom it has named before: "I left Tom, forget him"."""
_PERSON: Final = regex(r"(?<=[a-zñáéíóú,] )[A-ZÁÉÍÓÚÑ][\w'’-]{2,}")
_FIRST_PERSON: Final = regex(r"^\W*[A-ZÁÉÍÓÚÑ][\w'’-]{2,}")


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """The name in a message that may ask to forget something."""

    name: str
    is_alone: bool
    """True if the message says nothing else. Otherwise, a reason or another request follows."""


def find_named(text: str) -> NamedSubject | None:
    """Return the name of the thing that a message may ask to forget, or None."""
    original = own_words(text).strip()
    folded = fold_places(original)
    for pattern, unless in _PATTERNS:
        found = None if unless.search(folded) else pattern.match(folded)
        if found is not None:
            start, end = found.span("subject")
            name = original[start:end].strip()
            return None if names_no_subject(name) else NamedSubject(name, is_alone=found["reason"] is None)
    name = person_to_forget(original)
    return NamedSubject(name, is_alone=False) if name else None


def person_to_forget(text: str) -> str:
    """Return the name of the person whom a message names and then asks to forget: "I left Tom, forget him". It can be empty."""
    person = _FORGET_PERSON.search(fold_places(text))
    return _name_in(text[: person.start()]) if person is not None else ""


def with_name(subject: str, text: str) -> str:
    """Return the subject of a wish with a name instead of a pronoun: "todo lo de ella" becomes "todo lo de Ana".

    The name stands before the wish in the same message. Without such a name, return the subject unchanged.
    """
    found = _PRONOUN.search(fold_places(subject))
    name = _name_in(text.partition(subject)[0]) if found is not None else ""
    return subject[: found.start()] + name if found is not None and name else subject


def _name_in(text: str) -> str:
    names = _PERSON.findall(text) or _FIRST_PERSON.findall(text)
    return names[-1].strip(" ¡¿") if names else ""
