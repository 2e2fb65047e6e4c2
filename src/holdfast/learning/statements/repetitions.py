"""Find statements that say again what another statement says, often in other words and with fewer details."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.learning.changes.phrases import LANGUAGES, accent_free, phrases
from holdfast.learning.changes.wording import change_words, meaning, names, negated, numbers
from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.rulebook import SINGLE_KEYS, Statement
from holdfast.learning.statements.trim import without_lead
from holdfast.runtime.regex import regex

__all__ = ["Repetitions", "without_repeats"]

_MIN_WORDS: Final = 3
"""Minimum number of content words of a statement whose words another statement contains, although not in one piece.

Words for taste and use, which stand for groups of synonyms, do not count.
"""
_MIN_SHARED: Final = 5
"""Minimum number of content words that two statements must share if one of them has a word that the other lacks.

Short facts often differ in a single word: "my cat eats chicken twice a day" and "my dog eats chicken twice a day".
"""
_MAX_MISSING: Final = 1 / 3
"""Maximum share of the content words of a repeated statement that the other statement lacks."""
_MIN_REPEATED_WORDS: Final = 5
"""Minimum number of the user's own words in a statement that is clear without its context."""
_SUBJECT_WORDS: Final = 6
"""Number of words at the beginning of a statement that can name its subject."""
_VERSION: Final = regex(r"^v(?=\d)")
_CONTRACTED: Final = frozenset(("m", "s", "d", "ve", "re", "ll"))
"""Endings of contractions such as "I'm", which are not words."""
_INTENDS: Final = regex(
    r"\b(?:want|wants|wanted|wanna|plan|plans|planning|hope|hoping|going to|gonna|will|i'll|we'll|would|might|thinking|considering|next"
    r"|quiero|queremos|quisiera|pienso|pensamos|planeo|voy a|vamos a|espero|esperamos|me gustaria|proxim[oa])\b"
)
"""Matches a plan or a wish, in lower case and without accents. "I want to buy a car" and "I bought a car" are two facts."""
_YOU: Final = regex(r"\b(?:you|your|yours|tu|tus|te|usted|vos)\b")
_DAYS: Final = regex(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:lunes|martes|miercoles|jueves|viernes|sabados?|domingos?|manana|tarde|noche)\b"
    r"|\b(?:morning|afternoon|evening|night)s?\b"
)


def without_repeats(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements of a message without those that a later one contains.

    A later statement contains an earlier one if it quotes it as its context. A statement that a rule found stays, because it has a
    key of its own, and so does one that the user asked to remember.
    """
    kept: list[Statement] = []
    for each in reversed(statements):
        whole, own = fold_clause(each.text), fold_clause(each.said or each.text)
        part = own if len(own.split()) >= _MIN_REPEATED_WORDS else whole
        if each.ruled or each.asked or not any(part.rstrip(" .") in fold_clause(other.text) for other in kept):
            kept.append(each)
    return kept[::-1]


class Repetitions:
    """Compares the statements of one conversation. No text stays in memory longer than the object."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Details] = {}

    def repeats(self, new: Statement, known: Statement) -> bool:
        """Return True if ``known`` says everything of ``new`` that matters, so that ``new`` need not be kept.

        Both are statements of one speaker. The words may differ a little if the statements are long. Numbers, names, days, negation
        and the person at the beginning must be the same. A statement with a key of its own is only repeated by one with the same key.
        """
        if new.asked or new.corrects or new.observed or known.observed or (_has_own_key(new) and new.key != known.key):
            return False
        one, two = self._details_of(new), self._details_of(known)
        if one.folded.rstrip(" .!") in two.folded:
            return True
        missing = one.words - two.words
        own = sum(not word.startswith("=") for word in one.words)
        enough = own >= _MIN_WORDS if not missing else len(one.words & two.words) >= _MIN_SHARED
        if not enough or len(missing) > _MAX_MISSING * len(one.words):
            return False
        return one.are_in(two) and (not missing or not one.function_words - two.function_words)

    def _details_of(self, statement: Statement) -> "_Details":
        key = (statement.text, statement.language)
        if key not in self._known:
            self._known[key] = _details(without_lead(statement.text), statement.language)
        return self._known[key]


def _has_own_key(statement: Statement) -> bool:
    return statement.ruled and statement.key in SINGLE_KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Details:
    """The words, names, numbers and days of a statement, for comparison with another statement."""

    folded: str
    words: frozenset[str]
    function_words: frozenset[str]
    names: tuple[str, ...]
    numbers: frozenset[str]
    days: frozenset[str]
    others: frozenset[str]
    """Words for persons and pets at the beginning of the statement: "sister" of "my sister works in Lyon"."""
    sense: tuple[bool, bool, bool]
    """Three answers: is the statement negated, is it a plan or a wish, and does it say "you"?"""

    def are_in(self, other: "_Details") -> bool:
        """Return True if ``other`` has all numbers, names and days of these details, the same person and the same sense."""
        named = all(re.search(rf"(?<!\w){re.escape(name)}", other.folded) for name in self.names)
        counted = self.numbers <= other.numbers and self.days <= other.days
        return named and counted and self.others == other.others and self.sense == other.sense


def _details(text: str, language: str) -> _Details:
    folded = fold_clause(text)
    return _Details(
        folded=folded,
        words=frozenset(word for word in meaning(text, language) if word not in _CONTRACTED),
        function_words=change_words(text),
        names=tuple(fold_clause(name) for name in names(text)),
        numbers=frozenset(_VERSION.sub("", number) for number in numbers(text)),
        days=frozenset(_DAYS.findall(folded)),
        others=frozenset(_others().findall(" ".join(folded.split()[:_SUBJECT_WORDS]))),
        sense=(negated(text), bool(_INTENDS.search(folded)), bool(_YOU.search(folded))),
    )


@lru_cache(maxsize=1)
def _others() -> re.Pattern[str]:
    """Return the pattern of a word for a person who is not the user, or for a pet."""
    kin = accent_free("|".join(pattern for language in LANGUAGES for pattern in phrases(language).kin.values()))
    return regex(rf"\b(?:{kin}|she|he|they|ella|ellos|ellas)(?=s?\b)")
