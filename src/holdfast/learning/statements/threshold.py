"""Whether a clause is worth keeping: what the rules and cues say of it, weighed once more by the probe."""

from holdfast.learning.statements.classifier import ClauseReading
from holdfast.learning.statements.rulebook import Rulebook, StatementRule

_DOUBT_WORDS = 6
"""Doubt at the beginning of a clause is about the whole of it."""
_MIN_RULED_CHANCE = 0.25
"""What a rule fits is kept unless the probe speaks clearly against it."""
_MIN_CHANCE = 0.5
_MIN_IMPERSONAL_CHANCE = 0.8
"""In a longer text that speaks of nobody's own life, such as an article, only what is very likely meant is kept."""
_MIN_FAINT_CHANCE = 0.35
"""What is likelier than this may still belong to a statement beside it."""


def is_worth_keeping(text: str, folded: str, book: Rulebook, rule: StatementRule | None, *, impersonal: bool = False) -> bool:
    """Tell whether to keep a clause, given the rule that fits it, if any, and whether it stands in an impersonal text."""
    if rule is not None and is_passing(folded, book, rule):
        return False
    if book.probe is None:
        return rule is not None
    min_chance = _MIN_RULED_CHANCE if rule is not None else _MIN_IMPERSONAL_CHANCE if impersonal else _MIN_CHANCE
    return book.probe.chance(read_clause(text, folded, book, rule)) >= min_chance


def is_faint(text: str, folded: str, book: Rulebook) -> bool:
    """Tell whether a clause that is not kept by itself may belong to what is said beside it."""
    if book.probe is None or is_passing(folded, book, None):
        return False
    return book.probe.chance(read_clause(text, folded, book, None)) >= _MIN_FAINT_CHANCE


def is_telling(text: str, folded: str, book: Rulebook) -> bool:
    """Tell whether a clause would be kept as it stands."""
    return is_worth_keeping(text, folded, book, book.find(folded))


def read_clause(text: str, folded: str, book: Rulebook, rule: StatementRule | None) -> ClauseReading:
    """Return what the probe is shown of a clause."""
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
    """Tell whether a clause holds for the moment only, or is not certain."""
    return book.shows("momentary", folded) or ((rule is None or rule.kind != "decision") and _is_vague(folded, book))


def _is_vague(folded: str, book: Rulebook) -> bool:
    return book.shows("vague", " ".join(folded.split(",", maxsplit=1)[0].split()[:_DOUBT_WORDS]))
