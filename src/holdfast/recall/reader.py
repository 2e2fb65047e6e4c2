"""Recall and context blocks for a reader, the scope that may see the results. Also records which memories were used."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from holdfast.filters import check_page
from holdfast.presets.base import Preset
from holdfast.protocols import Clock, Store, Vectors
from holdfast.recall.context.builder import ContextBuilder
from holdfast.recall.conversation_state import ConversationState
from holdfast.recall.cosine_scores import CosineScores, at_least
from holdfast.recall.embedding import Embedding
from holdfast.recall.notices import RECALL_TIMEOUT, not_reranked, with_context_notices, with_hit_notices
from holdfast.recall.query import RecallQuery, background_kinds, with_shared_apps
from holdfast.recall.reranking import Reranking
from holdfast.recall.search import recall
from holdfast.recall.traces.compose import NotedContext, compose
from holdfast.recall.traces.keeper import Traces
from holdfast.recall.traces.search_log import SearchLog, current_log, exclude, leave_out, noting, step
from holdfast.recall.uses import Uses
from holdfast.runtime.clock import as_utc
from holdfast.runtime.ids import new_id
from holdfast.runtime.tracing import watched
from holdfast.runtime.wait_budget import current_budget, wait_budget
from holdfast.text.clean import clean_namespace, clean_query
from holdfast.types import Context, Hit, Scope, Trace, Where

_OUTSIDE_SHARE = 0.25
"""Share of the hits that is reserved for text of tools, web pages, files and quotations, if the caller wants such text."""


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
        self._cosines = CosineScores(preset.recall, embedding)
        self._builder = ContextBuilder(store, preset, clock, recall=self.recall, cosines=self._cosines, nonce_key=self._secret)

    @property
    def notices(self) -> list[str]:
        """Messages for people about components that recall cannot use now: the embedder, the vector index or the reranker.

        Reading this property calls a failed embedder again if its back-off is over.
        """
        with wait_budget(self.recall_timeout):
            self._embedding.model.retry()
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
        beyond: bool = False,
    ) -> list[Hit]:
        """Return the memories and messages that are relevant to a query, best first.

        Text below the preset's ``min_trust`` is left out. With ``untrusted``, such text is appended after the other
        hits. With ``beyond``, the relevant hits beyond the limit follow. Their ``left_out_by`` is ``limit``.
        """
        check_page(limit=limit, offset=offset)
        by_cosine = self.preset.recall.cosine_scores
        depth = (3 if by_cosine else 1) * (limit + offset)  # hits by words alone can be below the minimum cosine
        if kinds is not None:
            kinds = [kind if kind == "message" else self.preset.kind(kind).name for kind in kinds]
        question = RecallQuery(
            text=query,
            reader=with_shared_apps(self._store, reader),
            limit=self._reranking.depth(depth) if limit else 0,
            kinds=kinds,
            where=where,
            namespace=None if namespace is None else clean_namespace(namespace),
            namespace_prefix=clean_namespace(namespace_prefix),
            vector=None if vector is None else self._embedding.model.given(vector),
            distinct=distinct,
            beyond=beyond,
            # The reranker changes scores, so min_score is applied after it.
            min_score=0.0 if self._reranking.active or by_cosine else min_score,
            now=self._clock.now() if now is None else as_utc(now, what="now"),
            as_of=None if as_of is None else as_utc(as_of, what="as_of"),
            without_session=without_session,
            languages=self.preset.languages,
            background_kinds=background_kinds(self.preset) if kinds is None else (),
            with_sources=self._reranking.active,
            min_trust=self.preset.min_trust,
        )
        found = best = self._best(question, min_score)
        if untrusted:
            outside = self._best(replace(question, outside=True), min_score)
            best, found = _with_outside(best, outside, limit + offset), [*best, *outside]
        hits = best[offset : offset + limit]
        log = current_log()
        if log is not None:
            log.best += hits
        if as_of is None and not (log and log.preview):
            self.uses.note([hit.memory for hit in hits if hit.memory and hit.is_relevant])
        return [*hits, *_beyond(found, best[: offset + limit])] if beyond else hits

    def _best(self, question: RecallQuery, min_score: float) -> list[Hit]:
        """Return the hits of a query after reranking, best first."""
        found = recall(self._store, self._embedding, question)
        if self.preset.recall.cosine_scores and not self._reranking.active:
            return self._cosines.scored(found, min_score)
        with step("rerank"):
            ranked = self._reranking.rank(clean_query(question.text), found, now=question.now)
        likely = at_least(ranked, min_score)
        return _without_sources(likely) if self._reranking.active and question.distinct else likely

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
        """Return the context block for a query: pinned memories and relevant hits, in the preset's layout.

        ``message`` is the id of the query's message, if the query is a stored message. With ``untrusted``, the default block
        also shows text below ``min_trust``, with its origin, after the other hits. See :meth:`ContextBuilder.build` for the
        other arguments.

        The memories in the block count as used. A trace of the block is kept, unless ``off_record`` is True.
        """
        tokens = self.preset.context_tokens if max_tokens is None else max_tokens
        log = None if off_record else self.traces.new_log()
        with noting(log):
            built = self._builder.build(
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
        """Return two values: the trace that a context block would have, and the log of its searches. Nothing is stored.

        The trace contains all candidates. ``depth`` multiplies the number of candidates that the searches find.
        """
        tokens = self.preset.context_tokens if max_tokens is None else max_tokens
        log = SearchLog(depth=depth, preview=True)
        with wait_budget(self.recall_timeout), noting(log):
            built = self._builder.build(reader, query, max_tokens=tokens)
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

    def nonce(self, name: str) -> str:
        """Return a nonce for the tags of a context block. Stored text cannot know the nonce, so it cannot close the block.

        The same ``name`` always gets the same nonce.
        """
        return hashlib.blake2b(name.encode(), key=self._secret.encode(), digest_size=5).hexdigest()


def _with_outside(own: Sequence[Hit], outside: Sequence[Hit], limit: int) -> list[Hit]:
    """Return at most ``limit`` hits: first hits from ``own`` (trusted text), then hits from ``outside`` (untrusted text).

    A share of the limit is reserved for ``outside``. If ``own`` has too few hits for its share, more hits from ``outside``
    follow.
    """
    ids = {hit.id for hit in own}
    others = [hit for hit in outside if hit.id not in ids]
    reserved = max(1, round(limit * _OUTSIDE_SHARE))
    first = own[: max(limit - min(reserved, len(others)), 0)]
    return [*first, *others[: limit - len(first)]]


def _beyond(found: Sequence[Hit], returned: Sequence[Hit]) -> list[Hit]:
    """Return the relevant hits that are not among the ``returned`` ones, because there are too many hits."""
    known = {hit.id for hit in returned}
    others = {hit.id: hit for hit in found if hit.is_relevant and hit.id not in known}
    return [leave_out(hit, "limit") for hit in others.values()]


def _without_sources(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, without messages from which other hits were derived.

    A relevant message stays if the memories derived from it are not relevant. Otherwise a context block would show neither.
    """
    sources = {source for hit in hits if hit.memory for source in hit.memory.sources}
    relevant = {source for hit in hits if hit.memory and hit.is_relevant for source in hit.memory.sources}
    covered = [hit for hit in hits if hit.id in (relevant if hit.is_relevant else sources)]
    for hit in covered:
        exclude(hit, "covered")
    ids = {hit.id for hit in covered}
    return [hit for hit in hits if hit.id not in ids]


def _own_secret(store: Store) -> str:
    """Return the store's secret, from which the nonces of context blocks are computed. It is created on first use."""
    stored = store.setting("secret")
    if stored is not None:
        return stored
    with store.write() as tx:
        secret = tx.setting("secret") or secrets.token_hex(16)
        tx.set_setting("secret", secret)
    return secret
