"""Plan which topic files to write, by comparing the folder with the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.learning.topics.page_names import INDEX_FILE, file_name, name_key
from holdfast.topic_files.folder import Folder, Stamp
from holdfast.topic_files.index import note_line, parse_index, render_index
from holdfast.topic_files.last_agreed import INDEX_KEY, Record, bytes_digest, file_key
from holdfast.topic_files.markdown import Line, Page, digest, ids_of, page_line, parse_page, render_page, update_page
from holdfast.topic_files.reading import MAX_FILE_BYTES, decode
from holdfast.topic_files.record import BaseLine, BasePage
from holdfast.types import Memory

_REWRITE: Final = digest("")
"""Hash of an empty title. A file whose recorded title has this hash is written again from the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWrite:
    """A file that is to be written, or to be removed if ``data`` is None.

    ``stamp`` is the file's metadata at the time of planning, or None for a new file. If the file has changed since then, the
    whole plan is dropped.
    """

    name: str
    data: bytes | None
    stamp: Stamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPages:
    """The memories in the store that belong on pages: memories by topic, notes for the index, and the ids of erased memories."""

    topics: Mapping[str, Sequence[Memory]]
    notes: Sequence[Memory] | None
    """Notes to list in the index, or None if there is no index. A note is a memory about the subject of one conversation."""
    erased: frozenset[str]
    max_notes: int


@dataclass(slots=True)
class WritePlan:
    """The files to write or remove (``writes``), and the state of all files afterwards (``record``), for the next sync."""

    record: Record
    writes: list[FileWrite] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PresentFile:
    """The current state of a file in the folder."""

    name: str
    stamp: Stamp
    data: bytes

    @property
    def text(self) -> str:
        return decode(self.data) or self.data.decode("utf-8", "surrogateescape")


