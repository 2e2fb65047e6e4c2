"""Extract memories without a chat model: as quotes, as sentences in the third person, or as key-value pairs."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from holdfast.learning.change_reader import ChangeReader, ToldChange, ends_memory
from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.confirmed import confirmed_observations
from holdfast.learning.statements.conversation import SourcedStatement, is_spoken_by_user, sourced_statements
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.relative_dates import spans_in
from holdfast.text.stated_dates import begin_and_end
from holdfast.text.third_person.rewrite import bare_predicate, observed, third_person
from holdfast.types import Message, Put

__all__ = ["extract_conclusions", "extract_key_values", "extract_statements", "extract_typed_facts", "is_spoken_by_user"]

_NAMES_USER = regex(r"(?:the user|el usuario|la usuaria|al usuario|a la usuaria)\b")
_NEAR = timedelta(days=14)
_ISO_DAY = len("2026-05-09")
_TEMPORARY_KEYS = frozenset(("plan", "event", "evento"))


def extract_statements(messages: Sequence[Message], reader: SentenceReader | None = None) -> list[Put]:
    """Propose a memory for each statement, in the user's own words."""
    return [
        _put(each, kind=each.statement.kind, text=_in_third_person(each) if each.statement.observed else each.statement.text)
        for each in _sourced(messages, reader)
    ]


def extract_typed_facts(messages: Sequence[Message], reader: SentenceReader | None = None) -> list[Put]:
    """Propose a memory for each statement in the messages.

    The memory's text is a standalone sentence in the third person. Its metadata has the type of the statement, such as
    ``preference`` or ``event``.
    """
    return [
        _put(each, kind="fact", text=_in_third_person(each), metadata={"type": each.statement.type})
        for each in _sourced(messages, reader)
    ]


def extract_key_values(messages: Sequence[Message], reader: SentenceReader | None = None) -> list[Put]:
    """Propose a memory for each lasting fact: a key, and a value in the third person.

    A short-lived plan or event is skipped, except in two cases. If it ends a known fact, as a move does, it becomes a memory
    with the key of that fact. If there is a sentence reader, and the plan or event is not within two weeks, it becomes a
    memory with its own key.
    """
    found = []
    for each in _sourced(messages, reader):
        key: str | None = each.statement.key
        if each.statement.kind != "fact" or each.statement.temporary or key in _TEMPORARY_KEYS:
            ended = _ended_by(each, reader)
            key = ended.key if ended is not None else None if reader is None or _is_near(each) else key
        if key is not None:
            found.append(_put(each, kind="fact", key=key, text=_value(each)))
    return found


def _is_near(each: SourcedStatement) -> bool:
    """Return True if a statement names a day within two weeks of the message: "I have the dentist tomorrow"."""
    at = each.sources[-1].at
    if spans_in(each.statement.text, at):
        return True
    day = begin_and_end(each.statement.text, at, is_event=True, past=each.statement.happened).get("happened_at", "")
    return len(day) == _ISO_DAY and abs(date.fromisoformat(day) - at.date()) <= _NEAR


def _ended_by(each: SourcedStatement, reader: SentenceReader | None) -> ToldChange | None:
    """Find the known memory that a statement makes outdated. Return its area of life (such as ``work``) and its key, or None."""
    if not isinstance(reader, ChangeReader):
        return None
    said = each.statement.said or each.statement.text
    ended = reader.ended_by(said)
    if ended is None and ends_memory(reader, each.sources[-1], said):
        ended = reader.ended_by(said)
    return ended


def extract_conclusions(messages: Sequence[Message], reader: SentenceReader | None = None) -> list[Put]:
    """Propose a memory for each statement, and for each observation of the assistant that the user confirmed.

    The memories are sentences in the third person.
    """
    return [_put(each, kind="conclusion", text=_in_third_person(each)) for each in _sourced(messages, reader)]


def _sourced(messages: Sequence[Message], reader: SentenceReader | None) -> list[SourcedStatement]:
    return [*sourced_statements(messages, reader), *confirmed_observations(messages, reader)]


def _in_third_person(each: SourcedStatement) -> str:
    text, language, speaker = each.statement.text, each.statement.language, each.sources[-1].speaker
    if each.statement.observed:
        return observed(text, language, subject=speaker)
    rewritten = third_person(text, language, subject=speaker)
    if _is_faithful(each, rewritten):
        return rewritten
    subject = speaker or ("El usuario" if language == "es" else "The user")
    return f"{subject} {_report(each)}"


def _value(each: SourcedStatement) -> str:
    if each.statement.observed:
        return _in_third_person(each)
    if not _is_faithful(each, third_person(each.statement.text, each.statement.language, subject=each.sources[-1].speaker)):
        return _report(each)
    return bare_predicate(each.statement.text, each.statement.language, key=each.statement.key)


def _is_faithful(each: SourcedStatement, rewritten: str) -> bool:
    """Return True if ``rewritten``, a statement in the third person, certainly has the right subject.

    The subject is right if a rule found the statement, or if ``rewritten`` begins with the user. It is also right if the
    statement has its own subject and ``rewritten`` begins with the same word. Otherwise the subject can be wrong: the
    statement may have had no subject, or its first word may have been dropped as filler.
    """
    if each.statement.ruled:
        return True
    first = fold_clause(each.statement.text).split()[0]
    names_user = _NAMES_USER.match(fold_clause(rewritten)) is not None or rewritten.startswith(each.sources[-1].speaker or "\0")
    return names_user or (not each.statement.elided and fold_clause(rewritten).split()[0] == first)


def _report(each: SourcedStatement) -> str:
    text = each.statement.text.strip()
    return f"dijo: «{text}»" if each.statement.language == "es" else f'said: "{text}"'


def _put(each: SourcedStatement, *, kind: str, text: str, key: str | None = None, metadata: dict[str, Any] | None = None) -> Put:
    last = each.sources[-1]
    speaker = {"speaker": last.speaker} if last.speaker else {}
    reason = (
        "asked to remember" if each.statement.asked else "confirmed" if each.statement.observed else "stated in the conversation"
    )
    return Put(
        scope=last.scope,
        kind=kind,
        key=key,
        text=text,
        importance=each.statement.importance,
        trust=min(message.trust for message in each.sources if message.role == "user"),
        sources=tuple(message.id for message in each.sources),
        language=last.language or each.statement.language,
        valid_from=last.at,
        metadata={
            **speaker,
            **(metadata or {}),
            **begin_and_end(
                each.statement.text,
                last.at,
                is_event=each.statement.kind == "event" or each.statement.happened,
                past=each.statement.happened,
            ),
        },
        reason=reason,
    )
