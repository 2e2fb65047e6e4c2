"""Store imported notes (memories of another program) as memories.

A memory keeps the note's id in the other program as ``imported_id`` in its metadata. A later import skips notes with a
known id, even if the memory was forgotten since then. Notes that repeat an existing memory are skipped, too.

A note that is a section of a file is updated if its file was moved or renamed, or if the tags or properties of the file
changed. A memory that somebody has changed, pinned or forgotten since the import stays as it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.importers.moved_files import MovedFiles
from holdfast.importers.records import Conversation, Note
from holdfast.importers.restore import Outcome
from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, Reads, Transaction
from holdfast.runtime.clock import end_of_day
from holdfast.runtime.priority import with_pauses
from holdfast.text.clean import clean_namespace
from holdfast.types import Author, Kind, Memory, Put, Scope
from holdfast.values import Prepared, prepare_unlimited
from holdfast.write import Writer


class NoteWriter:
    """Stores notes (memories of another program).

    A note creates no memory if an earlier import has stored the note, even if its memory has been forgotten since. A note
    also creates no memory if it says the same as an earlier note of the same owner in this import, or as a live memory of the
    owner.
    """

    def __init__(self, preset: Preset, scope: Scope, source: str, default_user: str | None = None) -> None:
        self._preset = preset
        self._scope = scope
        self._source = source
        self._default_user = default_user
        self._said: set[tuple[Scope, str]] = set()
        self._files = MovedFiles(source)
        self._moved: dict[tuple[Scope, str], str] = {}
        """The earlier id of each note whose file was moved, by the scope and the new id of the note."""
        self.redacted = 0
        """Number of stored memories in which secrets were replaced."""

    def check(self, note: Note) -> None:
        """Record the section that a note contains, so that :meth:`find_moved_files` can recognize moved files. Stores nothing."""
        self._files.add(self._scope_of(note), note)

    def find_moved_files(self, reads: Reads) -> None:
        """Find the files that were moved since an earlier import. Before this, call :meth:`check` for every note."""
        self._moved = self._files.find(reads)

    def prepare(self, reads: Reads, notes: Sequence[Note]) -> list[Prepared | None]:
        """Do the slow work on the texts of notes, before a transaction.

        Return one entry for each note: the prepared memory, or None if the note is not to be stored.
        """
        known = self._known(reads, notes) if notes else {}
        return [self._prepare(reads, note, known.get((self._scope_of(note), note.id))) for note in with_pauses(notes)]

    def _prepare(self, reads: Reads, note: Note, stored: Memory | None) -> Prepared | None:
        if not note.text.strip():
            return None
        if stored is None:
            return prepare_unlimited(self._preset, self._put(reads, note))
        return self._update(reads, note, stored) if note.file is not None else None

    def _update(self, reads: Reads, note: Note, stored: Memory) -> Prepared | None:
        """Return the change that updates the memory of a section. Return None if there is nothing to update.

        Also return None if the memory must not be updated: it is pinned or retired, or somebody has changed it since the
        import. ``note`` is the imported section, and ``stored`` is the memory that an earlier import has stored for it.
        """
        put = self._put(reads, note)
        if not _can_change(stored) or not _differs(stored, put):
            return None
        ready = prepare_unlimited(self._preset, put)  # cleaned and redacted, like the memory
        if not _differs(stored, ready.put) or any(each.author.actor != "import" for each in reads.changes(memory=stored.id)):
            return None
        change = replace(
            ready.put,
            replaces=(stored.id,),
            emptied=frozenset() if ready.put.tags else frozenset({"tags"}),
            created_at=stored.created_at,
            valid_from=stored.valid_from,
        )
        return replace(ready, put=change)

    def apply(self, tx: Transaction, notes: Sequence[Note], ready: Sequence[Prepared | None], now: datetime) -> list[Outcome]:
        """Store notes. Return for each note what was done, such as ``imported`` or ``known``.

        ``ready`` is the result of :meth:`prepare`.
        """
        writer = Writer(tx=tx, preset=self._preset, author=Author(actor="import"), now=now)
        known = self._known(tx, notes)
        return [self._apply(writer, note, each, known) for note, each in zip(notes, ready, strict=True)]

    def count_known(self, reads: Reads, notes: Sequence[Note]) -> Counter[Outcome]:
        """Count the notes that an earlier import has already stored.

        A note that this import would change counts as ``updated``, any other as ``known``. Nothing is stored.
        """
        known = self._known(reads, notes)
        counts: Counter[Outcome] = Counter()
        for note in notes:
            stored = known.get((self._scope_of(note), note.id))
            if stored is not None:
                counts["known" if self._prepare(reads, note, stored) is None else "updated"] += 1
        return counts

    def _known(self, reads: Reads, notes: Sequence[Note]) -> dict[tuple[Scope, str], Memory]:
        """Return the memories of those notes that an earlier import has already stored.

        The result maps the scope and the id of a note to its memory. Other notes are left out.
        """
        places = [(self._scope_of(note), note.id) for note in notes]
        ids = [*(id for _, id in places), *(self._moved[place] for place in places if place in self._moved)]
        where = {"imported_id": {"$in": ids}, "imported_from": self._source}
        found: dict[tuple[Scope, str], Memory] = {}
        for scope in {scope for scope, _ in places}:
            for memory in reads.memories(MemoryFilter(exactly=scope, statuses=None, where=where)):
                place = (memory.scope, str(memory.metadata["imported_id"]))
                if place not in found or found[place].status == "superseded":
                    found[place] = memory
        return {place: current for place in places if (current := self._current(found, place)) is not None}

    def _current(self, found: Mapping[tuple[Scope, str], Memory], place: tuple[Scope, str]) -> Memory | None:
        """Return the stored memory of a note, or None. ``place`` is the scope and the id of the note.

        ``found`` maps the scope and the id of notes to their stored memories. If the file of the note was moved, there can be
        two memories: one from the new path, and one from the old path. Normally the one from the new path is returned. If there
        is none, or if it was superseded, the one from the old path is returned.
        """
        own = found.get(place)
        if place not in self._moved or (own is not None and own.status != "superseded"):
            return own
        return found.get((place[0], self._moved[place])) or own

    def _apply(self, writer: Writer, note: Note, ready: Prepared | None, known: Mapping[tuple[Scope, str], Memory]) -> Outcome:
        if not note.text.strip():
            return "empty"
        stored = known.get((self._scope_of(note), note.id))
        if stored is not None and ready is None and stored.revision == 1:  # the hash of the note, without cleaning it again
            self._said.add((stored.scope, stored.content_hash))
            return "known"
        put = ready.put if ready is not None else self._put(writer.tx, note)
        place = (put.scope, writer.identity(put))
        if stored is not None and (stored.id not in put.replaces or not _can_change(stored) or place in self._said):
            self._said.add(place)
            return "known"
        if put.expires_at is not None and put.expires_at <= writer.now:
            return "expired"
        if stored is None and (place in self._said or self._is_live(writer, put, place[1])):
            return "repeated"
        self._said.add(place)
        (memory,) = writer.apply([put])
        self.redacted += bool(memory.redacted or (ready is not None and ready.redacted))
        return "imported" if stored is None else "updated"

    def _is_live(self, writer: Writer, put: Put, content_hash: str) -> bool:
        wanted = MemoryFilter(exactly=put.scope, content_hash=content_hash, unexpired_at=writer.now)
        return bool(writer.tx.memories(wanted))

    def _scope_of(self, note: Note) -> Scope:
        return owner_of(note, self._scope, self._default_user)

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


def owner_of(record: Note | Conversation, chosen: Scope, default_user: str | None) -> Scope:
    """Return the scope of a record.

    ``chosen`` is the scope that was chosen for the whole import. Its user and agent take precedence over those of the
    record. For the app, the record takes precedence. If the result has no user, app or agent, the record belongs to the
    default user.
    """
    owner = replace(chosen, user=chosen.user or record.user, app=record.app or chosen.app, agent=chosen.agent or record.agent)
    has_owner = owner.user or owner.app or owner.agent
    return owner if has_owner else replace(owner, user=default_user)


def _can_change(memory: Memory) -> bool:
    return memory.status == "live" and not memory.pinned


def _differs(memory: Memory, put: Put) -> bool:
    """Return True if storing ``put`` would give the memory another text, namespace, tags or metadata."""
    have = (memory.text, memory.namespace, memory.tags, memory.metadata)
    return have != (put.text, clean_namespace(put.namespace), put.tags, put.metadata)
