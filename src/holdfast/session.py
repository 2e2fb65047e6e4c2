"""A session: adding messages, recall and context within a conversation."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self, cast

from holdfast import by_id
from holdfast.errors import Conflict, HoldfastError, InvalidInput, NotFound
from holdfast.protocols import MessageFilter, Transaction
from holdfast.recall.conversation_state import ConversationState, conversation_state, with_state
from holdfast.recall.listing import Kinds, kind_names
from holdfast.runtime.clock import as_utc
from holdfast.runtime.ids import new_id
from holdfast.services import Services
from holdfast.text.clean import clean_name, clean_payload, clean_text
from holdfast.text.dialogue_acts import asked_in, classify_act, split_acts
from holdfast.text.fields import check_fields, naming
from holdfast.text.language import detect_language
from holdfast.text.secrets.fields import Redactor
from holdfast.types import TRUST, Context, Hits, Message, MessageOrigin, NewMessage, Scope, SessionRecord

log = logging.getLogger("holdfast")
_ORIGIN_OF_ROLE: dict[str, MessageOrigin] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "file"}


class Session:
    """One conversation. Returned by ``Engine.session()``.

    ::

        with memory.session(user="ana") as session:
            session.add("user", "I moved to Lyon last month.")
            print(session.context())

    The session ends when the block ends, also after an exception. With ``off_record``, nothing is stored.
    """

    def __init__(self, services: Services, *, id: str, scope: Scope, off_record: bool = False) -> None:
        self._services = services
        self._unrecorded: list[Message] = []
        self.id = id
        """The session's id. ``Engine.session(id=...)`` resumes it."""
        self.scope = scope
        """The tenant, user, app and agent that the session belongs to."""
        self.off_record = off_record
        """True if nothing from the session is stored."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.end()
        except HoldfastError:
            if error is None:
                raise
            log.warning("Session %s could not be ended. Its messages are stored, and it is closed once it is idle.", self.id)

    def __repr__(self) -> str:
        return f"<holdfast.Session {self.id}{', off the record' if self.off_record else ''}>"

    def begin(self) -> SessionRecord:
        """Store the session before its first message. :meth:`add` does this if needed."""
        now = self._services.clock.now()
        new = SessionRecord(id=self.id, scope=self.scope, started_at=now, last_at=now)
        if self.off_record:
            return new
        with self._services.store.write() as tx:
            known = tx.session(self.id, self.scope)
            if known is None:
                tx.add_session(new)
        return known or new

    def add(
        self,
        role: str,
        text: str = "",
        *,
        at: datetime | str | None = None,
        speaker: str | None = None,
        id: str | None = None,
        origin: MessageOrigin | None = None,
        action: str | None = None,
        payload: Any = None,
        redact: bool = True,
    ) -> Message:
        """Add a message. It is durable when the call returns. A message with the same ``id`` is stored only once.

        ``at`` is the time of the message; an import passes the original time. ``payload`` is JSON that is returned as given. It
        is neither searched nor used for extraction, and secrets in it are not redacted. With a payload, the text may be empty.
        Secrets such as passwords in other fields are redacted, and ``redacted`` of the returned message lists them.
        ``redact=False`` stores them as they are.
        """
        made = self._made(
            role=role, text=text, at=at, speaker=speaker, id=id, origin=origin, action=action, payload=payload, redact=redact
        )  # fmt: skip
        return self._add([made])[0]

    def add_all(self, messages: Iterable[NewMessage]) -> list[Message]:
        """Add several messages in one transaction: all are stored or none. Each is a dict with the arguments of :meth:`add`."""
        made = []
        for number, message in enumerate(messages):
            with naming(f"messages[{number}]"):
                made.append(self._made(**check_fields(message, NewMessage)))
        return self._add(made)

    def pop(self) -> Message | None:
        """Remove the last message and return it, or None if the session has no messages.

        The message is erased with everything derived from it; this cannot be undone.
        """
        if self.off_record:
            return self._unrecorded.pop() if self._unrecorded else None
        while last := self.messages(limit=1):
            try:
                receipt = by_id.erase_target(self._services, source=last[0].id, owner={}, rewrite=False)
            except NotFound:  # another process removed it meanwhile
                continue
            if receipt.residue:
                log.warning("The message %s was removed, but %s may still contain it.", last[0].id, ", ".join(receipt.residue))
            if receipt.messages:
                return last[0]
        return None

    def _made(
        self,
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
        """Check the fields of a message and return it."""
        now = self._services.clock.now()
        message = Message(
            id=new_id("msg", now),
            session=self.id,
            scope=self.scope,
            role=_required(role, "role"),
            text=clean_text(text, may_be_empty=payload is not None),
            at=now if at is None else as_utc(at, what="at"),
            speaker=clean_name(speaker, what="speaker"),
            client_id=clean_name(id, what="id"),
            origin=_origin(role, origin),
            action=clean_name(action, what="action"),
            payload=clean_payload(payload),
        )
        message = _redacted(message) if redact else message
        return replace(message, language=detect_language(message.text))

    def _add(self, messages: Sequence[Message]) -> list[Message]:
        if self.off_record:
            self._unrecorded += messages
            return list(messages)
        if not messages:
            return []
        with self._services.store.write() as tx:
            stored = [_earlier(tx, message) or self._store(tx, message) for message in messages]
        self._services.scheduler.wake()
        return [_with_redactions(kept, message) for kept, message in zip(stored, messages, strict=True)]

    def _store(self, tx: Transaction, message: Message) -> Message:
        known, now = tx.session(self.id, self.scope), self._services.clock.now()
        if known is None:
            session = SessionRecord(id=self.id, scope=self.scope, started_at=message.at, last_at=now)
            tx.add_session(session)
        else:
            session = replace(known, status="open", ended_at=None, last_at=now)
            tx.set_session(session)
        stored = tx.add_message(_with_act(message, tx.messages(MessageFilter(session=self.id, exactly=self.scope, newest=1))))
        self._services.digester.after_message(tx, session, stored)
        return stored

    def messages(self, *, limit: int | None = None) -> list[Message]:
        """Return the messages of the session, oldest first. With ``limit``, return only the last ``limit`` messages."""
        wanted = MessageFilter(session=self.id, exactly=self.scope, newest=limit)
        if self.off_record:
            first = 0 if limit is None else max(len(self._unrecorded) - limit, 0)
            return self._unrecorded[first:]
        return self._services.store.messages(wanted)

    def window(self) -> list[Message]:
        """Return the most recent messages, which the prompt contains after the context block."""
        messages = self.messages(limit=self._services.preset.window)
        if self.off_record:
            return messages
        window_from = self._state().window_from
        return [message for message in messages if message.seq > window_from]

    def clear_window(self) -> None:
        """Clear the window. From now on, the window contains only new messages. Earlier messages stay stored."""
        if self.off_record:
            self._unrecorded.clear()
            return
        with self._services.store.write() as tx:
            session, last = (
                tx.session(self.id, self.scope),
                tx.messages(MessageFilter(session=self.id, exactly=self.scope, newest=1)),
            )
            if session is not None and last:
                tx.set_session(with_state(session, window_from=last[0].seq))

    def recall(self, query: str, *, limit: int = 10, kind: Kinds = None, kinds: Kinds = None, min_score: float = 0.0) -> Hits:
        """Return the memories and messages that are relevant to a query, best first. Messages of this session are left out."""
        return self._services.reader.recall(
            self.scope, query, limit=limit, kinds=kind_names(kind, kinds), min_score=min_score, without_session=self.id
        )

    def context(
        self,
        query: str | None = None,
        *,
        max_tokens: int | None = None,
        state: str | None = None,
        persona: str | None = None,
    ) -> Context:
        """Return a context block for the system prompt. Without a query, the user's last message is the query.

        ``persona`` is put at the start of the block. ``state`` is the current state of the host application, such as sensor
        readings. Only some presets show the state in the block.
        """
        if query is None:
            texts = [message.text for message in self.messages(limit=20) if message.role == "user" and message.text.strip()]
            query = texts[-1] if texts else ""
        conversation = ConversationState() if self.off_record else self._state()
        context = self._services.reader.context(
            self.scope,
            query,
            max_tokens=max_tokens,
            without_session=self.id,
            state=state,
            persona=persona,
            conversation=conversation,
        )
        if self._services.preset.recall.accumulates and not self.off_record:
            self._save_state(conversation, context)
        if not self.off_record:
            self._services.reader.note_shown(self.id, self.scope, context)
        return context

    def _state(self) -> ConversationState:
        return conversation_state(self._services.store.session(self.id, self.scope))

    def _save_state(self, state: ConversationState, context: Context) -> None:
        """Record which memories were recalled, so that later context blocks include them again.

        The write is not durable. If it is lost, the memories can be recalled again.
        """
        kinds = self._services.preset.recall.kinds or ()
        found = [hit.id for hit in (*context.hits, *context.left_out) if hit.memory and hit.is_relevant and hit.kind in kinds]
        new = [id for id in found if id not in state.recalled_ids]
        if not new or state.topic is not None:
            return
        with self._services.store.write(durable=False) as tx:
            session = tx.session(self.id, self.scope)
            if session is not None and session.status == "open":
                tx.set_session(with_state(session, recalled=[*conversation_state(session).recalled_ids, *new]))

    def digest(self) -> None:
        """Queue a job that extracts memories from the messages so far. The session stays open."""
        if self.off_record:
            return
        with self._services.store.write() as tx:
            session = tx.session(self.id, self.scope)
            if session is not None:
                self._services.digester.digest_so_far(tx, session)
        self._services.scheduler.wake()

    def end(self) -> None:
        """End the session and queue a job that extracts memories from it.

        When the call returns, the end of the session and the job are durable.
        """
        if self.off_record:
            self._unrecorded.clear()
            return
        with self._services.store.write() as tx:
            session = tx.session(self.id, self.scope)
            if session is None or session.status == "ended":
                return
            self._services.digester.close_session(tx, session, "ended")
        self._services.scheduler.wake()


def resume(services: Services, record: SessionRecord) -> Session:
    """Return the session for a record that was already read from the store."""
    services.topic_files.use(record.scope)
    return Session(services, id=record.id, scope=record.scope)


def _redacted(message: Message) -> Message:
    """Return a message without secrets. It lists what was replaced."""
    redactor = Redactor()
    clean = replace(
        message,
        role=redactor.text("role", message.role),
        speaker=redactor.name("speaker", message.speaker),
        text=redactor.text("text", message.text),
        action=redactor.name("action", message.action),
    )
    return replace(clean, redacted=redactor.found)


def _with_redactions(stored: Message, message: Message) -> Message:
    return replace(stored, redacted=message.redacted) if message.redacted else stored


def _earlier(tx: Transaction, message: Message) -> Message | None:
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


def _with_act(message: Message, previous: Sequence[Message]) -> Message:
    """Return a message with its dialogue act. If the message before it ends with a question, that question is added.

    ``previous`` contains the message before this one, or nothing.
    """
    before = next((each for each in previous if each.action is None and _can_answer(message, each)), None)
    act = classify_act(message.text, None if before is None else before.text)
    asks = bool(split_acts(message.text)[0])
    asked = asked_in(before.text) if before is not None and act in ("reply", "statement") else None
    return replace(message, act=act, asks=asks, asked=asked, answers=before.seq if before is not None and asked else None)


def _can_answer(message: Message, question: Message) -> bool:
    """Return True if a message can answer the message before it: a user answers the assistant, people answer each other."""
    if message.speaker or question.speaker:
        return message.speaker != question.speaker
    return message.role == "user" and question.role == "assistant"


def _origin(role: str, origin: str | None) -> MessageOrigin:
    chosen = origin or _ORIGIN_OF_ROLE.get(role, "user")
    if chosen not in TRUST:
        raise InvalidInput(f"origin must be one of {', '.join(TRUST)}, not {chosen!r}.")
    return cast("MessageOrigin", chosen)


def _required(name: str, what: str) -> str:
    cleaned = clean_name(name, what=what)
    if cleaned is None:
        raise InvalidInput(f"{what} is missing.")
    return cleaned
