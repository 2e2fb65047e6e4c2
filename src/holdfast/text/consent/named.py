"""Find messages that may ask to forget something by its name alone: "forget the tattoo", "olvida la cirugía".

The same words often mean something else: "forget the soup, I'll have the fish". So such a message is no wish by itself. It
becomes one if something stored about the user contains every word of the name.
"""

from dataclasses import dataclass
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.consent import english, spanish
from holdfast.text.consent.rules import fold_places, names_no_subject, own_words

__all__ = ["NamedSubject", "find_named"]

_NAME: Final = r"(?P<subject>[^,.;:!?()\n]{2,60}?)"
_AFTER: Final = r"(?:,? (?:please|pls|ok|okay|thanks|now|already|por favor|porfa|gracias|ya|si|dale))*"
_END: Final = rf"{_AFTER}(?:\s*[.!?]*$|(?P<reason>\s*[,.;:!–—-]\s*\w.*$))"
_PATTERNS: Final = (
    (regex(rf"{english.FORGET_NAMED}{_NAME}{_END}"), regex(english.FORGET_UNLESS)),
    (regex(rf"{spanish.FORGET_NAMED}{_NAME}{_END}"), regex(spanish.FORGET_UNLESS)),
)


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
    return None
