"""Split a message into sentences with the clauses that the speaker states. Jokes, role-play and secrets are left out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from holdfast.learning.statements.clauses import StatementClause, clauses, fold_clause, sentences
from holdfast.learning.statements.rulebook import Rulebook
from holdfast.runtime.regex import regex

_SECRET = regex(
    r"\b(?:passwords?|passcode|passphrase|api[ _-]?keys?|secret[ _-]?keys?|access token|auth token|private key|cvv|cvc|ssn"
    r"|social security|credit card|card number|contrasenas?|clave (?:de|del|es)|mi clave|tarjeta de credito|numero de tarjeta"
    r"|my log-?in|login is|pin (?:de|del|is|es|for|number|code)|my pin|mi pin|seed phrase)\b"
    r"|\b(?:sk|pk|ghp|gho|xox[bp]|akia|eyj)[-_a-z0-9]{12,}|\b(?:\d[ -]?){13,19}\b|-----begin"
)
_PART = regex(r"[,;:] | (?:and|but|y|pero|with|con) ")
_OWN_SUBJECT = regex(
    r"(?:(?:and|but|y|pero) )?(?:(?:i|we|my|our|he|she|they) (?!pin|pass|code|key|clave)|(?:i'?m|i'?ve|we'?re|yo|mi|mis|me|nos|soy|tengo|vivo|trabajo|estoy|somos|tenemos) )"
)
_WHOLE_MESSAGE = ("joke", "roleplay")
_WHOLE_SENTENCE = ("hypothetical", "sarcasm", "fiction_author")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenSentence:
    """A sentence with its clauses. Clauses that state nothing, such as questions, are left out.

    A sentence has no clauses if it is not meant literally, or if it does not state the speaker's own view.
    """

    text: str
    folded: str
    clauses: tuple[StatementClause, ...]


def spoken(text: str, book: Rulebook) -> Iterator[SpokenSentence]:
    """Yield the sentences of a message. If the message is a joke or a roleplay, yield nothing.

    A request such as "translate this" and all text after it are left out, because that text is not a statement of the
    speaker. If the request is a question, such as "how do you say it?", only the question itself is left out.
    """
    if any(book.shows(sign, fold_clause(text)) for sign in _WHOLE_MESSAGE):
        return
    for sentence, folded in sentences(text):
        if book.shows("text_command", folded) or book.shows("text_writing", folded + "\n"):
            if folded.endswith("?"):  # "how do you say it?" is not followed by a text
                continue
            break
        stated = clauses(sentence, folded, book) if _is_plain(folded, book) else ()
        safe = (_without_secret(clause) for clause in stated)
        kept = tuple(clause for clause in safe if clause is not None)
        yield SpokenSentence(text=sentence, folded=folded, clauses=kept)


def without_secret(text: str) -> str:
    """Return a text without the clauses that contain a password or another secret. The result can be empty.

    A clause after a secret is kept only if it begins with its own subject. Without a subject, it could be part of the
    secret.
    """
    folded = fold_clause(text)
    if not _SECRET.search(folded):
        return text
    cuts = [(0, 0), *(cut.span() for cut in _PART.finditer(folded)), (len(text), len(text))]
    kept: list[tuple[int, int]] = []
    hidden = False
    for (before, start), (end, _) in pairwise(cuts):
        if _SECRET.search(folded, start, end):
            hidden = True
        elif not hidden or _OWN_SUBJECT.match(folded, start):
            kept.append((before if kept and not hidden else start, end))
            hidden = False
    return "; ".join(text[start:end] for start, end in _joined(kept)) if kept else ""


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge the spans that follow each other without a gap."""
    joined = spans[:1]
    for start, end in spans[1:]:
        joined = [*joined[:-1], (joined[-1][0], end)] if start == joined[-1][1] else [*joined, (start, end)]
    return joined


def _without_secret(clause: StatementClause) -> StatementClause | None:
    """Return a clause without secrets, or None if nothing else is left."""
    text = without_secret(clause.text)
    clause = replace(clause, context=without_secret(clause.context))
    return replace(clause, text=text, folded=fold_clause(text)) if text else None


def _is_plain(folded: str, book: Rulebook) -> bool:
    """Return True if a sentence is meant literally and states the speaker's own view."""
    if any(book.shows(sign, folded) for sign in _WHOLE_SENTENCE):
        return False
    if book.shows("transcript", folded) and not book.asked.match(folded) and not book.filler.match(folded):
        return False
    if not book.shows("saying", folded) or book.shows("counsel", folded):
        return True
    rule = book.find(folded)  # a doctor's advice and a name used by others count as statements
    return rule is not None and rule.key in ("health", "salud", "name", "nombre")
