"""Statements: what people say of themselves, decide, plan, find out, or ask to have remembered, told by rules.

A clause is kept when a rule fits at its beginning, so that "if I lived in Rome" or "she said I am a fool" are not
taken for statements. Where no rule fits, the clause is weighed by its cues. What is kept is a quote; nothing is
rephrased here. The rules and cues are in ``words``, by language.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from holdfast.policies.clauses import Clause, clauses, fold_clause, sentences
from holdfast.policies.rulebook import LANGUAGES, Rule, Rulebook, StatementKind, StatementType, rulebook, rules_only
from holdfast.text.language import detect_language
from holdfast.types import Message

RULE_VERSION = "statements-3"

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
_MOST = 10.0
_FIRST_WORDS = 6
"""Doubt at the beginning of a clause is about the whole of it."""
_SECRET = re.compile(
    r"\b(?:passwords?|passcode|passphrase|api[ _-]?keys?|secret[ _-]?keys?|access token|auth token|private key|cvv|cvc|ssn"
    r"|social security|credit card|card number|contrasenas?|clave (?:de|del|es)|mi clave|tarjeta de credito|numero de tarjeta"
    r"|my log-?in|login is|pin (?:de|del|is|es|for|number|code)|my pin|mi pin|seed phrase)\b"
    r"|\b(?:sk|pk|ghp|gho|xox[bp]|akia|eyj)[-_a-z0-9]{12,}|\b(?:\d[ -]?){13,19}\b|-----begin"
)
_SPANISH_LETTER = re.compile(r"[ñáéíóú¿¡]", re.IGNORECASE)
_PART = re.compile(r"[,;:] | (?:and|but|y|pero|with|con) ")
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
    r"(?:due|on|in|at|by|from|until|next|this|starting|around|el|la|en|para|desde|a las?|empieza|sale|nace|proximo|starts|leaving|back)\b"
)
_WHOLE_MESSAGE = ("joke", "roleplay")
_WHOLE_SENTENCE = ("hypothetical", "sarcasm", "fiction_author")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing worth keeping, as it was said."""

    text: str
    kind: StatementKind
    type: StatementType
    key: str
    """What it is about: name, work, diet, plan and so on, in the language of the statement."""
    importance: float
    language: str
    asked: bool = False
    """The speaker asked for it to be remembered."""
    temporary: bool = False
    """It holds until a day that is near."""
    corrects: bool = False
    """It was said to put right something said before."""
    discovery: bool = False
    observed: bool = False
    """The assistant said it of the user, who confirmed it."""
    weighed: bool = False
    """No rule fitted it; its cues weighed enough."""
    elided: bool = False
    """It was weighed, and its subject is left out: "been vegan since May"."""


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
    """Return the rules of the message's language first, or of both where its words do not tell."""
    language = message.language or detect_language(message.text) or ("es" if _SPANISH_LETTER.search(message.text) else None)
    if not language:
        return [rulebook(code) for code in LANGUAGES]
    own = [rulebook(language)] if language in LANGUAGES else []
    return own + [rules_only(code) for code in LANGUAGES if code != language]


def _in_language(text: str, book: Rulebook) -> Iterator[Statement]:
    if any(book.shows(sign, fold_clause(text)) for sign in _WHOLE_MESSAGE):
        return
    before: Statement | None = None
    for sentence, folded in sentences(text):
        if book.shows("text_command", folded) or book.shows("text_writing", folded + "\n"):
            if folded.endswith("?"):  # "how do you say it?" brings no text with it
                continue
            break
        if before is not None and _goes_on(folded, book):
            before = replace(before, text=f"{before.text} {sentence}")
            continue
        for statement in _in_sentence(sentence, folded, book, before):
            if before is not None:
                yield before
            before = statement
    if before is not None:
        yield before


