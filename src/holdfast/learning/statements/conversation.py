"""Collect the statements of a conversation and apply later corrections to earlier statements."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.learning.statements.clauses import fold_clause, sentences
from holdfast.learning.statements.read import read_statements
from holdfast.learning.statements.repair import admits_mistake, correction_in, rejected_value, repaired, repaired_within
from holdfast.learning.statements.repetitions import Repetitions
from holdfast.learning.statements.replies import words_to_answer
from holdfast.learning.statements.statements import Statement, retracts, statements
from holdfast.learning.statements.trim import without_lead
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.relative_dates import with_right_days
from holdfast.text.sentences import split_sentences
from holdfast.types import Message

_MAX_MESSAGES_BACK = 5
"""Maximum number of earlier messages of the speaker that are searched for the person that a statement is about."""
_MAX_PART_WORDS = 3
"""Maximum number of words of a message after which the next message of the speaker can still answer the same question."""
_MAX_STATEMENTS_BACK = 4
"""Maximum number of preceding statements that are searched for the one that a correction ("no, on Tuesday") changes."""
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
_MIN_SHARED_WITH_REJECTED = 0.3
"""Minimum share (0 to 1) of common words with which a correction replaces an earlier statement.

It applies if the earlier statement contains the value that the correction rejects ("not on the 7th").
"""
_NOTES = ("note", "nota")
_TRAILING_DOTS = regex(r"\s*(?:\.{2,}|…)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedStatement:
    """A statement and its source messages. The last source is the message that contains the statement."""

    statement: Statement
    sources: tuple[Message, ...]


def is_spoken_by_user(message: Message) -> bool:
    """Return True if a message is a user's own text.

    Tool output, web pages and files do not count. Neither does a message with an ``action``, a marker such as ``IGNORE``.
    """
    return message.role == "user" and message.origin == "user" and message.action is None


def sourced_statements(messages: Sequence[Message], reader: SentenceReader | None = None) -> list[SourcedStatement]:
    """Return the users' statements in a conversation. A corrected statement is returned only in its corrected form.

    The sentence reader decides which statements are worth keeping. If ``reader`` is None, rules decide.
    """
    found: list[SourcedStatement] = []
    said: list[Message] = []
    for place, message in enumerate(messages):
        if not is_spoken_by_user(message):
            continue
        if retracts(message.text):
            found, said = _without_last_message(found, message), []
        before = _turn_before(message, messages[:place])
        earlier = [each for each in said if each.speaker == message.speaker][-_MAX_MESSAGES_BACK:]
        for each in _statements_in(message, _read(message, before, earlier, reader), [*earlier, *filter(None, [before])]):
            found = _added(found, each)
        said.append(message)
    return _without_repetitions(found)


def _without_repetitions(found: Sequence[SourcedStatement]) -> list[SourcedStatement]:
    """Return the statements without those that repeat another statement of the same speaker.

    The fuller statement stays, or the later one if both say the same. The messages of the other one become sources of it, too.
    """
    kept: list[SourcedStatement] = []
    compared = Repetitions()
    for said in found:
        others = [other for other in kept if other.sources[-1].speaker == said.sources[-1].speaker]
        fuller = next((other for other in others if compared.repeats(said.statement, other.statement)), None)
        repeated = [other for other in others if compared.repeats(other.statement, said.statement)]
        if repeated:
            kept = [other for other in kept if other not in repeated]
            kept.append(_with_sources(said, repeated))
        elif fuller is not None:
            kept[kept.index(fuller)] = _with_sources(fuller, [said])
        else:
            kept.append(said)
    return kept


def _with_sources(each: SourcedStatement, others: Sequence[SourcedStatement]) -> SourcedStatement:
    """Return ``each`` with the sources of ``others`` as further sources. The message that contains ``each`` stays the last one."""
    *more, own = each.sources
    added = [source for other in others for source in other.sources if source != own]
    return replace(each, sources=tuple(dict.fromkeys((*added, *more, own))))


def _statements_in(
    message: Message, said: Sequence[Statement], earlier: Sequence[Message]
) -> Iterator["SourcedStatement | _BareCorrection"]:
    """Yield the statements and the bare corrections of a message. ``said`` contains the statements, without their sources.

    The source of a statement is the message. If a statement quotes an earlier message, that message is also a source. Erasing
    it then also erases the quotation.
    """
    admitted = admits_mistake(fold_clause(message.text))
    found = [replace(each, corrects=each.corrects or admitted) for each in said]
    for each in found:
        sources = (*(other for other in earlier if _is_quoted(other, each.context)), message)
        sourced = SourcedStatement(statement=replace(each, text=repaired_within(each.text)), sources=sources)
        fragment = correction_in(each.text, fold_clause(each.text)) if each.key in _NOTES else None
        yield sourced if fragment is None else _BareCorrection(fragment=fragment, message=message, otherwise=sourced)
    kept = [fold_clause(text).rstrip(".!") for each in found for text in (each.text, each.said) if text]
    for sentence, folded in sentences(message.text):
        fragment = correction_in(sentence, folded)
        if fragment is not None and not any(text in folded or folded.rstrip(".!") in text for text in kept):
            yield _BareCorrection(fragment=fragment, message=message)


def _is_quoted(message: Message, context: str) -> bool:
    """Return True if ``context``, the words before a statement, contains a sentence of a message."""
    told = f" {context}"
    return bool(context) and any(f" {without_lead(each)}" in told for each in split_sentences(message.text))


def _turn_before(message: Message, earlier: Sequence[Message]) -> Message | None:
    """Return the latest earlier message of another speaker. Return None if there is none.

    Also return None if the speaker has already answered it with a message of more than ``_MAX_PART_WORDS`` words. Shorter messages
    are parts of one answer: "yes" and "a dog".
    """
    speaker = (message.role, message.speaker)
    for other in reversed(earlier):
        if (other.role, other.speaker) != speaker:
            return other
        if len(other.text.split()) > _MAX_PART_WORDS:
            return None
    return None


def _read(message: Message, before: Message | None, earlier: Sequence[Message], reader: SentenceReader | None) -> list[Statement]:
    """Return the statements of a message.

    ``before`` is the previous turn, or None. ``earlier`` are the speaker's last messages before this one.
    """
    if reader is None:
        return statements(message)
    told = "" if before is None else words_to_answer(before.text)
    return read_statements(message, before=told, reader=reader, earlier=[each.text for each in earlier])


@dataclass(frozen=True, slots=True, kw_only=True)
class _BareCorrection:
    """A correction that names only the new value: "no, on Tuesday"."""

    fragment: str
    message: Message
    otherwise: SourcedStatement | None = None
    """The statement to use if the correction applies to no earlier statement. None: the correction is then dropped."""


def _added(found: list[SourcedStatement], new: "SourcedStatement | _BareCorrection") -> list[SourcedStatement]:
    if isinstance(new, _BareCorrection):
        return _repair_last(found, new)
    if new.statement.corrects:
        found = [each for each in found if not _restates(new, each)]
    return [*found, new]


def _repair_last(found: list[SourcedStatement], bare: _BareCorrection) -> list[SourcedStatement]:
    for place in range(len(found) - 1, max(-1, len(found) - 1 - _MAX_STATEMENTS_BACK), -1):
        old = found[place]
        if old.sources[-1].speaker != bare.message.speaker:
            continue
        text = repaired(old.statement.text, bare.fragment)
        if text is not None:
            text = with_right_days(text, old.sources[-1].at)
            sources = tuple(dict.fromkeys((*old.sources, bare.message)))
            new = SourcedStatement(statement=replace(old.statement, text=_TRAILING_DOTS.sub("", text)), sources=sources)
            return [*found[:place], new, *found[place + 1 :]]
    return found if bare.otherwise is None else [*found, bare.otherwise]


def _restates(new: SourcedStatement, old: SourcedStatement) -> bool:
    """Return True if ``new``, a correction, is a new version of ``old``, an earlier statement by the same speaker."""
    if new.sources[-1].speaker != old.sources[-1].speaker:
        return False
    if new.sources == old.sources and new.statement.text == old.statement.text:
        return False
    rejected = fold_clause(rejected_value(new.statement.text))
    words = [re.findall(r"\w+", fold_clause(each.statement.text)) for each in (new, old)]
    if rejected and re.search(rf"(?<!\w){re.escape(rejected)}(?!\w)", fold_clause(old.statement.text)):
        return _word_overlap(*words) >= _MIN_SHARED_WITH_REJECTED
    if new.statement.key == old.statement.key and new.statement.key in _SINGLE_VALUE_KEYS:
        return words[0][:_MIN_SHARED_START] == words[1][:_MIN_SHARED_START]
    return new.sources != old.sources and _word_overlap(*words) >= _MIN_SHARED_WORDS


def _word_overlap(words: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of words that two statements have in common (Jaccard index). Numbers are ignored."""
    one, other = ({word for word in each if word.isalpha()} for each in (words, others))
    return len(one & other) / max(1, len(one | other))


def _without_last_message(found: list[SourcedStatement], message: Message) -> list[SourcedStatement]:
    """Return the statements that remain after ``message`` has retracted some of them.

    ``message`` retracts all statements of one earlier message: the latest message in which the same speaker stated
    something.
    """
    mine = [each for each in found if each.sources[-1].speaker == message.speaker]
    last = mine[-1].sources[-1].id if mine else None
    return [each for each in found if each.sources[-1].id != last]
