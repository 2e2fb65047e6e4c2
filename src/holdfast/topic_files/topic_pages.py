"""Topic pages that are read and edited through the API, without files. They use the same Markdown and merge as topic files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.learning.topics.page_names import file_name, page_title, topic_called
from holdfast.presets.base import Preset, TopicRules
from holdfast.protocols import Clock, MemoryFilter, Reads, Store, Transaction
from holdfast.text.clean import clean_label, clean_name
from holdfast.topic_files.last_agreed import Record, bytes_digest, file_key, scope_digest
from holdfast.topic_files.markdown import Page, digest, in_order, page_line, parse_page, render_page
from holdfast.topic_files.read_in import FileImport
from holdfast.topic_files.reading import FolderChanges
from holdfast.topic_files.record import BaseLine, BasePage, File
from holdfast.types import Memory, Scope
from holdfast.types.translatable import translatable

_MAX_PAGE_CHARACTERS = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage:
    """A topic and its live memories, oldest first."""

    topic: str
    title: str
    lines: tuple[Memory, ...]
    updated_at: datetime

    @property
    def markdown(self) -> str:
        """The page as Markdown."""
        return render_page(self.topic, self.lines)


class TopicPages:
    """Lists, returns and edits the topic pages of a store. Available as ``memory.topics``."""

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
        """List the topics of a scope, the most recently changed first."""
        pages = self._pages(self._store, self._scope(user=user, app=app, agent=agent))
        return sorted(pages.values(), key=lambda page: page.updated_at, reverse=True)

    def page(self, topic: str, *, user: str | None = None, app: str | None = None, agent: str | None = None) -> TopicPage:
        """Return the page of the topic with this name or title. Raise ``NotFound`` if there is none."""
        pages = self._pages(self._store, self._scope(user=user, app=app, agent=agent))
        name = topic_called(clean_label(topic, what="topic") or "", pages)
        if name not in pages:
            raise NotFound(
                translatable("absent.topic", "There is no topic {topic!r}. List the topics to see their names.", topic=topic)
            )
        return pages[name]

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
        """Save an edited page, and return it.

        A changed line revises its memory, a new line creates a memory, and deleting a line forgets its memory. A changed title
        renames the topic. An edit that deletes much of a page raises ``Conflict`` unless ``confirm`` is True. ``base`` is the
        text of the page before the edit. Pass it if the page may have changed since then.
        """
        if len(markdown) > _MAX_PAGE_CHARACTERS:
            raise InvalidInput(
                translatable(
                    "topic.long",
                    "A page can have at most {limit:,} characters, not {n:,}. Nothing was saved.",
                    limit=_MAX_PAGE_CHARACTERS,
                    n=len(markdown),
                )
            )
        scope, name = self._scope(user=user, app=app, agent=agent), clean_label(topic, what="topic") or ""
        assert self._topics  # raises InvalidInput if the preset keeps no topics
        with self._store.write() as tx:
            pages = self._pages(tx, scope)
            name = topic_called(name, pages)
            page = _parse_form(markdown, name)
            self._apply_edit(tx, scope, pages.get(name), name, page=page, base=base, confirm=confirm)
            self._follow_up(tx, scope)
            after = self._pages(tx, scope)
        self._changed()
        empty = TopicPage(topic=name, title=page_title(name), lines=(), updated_at=self._clock.now())
        return after.get(topic_called(page.title or name, after)) or after.get(name) or empty

    def _apply_edit(
        self, tx: Transaction, scope: Scope, known: TopicPage | None, topic: str, *, page: Page, base: str | None, confirm: bool
    ) -> None:
        key = file_key(file_name(topic))
        before = {key: self._before(tx, scope, known, base)} if known else {}
        sha = bytes_digest("\n".join(line.text for line in page.lines).encode("utf-8", "surrogatepass"))
        reading = FolderChanges(pages={key: File(page=page, sha=sha, stem=page_title(topic))})
        record = Record(scope=scope_digest(scope), pages=before)
        file_import = FileImport(tx, self._preset, scope, self._clock.now())
        imported = file_import.run(record, reading, {})
        if imported.record.questions and confirm:
            imported = file_import.run(record, reading, {question.id: True for question in imported.record.questions})
        if imported.record.questions:
            question = imported.record.questions[0]
            raise Conflict(
                translatable(
                    "topics.many",
                    "The edit would forget {gone} of the {n} lines. Nothing was saved. Confirm the edit to forget them.",
                    gone=question.gone,
                    n=question.of,
                )
            )

    def _before(self, reads: Reads, scope: Scope, page: TopicPage, base: str | None) -> BasePage:
        """Return the page as it was before the edit, with the memory id of each line.

        ``base`` is the text before the edit. If it is None, the current page is used.
        """
        lines = [(memory.id, page_line(memory)) for memory in page.lines]
        if base is not None:
            ids = {digest(page_line(memory).text): memory.id for memory in self._all_revisions(reads, scope, page)}
            # A line that no memory ever had gets a made-up id, so that its absence deletes nothing.
            lines = [(ids.get(digest(line.text), f"gone {place}"), line) for place, line in enumerate(parse_page(base).lines)]
        return BasePage(
            topic=digest(page.topic),
            title=digest(page.title),
            sha="",
            lines=tuple(BaseLine(id=id, digest=digest(line.text), at=line.at or "") for id, line in lines),
        )

    def _all_revisions(self, reads: Reads, scope: Scope, page: TopicPage) -> Sequence[Memory]:
        """Return all revisions of the memories of a topic, including retired memories."""
        wanted = MemoryFilter(exactly=scope, kinds=(self._topics.kind,), topic=page.topic, statuses=None)
        return [revision for memory in reads.memories(wanted) for revision in reads.revisions(memory.id)]

    def _pages(self, reads: Reads, scope: Scope) -> dict[str, TopicPage]:
        if self._preset.topics is None:
            return {}
        wanted = MemoryFilter(exactly=scope, kinds=(self._topics.kind,), has_topic=True, unexpired_at=self._clock.now())
        by_topic: dict[str, list[Memory]] = {}
        for memory in in_order(reads.memories(wanted)):
            by_topic.setdefault(memory.topic or "", []).append(memory)
        return {
            topic: TopicPage(
                topic=topic, title=page_title(topic), lines=tuple(lines), updated_at=max(line.updated_at for line in lines)
            )
            for topic, lines in by_topic.items()
        }

    @property
    def _topics(self) -> TopicRules:
        if self._preset.topics is None:
            raise InvalidInput(
                translatable(
                    "topics.none",
                    "The preset {preset!r} keeps no topics. Choose a preset with topics.",
                    preset=self._preset.name,
                )
            )
        return self._preset.topics

    def _scope(self, *, user: str | None, app: str | None, agent: str | None) -> Scope:
        return Scope(
            tenant=self._store.tenant,
            user=clean_name(user, what="user"),
            app=clean_name(app, what="app"),
            agent=clean_name(agent, what="agent"),
        )


def _parse_form(markdown: str, topic: str) -> Page:
    """Parse a page that was typed in a form. A missing title or final newline is added."""
    text = markdown if markdown.endswith("\n") else f"{markdown}\n"
    page = parse_page(text)
    return page if page.title is not None else parse_page(f"# {page_title(topic)}\n\n{text}")
