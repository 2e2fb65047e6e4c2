"""Run an import in two passes: check and count everything first, then store it in batches.

An error in the file is found in the first pass, before anything is stored. Each batch is one transaction. To continue
an import that was killed, run it again: records that the store already has are skipped.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from holdfast.errors import InvalidInput, ModelError
from holdfast.exporters.entries import JobEntry, MemoryEntry, MessageEntry, SessionEntry
from holdfast.importers.conversations import (
    OpenConversation,
    ReadySaid,
    add_said,
    close_conversation,
    find_said,
    is_empty,
    make_said,
)
from holdfast.importers.notes import NoteWriter, owner_of
from holdfast.importers.records import Conversation, FileWarning, Found, Note, Record, Said, SkippedFile
from holdfast.importers.restore import Outcome, Restore, check_kinds, record_kind, searched_texts
from holdfast.learning.wishes import lifts_off_record, read_wish
from holdfast.messages import Acts
from holdfast.presets.plain_kinds import adopt_kinds, with_kinds
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, Store, TraceFilter, Transaction
from holdfast.runtime.priority import with_pauses
from holdfast.text.index_terms import tokenized
from holdfast.types import Kind, Scope, Trace
from holdfast.types.translatable import translatable
from holdfast.values import Prepared

if TYPE_CHECKING:
    from holdfast.background.digest import Digester
    from holdfast.presets.base import Preset

_BATCH_SIZE = 200
"""Maximum number of records per transaction. Other writers wait for a transaction, so it must be short."""
_BATCH_CHARACTERS = 200_000
"""Number of characters of text at which a batch ends."""
_NEVER = datetime(1, 1, 1, tzinfo=UTC)

Progress: TypeAlias = Callable[[int, int], None]
"""Callback that receives the number of records processed so far, and the total number of records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCounts:
    """Counts for one type of data. The fields from ``imported`` to ``empty`` add up to ``found``, except in a dry run."""

    found: int = 0
    imported: int = 0
    updated: int = 0
    """Number of memories that were changed because their file was moved or renamed, or because its tags or properties changed."""
    known: int = 0
    """Number of records that the store already had. Imported memories that were forgotten later count, too."""
    repeated: int = 0
    """Number of memories that were not stored, because they say the same as another memory."""
    expired: int = 0
    withheld: int = 0
    """Number of messages that the user asked not to keep. They are not stored."""
    empty: int = 0
    redacted: int = 0
    """Number of imported records in which secrets were replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """Result of an import."""

    format: str
    dry_run: bool = False
    memories: ImportCounts = field(default_factory=ImportCounts)
    messages: ImportCounts = field(default_factory=ImportCounts)
    sessions: ImportCounts = field(default_factory=ImportCounts)
    others: ImportCounts = field(default_factory=ImportCounts)
    """Counts of the users, apps, jobs and traces in an export of Holdfast."""
    learning: int = 0
    """Number of imported sessions from which background work will learn."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files that were not imported, because they are templates."""
    warnings: tuple[FileWarning, ...] = ()
    """Files that were imported without some of their properties, because these are not valid YAML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The records of an import, the name of their format, and the target scope. The records can be read twice."""

    name: str
    records: Callable[[], Iterator[Found]]
    scope: Scope
    default_user: str | None = None
    """User of records that name no user, app or agent."""
    shared: bool = True
    """If True, all users share a record without a user, app and agent. If False, such a record is an error."""


