"""Import edited files: convert the edits into changes of memories, and store the changes in one transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, Transaction
from holdfast.topic_files.last_agreed import INDEX_KEY, Record
from holdfast.topic_files.lines import IndexLines, LineFormat, PageLines
from holdfast.topic_files.markdown import digest
from holdfast.topic_files.merge import merge
from holdfast.topic_files.reading import FolderChanges
from holdfast.topic_files.record import BaseLine, BasePage, File, MergedPage, MergeResult, StoredState
from holdfast.types import Author, Change, Memory, Put, Retire, Scope
from holdfast.write import Writer

_ACTOR = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImportResult:
    """Result of an import of files. ``record`` is the new state of the files, which is compared at the next sync.

    ``conflicts`` are the ids of memories that changed both in a file and in the store.
    """

    record: Record
    changes: int = 0
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The files to merge, which are either the topic pages or the index. Each file is identified by the hash of its name.

    ``base`` is the state of the files at the last sync. ``changed`` and ``missing`` are the files that were changed or deleted
    since then. ``refused`` maps each file whose edits the user rejected to the hash of the rejected content.
    """

    base: Mapping[str, BasePage]
    changed: Mapping[str, File]
    missing: Collection[str]
    refused: Mapping[str, str]


class FileImport:
    """Imports edited files within a transaction."""

    def __init__(self, tx: Transaction, preset: Preset, scope: Scope, now: datetime) -> None:
        self._tx = tx
        self._preset = preset
        self._scope = scope
        self._now = now
        self._writer = Writer(tx=tx, preset=preset, author=Author(actor=_ACTOR), now=now)

    def run(self, record: Record, reading: FolderChanges, answers: Mapping[str, bool]) -> FileImportResult:
        """Merge the changed pages and the changed index into the store.

        ``record`` is the state of the files at the last sync, ``reading`` has the changes since then, and ``answers`` maps
        question ids to the user's answers.
        """
        topics = self._preset.topics
        assert topics is not None
        lines = PageLines(scope=self._scope, kind=topics.kind, now=self._now)
        refused = {key: sha for key, sha in reading.refused.items() if key != INDEX_KEY}
        files = _Files(base=record.pages, changed=reading.pages, missing=reading.missing, refused=refused)
        pages, first = self._merge(files, topics.kind, lines, answers)
        merged, index = [first], record.index
        if topics.recent_kind is not None:
            keyed = self._preset.kind(topics.recent_kind).keyed != "no"
            notes = IndexLines(scope=self._scope, kind=topics.recent_kind, keyed=keyed, now=self._now)
            refused = {key: sha for key, sha in reading.refused.items() if key == INDEX_KEY}
            files = _Files(base=record.index, changed=reading.index, missing=reading.missing_index, refused=refused)
            index, second = self._merge(files, topics.recent_kind, notes, answers)
            self._rename_notes(record.pages, pages, topics.recent_kind, first)
            merged.append(second)
        questions = (*reading.questions, *(question for result in merged for question in result.questions))
        return FileImportResult(
            record=replace(record, pages=pages, index=index, questions=questions),
            changes=sum(len(result.changes) for result in merged),
            conflicts=tuple(id for result in merged for id in result.conflicts),
        )

    def _merge(
        self, files: _Files, kind: str, lines: LineFormat, answers: Mapping[str, bool]
    ) -> tuple[dict[str, BasePage], MergeResult]:
        """Merge the pages or the index, and apply the changes. Return the new state of the files, and the result of the merge.

        ``kind`` is the kind of the memories in the files, and ``lines`` converts between these memories and lines.
        ``answers`` maps question ids to the user's answers.
        """
        base = files.base
        known = self._load_state([base[key] for key in (*files.changed, *files.missing) if key in base], kind, lines)
        merged = merge(base, files.changed, known, lines, missing=files.missing, answers=answers)
        ids = [self._apply(change) for change in merged.changes]
        pages = {key: _without(page, merged.moved) for key, page in base.items() if key not in merged.dropped}
        pages |= {key: _imported_page(page, ids) for key, page in merged.pages.items()}
        # A refused file is treated as empty. If it was a page, it is written again.
        for key, sha in files.refused.items():
            pages[key] = BasePage(topic=base[key].topic if key in base else "", title=digest(""), sha=sha)
        return pages, merged

    def _rename_notes(
        self, before: Mapping[str, BasePage], after: Mapping[str, BasePage], kind: str, merged: MergeResult
    ) -> None:
        """Change the topic of notes whose topic page was renamed.

        A note is a memory that describes the subject of one conversation. If no page has the note's topic any more, because
        its page was renamed, the note gets the new topic of that page.

        ``before`` has the pages of the last sync, and ``after`` has the pages after the merge. ``merged`` is the result of
        the merge. ``kind`` is the kind of the notes.
        """
        renamed = {before[key].topic: page.topic for key, page in merged.pages.items() if key in before}
        renamed = {
            old: new for old, new in renamed.items() if old != digest(new) and all(page.topic != old for page in after.values())
        }
        notes = self._tx.memories(MemoryFilter(exactly=self._scope, kinds=(kind,), unexpired_at=self._now)) if renamed else []
        for note in notes:
            if note.topic and digest(note.topic) in renamed:
                put = Put(
                    id=note.id,
                    scope=note.scope,
                    kind=kind,
                    text=note.text,
                    key=note.key,
                    topic=renamed[digest(note.topic)],
                    origin=note.origin,
                    reason="its page was renamed by hand",
                )
                self._writer.apply([put])

    def _load_state(self, pages: Iterable[BasePage], kind: str, lines: LineFormat) -> StoredState:
        """Read the live memories from the store, and the texts and topics that the lines of ``pages`` had at the last sync."""
        wanted = MemoryFilter(exactly=self._scope, kinds=(kind,), unexpired_at=self._now)
        live = {memory.id: memory for memory in self._tx.memories(wanted)}
        topics = {digest(memory.topic): memory.topic for memory in live.values() if memory.topic}
        before: dict[str, str] = {}
        for page in pages:
            for line in page.lines:
                self._add_previous(line, live.get(line.id), lines, topic=page.topic, before=before, topics=topics)
        return StoredState(live=live, before=before, topics=topics)

    def _add_previous(
        self,
        line: BaseLine,
        memory: Memory | None,
        lines: LineFormat,
        *,
        topic: str,
        before: dict[str, str],
        topics: dict[str, str],
    ) -> None:
        """Look up the text and the topic that a line had at the last sync.

        The sync recorded only hashes: ``line.digest`` of the text, and ``topic`` of the page's topic. The line's memory and
        its revisions are searched for a text and a topic with these hashes. The text is added to ``before`` under the line's
        id, and the topic to ``topics`` under its hash. Nothing is added if the memory was erased.
        """
        if memory is not None and topic in topics and digest(lines.line(memory).text) == line.digest:
            before[line.id] = lines.line(memory).text
            return
        for revision in self._tx.revisions(line.id):
            if digest(lines.line(revision).text) == line.digest:
                before[line.id] = lines.line(revision).text
            if revision.topic and digest(revision.topic) == topic:
                topics[topic] = revision.topic

    # --- applying -------------------------------------------------------------------------------------------

    def _apply(self, change: Change) -> str:
        """Apply one change in its own batch, so that it can be undone separately. Return the id of the resulting memory.

        If an edited memory would say the same as another memory, the edited memory is superseded, and the id of the other
        memory is returned.
        """
        if isinstance(change, Retire):
            return self._writer.apply([change])[0].id
        if change.id is None:
            return self._restore(change) or self._writer.apply([change])[0].id
        duplicate = self._duplicate(change)
        if duplicate is None:
            return self._writer.apply([change])[0].id
        retire = Retire(id=change.id, status="superseded", reason="edited by hand to say the same", replaced_by=duplicate.id)
        self._writer.apply([retire])
        return duplicate.id

    def _duplicate(self, put: Put) -> Memory | None:
        """Return another live memory with the same content as a ``Put``, or None."""
        wanted = MemoryFilter(exactly=put.scope, content_hash=self._writer.identity(put), unexpired_at=self._now)
        return next((memory for memory in self._tx.memories(wanted) if memory.id != put.id), None)

    def _restore(self, put: Put) -> str | None:
        """Restore a memory that was forgotten because its line was deleted. ``put`` describes the line, which is now back.

        Return the id of the restored memory. Return None if no such memory has the same content as ``put``, or if a live
        memory has this content. The restored memory keeps its id and history, and gets the topic of ``put``.
        """
        identity = self._writer.identity(put)
        if self._tx.memories(MemoryFilter(exactly=put.scope, content_hash=identity, unexpired_at=self._now)):
            return None
        for memory in self._tx.memories(MemoryFilter(exactly=put.scope, content_hash=identity, statuses=("forgotten",))):
            last = self._tx.changes(memory=memory.id)[-1]
            if last.author.actor == _ACTOR and last.action == "retired" and last.revision == memory.revision:
                (restored,) = self._writer.undo(last)
                if put.topic != restored.topic:
                    self._writer.apply([replace(put, id=restored.id, key=restored.key, valid_from=None)])
                return restored.id
        return None


def _without(page: BasePage, moved: Collection[str]) -> BasePage:
    if not any(line.id in moved for line in page.lines):
        return page
    return replace(page, lines=tuple(line for line in page.lines if line.id not in moved))


def _imported_page(page: MergedPage, ids: Sequence[str]) -> BasePage:
    """Return the state of a file that was just imported, for the next sync.

    ``ids`` has the id of the memory that each change created or revised.
    """
    lines: dict[str, BaseLine] = {}
    for line, slot in page.lines:
        id = ids[slot] if isinstance(slot, int) else slot
        lines.setdefault(id, BaseLine(id=id, digest=digest(line.text), at=line.at or ""))
    return BasePage(topic=digest(page.topic), title=digest(page.title), sha=page.sha, lines=tuple(lines.values()))
