"""Three-way merge of edited files with the memories they mirror. The merge computes changes and writes nothing.

The base is the state of the last sync. The two sides are the file and the store. If only one side changed, that change
wins. If both sides changed, both texts are kept. Deleting a line forgets its memory. If many lines are missing at once,
or a file looks truncated, a question is created, and the file is ignored until the user answers.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.learning.topics.page_names import general, topic_called
from holdfast.topic_files.lines import LineFormat
from holdfast.topic_files.markdown import Line, digest, render_line
from holdfast.topic_files.matching import MIN_MOVE_SIMILARITY, match, pair_similar
from holdfast.topic_files.record import BaseLine, BasePage, File, MergedPage, MergeResult, PendingQuestion, StoredState, Why
from holdfast.types import Change, Retire

MAX_UNCONFIRMED_LINES: Final = 3
"""Maximum number of lines that the user can delete from a page of any length without being asked to confirm."""
MAX_UNCONFIRMED_FRACTION: Final = 3
"""Divisor of a page's number of lines. With 3, the user can delete a third of the lines without being asked to confirm."""
FORGOTTEN: Final = "deleted by hand from its file"


@dataclass(slots=True, kw_only=True)
class _FileMerge:
    """State of the merge of one file."""

    key: str
    file: File | None
    base: BasePage | None
    topic: str = ""
    found: dict[int, int] = field(default_factory=dict)
    moved_in: dict[int, tuple[BaseLine, str]] = field(default_factory=dict)
    moved_out: set[int] = field(default_factory=set)
    held: bool = False
    spared: bool = False
    """True if the user answered no to a question about deleted lines in this file. Then no memory is forgotten."""
    restored: bool = False
    """True if the user rejected the edits in this file. The edits are then ignored, and the file is rewritten from the store."""

    @property
    def lines(self) -> tuple[Line, ...]:
        return self.file.page.lines if self.file else ()

    @property
    def base_lines(self) -> tuple[BaseLine, ...]:
        return self.base.lines if self.base else ()

    @property
    def gone(self) -> list[int]:
        kept = {*self.found.values(), *self.moved_out}
        return [place for place in range(len(self.base_lines)) if place not in kept]

    @property
    def fresh(self) -> list[int]:
        return [place for place in range(len(self.lines)) if place not in self.found and place not in self.moved_in]


def merge(
    base: Mapping[str, BasePage],
    files: Mapping[str, File],
    known: StoredState,
    lines: LineFormat,
    *,
    missing: Collection[str] = (),
    answers: Mapping[str, bool] | None = None,
) -> MergeResult:
    """Compare edited topic files with the stored memories. Return the changes that make the memories match the edits.

    ``files`` are the files that were changed since the last sync, and ``missing`` the files that were deleted since then.
    ``base`` is the state of the files at the last sync, and ``known`` the state of the store. ``lines`` converts between
    lines and memories. ``answers`` maps question ids to the user's answers.
    """
    works = [_FileMerge(key=key, file=file, base=base.get(key)) for key, file in files.items()]
    works += [_FileMerge(key=key, file=None, base=base[key]) for key in missing]
    return _Merging(works, base, known, lines, answers or {}).run()