def _in_sentence(sentence: str, folded: str, book: Rulebook, before: Statement | None) -> Iterator[Statement]:
    if not _is_plain(folded, book):
        return
    greeted = _GREETING.match(folded) is not None
    for clause in clauses(sentence, folded, book):
        safe = _without_secret(clause)
        statement = safe and _statement(safe, book, before, greeted=greeted)
        if statement:
            before = statement
            yield statement


def _goes_on(folded: str, book: Rulebook) -> bool:
    """Tell whether a sentence only adds a time, such as "due in November", to the one before it."""
    words = folded.split()
    return (
        2 <= len(words) <= 6
        and "?" not in folded
        and bool(book.when.search(folded))
        and book.find(folded) is None
        and bool(_ADDS.match(folded))
    )


def _without_secret(clause: Clause) -> Clause | None:
    """Return a clause without the part from which on it tells a password or the like."""
    found = _SECRET.search(clause.folded)
    if found is None:
        return clause
    cuts = [cut.start() for cut in _PART.finditer(clause.folded, 0, found.start())]
    if not cuts:
        return None
    return replace(clause, text=clause.text[: cuts[-1]], folded=clause.folded[: cuts[-1]])


def _is_plain(folded: str, book: Rulebook) -> bool:
    """Tell whether a sentence is meant as it is said."""
    if any(book.shows(sign, folded) for sign in _WHOLE_SENTENCE):
        return False
    if book.shows("transcript", folded) and not book.asked.match(folded) and not book.filler.match(folded):
        return False
    if not book.shows("saying", folded) or book.shows("counsel", folded):
        return True
    rule = book.find(folded)  # a doctor's word counts as one's own, and so does what others call one
    return rule is not None and rule.key in ("health", "salud", "name", "nombre")


def _statement(clause: Clause, book: Rulebook, before: Statement | None, *, greeted: bool) -> Statement | None:
    rule = book.find(clause.folded)
    if rule is None and _gives_name(clause, greeted=greeted):
        rule = next(rule for rule in book.rules if rule.key in ("name", "nombre"))
    if rule is None and not clause.asked:
        return _weighed(clause, book)
    if not clause.asked and (rule is None or _is_passing(clause.folded, rule, book)):
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
        importance=min(max(rule.importance + 1, _ASKED_IMPORTANCE), _MOST) if clause.asked else rule.importance,
        language=book.language,
        asked=clause.asked,
        temporary=rule.temporary,
        corrects=clause.corrects,
        discovery=rule.discovery,
    )


def _weighed(clause: Clause, book: Rulebook) -> Statement | None:
    """Return a clause that no rule fits as a statement, where its cues weigh enough."""
    weighed = book.scale.weigh(clause.text, clause.folded)
    if weighed.weight < book.scale.threshold or book.shows("momentary", clause.folded) or _is_vague(clause.folded, book):
        return None
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


def _key(clause: Clause, rule: Rule, before: Statement | None) -> str:
    """Return what a clause is about; "his name is Rex" is about what was spoken of just before."""
    names_one_before = re.match(r"(?:his|her|its|their|he|she|it|they|se llaman?)\b", clause.folded)
    return before.key if names_one_before and before is not None else rule.key


def _gives_name(clause: Clause, *, greeted: bool) -> bool:
    """Tell whether a clause is "I'm Dana": a capital shows it, or a greeting before it."""
    found = _NAME.match(clause.text) or _INTRODUCED.match(clause.text)
    return found is not None and fold_clause(found["name"]) not in _NO_NAME and (greeted or found["name"][0].isupper())


def _is_passing(folded: str, rule: Rule, book: Rulebook) -> bool:
    """Tell whether a clause holds for the moment only, or is not certain."""
    return book.shows("momentary", folded) or (rule.kind != "decision" and _is_vague(folded, book))


def _is_vague(folded: str, book: Rulebook) -> bool:
    return book.shows("vague", " ".join(folded.split(",", maxsplit=1)[0].split()[:_FIRST_WORDS]))
