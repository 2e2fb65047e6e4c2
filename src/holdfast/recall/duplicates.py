"""Hits that say what a better one has said, in the same words or with the same meaning."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from holdfast.protocols import Store
from holdfast.recall.embedding import Embedding
from holdfast.text.clean import fold
from holdfast.types import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_OVERFETCH = 3
"""How many times as many hits as are wanted are looked at."""
_MIN_DUPLICATE_COSINE = 0.96
"""Two hits with a cosine above this say the same."""
_SHORT_CHARACTERS = 80
"""Shorter texts are said every day; a longer one that is said again, in another conversation, tells something of both."""
_MAX_VECTOR_CHARACTERS = 1000
"""Longer texts are compared by their words alone: a vector stands for their beginning only."""
_MIN_WORDS = 3
"""Of fewer words nothing can be told: some languages do not part them."""
_WORD = re.compile(r"\w+")
_NEGATIONS = frozenset({"not", "no", "never", "nunca"})


def without_duplicates(store: Store, embedding: Embedding, hits: Iterable[Hit], limit: int) -> list[Hit]:
    """Return the best of these hits, given best first, without those that say what a better one said."""
    model = embedding.name if embedding.name and embedding.embedder() else None
    ahead = iter(hits)
    seen = _KeptHits(store, model)
    kept: list[Hit] = []
    for _ in range(_OVERFETCH):  # more is read, and compared with the rest, only where some were repeats
        for hit in seen.add(itertools.islice(ahead, limit)):
            if not seen.repeats(hit):
                kept.append(hit)
                if len(kept) == limit:
                    return kept
    return kept


class _KeptHits:
    """Hits that were looked at, and what those that were kept say."""

    def __init__(self, store: Store, model: str | None) -> None:
        self._store = store
        self._model = model
        self._hits: list[Hit] = []
        self._places: dict[str, int] = {}
        self._kept: dict[int, frozenset[str]] = {}
        self._said: dict[str, list[int]] = {}
        self._cosines: NDArray[np.float32] | None = None

    def add(self, hits: Iterable[Hit]) -> list[Hit]:
        """Take in more hits, to be compared with each other and with the earlier ones; returns them."""
        more = list(hits)
        self._places |= {hit.id: place for place, hit in enumerate(more, len(self._hits))}
        self._hits += more
        self._cosines = None
        return more

    def repeats(self, hit: Hit) -> bool:
        """Tell whether a hit says what one that is kept has said; if not, it is kept as well."""
        place = self._places[hit.id]
        folded = fold(hit.text[:2000])
        if self._is_said(place, folded):
            return True
        words = frozenset(_WORD.findall(folded))
        if len(folded) < _MAX_VECTOR_CHARACTERS:
            alike = [other for other, theirs in self._kept.items() if _share(words, theirs) and self._same_kind(place, other)]
            if alike and self._is_near(place, alike):
                return True
        self._kept[place] = words
        self._said.setdefault(folded, []).append(place)
        return False

    def _is_said(self, place: int, folded: str) -> bool:
        """Tell whether these very words were kept; long ones may be once more, from another conversation."""
        earlier = self._said.get(folded, ())
        once_more = len(earlier) == 1 and len(folded) >= _SHORT_CHARACTERS and self._are_apart(place, earlier[0])
        return bool(earlier) and not once_more

    def _same_kind(self, place: int, other: int) -> bool:
        """What was said twice in nearly the same words, in two conversations, is evidence of both."""
        return self._hits[place].kind == self._hits[other].kind and not self._are_apart(place, other)

    def _are_apart(self, place: int, other: int) -> bool:
        """Tell whether two hits are messages of two conversations."""
        one, two = self._hits[place].message, self._hits[other].message
        return one is not None and two is not None and one.session != two.session

    def _is_near(self, place: int, others: Sequence[int]) -> bool:
        """Tell whether a hit means the same as one of some others."""
        if self._model is None:
            return False
        if self._cosines is None:
            items = [hit.memory.item if hit.memory else hit.message.seq if hit.message else 0 for hit in self._hits]
            self._cosines = self._store.similarities(self._model, items)
        return self._cosines is not None and any(self._cosines[place][other] > _MIN_DUPLICATE_COSINE for other in others)


def _share(one: frozenset[str], two: frozenset[str]) -> bool:
    """Tell whether two texts may say the same: half of their words are the same, and all that tell like sentences apart."""
    if min(len(one), len(two)) >= _MIN_WORDS and 2 * len(one & two) < max(len(one), len(two)):
        return False
    return all(word not in _NEGATIONS and not any(map(str.isdigit, word)) for word in one ^ two)
