"""Messages that the user asked not to keep.

These messages stay in the window until their session ends. They are not indexed or recalled, and nothing is extracted from
them. They are erased when their session ends. If the session never ends, they are erased after some minutes.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from holdfast.consent.forget import Terms
from holdfast.forgetting.erase import remove_derived
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, MessageFilter, Reads, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.text.consent.reach import Reach
from holdfast.types import OFF_RECORD, Author, Message, Retire, SessionRecord
from holdfast.write import Writer

__all__ = [
    "OFF_RECORD_UNTIL",
    "PAUSE",
    "after_pause",
    "erase_older",
    "erase_withheld",
    "is_withheld",
    "turn_before",
    "withhold_previous",
]

OFF_RECORD_UNTIL = "off_record"
"""Metadata key of a session for the messages that will be withheld.

The value ``rest`` means all messages until the user lifts the wish. ``next`` means only the user's next message.
"""
PAUSE = timedelta(minutes=7)
"""Time without a message after which an off-the-record wish lapses, in a session that never ends.

Without this limit, a device that is told "don't save this" would never learn anything again. Other sessions end by
themselves after the same time.
"""
_REASON = "the user asked not to keep it"
_MAX_REPLIES = 50
_MAX_EARLIER = 400
"""Maximum number of earlier messages among which those about a subject are looked for."""
_MIN_SHARE = 0.5
"""Lowest share of the subject's terms, from 0 to 1, that a message about it must contain."""
"""Maximum number of messages to withhold together: the user's previous message and the replies to it."""


def after_pause(session: SessionRecord, preset: Preset, now: datetime) -> SessionRecord:
    """Return the session, without its off-the-record wish if that wish has lapsed.

    A wish lapses only in a session that never ends, after seven minutes without a message (``PAUSE``).
    """
    lapses = preset.idle_after is None and now - session.last_at >= PAUSE
    return with_state(session, **{OFF_RECORD_UNTIL: None}) if lapses and session.metadata.get(OFF_RECORD_UNTIL) else session


def is_withheld(
    role: str, until: str | None, reach: Reach | None, *, after_withheld: bool, lifts: bool = False
) -> tuple[bool, str | None]:
    """Decide whether a message is off the record, and which later messages are.

    Return two values. The first is True if this message is off the record. The second says which later messages are off the
    record: ``"next"`` (the user's next message), ``"rest"`` (all later messages) or None.

    ``role`` is the role of this message. ``until`` is the second value that was returned for the previous message. ``reach``
    says which messages the off-the-record wish in this message covers, and is None without such a wish. ``lifts`` is True if
    this message ends an earlier wish.

    ``after_withheld`` is True if the previous message is off the record. A reply to that message is then off the record as
    well, because a reply can repeat the content.
    """
    is_user = role == "user"
    stays = None if lifts or (is_user and until == "next") else until
    if reach is not None:
        waits = "rest" if reach in ("rest", "all") or stays == "rest" else "next" if reach in ("next", "around") else stays
        return True, waits
    if lifts:
        return False, None
    return until == "rest" or (is_user and until == "next") or (not is_user and after_withheld), stays


def withhold_previous(tx: Transaction, message: Message, preset: Preset, now: datetime) -> list[str]:
    """Withhold the user's previous message and the replies to it. Return the ids of the withheld messages.

    Memories already extracted from these messages are retired now, and erased when the session ends.
    """
    return withhold(tx, turn_before(tx, message), preset, now)


def withhold(tx: Transaction, found: Sequence[Message], preset: Preset, now: datetime) -> list[str]:
    """Withhold messages. Return their ids. Memories already extracted from them are retired now, and erased when the session ends."""
    for action in {each.action for each in found} - {OFF_RECORD}:
        tx.set_action([each.id for each in found if each.action == action], OFF_RECORD, instead_of=action)
    _retire_derived(tx, [each.id for each in found], preset, now)
    return [each.id for each in found]


def turns_about(reads: Reads, message: Message, subject: str, preset: Preset) -> list[Message]:
    """Return the speaker's earlier messages of the same session that are about a subject, and the replies to them.

    A message is about the subject if it contains enough of its words: as many as the best message does, but at least half of them.
    """
    stored = message.seq - 1 if message.seq else None
    wanted = MessageFilter(session=message.session, exactly=message.scope, up_to_seq=stored, newest=_MAX_EARLIER)
    earlier, terms = reads.messages(wanted), Terms(subject, preset.languages)
    own = {each.id: terms.share(each.text) for each in earlier if _is_same_speaker(each, message)} if terms.wanted else {}
    floor = max(_MIN_SHARE, max(own.values(), default=0.0))
    found, is_about = [], False
    for each in earlier:
        is_about = own[each.id] >= floor if each.id in own else is_about and each.role != message.role
        found += [each] if is_about else []
    return found


def turn_before(reads: Reads, message: Message) -> list[Message]:
    """Return the previous message of the speaker of ``message``, and the replies to that previous message.

    It makes no difference whether ``message`` itself is already stored.
    """
    stored = message.seq - 1 if message.seq else None
    earlier = reads.messages(MessageFilter(session=message.session, exactly=message.scope, up_to_seq=stored, newest=_MAX_REPLIES))
    places = [place for place, each in enumerate(earlier) if _is_same_speaker(each, message)]
    return earlier[places[-1] :] if places else []


def _is_same_speaker(one: Message, other: Message) -> bool:
    return (one.role, one.speaker) == (other.role, other.speaker)


def _retire_derived(tx: Transaction, ids: Sequence[str], preset: Preset, now: datetime) -> None:
    derived = tx.memories(MemoryFilter(sources=list(ids))) if ids else []
    own = [memory for memory in derived if set(memory.sources) <= set(ids)]
    writer = Writer(tx=tx, preset=preset, author=Author(actor="user"), now=now)
    writer.apply([Retire(id=memory.id, status="forgotten", reason=_REASON) for memory in own])


def erase_older(tx: Transaction, preset: Preset, before: datetime, now: datetime) -> int:
    """Remove withheld messages that are older than ``before``, in all sessions. Return their number."""
    return _erase(tx, preset, MessageFilter(actions=[OFF_RECORD], before=before), now)


def erase_withheld(tx: Transaction, preset: Preset, session: SessionRecord, now: datetime) -> int:
    """Remove the withheld messages of a session, with everything derived from them. Return their number.

    Their bytes are overwritten in the background after the transaction.
    """
    return _erase(tx, preset, MessageFilter(session=session.id, exactly=session.scope, actions=[OFF_RECORD]), now)


def _erase(tx: Transaction, preset: Preset, wanted: MessageFilter, now: datetime) -> int:
    found = tx.messages(wanted)
    if found:
        remove_derived(tx, preset, [message.id for message in found], now)
    return len(found)
