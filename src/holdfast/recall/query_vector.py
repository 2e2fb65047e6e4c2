"""The vector of one query: finds the nearest items, and decides how strong a hit must be."""

from collections.abc import Callable
from dataclasses import replace

from holdfast.protocols import Match, SearchFilter, Store, Vectors
from holdfast.recall.embedding import ChunkIds, Embedding
from holdfast.recall.notices import not_embedded_yet, words_only
from holdfast.recall.query import is_keyword
from holdfast.recall.relevance.query_gate import UNKNOWN, QueryVerdict, gate_of
from holdfast.runtime.wait_budget import note
from holdfast.text.language import is_foreign
from holdfast.types import Scope


def catch_up(embedding: Embedding, text: str | None, *, reader: Scope, limit: int, candidates: Callable[[], ChunkIds]) -> None:
    """Embed new chunks that ``reader`` may read, so that a recall can find them by meaning.

    At most ``limit`` chunks are embedded. If there are more new chunks, the chunks that ``candidates`` returns come first. If
    items without a vector remain, a notice gives their number. ``text`` is the query, or None if the caller gave the query's
    vector.
    """
    if text is not None and not embedding.computes:
        embedding.query(text)  # first: without the vector of the query, vectors of chunks are useless
    missing = embedding.catch_up_for(reader, limit=limit, candidates=candidates)
    if missing:
        note(not_embedded_yet(missing))


class QueryVector:
    """The vector of one query, given or computed.

    Without a vector, nothing is found by meaning, and a notice gives the reason.
    """

    def __init__(self, store: Store, embedding: Embedding, text: str, *, vector: "Vectors | None" = None) -> None:
        self._store = store
        self._model = embedding.name or ""
        self._text = text
        self._vector, problem = (vector, None) if vector is not None else embedding.try_query(text)
        if problem is not None:
            note(words_only(problem))

    @property
    def verdict(self) -> QueryVerdict:
        """How personal the query is, and how strong a hit must be to be relevant."""
        gate = gate_of(self._model)
        if gate is None or self._vector is None:
            return UNKNOWN
        verdict = gate.judge(self._vector, foreign=is_foreign(self._text))
        if not is_keyword(self._text):
            return verdict
        return replace(verdict, floor=min(verdict.floor, gate.floor))  # one word does not show what a query is about

    def nearest(self, where: SearchFilter, *, limit: int) -> list[Match]:
        """Return the nearest items, with their cosines."""
        return [] if self._vector is None else self._store.find_vectors(self._model, self._vector, where, limit=limit)
