"""Writing pages out: what the files are to say, computed beside them, and put in their place only while nothing moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.learning.topics.page_names import INDEX_FILE, file_name, name_key
from holdfast.topic_files.folder import Folder, Stamp
from holdfast.topic_files.index import noted, parse_index, render_index
from holdfast.topic_files.last_agreed import INDEX_KEY, Record, bytes_mark, file_key
from holdfast.topic_files.markdown import Line, Page, ids_of, mark, parse_page, render_page, shown, update_page
from holdfast.topic_files.reading import MAX_FILE_BYTES, decode
from holdfast.topic_files.record import BaseLine, BasePage
from holdfast.types import Memory

_FRESH: Final = mark("")
"""The title's mark of a file that is to be written anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWrite:
    """One file to write, or with no data to remove, if it still looks as it did."""

    name: str
    data: bytes | None
    stamp: Stamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPages:
    """What the store has to show: memories by topic, the notes of the index, and which ids there are no more at all."""

    topics: Mapping[str, Sequence[Memory]]
    notes: Sequence[Memory] | None
    """None where no index is kept."""
    erased: frozenset[str]
    max_notes: int


@dataclass(slots=True)
class WritePlan:
    """What is to be written, and the record of how the files are then."""

    record: Record
    writings: list[FileWrite] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PresentFile:
    """A file as it is."""

    name: str
    stamp: Stamp
    data: bytes

    @property
    def text(self) -> str:
        return decode(self.data) or self.data.decode("utf-8", "surrogateescape")


