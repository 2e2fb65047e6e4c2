"""Statements: what people say of themselves, decide, plan, find out, or ask to have remembered, told by rules.

A clause is kept when a rule fits at its beginning, so that "if I lived in Rome" or "she said I am a fool" are not
taken for statements. Where no rule fits, the clause is weighed. What is kept is a quote; nothing is
rephrased here. The rules and cues are in ``words``, by language.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from holdfast.learning.statements.classifier import probe
from holdfast.learning.statements.clauses import StatementClause, fold_clause
from holdfast.learning.statements.joined_clauses import joined
from holdfast.learning.statements.rulebook import (
    LANGUAGES,
    Rulebook,
    Statement,
    StatementRule,
    StatementType,
    rulebook,
    rules_only,
)
from holdfast.learning.statements.spoken_clauses import SpokenSentence, spoken, without_secret
from holdfast.learning.statements.threshold import is_faint, is_worth_keeping
from holdfast.text.language import detect_language
from holdfast.types import Message

__all__ = ["RULE_VERSION", "Statement", "retracts", "statements"]

RULE_VERSION = "statements-4"

_ASKED_IMPORTANCE = 8.0
_WEIGHED_IMPORTANCE = 4.0
_PLAN = "plan"
_RECURS = frozenset(("habit", "lasting", "costumbre", "duracion"))
_ELIDED = frozenset(("no subject", "standing wish", "deseo permanente"))
_TYPES: Mapping[str, StatementType] = {
    "preference": "preference",
    "preferencia": "preference",
    "note": "knowledge",
    "nota": "knowledge",
}
"""The types of what was weighed, by key; all else is personal."""
_MAX_IMPORTANCE = 10.0
_SPANISH_LETTER = re.compile(r"[ñáéíóú¿¡]", re.IGNORECASE)
_MAX_ADDITION_WORDS = 9
_GREETING = re.compile(r"(?:hi|hey|hello|good (?:morning|evening|afternoon)|hola|buenas|buenos dias|buen dia|que tal|ola)\b")
_NAME = re.compile(
    r"(?:I'?m|I am|i'?m|i am|soy|Soy|yo soy|Yo soy) (?P<name>[^\W\d_][\w'-]+)(?:(?: [^\W\d_a-z][\w'-]+){0,2})(?=[,.!]|$| (?:and|y|from|de|by|here|speaking)\b)"
)
_INTRODUCED = re.compile(
    r"(?:it'?s|It'?s|this is|This is|aquí|Aquí|habla|Habla|le habla) (?P<name>[A-ZÁÉÍÓÚÑ][\w'-]+)(?: \w+)? (?:from|here|again|speaking|del?)\b"
)
_NO_NAME = frozenset(
    "back here tired looking trying fine good great ok okay sorry glad happy new sure curious bored sick stuck lost ready done home hungry sad busy "
    "late confused wondering just not so very in on at from the a an still also thinking having going getting doing writing working building "
    "planning american british english spanish french german italian mexican catholic jewish muslim christian afraid alone single well better "
    "yo asi feliz nuevo nueva bueno buena malo mala de del un una el la muy mas consciente capaz todo toda otra otro quien lo".split()
)
_ADDS = re.compile(
    r"(?:due|on|in|at|by|from|until|next|this|starting|around|el|la|en|para|desde|a las?|empieza|sale|nace|proximo|starts|leaving|back|the \d+|\d{1,2}(?:st|nd|rd|th|:\d\d| ?[ap]m| de| of)?)\b"
)


def statements(message: Message) -> list[Statement]:
    """Return what a message states that is worth keeping, in the order it was said."""
    for book in _books(message):
        found = list(_in_language(message.text, book))
        if found:
            return found
    return []


def retracts(text: str) -> bool:
    """Tell whether a message takes back what its speaker said just before."""
    return any(rulebook(language).shows("retract", fold_clause(text)) for language in LANGUAGES)


def _books(message: Message) -> list[Rulebook]:
    """Return the rules of the message's language, and what the rules alone of the others say."""
    language = message.language or detect_language(message.text) or _likeliest(message.text)
    own = [rulebook(language)] if language in LANGUAGES else []
    return own + [rules_only(code) for code in LANGUAGES if code != language]


def _likeliest(text: str) -> str:
    """Return the language that knows most words of a text whose small words do not tell."""
    if _SPANISH_LETTER.search(text):
        return "es"
    folded = fold_clause(text)
    return max(LANGUAGES, key=lambda code: probe(code).known(folded))


