"""Three-way merging of files a person edits with the memories they mirror; computes changes and writes nothing.

The base is what both were when last in step. Changed on one side only, that side counts; changed on both, both
survive. A line that is gone is forgotten, but where much is gone at once, or a file looks cut off, nothing of that
file counts until a person has answered.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.learning.topics.page_names import general, topic_called
from holdfast.topic_files.lines import LineFormat
from holdfast.topic_files.markdown import Line, mark, written
from holdfast.topic_files.matching import MIN_MOVE_LIKENESS, alike, match
from holdfast.topic_files.record import BaseLine, BasePage, Doubt, File, MergedPage, MergeResult, StoredState, Why
from holdfast.types import Change, Retire

MAX_UNCONFIRMED_LINES: Final = 3
"""So many lines may go from a page without a question, whatever its length."""
MAX_UNCONFIRMED_FRACTION: Final = 3
"""No more than one line in so many may go without a question."""
FORGOTTEN: Final = "deleted by hand from its file"


@dataclass(slots=True, kw_only=True)
class _Work:
    """One file under way."""

    key: str
    file: File | None
    base: BasePage | None
    topic: str = ""
    found: dict[int, int] = field(default_factory=dict)
    moved_in: dict[int, tuple[BaseLine, str]] = field(default_factory=dict)
    moved_out: set[int] = field(default_factory=set)
    held: bool = False
    spared: bool = False
    """A person refused: what is gone stays."""
    restored: bool = False
    """A person refused: the file counts for nothing and is written again."""

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
    """Merge the ``files`` that changed since the base, and those that are ``missing``; ``answers`` are a person's, by question."""
    works = [_Work(key=key, file=file, base=base.get(key)) for key, file in files.items()]
    works += [_Work(key=key, file=None, base=base[key]) for key in missing]
    return _Merging(works, base, known, lines, answers or {}).run()


