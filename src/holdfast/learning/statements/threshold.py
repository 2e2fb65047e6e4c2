"""Decide whether a clause is worth keeping, by the rules and the classifier."""

from holdfast.learning.statements.classifier import ClauseReading
from holdfast.learning.statements.rulebook import Rulebook, StatementRule

_MAX_DOUBT_WORDS = 6
"""An expression of doubt ("maybe") applies to the whole clause if it is among this many first words of the clause."""
_MIN_RULED_PROBABILITY = 0.25
"""Minimum probability, by the classifier, to keep a clause that a rule matches. It is low, so that the rule usually decides."""
_MIN_PROBABILITY = 0.5
_MIN_IMPERSONAL_PROBABILITY = 0.8
"""Minimum probability, by the classifier, to keep a clause of an impersonal text, such as an article, if no rule matches it."""
_MIN_FAINT_PROBABILITY = 0.35
"""Minimum probability, by the classifier, to join a clause to a neighboring statement if it is not worth keeping alone."""


def is_worth_keeping(text: str, folded: str, book: Rulebook, rule: StatementRule | None, *, impersonal: bool = False) -> bool:
    """Return True if a clause is worth keeping, given the rule that matches it and whether it is part of an impersonal text."""
    if rule is not None and is_passing(folded, book, rule):
        return False
    if book.classifier is None:
        return rule is not None
    min_probability = (
        _MIN_RULED_PROBABILITY if rule is not None else _MIN_IMPERSONAL_PROBABILITY if impersonal else _MIN_PROBABILITY
    )
    return book.classifier.probability(read_clause(text, folded, book, rule)) >= min_probability


def is_faint(text: str, folded: str, book: Rulebook) -> bool:
    """Return True if a clause that is not kept alone can be joined to a neighboring statement."""
    if book.classifier is None or is_passing(folded, book, None):
        return False
    return book.classifier.probability(read_clause(text, folded, book, None)) >= _MIN_FAINT_PROBABILITY


def is_telling(text: str, folded: str, book: Rulebook) -> bool:
    """Return True if a clause is worth keeping without the text around it."""
    return is_worth_keeping(text, folded, book, book.find(folded))


def read_clause(text: str, folded: str, book: Rulebook, rule: StatementRule | None) -> ClauseReading:
    """Return the classifier's input for a clause."""
    weighed = book.scale.weigh(text, folded)
    return ClauseReading(
        text=text,
        folded=folded,
        ruled=rule is not None,
        passing=is_passing(folded, book, rule),
        cues=weighed.cues,
        weight=weighed.weight,
    )


def is_passing(folded: str, book: Rulebook, rule: StatementRule | None) -> bool:
    """Return True if a clause holds only for the moment or is uncertain."""
    return book.shows("momentary", folded) or ((rule is None or rule.kind != "decision") and _is_vague(folded, book))


def _is_vague(folded: str, book: Rulebook) -> bool:
    return book.shows("vague", " ".join(folded.split(",", maxsplit=1)[0].split()[:_MAX_DOUBT_WORDS]))