def _in_language(text: str, book: Rulebook) -> Iterator[Statement]:
    before: Statement | None = None
    previous = ""
    for each in spoken(text, book):
        sentence, previous = _with_context(each, previous), without_secret(each.text)
        if before is not None and _goes_on(sentence.folded, book):
            before = replace(before, text=f"{before.text} {sentence.text}")
            continue
        for statement in joined(sentence.text, _in_sentence(sentence, book, before)):
            if before is not None:
                yield before
            before = statement
    if before is not None:
        yield before


def _with_context(sentence: SpokenSentence, previous: str) -> SpokenSentence:
    """Return a sentence that begins with "mine is" and the like with the sentence before it."""
    if not previous or not sentence.clauses or not sentence.clauses[0].leans or sentence.clauses[0].context:
        return sentence
    return replace(sentence, clauses=(replace(sentence.clauses[0], context=previous), *sentence.clauses[1:]))


def _in_sentence(sentence: SpokenSentence, book: Rulebook, before: Statement | None) -> Iterator[Statement]:
    greeted = _GREETING.match(sentence.folded) is not None
    for clause in sentence.clauses:
        statement = _statement(clause, book, before, greeted=greeted, impersonal=sentence.impersonal)
        if statement is None:
            continue
        if clause.context:
            pause = "" if clause.context[-1] in ".?!" else ","
            statement = replace(statement, text=f"{clause.context}{pause} {statement.text}")
        before = before if statement.faint else statement
        yield statement


def _goes_on(folded: str, book: Rulebook) -> bool:
    """Tell whether a sentence only adds a time, such as "due in November", to the one before it."""
    words = folded.split()
    return (
        2 <= len(words) <= _MAX_ADDITION_WORDS
        and "?" not in folded
        and bool(book.when.search(folded))
        and book.find(folded) is None
        and bool(_ADDS.match(folded))
    )


def _statement(
    clause: StatementClause, book: Rulebook, before: Statement | None, *, greeted: bool, impersonal: bool
) -> Statement | None:
    rule = book.find(clause.folded)
    if rule is None and _gives_name(clause, greeted=greeted):
        rule = next(rule for rule in book.rules if rule.key in ("name", "nombre"))
    if not clause.asked and not is_worth_keeping(clause.text, clause.folded, book, rule, impersonal=impersonal):
        beside = rule is None and is_faint(clause.text, clause.folded, book)
        return replace(_weighed(clause, book), faint=True) if beside else None
    if rule is None and not clause.asked:
        return _weighed(clause, book)
    if rule is None:
        return Statement(
            text=clause.text,
            kind="fact",
            type="knowledge",
            key="nota" if book.language == "es" else "note",
            importance=_ASKED_IMPORTANCE,
            language=book.language,
            asked=True,
            corrects=clause.corrects,
        )
    return Statement(
        text=clause.text,
        kind=rule.kind,
        type=rule.type,
        key=_key(clause, rule, before),
        importance=min(max(rule.importance + 1, _ASKED_IMPORTANCE), _MAX_IMPORTANCE) if clause.asked else rule.importance,
        language=book.language,
        asked=clause.asked,
        temporary=rule.temporary,
        corrects=clause.corrects,
        discovery=rule.discovery,
    )


def _weighed(clause: StatementClause, book: Rulebook) -> Statement:
    """Return a clause that no rule fits as a statement; its cues tell what it is about."""
    weighed = book.scale.weigh(clause.text, clause.folded)
    is_plan = _PLAN in weighed.cues and not _RECURS.intersection(weighed.cues) and bool(book.when.search(clause.folded))
    key = _PLAN if is_plan else "personal" if weighed.key in (None, _PLAN) else str(weighed.key)
    return Statement(
        text=clause.text,
        kind="event" if is_plan else "fact",
        type="event" if is_plan else _TYPES.get(key, "personal"),
        key=key,
        importance=_WEIGHED_IMPORTANCE,
        language=book.language,
        temporary=is_plan,
        corrects=clause.corrects,
        weighed=True,
        elided=bool(_ELIDED.intersection(weighed.cues)),
    )


def _key(clause: StatementClause, rule: StatementRule, before: Statement | None) -> str:
    """Return what a clause is about; "his name is Rex" is about what was spoken of just before."""
    names_one_before = re.match(r"(?:his|her|its|their|he|she|it|they|se llaman?)\b", clause.folded)
    return before.key if names_one_before and before is not None else rule.key


def _gives_name(clause: StatementClause, *, greeted: bool) -> bool:
    """Tell whether a clause is "I'm Dana": a capital shows it, or a greeting before it."""
    found = _NAME.match(clause.text) or _INTRODUCED.match(clause.text)
    return found is not None and fold_clause(found["name"]) not in _NO_NAME and (greeted or found["name"][0].isupper())
