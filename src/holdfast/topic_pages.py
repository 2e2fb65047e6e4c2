"""Topics as pages that a surface shows and takes back: the live memories of a topic as Markdown, and hand edits of it.

An edit is merged as a file's is: see :mod:`holdfast.policies.page_merge`. What it began from is the page as it was shown
then; what has changed in the memory since is neither lost nor taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from holdfast.engine import Engine
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.files.reading import Reading
from holdfast.files.record import Record, scope_mark
from holdfast.files.taking_in import TakingIn
from holdfast.policies.page_names import page_title, topic_called
from holdfast.policies.page_record import BaseLine, BasePage, Doubt, File
from holdfast.policies.pages import Line, Page, in_order, mark, parse_page, render_page, shown
from holdfast.protocols import MemoryFilter, Reads
from holdfast.text.clean import clean_name
from holdfast.types import Memory, Scope

_KEY = "page"
Pages: TypeAlias = dict[str, list[Memory]]
"""The lines of each topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage:
    """A topic as it is shown."""

    topic: str
    title: str
    markdown: str
    lines: tuple[Memory, ...]

    @property
    def updated_at(self) -> datetime:
        """When one of its lines last changed."""
        return max(memory.updated_at for memory in self.lines)


class TopicPages:
    """The pages of one scope."""

    def __init__(self, memory: Engine, *, user: str | None = None, app: str | None = None, agent: str | None = None) -> None:
        self._memory = memory
        self._scope = Scope(
            tenant=memory.store.tenant,
            user=clean_name(user, what="user"),
            app=clean_name(app, what="app"),
            agent=clean_name(agent, what="agent"),
        )

    def list(self) -> Sequence[TopicPage]:
        """Return all pages, the one that changed last first."""
        pages = [_page(topic, lines) for topic, lines in self._topics(self._memory.store).items()]
        return sorted(pages, key=lambda page: page.updated_at, reverse=True)

    def get(self, topic: str) -> TopicPage:
        """Return one page."""
        lines = self._topics(self._memory.store).get(topic)
        if not lines:
            raise NotFound(f"There is no topic {topic}.")
        return _page(topic, lines)

    def edit(self, topic: str, markdown: str, *, base: str | None = None, confirm: bool = False) -> TopicPage:
        """Take in a page as a person has made it; ``base`` is the page the edit began from, else the page as it is now.

        An edit that takes many lines away is a conflict unless it is confirmed. A new title renames the topic.
        """
        if self._memory.preset.topics is None:
            raise InvalidInput(f"The preset {self._memory.preset.name!r} keeps no topics.")
        topic = clean_name(topic, what="topic") or ""
        page = _titled(parse_page(_ended(markdown)), topic)
        with self._memory.store.write() as tx:
            known = self._topics(tx).get(topic, [])
            before = _titled(parse_page(_ended(base if base is not None else render_page(topic, known))), topic)
            record = Record(scope=scope_mark(self._scope), pages={_KEY: self._base(tx, topic, before)} if known or base else {})
            taking = TakingIn(tx, self._memory.preset, self._scope, self._memory.clock.now())
            reading = Reading(pages={_KEY: File(page=page, sha=mark(markdown), stem=topic)})
            taken = taking.run(record, reading, {})
            if taken.record.doubts:
                if not confirm:
                    raise Conflict(_question(taken.record.doubts[0], topic))
                taken = taking.run(record, reading, {doubt.id: True for doubt in taken.record.doubts})
            pages = self._topics(tx)
        self._memory.wake()
        return self._after(topic, page, pages)

    def _after(self, topic: str, page: Page, pages: Pages) -> TopicPage:
        """Return the page as it is now; an edit that leaves no line leaves an empty page."""
        named = topic_called(page.title or topic, pages)
        found = named if named in pages else topic
        return _page(found, pages.get(found, []))

    def _topics(self, reads: Reads) -> Pages:
        rules = self._memory.preset.topics
        if rules is None:
            return {}
        now = self._memory.clock.now()
        wanted = MemoryFilter(exactly=self._scope, kinds=(rules.kind,), has_topic=True, unexpired_at=now)
        pages: Pages = {}
        for memory in in_order(reads.memories(wanted)):
            pages.setdefault(memory.topic or "", []).append(memory)
        return pages

    def _base(self, reads: Reads, topic: str, before: Page) -> BasePage:
        """Return what an edit began from, its lines tied to the memories they stood for then."""
        known = self._topics(reads).get(topic, [])
        lines = tuple(self._base_line(reads, line, number, known) for number, line in enumerate(before.lines))
        return BasePage(topic=mark(topic), title=mark(before.title or ""), sha=mark(""), lines=lines)

    def _base_line(self, reads: Reads, line: Line, number: int, known: Sequence[Memory]) -> BaseLine:
        found = next((memory.id for memory in known if shown(memory).text == line.text), None)
        if found is None:  # it was changed since, or is no more: then it stands for nothing
            found = next((memory.id for memory in known if _once_said(reads, memory, line)), f"gone {number}")
        return BaseLine(id=found, mark=mark(line.text), at=line.at or "")


def _once_said(reads: Reads, memory: Memory, line: Line) -> bool:
    return any(shown(revision).text == line.text for revision in reads.revisions(memory.id))


def _page(topic: str, lines: Sequence[Memory]) -> TopicPage:
    return TopicPage(topic=topic, title=page_title(topic), markdown=render_page(topic, lines), lines=tuple(lines))


def _ended(markdown: str) -> str:
    """Return a page whose last row is ended: a form's text is never cut off in the middle."""
    return markdown if markdown.endswith("\n") else markdown + "\n"


def _titled(page: Page, topic: str) -> Page:
    """Return a page with a title: it is known which one it is, so a title that is missing was not meant to be another."""
    return page if page.title is not None else parse_page(f"# {page_title(topic)}\n\n" + _text(page))


def _text(page: Page) -> str:
    rows = [row for part in page.parts for row in ([part] if isinstance(part, str) else part.raw)]
    return "\n".join(rows) + "\n"


def _question(doubt: Doubt, topic: str) -> str:
    if doubt.why == "empty":
        return f"The page {topic} would be empty; it has {doubt.of} lines. Send it with confirm to forget them."
    return f"{doubt.gone} of the {doubt.of} lines of {topic} are gone. Send it with confirm to forget them."