class Import:
    """One run of an import."""

    def __init__(self, store: Store, preset: "Preset", clock: Clock, digester: "Digester", source: Source) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._digester = digester
        self._source = source
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in ("memories", "messages", "sessions", "others")}
        self._notes = NoteWriter(preset, source.scope, source.name, source.default_user)
        self._talk: OpenConversation | None = None
        self._newest: set[str] | None = None
        self._learning = 0
        self._skipped: list[SkippedFile] = []
        self._warnings: list[FileWarning] = []
        self.vectors: dict[str, bytes] = {}
        """Vectors of imported memories, by text."""
        self._ready: dict[int, ReadySaid] = {}
        """The messages of the current batch that are ready to be stored, by the ``id()`` of their record."""
        self._acts = Acts()
        self._before = ""
        """Text of the previous message if the assistant wrote it, otherwise empty."""
        self._paused = False

    def run(self, *, learn: int | None = None, dry_run: bool = False, progress: Progress | None = None) -> ImportResult:
        """Check all records, then store them.

        Before any memory is stored, the plain kinds of the file are added to the engine's preset. The engine then knows
        that memories of these kinds must stay unchanged. ``learn`` is the maximum number of conversations to learn from;
        None means all.

        With ``dry_run``, nothing is stored. The result then says how many records there are, and how many of them the store
        already has. It also lists skipped files and warnings.
        """
        own, total = self._preset, self._check(learn)
        if not dry_run:
            adopt_kinds(own, self._preset.kinds)
        done = 0
        records = (record for record in self._source.records() if not isinstance(record, SkippedFile | FileWarning))
        for batch in _batches(records, _BATCH_SIZE):
            if dry_run:
                self._look_up(batch)
            else:
                self._store_batch(batch)
            done += len(batch)
            if progress is not None:
                progress(done, total)
        if self._talk is not None and not dry_run:
            with self._store.write() as tx:
                self._close(tx)
        self._counts["memories"]["redacted"] = self._notes.redacted
        found = {name: ImportCounts(**counts) for name, counts in self._counts.items()}
        return ImportResult(
            format=self._source.name,
            dry_run=dry_run,
            learning=self._learning,
            skipped=tuple(self._skipped),
            warnings=tuple(self._warnings),
            **found,
        )

    def _store_batch(self, batch: Sequence[Record]) -> None:
        """Store records in one transaction. All slow work on their texts is done before the transaction starts."""
        now = self._clock.now()
        notes = [record for record in batch if isinstance(record, Note)]
        self._ready, self._acts = self._prepare_messages(batch, now), Acts()
        self._acts.classify_ahead([ready.message for ready in self._ready.values() if ready.message], None)
        ready_notes = self._notes.prepare(self._store, notes)
        texts = [(ready.message.text, ready.message.language) for ready in self._ready.values() if ready.message]
        texts += [ready.searched for ready in ready_notes if ready is not None]
        texts += [text for record in batch for text in searched_texts(record)]
        with tokenized(with_pauses(texts)), self._store.write() as tx:
            self._write(tx, batch, now)
            self._write_notes(tx, notes, ready_notes, now)

    def _check(self, learn: int | None) -> int:
        """Read all records once, and return their number. Select the conversations to learn from.

        ``learn`` is the maximum number of these conversations. If there are more, the newest are selected.
        """
        total = 0
        newest: list[tuple[datetime, str]] = []
        talk, ended = None, _NEVER
        for record in self._source.records():
            if isinstance(record, Kind):
                self._preset = with_kinds(self._preset, [record])
                continue
            if isinstance(record, SkippedFile):
                self._skipped.append(record)
                continue
            if isinstance(record, FileWarning):
                self._warnings.append(record)
                continue
            self._check_owner(record)
            total += 1
            self._counts[_type_of(record)]["found"] += 1
            if isinstance(record, MemoryEntry):
                check_kinds(self._preset, record)
            if isinstance(record, Note):
                self._notes.check(record)
            if isinstance(record, Conversation):
                _note_newest(newest, talk, ended, learn)
                talk, ended = (record.id if record.learn else None), record.at or _NEVER
            elif isinstance(record, Said):
                ended = max(ended, record.at or _NEVER)
        _note_newest(newest, talk, ended, learn)
        self._notes.find_moved_files(self._store)
        self._newest = None if learn is None else {id for _, id in newest}
        return total

    def _check_owner(self, record: Record) -> None:
        """Raise InvalidInput if a note or conversation belongs to nobody, and the caller did not choose to share it."""
        if self._source.shared or not isinstance(record, Note | Conversation):
            return
        owner = owner_of(record, self._source.scope, self._source.default_user)
        if not (owner.user or owner.app or owner.agent):
            raise InvalidInput(
                translatable(
                    "import.no_owner",
                    "Nothing says whose data this is. Nothing was imported. Name the user, app or agent that it belongs to. If all "
                    "users are to share it, set shared to true.",
                )
            )

    def _look_up(self, batch: Sequence[Record]) -> None:
        """Count the records that the store already has, and add the numbers to the result of the import. Store nothing."""
        for record in batch:
            if isinstance(record, Kind):
                continue
            if isinstance(record, Conversation):
                self._talk = self._opened(record)
            if _is_known(self._store, record, self._talk):
                self._counts[_type_of(record)]["known"] += 1
        notes = [record for record in batch if isinstance(record, Note)]
        self._counts["memories"].update(self._notes.count_known(self._store, notes))

    def _write(self, tx: Transaction, batch: Sequence[Record], now: datetime) -> None:
        restore = Restore(tx=tx, preset=self._preset)
        for record in batch:
            if isinstance(record, Note):
                continue
            if isinstance(record, Kind):
                record_kind(tx, record)
                continue
            if isinstance(record, Said):
                self._count(record, self._said(tx, record, now))
                continue
            self._close(tx)
            if isinstance(record, Conversation):
                self._talk = self._opened(record)
            else:
                self._count(record, restore.apply(record))

    def _write_notes(self, tx: Transaction, notes: Sequence[Note], ready: Sequence[Prepared | None], now: datetime) -> None:
        for note, outcome in zip(notes, self._notes.apply(tx, notes, ready, now) if notes else (), strict=True):
            self._count(note, outcome)
            if note.vector is not None and outcome == "imported":
                self.vectors[note.text] = note.vector

    def _said(self, tx: Transaction, record: Said, now: datetime) -> Outcome:
        if self._talk is None:
            raise InvalidInput(f"The message {record.id!r} belongs to no conversation.")
        return add_said(tx, self._talk, record, now, preset=self._preset, ready=self._ready[id(record)], acts=self._acts)

    def _prepare_messages(self, batch: Sequence[Record], now: datetime) -> dict[int, ReadySaid]:
        """Prepare the messages of a batch for the transaction. Return the results by the ``id()`` of the record.

        Each result has the message to store, or None if the message is empty or already stored. It also has the user's wish
        to be off the record or on the record again. This runs before the transaction, because a model can be needed to read
        the wishes.
        """
        found: dict[int, ReadySaid] = {}
        talk = self._talk and replace(self._talk)
        for record in with_pauses(batch):
            if isinstance(record, Conversation):
                talk, self._before, self._paused = self._opened(record), "", False
            if not isinstance(record, Said) or talk is None:
                continue
            wish = ReadySaid()
            if record.role == "user" and record.origin in (None, "user") and record.action is None:
                wish = self._read_wish(record.text)
                self._paused = (self._paused or wish.reach in ("rest", "all")) and not wish.lifts
            talk.last_at = talk.time_of(record, now)
            stored = not is_empty(record) and find_said(self._store, talk, record) is None
            found[id(record)] = replace(wish, message=make_said(talk, record, talk.last_at, now)) if stored else wish
            self._before = record.text if record.role == "assistant" else ""
        return found

    def _read_wish(self, text: str) -> ReadySaid:
        reader, before = self._digester.sentence_reader, self._before
        try:
            wish = read_wish(text, before=before, reader=reader)
        except ModelError:
            wish, reader = read_wish(text), None
        if wish is not None and wish.wish == "off_record":
            return ReadySaid(reach=wish.reach)
        return ReadySaid(lifts=self._paused and lifts_off_record(text, before=before, reader=reader))

    def _opened(self, start: Conversation) -> OpenConversation:
        chosen = self._source.scope
        scope = owner_of(start, chosen, self._source.default_user)
        learn = start.learn and (self._newest is None or start.id in self._newest)
        return OpenConversation(start, scope, self._source.name, learn)

    def _close(self, tx: Transaction) -> None:
        """Store the session of the conversation that is being imported, if there is one."""
        talk, self._talk = self._talk, None
        if talk is None:
            return
        outcome = close_conversation(tx, self._digester, talk, self._clock.now())
        self._counts["messages"]["redacted"] += talk.redacted
        self._learning += talk.learn and (outcome == "imported" or talk.added > 0)
        self._counts["sessions"][outcome] += 1

    def _count(self, record: Record, outcome: Outcome) -> None:
        self._counts[_type_of(record)][outcome] += 1