class _Merging:
    def __init__(
        self,
        works: list[_FileMerge],
        base: Mapping[str, BasePage],
        known: StoredState,
        lines: LineFormat,
        answers: Mapping[str, bool],
    ) -> None:
        self._works = works
        self._base = base
        self._known = known
        self._lines = lines
        self._answers = answers
        self._now = {id: lines.line(memory) for id, memory in known.live.items()}
        self._by_text = {line.text: id for id, line in self._now.items()}
        self._changes: list[Change] = []
        self._conflicts: list[str] = []
        self._questions: list[PendingQuestion] = []
        self._claimed: set[str] = set()

    def run(self) -> MergeResult:
        now = {id: line.text for id, line in self._now.items()}
        for work in self._works:
            work.topic = self._topic(work)
            work.found = match(work.base_lines, work.lines, before=self._known.before, now=now)
        self._find_moved()
        self._ask()
        active = [work for work in self._works if not work.held]
        for work in active:
            self._claimed |= {work.base_lines[place].id for place in work.found.values()}
            self._claimed |= {line.id for line, _ in work.moved_in.values()}
        pages = {work.key: self._import(work) for work in active if work.file}
        for work in active:
            self._forget(work)
        return MergeResult(
            changes=tuple(self._changes),
            pages=pages,
            dropped=frozenset(work.key for work in active if work.file is None),
            moved=frozenset(line.id for work in active for line, _ in work.moved_in.values()),
            questions=tuple(self._questions),
            conflicts=tuple(self._conflicts),
        )

    # --- matching -------------------------------------------------------------------------------------------

    def _topic(self, work: _FileMerge) -> str:
        """Return the topic of a file. For the index, the topic is empty, because each of its lines has its own topic.

        A page that existed at the last sync keeps its topic, unless its title was changed. A new or changed title becomes the
        topic. For a new page without a title, the file name becomes the topic.
        """
        if not self._lines.titled:
            return ""
        title = work.file.page.title if work.file else None
        before = self._known.topics.get(work.base.topic) if work.base else None
        if work.base and before and (title is None or digest(title) == work.base.title):
            return before
        return topic_called(title or (work.file.stem if work.file else "") or "topic", self._known.topics.values())

    def _find_moved(self) -> None:
        """Find lines that moved to another file: first lines with equal text, then lines with similar text."""
        gone = [(work, place) for work in self._works for place in work.gone]
        fresh = [(work, place) for work in self._works for place in work.fresh]
        by_digest = {work.base_lines[place].digest: (work, place) for work, place in gone}
        for work, place in list(fresh):
            source = by_digest.pop(digest(work.lines[place].text), None)
            if source is not None and source[0] is not work:
                self._move(source, (work, place))
                gone.remove(source)
                fresh.remove((work, place))
        texts = [self._known.before.get(work.base_lines[place].id, "") for work, place in gone]
        for one, other in pair_similar([work.lines[place].text for work, place in fresh], texts, min_ratio=MIN_MOVE_SIMILARITY):
            if gone[other][0] is not fresh[one][0]:
                self._move(gone[other], fresh[one])

    @staticmethod
    def _move(gone: tuple[_FileMerge, int], added: tuple[_FileMerge, int]) -> None:
        (source, old), (target, new) = gone, added
        assert source.base is not None
        target.moved_in[new] = (source.base_lines[old], source.base.topic)
        source.moved_out.add(old)

    # --- questions ------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Create questions about files that look damaged or lost many lines, for example deleted, empty or truncated files.

        These files are not merged until the user answers. If the user has already answered, apply the answer, and create no
        question.
        """
        missing = [work for work in self._works if work.file is None and self._losses(work)]
        is_everything = len(missing) > 1 and len(missing) == len([page for page in self._base.values() if page.lines])
        if is_everything:
            gone = sum(self._losses(work) for work in missing)
            sha = digest("|".join(sorted(work.key for work in missing)))
            self._decide(missing, PendingQuestion(file="", why="all deleted", gone=gone, of=gone, sha=sha))
        for work in self._works:
            if not (is_everything and work in missing):
                why = self._why(work)
                if why:
                    self._decide([work], self._question_for(work, why))
        self._ask_about_total()

    def _ask_about_total(self) -> None:
        """Create questions if too many lines were deleted in all files together.

        The files are not merged until the user answers.
        """
        with_losses = [work for work in self._works if not (work.held or work.restored or work.spared) and self._losses(work)]
        unanswered = [
            work for work in with_losses if self._answers.get(self._question_for(work, "gone").id) is None and work.file
        ]
        total = sum(self._losses(work) for work in unanswered)
        if total > MAX_UNCONFIRMED_LINES and total * MAX_UNCONFIRMED_FRACTION > sum(
            len(page.lines) for page in self._base.values()
        ):
            for work in unanswered:
                self._decide([work], self._question_for(work, "gone"))

    def _question_for(self, work: _FileMerge, why: Why) -> PendingQuestion:
        sha = work.file.sha if work.file else work.base.sha if work.base else ""
        return PendingQuestion(file=work.key, why=why, gone=self._losses(work), of=len(work.base_lines), sha=sha)

    def _decide(self, works: list[_FileMerge], question: PendingQuestion) -> None:
        answer = self._answers.get(question.id)
        if answer is None:
            self._questions.append(question)
        for work in works:
            work.held |= answer is None
            work.spared |= answer is False
            work.restored |= answer is False and question.why != "gone"

    def _losses(self, work: _FileMerge) -> int:
        """Return the number of memories that would be forgotten because their lines were deleted from the file."""
        return sum(self._forgettable(work.base_lines[place]) for place in work.gone)

    def _forgettable(self, line: BaseLine) -> bool:
        """Return True if the memory of a line is forgotten when the line is deleted.

        This is the case if the memory is live and its text is unchanged since the last sync.
        """
        return line.id in self._now and digest(self._now[line.id].text) == line.digest

    def _why(self, work: _FileMerge) -> Why | None:
        losses = self._losses(work)
        if work.file is None:
            return "deleted" if losses else None
        if work.base is None or not work.base_lines:
            return None
        page = work.file.page
        if page.is_blank:
            return "empty"
        if self._lines.titled and page.title is None:
            return "no title"
        if self._is_cut(work):
            return "cut off"
        return "gone" if losses > MAX_UNCONFIRMED_LINES and losses * MAX_UNCONFIRMED_FRACTION > len(work.base_lines) else None

    def _is_cut(self, work: _FileMerge) -> bool:
        """Return True if a file ends in the middle of a line that was complete at the last sync."""
        if work.file is None or work.file.page.ended:
            return False
        last = work.file.page.parts[-1]
        if isinstance(last, str):
            return not work.lines
        known = {line.digest for line in work.base_lines}
        if digest(last.text) in known:
            return False
        typed = Line(text=last.text, at=last.at)
        base_lines = [Line(text=self._known.before.get(line.id, ""), at=line.at) for line in work.base_lines]
        return any(render_line(line).startswith(render_line(typed)) or line.text.startswith(last.text) for line in base_lines)

    # --- changes --------------------------------------------------------------------------------------------

    def _import(self, work: _FileMerge) -> MergedPage:
        assert work.file is not None
        if work.restored:
            topic = self._known.topics.get(work.base.topic, work.topic) if work.base else work.topic
            return MergedPage(topic=topic, sha=work.file.sha)
        self._rename(work)
        lines: list[tuple[Line, str | int]] = []
        for place, line in enumerate(work.lines):
            slot = self._slot(work, place, line)
            if slot is not None:
                lines.append((line, slot))
        named = not self._lines.titled or work.base is None
        title = work.file.page.title or (work.file.stem if named else "")
        return MergedPage(topic=work.topic, title=title, sha=work.file.sha, lines=tuple(lines))

    def _rename(self, work: _FileMerge) -> None:
        """If the title of a file was changed, change the topic of the old topic's memories that have no line in the file.

        Memories that have a line in the file get the new topic when their lines are merged.
        """
        if not (self._lines.titled and work.base) or digest(work.topic) == work.base.topic:
            return
        own = {line.id for line in work.base_lines}
        for id, memory in self._known.live.items():
            if id not in own and memory.topic and digest(memory.topic) == work.base.topic:
                self._changes.append(self._lines.revised(memory, None, topic=work.topic, at=None))

    def _slot(self, work: _FileMerge, place: int, line: Line) -> str | int | None:
        """Add the change that a line of the file requires, if any. Return the id of the line's memory.

        A memory that is still to be created has no id yet. Then return the position of the change that creates the memory.
        Return None if the line has no memory. ``place`` is the position of the line in the file.
        """
        if place in work.found and work.base:
            return self._merged(work, work.base_lines[work.found[place]], line, work.base.topic)
        if place in work.moved_in:
            return self._merged(work, work.moved_in[place][0], line, work.moved_in[place][1])
        return self._new(work, line)

    def _merged(self, work: _FileMerge, before: BaseLine, line: Line, home: str) -> str | int | None:
        """Merge a line that already existed at the last sync. Return the same value as :meth:`_slot`.

        ``before`` is the line as it was at the last sync, and ``home`` is the hash of the topic that it had then.
        """
        memory, edited = self._known.live.get(before.id), digest(line.text) != before.digest
        if memory is None:
            if not edited:
                return None
            self._conflicts.append(before.id)
            return self._add(line, self._topic_of_new(work))
        now = self._now[before.id]
        differs = edited and now.text != line.text
        if differs and digest(now.text) != before.digest:
            self._conflicts.append(before.id)
            return self._add(line, memory.topic or work.topic)
        moves = self._lines.titled and memory.topic is not None and digest(memory.topic) == home and memory.topic != work.topic
        at = line.at if line.at and before.at and line.at != before.at and now.at == before.at else None
        if differs or moves or at:
            put = self._lines.revised(memory, line if differs else None, topic=work.topic if moves else None, at=at)
            if differs or moves or put.valid_from:
                self._changes.append(put)
        return memory.id

    def _new(self, work: _FileMerge, line: Line) -> str | int | None:
        """Merge a new line. Return the same value as :meth:`_slot`.

        If no memory has the text of the line, the line creates a memory. If a memory with this text has no line yet, the line
        now stands for that memory. On a topic page, a memory without a topic then gets the topic of the page.

        The line is ignored, and the result is None, if the memory already has a line. On a topic page, this also happens if
        the memory has another topic.
        """
        same = self._by_text.get(line.text)
        if same is None:
            return self._add(line, self._topic_of_new(work))
        memory = self._known.live[same]
        has_line = same in self._claimed or any(line.id == same for page in self._untouched() for line in page.lines)
        if has_line or (self._lines.titled and memory.topic is not None and memory.topic != work.topic):
            return None  # the memory has a line already; a second line creates no second memory
        self._claimed.add(same)
        if self._lines.titled and memory.topic is None:
            self._changes.append(self._lines.revised(memory, None, topic=work.topic, at=None))
        return same

    def _untouched(self) -> list[BasePage]:
        touched = {work.key for work in self._works if not work.held}
        return [page for key, page in self._base.items() if key not in touched]

    def _add(self, line: Line, topic: str) -> int:
        self._changes.append(self._lines.created(line, topic))
        return len(self._changes) - 1

    def _topic_of_new(self, work: _FileMerge) -> str:
        """Return the topic for a new line of this file.

        This is normally the file's topic. But that topic may have been split into subtopics since the last sync. Then return
        the general subtopic, which gets the lines that match no other subtopic.
        """
        if not self._lines.titled or work.base is None or digest(work.topic) != work.base.topic:
            return work.topic
        live = [self._known.live[line.id].topic for line in work.base_lines if line.id in self._known.live]
        is_gone = all(memory.topic != work.topic for memory in self._known.live.values())
        return general(work.topic) if is_gone and any(live) else work.topic

    def _forget(self, work: _FileMerge) -> None:
        """Forget the memories of deleted lines. A memory that changed in the store since the last sync stays, as a conflict."""
        for place in work.gone if not work.spared else ():
            line = work.base_lines[place]
            if line.id in self._claimed or line.id not in self._now:
                continue
            if self._forgettable(line):
                self._changes.append(Retire(id=line.id, status="forgotten", reason=FORGOTTEN))
            else:
                self._conflicts.append(line.id)
