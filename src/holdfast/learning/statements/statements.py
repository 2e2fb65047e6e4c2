"""Find statements by rules: facts about the speaker, decisions, plans, discoveries, and requests to remember something.

The rules are used if there is no sentence reader. A clause is kept if a rule matches it and it is neither temporary nor
vague, or if the user asked to remember it. A rule must match at the beginning of a clause. Therefore "if I lived in
Rome" and "she said I am a fool" are not statements. Statements are quotes; nothing is rephrased here. The rules are in
``learning/words``, one file per language.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from holdfast.learning.statements.clauses import StatementClause, fold_clause
from holdfast.learning.statements.rulebook import LANGUAGES, Rulebook, Statement, StatementRule, rulebook, rulebooks
from holdfast.learning.statements.spoken_clauses import SpokenSentence, spoken, without_secret
from holdfast.runtime.regex import regex
from holdfast.text.language import detect_language
from holdfast.types import Message

__all__ = ["RULE_VERSION", "Statement", "retracts", "statements"]

RULE_VERSION = "statements-5"

_ASKED_IMPORTANCE = 8.0
_MAX_IMPORTANCE = 10.0
_MAX_ADDITION_WORDS = 9
_GREETING = regex(r"(?:hi|hey|hello|good (?:morning|evening|afternoon)|hola|buenas|buenos dias|buen dia|que tal|ola)\b")
_NAME = regex(
    r"(?:I'?m|I am|i'?m|i am|soy|Soy|yo soy|Yo soy) (?P<name>[^\W\d_][\w'-]+)(?:(?: [^\W\d_a-z][\w'-]+){0,2})(?=[,.!]|$| (?:and|y|from|de|by|here|speaking)\b)"
)
_INTRODUCED = regex(
    r"(?:it'?s|It'?s|this is|This is|aquí|Aquí|habla|Habla|le habla) (?P<name>[A-ZÁÉÍÓÚÑ][\w'-]+)(?: \w+)? (?:from|here|again|speaking|del?)\b"
)
_NO_NAME = frozenset(
    "back here tired looking trying fine good great ok okay sorry glad happy new sure curious bored sick stuck lost ready done home hungry sad busy "
    "late confused wondering just not so very in on at from the a an still also thinking having going getting doing writing working building "
    "planning american british english spanish french german italian mexican catholic jewish muslim christian afraid alone single well better "
    "yo asi feliz nuevo nueva bueno buena malo mala de del un una el la muy mas consciente capaz todo toda otra otro quien lo".split()
)
_TIME_ADDITION = regex(
    r"(?:due|on|in|at|by|from|until|next|this|starting|around|el|la|en|para|desde|a las?|empieza|sale|nace|proximo|starts|leaving|back|the \d+|\d{1,2}(?:st|nd|rd|th|:\d\d| ?[ap]m| de| of)?)\b"
)


def statements(message: Message) -> list[Statement]:
    """Return the statements of a message that are worth keeping, in order."""
    for book in rulebooks(message.language or detect_language(message.text)):
        found = list(_in_language(message.text, book))
        if found:
            return found
    return []


def retracts(text: str) -> bool:
    """Return True if a message retracts the speaker's previous message."""
    return any(rulebook(language).shows("retract", fold_clause(text)) for language in LANGUAGES)


def _in_language(text: str, book: Rulebook) -> Iterator[Statement]:
    before: Statement | None = None
    previous = ""
    for uttered in spoken(text, book):
        sentence, previous = _with_context(uttered, previous), without_secret(uttered.text)
        if before is not None and _adds_time(sentence.folded, book):
            before = replace(before, text=f"{before.text} {sentence.text}")
            continue
        for statement in _in_sentence(sentence, book, before):
            if before is not None:
                yield before
            before = statement
    if before is not None:
        yield before


def _with_context(sentence: SpokenSentence, previous: str) -> SpokenSentence:
    """Return the sentence. If it begins with words such as "mine is", the previous sentence is added as context."""
    if not previous or not sentence.clauses or not sentence.clauses[0].needs_context or sentence.clauses[0].context:
        return sentence
    return replace(sentence, clauses=(replace(sentence.clauses[0], context=previous), *sentence.clauses[1:]))


def _in_sentence(sentence: SpokenSentence, book: Rulebook, before: Statement | None) -> Iterator[Statement]:
    greeted = _GREETING.match(sentence.folded) is not None
    for clause in sentence.clauses:
        statement = _statement(clause, book, before, greeted=greeted)
        if statement is None:
            continue
        if clause.context:
            pause = "" if clause.context[-1] in ".?!" else ","
            text = f"{clause.context}{pause} {statement.text}"
            statement = replace(statement, text=text, ruled=False, elided=True)
        before = statement
        yield statement


def _adds_time(folded: str, book: Rulebook) -> bool:
    """Return True if a sentence only adds a time to the previous sentence, such as "due in November"."""
    words = folded.split()
    return (
        2 <= len(words) <= _MAX_ADDITION_WORDS
        and "?" not in folded
        and bool(book.when.search(folded))
        and book.find(folded) is None
        and bool(_TIME_ADDITION.match(folded))
    )


def _statement(clause: StatementClause, book: Rulebook, before: Statement | None, *, greeted: bool) -> Statement | None:
    rule = book.find(clause.folded)
    if rule is None and _states_name(clause, greeted=greeted):
        rule = next(rule for rule in book.rules if rule.key in ("name", "nombre"))
    if not clause.asked and (rule is None or book.is_passing(clause.folded, rule)):
        return None
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


def _key(clause: StatementClause, rule: StatementRule, before: Statement | None) -> str:
    """Return the memory key of a clause. Normally, this is the key of the rule that matches the clause.

    A clause such as "His name is Rex" gets the key of ``before``, the previous statement, if there is one.
    """
    refers_back = re.match(r"(?:his|her|its|their|he|she|it|they|se llaman?)\b", clause.folded)
    return before.key if refers_back and before is not None else rule.key


def _states_name(clause: StatementClause, *, greeted: bool) -> bool:
    """Return True if a clause states the speaker's name ("I'm Dana").

    The name must be capitalized. There is one exception: if the sentence begins with a greeting (``greeted``), the name after
    words such as "I'm" can be in lower case.
    """
    found = _NAME.match(clause.text) or _INTRODUCED.match(clause.text)
    return found is not None and fold_clause(found["name"]) not in _NO_NAME and (greeted or found["name"][0].isupper())
