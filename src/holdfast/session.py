"""A session: adding messages, recall and context within a conversation."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from holdfast.by_id.erasing import erase_target
from holdfast.consent.off_record import OFF_RECORD_UNTIL
from holdfast.consent.plans import Plan
from holdfast.errors import HoldfastError, NotFound
from holdfast.messages import Acts, earlier, make_message, with_redactions
from holdfast.protocols import MessageFilter, Reads, Transaction
from holdfast.recall.conversation_state import ConversationState, conversation_state, with_state
from holdfast.recall.listing import Kinds, kind_names
from holdfast.runtime.priority import with_pauses
from holdfast.services import Services
from holdfast.text.clean import clean_metadata, required_query
from holdfast.text.fields import check_fields, naming
from holdfast.text.index_terms import tokenized
from holdfast.types import NOISE, Context, Hits, Message, MessageOrigin, NewMessage, Receipt, Scope, SessionRecord, is_forgotten

log = logging.getLogger("holdfast")


class Session:
    """One conversation. Returned by ``Engine.session()``.

    ::

        with memory.session(user="ana") as session:
            session.add("user", "I moved to Lyon last month.")
            print(session.context())

    The session ends when the block ends, even after an exception. With ``off_record``, nothing is stored.
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

    def begin(self, *, metadata: Mapping[str, Any] | None = None) -> SessionRecord:
        """Store the session before its first message. :meth:`add` does this if needed.

        ``metadata`` is stored with a new session. An existing session keeps its metadata.
        """
        now = self._services.clock.now()
        new = SessionRecord(id=self.id, scope=self.scope, started_at=now, last_at=now, metadata=clean_metadata(metadata or {}))
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

        ``at`` is the time of the message; an import passes the original time. ``payload`` is JSON that is returned as
        given. It is neither searched nor used for extraction, and secrets in it are not redacted. With a payload, the
        text may be empty. Secrets such as passwords in other fields are redacted, and ``redacted`` of the returned
        message lists them. ``redact=False`` stores them as they are.

        A user's wish about memory, such as "don't save this", "forget ..." or "remember ...", is obeyed at once.
        ``consent`` of the returned message describes the result.
        """
        made = self._made(
            role=role, text=text, at=at, speaker=speaker, id=id, origin=origin, action=action, payload=payload, redact=redact
        )  # fmt: skip
        return self._add([made])[0]

    def add_all(self, messages: Iterable[NewMessage]) -> list[Message]:
        """Add several messages in one transaction: all are stored or none. Each is a dict with the arguments of :meth:`add`."""
        made = []
        for number, message in enumerate(with_pauses(messages)):
            with naming(f"messages[{number}]"):
                made.append(self._made(**check_fields(message, NewMessage)))
        return self._add(made)

    def pop(self) -> Message | None:
        """Remove the last message and return it. Return None if the session has no messages.

        The message is erased with everything derived from it. This cannot be undone.
        """
        if self.off_record:
            return self._unrecorded.pop() if self._unrecorded else None
        while last := self.messages(limit=1):
            try:
                receipt = erase_target(self._services, source=last[0].id, owner={}, rewrite=False)
            except NotFound:  # another process removed it meanwhile
                continue
            if receipt.residue:
                log.warning("The message %s was removed, but %s may still contain it.", last[0].id, ", ".join(receipt.residue))
            if receipt.messages:
                return last[0]
        return None

    def erase(self) -> Receipt:
        """Erase the session with everything derived from it. This cannot be undone. The next message starts the session again.

        Raises :class:`holdfast.NotFound` if nothing of the session is stored.
        """
        if self.off_record:
            self._unrecorded.clear()
            return Receipt(target={"session": self.id}, at=self._services.clock.now())
        return erase_target(self._services, session=self.id, owner={}, reader=self.scope)

    def _made(self, **fields: Any) -> Message:
        """Build a message of this session. Raise an error if a field is invalid or the text is too long."""
        self._services.limits.check_text(fields.get("text"))
        return make_message(self.id, self.scope, self._services.clock.now(), **fields)

    def _add(self, messages: Sequence[Message]) -> list[Message]:
        if self.off_record:
            self._unrecorded += messages
            return list(messages)
        if not messages:
            return []
        last, acts = self._last_message(self._services.store), Acts()
        plans = self._services.wishes.read(messages, self.id, self.scope, last=last)
        acts.classify_ahead(messages, last)
        texts = ((message.text, message.language) for message in messages if message.text.strip())
        with tokenized(with_pauses(texts)), self._services.store.write() as tx:
            stored = self._store(tx, messages, plans, acts)
        self._services.scheduler.wake()
        return [with_redactions(kept, message) for kept, message in zip(stored, messages, strict=True)]

    def _last_message(self, reads: Reads) -> Message | None:
        return next(iter(reads.messages(MessageFilter(session=self.id, exactly=self.scope, newest=1))), None)

    def _store(self, tx: Transaction, messages: Sequence[Message], plans: Sequence[Plan], acts: Acts) -> list[Message]:
        """Store messages, and obey the wishes in them, such as "forget that". Return the stored messages.

        If a message with the same client id is already stored, that message is returned instead. Raise ``Conflict`` if its
        content differs.

        ``plans`` has one plan per message: the wish in the message, if any, and the data needed to obey it. ``acts`` has
        the dialogue acts of the messages. Other writers wait for this transaction, so it is kept short. The session is read and
        written once, and messages without a wish are written together. A preset that extracts memories at each turn writes
        each message separately.
        """
        stored: list[Message] = []
        unwritten: list[tuple[Message, SessionRecord]] = []
        session: SessionRecord | None = None
        last: Message | None = None
        numbers: Iterator[int] = iter(())
        wishes, each_turn = self._services.wishes, self._services.preset.extract_at == "turn"
        for message, plan in zip(messages, plans, strict=True):
            if message.client_id is not None and any(message.client_id == other.client_id for other, _ in unwritten):
                self._write(tx, unwritten)
            if (known := earlier(tx, message)) is not None:
                stored.append(known)
                continue
            if session is None:
                session, last = self._opened(tx, message), self._last_message(tx)
                numbers = iter(tx.new_seqs(self.scope, len(messages) - len(stored)))
            marked, session = wishes.mark(session, message, last, plan)
            last = replace(acts.with_act(marked, last), seq=next(numbers))
            unwritten.append((last, session))
            if plan.is_empty and not each_turn:
                stored.append(last)
                continue
            self._write(tx, unwritten)
            stored.append(wishes.obey(tx, session, last, plan))
        self._write(tx, unwritten)
        if session is not None:
            tx.set_session(session)
        return stored

    def _write(self, tx: Transaction, unwritten: list[tuple[Message, SessionRecord]]) -> None:
        """Write the messages in ``unwritten``, queue the jobs for them, and empty the list."""
        if unwritten:
            tx.add_messages([message for message, _ in unwritten])
        for message, session in unwritten:
            self._services.digester.after_message(tx, session, message)
        unwritten.clear()

    def _opened(self, tx: Transaction, message: Message) -> SessionRecord:
        """Return the record of this session, with the status "open" and the current time as its last activity.

        If the session is not stored yet, store it. ``message`` is the new message; a new session starts at the time of this
        message.
        """
        known, now = tx.session(self.id, self.scope), self._services.clock.now()
        new = SessionRecord(id=self.id, scope=self.scope, started_at=message.at, last_at=now)
        if known is None:
            tx.add_session(new)
            return new
        return replace(self._services.wishes.after_pause(known), status="open", ended_at=None, last_at=now)

    def messages(self, *, limit: int | None = None) -> list[Message]:
        """Return the messages of the session, oldest first. With ``limit``, return only the last ``limit`` messages."""
        wanted = MessageFilter(session=self.id, exactly=self.scope, newest=limit)
        if self.off_record:
            first = 0 if limit is None else max(len(self._unrecorded) - limit, 0)
            return self._unrecorded[first:]
        return self._services.store.messages(wanted)

    def window(self) -> list[Message]:
        """Return the most recent messages. They follow the context block in the prompt.

        Two types of messages are left out: forgotten messages, and messages that were not meant for the assistant, such as
        background noise.
        """
        size = limit = self._services.preset.window
        if self.off_record:
            return self.messages(limit=size)
        window_from = self._state().window_from
        while True:
            messages = self.messages(limit=limit)
            shown = [
                message
                for message in messages
                if message.seq > window_from and message.action != NOISE and not is_forgotten(message.action)
            ]
            if len(shown) >= size or len(messages) < limit or messages[0].seq <= window_from:
                return shown[-size:]
            limit *= 4

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

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        kind: Kinds = None,
        kinds: Kinds = None,
        min_score: float = 0.0,
        untrusted: bool = False,
    ) -> Hits:
        """Return the memories and messages that are relevant to a query, best first. Messages of this session are left out.

        ``untrusted`` is as in :meth:`Engine.recall`.
        """
        return self._services.reader.recall(
            self.scope,
            required_query(query),
            limit=limit,
            kinds=kind_names(kind, kinds),
            min_score=min_score,
            untrusted=untrusted,
            without_session=self.id,
        )

    def context(
        self,
        query: str | None = None,
        *,
        max_tokens: int | None = None,
        state: str | None = None,
        persona: str | None = None,
        untrusted: bool = False,
    ) -> Context:
        """Return a context block for the system prompt. Without a query, the user's last message is the query.

        ``persona`` is put at the start of the block. ``state`` is the current state of the host application, such as
        sensor readings. Only some presets show the state in the block. ``untrusted`` is as in :meth:`Engine.recall`;
        presets with a custom layout ignore it.
        """
        said = [message for message in self.messages(limit=20) if message.role == "user" and message.text.strip()]
        if query is None:
            query = said[-1].text if said else ""
        record = None if self.off_record else self._services.store.session(self.id, self.scope)
        asked = said[-1] if said and said[-1].text == query else None
        withheld = asked is not None and asked.action is not None
        conversation = conversation_state(record)
        conversation = replace(conversation, language=next((message.language for message in said if message.language), None))
        context = self._services.reader.context(
            self.scope,
            query,
            max_tokens=max_tokens,
            without_session=self.id,
            state=state,
            persona=persona,
            conversation=conversation,
            untrusted=untrusted,
            message=asked.id if asked else None,
            off_record=self.off_record or withheld or bool(record and record.metadata.get(OFF_RECORD_UNTIL)),
        )
        if self._services.preset.recall.accumulates and not self.off_record:
            self._save_state(conversation, context)
        if not self.off_record:
            self._services.reader.uses.note_shown(self.id, self.scope, context)
        return context

    def _state(self) -> ConversationState:
        return conversation_state(self._services.store.session(self.id, self.scope))

    def _save_state(self, state: ConversationState, context: Context) -> None:
        """Add the ids of newly recalled memories to the session, so that later context blocks include these memories, too.

        ``context`` contains the recalled memories. Only relevant memories of the kinds that the preset recalls are added.
        ``state`` is the state of the conversation before the recall. Nothing is added if the conversation has a topic, or if
        the session is not open.

        The write is not durable. If it is lost, later context blocks include a memory only if it is recalled again.
        """
        kinds = self._services.preset.recall.kinds or ()
        recalled = (*context.hits, *(hit for hit in context.left_out if hit.left_out_by != "limit"))
        found = [hit.id for hit in recalled if hit.memory and hit.is_relevant and hit.kind in kinds]
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
    """Return a ``Session`` object for a stored session. ``record`` is its record from the store."""
    services.topic_files.use(record.scope)
    return Session(services, id=record.id, scope=record.scope)
