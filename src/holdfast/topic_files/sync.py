"""Two-way sync between a folder of Markdown pages and the live memories that have a topic.

Before the transaction starts, edited files are read, and new files are written under temporary names. Inside the
transaction, changes are applied only if the files, the store and the record of the last sync are still unchanged. After
a crash at any point, the next sync reaches the same result.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.learning.topics.page_names import INDEX_FILE, file_name
from holdfast.presets.base import Preset, TopicRules
from holdfast.protocols import Clock, MemoryFilter, Reads, Store, Transaction
from holdfast.topic_files.folder import Folder, Stamp
from holdfast.topic_files.last_agreed import Record, file_key, read_record
from holdfast.topic_files.markdown import digest, in_order
from holdfast.topic_files.read_in import FileImport, FileImportResult
from holdfast.topic_files.reading import FolderChanges, read, settle
from holdfast.topic_files.record import PendingQuestion
from holdfast.topic_files.write_out import FileWrite, Planner, StoredPages, WritePlan
from holdfast.types import Memory, Scope

log = logging.getLogger("holdfast")

_MAX_TRIES: Final = 5
_FULL_READ_EVERY: Final = 20
"""Maximum number of successive syncs that are skipped because file times and memories look unchanged.

The sync after that reads all files, because file times can be wrong.
"""
_QUESTION_TEXTS: Final[Mapping[str, str]] = {
    "gone": "{gone} of the {of} lines were deleted from {name}. Confirm to forget them; refuse to restore them.",
    "deleted": "{name} was deleted (lines: {gone}). Confirm to forget them; refuse to restore the page.",
    "all deleted": "All pages were deleted (lines: {gone}). Confirm to forget them; refuse to restore the pages.",
    "empty": "{name} is empty (lines before: {of}). Confirm to forget them; refuse to restore the page.",
    "no title": "{name} has lost its title. Confirm to import it as it is; refuse to restore the page.",
    "cut off": "{name} ends in the middle of a line. Confirm to import it as it is; refuse to restore the page.",
    "not text": "{name} is not UTF-8 text. Confirm to read it as Windows-1252; refuse to restore the page.",
    "linked": "{name} is a hard link: the same file has another name, perhaps outside this folder. Confirm to import it anyway; "
    "refuse to restore the page.",
    "too big": "{name} is larger than 1 MB. Confirm to import it anyway; refuse to restore the page.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuestion:
    """A question about a suspicious change in a file. The change has no effect until the user answers."""

    id: str
    file: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """Result of one sync."""

    read_in: int = 0
    """Number of memory changes imported from files."""
    written: int = 0
    """Number of files written or removed."""
    conflicts: tuple[str, ...] = ()
    """Ids of memories that changed both in a file and in the store. Both texts are kept."""
    questions: tuple[FileQuestion, ...] = ()
    problems: tuple[str, ...] = ()
    """Operating system errors that occurred while reading or writing. The next sync tries again."""


class TopicFiles:
    """Syncs the topics of one scope with the Markdown files in a folder."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        folder: Path,
        scope: Scope,
        *,
        follow_up: Callable[[Transaction, Scope], None] | None = None,
        settle_seconds: float = 0.05,
        machine: str = "",
    ) -> None:
        if preset.topics is None:
            raise InvalidInput(
                f"The preset {preset.name!r} keeps no topics, so there are no pages to mirror. Choose a preset with topics."
            )
        self._store = store
        self._preset = preset
        self._topics: TopicRules = preset.topics
        self._clock = clock
        self._folder = Folder(folder)
        self._scope = scope
        self._follow_up = follow_up
        self._settle_seconds = settle_seconds
        # Machines that share a store have separate files, so each has its own record: a missing file here may exist there.
        self._setting = f"topic_files:{digest(str(self._folder.path) + machine)[:16]}"
        self._seen: tuple[object, ...] | None = None
        self._skipped = 0
        self._open_questions: tuple[FileQuestion, ...] = ()

    @property
    def folder(self) -> Path:
        """Path of the folder with the Markdown pages."""
        return self._folder.path

    # --- public calls ---------------------------------------------------------------------------------------

    def sync(self) -> SyncReport:
        """Import the edits in the files, then write the pages that changed. This is cheap if nothing has changed."""
        try:
            if self._seen is not None and self._skipped < _FULL_READ_EVERY and self._seen == self._fingerprint():
                self._skipped += 1
                return SyncReport(questions=self._open_questions)
            return self._run({})
        except OSError as error:
            return self._failed(error)

    def publish(self) -> SyncReport:
        """Write the pages without importing edits, for example after an erasure. The next sync imports the edits."""
        self._seen = None
        try:
            written = self.write_out()
        except OSError as error:
            return self._failed(error)
        return SyncReport(written=written, questions=self.questions())

    def questions(self) -> tuple[FileQuestion, ...]:
        """Return the questions that the user has not answered yet."""
        record = self._record(self._store.setting(self._setting))
        return tuple(self._question(question, record) for question in record.questions)

    def confirm(self, question: str) -> SyncReport:
        """Answer a question with yes: accept the edits in the file."""
        return self._answer(question, yes=True)

    def refuse(self, question: str) -> SyncReport:
        """Answer a question with no: keep the memories, and rewrite the file."""
        return self._answer(question, yes=False)

    # --- the two steps --------------------------------------------------------------------------------------

    def import_changes(self, answers: Mapping[str, bool] | None = None) -> FileImportResult:
        """Read the folder and apply the user's edits. Return the result of the import."""
        answers = answers or {}
        for _ in range(_MAX_TRIES):
            stored = self._store.setting(self._setting)
            reading = read(self._folder, self._record(stored), answers)
            if reading.is_empty and not self._record(stored).questions:
                break
            settle(self._folder, reading, self._settle_seconds)
            imported = self.apply(reading, stored, answers)
            if imported is not None:
                return imported
        return FileImportResult(record=self._record(self._store.setting(self._setting)))

    def apply(self, reading: FolderChanges, stored: str | None, answers: Mapping[str, bool]) -> FileImportResult | None:
        """Apply edits that were read from the folder. ``stored`` is the record of the last sync, as JSON.

        Return None if another process has changed the record meanwhile.
        """
        record = self._record(stored)
        with self._store.write() as tx:
            if tx.setting(self._setting) != stored:
                return None
            imported = FileImport(tx, self._preset, self._scope, self._clock.now()).run(record, reading, answers)
            self._save(tx, imported.record, stored)
            if imported.changes and self._follow_up is not None:
                self._follow_up(tx, self._scope)
        self._log(record, imported)
        return imported

    def write_out(self) -> int:
        """Write the pages that differ from the store. Return the number of files written or removed."""
        self._folder.sweep()
        for _ in range(_MAX_TRIES):
            stored = self._store.setting(self._setting)
            plan, versions = self.plan(stored)
            if not plan.writes and plan.record == self._record(stored):
                return 0
            if self.put(plan, stored, versions):
                return len(plan.writes)
        return 0

    def plan(self, stored: str | None) -> tuple[WritePlan, Mapping[str, int]]:
        """Plan the files to write. Return the plan, and the revision number of each live memory at that time, keyed by memory id.

        ``stored`` is the record of the last sync, as JSON.
        """
        record = self._record(stored)
        stored_pages, versions = self._stored_pages(self._store, record)
        return Planner(self._folder, record, stored_pages).plan(), versions

    def put(self, plan: WritePlan, stored: str | None, versions: Mapping[str, int]) -> bool:
        """Write the planned files. Return True if they were written.

        ``stored`` is the record of the last sync, and ``versions`` has the revision number of each memory, both from the time
        when the plan was made. If the record, the memories or the files have changed since then, write nothing and return
        False. Also return False if another process removed a prepared file.
        """
        prepared = [
            (write, self._folder.prepare(write.data, like=write.name if write.stamp else None))
            for write in plan.writes
            if write.data is not None
        ]
        try:
            with self._store.write() as tx:
                if tx.setting(self._setting) != stored or self._versions(tx) != versions or not self._unchanged(plan.writes):
                    return False
                for write, path in prepared:
                    self._folder.put(path, write.name)
                for write in plan.writes:
                    if write.data is None:
                        self._folder.remove(write.name)
                # Sync before saving the record: after a power cut, it must not list a file that was lost.
                self._folder.settle()
                self._save(tx, plan.record, stored)
        except FileNotFoundError:  # another process removed the prepared files
            return False
        finally:
            for _, path in prepared:
                path.unlink(missing_ok=True)
        return True

    def _unchanged(self, writes: list[FileWrite]) -> bool:
        names = self._folder.names()
        return all(self._folder.stamp(write.name) == write.stamp if write.stamp else write.name not in names for write in writes)

    # --- helpers --------------------------------------------------------------------------------------------

    def _run(self, answers: Mapping[str, bool]) -> SyncReport:
        """Import edits and write pages. Repeat both until nothing changes any more, but at most ``_MAX_TRIES`` times."""
        read_in, written = 0, 0
        conflicts: tuple[str, ...] = ()
        for _ in range(_MAX_TRIES):
            fingerprint = self._fingerprint()
            imported = self.import_changes(answers)
            out = self.write_out()
            answers = {}
            read_in, written, conflicts = read_in + imported.changes, written + out, conflicts + imported.conflicts
            if not imported.changes and not out:
                self._seen, self._skipped = fingerprint, 0
                break
        self._open_questions = self.questions()
        return SyncReport(read_in=read_in, written=written, conflicts=conflicts, questions=self._open_questions)

    def _answer(self, question: str, *, yes: bool) -> SyncReport:
        if question not in {each.id for each in self.questions()}:
            raise NotFound(f"There is no open question {question}. `questions` lists the open ones.")
        try:
            report = self._run({question: yes})
        except OSError as error:
            return self._failed(error)
        if any(each.id == question for each in report.questions):
            raise Conflict(f"The answer to {question} had no effect: its file still cannot be read. Fix or delete the file.")
        return report

    def _failed(self, error: OSError) -> SyncReport:
        self._seen = None
        log.warning("The topic files in %s could not be synced and will be retried: %s", self._folder.path, error)
        return SyncReport(questions=self.questions(), problems=(str(error),))

    def _fingerprint(self) -> tuple[object, ...]:
        """Return a value that changes when files or memories change.

        The value contains the stamp (size and times) of each file. For each kind of memory that is written to files, it also
        contains the number of memories and the newest memory.
        """
        files: dict[str, Stamp] = self._folder.listing()
        now = self._clock.now()
        marks: list[object] = []
        for kind in self._kinds():
            wanted = MemoryFilter(exactly=self._scope, kinds=(kind,), unexpired_at=now, limit=1)
            newest = self._store.memories(wanted)
            marks += [self._store.count_memories(wanted), newest[0].item if newest else 0]
        return (tuple(files.items()), *marks)

    def _kinds(self) -> list[str]:
        return [kind for kind in (self._topics.kind, self._topics.recent_kind) if kind is not None]

    def _live(self, reads: Reads) -> list[Memory]:
        return reads.memories(MemoryFilter(exactly=self._scope, kinds=self._kinds(), unexpired_at=self._clock.now()))

    def _versions(self, reads: Reads) -> dict[str, int]:
        return {memory.id: memory.revision for memory in self._live(reads)}

    def _stored_pages(self, reads: Reads, record: Record) -> tuple[StoredPages, dict[str, int]]:
        live = self._live(reads)
        versions = {memory.id: memory.revision for memory in live}
        topics: dict[str, list[Memory]] = {}
        for memory in in_order(live):
            if memory.kind == self._topics.kind and memory.topic:
                topics.setdefault(memory.topic, []).append(memory)
        recent_kind = self._topics.recent_kind
        notes = [memory for memory in live if memory.kind == recent_kind] if recent_kind else None
        lines = {line.id for page in (*record.pages.values(), *record.index.values()) for line in page.lines}
        not_live = lines - set(versions)
        existing = {memory.id for memory in reads.memories(MemoryFilter(ids=not_live, statuses=None))} if not_live else set()
        stored_pages = StoredPages(
            topics=topics, notes=notes, erased=frozenset(not_live - existing), max_notes=self._topics.max_recent
        )
        return stored_pages, versions

    def _record(self, stored: str | None) -> Record:
        return read_record(stored, self._scope, str(self._folder.path))

    def _save(self, tx: Transaction, record: Record, stored: str | None) -> None:
        text = record.to_json()
        if text != stored:
            tx.set_setting(self._setting, text)

    def _question(self, question: PendingQuestion, record: Record) -> FileQuestion:
        """Return a question with its text for the user. A file that no longer exists is named after its topic."""
        names = {file_key(name): name for name in (*self._folder.names(), INDEX_FILE)}
        name = names.get(question.file) or self._lost_name(question, record)
        return FileQuestion(
            id=question.id,
            file=name,
            text=_QUESTION_TEXTS[question.why].format(name=name or "a page", gone=question.gone, of=question.of),
        )

    def _lost_name(self, question: PendingQuestion, record: Record) -> str:
        page = record.pages.get(question.file)
        ids = [line.id for line in page.lines] if page else []
        found = self._store.memories(MemoryFilter(ids=ids, statuses=None)) if ids else []
        return next((file_name(memory.topic) for memory in found if memory.topic), "")

    def _log(self, before: Record, imported: FileImportResult) -> None:
        known = {question.id for question in before.questions}
        for question in imported.record.questions:
            if question.id not in known:
                log.warning("Topic files: %s", self._question(question, imported.record))
        for id in imported.conflicts:
            log.warning("Topic files: %s was changed both in its file and in the store; both texts are kept", id)
