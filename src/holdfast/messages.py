"""Check the fields of messages and classify messages before they are stored."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from holdfast.errors import Conflict, InvalidInput
from holdfast.protocols import MessageFilter, Transaction
from holdfast.runtime.clock import as_utc
from holdfast.runtime.ids import new_id
from holdfast.runtime.priority import with_pauses
from holdfast.runtime.regex import regex
from holdfast.text.clean import clean_label, clean_name, clean_payload, clean_text
from holdfast.text.dialogue_acts import asked_in, classify_act, split_acts
from holdfast.text.language import detect_language
from holdfast.text.secrets.fields import Redactor
from holdfast.types import TRUST, Act, Message, MessageOrigin, Scope

_ORIGIN_OF_ROLE: dict[str, MessageOrigin] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "file",
    "developer": "file",
}
"""Maps roles, in lower case, to the origin of their messages. Other roles are names of tools or of people."""
_TOOL_ROLE = regex(
    r"(?:^|[\s_.:-])(?:tools?|functions?|observations?|ipython|python|code|interpreter|search|results?|outputs?|web|browser|page|retriev\w*"
    r"|documents?|context|data|environment|env|plugins?|mcp|api|log)(?:$|[\s_.:-])"
)
"""Matches a role that names a tool. Frameworks use many such roles. The text of a tool must not count as the user's words."""


def make_message(
    session: str,
    scope: Scope,
    now: datetime,
    *,
    role: str,
    text: str = "",
    at: datetime | str | None = None,
    speaker: str | None = None,
    id: str | None = None,
    origin: MessageOrigin | None = None,
    action: str | None = None,
    payload: Any = None,
    redact: bool = True,
) -> Message:
    """Check the fields of a message and return the message. Secrets are replaced, unless ``redact`` is False.

    ``id`` is an id that the caller chose for the message, or None.
    """
    message = Message(
        id=new_id("msg", now),
        session=session,
        scope=scope,
        role=_required(role, "role"),
        text=clean_text(text, may_be_empty=payload is not None, expected="a text that is not only spaces, or a payload"),
        at=now if at is None else as_utc(at, what="at"),
        speaker=clean_label(speaker, what="speaker"),
        client_id=clean_name(id, what="id"),
        origin=_origin(role, origin),
        action=clean_label(action, what="action"),
        payload=clean_payload(payload),
    )
    message = _redacted(message) if redact else message
    return replace(message, language=detect_language(message.text))


def _redacted(message: Message) -> Message:
    """Return a message with its secrets replaced. The returned message lists the replacements."""
    redactor = Redactor()
    clean = replace(
        message,
        role=redactor.text("role", message.role),
        speaker=redactor.name("speaker", message.speaker),
        text=redactor.text("text", message.text),
        action=redactor.name("action", message.action),
    )
    return replace(clean, redacted=redactor.found)


def with_redactions(stored: Message, message: Message) -> Message:
    """Return ``stored``, with the list of replaced secrets (``redacted``) copied from ``message``.

    The store does not keep this list.
    """
    return replace(stored, redacted=message.redacted) if message.redacted else stored


def earlier(tx: Transaction, message: Message) -> Message | None:
    """Return the message that was already added with the same client id, or None. Raise ``Conflict`` if its content differs."""
    if message.client_id is None:
        return None
    found = tx.messages(MessageFilter(session=message.session, exactly=message.scope, client_id=message.client_id))
    if not found:
        return None
    if (found[0].role, found[0].text, found[0].payload) != (message.role, message.text, message.payload):
        raise Conflict(
            f"This session already has a message with id {message.client_id!r} and other content. "
            "Nothing was stored; use a new id for a new message."
        )
    return found[0]


class Acts:
    """Classifies the dialogue acts of messages, such as question or statement, and caches the results.

    With the cache, a caller can classify messages before it begins the transaction that stores them.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str | None], tuple[Act, bool, str | None]] = {}

    def classify_ahead(self, messages: Iterable[Message], previous: Message | None) -> None:
        """Classify consecutive messages and cache the results. ``previous`` is the message before the first one."""
        for message in with_pauses(messages):
            self._classify(message.text, _question_before(message, previous))
            previous = message

    def with_act(self, message: Message, previous: Message | None) -> Message:
        """Return a copy of a message with its dialogue act, such as ``statement`` or ``reply``.

        If the message answers a question in ``previous``, the copy also has the text of that question (``asked``).
        """
        before = _question_before(message, previous)
        act, asks, asked = self._classify(message.text, before)
        return replace(message, act=act, asks=asks, asked=asked, answers=before.seq if before is not None and asked else None)

    def _classify(self, text: str, before: Message | None) -> tuple[Act, bool, str | None]:
        key = (text, None if before is None else before.text)
        if key not in self._known:
            act = classify_act(*key)
            asked = asked_in(before.text) if before is not None and act in ("reply", "statement") else None
            self._known[key] = act, bool(split_acts(text)[0]), asked
        return self._known[key]


def _question_before(message: Message, previous: Message | None) -> Message | None:
    """Return ``previous`` if ``message`` can be an answer to it, otherwise None."""
    return previous if previous is not None and previous.action is None and _can_answer(message, previous) else None


def _can_answer(message: Message, question: Message) -> bool:
    """Return True if ``message`` can be an answer to ``question``, the message before it.

    If the messages name their speakers, the speakers must differ. Otherwise, ``message`` must be from the user, and
    ``question`` from the assistant. Text of a tool, a web page or a file cannot be answered.
    """
    if question.origin not in ("user", "assistant"):
        return False
    if message.speaker or question.speaker:
        return message.speaker != question.speaker
    return message.role == "user" and question.role == "assistant"


def _origin(role: str, origin: str | None) -> MessageOrigin:
    name = role.strip().casefold()
    chosen = origin or _ORIGIN_OF_ROLE.get(name) or ("tool" if _TOOL_ROLE.search(name) else "user")
    if chosen not in TRUST:
        raise InvalidInput(f"origin must be one of {', '.join(TRUST)}, not {chosen!r}.")
    return cast("MessageOrigin", chosen)


def _required(name: str, what: str) -> str:
    cleaned = clean_name(name, what=what)
    if cleaned is None:
        raise InvalidInput(f"{what} is missing.")
    return cleaned