class Planner:
    """Works out what differs between the folder and the store."""

    def __init__(self, folder: Folder, record: Record, shelf: StoredPages) -> None:
        self._folder = folder
        self._record = record
        self._shelf = shelf
        self._held = {doubt.file for doubt in record.doubts}
        self._files = {file_key(name): (name, stamp) for name, stamp in folder.listing().items()}
        self._plan = WritePlan(record=replace(record, pages={}, index={}))

    def plan(self) -> WritePlan:
        """Return what to write so that the files say what the store does; files not in step are left, but for what is erased."""
        shown_already: set[str] = set()
        for key, page in sorted(self._record.pages.items(), key=lambda item: -len(item[1].lines)):
            topic = self._topic(page) if page.topic not in shown_already else None
            if self._keep(key, page, topic):
                shown_already.add(page.topic)
        for topic in self._shelf.topics:
            if mark(topic) not in shown_already:
                self._create(topic)
        if self._shelf.notes is not None:
            self._index(self._shelf.notes)
        self._plan.record = replace(
            self._plan.record, doubts=tuple(doubt for doubt in self._record.doubts if self._is_open(doubt.file))
        )
        return self._plan

    def _is_open(self, key: str) -> bool:
        """A question is over when the page it is about was erased."""
        known = {**self._record.pages, **self._record.index}
        left = {**self._plan.record.pages, **self._plan.record.index}
        return bool(left) if not key else key not in known or key in left

    def _topic(self, page: BasePage) -> str | None:
        return next((topic for topic in self._shelf.topics if mark(topic) == page.topic), None)

    def _present(self, key: str) -> _PresentFile | None:
        if key not in self._files:
            return None
        name, stamp = self._files[key]
        data = self._folder.read(name) if stamp.size <= MAX_FILE_BYTES else None
        return None if data is None else _PresentFile(name=name, stamp=stamp, data=data)

    # --- pages ----------------------------------------------------------------------------------------------

    def _keep(self, key: str, page: BasePage, topic: str | None) -> bool:
        """Bring one known page up to date; tells whether its topic has a page with that."""
        present = self._present(key)
        if present is None or key in self._held or bytes_mark(present.data) != page.sha:
            return self._purge(key, page, present, self._plan.record.pages)
        memories = self._shelf.topics.get(topic, ()) if topic else ()
        if topic is None or not memories:
            self._close(key, page, present)
            return False
        self._write(key, present, self._updated(page, present, topic, memories), topic, memories)
        return True

    def _updated(self, page: BasePage, present: _PresentFile, topic: str, memories: Sequence[Memory]) -> str:
        if page.title == _FRESH:
            return render_page(topic, memories)
        read = parse_page(present.text)
        return update_page(read, ids_of(read, [(line.id, line.mark) for line in page.lines]), topic, memories)

    def _write(self, key: str, present: _PresentFile, text: str, topic: str, memories: Sequence[Memory]) -> None:
        if _plain(text) == _plain(present.text):
            text, data = present.text, present.data  # how a file ends is the person's own affair
        else:
            data = text.encode("utf-8", "surrogateescape")
            self._plan.writings.append(FileWrite(name=present.name, data=data, stamp=present.stamp))
        self._plan.record.pages[key] = _page_record(parse_page(text), data, topic, memories)

    def _close(self, key: str, page: BasePage, present: _PresentFile) -> None:
        """A page whose memories are all elsewhere goes, unless a person wrote something more on it, or only its title."""
        read = parse_page(present.text)
        if not page.lines and not read.lines:
            self._plan.record.pages[key] = page
        elif read.has_layout:
            rest = update_page(read, (), read.title or "", ())
            data = rest.encode("utf-8", "surrogateescape")
            self._plan.writings.append(FileWrite(name=present.name, data=data, stamp=present.stamp))
            self._plan.record.pages[key] = replace(page, sha=bytes_mark(data), lines=())
        elif page.topic:
            self._plan.writings.append(FileWrite(name=present.name, data=None, stamp=present.stamp))
        else:
            self._plan.record.pages[key] = page

    def _create(self, topic: str) -> None:
        names = self._folder.names()
        name = file_name(topic)
        there = next((known for known in names if name_key(known) == name_key(name)), None)
        if there is not None:
            key = file_key(there)
            if key in self._files and key not in self._record.pages and key not in self._held:
                return  # a person has just made it: it is read first
            name = file_name(topic, names)
        memories = self._shelf.topics[topic]
        text = render_page(topic, memories)
        self._plan.writings.append(FileWrite(name=name, data=text.encode(), stamp=None))
        self._plan.record.pages[file_key(name)] = _page_record(parse_page(text), text.encode(), topic, memories)

    # --- the index ------------------------------------------------------------------------------------------

    def _index(self, notes: Sequence[Memory]) -> None:
        page, present = self._record.index.get(INDEX_KEY), self._present(INDEX_KEY)
        if page is None and (present is not None or INDEX_FILE in self._folder.names()):
            return  # not read yet, or nothing of ours
        if page is not None and (present is None or INDEX_KEY in self._held or bytes_mark(present.data) != page.sha):
            self._purge(INDEX_KEY, page, present, self._plan.record.index)
            return
        rows = parse_index(present.text).parts if present and page and page.title != _FRESH else ()
        layout = [row for row in rows if isinstance(row, str) and row.strip()]
        data = render_index(notes, layout=layout, max_notes=self._shelf.max_notes).encode("utf-8", "surrogateescape")
        stamp = present.stamp if present else None
        if not data:
            if present:
                self._plan.writings.append(FileWrite(name=INDEX_FILE, data=None, stamp=stamp))
            return
        if present is None or data != present.data:
            self._plan.writings.append(FileWrite(name=INDEX_FILE, data=data, stamp=stamp))
        lines = [(memory.id, noted(memory)) for memory in notes]
        read = parse_index(data.decode("utf-8", "surrogateescape"))
        self._plan.record.index[INDEX_KEY] = BasePage(
            topic="", title=mark(INDEX_FILE), sha=bytes_mark(data), lines=_base_lines(read, lines)
        )

    # --- erasing --------------------------------------------------------------------------------------------

    def _purge(self, key: str, page: BasePage, present: _PresentFile | None, pages: dict[str, BasePage]) -> bool:
        """Leave a file that a person has changed or is asked about, but for lines of what was erased."""
        erased = {line.mark for line in page.lines if line.id in self._shelf.erased}
        left = replace(page, lines=tuple(line for line in page.lines if line.id not in self._shelf.erased))
        if not erased:
            pages[key] = page
            return True
        if not left.lines:
            if present is not None:
                self._plan.writings.append(FileWrite(name=present.name, data=None, stamp=present.stamp))
            return False
        pages[key] = left
        if present is not None:
            rest = _without(present, erased, {line.mark for line in page.lines}, is_index=key == INDEX_KEY)
            if rest != present.data:
                self._plan.writings.append(FileWrite(name=present.name, data=rest, stamp=present.stamp))
        return True


def _without(present: _PresentFile, erased: set[str], known: set[str], *, is_index: bool) -> bytes:
    """Return a file without some lines; a last line that was cut off may be the beginning of one of them."""
    page = (parse_index if is_index else parse_page)(present.text)
    rows: list[str] = []
    for place, part in enumerate(page.parts):
        if isinstance(part, str):
            rows.append(part)
            continue
        cut = place == len(page.parts) - 1 and not page.ended and mark(part.text) not in known
        if mark(part.text) not in erased and not cut:
            rows += part.raw
    return (page.newline.join(rows) + page.newline).encode("utf-8", "surrogateescape")


def _page_record(page: Page, data: bytes, topic: str, memories: Sequence[Memory]) -> BasePage:
    lines = _base_lines(page, [(memory.id, shown(memory)) for memory in memories])
    return BasePage(topic=mark(topic), title=mark(page.title or ""), sha=bytes_mark(data), lines=lines)


def _base_lines(page: Page, lines: Sequence[tuple[str, Line]]) -> tuple[BaseLine, ...]:
    ids = ids_of(page, [(id, mark(line.text)) for id, line in lines])
    return tuple(
        BaseLine(id=id, mark=mark(line.text), at=line.at or "")
        for id, line in zip(ids, page.lines, strict=True)
        if id is not None
    )


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip()
