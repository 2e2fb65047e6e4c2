"""Builds the context block for a query: gathers the hits of each section, and renders them in the preset's layout."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from holdfast.learning.topics.page_names import page_title
from holdfast.presets.base import Preset, Section
from holdfast.protocols import Clock, MemoryFilter, MessageFilter, Store
from holdfast.recall.context.block import render_block
from holdfast.recall.context.sections import render_sections
from holdfast.recall.conversation_state import ConversationState
from holdfast.recall.cosine_scores import CosineScores
from holdfast.recall.later import with_later
from holdfast.recall.query import background_kinds, with_shared_apps
from holdfast.recall.traces.search_log import leave_out
from holdfast.types import Context, Hit, Memory, Scope

__all__ = ["ContextBuilder"]

_MAX_PINNED = 50
_MIN_LISTED = 200
"""Minimum number of memories to read for a section, even if the section shows fewer."""


class _Recall(Protocol):
    """The signature of a function that recalls hits, such as ``Reader.recall``."""

    def __call__(
        self,
        reader: Scope,
        query: str,
        *,
        limit: int,
        kinds: Sequence[str] | None,
        without_session: str | None = None,
        untrusted: bool = False,
        beyond: bool = False,
    ) -> list[Hit]: ...


class ContextBuilder:
    """Builds the context blocks of one store."""

    def __init__(
        self, store: Store, preset: Preset, clock: Clock, *, recall: _Recall, cosines: CosineScores, nonce_key: str
    ) -> None:
        self._store = store
        self._preset = preset
        self._clock = clock
        self._recall = recall
        self._cosines = cosines
        self._nonce_key = nonce_key

    def build(
        self,
        reader: Scope,
        query: str,
        *,
        max_tokens: int,
        without_session: str | None = None,
        state: str | None = None,
        persona: str | None = None,
        conversation: ConversationState | None = None,
        untrusted: bool = False,
    ) -> Context:
        """Build a context block. If the preset has a layout, the block has the sections of the layout.

        ``without_session`` is the id of the current session. The block leaves out the messages of this session. If the preset
        shows the user's earlier messages, the block leaves out only the messages in the window. ``state`` describes the
        current state of the host application. ``persona`` is the host's own text, which comes before the block.
        ``conversation`` is the state of the conversation. With ``untrusted``, a block without a layout also shows untrusted
        text.
        """
        profile = self._store.user(reader.user) if reader.user else None
        language = profile.language if profile else None
        if self._preset.layout is None:
            pinned, found = self._pinned_and_recalled(reader, query, without_session, untrusted=untrusted)
            return render_block(
                pinned, found, max_tokens=max_tokens, nonce_key=self._nonce_key, language=language, persona=persona
            )
        conversation = self._open_page(conversation or ConversationState(), reader)
        return render_sections(
            self._preset.layout,
            lambda section: self._gather(section, reader, query, without_session, conversation),
            max_tokens=max_tokens,
            values={
                "app": self._app_name(reader),
                "state": state or "",
                "title": page_title(conversation.topic) if conversation.topic else "",
            },
            language=language or conversation.language,
            persona=persona,
            now=conversation.started_at or self._clock.now(),
        )

    def _pinned_and_recalled(
        self, reader: Scope, query: str, without_session: str | None, *, untrusted: bool
    ) -> tuple[list[Hit], list[Hit]]:
        """Return two lists: the pinned memories (at most ``_MAX_PINNED``), and the hits of a recall that are not among them.

        Pinned memories beyond ``_MAX_PINNED`` are also in the second list. If the recall did not find them, their
        ``left_out_by`` is ``limit``, so the block does not show them.
        """
        listed = self._listed(reader, Section(words="", source="pinned", max_items=_MIN_LISTED))
        pinned, more = listed[:_MAX_PINNED], listed[_MAX_PINNED:]
        shown = {hit.id for hit in pinned}
        found = [hit for hit in self._planned_recall(reader, query, without_session, untrusted=untrusted) if hit.id not in shown]
        known = {hit.id for hit in found}
        return pinned, [*found, *(leave_out(hit, "limit") for hit in more if hit.id not in known)]

    def _open_page(self, conversation: ConversationState, reader: Scope) -> ConversationState:
        """Return the state of a conversation. If its topic no longer has a page, the returned state has no topic.

        A topic loses its page when it is split or forgotten.
        """
        if conversation.topic is None or self._page(reader, conversation.topic, max_lines=1):
            return conversation
        return replace(conversation, topic=None)

    def _page(self, reader: Scope, topic: str, *, max_lines: int) -> list[Hit]:
        """Return the oldest ``max_lines`` lines of a topic's page, oldest first."""
        kinds = (self._preset.topics.kind,) if self._preset.topics else None
        wanted = MemoryFilter(
            reader=reader, kinds=kinds, topic=topic, unexpired_at=self._clock.now(), min_trust=self._preset.min_trust
        )
        page = sorted(self._store.memories(wanted), key=lambda memory: (memory.valid_from, memory.item))
        return self._hits(page[:max_lines], reader)

    def _gather(
        self, section: Section, reader: Scope, query: str, without_session: str | None, conversation: ConversationState
    ) -> list[Hit]:
        """Return the hits to show in a section of the context."""
        if section.source == "page":
            return self._page(reader, conversation.topic, max_lines=section.max_items) if conversation.topic else []
        if section.source == "relevant":
            return [] if conversation.topic else self._accumulated(reader, query, without_session, conversation)
        if section.source == "all":
            listed = self._listed(reader, replace(section, max_items=section.max_items + 1))
            if len(listed) > section.max_items:
                return self._recall(reader, query, limit=section.max_items, kinds=section.kinds, beyond=True)
            return listed
        if section.source == "shared":
            reader = with_shared_apps(self._store, reader)
            return self._listed(reader, section, apps=reader.also_apps) if reader.also_apps else []
        return self._listed(reader, section)

    def _app_name(self, reader: Scope) -> str:
        """Return the display name of the reader's app."""
        record = self._store.app(reader.app) if reader.app else None
        return (record and record.name) or reader.app or ""

    def _accumulated(self, reader: Scope, query: str, without_session: str | None, conversation: ConversationState) -> list[Hit]:
        """Return the live memories recalled earlier in this conversation, followed by the memories recalled now."""
        # Before the first message there is nothing to be relevant to.
        found = self._planned_recall(reader, query, without_session) if query.strip() else []
        if not conversation.recalled_ids:
            return found
        wanted = MemoryFilter(
            reader=reader, ids=conversation.recalled_ids, unexpired_at=self._clock.now(), min_trust=self._preset.min_trust
        )
        known = {memory.id: memory for memory in self._store.memories(wanted)}
        earlier = self._hits([known[id] for id in conversation.recalled_ids if id in known], reader)
        return [*earlier, *(hit for hit in found if hit.id not in known)]

    def _listed(self, reader: Scope, section: Section, *, apps: Sequence[str] | None = None) -> list[Hit]:
        """Return the memories of a section that does not depend on the query. With ``apps``, only memories of these apps.

        Sections with the source ``newest`` or ``shared`` list the newest memories first. They are ordered by the time since which
        a memory is true, not by the time of its import. Other sections list the oldest memories first, by creation, so that a
        revised memory keeps its place.
        """
        wanted = MemoryFilter(
            reader=reader,
            kinds=section.kinds or self._listed_kinds(),
            unexpired_at=self._clock.now(),
            limit=max(section.max_items, _MIN_LISTED),
            pinned=True if section.source == "pinned" else None,
            newest_first=section.source in ("newest", "shared"),
            apps=apps,
            min_trust=self._preset.min_trust,
        )
        if section.source in ("newest", "shared"):
            listed = sorted(self._store.memories(wanted), key=lambda memory: (memory.valid_from, memory.item), reverse=True)
        else:
            listed = sorted(self._store.memories(wanted), key=lambda memory: (memory.created_at, memory.id))
        return self._hits(listed[: section.max_items], reader)

    def _hits(self, memories: Sequence[Memory], reader: Scope) -> list[Hit]:
        """Return memories that do not depend on the query as hits."""
        hits = [Hit(memory=memory, score=1.0) for memory in memories]
        return with_later(self._store, hits, reader, min_trust=self._preset.min_trust)

    def _listed_kinds(self) -> list[str] | None:
        """Return the kinds that a section lists by default: all except plain kinds. None means all kinds."""
        kinds = self._preset.kinds
        return [kind.name for kind in kinds if not kind.plain] if any(kind.plain for kind in kinds) else None

    def _planned_recall(self, reader: Scope, query: str, without_session: str | None, *, untrusted: bool = False) -> list[Hit]:
        """Return the hits of a recall with the settings of the preset. Relevant hits beyond the limit have a ``left_out_by``."""
        plan, kinds = self._preset.recall, self._context_kinds()
        if plan.min_cosine is None:
            return self._recall(
                reader, query, limit=plan.limit, kinds=kinds, without_session=without_session, untrusted=untrusted, beyond=True
            )
        # Fetch more than the limit, because hits by words alone are dropped if their cosine is too low.
        found = self._recall(reader, query, limit=3 * plan.limit, kinds=kinds, without_session=without_session, beyond=True)
        measured = self._cosines.with_margins(found, plan.min_cosine)
        relevant = [hit for hit in measured if hit.is_relevant]
        shown = [hit for hit in relevant if hit.left_out_by is None][: plan.limit]
        said = self._recalled_messages(reader, query, without_session)
        weak = [hit for hit in measured if not hit.is_relevant and hit.left_out_by is None]
        ids = {hit.id for hit in shown}
        return [*shown, *said, *weak, *(leave_out(hit, "limit") for hit in relevant if hit.id not in ids)]

    def _recalled_messages(self, reader: Scope, query: str, without_session: str | None) -> list[Hit]:
        """Return the relevant messages of the user that no recalled memory covers. Messages in the window are left out.

        Return an empty list if the preset shows no messages.
        """
        limit = self._preset.recall.max_messages
        if not limit:
            return []
        # The conversation itself is searched, too, because some sessions never end. Its window is in the prompt already.
        window = MessageFilter(session=without_session, newest=self._preset.window)
        shown = {message.id for message in self._store.messages(window)} if without_session else set()
        kinds = [*(self._preset.recall.kinds or ()), "message"]
        hits = self._recall(reader, query, limit=6 * limit, kinds=kinds)
        return [hit for hit in hits if hit.provenance == "user" and hit.message and hit.is_relevant and hit.id not in shown][
            :limit
        ]

    def _context_kinds(self) -> list[str] | None:
        """Return the kinds to recall for a context block, or None for all. Plain kinds are left out, unless the preset names them."""
        plan = self._preset.recall
        if plan.kinds is not None or not any(kind.plain for kind in self._preset.kinds):
            return None if plan.kinds is None else list(plan.kinds)
        background = background_kinds(self._preset)
        return [*(kind.name for kind in self._preset.kinds if not kind.plain and kind.name not in background), "message"]
