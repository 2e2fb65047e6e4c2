"""What one conversation leaves, before it becomes memories: statements put right by later ones, observations confirmed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.policies.clauses import fold_clause, sentences
from holdfast.policies.repair import correction_in, regrets, repaired, repaired_within
from holdfast.policies.statements import Statement, retracts, statements
from holdfast.types import Message

_BACK = 4
"""How many statements back a bare correction ("no, on Tuesday") may reach."""
_SINGLE = frozenset(
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
_SAME_BEGINNING = 2
_MOSTLY_THE_SAME = 0.6
_NOTES = ("note", "nota")
_TRAILING = re.compile(r"\s*(?:\.{2,}|…)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """A statement with the messages it rests on; the last of them is the one that said it last."""

    statement: Statement
    sources: tuple[Message, ...]


def is_users_word(message: Message) -> bool:
    """Tell whether a message is something a person said to us: not noise, a tool's output or a page."""
    return message.role == "user" and message.origin == "user" and message.action is None


def learn(messages: Sequence[Message]) -> list[Learnt]:
    """Return what the users of a conversation stated; of something corrected, the last word counts."""
    learnt: list[Learnt] = []
    for message in messages:
        if not is_users_word(message):
            continue
        if retracts(message.text):
            learnt = _without_last_message(learnt, message)
        for each in _said(message):
            learnt = _with(learnt, each)
    return learnt


def _said(message: Message) -> Iterator["Learnt | _Bare"]:
    """Yield a message's statements and bare corrections, in the order they were said."""
    regretted = regrets(fold_clause(message.text))
    found = [replace(each, corrects=each.corrects or regretted) for each in statements(message)]
    for each in found:
        learnt = Learnt(statement=replace(each, text=repaired_within(each.text)), sources=(message,))
        fragment = correction_in(each.text, fold_clause(each.text)) if each.key in _NOTES else None
        yield learnt if fragment is None else _Bare(fragment=fragment, message=message, otherwise=learnt)
    kept = [fold_clause(each.text).rstrip(".!") for each in found]
    for sentence, folded in sentences(message.text):
        fragment = correction_in(sentence, folded)
        if fragment is not None and not any(text in folded for text in kept):
            yield _Bare(fragment=fragment, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bare:
    """A correction that names only the new value."""

    fragment: str
    message: Message
    otherwise: Learnt | None = None
    """What to keep of it where it puts nothing right that was said before."""


def _with(learnt: list[Learnt], new: "Learnt | _Bare") -> list[Learnt]:
    if isinstance(new, _Bare):
        return _repair_last(learnt, new)
    if new.statement.corrects:
        learnt = [each for each in learnt if not _takes_place_of(new, each)]
    return [*learnt, new]


def _repair_last(learnt: list[Learnt], bare: _Bare) -> list[Learnt]:
    for place in range(len(learnt) - 1, max(-1, len(learnt) - 1 - _BACK), -1):
        old = learnt[place]
        if old.sources[-1].speaker != bare.message.speaker:
            continue
        text = repaired(old.statement.text, bare.fragment)
        if text is not None:
            sources = tuple(dict.fromkeys((*old.sources, bare.message)))
            new = Learnt(statement=replace(old.statement, text=_TRAILING.sub("", text)), sources=sources)
            return [*learnt[:place], new, *learnt[place + 1 :]]
    return learnt if bare.otherwise is None else [*learnt, bare.otherwise]


def _takes_place_of(new: Learnt, old: Learnt) -> bool:
    """Tell whether a correction says anew what an earlier statement said."""
    if new.sources[-1].speaker != old.sources[-1].speaker:
        return False
    if new.sources == old.sources and new.statement.text == old.statement.text:
        return False
    words = [re.findall(r"\w+", fold_clause(each.statement.text)) for each in (new, old)]
    if new.statement.key == old.statement.key and new.statement.key in _SINGLE:
        return words[0][:_SAME_BEGINNING] == words[1][:_SAME_BEGINNING]
    return new.sources != old.sources and _alike(*words) >= _MOSTLY_THE_SAME


def _alike(words: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of two statements' words, numbers apart, that both have."""
    one, other = ({word for word in each if word.isalpha()} for each in (words, others))
    return len(one & other) / max(1, len(one | other))


def _without_last_message(learnt: list[Learnt], message: Message) -> list[Learnt]:
    """Drop what the same speaker's last message left."""
    mine = [each for each in learnt if each.sources[-1].speaker == message.speaker]
    last = mine[-1].sources[-1].id if mine else None
    return [each for each in learnt if each.sources[-1].id != last]
