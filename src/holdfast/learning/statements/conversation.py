"""What one conversation leaves, before it becomes memories: statements put right by later ones, observations confirmed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.learning.statements.clauses import fold_clause, sentences
from holdfast.learning.statements.repair import correction_in, regrets, repaired, repaired_within
from holdfast.learning.statements.statements import Statement, retracts, statements
from holdfast.types import Message

_MAX_STATEMENTS_BACK = 4
"""How many statements back a bare correction ("no, on Tuesday") may reach."""
_SINGLE_VALUE_KEYS = frozenset(
    (
        "name",
        "nombre",
        "birthday",
        "cumpleanos",
        "contact",
        "contacto",
        "home",
        "ubicacion",
        "work",
        "trabajo",
        "plan",
        "decision",
    )
)
_MIN_SHARED_START = 2
_MIN_SHARED_WORDS = 0.6
_NOTES = ("note", "nota")
_TRAILING = re.compile(r"\s*(?:\.{2,}|…)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedStatement:
    """A statement with the messages it rests on; the last of them is the one that said it last."""

    statement: Statement
    sources: tuple[Message, ...]


def is_spoken_by_user(message: Message) -> bool:
    """Tell whether a message is something a person said to us: not noise, a tool's output or a page."""
    return message.role == "user" and message.origin == "user" and message.action is None


def sourced_statements(messages: Sequence[Message]) -> list[SourcedStatement]:
    """Return what the users of a conversation stated; of something corrected, the last word counts."""
    found: list[SourcedStatement] = []
    for message in messages:
        if not is_spoken_by_user(message):
            continue
        if retracts(message.text):
            found = _without_last_message(found, message)
        for each in _statements_in(message):
            found = _added(found, each)
    return found


def _statements_in(message: Message) -> Iterator["SourcedStatement | _BareCorrection"]:
    """Yield a message's statements and bare corrections, in the order they were said."""
    regretted = regrets(fold_clause(message.text))
    found = [replace(each, corrects=each.corrects or regretted) for each in statements(message)]
    for each in found:
        sourced = SourcedStatement(statement=replace(each, text=repaired_within(each.text)), sources=(message,))
        fragment = correction_in(each.text, fold_clause(each.text)) if each.key in _NOTES else None
        yield sourced if fragment is None else _BareCorrection(fragment=fragment, message=message, otherwise=sourced)
    kept = [fold_clause(each.text).rstrip(".!") for each in found]
    for sentence, folded in sentences(message.text):
        fragment = correction_in(sentence, folded)
        if fragment is not None and not any(text in folded for text in kept):
            yield _BareCorrection(fragment=fragment, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BareCorrection:
    """A correction that names only the new value."""

    fragment: str
    message: Message
    otherwise: SourcedStatement | None = None
    """What to keep of it where it puts nothing right that was said before."""


def _added(found: list[SourcedStatement], new: "SourcedStatement | _BareCorrection") -> list[SourcedStatement]:
    if isinstance(new, _BareCorrection):
        return _repair_last(found, new)
    if new.statement.corrects:
        found = [each for each in found if not _takes_place_of(new, each)]
    return [*found, new]


def _repair_last(found: list[SourcedStatement], bare: _BareCorrection) -> list[SourcedStatement]:
    for place in range(len(found) - 1, max(-1, len(found) - 1 - _MAX_STATEMENTS_BACK), -1):
        old = found[place]
        if old.sources[-1].speaker != bare.message.speaker:
            continue
        text = repaired(old.statement.text, bare.fragment)
        if text is not None:
            sources = tuple(dict.fromkeys((*old.sources, bare.message)))
            new = SourcedStatement(statement=replace(old.statement, text=_TRAILING.sub("", text)), sources=sources)
            return [*found[:place], new, *found[place + 1 :]]
    return found if bare.otherwise is None else [*found, bare.otherwise]


def _takes_place_of(new: SourcedStatement, old: SourcedStatement) -> bool:
    """Tell whether a correction says anew what an earlier statement said."""
    if new.sources[-1].speaker != old.sources[-1].speaker:
        return False
    if new.sources == old.sources and new.statement.text == old.statement.text:
        return False
    words = [re.findall(r"\w+", fold_clause(each.statement.text)) for each in (new, old)]
    if new.statement.key == old.statement.key and new.statement.key in _SINGLE_VALUE_KEYS:
        return words[0][:_MIN_SHARED_START] == words[1][:_MIN_SHARED_START]
    return new.sources != old.sources and _alike(*words) >= _MIN_SHARED_WORDS


def _alike(words: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of two statements' words, numbers apart, that both have."""
    one, other = ({word for word in each if word.isalpha()} for each in (words, others))
    return len(one & other) / max(1, len(one | other))


def _without_last_message(found: list[SourcedStatement], message: Message) -> list[SourcedStatement]:
    """Drop what the same speaker's last message left."""
    mine = [each for each in found if each.sources[-1].speaker == message.speaker]
    last = mine[-1].sources[-1].id if mine else None
    return [each for each in found if each.sources[-1].id != last]
