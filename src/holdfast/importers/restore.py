"""Store the entries of Holdfast's own export unchanged, with their ids, times, revisions and history.

Entries that the store already has are skipped, so that an import can be repeated.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from holdfast.errors import InvalidInput
from holdfast.exporters.entries import (
    Entry,
    JobEntry,
    MemoryEntry,
    MessageEntry,
    RevisionEntry,
    SessionEntry,
    SummarizedEntry,
)
from holdfast.exporters.walk import effect_place, effect_with
from holdfast.learning.summaries.progress import summarized_setting
from holdfast.presets.base import Preset
from holdfast.presets.plain_kinds import RECORDED, read_kinds, write_kinds
from holdfast.protocols import MemoryFilter, MessageFilter, TraceFilter, Transaction
from holdfast.text.chunks import SEPARATOR
from holdfast.text.index_terms import TextAndLanguage
from holdfast.types import AppRecord, Kind, Memory, Put, Trace, UserProfile
from holdfast.values import identity

Outcome: TypeAlias = Literal["imported", "updated", "known", "repeated", "expired", "empty", "withheld"]
"""What an import did with a record.

``imported`` and ``updated``: the store was changed. ``known``: an earlier import stored the record. ``repeated``: the store has
the same text already. ``expired``: the lifetime of the record is over. ``empty``: the record has no content. ``withheld``: the
message is off the record, so it was not stored.
"""


def searched_texts(entry: object) -> list[TextAndLanguage]:
    """Return the texts that an entry adds to the full-text index. Only messages and memories have such texts."""
    if isinstance(entry, MessageEntry):
        return [(entry.message.text, entry.message.language)]
    if not isinstance(entry, MemoryEntry):
        return []
    memories = [revision.memory for revision in entry.revisions]
    return [(str(each) if each.indexed is None else SEPARATOR.join(each.indexed), each.language) for each in memories]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Stores the entries of a Holdfast export in one transaction."""

    tx: Transaction
    preset: Preset

    def apply(self, entry: Entry) -> Outcome:
        """Store an entry, unless the store already has it. Return what was done, such as ``imported`` or ``known``."""
        if isinstance(entry, UserProfile):
            return self._user(entry)
        if isinstance(entry, AppRecord):
            return self._app(entry)
        if isinstance(entry, MessageEntry):
            return self._message(entry)
        if isinstance(entry, SessionEntry):
            return self._session(entry)
        return self._rest(entry)

    def _rest(self, entry: SummarizedEntry | MemoryEntry | JobEntry | Trace) -> Outcome:
        if isinstance(entry, Trace):
            return self._trace(entry)
        if isinstance(entry, SummarizedEntry):
            return self._summarized(entry)
        return self._memory(entry) if isinstance(entry, MemoryEntry) else self._job(entry)

    def _trace(self, trace: Trace) -> Outcome:
        if self.tx.traces(TraceFilter(ids=(trace.id,))):
            return "known"
        self.tx.add_trace(trace)
        return "imported"

    def _user(self, profile: UserProfile) -> Outcome:
        stored = self.tx.user(profile.user)
        if stored == profile or stored != UserProfile(user=profile.user):
            return "known"
        self.tx.set_user(profile)
        return "imported"

    def _app(self, app: AppRecord) -> Outcome:
        if self.tx.app(app.app) is not None:
            return "known"
        self.tx.set_app(app)
        return "imported"

    def _message(self, entry: MessageEntry) -> Outcome:
        message = entry.message
        if self.tx.messages(MessageFilter(ids=(message.id,))):
            return "known"
        own = MessageFilter(session=message.session, exactly=message.scope, client_id=message.client_id)
        if message.client_id is not None and self.tx.messages(own):
            return "known"
        answers = self._numbers([entry.answers] if entry.answers else [])
        self.tx.add_message(replace(message, answers=answers.get(entry.answers or "")))
        return "imported"

    def _numbers(self, ids: Collection[str]) -> dict[str, int]:
        """Return the sequence numbers of these messages, by message id. Messages that the store does not have are left out."""
        return {message.id: message.seq for message in self.tx.messages(MessageFilter(ids=ids))} if ids else {}

    def _session(self, entry: SessionEntry) -> Outcome:
        session = entry.session
        if self.tx.session(session.id, session.scope) is not None:
            return "known"
        places = self._places(entry.places)
        digested_to = places.pop("digested_to", 0)
        self.tx.add_session(replace(session, digested_to=digested_to, metadata={**session.metadata, **places}))
        return "imported"

    def _places(self, places: Mapping[str, str]) -> dict[str, Any]:
        numbers = self._numbers(set(places.values()))
        return {name: numbers[id] for name, id in places.items() if id in numbers}

    def _summarized(self, entry: SummarizedEntry) -> Outcome:
        name, numbers = summarized_setting(entry.scope), self._numbers([entry.up_to])
        if self.tx.setting(name) is not None or entry.up_to not in numbers:
            return "known"
        self.tx.set_setting(name, str(numbers[entry.up_to]))
        return "imported"

    def _memory(self, entry: MemoryEntry) -> Outcome:
        memory = entry.memory
        if self.tx.memories(MemoryFilter(ids=(memory.id,), statuses=None)):
            return "known"
        if memory.status == "live" and self._taken(memory):
            return "repeated"
        for revision in entry.revisions:
            self.tx.add_revision(self._revision(revision))
            if revision.change is not None:
                self.tx.add_change(revision.change)
        return "imported"

    def _taken(self, memory: Memory) -> bool:
        """Return True if the store already has a live memory with the same content as this one.

        If the kind allows one value per key, a live memory with the same key also counts.
        """
        wanted = [MemoryFilter(exactly=memory.scope, content_hash=self._identity(memory))]
        if self.preset.kind(memory.kind).keyed == "one":
            own = MemoryFilter(exactly=memory.scope, kinds=(memory.kind,), key=memory.key, namespace=memory.namespace)
            wanted.append(own)
        return any(self.tx.memories(each) for each in wanted)

    def _revision(self, entry: RevisionEntry) -> Memory:
        metadata = {**entry.memory.metadata, **self._places(entry.covers)}
        return replace(entry.memory, metadata=metadata, content_hash=self._identity(entry.memory))

    def _identity(self, memory: Memory) -> str:
        put = Put(scope=memory.scope, kind=memory.kind, text=memory.text, key=memory.key, namespace=memory.namespace)
        return identity(self.preset.kind(memory.kind), put)

    def _job(self, entry: JobEntry) -> Outcome:
        job, place = entry.job, effect_place(entry.job.effect)
        numbers = self._numbers([place] if place else [])
        effect = effect_with(job.effect, numbers.get(place or ""))
        payload = {**job.payload, **self._places(entry.places)}
        if job.kind == "digest":
            payload.setdefault("from", 0)
        if self.tx.jobs(ids=(job.id,)):
            return "known"
        return "imported" if self.tx.add_job(replace(job, payload=payload, effect=effect)) else "known"


def record_kind(tx: Transaction, kind: Kind) -> None:
    """Record a plain kind (its memories are stored exactly as given), so that the store has this kind whenever it is opened."""
    recorded = read_kinds(tx.setting(RECORDED))
    if kind.name not in recorded:
        tx.set_setting(RECORDED, write_kinds([*recorded.values(), kind]))


def check_kinds(preset: Preset, entry: MemoryEntry) -> None:
    """Raise InvalidInput if the preset does not have the kind of one of the memory's revisions."""
    known = {kind.name for kind in preset.kinds}
    for revision in entry.revisions:
        if revision.memory.kind not in known:
            raise InvalidInput(
                f"The preset {preset.name!r} has no kind {revision.memory.kind!r}. "
                "Open the memory with the preset that the first line of the export names, and with the kinds that your program adds "
                "to it. Nothing was imported."
            )
