"""The two-way mirror between a folder of Markdown pages and the live memories that carry a topic.

Files are read before the transaction and written beside their places before it; inside it, everything is checked to
be as it was, and only then applied. A process killed at any moment leaves files, store and record such that the next
look comes to the same end.
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
from holdfast.topic_files.markdown import in_order, mark
from holdfast.topic_files.read_in import FileImport, FileImportResult
from holdfast.topic_files.reading import FolderChanges, read, settle
from holdfast.topic_files.record import Doubt
from holdfast.topic_files.write_out import FileWrite, Planner, StoredPages, WritePlan
from holdfast.types import Memory, Scope

log = logging.getLogger("holdfast")

_MAX_TRIES: Final = 5
_FULL_READ_EVERY: Final = 20
"""So many times nothing seems to have changed; then everything is read, since file times and clocks may lie."""
_WORDS: Final[Mapping[str, str]] = {
    "gone": "{gone} of the {of} lines in {name} are gone. Confirm to forget them; refuse to have them written again.",
    "deleted": "{name} is gone, with {gone} lines. Confirm to forget them; refuse to have the page written again.",
    "all deleted": "All pages are gone, with {gone} lines. Confirm to forget them; refuse to have the pages written again.",
    "empty": "{name} is empty; it had {of} lines. Confirm to forget them; refuse to have the page written again.",
    "no title": "{name} has lost its title. Confirm to take it as it is; refuse to have the page written again.",
    "cut off": "{name} ends in the middle of a line. Confirm to take it as it is; refuse to have the page written again.",
    "not text": "{name} is not UTF-8 text. Confirm to read it as Windows-1252; refuse to have the page written again.",
    "too big": "{name} is over 1 MB. Confirm to read it all the same; refuse to have the page written again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuestion:
    """Something in the files that changes nothing until a person has answered."""

    id: str
    file: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What one look at the folder did."""

    read_in: int = 0
    """Changes of memories that came from the files."""
    written: int = 0
    """Files written or removed."""
    conflicts: tuple[str, ...] = ()
    """Memories that were changed in a file and in the store; both texts are kept."""
    questions: tuple[FileQuestion, ...] = ()
    problems: tuple[str, ...] = ()
    """What the system would not let be read or written; it is tried again the next time."""


