"""Hits that say what a better one has said: the same words, the same meaning, or what it was made from."""

import itertools
from collections.abc import Iterable

from holdfast.embedding import Embedding
from holdfast.protocols import Store
from holdfast.text.clean import fold
from holdfast.types import Hit

_ROUNDS = 3
"""How many times as many hits as are wanted are looked at."""
_SAME = 0.96
"""Two hits with a cosine above this say the same."""
_LONG = 1000
"""Longer texts are compared by their words alone: a vector stands for their beginning only."""
_NEGATIONS = frozenset({"not", "no", "never", "nunca"})


def without_repeats(store: Store, embedding: Embedding, hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Return the best of these hits, given best first, without those that say what a better one said."""
    model = embedding.name if embedding.name and embedding.embedder() else None
    ahead = iter(hits)
    seen = _Seen(store, model)
    kept: list[Hit] = []
    for _ in range(_ROUNDS):  # more is read, and compared with the rest, only where some were repeats
        for hit in seen.add(itertools.islice(ahead, limit)):
            if not seen.repeats(hit):
                kept.append(hit)
                if len(kept) == limit:
                    return kept
    return kept


class _Seen:
    """Hits that were looked at, and what those that were kept say."""

    def __init__(self, store: Store, model: str | None) -> None:
        self._store = store
        self._model = model
        self._hits: list[Hit] = []
        self._places: dict[str, int] = {}
        self._kept: list[int] = []
        self._said: set[str] = set()
        self._sources: set[str] = set()
        self._marks: dict[int, frozenset[str]] = {}

    def add(self, hits: Iterable[Hit]) -> list[Hit]:
        """Take in more hits, to be compared with each other and with the earlier ones; returns them."""
        more = list(hits)
        self._places |= {hit.id: place for place, hit in enumerate(more, len(self._hits))}
        self._hits += more
        self._sources.update(source for hit in more if hit.memory for source in hit.memory.sources)
        items = [hit.memory.item if hit.memory else hit.message.seq if hit.message else 0 for hit in self._hits]
        self._cosines = self._store.similarities(self._model, items) if self._model and more else None
        return more

    def repeats(self, hit: Hit) -> bool:
        """Tell whether a hit says what one that is kept has said; if not, it is kept as well."""
        place = self._places[hit.id]
        folded = fold(hit.text[:2000])
        if folded in self._said or (hit.message is not None and hit.id in self._sources):
            return True
        if self._cosines is not None and len(folded) < _LONG:
            near = self._cosines[place]
            if any(near[other] > _SAME and self._alike(place, other) for other in self._kept):
                return True
        self._kept.append(place)
        self._said.add(folded)
        return False

    def _alike(self, place: int, other: int) -> bool:
        """Numbers and negations make near-identical sentences differ: only like with like is a repeat.

        What was said twice in nearly the same words, in two conversations, is evidence of both.
        """
        one, two = self._hits[place], self._hits[other]
        if one.message is not None and two.message is not None and one.message.session != two.message.session:
            return False
        return one.kind == two.kind and self._marks_of(place) == self._marks_of(other)

    def _marks_of(self, place: int) -> frozenset[str]:
        if place not in self._marks:
            words = fold(self._hits[place].text).split()
            self._marks[place] = frozenset(w for w in words if w in _NEGATIONS or any(map(str.isdigit, w)))
        return self._marks[place]