class Planner:
    """Compares the folder with the store, and plans the files to write."""

    def __init__(self, folder: Folder, record: Record, stored_pages: StoredPages) -> None:
        self._folder = folder
        self._record = record
        self._stored = stored_pages
        self._held = {question.file for question in record.questions}
        self._files = {file_key(name): (name, stamp) for name, stamp in folder.listing().items()}
        self._plan = WritePlan(record=replace(record, pages={}, index={}))

    def plan(self) -> WritePlan:
        """Plan the writes that make the files match the store. In files with pending edits, only erased lines are removed."""
        done: set[str] = set()
        for key, page in sorted(self._record.pages.items(), key=lambda item: -len(item[1].lines)):
            topic = self._topic(page) if page.topic not in done else None
            if self._keep(key, page, topic):
                done.add(page.topic)
        for topic in self._stored.topics:
            if digest(topic) not in done:
                self._create(topic)
        if self._stored.notes is not None:
            self._index(self._stored.notes)
        self._plan.record = replace(
            self._plan.record, questions=tuple(question for question in self._record.questions if self._is_open(question.file))
        )
        return self._plan

    def _is_open(self, key: str) -> bool:
        """Return True if the question about a file stays open. ``key`` is the hash of the file name.

        The question is dropped if this plan removes the file from the record of the last sync. An empty key stands for the
        question about all files. That question stays open as long as any file is left in the record.
        """
        known = {**self._record.pages, **self._record.index}
        left = {**self._plan.record.pages, **self._plan.record.index}
        return bool(left) if not key else key not in known or key in left

    def _topic(self, page: BasePage) -> str | None:
        return next((topic for topic in self._stored.topics if digest(topic) == page.topic), None)

    def _present(self, key: str) -> _PresentFile | None:
        if key not in self._files:
            return None
        name, stamp = self._files[key]
        data = self._folder.read(name) if stamp.size <= MAX_FILE_BYTES else None
        return None if data is None else _PresentFile(name=name, stamp=stamp, data=data)

    # --- pages ----------------------------------------------------------------------------------------------

    def _keep(self, key: str, page: BasePage, topic: str | None) -> bool:
        """Plan what happens to a file that existed at the last sync.

        The file is updated, or removed if its topic has no memories left. In a file with pending edits or an open question,
        only the lines of erased memories are removed.

        Return True if the file remains the page of its topic. Otherwise a topic that still has memories gets a new file.
        """
        present = self._present(key)
        if present is None or key in self._held or bytes_digest(present.data) != page.sha:
            return self._purge(key, page, present, self._plan.record.pages)
        memories = self._stored.topics.get(topic, ()) if topic else ()
        if topic is None or not memories:
            self._close(key, page, present)
            return False
        self._write(key, present, self._updated(page, present, topic, memories), topic, memories)
        return True

    def _updated(self, page: BasePage, present: _PresentFile, topic: str, memories: Sequence[Memory]) -> str:
        if page.title == _REWRITE:
            return render_page(topic, memories)
        read = parse_page(present.text)
        return update_page(read, ids_of(read, [(line.id, line.digest) for line in page.lines]), topic, memories)

    def _write(self, key: str, present: _PresentFile, text: str, topic: str, memories: Sequence[Memory]) -> None:
        if _plain(text) == _plain(present.text):
            text, data = present.text, present.data  # differences in line ends and trailing space are left as typed
        else:
            data = text.encode("utf-8", "surrogateescape")
            self._plan.writes.append(FileWrite(name=present.name, data=data, stamp=present.stamp))
        self._plan.record.pages[key] = _page_record(parse_page(text), data, topic, memories)

    def _close(self, key: str, page: BasePage, present: _PresentFile) -> None:
        """Plan the removal of the file of a page that has no memories left.

        ``key`` is the hash of the file name, ``page`` the file at the last sync, and ``present`` the file now. A line here is the
        line of a memory. Titles and headings do not count.

        There are two exceptions. The file is left as it is if it has no lines now and had none at the last sync, or if ``page``
        has no topic. If the user added layout, such as headings, only the lines are removed and the file is kept.
        """
        read = parse_page(present.text)
        if not page.lines and not read.lines:
            self._plan.record.pages[key] = page
        elif read.has_layout:
            remaining = update_page(read, (), read.title or "", ())
            data = remaining.encode("utf-8", "surrogateescape")
            self._plan.writes.append(FileWrite(name=present.name, data=data, stamp=present.stamp))
            self._plan.record.pages[key] = replace(page, sha=bytes_digest(data), lines=())
        elif page.topic:
            self._plan.writes.append(FileWrite(name=present.name, data=None, stamp=present.stamp))
        else:
            self._plan.record.pages[key] = page

    def _create(self, topic: str) -> None:
        names = self._folder.names()
        name = file_name(topic)
        existing = next((known for known in names if name_key(known) == name_key(name)), None)
        if existing is not None:
            key = file_key(existing)
            if key in self._files and key not in self._record.pages and key not in self._held:
                return  # a person has just created it, so it is imported first
            name = file_name(topic, names)
        memories = self._stored.topics[topic]
        text = render_page(topic, memories)
        self._plan.writes.append(FileWrite(name=name, data=text.encode(), stamp=None))
        self._plan.record.pages[file_key(name)] = _page_record(parse_page(text), text.encode(), topic, memories)

    # --- the index ------------------------------------------------------------------------------------------

    def _index(self, notes: Sequence[Memory]) -> None:
        page, present = self._record.index.get(INDEX_KEY), self._present(INDEX_KEY)
        if page is None and (present is not None or INDEX_FILE in self._folder.names()):
            return  # not imported yet, or not our file
        if page is not None and (present is None or INDEX_KEY in self._held or bytes_digest(present.data) != page.sha):
            self._purge(INDEX_KEY, page, present, self._plan.record.index)
            return
        rows = parse_index(present.text).parts if present and page and page.title != _REWRITE else ()
        layout = [row for row in rows if isinstance(row, str) and row.strip()]
        data = render_index(notes, layout=layout, max_notes=self._stored.max_notes).encode("utf-8", "surrogateescape")
        stamp = present.stamp if present else None
        if not data:
            if present:
                self._plan.writes.append(FileWrite(name=INDEX_FILE, data=None, stamp=stamp))
            return
        if present is None or data != present.data:
            self._plan.writes.append(FileWrite(name=INDEX_FILE, data=data, stamp=stamp))
        lines = [(memory.id, note_line(memory)) for memory in notes]
        read = parse_index(data.decode("utf-8", "surrogateescape"))
        self._plan.record.index[INDEX_KEY] = BasePage(
            topic="", title=digest(INDEX_FILE), sha=bytes_digest(data), lines=_base_lines(read, lines)
        )

    # --- erasing --------------------------------------------------------------------------------------------

    def _purge(self, key: str, page: BasePage, present: _PresentFile | None, pages: dict[str, BasePage]) -> bool:
        """Plan to remove the lines of erased memories from a file that is missing, has pending edits, or has an open question.

        ``key`` is the hash of the file name, and ``page`` is the file at the last sync. ``present`` is the file now, or None
        if it is missing, too large, or being written.

        Return True if the record of the file stays. Its new state is then added to ``pages``. If all lines of ``page`` belong
        to erased memories, plan to delete the whole file, and return False.
        """
        erased = {line.digest for line in page.lines if line.id in self._stored.erased}
        left = replace(page, lines=tuple(line for line in page.lines if line.id not in self._stored.erased))
        if not erased:
            pages[key] = page
            return True
        if not left.lines:
            if present is not None:
                self._plan.writes.append(FileWrite(name=present.name, data=None, stamp=present.stamp))
            return False
        pages[key] = left
        if present is not None:
            remaining = _without(present, erased, {line.digest for line in page.lines}, is_index=key == INDEX_KEY)
            if remaining != present.data:
                self._plan.writes.append(FileWrite(name=present.name, data=remaining, stamp=present.stamp))
        return True


def _without(present: _PresentFile, erased: set[str], known: set[str], *, is_index: bool) -> bytes:
    """Return a file's bytes without the lines of erased memories.

    A truncated last line is dropped, too, because it may be the start of an erased line. ``erased`` contains the hashes of the
    erased lines, and ``known`` the hashes of all lines that the file had at the last sync.
    """
    page = (parse_index if is_index else parse_page)(present.text)
    rows: list[str] = []
    for place, part in enumerate(page.parts):
        if isinstance(part, str):
            rows.append(part)
            continue
        cut = place == len(page.parts) - 1 and not page.ended and digest(part.text) not in known
        if digest(part.text) not in erased and not cut:
            rows += part.raw
    return (page.newline.join(rows) + page.newline).encode("utf-8", "surrogateescape")


def _page_record(page: Page, data: bytes, topic: str, memories: Sequence[Memory]) -> BasePage:
    lines = _base_lines(page, [(memory.id, page_line(memory)) for memory in memories])
    return BasePage(topic=digest(topic), title=digest(page.title or ""), sha=bytes_digest(data), lines=lines)


def _base_lines(page: Page, lines: Sequence[tuple[str, Line]]) -> tuple[BaseLine, ...]:
    ids = ids_of(page, [(id, digest(line.text)) for id, line in lines])
    return tuple(
        BaseLine(id=id, digest=digest(line.text), at=line.at or "")
        for id, line in zip(ids, page.lines, strict=True)
        if id is not None
    )


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip()
