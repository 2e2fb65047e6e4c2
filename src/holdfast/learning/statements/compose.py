"""Turn a candidate (a part of a message that is worth keeping) into a statement with a key, a type and an importance."""

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.learning.statements.candidate import Candidate
from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.rulebook import Rulebook, Statement, StatementRule, StatementType
from holdfast.protocols.sentence_reader import Area, Reading
from holdfast.runtime.regex import regex
from holdfast.text.consent.cues import may_wish

__all__ = ["MIN_REMEMBER", "asks_to_remember", "statement_of"]

MIN_REMEMBER: Final = 0.5
"""Minimum probability, from the sentence reader, with which a sentence counts as a request to remember something."""
_NO_SUBJECT: Final = regex(
    r"(?:been|born|no|not|never|always|used to|(?:ca|do|did|wo|have|could)n'?t|cannot|nada|nunca|siempre)\b"
)
"""Matches the beginning of a sentence without a subject, such as "been vegan since May".

The sentence is in lower case and without accents.
"""
_AREAS: Final[Mapping[Area, tuple[str, str, StatementType, float]]] = {
    "identity": ("personal", "personal", "personal", 7.0),
    "health": ("health", "salud", "personal", 8.0),
    "family": ("family", "familia", "personal", 7.0),
    "work": ("work", "trabajo", "personal", 6.0),
    "home": ("home", "ubicacion", "personal", 7.0),
    "possession": ("possession", "pertenencia", "personal", 5.0),
    "preference": ("preference", "preferencia", "preference", 6.0),
    "instruction": ("instruction", "instruccion", "preference", 8.0),
    "event": ("event", "evento", "event", 5.0),
    "plan": ("plan", "plan", "event", 5.0),
    "skill": ("skill", "habilidad", "personal", 5.0),
    "opinion": ("opinion", "opinion", "preference", 4.0),
    "other": ("note", "nota", "knowledge", 4.0),
}
"""Maps each area of life to the properties of a statement that no rule matches.

They are its key in English, its key in Spanish, its type and its importance.
"""
_ASKED_IMPORTANCE: Final = 8.0
_MAX_IMPORTANCE: Final = 10.0


def asks_to_remember(reading: Reading, text: str) -> bool:
    """Return True if a text asks to remember something.

    ``reading`` is its analysis. The sentence reader alone does not decide: it takes "and in capital letters" for such a
    request. The text must contain a word for keeping or noting.
    """
    return reading.wishes["remember"] >= MIN_REMEMBER and may_wish("remember", fold_clause(text))


def statement_of(
    each: Candidate, rule: StatementRule | None, books: Sequence[Rulebook], language: str | None, *, asked: bool
) -> Statement:
    """Return a candidate as a statement, with its key, type and importance.

    These three values come from ``rule``, the rule that matches the candidate. If ``rule`` is None, they come from the area of
    life that the sentence reader finds. ``asked`` is True if the user asked to remember the candidate.
    """
    text, own, reading = each.text, each.own, each.reading
    key, key_es, type_, importance = _AREAS[reading.area]
    asked = asked or each.asks
    is_event = reading.area in ("event", "plan")
    importance = importance if rule is None else rule.importance
    spoken = language or next((book.language for book in books if rule in book.rules), books[0].language)
    return Statement(
        text=text,
        kind=rule.kind if rule is not None else "event" if is_event and not asked else "fact",
        type=rule.type if rule is not None else "event" if is_event else type_,
        key=(key_es if spoken == "es" else key) if rule is None else rule.key,
        importance=min(max(importance + 1, _ASKED_IMPORTANCE), _MAX_IMPORTANCE) if asked else importance,
        language=spoken,
        asked=asked,
        temporary=reading.area == "plan" if rule is None else rule.temporary,
        corrects=each.corrects,
        ruled=rule is not None and text == own,
        happened=reading.time == "dated",
        elided=text != own or _NO_SUBJECT.match(fold_clause(own)) is not None,
    )
