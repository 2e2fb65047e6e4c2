"""Read the wishes about memory in new messages, and obey them in the transaction that stores the messages.

Reading a wish runs a model and recalls the memories and messages to forget. This is slow, so it is done before the
transaction.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from holdfast.consent.forget import About
from holdfast.consent.off_record import (
    OFF_RECORD_UNTIL,
    after_pause,
    is_withheld,
    turns_about,
    withhold,
    withhold_previous,
)
from holdfast.consent.plans import Plan, Planner, may_wish_in
from holdfast.forgetting.targets import own_sources
from holdfast.learning.input_filter import own_words
from holdfast.learning.placement import PROJECT, placed
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, Store, Transaction
from holdfast.recall.conversation_state import with_state
from holdfast.runtime.priority import with_pauses
from holdfast.types import (
    FORGETTING,
    FORGOTTEN,
    OFF_RECORD,
    Author,
    Change,
    Consent,
    Memory,
    Message,
    Put,
    Retire,
    Scope,
    SessionRecord,
)
from holdfast.write import Writer

__all__ = ["Wishes"]

_FORGET_REASON: Final = "the user asked to forget it"


class Wishes:
    """Reads and obeys users' wishes about memory."""

    def __init__(self, planner: Planner, store: Store, preset: Preset, clock: Clock) -> None:
        self._planner = planner
        self._store = store
        self._preset = preset
        self._clock = clock

    def read(self, messages: Sequence[Message], session: str, scope: Scope, *, last: Message | None) -> list[Plan]:
        """Return, for each message, its wish and the data needed to obey the wish.

        Only the user's own words can contain a wish. ``last`` is the last stored message of the session.
        """
        if not any(map(may_wish_in, messages)):
            return [Plan()] * len(messages)
        # While the user is off the record, the last message is withheld. Otherwise the session need not be read.
        record = self._store.session(session, scope) if last is not None and last.action == OFF_RECORD else None
        paused = record is not None and self.after_pause(record).metadata.get(OFF_RECORD_UNTIL) == "rest"
        plans: list[Plan] = []
        for message in with_pauses(messages):
            plan = Plan()
            if may_wish_in(message):
                own = replace(message, text=own_words(message.text))  # the sender of a pasted e-mail makes no wishes
                plan = self._planner.plan(own, last, paused=paused) if may_wish_in(own) else plan
            plans.append(plan)
            paused = (paused or (plan.wish is not None and plan.wish.reach in ("rest", "all"))) and not plan.lifts
            last = message
        return plans

    def after_pause(self, session: SessionRecord) -> SessionRecord:
        """Return the session, without its off-the-record wish if that wish has lapsed.

        A wish lapses only in a session that never ends, after seven minutes without a message.
        """
        return after_pause(session, self._preset, self._clock.now())

    def mark(self, session: SessionRecord, message: Message, last: Message | None, plan: Plan) -> tuple[Message, SessionRecord]:
        """Mark a message if it is off the record or asks to forget something. Return the message and the session.

        If the wish changes which later messages are off the record, the returned session's metadata says so. ``last`` is the
        previous message of the session, or None. ``plan`` has the wish in the message.
        """
        off_record = plan.wish is not None and plan.wish.wish == "off_record"
        withheld, until = is_withheld(
            message.role,
            session.metadata.get(OFF_RECORD_UNTIL),
            plan.wish.reach if plan.wish is not None and off_record else None,
            after_withheld=last is not None and last.action == OFF_RECORD,
            lifts=plan.lifts or (plan.wish is not None and not off_record and session.metadata.get(OFF_RECORD_UNTIL) == "next"),
        )
        if session.metadata.get(OFF_RECORD_UNTIL) != until:
            session = with_state(session, **{OFF_RECORD_UNTIL: until})
        if withheld:
            return replace(message, action=OFF_RECORD), session
        if plan.wish is not None and plan.wish.wish == "forget" and message.action is None and not plan.tells_more:
            return replace(message, action=FORGETTING), session
        return message, session

    def obey(self, tx: Transaction, session: SessionRecord, stored: Message, plan: Plan) -> Message:
        """Obey the wish in a stored message. Return the message with a record of what was done in its field ``consent``."""
        if stored.action == OFF_RECORD:
            if plan.wish is None:
                return stored
            ids = [stored.id]
            if plan.part:
                about = turns_about(tx, stored, plan.part, self._preset)
                ids = [*withhold(tx, about, self._preset, self._clock.now()), *ids]
            if plan.wish.reach in ("previous", "around", "all"):
                ids = [*withhold_previous(tx, stored, self._preset, self._clock.now()), *ids]
            return replace(stored, consent=Consent(wish="off_record", messages=tuple(ids)))
        consent = Consent(wish="resume") if plan.lifts else None
        if plan.wish is not None and plan.wish.wish == "forget":
            consent = self._forget(tx, plan.about)
        elif plan.puts:
            consent = self._remember(tx, placed(plan.puts, project=session.metadata.get(PROJECT)))
        return replace(stored, consent=consent) if consent else stored

    def _remember(self, tx: Transaction, puts: Sequence[Put]) -> Consent:
        writer = self._writer(tx)
        batch = writer.new_batch()
        memories = writer.apply(puts, batch=batch)
        return Consent(wish="remember", memories=tuple(memories), undo=batch if tx.changes(batch=batch) else None)

    def _forget(self, tx: Transaction, about: About) -> Consent:
        """Retire the memories about a subject, or remove the subject from their text. Hide the messages about the subject.

        The source messages of retired memories are hidden, too. Notes that the preset derived from them are forgotten.
        """
        ids = [memory.id for memory, _ in about.memories]
        present = {memory.id: memory.revision for memory in tx.memories(MemoryFilter(ids=ids))} if ids else {}
        taken = [each for each in about.memories if present.get(each[0].id) == each[0].revision]
        writer = self._writer(tx)
        batch = writer.new_batch()
        memories = writer.apply([_cut(writer, memory, remainder) for memory, remainder in taken], batch=batch)
        retired = [memory for memory in memories if memory.status == "forgotten"]
        writer.apply(self._notes_on(tx, retired), batch=batch)
        sources = own_sources(tx, retired) | {message.id for message in about.messages}
        hidden = tx.messages(MessageFilter(ids=list(sources), actions=[None])) if sources else []
        tx.set_action([message.id for message in hidden], f"{FORGOTTEN}:{batch}")
        return Consent(
            wish="forget",
            memories=tuple(memory for memory, _ in taken),
            messages=tuple(message.id for message in hidden),
            undo=batch if memories or hidden else None,
        )

    def _notes_on(self, tx: Transaction, retired: Sequence[Memory]) -> list[Retire]:
        """Return the changes that forget the preset's own notes, such as those on recent topics, about forgotten memories."""
        internal = [kind.name for kind in self._preset.kinds if kind.internal]
        if not internal or not retired:
            return []
        notes = tx.memories(MemoryFilter(kinds=internal, sources=[memory.id for memory in retired]))
        return [Retire(id=note.id, status="forgotten", reason=_FORGET_REASON) for note in notes]

    def _writer(self, tx: Transaction) -> Writer:
        return Writer(tx=tx, preset=self._preset, author=Author(actor="user"), now=self._clock.now())


def _cut(writer: Writer, memory: Memory, remainder: str) -> Change:
    """Return the change that shortens a memory to ``remainder``, the text to keep.

    If ``remainder`` is empty, or if another memory already has this text, return the change that forgets the memory.
    """
    retire = Retire(id=memory.id, status="forgotten", reason=_FORGET_REASON)
    if not remainder:
        return retire
    put = Put(id=memory.id, scope=memory.scope, kind=memory.kind, key=memory.key, text=remainder, reason=_FORGET_REASON)
    twins = writer.tx.memories(MemoryFilter(exactly=memory.scope, content_hash=writer.identity(put)))
    return retire if any(twin.id != memory.id for twin in twins) else put
