"""Decide whether a hit is probably an answer, or only related to the question."""

from collections.abc import Sequence
from typing import Final

from holdfast.types import Hit

MANY_HITS: Final = 20
"""Number of hits from which on a score is reliable. A score compares a hit with the other hits, so it needs many of them."""
_MIN_SCORE: Final = 0.15
_MIN_SCORES: Final = ((2, 0.56), (5, 0.45), (MANY_HITS - 1, 0.35))
"""Pairs ``(N, score)``: if there are at most N hits, a probable answer must have at least this score.

The scores were chosen with 35 questions, in English and Spanish, that the store could not answer. Their best hits had
scores of up to 0.50, 0.53, 0.40 and 0.32, in stores with 1, 2, 5 and 10 items. The minimum scores are higher.
"""


def probable_answers(hits: Sequence[Hit]) -> set[str]:
    """Return the ids of the hits that probably answer the question. ``hits`` are the hits of one search, best first.

    If the best hit is a near miss (see ``near_misses.py``), the result is empty, because weaker hits are even less likely to
    answer. If there are at least ``MANY_HITS`` hits and one of them is a probable answer, all hits count as answers.
    """
    if hits and hits[0].is_near_miss:
        return set()
    answers = {hit.id for hit in hits if is_probable_answer(hit, len(hits))}
    return {hit.id for hit in hits} if answers and len(hits) >= MANY_HITS else answers


def is_probable_answer(hit: Hit, hits: int) -> bool:
    """Return True if a hit is probably an answer to the question.

    ``hits`` is the number of all hits of the search. The fewer hits there are, the higher the required score.
    """
    minimum = next((score for limit, score in _MIN_SCORES if hits <= limit), _MIN_SCORE)
    return hit.score >= minimum and not hit.is_near_miss
