"""Store imported conversations as sessions.

The messages are stored first, and the session last. If an import is killed, its unfinished conversation has no session,
and nothing is learned from it. Repeating the import stores the missing parts.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.background.digest import Digester
from holdfast.consent.off_record import is_withheld, turn_before, withhold_previous
from holdfast.forgetting.erase import remove_derived
from holdfast.importers.records import Conversation, Said
from holdfast.importers.restore import Outcome
from holdfast.messages import Acts, make_message
from holdfast.presets.base import Preset
from holdfast.protocols import MessageFilter, Reads, Transaction
from holdfast.recall.conversation_state import UNLEARNED_TO, with_state
from holdfast.text.clean import MAX_TEXT, clean_name, one_line
from holdfast.text.consent.reach import Reach
from holdfast.text.secrets.redact import redact
from holdfast.types import OFF_RECORD, Message, Scope, SessionRecord

_CUT = "\n[cut]"


@dataclass(slots=True)
class OpenConversation:
    """The conversation that is being imported."""

    start: Conversation
    scope: Scope
    source: str
    """Name of the format, which is kept in the metadata of the session."""
    learn: bool
    added: int = 0
    """Number of messages that this run has stored."""
    redacted: int = 0
    """Number of stored messages in which secrets were replaced."""
    last_at: datetime | None = None
    previous: Message | None = None
    off_record_until: str | None = None
    """Which later messages are off the record: ``next`` (the user's next message), ``rest`` (all), or None."""
    after_withheld: bool = False
    """True if the last message was off the record."""

    @property
    def id(self) -> str:
        """Id of the session in which the conversation is stored."""
        return clean_name(self.start.id, what="id of the conversation") or ""

    def time_of(self, said: Said, now: datetime) -> datetime:
        """Return the time of the next message, ``said``.

        If the message has no time, use the time of the previous message, or else the start of the conversation, or else
        ``now``.
        """
        return said.at or self.last_at or self.start.at or now


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySaid:
    """An imported message that is ready to be stored. All slow work on its text is done.

    ``reach`` and ``lifts`` contain the user's wish to stay off the record, or to be on the record again. An import obeys no
    other wish about memory.
    """

    message: Message | None = None
    """The message to store. None if the store already has the message, or if the message is empty."""
    reach: Reach | None = None
    """Which messages an off-the-record wish in this message covers. None if it contains no such wish."""
    lifts: bool = False
    """True if this message ends the off-the-record wish: it and later messages are kept again."""


def is_empty(said: Said) -> bool:
    """Return True if a message has neither text nor a payload."""
    return not said.text.strip() and said.payload is None


def find_said(reads: Reads, talk: OpenConversation, said: Said) -> Message | None:
    """Return the stored message with the id of an imported message, or None."""
    wanted = MessageFilter(session=talk.id, exactly=talk.scope, client_id=clean_name(said.id, what="id"))
    return next(iter(reads.messages(wanted)), None)


def make_said(talk: OpenConversation, said: Said, at: datetime, now: datetime) -> Message:
    """Return the message to store for ``said``, a message of the imported conversation ``talk``.

    ``at`` is the time at which the message was said. ``now`` is the time of the import. Call this function before a
    transaction, because it is slow for long texts.
    """
    return make_message(
        talk.id,
        talk.scope,
        now,
        role=said.role,
        text=fitting(said.text),
        at=at,
        speaker=said.speaker,
        id=said.id,
        origin=said.origin,
        action=said.action,
        payload=said.payload,
    )


def add_said(
    tx: Transaction, talk: OpenConversation, said: Said, now: datetime, *, preset: Preset, ready: ReadySaid, acts: Acts
) -> Outcome:
    """Store a message of a conversation, unless it is empty or the session already has a message with this id.

    If the message is off the record, it is not stored. Exception: if the preset has ``keep_off_record``, the message is
    stored but marked, so that it is never recalled.

    Return what was done. A stored message is ``imported``, even if it is off the record. A message that was not stored is
    ``empty``, ``known`` or, if it is off the record, ``withheld``.

    ``ready`` has the prepared message and its wish about the record. ``acts`` classifies the message, for example as a
    question.
    """
    at = talk.time_of(said, now)
    talk.last_at = at
    if is_empty(said):
        return "empty"
    known = find_said(tx, talk, said)
    if known is not None:
        talk.previous = known
        return "known"
    message = ready.message or make_said(talk, said, at, now)
    if _is_off_record(tx, talk, message, ready, preset=preset, now=now):
        if not preset.keep_off_record:
            return "withheld"
        message = replace(message, action=OFF_RECORD)
    own = MessageFilter(session=talk.id, exactly=talk.scope)
    before = talk.previous or next(iter(tx.messages(replace(own, newest=1))), None)
    talk.previous = tx.add_message(acts.with_act(message, before))
    talk.added += 1
    talk.redacted += bool(message.redacted)
    return "imported"


def _is_off_record(
    tx: Transaction, talk: OpenConversation, message: Message, wish: ReadySaid, *, preset: Preset, now: datetime
) -> bool:
    """Return True if an imported message is off the record. ``wish`` has the user's wish in the message, if there is one.

    A wish can also cover the user's previous message and the replies to it. These messages are then removed, or
    withheld if the preset has ``keep_off_record``.
    """
    talk.after_withheld, talk.off_record_until = is_withheld(
        message.role, talk.off_record_until, wish.reach, after_withheld=talk.after_withheld, lifts=wish.lifts
    )
    if wish.reach in ("previous", "around", "all"):
        if preset.keep_off_record:
            withhold_previous(tx, message, preset, now)
        elif found := turn_before(tx, message):
            remove_derived(tx, preset, [each.id for each in found], now)
        talk.previous = None
    return talk.after_withheld


def fitting(text: str) -> str:
    """Return the text, cut to the maximum length of a message."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - len(_CUT)] + _CUT


def close_conversation(tx: Transaction, digester: Digester, talk: OpenConversation, now: datetime) -> Outcome:
    """Store the session of a conversation and queue its digest. Return what was done: ``imported``, ``known`` or ``empty``.

    If no memories are to be learned from the conversation, mark the session as digested instead of queueing a digest.
    """
    known = tx.session(talk.id, talk.scope)
    last = tx.messages(MessageFilter(session=talk.id, exactly=talk.scope, newest=1))
    if not last:
        return "empty"
    if known is not None and not talk.added:
        return "known"
    session = known or _new_session(talk, now)
    ended = talk.last_at or now
    session = replace(session, status="ended", last_at=max(session.last_at, ended), ended_at=ended)
    if not talk.learn:
        session = with_state(replace(session, digested_to=last[0].seq), **{UNLEARNED_TO: last[0].seq, "closed_to": last[0].seq})
    (tx.add_session if known is None else tx.set_session)(session)
    if talk.learn:
        digester.close_session(tx, session, "ended", at=ended)
    return "imported" if known is None else "known"


def _new_session(talk: OpenConversation, now: datetime) -> SessionRecord:
    start = talk.start.at or talk.last_at or now
    title = {"title": redact(one_line(talk.start.title)).text} if talk.start.title else {}
    metadata = {**talk.start.metadata, **title, "imported_from": talk.source}
    return SessionRecord(id=talk.id, scope=talk.scope, started_at=start, last_at=start, metadata=metadata)
