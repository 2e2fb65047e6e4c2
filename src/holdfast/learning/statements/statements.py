"""Find statements by rules: facts about the speaker, decisions, plans, discoveries, and requests to remember something.

A rule must match at the beginning of a clause. Therefore "if I lived in Rome" and "she said I am a fool" are not
statements. If no rule matches, a classifier decides. It also uses cues, which are weighted signs that a clause is worth
keeping. Statements are quotes; nothing is rephrased here. The rules and cues are in ``learning/words``, one file per
language.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from holdfast.learning.statements.classifier import clause_classifier
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
_RECURRING_CUES = frozenset(("habit", "lasting", "costumbre", "duracion"))
_ELIDED_CUES = frozenset(("no subject", "standing wish", "deseo permanente"))
_TYPES: Mapping[str, StatementType] = {
    "preference": "preference",
    "preferencia": "preference",
    "note": "knowledge",
    "nota": "knowledge",
}
"""Maps the key of a statement that no rule matched to its type. Plans have the type ``event``, all other keys ``personal``."""
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
_TIME_ADDITION = re.compile(
    r"(?:due|on|in|at|by|from|until|next|this|starting|around|el|la|en|para|desde|a las?|empieza|sale|nace|proximo|starts|leaving|back|the \d+|\d{1,2}(?:st|nd|rd|th|:\d\d| ?[ap]m| de| of)?)\b"
)


def statements(message: Message) -> list[Statement]:
    """Return the statements of a message that are worth keeping, in order."""
    for book in _books(message):
        found = list(_in_language(message.text, book))
        if found:
            return found
    return []


def retracts(text: str) -> bool:
    """Return True if a message takes back the speaker's previous message."""
    return any(rulebook(language).shows("retract", fold_clause(text)) for language in LANGUAGES)


def _books(message: Message) -> list[Rulebook]:
    """Return the full rulebook of the message's language, then those of other languages without cues and classifier."""
    language = message.language or detect_language(message.text) or _likeliest_language(message.text)
    own = [rulebook(language)] if language in LANGUAGES else []
    return own + [rules_only(code) for code in LANGUAGES if code != language]


def _likeliest_language(text: str) -> str:
    """Return the language whose word lists contain the most words of a text. Used if the language was not detected."""
    if _SPANISH_LETTER.search(text):
        return "es"
    folded = fold_clause(text)
    return max(LANGUAGES, key=lambda code: clause_classifier(code).count_known_words(folded))


def _in_language(text: str, book: Rulebook) -> Iterator[Statement]:
    before: Statement | None = None
    previous = ""
    for uttered in spoken(text, book):
        sentence, previous = _with_context(uttered, previous), without_secret(uttered.text)
        if before is not None and _adds_time(sentence.folded, book):
            before = replace(before, text=f"{before.text} {sentence.text}")
            continue
        for statement in joined(sentence.text, _in_sentence(sentence, book, before)):
            if before is not None:
                yield before
            before = statement
    if before is not None:
        yield before


def _with_context(sentence: SpokenSentence, previous: str) -> SpokenSentence:
    """Add the previous sentence as context if a sentence begins with words such as "mine is"."""
    if not previous or not sentence.clauses or not sentence.clauses[0].needs_context or sentence.clauses[0].context:
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


def _adds_time(folded: str, book: Rulebook) -> bool:
    """Return True if a sentence only adds a time to the sentence before it: "due in November"."""
    words = folded.split()
    return (
        2 <= len(words) <= _MAX_ADDITION_WORDS
        and "?" not in folded
        and bool(book.when.search(folded))
        and book.find(folded) is None
        and bool(_TIME_ADDITION.match(folded))
    )


def _statement(
    clause: StatementClause, book: Rulebook, before: Statement | None, *, greeted: bool, impersonal: bool
) -> Statement | None:
    rule = book.find(clause.folded)
    if rule is None and _states_name(clause, greeted=greeted):
        rule = next(rule for rule in book.rules if rule.key in ("name", "nombre"))
    if not clause.asked and not is_worth_keeping(clause.text, clause.folded, book, rule, impersonal=impersonal):
        is_joinable = rule is None and is_faint(clause.text, clause.folded, book)
        return replace(_weighed(clause, book), faint=True) if is_joinable else None
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
    )


def _weighed(clause: StatementClause, book: Rulebook) -> Statement:
    """Turn a clause that no rule matches into a statement. The clause's cues (weighted signs) determine its key."""
    weighed = book.scale.weigh(clause.text, clause.folded)
    is_plan = _PLAN in weighed.cues and not _RECURRING_CUES.intersection(weighed.cues) and bool(book.when.search(clause.folded))
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
        elided=bool(_ELIDED_CUES.intersection(weighed.cues)),
    )


def _key(clause: StatementClause, rule: StatementRule, before: Statement | None) -> str:
    """Return the key of a clause. A clause such as "His name is Rex" gets the key of the statement before it."""
    refers_back = re.match(r"(?:his|her|its|their|he|she|it|they|se llaman?)\b", clause.folded)
    return before.key if refers_back and before is not None else rule.key


def _states_name(clause: StatementClause, *, greeted: bool) -> bool:
    """Return True if a clause states the speaker's name ("I'm Dana"). The name must be capitalized or follow a greeting."""
    found = _NAME.match(clause.text) or _INTRODUCED.match(clause.text)
    return found is not None and fold_clause(found["name"]) not in _NO_NAME and (greeted or found["name"][0].isupper())
