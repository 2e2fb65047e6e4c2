"""Remove hits that repeat a better hit, by text or by meaning."""

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from holdfast.protocols import Store
from holdfast.recall.embedding import Embedding
from holdfast.recall.traces.search_log import current_run
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.types import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_ROUNDS = 3
"""Maximum number of rounds. Each round checks the next ``limit`` hits. A further round runs only if too few hits were kept."""
_MIN_DUPLICATE_COSINE = 0.98
"""Two hits with a cosine above this number can be duplicates."""
_MIN_REPEATABLE_CHARACTERS = 80
"""Minimum length in characters of a text that may be returned twice, as messages of two different sessions.

A shorter text, such as "Thanks!", is returned only once.
"""
_MAX_VECTOR_CHARACTERS = 1000
"""Maximum length in characters of texts that are compared by meaning. The vector of a longer text covers only its beginning."""
_MIN_WORDS = 3
"""If one of two texts has fewer words than this, their shared words are not counted.

The count would mean little: in a language without spaces, a whole sentence may count as one word.
"""
_WORD = regex(r"\w+")
_NEGATIONS = frozenset({"not", "no", "never", "nunca"})


def without_duplicates(store: Store, embedding: Embedding, hits: Iterable[Hit], limit: int, *, beyond: bool = False) -> list[Hit]:
    """Return the first ``limit`` hits that do not repeat a better hit. ``hits`` are ordered best first.

    With ``beyond``, also return the hits after them, up to the first one that is not relevant.
    """
    model = embedding.name if embedding.name and embedding.embedder() else None
    remaining = iter(hits)
    checker = _DuplicateChecker(store, model)
    run = current_run()
    kept: list[Hit] = []
    for number in itertools.count(1):  # a further round reads more hits, only if some were duplicates
        batch = checker.add(itertools.islice(remaining, limit))
        for hit in batch:
            if len(kept) >= limit and not (beyond and hit.is_relevant):
                return kept
            repeated = checker.repeated(hit)
            if repeated is not None:
                if run is not None:
                    run.duplicates[hit.id] = repeated.id
                continue
            kept.append(hit)
        if len(batch) < limit or (number >= _MAX_ROUNDS and len(kept) < limit) or (len(kept) >= limit and not beyond):
            break
    return kept


class _DuplicateChecker:
    """Compares each hit with the better hits that were kept."""

    def __init__(self, store: Store, model: str | None) -> None:
        self._store = store
        self._model = model
        self._hits: list[Hit] = []
        self._positions: dict[str, int] = {}
        self._kept_words: dict[int, frozenset[str]] = {}
        self._kept_texts: dict[str, list[int]] = {}
        self._cosines: NDArray[np.float32] | None = None

    def add(self, hits: Iterable[Hit]) -> list[Hit]:
        """Register hits for comparison with each other and with earlier hits. Return them as a list."""
        new = list(hits)
        self._positions |= {hit.id: position for position, hit in enumerate(new, len(self._hits))}
        self._hits += new
        self._cosines = None
        return new

    def repeated(self, hit: Hit) -> Hit | None:
        """Return the kept hit that this hit repeats. If there is none, keep this hit and return None."""
        position = self._positions[hit.id]
        # A reply forms one unit with its question: "yes" to one question does not repeat "yes" to another.
        folded = fold(f"{hit.asked or ''} {hit.text[:2000]}")
        if self._has_same_text(position, folded):
            return self._hits[self._kept_texts[folded][0]]
        words = frozenset(_WORD.findall(folded))
        if len(folded) < _MAX_VECTOR_CHARACTERS:
            similar = [
                other
                for other, other_words in self._kept_words.items()
                if _may_say_the_same(words, other_words) and self._is_comparable(position, other)
            ]
            near = self._nearest(position, similar) if similar else None
            if near is not None:
                return self._hits[near]
        self._kept_words[position] = words
        self._kept_texts.setdefault(folded, []).append(position)
        return None

    def _has_same_text(self, position: int, folded: str) -> bool:
        """Return True if a hit repeats the text of a kept hit and should not be kept.

        ``position`` is the position of the hit among all added hits, and ``folded`` is its normalized text. If the text is
        long and the two hits are messages of different sessions, both are kept, so the result is False. A third hit with the
        same text is not kept.
        """
        earlier = self._kept_texts.get(folded, ())
        may_repeat = len(folded) >= _MIN_REPEATABLE_CHARACTERS and len(earlier) == 1 and self._are_apart(position, earlier[0])
        return bool(earlier) and not may_repeat

    def _is_comparable(self, position: int, other: int) -> bool:
        """Return True if two hits are to be compared by meaning. The hits are given by their positions.

        Both hits must have the same kind. Messages of different sessions are not compared, because both are kept as evidence.
        """
        return self._hits[position].kind == self._hits[other].kind and not self._are_apart(position, other)

    def _are_apart(self, position: int, other: int) -> bool:
        """Return True if two hits, given by their positions, are messages of different sessions."""
        one, two = self._hits[position].message, self._hits[other].message
        return one is not None and two is not None and one.session != two.session

    def _nearest(self, position: int, others: Sequence[int]) -> int | None:
        """Return the first of ``others`` whose cosine with a hit is above ``_MIN_DUPLICATE_COSINE``, or None.

        All hits are given by their positions among the added hits.
        """
        if self._model is None:
            return None
        if self._cosines is None:
            items = [hit.memory.item if hit.memory else hit.message.seq if hit.message else 0 for hit in self._hits]
            self._cosines = self._store.similarities(self._model, items)
        if self._cosines is None:
            return None
        return next((other for other in others if self._cosines[position][other] > _MIN_DUPLICATE_COSINE), None)


def _may_say_the_same(one: frozenset[str], two: frozenset[str]) -> bool:
    """Return False if two texts certainly differ in meaning, otherwise True. Each text is given as the set of its words.

    Two texts differ if a negation or a number occurs in only one of them: "likes tea" and "never likes tea" differ. Two texts
    also differ if they share less than half of their words, unless one of the texts is very short.
    """
    if min(len(one), len(two)) >= _MIN_WORDS and 2 * len(one & two) < max(len(one), len(two)):
        return False
    return all(word not in _NEGATIONS and not any(map(str.isdigit, word)) for word in one ^ two)
