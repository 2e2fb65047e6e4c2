"""What means the same as a question, whatever the languages: which embedder is asked for which texts.

Where both are in English, the first embedder speaks, as if there were no other. Where the question or the text is in
another language, the second one does: it alone was made for that, and what the first one says then is noise (the two
were measured alone and mixed, see ``docs/project/decisions.md``). Its cosines are carried over to the first one's scale, so that
everything that ranks or limits by nearness goes on as it did.
"""

from collections.abc import Callable, Collection, Sequence

from holdfast.protocols import Match, MemoryFilter, MessageFilter, SearchFilter, Store, Vectors
from holdfast.recall.embedding import Embedding, Windows
from holdfast.text.language import is_foreign
from holdfast.types import Scope

_MAX_SECOND_MODEL_CHUNKS = 256
"""Windows that a question in another language may have embedded by the second model, which is quick."""
_OTHER_LANGUAGE_WEIGHT = 0.5
"""What words and an assistant's answers count for where a question is not in English: a cosine of the second embedder
tells more of a language it was made for than a stem that two verbs happen to share. Whole sentences of the same words
are found all the same."""
_MAX_CACHED_LANGUAGES = 50_000
"""Items whose language is remembered."""


def catch_up(
    embedding: Embedding, text: str, *, reader: Scope, limit: int, remote_seconds: float, candidates: Callable[[], Windows]
) -> None:
    """Embed what is new in a reader's scope by the models this question needs, candidates first."""
    second = embedding.second
    if second is None or not is_foreign(text) or second.embedder() is None:
        embedding.catch_up(reader=reader, limit=limit, remote_seconds=remote_seconds, candidates=candidates)
        return
    if not second.is_wanted:
        second.want()
    second.catch_up(reader=reader, limit=_MAX_SECOND_MODEL_CHUNKS, remote_seconds=remote_seconds, candidates=candidates)


class QueryVectors:
    """A question as the embedders understand it."""

    def __init__(self, store: Store, embedding: Embedding, text: str, *, reader: Scope) -> None:
        self._store = store
        self._first = embedding
        second = embedding.second
        self._second = second if second is not None and second.is_wanted and second.embedder() is not None else None
        self._foreign = self._second is not None and is_foreign(text)
        self.besides = _OTHER_LANGUAGE_WEIGHT if self._foreign else 1.0
        """The share of their usual weight that words and answers have beside this meaning."""
        self._by_second = self._second.query(text) if self._second is not None else None
        # Until every text has a vector of the second model, the first one's word is better than none.
        alone = self._foreign and self._second is not None and self._by_second is not None
        complete = (
            alone and self._second is not None and not store.missing_vectors(self._second.name or "", reader=reader, limit=1)
        )
        self._by_first = None if complete else embedding.query(text)

    def nearest(self, where: SearchFilter, *, limit: int) -> list[Match]:
        """Rank what is near in meaning, with cosines as the first embedder would measure them."""
        first = self._find(self._first, self._by_first, where, limit)
        if self._second is None or self._by_second is None:
            return first
        second = self._carried_over(self._find(self._second, self._by_second, where, limit))
        if not self._foreign:
            foreign = self._not_english([match.item for match in (*first, *second)])
            second = [match for match in second if match.item in foreign]
        known = {match.item for match in second}
        found = [*second, *(match for match in first if match.item not in known)]
        return sorted(found, key=lambda match: (-match.score, match.item))[:limit]

    def _find(self, embedding: Embedding, vector: "Vectors | None", where: SearchFilter, limit: int) -> list[Match]:
        return [] if vector is None else self._store.find_vectors(embedding.name or "", vector, where, limit=limit)

    def _carried_over(self, matches: Sequence[Match]) -> list[Match]:
        """Return the second embedder's matches with the cosines that mean the same to the first one."""
        own, other = self._first.embedder(), self._second and self._second.embedder()
        if own is None or not other:
            return []
        (low, high), (own_low, own_high) = other.calibration, own.calibration
        step = (own_high - own_low) / (high - low)
        return [match._replace(score=own_low + (match.score - low) * step) for match in matches]

    def _not_english(self, items: Collection[int]) -> set[int]:
        """Return those of some items that are in another language; an item never changes, so it is read once."""
        known = self._first.foreign
        unknown = [item for item in items if item not in known]
        if unknown:
            if len(known) > _MAX_CACHED_LANGUAGES:
                known.clear()
            texts = {memory.item: memory.text for memory in self._store.memories(MemoryFilter(items=unknown, statuses=None))}
            texts |= {message.seq: message.text for message in self._store.messages(MessageFilter(seqs=unknown))}
            known.update({item: is_foreign(texts.get(item, "")) for item in unknown})
        return {item for item in items if known.get(item)}
