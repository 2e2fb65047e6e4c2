"""Headings of sessions: a title, and the time of the last message.

The title comes from an import or, if there is none, from the first message that is not small talk.
"""

from datetime import datetime

from holdfast.filters import MessageFilter
from holdfast.protocols import Store
from holdfast.text.clean import one_line
from holdfast.text.sentences import split_sentences
from holdfast.types import Message, SessionRecord

_MAX_READ = 12
"""Maximum number of messages, from the start of a session, that are read to find a title."""
_MAX_CHARACTERS = 70
_MIN_CUT = 30
"""A title is cut between words, unless the last space is before this position."""


def said_at(store: Store, session: SessionRecord) -> datetime | None:
    """Return the time of the session's last message, or None if the session has no messages.

    After an import, this differs from the time of the session's last activity.
    """
    found = store.messages(MessageFilter(session=session.id, exactly=session.scope, newest=1))
    return found[0].at if found else None


def title_of(store: Store, session: SessionRecord) -> str | None:
    """Return a title for a session: the given title in its metadata, or else a sentence from one of the user's first messages.

    Small talk and messages with an action are skipped. Return None if this leaves no message.
    """
    given = session.metadata.get("title")
    if isinstance(given, str) and given.strip():
        return _short(one_line(given))
    wanted = MessageFilter(session=session.id, exactly=session.scope, actions=(None,), oldest=_MAX_READ)
    said = [each for each in store.messages(wanted) if each.role == "user" and each.text.strip()]
    telling = [each for each in said if each.act != "small_talk"]
    chosen = next((each for each in telling if each.act == "statement"), next(iter(telling), None))
    return _short(_first_sentence(chosen)) if chosen is not None else None


def _first_sentence(message: Message) -> str:
    """Return the first sentence of a message. Sentences of one or two words are skipped.

    If the message has only such short sentences, return the message as one line. Only the first 2000 characters are used.
    """
    sentences = [one_line(each) for each in split_sentences(message.text[:2000])]
    return next((each for each in sentences if len(each.split()) > 2), one_line(message.text[:2000]))


def _short(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text.rstrip(".")
    cut = text[: _MAX_CHARACTERS - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space >= _MIN_CUT else cut).rstrip(" ,.;:") + "…"