def _batches(records: Iterator[Record], size: int) -> Iterator[Sequence[Record]]:
    batch: list[Record] = []
    characters = 0
    for record in records:
        batch.append(record)
        characters += (
            len(record.text) if isinstance(record, Said | Note) else sum(len(text) for text, _ in searched_texts(record))
        )
        if len(batch) >= size or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _type_of(record: Record) -> str:
    if isinstance(record, Note | MemoryEntry):
        return "memories"
    if isinstance(record, Said | MessageEntry):
        return "messages"
    return "sessions" if isinstance(record, Conversation | SessionEntry) else "others"


def _note_newest(newest: list[tuple[datetime, str]], talk: str | None, ended: datetime, limit: int | None) -> None:
    """Add a conversation to ``newest``, a heap that keeps only the ``limit`` newest conversations.

    ``talk`` is the id of the conversation, and ``ended`` is the time at which it ended. Do nothing if ``talk`` or
    ``limit`` is None.
    """
    if limit is None or talk is None:
        return
    heapq.heappush(newest, (ended, talk))
    if len(newest) > limit:
        heapq.heappop(newest)


def _is_known(store: Store, record: Record, talk: OpenConversation | None) -> bool:
    """Return True if the store already has a record. Notes are not checked here, but by ``NoteWriter``.

    ``talk`` is the conversation that a message or conversation record belongs to.
    """
    if isinstance(record, Said):
        return talk is not None and bool(store.messages(MessageFilter(session=talk.id, exactly=talk.scope, client_id=record.id)))
    if isinstance(record, Conversation):
        return talk is not None and store.session(talk.id, talk.scope) is not None
    return _has_entry(store, record)


def _has_entry(store: Store, record: Record) -> bool:
    """Return True if the store already has an entry of Holdfast's own export."""
    if isinstance(record, MessageEntry):
        return bool(store.messages(MessageFilter(ids=(record.message.id,))))
    if isinstance(record, SessionEntry):
        return store.session(record.session.id, record.session.scope) is not None
    if isinstance(record, MemoryEntry):
        return bool(store.memories(MemoryFilter(ids=(record.memory.id,), statuses=None)))
    if isinstance(record, Trace):
        return bool(store.traces(TraceFilter(ids=(record.id,))))
    return isinstance(record, JobEntry) and bool(store.jobs(ids=(record.job.id,)))
