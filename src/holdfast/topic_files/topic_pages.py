"""Topics as pages, for whoever shows or edits them without files: the same Markdown, and the same merge of an edit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.learning.topics.page_names import file_name, page_title, topic_called
from holdfast.presets.base import Preset, TopicRules
from holdfast.protocols import Clock, MemoryFilter, Reads, Store, Transaction
from holdfast.text.clean import clean_name
from holdfast.topic_files.last_agreed import Record, bytes_mark, file_key, scope_mark
from holdfast.topic_files.markdown import Page, in_order, mark, parse_page, render_page, shown
from holdfast.topic_files.read_in import FileImport
from holdfast.topic_files.reading import FolderChanges
from holdfast.topic_files.record import BaseLine, BasePage, File
from holdfast.types import Memory, Scope

_MAX_PAGE_CHARACTERS = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage:
    """A topic: the live memories that carry its name, oldest first."""

    topic: str
    title: str
    lines: tuple[Memory, ...]
    updated_at: datetime

    @property
    def markdown(self) -> str:
        """The page as its file would be."""
        return render_page(self.topic, self.lines)


class TopicPages:
    """The topics of a store. ``memory.topics``."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        *,
        follow_up: Callable[[Transaction, Scope], None],
        changed: Callable[[], None],
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._follow_up = follow_up
        self._changed = changed

    def list(self, *, user: str | None = None, app: str | None = None, agent: str | None = None) -> list[TopicPage]:
        """List a scope's own topics, the one changed last first."""
        pages = self._pages(self._store, self._scope(user=user, app=app, agent=agent))
        return sorted(pages.values(), key=lambda page: page.updated_at, reverse=True)

    def page(self, topic: str, *, user: str | None = None, app: str | None = None, agent: str | None = None) -> TopicPage:
        """Return one page, by its topic or its title."""
        pages = self._pages(self._store, self._scope(user=user, app=app, agent=agent))
        called = topic_called(clean_name(topic, what="topic") or "", pages)
        if called not in pages:
            raise NotFound(f"There is no topic {topic!r}.")
        return pages[called]

    def edit(
        self,
        topic: str,
        markdown: str,
        *,
        base: str | None = None,
        confirm: bool = False,
        user: str | None = None,
        app: str | None = None,
        agent: str | None = None,
    ) -> TopicPage:
        """Take in an edited page; ``base`` is the text the edit began from, where the page may have changed since.

        A changed line revises its memory, a new one makes one, a deleted one forgets it; a changed title renames the
        topic. An edit that empties much of a page is a Conflict until it is confirmed.
        """
        if len(markdown) > _MAX_PAGE_CHARACTERS:
            raise InvalidInput(f"A page has at most {_MAX_PAGE_CHARACTERS:,} characters, not {len(markdown):,}.")
        scope, called = self._scope(user=user, app=app, agent=agent), clean_name(topic, what="topic") or ""
        assert self._topics  # or it says that this preset keeps none
        with self._store.write() as tx:
            pages = self._pages(tx, scope)
            called = topic_called(called, pages)
            page = _titled(markdown, called)
            self._apply_edit(tx, scope, pages.get(called), called, page=page, base=base, confirm=confirm)
            self._follow_up(tx, scope)
            after = self._pages(tx, scope)
        self._changed()
        empty = TopicPage(topic=called, title=page_title(called), lines=(), updated_at=self._clock.now())
        return after.get(topic_called(page.title or called, after)) or after.get(called) or empty

    def _apply_edit(
        self, tx: Transaction, scope: Scope, known: TopicPage | None, topic: str, *, page: Page, base: str | None, confirm: bool
    ) -> None:
        key = file_key(file_name(topic))
        before = {key: self._before(tx, scope, known, base)} if known else {}
        sha = bytes_mark("\n".join(line.text for line in page.lines).encode("utf-8", "surrogatepass"))
        reading = FolderChanges(pages={key: File(page=page, sha=sha, stem=page_title(topic))})
        record = Record(scope=scope_mark(scope), pages=before)
        taking_in = FileImport(tx, self._preset, scope, self._clock.now())
        taken = taking_in.run(record, reading, {})
        if taken.record.doubts and confirm:
            taken = taking_in.run(record, reading, {doubt.id: True for doubt in taken.record.doubts})
        if taken.record.doubts:
            doubt = taken.record.doubts[0]
            raise Conflict(f"{doubt.gone} of the {doubt.of} lines would be forgotten; confirm the edit if that is meant.")

    def _before(self, reads: Reads, scope: Scope, page: TopicPage, base: str | None) -> BasePage:
        """Return the page as the editor had it: each line with the memory that said so."""
        lines = [(memory.id, shown(memory)) for memory in page.lines]
        if base is not None:
            said = {mark(shown(memory).text): memory.id for memory in self._ever(reads, scope, page)}
            # A line that nothing ever said stands for nothing: whatever became of it, it is no deletion.
            lines = [(said.get(mark(line.text), f"gone {place}"), line) for place, line in enumerate(parse_page(base).lines)]
        return BasePage(
            topic=mark(page.topic), title=mark(page.title), sha="",
            lines=tuple(BaseLine(id=id, mark=mark(line.text), at=line.at or "") for id, line in lines),
        )  # fmt: skip

    def _ever(self, reads: Reads, scope: Scope, page: TopicPage) -> Sequence[Memory]:
        """Return what may have stood on a page: what does now, each as it was before, and what has left it."""
        wanted = MemoryFilter(exactly=scope, kinds=(self._topics.kind,), topic=page.topic, statuses=None)
        return [revision for memory in reads.memories(wanted) for revision in reads.revisions(memory.id)]

    def _pages(self, reads: Reads, scope: Scope) -> dict[str, TopicPage]:
        if self._preset.topics is None:
            return {}
        wanted = MemoryFilter(exactly=scope, kinds=(self._topics.kind,), has_topic=True, unexpired_at=self._clock.now())
        gathered: dict[str, list[Memory]] = {}
        for memory in in_order(reads.memories(wanted)):
            gathered.setdefault(memory.topic or "", []).append(memory)
        return {
            topic: TopicPage(
                topic=topic, title=page_title(topic), lines=tuple(lines), updated_at=max(line.updated_at for line in lines)
            )
            for topic, lines in gathered.items()
        }  # fmt: skip

    @property
    def _topics(self) -> TopicRules:
        if self._preset.topics is None:
            raise InvalidInput(f"The preset {self._preset.name!r} keeps no topics.")
        return self._preset.topics

    def _scope(self, *, user: str | None, app: str | None, agent: str | None) -> Scope:
        return Scope(
            tenant=self._store.tenant,
            user=clean_name(user, what="user"),
            app=clean_name(app, what="app"),
            agent=clean_name(agent, what="agent"),
        )


def _titled(markdown: str, topic: str) -> Page:
    """Return a page that was typed in a form: it is known which one it is, and its last row is not cut off."""
    text = markdown if markdown.endswith("\n") else f"{markdown}\n"
    page = parse_page(text)
    return page if page.title is not None else parse_page(f"# {page_title(topic)}\n\n{text}")
