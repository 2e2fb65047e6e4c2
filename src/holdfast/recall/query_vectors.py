"""Search by meaning with two embedders: one for English, one for other languages.

If both the query and a text are in English, the first embedder compares them. If either is in another language, the second
embedder compares them. Cosines of the first embedder would be noise in that case (see the measurements in
``docs/project/decisions.md``). Cosines of the second embedder are converted to the scale of the first, so that the same
ranking and thresholds apply.
"""

from collections.abc import Callable, Collection, Sequence

from holdfast.protocols import Match, MemoryFilter, MessageFilter, SearchFilter, Store, Vectors
from holdfast.recall.embedding import ChunkIds, Embedding
from holdfast.recall.notices import not_embedded_yet, other_languages_by_words, words_only
from holdfast.recall.relevance.query_gate import UNKNOWN, QueryVerdict, gate_of
from holdfast.runtime.wait_budget import note
from holdfast.text.language import is_foreign
from holdfast.types import Scope

_MAX_SECOND_MODEL_CHUNKS = 256
"""Maximum number of new chunks that the second model embeds before a search. It is used if the query is not in English.

The limit can be high, because the second model is fast.
"""
_OTHER_LANGUAGE_WEIGHT = 0.5
"""Factor for two gains in strength (the score as a logit), used if the query is not in English.

One gain is for matching words. The other is for a message that has a strong answer. The factor is less than 1, because
texts in other languages often share a word stem by chance. The cosine of the second embedder is a better sign.
"""
_MAX_CACHED_LANGUAGES = 50_000
"""Maximum number of items whose language is cached."""


def catch_up(embedding: Embedding, text: str | None, *, reader: Scope, limit: int, candidates: Callable[[], ChunkIds]) -> None:
    """Embed new chunks that a reader may see, with the models that this query needs.

    If there are too many new chunks, ``candidates`` come first. A notice says how many items still have no vector. ``text`` is
    None if the query comes with a vector of the first model.
    """
    needed, second = embedding, embedding.second
    if text is not None and second is not None and is_foreign(text) and second.embedder() is not None:
        needed, limit = second, _MAX_SECOND_MODEL_CHUNKS
        if not second.is_in_use:
            second.start_using()
    if text is not None and not needed.computes:
        needed.query(text)  # first, because without this vector those of the chunks are of no use
    missing = needed.catch_up_for(reader, limit=limit, candidates=candidates)
    if missing:
        note(not_embedded_yet(missing))


class QueryVectors:
    """The vectors of one query, from the embedders that it needs."""

    def __init__(self, store: Store, embedding: Embedding, text: str, *, reader: Scope, vector: "Vectors | None" = None) -> None:
        self._store = store
        self._first = embedding
        self._text = text
        second = embedding.second if vector is None else None
        uses_second = second is not None and second.is_in_use
        self._second = second if second is not None and uses_second and second.embedder() is not None else None
        self._foreign = self._second is not None and is_foreign(text)
        self.word_weight = _OTHER_LANGUAGE_WEIGHT if self._foreign else 1.0
        """Factor for two gains in match strength (a logit): for matching words, and for a message with a strong answer.

        It is 1 for a query in English.
        """
        self._by_second, second_problem = second.try_query(text) if second is not None and uses_second else (None, None)
        self._by_first, problem = vector, None
        if vector is None and not self._second_suffices(reader):
            self._by_first, problem = embedding.try_query(text)
        if problem is not None and self._by_second is None:
            note(words_only(problem))
        elif second_problem is not None:
            note(other_languages_by_words(second_problem))

    @property
    def verdict(self) -> QueryVerdict:
        """How personal the query is, and how strong a hit must be to be relevant."""
        gate = gate_of(self._first.name or "") if self._by_first is not None else None
        if gate is None or self._by_first is None:
            return UNKNOWN
        return gate.judge(self._by_first, foreign=self._second is None and is_foreign(self._text))

    def _second_suffices(self, reader: Scope) -> bool:
        """Return True if the query is not in English and every text already has a vector of the second model."""
        if not self._foreign or self._second is None or self._by_second is None:
            return False
        return not self._store.missing_vectors(self._second.name or "", reader=reader, limit=1)

    def nearest(self, where: SearchFilter, *, limit: int) -> list[Match]:
        """Return the nearest items, with cosines on the scale of the first embedder."""
        first = self._find(self._first, self._by_first, where, limit)
        if self._second is None or self._by_second is None:
            return first
        second = self._rescaled(self._find(self._second, self._by_second, where, limit))
        if not self._foreign:
            foreign = self._not_english([match.item for match in (*first, *second)])
            second = [match for match in second if match.item in foreign]
        known = {match.item for match in second}
        found = [*second, *(match for match in first if match.item not in known)]
        return sorted(found, key=lambda match: (-match.score, match.item))[:limit]

    def _find(self, embedding: Embedding, vector: "Vectors | None", where: SearchFilter, limit: int) -> list[Match]:
        return [] if vector is None else self._store.find_vectors(embedding.name or "", vector, where, limit=limit)

    def _rescaled(self, matches: Sequence[Match]) -> list[Match]:
        """Return the second embedder's matches with cosines on the scale of the first."""
        own, other = self._first.embedder(), self._second and self._second.embedder()
        if own is None or not other:
            return []
        (low, high), (own_low, own_high) = other.calibration, own.calibration
        scale = (own_high - own_low) / (high - low)
        return [match._replace(score=own_low + (match.score - low) * scale) for match in matches]

    def _not_english(self, items: Collection[int]) -> set[int]:
        """Return the items that are not in English. The text of an item never changes, so the result is cached."""
        known = self._first.foreign
        unknown = [item for item in items if item not in known]
        if unknown:
            if len(known) > _MAX_CACHED_LANGUAGES:
                known.clear()
            texts = {memory.item: memory.text for memory in self._store.memories(MemoryFilter(items=unknown, statuses=None))}
            texts |= {message.seq: message.text for message in self._store.messages(MessageFilter(seqs=unknown))}
            known.update({item: is_foreign(texts.get(item, "")) for item in unknown})
        return {item for item in items if known.get(item)}
