"""Decide whether a hit is probably an answer, or only related to the question."""

from typing import Final

from holdfast.types import Hit

MANY_HITS: Final = 20
"""Number of hits from which the score is reliable. With fewer candidates, the background of a score is mostly assumed."""
_MIN_SCORE: Final = 0.15
_MIN_SCORES: Final = ((2, 0.56), (5, 0.45), (MANY_HITS - 1, 0.35))
"""Minimum scores for at most N hits, and their N.

Measured on stores with 1, 2, 5 and 10 items: the highest scores for 35 questions without an answer, in English and in Spanish,
were 0.50, 0.53, 0.40 and 0.32.
"""


def is_probable_answer(hit: Hit, hits: int) -> bool:
    """Return True if a hit is probably an answer. ``hits`` is the number of hits that the search has without a limit."""
    minimum = next((score for limit, score in _MIN_SCORES if hits <= limit), _MIN_SCORE)
    return hit.score >= minimum