class _Merging:
    def __init__(
        self, works: list[_Work], base: Mapping[str, BasePage], known: StoredState, lines: LineFormat, answers: Mapping[str, bool]
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
        self._doubts: list[Doubt] = []
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
        pages = {work.key: self._taken_in(work) for work in active if work.file}
        for work in active:
            self._forget(work)
        return MergeResult(
            changes=tuple(self._changes),
            pages=pages,
            dropped=frozenset(work.key for work in active if work.file is None),
            moved=frozenset(line.id for work in active for line, _ in work.moved_in.values()),
            doubts=tuple(self._doubts),
            conflicts=tuple(self._conflicts),
        )

    # --- what is what ---------------------------------------------------------------------------------------

    def _topic(self, work: _Work) -> str:
        """Return the topic a file stands for now: by its title, unless that is as it was."""
        if not self._lines.titled:
            return ""
        title = work.file.page.title if work.file else None
        before = self._known.topics.get(work.base.topic) if work.base else None
        if work.base and before and (title is None or mark(title) == work.base.title):
            return before
        return topic_called(title or (work.file.stem if work.file else "") or "topic", self._known.topics.values())

    def _find_moved(self) -> None:
        """Find lines that went from one file to another: the same text first, then alike."""
        gone = [(work, place) for work in self._works for place in work.gone]
        fresh = [(work, place) for work in self._works for place in work.fresh]
        by_mark = {work.base_lines[place].mark: (work, place) for work, place in gone}
        for work, place in list(fresh):
            there = by_mark.pop(mark(work.lines[place].text), None)
            if there is not None and there[0] is not work:
                self._move(there, (work, place))
                gone.remove(there)
                fresh.remove((work, place))
        texts = [self._known.before.get(work.base_lines[place].id, "") for work, place in gone]
        for one, other in alike([work.lines[place].text for work, place in fresh], texts, min_ratio=MIN_MOVE_LIKENESS):
            if gone[other][0] is not fresh[one][0]:
                self._move(gone[other], fresh[one])

    @staticmethod
    def _move(there: tuple[_Work, int], here: tuple[_Work, int]) -> None:
        (source, old), (target, new) = there, here
        assert source.base is not None
        target.moved_in[new] = (source.base_lines[old], source.base.topic)
        source.moved_out.add(old)

    # --- what is in doubt -----------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Hold what only a person can decide."""
        missing = [work for work in self._works if work.file is None and self._losses(work)]
        whole = len(missing) > 1 and len(missing) == len([page for page in self._base.values() if page.lines])
        if whole:
            gone = sum(self._losses(work) for work in missing)
            sha = mark("|".join(sorted(work.key for work in missing)))
            self._decide(missing, Doubt(file="", why="all deleted", gone=gone, of=gone, sha=sha))
        for work in self._works:
            if not (whole and work in missing):
                why = self._why(work)
                if why:
                    self._decide([work], self._doubt(work, why))
        self._ask_about_the_sum()

    def _ask_about_the_sum(self) -> None:
        """A little gone from each of many pages is a lot, too."""
        open_ = [work for work in self._works if not (work.held or work.restored or work.spared) and self._losses(work)]
        asked = [work for work in open_ if self._answers.get(self._doubt(work, "gone").id) is None and work.file]
        total = sum(self._losses(work) for work in asked)
        if total > MAX_UNCONFIRMED_LINES and total * MAX_UNCONFIRMED_FRACTION > sum(
            len(page.lines) for page in self._base.values()
        ):
            for work in asked:
                self._decide([work], self._doubt(work, "gone"))

    def _doubt(self, work: _Work, why: Why) -> Doubt:
        sha = work.file.sha if work.file else work.base.sha if work.base else ""
        return Doubt(file=work.key, why=why, gone=self._losses(work), of=len(work.base_lines), sha=sha)

    def _decide(self, works: list[_Work], doubt: Doubt) -> None:
        answer = self._answers.get(doubt.id)
        if answer is None:
            self._doubts.append(doubt)
        for work in works:
            work.held |= answer is None
            work.spared |= answer is False
            work.restored |= answer is False and doubt.why != "gone"

    def _losses(self, work: _Work) -> int:
        """Count the memories that would be forgotten."""
        return sum(self._forgettable(work.base_lines[place]) for place in work.gone)

    def _forgettable(self, line: BaseLine) -> bool:
        """What was changed in the database since is not forgotten for a line deleted before."""
        return line.id in self._now and mark(self._now[line.id].text) == line.mark

    def _why(self, work: _Work) -> Why | None:
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

    def _is_cut(self, work: _Work) -> bool:
        """Tell whether a file ends in the middle of a line there was."""
        if work.file is None or work.file.page.ended:
            return False
        last = work.file.page.parts[-1]
        if isinstance(last, str):
            return not work.lines
        known = {line.mark for line in work.base_lines}
        if mark(last.text) in known:
            return False
        typed = Line(text=last.text, at=last.at)
        wholes = [Line(text=self._known.before.get(line.id, ""), at=line.at) for line in work.base_lines]
        return any(written(whole).startswith(written(typed)) or whole.text.startswith(last.text) for whole in wholes)

    # --- what follows ---------------------------------------------------------------------------------------

    def _taken_in(self, work: _Work) -> MergedPage:
        assert work.file is not None
        if work.restored:
            topic = self._known.topics.get(work.base.topic, work.topic) if work.base else work.topic
            return MergedPage(topic=topic, sha=work.file.sha)
        self._rename(work)
        taken: list[tuple[Line, str | int]] = []
        for place, line in enumerate(work.lines):
            slot = self._slot(work, place, line)
            if slot is not None:
                taken.append((line, slot))
        named = not self._lines.titled or work.base is None
        title = work.file.page.title or (work.file.stem if named else "")
        return MergedPage(topic=work.topic, title=title, sha=work.file.sha, lines=tuple(taken))

    def _rename(self, work: _Work) -> None:
        """A new title is a new topic for all that had the old one, also for what the file does not show yet."""
        if not (self._lines.titled and work.base) or mark(work.topic) == work.base.topic:
            return
        own = {line.id for line in work.base_lines}
        for id, memory in self._known.live.items():
            if id not in own and memory.topic and mark(memory.topic) == work.base.topic:
                self._changes.append(self._lines.revised(memory, None, topic=work.topic, at=None))

    def _slot(self, work: _Work, place: int, line: Line) -> str | int | None:
        """Return what a line stands for, having noted the change that makes it so."""
        if place in work.found and work.base:
            return self._merged(work, work.base_lines[work.found[place]], line, work.base.topic)
        if place in work.moved_in:
            return self._merged(work, work.moved_in[place][0], line, work.moved_in[place][1])
        return self._new(work, line)

    def _merged(self, work: _Work, before: BaseLine, line: Line, home: str) -> str | int | None:
        """Merge one line that there was before."""
        memory, edited = self._known.live.get(before.id), mark(line.text) != before.mark
        if memory is None:
            if not edited:
                return None
            self._conflicts.append(before.id)
            return self._add(line, self._topic_of_new(work))
        now = self._now[before.id]
        differs = edited and now.text != line.text
        if differs and mark(now.text) != before.mark:
            self._conflicts.append(before.id)
            return self._add(line, memory.topic or work.topic)
        moves = self._lines.titled and memory.topic is not None and mark(memory.topic) == home and memory.topic != work.topic
        at = line.at if line.at and before.at and line.at != before.at and now.at == before.at else None
        if differs or moves or at:
            put = self._lines.revised(memory, line if differs else None, topic=work.topic if moves else None, at=at)
            if differs or moves or put.valid_from:
                self._changes.append(put)
        return memory.id

    def _new(self, work: _Work, line: Line) -> str | int | None:
        """Take in a line that there was not: something known that stands in no line, or something new."""
        same = self._by_text.get(line.text)
        if same is None:
            return self._add(line, self._topic_of_new(work))
        memory = self._known.live[same]
        standing = same in self._claimed or any(line.id == same for page in self._untouched() for line in page.lines)
        if standing or (self._lines.titled and memory.topic is not None and memory.topic != work.topic):
            return None  # it has a line of its own; a second one is no second memory
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

    def _topic_of_new(self, work: _Work) -> str:
        """Return the topic of a new line: the file's own, or the general part of one that was split meanwhile."""
        if not self._lines.titled or work.base is None or mark(work.topic) != work.base.topic:
            return work.topic
        live = [self._known.live[line.id].topic for line in work.base_lines if line.id in self._known.live]
        is_gone = all(memory.topic != work.topic for memory in self._known.live.values())
        return general(work.topic) if is_gone and any(live) else work.topic

    def _forget(self, work: _Work) -> None:
        """Forget what a person deleted; what changed in the database meanwhile stays, and is written again."""
        for place in work.gone if not work.spared else ():
            line = work.base_lines[place]
            if line.id in self._claimed or line.id not in self._now:
                continue
            if self._forgettable(line):
                self._changes.append(Retire(id=line.id, status="forgotten", reason=FORGOTTEN))
            else:
                self._conflicts.append(line.id)
