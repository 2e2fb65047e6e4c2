"""Store imported notes (memories of another program) as memories.

A memory keeps the note's id in the other program as ``imported_id`` in its metadata. A later import skips notes with a
known id, even if the memory was forgotten since then. Notes that repeat an existing memory are skipped, too.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.importers.records import Note
from holdfast.importers.restore import Outcome
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, Reads, Transaction
from holdfast.runtime.clock import end_of_day
from holdfast.runtime.priority import with_pauses
from holdfast.types import Author, Kind, Put, Scope
from holdfast.values import Prepared, prepare_unlimited
from holdfast.write import Writer


class NoteWriter:
    """Stores notes (memories of another program).

    A note that repeats an earlier note of the import is skipped, even if the earlier note's memory was forgotten.
    """

    def __init__(self, preset: Preset, scope: Scope, source: str) -> None:
        self._preset = preset
        self._scope = scope
        self._source = source
        self._said: set[tuple[Scope, str]] = set()
        self.redacted = 0
        """Number of stored memories in which secrets were replaced."""

    def prepare(self, reads: Reads, notes: Sequence[Note]) -> list[Prepared | None]:
        """Do the slow work on the texts of notes, before a transaction. Return None for each note that is not stored."""
        known = self._known(reads, notes) if notes else set()
        return [
            None
            if not note.text.strip() or (self._scope_of(note), note.id) in known
            else prepare_unlimited(self._preset, self._put(reads, note))
            for note in with_pauses(notes)
        ]

    def apply(self, tx: Transaction, notes: Sequence[Note], ready: Sequence[Prepared | None], now: datetime) -> list[Outcome]:
        """Store notes. Return for each note what was done, such as ``imported`` or ``known``.

        ``ready`` is the result of :meth:`prepare`.
        """
        writer = Writer(tx=tx, preset=self._preset, author=Author(actor="import"), now=now)
        known = self._known(tx, notes)
        return [self._apply(writer, note, each, known) for note, each in zip(notes, ready, strict=True)]

    def count_known(self, reads: Reads, notes: Sequence[Note]) -> int:
        """Return the number of notes that an earlier import stored."""
        known = self._known(reads, notes)
        return sum((self._scope_of(note), note.id) in known for note in notes)

    def _known(self, reads: Reads, notes: Sequence[Note]) -> set[tuple[Scope, str]]:
        """Return the scope and the id of each of these notes that an earlier import stored."""
        ids = [note.id for note in notes]
        scopes = {self._scope_of(note) for note in notes}
        where = {"imported_id": {"$in": ids}, "imported_from": self._source}
        found = [memory for scope in scopes for memory in reads.memories(MemoryFilter(exactly=scope, statuses=None, where=where))]
        return {(memory.scope, str(memory.metadata["imported_id"])) for memory in found}

    def _apply(self, writer: Writer, note: Note, ready: Prepared | None, known: set[tuple[Scope, str]]) -> Outcome:
        if not note.text.strip():
            return "empty"
        put = ready.put if ready is not None else self._put(writer.tx, note)
        place = (put.scope, writer.identity(put))
        if (put.scope, note.id) in known:
            self._said.add(place)
            return "known"
        if put.expires_at is not None and put.expires_at <= writer.now:
            return "expired"
        if place in self._said or self._is_live(writer, put, place[1]):
            return "repeated"
        self._said.add(place)
        (stored,) = writer.apply([put])
        self.redacted += bool(stored.redacted or (ready is not None and ready.redacted))
        return "imported"

    def _is_live(self, writer: Writer, put: Put, content_hash: str) -> bool:
        wanted = MemoryFilter(exactly=put.scope, content_hash=content_hash, unexpired_at=writer.now)
        return bool(writer.tx.memories(wanted))

    def _scope_of(self, note: Note) -> Scope:
        return replace(
            self._scope,
            user=self._scope.user or note.user,
            app=note.app or self._scope.app,
            agent=self._scope.agent or note.agent,
        )

    def _put(self, reads: Reads, note: Note) -> Put:
        names = {kind.name for kind in self._preset.kinds}
        kind = self._preset.kind(next((name for name in (note.kind, note.other_kind) if name in names), None))
        metadata = dict(note.metadata)
        if note.kind is not None and note.kind != kind.name:
            metadata.setdefault("kind", note.kind)
        if note.key is not None and kind.keyed == "no":
            metadata.setdefault("key", note.key)
        scope = self._scope_of(note)
        return Put(
            scope=scope,
            kind=kind.name,
            text=note.text,
            key=None if kind.keyed == "no" else note.key,
            namespace=note.namespace,
            topic=note.topic,
            importance=note.importance,
            tags=note.tags,
            metadata={**metadata, "imported_id": note.id, "imported_from": self._source},
            origin="import",
            trust=note.trust,
            pinned=note.pinned,
            created_at=note.created_at,
            expires_at=note.expires_at or self._expiry(reads, kind, scope, note.created_at),
            reason=f"imported from {self._source}",
        )

    def _expiry(self, reads: Reads, kind: Kind, scope: Scope, created_at: datetime | None) -> datetime | None:
        """Return the time at which a memory expires: its creation time plus the lifetime of its kind.

        Return None if the kind has no lifetime or the creation time is unknown.
        """
        if kind.lifetime is None or created_at is None:
            return None
        if isinstance(kind.lifetime, timedelta):
            return created_at + kind.lifetime
        return end_of_day(created_at, reads.user(scope.user).timezone if scope.user else "UTC")
