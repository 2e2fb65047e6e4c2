"""How high the score of a hit must be to count as a probable answer."""

from typing import Final

MANY_HITS: Final = 20
"""Number of hits from which the score is reliable. With fewer candidates, the background of a score is mostly assumed."""
_MIN_SCORE: Final = 0.15
_MIN_SCORES: Final = ((2, 0.56), (5, 0.45), (MANY_HITS - 1, 0.35))
"""Minimum scores for at most N hits, and their N.

Measured on stores with 1, 2, 5 and 10 items: the highest scores for 35 questions without an answer, in English and in Spanish,
were 0.50, 0.53, 0.40 and 0.32.
"""


def min_answer_score(hits: int) -> float:
    """Return the minimum score of a probable answer if a search without a limit has this many hits."""
    return next((score for limit, score in _MIN_SCORES if hits <= limit), _MIN_SCORE)