class TopicFiles:
    """Keeps a folder and the topics of one scope in step."""

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
            raise InvalidInput(f"The preset {preset.name!r} keeps no topics, so there are no pages to mirror.")
        self._store = store
        self._preset = preset
        self._topics: TopicRules = preset.topics
        self._clock = clock
        self._folder = Folder(folder)
        self._scope = scope
        self._follow_up = follow_up
        self._settle_seconds = settle_seconds
        # Where machines share a store, each has files of its own: what one has written, another has not lost.
        self._setting = f"topic_files:{mark(str(self._folder.path) + machine)[:16]}"
        self._seen: tuple[object, ...] | None = None
        self._skipped = 0
        self._asked: tuple[FileQuestion, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._folder.path

    # --- what is asked for ----------------------------------------------------------------------------------

    def sync(self) -> SyncReport:
        """Take hand edits in and write pages out; costs little when nothing has changed."""
        try:
            if self._seen is not None and self._skipped < _FULL_READ_EVERY and self._seen == self._look():
                self._skipped += 1
                return SyncReport(questions=self._asked)
            return self._run({})
        except OSError as error:
            return self._failed(error)

    def publish(self) -> SyncReport:
        """Write pages out only, also where an erasure has left less to show; hand edits wait for the next sync."""
        self._seen = None
        try:
            written = self.write_out()
        except OSError as error:
            return self._failed(error)
        return SyncReport(written=written, questions=self.questions())

    def questions(self) -> tuple[FileQuestion, ...]:
        """Return what waits for a person's answer."""
        record = self._record(self._store.setting(self._setting))
        return tuple(self._question(doubt, record) for doubt in record.doubts)

    def confirm(self, question: str) -> SyncReport:
        """Take the file as the person has it."""
        return self._answer(question, yes=True)

    def refuse(self, question: str) -> SyncReport:
        """Keep what the memory has; the file is written again."""
        return self._answer(question, yes=False)

    # --- the two steps --------------------------------------------------------------------------------------

    def import_changes(self, answers: Mapping[str, bool] | None = None) -> FileImportResult:
        """Read the folder, and apply what a person changed; returns what came of it."""
        given = answers or {}
        for _ in range(_MAX_TRIES):
            stored = self._store.setting(self._setting)
            reading = read(self._folder, self._record(stored), given)
            if reading.is_empty and not self._record(stored).doubts:
                break
            settle(self._folder, reading, self._settle_seconds)
            taken = self.apply(reading, stored, given)
            if taken is not None:
                return taken
        return FileImportResult(record=self._record(self._store.setting(self._setting)))

    def apply(self, reading: FolderChanges, stored: str | None, answers: Mapping[str, bool]) -> FileImportResult | None:
        """Apply what was read, unless the record has changed since: then it may be what another process wrote."""
        record = self._record(stored)
        with self._store.write() as tx:
            if tx.setting(self._setting) != stored:
                return None
            taken = FileImport(tx, self._preset, self._scope, self._clock.now()).run(record, reading, answers)
            self._save(tx, taken.record, stored)
            if taken.changes and self._follow_up is not None:
                self._follow_up(tx, self._scope)
        self._log(record, taken)
        return taken

    def write_out(self) -> int:
        """Bring the files up to what the store says; returns how many were written or removed."""
        self._folder.sweep()
        for _ in range(_MAX_TRIES):
            stored = self._store.setting(self._setting)
            plan, versions = self.plan(stored)
            if not plan.writings and plan.record == self._record(stored):
                return 0
            if self.put(plan, stored, versions):
                return len(plan.writings)
        return 0

    def plan(self, stored: str | None) -> tuple[WritePlan, Mapping[str, int]]:
        """Work out what is to be written, and from which revisions."""
        record = self._record(stored)
        shelf, versions = self._shelf(self._store, record)
        return Planner(self._folder, record, shelf).plan(), versions

    def put(self, plan: WritePlan, stored: str | None, versions: Mapping[str, int]) -> bool:
        """Put prepared files in their places, if record, store and files are as the plan knew them."""
        prepared = [
            (writing, self._folder.prepare(writing.data, like=writing.name if writing.stamp else None))
            for writing in plan.writings
            if writing.data is not None
        ]
        try:
            with self._store.write() as tx:
                if tx.setting(self._setting) != stored or self._versions(tx) != versions or not self._still(plan.writings):
                    return False
                for writing, path in prepared:
                    self._folder.put(path, writing.name)
                for writing in plan.writings:
                    if writing.data is None:
                        self._folder.remove(writing.name)
                # Before the record: it must never know of a file that a power cut takes back.
                self._folder.settle()
                self._save(tx, plan.record, stored)
        except FileNotFoundError:  # another process swept the prepared files away
            return False
        finally:
            for _, path in prepared:
                path.unlink(missing_ok=True)
        return True

    def _still(self, writings: list[FileWrite]) -> bool:
        names = self._folder.names()
        return all(
            self._folder.stamp(writing.name) == writing.stamp if writing.stamp else writing.name not in names
            for writing in writings
        )

    # --- between --------------------------------------------------------------------------------------------

    def _run(self, answers: Mapping[str, bool]) -> SyncReport:
        """Go back and forth until nothing is left to do, so that what was seen last is what is there."""
        read_in, written = 0, 0
        conflicts: tuple[str, ...] = ()
        for _ in range(_MAX_TRIES):
            look = self._look()
            taken = self.import_changes(answers)
            out = self.write_out()
            answers = {}
            read_in, written, conflicts = read_in + taken.changes, written + out, conflicts + taken.conflicts
            if not taken.changes and not out:
                self._seen, self._skipped = look, 0
                break
        self._asked = self.questions()
        return SyncReport(read_in=read_in, written=written, conflicts=conflicts, questions=self._asked)

    def _answer(self, question: str, *, yes: bool) -> SyncReport:
        if question not in {open_.id for open_ in self.questions()}:
            raise NotFound(f"There is no open question {question}; `questions` lists them.")
        try:
            report = self._run({question: yes})
        except OSError as error:
            return self._failed(error)
        if any(open_.id == question for open_ in report.questions):
            raise Conflict(f"The answer to {question} could not be used; the file cannot be read as it is.")
        return report

    def _failed(self, error: OSError) -> SyncReport:
        self._seen = None
        log.warning("The topic files in %s could not be kept in step: %s", self._folder.path, error)
        return SyncReport(questions=self.questions(), problems=(str(error),))

    def _look(self) -> tuple[object, ...]:
        """Return what shows that nothing has changed: the files from outside, and the newest and number of memories."""
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

    def _shelf(self, reads: Reads, record: Record) -> tuple[StoredPages, dict[str, int]]:
        live = self._live(reads)
        versions = {memory.id: memory.revision for memory in live}
        topics: dict[str, list[Memory]] = {}
        for memory in in_order(live):
            if memory.kind == self._topics.kind and memory.topic:
                topics.setdefault(memory.topic, []).append(memory)
        kept = self._topics.recent_kind
        notes = [memory for memory in live if memory.kind == kept] if kept else None
        lines = {line.id for page in (*record.pages.values(), *record.index.values()) for line in page.lines}
        unseen = lines - set(versions)
        there = {memory.id for memory in reads.memories(MemoryFilter(ids=unseen, statuses=None))} if unseen else set()
        shelf = StoredPages(topics=topics, notes=notes, erased=frozenset(unseen - there), max_notes=self._topics.max_recent)
        return shelf, versions

    def _record(self, stored: str | None) -> Record:
        return read_record(stored, self._scope, str(self._folder.path))

    def _save(self, tx: Transaction, record: Record, stored: str | None) -> None:
        text = record.to_json()
        if text != stored:
            tx.set_setting(self._setting, text)

    def _question(self, doubt: Doubt, record: Record) -> FileQuestion:
        """Put a doubt into words; the name of a file that is gone is that of its topic."""
        names = {file_key(name): name for name in (*self._folder.names(), INDEX_FILE)}
        name = names.get(doubt.file) or self._lost_name(doubt, record)
        return FileQuestion(
            id=doubt.id, file=name, text=_WORDS[doubt.why].format(name=name or "a page", gone=doubt.gone, of=doubt.of)
        )

    def _lost_name(self, doubt: Doubt, record: Record) -> str:
        page = record.pages.get(doubt.file)
        ids = [line.id for line in page.lines] if page else []
        found = self._store.memories(MemoryFilter(ids=ids, statuses=None)) if ids else []
        return next((file_name(memory.topic) for memory in found if memory.topic), "")

    def _log(self, before: Record, taken: FileImportResult) -> None:
        known = {doubt.id for doubt in before.doubts}
        for doubt in taken.record.doubts:
            if doubt.id not in known:
                log.warning("Topic files: %s", self._question(doubt, taken.record))
        for id in taken.conflicts:
            log.warning("Topic files: %s was changed both in its file and in the memory; both texts are kept", id)
