"""Recall and context blocks for a reader, the scope that may see the results. Also records which memories were used."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.filters import check_page
from holdfast.learning.topics.page_names import page_title
from holdfast.presets.base import Preset, Section
from holdfast.protocols import Clock, Embedder, MemoryFilter, MessageFilter, Store, Vectors
from holdfast.recall.context_block import render_block
from holdfast.recall.conversation_state import ConversationState
from holdfast.recall.embedding import Embedding
from holdfast.recall.notices import RECALL_TIMEOUT, not_reranked, with_context_notices, with_hit_notices
from holdfast.recall.query import RecallQuery
from holdfast.recall.ranking import MEANING_WEIGHT
from holdfast.recall.reranking import Reranking
from holdfast.recall.search import recall
from holdfast.recall.sections import render_sections
from holdfast.recall.traces.compose import NotedContext, compose
from holdfast.recall.traces.keeper import Traces
from holdfast.recall.traces.search_log import SearchLog, current_log, exclude, noting, step
from holdfast.recall.uses import Uses
from holdfast.runtime.clock import as_utc
from holdfast.runtime.ids import new_id
from holdfast.runtime.tracing import watched
from holdfast.runtime.wait_budget import current_budget, wait_budget
from holdfast.text.clean import clean_namespace, clean_query
from holdfast.types import Context, Hit, Scope, Trace, Where

_MAX_PINNED = 50
_OUTSIDE_SHARE = 0.25
"""Share of the hits that is reserved for text of tools, web pages, files and quotations, if the caller wants such text."""
_SEARCH_SLACK = 1.5
"""How far below the relevance floor a hit may be if the design searches by cosine. A requested search may return weaker hits."""
_MAX_LISTED = 200
"""Minimum number of memories that are read to be sorted for a section."""


class Reader:
    """Recalls from one store and builds context blocks."""

    def __init__(
        self,
        store: Store,
        preset: Preset,
        clock: Clock,
        embedding: Embedding,
        *,
        reranking: Reranking | None = None,
        recall_timeout: float = RECALL_TIMEOUT,
        traces: Traces | None = None,
    ) -> None:
        self._store = store
        self.preset = preset
        self._clock = clock
        self._embedding = embedding
        self._reranking = reranking or Reranking(None)
        self.recall_timeout = recall_timeout
        """Maximum time in seconds that a recall or a context block waits for models and indexes outside this process."""
        self.traces = traces or Traces(store)
        """Keeps traces of the context blocks."""
        self.uses = Uses(store, preset, clock)
        """Records which memories were used."""
        self._secret = _own_secret(store)

    @property
    def notices(self) -> list[str]:
        """Messages for people about components that recall cannot use now: the embedder, the vector index or the reranker.

        Reading this property calls a failed embedder again if its back-off is over.
        """
        with wait_budget(self.recall_timeout):
            self._embedding.retry()
        found = [*self._embedding.notices, *filter(None, [self._store.search_notice])]
        return [*found, not_reranked(self._reranking.problem)] if self._reranking.problem is not None else found

    @watched("recall")
    @with_hit_notices
    def recall(
        self,
        reader: Scope,
        query: str,
        *,
        limit: int = 10,
        offset: int = 0,
        kinds: Sequence[str] | None = None,
        where: Where | None = None,
        namespace: Sequence[str] | None = None,
        namespace_prefix: Sequence[str] = (),
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        min_score: float = 0.0,
        distinct: bool = True,
        vector: "Sequence[float] | Vectors | None" = None,
        untrusted: bool = False,
        without_session: str | None = None,
    ) -> list[Hit]:
        """Return the memories and messages that are relevant to a query, best first.

        Text below the preset's ``min_trust`` is left out. With ``untrusted``, such text is appended after the other
        hits.
        """
        check_page(limit=limit, offset=offset)
        by_cosine = self.preset.recall.cosine_scores
        depth = (3 if by_cosine else 1) * (limit + offset)  # hits by words alone can be below the minimum cosine
        if kinds is not None:
            kinds = [kind if kind == "message" else self.preset.kind(kind).name for kind in kinds]
        question = RecallQuery(
            text=query,
            reader=self._with_sharing(reader),
            limit=self._reranking.depth(depth) if limit else 0,
            kinds=kinds,
            where=where,
            namespace=None if namespace is None else clean_namespace(namespace),
            namespace_prefix=clean_namespace(namespace_prefix),
            vector=None if vector is None else self._embedding.given(vector),
            distinct=distinct,
            # The reranker changes scores, so min_score is applied after it.
            min_score=0.0 if self._reranking.active or by_cosine else min_score,
            now=self._clock.now() if now is None else as_utc(now, what="now"),
            as_of=None if as_of is None else as_utc(as_of, what="as_of"),
            without_session=without_session,
            languages=self.preset.languages,
            background_kinds=self._background_kinds() if kinds is None else (),
            with_sources=self._reranking.active,
            min_trust=self.preset.min_trust,
        )
        best = self._best(question, min_score)
        if untrusted:
            best = _with_outside(best, self._best(replace(question, outside=True), min_score), limit + offset)
        hits = best[offset : offset + limit]
        log = current_log()
        if log is not None:
            log.best += hits
        if as_of is None and not (log and log.preview):
            self.uses.note([hit.memory for hit in hits if hit.memory and hit.is_relevant])
        return hits

    def _by_cosine(self, hits: Sequence[Hit], min_score: float) -> list[Hit]:
        """Return the hits with scores that can be compared with the preset's minimum cosine, best first.

        Hits below ``min_score`` are left out. If it is 0, the preset's minimum is used instead. With the embedder for which
        this minimum was chosen, a score is the cosine. With another embedder, scores are converted so that the minimum lies
        a little below the relevance floor (the minimum strength of a relevant hit). A hit without a cosine keeps its score
        from the search by words.
        """
        plan, embedder = self.preset.recall, self._embedding.embedder()
        minimum = plan.min_cosine or 0.0
        scored = []
        for hit in hits:
            if hit.similarity is None or embedder is None:
                score = hit.score_by("text") or 0.0
            elif self._is_own(embedder):
                score = min(max(hit.similarity, 0.0), 1.0)
            else:
                low, high = plan.measured_by
                score = min(max(minimum + (hit.margin + _SEARCH_SLACK) / MEANING_WEIGHT * (high - low), 0.0), 1.0)
            scored.append(replace(hit, score=score))
        return sorted(_above(scored, min_score or minimum), key=lambda hit: -hit.score)

    def _is_own(self, embedder: Embedder) -> bool:
        """Return True if scores of this embedder can be compared with the preset's minimum cosine.

        This is the case for the embedder for which the minimum was chosen, and for an embedding function with the same
        calibration.
        """
        plan = self.preset.recall
        return embedder.name == plan.own_embedder or embedder.calibration == plan.measured_by

    def _best(self, question: RecallQuery, min_score: float) -> list[Hit]:
        """Return the hits of a query after reranking, best first."""
        found = recall(self._store, self._embedding, question)
        if self.preset.recall.cosine_scores and not self._reranking.active:
            return self._by_cosine(found, min_score)
        with step("rerank"):
            ranked = self._reranking.rank(clean_query(question.text), found, now=question.now)
        likely = _above(ranked, min_score)
        return _without_sources(likely) if self._reranking.active and question.distinct else likely

    def _background_kinds(self) -> list[str]:
        """Return the kinds of summaries to leave out of recall, because the summarized messages are searched themselves.

        If the preset deletes messages after a while, no kinds are returned, so that recall finds the summaries.
        """
        return [kind.name for kind in self.preset.kinds if kind.background and self.preset.message_retention is None]

    @watched("context")
    @with_context_notices
    def context(
        self,
        reader: Scope,
        query: str,
        *,
        max_tokens: int | None = None,
        without_session: str | None = None,
        state: str | None = None,
        persona: str | None = None,
        conversation: ConversationState | None = None,
        untrusted: bool = False,
        message: str | None = None,
        off_record: bool = False,
    ) -> Context:
        """Return the context block: pinned memories and relevant hits, in the preset's layout. The shown memories count as used.

        With ``untrusted``, the default block also shows text below ``min_trust``, after the rest and with its origin.
        ``message`` is the id of the message that is the query. A trace is kept, unless the query is ``off_record``.
        """
        tokens = self.preset.context_tokens if max_tokens is None else max_tokens
        log = None if off_record else self.traces.new_log()
        with noting(log):
            built = self._block(
                reader,
                query,
                max_tokens=tokens,
                without_session=without_session,
                state=state,
                persona=persona,
                conversation=conversation,
                untrusted=untrusted,
            )
        self.uses.note(hit.memory for hit in built.hits if hit.memory)
        if log is None:
            return built
        noted = self._noted(reader, query, built, log, max_tokens=tokens, session=without_session, message=message)
        self.traces.note(noted)
        return replace(built, trace=noted.id)

    def preview(self, reader: Scope, query: str, *, max_tokens: int | None = None, depth: int = 1) -> tuple[Trace, SearchLog]:
        """Return the trace that a context block would have, with all candidates, and the search log. Nothing is stored.

        ``depth`` multiplies the number of candidates.
        """
        tokens = self.preset.context_tokens if max_tokens is None else max_tokens
        log = SearchLog(depth=depth, preview=True)
        with wait_budget(self.recall_timeout), noting(log):
            built = self._block(reader, query, max_tokens=tokens)
            noted = replace(self._noted(reader, query, built, log, max_tokens=tokens), id="")
        return compose(self._store, noted, max_candidates=None), log

    def _noted(
        self,
        reader: Scope,
        query: str,
        built: Context,
        log: SearchLog,
        *,
        max_tokens: int,
        session: str | None = None,
        message: str | None = None,
    ) -> NotedContext:
        budget, now = current_budget(), self._clock.now()
        return NotedContext(
            id=new_id("trc", now),
            scope=reader,
            at=now,
            query=query,
            block=replace(built, notices=budget.notices if budget else ()),
            log=log,
            max_tokens=max_tokens,
            milliseconds=log.elapsed,
            session=session,
            message=message,
            preset=self.preset.name,
            embedder=self._embedding.name,
            erasures=self._embedding.queries.erasures,
        )

    def _block(
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
        """Build the context block: the default block, or the sections of the preset's layout."""
        profile = self._store.user(reader.user) if reader.user else None
        language = profile.language if profile else None
        if self.preset.layout is None:
            pinned, found = self._pinned_and_recalled(reader, query, without_session, untrusted=untrusted)
            return render_block(pinned, found, max_tokens=max_tokens, nonce_key=self._secret, language=language, persona=persona)
        conversation = self._open_page(conversation or ConversationState(), reader)
        return render_sections(
            self.preset.layout,
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
        """Return the pinned memories, and the hits of a recall that are not pinned."""
        pinned = self._listed(reader, Section(words="", source="pinned", max_items=_MAX_PINNED))
        shown = {hit.id for hit in pinned}
        found = self._planned_recall(reader, query, without_session, untrusted=untrusted)
        return pinned, [hit for hit in found if hit.id not in shown]

    def _open_page(self, conversation: ConversationState, reader: Scope) -> ConversationState:
        """Return the state of a conversation. If its topic no longer has a page, the returned state has no topic.

        A topic loses its page when it is split or forgotten.
        """
        if conversation.topic is None or self._page(reader, conversation.topic, max_lines=1):
            return conversation
        return replace(conversation, topic=None)

    def _page(self, reader: Scope, topic: str, *, max_lines: int) -> list[Hit]:
        """Return the lines of a topic's page, oldest first."""
        kinds = (self.preset.topics.kind,) if self.preset.topics else None
        wanted = MemoryFilter(
            reader=reader, kinds=kinds, topic=topic, unexpired_at=self._clock.now(), min_trust=self.preset.min_trust
        )
        page = sorted(self._store.memories(wanted), key=lambda memory: (memory.valid_from, memory.item))
        return [Hit(memory=memory, score=1.0) for memory in page[:max_lines]]

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
                return self.recall(reader, query, limit=section.max_items, kinds=section.kinds)
            return listed
        if section.source == "shared":
            reader = self._with_sharing(reader)
            return self._listed(reader, section, apps=reader.also_apps) if reader.also_apps else []
        return self._listed(reader, section)

    def _with_sharing(self, reader: Scope) -> Scope:
        """Return the reader's scope, extended by the apps that share their memories with the reader's app."""
        return replace(reader, also_apps=tuple(self._store.apps_sharing_with(reader.app))) if reader.app else reader

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
            reader=reader, ids=conversation.recalled_ids, unexpired_at=self._clock.now(), min_trust=self.preset.min_trust
        )
        known = {memory.id: memory for memory in self._store.memories(wanted)}
        earlier = [Hit(memory=known[id], score=1.0) for id in conversation.recalled_ids if id in known]
        return [*earlier, *(hit for hit in found if hit.id not in known)]

    def _listed(self, reader: Scope, section: Section, *, apps: Sequence[str] | None = None) -> list[Hit]:
        """Return the memories of a section that does not depend on the query.

        Sections with the source ``newest`` or ``shared`` list the newest memories first, by the time of the event and not
        of the import. Other sections list the oldest memories first, by creation, so that a revised memory keeps its place.
        """
        wanted = MemoryFilter(
            reader=reader,
            kinds=section.kinds or self._listed_kinds(),
            unexpired_at=self._clock.now(),
            limit=max(section.max_items, _MAX_LISTED),
            pinned=True if section.source == "pinned" else None,
            newest_first=section.source in ("newest", "shared"),
            apps=apps,
            min_trust=self.preset.min_trust,
        )
        if section.source in ("newest", "shared"):
            listed = sorted(self._store.memories(wanted), key=lambda memory: (memory.valid_from, memory.item), reverse=True)
        else:
            listed = sorted(self._store.memories(wanted), key=lambda memory: (memory.created_at, memory.id))
        return [Hit(memory=memory, score=1.0) for memory in listed[: section.max_items]]

    def _listed_kinds(self) -> list[str] | None:
        """Return the kinds that a section lists by default: all except plain kinds. None means all kinds."""
        kinds = self.preset.kinds
        return [kind.name for kind in kinds if not kind.plain] if any(kind.plain for kind in kinds) else None

    def _planned_recall(self, reader: Scope, query: str, without_session: str | None, *, untrusted: bool = False) -> list[Hit]:
        """Return the hits of a recall with the settings of the preset."""
        plan, kinds = self.preset.recall, self._context_kinds()
        if plan.min_cosine is None:
            return self.recall(reader, query, limit=plan.limit, kinds=kinds, without_session=without_session, untrusted=untrusted)
        # Fetch more than the limit, because hits by words alone are dropped if their cosine is too low.
        found = self.recall(reader, query, limit=3 * plan.limit, kinds=kinds, without_session=without_session)
        measured = self._measured(found, plan.min_cosine)
        relevant = [hit for hit in measured if hit.is_relevant][: plan.limit]
        said = self._recalled_messages(reader, query, without_session)
        return relevant + said + [hit for hit in measured if not hit.is_relevant]

    def _recalled_messages(self, reader: Scope, query: str, without_session: str | None) -> list[Hit]:
        """Return the relevant messages of the user that no recalled memory covers. Messages in the window are left out.

        Return an empty list if the preset shows no messages.
        """
        limit = self.preset.recall.max_messages
        if not limit:
            return []
        # The conversation itself is searched, too, because some sessions never end. Its window is in the prompt already.
        window = MessageFilter(session=without_session, newest=self.preset.window)
        shown = {message.id for message in self._store.messages(window)} if without_session else set()
        kinds = [*(self.preset.recall.kinds or ()), "message"]
        hits = self.recall(reader, query, limit=6 * limit, kinds=kinds)
        return [hit for hit in hits if hit.provenance == "user" and hit.message and hit.is_relevant and hit.id not in shown][
            :limit
        ]

    def _context_kinds(self) -> list[str] | None:
        """Return the kinds to recall for a context block, or None for all. Plain kinds are left out, unless the preset names them."""
        plan = self.preset.recall
        if plan.kinds is not None or not any(kind.plain for kind in self.preset.kinds):
            return None if plan.kinds is None else list(plan.kinds)
        background = self._background_kinds()
        return [*(kind.name for kind in self.preset.kinds if not kind.plain and kind.name not in background), "message"]

    def _measured(self, hits: Sequence[Hit], min_cosine: float) -> list[Hit]:
        """Return the hits with new margins. A margin says how far a hit is above the minimum for relevance.

        If :meth:`_is_own` is True for the embedder, the margin is the hit's cosine minus ``min_cosine``. With other
        embedders, the margin refers to the relevance floor (the minimum strength of a relevant hit). If the preset's
        minimum cosine was changed, the floor is raised or lowered accordingly.
        """
        plan, embedder = self.preset.recall, self._embedding.embedder()
        if embedder is not None and self._is_own(embedder):
            return [replace(hit, margin=0.0 if hit.similarity is None else hit.similarity - min_cosine) for hit in hits]
        shift = MEANING_WEIGHT * plan.floor_shift
        return [replace(hit, margin=hit.margin - shift) for hit in hits]

    def nonce(self, name: str) -> str:
        """Return a nonce for the tags of a context block. Stored text cannot know the nonce, so it cannot close the block.

        The same ``name`` always gets the same nonce.
        """
        return hashlib.blake2b(name.encode(), key=self._secret.encode(), digest_size=5).hexdigest()


