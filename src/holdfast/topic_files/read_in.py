"""Taking hand edits in: the files' changes become changes of memories, in one transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from holdfast.presets.base import Preset
from holdfast.protocols import MemoryFilter, Transaction
from holdfast.topic_files.last_agreed import INDEX_KEY, Record
from holdfast.topic_files.lines import IndexLines, LineFormat, PageLines
from holdfast.topic_files.markdown import mark
from holdfast.topic_files.merge import merge
from holdfast.topic_files.reading import FolderChanges
from holdfast.topic_files.record import BaseLine, BasePage, File, MergedPage, MergeResult, StoredState
from holdfast.types import Author, Change, Memory, Put, Retire, Scope
from holdfast.write import Writer

_ACTOR = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImportResult:
    """What came of it."""

    record: Record
    changes: int = 0
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """One sort of files: how they were, which are not so any more, and which do not count."""

    base: Mapping[str, BasePage]
    changed: Mapping[str, File]
    missing: Collection[str]
    refused: Mapping[str, str]


class FileImport:
    """One look at the files, inside a transaction."""

    def __init__(self, tx: Transaction, preset: Preset, scope: Scope, now: datetime) -> None:
        self._tx = tx
        self._preset = preset
        self._scope = scope
        self._now = now
        self._writer = Writer(tx=tx, preset=preset, author=Author(actor=_ACTOR), now=now)

    def run(self, record: Record, reading: FolderChanges, answers: Mapping[str, bool]) -> FileImportResult:
        """Merge pages and index into the store; returns the record of how the files are now."""
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
        doubts = (*reading.doubts, *(doubt for one in merged for doubt in one.doubts))
        return FileImportResult(
            record=replace(record, pages=pages, index=index, doubts=doubts),
            changes=sum(len(one.changes) for one in merged),
            conflicts=tuple(id for one in merged for id in one.conflicts),
        )

    def _merge(
        self, files: _Files, kind: str, lines: LineFormat, answers: Mapping[str, bool]
    ) -> tuple[dict[str, BasePage], MergeResult]:
        """Merge one sort of files, and apply what follows."""
        base = files.base
        known = self._known([base[key] for key in (*files.changed, *files.missing) if key in base], kind, lines)
        merged = merge(base, files.changed, known, lines, missing=files.missing, answers=answers)
        ids = [self._apply(change) for change in merged.changes]
        pages = {key: _without(page, merged.moved) for key, page in base.items() if key not in merged.dropped}
        pages |= {key: _in_step(page, ids) for key, page in merged.pages.items()}
        # What a person refused to have read is as good as a file with nothing in it: it is written anew, if it was a page.
        for key, sha in files.refused.items():
            pages[key] = BasePage(topic=base[key].topic if key in base else "", title=mark(""), sha=sha)
        return pages, merged

    def _rename_notes(
        self, before: Mapping[str, BasePage], after: Mapping[str, BasePage], kind: str, merged: MergeResult
    ) -> None:
        """Let the index follow pages whose title, and with it their topic, was changed."""
        renamed = {before[key].topic: page.topic for key, page in merged.pages.items() if key in before}
        renamed = {
            old: new for old, new in renamed.items() if old != mark(new) and all(page.topic != old for page in after.values())
        }
        notes = self._tx.memories(MemoryFilter(exactly=self._scope, kinds=(kind,), unexpired_at=self._now)) if renamed else []
        for note in notes:
            if note.topic and mark(note.topic) in renamed:
                self._writer.apply([
                    Put(
                        id=note.id, scope=note.scope, kind=kind, text=note.text, key=note.key, topic=renamed[mark(note.topic)],
                        origin=note.origin, reason="its page was renamed by hand",
                    )
                ])  # fmt: skip

    def _known(self, pages: Iterable[BasePage], kind: str, lines: LineFormat) -> StoredState:
        """Gather what the database says, and what it said when the files were last in step."""
        wanted = MemoryFilter(exactly=self._scope, kinds=(kind,), unexpired_at=self._now)
        live = {memory.id: memory for memory in self._tx.memories(wanted)}
        topics = {mark(memory.topic): memory.topic for memory in live.values() if memory.topic}
        before: dict[str, str] = {}
        for page in pages:
            for line in page.lines:
                self._recall(line, live.get(line.id), lines, topic=page.topic, before=before, topics=topics)
        return StoredState(live=live, before=before, topics=topics)

    def _recall(
        self,
        line: BaseLine,
        memory: Memory | None,
        lines: LineFormat,
        *,
        topic: str,
        before: dict[str, str],
        topics: dict[str, str],
    ) -> None:
        """Find what a line said: mostly what its memory still says, else one of its revisions; what is erased said nothing."""
        if memory is not None and topic in topics and mark(lines.line(memory).text) == line.mark:
            before[line.id] = lines.line(memory).text
            return
        for revision in self._tx.revisions(line.id):
            if mark(lines.line(revision).text) == line.mark:
                before[line.id] = lines.line(revision).text
            if revision.topic and mark(revision.topic) == topic:
                topics[topic] = revision.topic

    # --- applying -------------------------------------------------------------------------------------------

    def _apply(self, change: Change) -> str:
        """Apply one change, as a batch of its own so that it can be undone alone; returns the memory the line stands for."""
        if isinstance(change, Retire):
            return self._writer.apply([change])[0].id
        if change.id is None:
            return self._restored(change) or self._writer.apply([change])[0].id
        twin = self._twin(change)
        if twin is None:
            return self._writer.apply([change])[0].id
        gone = Retire(id=change.id, status="superseded", reason="edited by hand to say the same", replaced_by=twin.id)
        self._writer.apply([gone])
        return twin.id

    def _twin(self, put: Put) -> Memory | None:
        """Return another memory that says what this one is to say."""
        wanted = MemoryFilter(exactly=put.scope, content_hash=self._writer.identity(put), unexpired_at=self._now)
        return next((memory for memory in self._tx.memories(wanted) if memory.id != put.id), None)

    def _restored(self, put: Put) -> str | None:
        """Bring back what was deleted by hand from a file and stands in one again; its id and history go on."""
        identity = self._writer.identity(put)
        if self._tx.memories(MemoryFilter(exactly=put.scope, content_hash=identity, unexpired_at=self._now)):
            return None
        for memory in self._tx.memories(MemoryFilter(exactly=put.scope, content_hash=identity, statuses=("forgotten",))):
            last = self._tx.changes(memory=memory.id)[-1]
            if last.author.actor == _ACTOR and last.action == "retired" and last.revision == memory.revision:
                (again,) = self._writer.undo(last)
                if put.topic != again.topic:
                    self._writer.apply([replace(put, id=again.id, key=again.key, valid_from=None)])
                return again.id
        return None


def _without(page: BasePage, moved: Collection[str]) -> BasePage:
    if not any(line.id in moved for line in page.lines):
        return page
    return replace(page, lines=tuple(line for line in page.lines if line.id not in moved))


def _in_step(page: MergedPage, ids: Sequence[str]) -> BasePage:
    """Return the record of a file that was just taken in."""
    lines: dict[str, BaseLine] = {}
    for line, slot in page.lines:
        id = ids[slot] if isinstance(slot, int) else slot
        lines.setdefault(id, BaseLine(id=id, mark=mark(line.text), at=line.at or ""))
    return BasePage(topic=mark(page.topic), title=mark(page.title), sha=page.sha, lines=tuple(lines.values()))
