"""Decide whether a clause is worth keeping, with the rules and with the probability that a classifier returns."""

from holdfast.learning.statements.classifier import ClauseReading
from holdfast.learning.statements.rulebook import Rulebook, StatementRule

_MAX_DOUBT_WORDS = 6
"""Number of words at the beginning of a clause that are searched for an expression of doubt ("maybe").

Doubt in these words makes the whole clause uncertain.
"""
_MIN_RULED_PROBABILITY = 0.25
"""A clause that a rule matches is kept if the classifier gives it at least this probability.

The value is low, so that the rule usually decides.
"""
_MIN_PROBABILITY = 0.5
_MIN_IMPERSONAL_PROBABILITY = 0.8
"""A clause of an impersonal text, such as an article, is kept if the classifier gives it at least this probability.

This applies if no rule matches the clause.
"""
_MIN_FAINT_PROBABILITY = 0.35
"""A clause that is not kept alone can join a neighboring statement if the classifier gives it at least this probability."""


def is_worth_keeping(text: str, folded: str, book: Rulebook, rule: StatementRule | None, *, impersonal: bool = False) -> bool:
    """Return True if a clause is worth keeping.

    ``rule`` is the rule that matches the clause, if any. ``impersonal`` is True if the clause belongs to an impersonal text.
    """
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