def _with_outside(own: Sequence[Hit], outside: Sequence[Hit], limit: int) -> list[Hit]:
    """Return at most ``limit`` hits: the user's own words first, then text of other origins.

    A share of the limit is reserved for text of other origins. If the user's own words do not fill the rest, more text of
    other origins is added.
    """
    ids = {hit.id for hit in own}
    others = [hit for hit in outside if hit.id not in ids]
    reserved = max(1, round(limit * _OUTSIDE_SHARE))
    first = own[: max(limit - min(reserved, len(others)), 0)]
    return [*first, *others[: limit - len(first)]]


def _above(hits: Sequence[Hit], min_score: float) -> list[Hit]:
    """Return the hits with at least this score."""
    for hit in hits:
        if hit.score < min_score:
            exclude(hit, "floor")
    return [hit for hit in hits if hit.score >= min_score]


def _without_sources(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, without messages from which other hits were derived."""
    sources = {source for hit in hits if hit.memory for source in hit.memory.sources}
    for hit in hits:
        if hit.id in sources:
            exclude(hit, "covered")
    return [hit for hit in hits if hit.id not in sources]


def _own_secret(store: Store) -> str:
    """Return the store's secret, from which the nonces of context blocks are computed. It is created on first use."""
    stored = store.setting("secret")
    if stored is not None:
        return stored
    with store.write() as tx:
        secret = tx.setting("secret") or secrets.token_hex(16)
        tx.set_setting("secret", secret)
    return secret
