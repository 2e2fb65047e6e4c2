"""Compute the scores and margins of hits for presets that have a minimum cosine.

A margin says how far a hit is above the minimum for relevance.
"""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.presets.base import RecallPlan
from holdfast.protocols import Embedder
from holdfast.recall.embedding import Embedding
from holdfast.recall.ranking import MEANING_WEIGHT
from holdfast.recall.traces.search_log import exclude
from holdfast.types import Hit

__all__ = ["CosineScores", "at_least"]

_SEARCH_SLACK = 1.5
"""How far the strength (a logit) of a returned hit may be below the relevance floor, for presets that search by cosine."""


class CosineScores:
    """Rescales the scores and margins of hits, so that the minimum cosine of a preset works with every embedder.

    A preset's minimum cosine was chosen for one embedder. Cosines of other embedders are not comparable with this minimum.
    """

    def __init__(self, plan: RecallPlan, embedding: Embedding) -> None:
        self._plan = plan
        self._embedding = embedding

    def scored(self, hits: Sequence[Hit], min_score: float) -> list[Hit]:
        """Return the hits with new scores, best first. The new scores can be compared with the preset's minimum cosine.

        With the embedder for which the minimum was chosen, the score is the hit's cosine. With another embedder, the score is
        computed from the hit's margin above the relevance floor (the minimum strength of a relevant hit). A hit that is
        ``_SEARCH_SLACK`` below the floor then gets the preset's minimum as its score. A hit without a cosine keeps its score
        from the search by words.

        Hits with a score below ``min_score`` are left out. If ``min_score`` is 0, the preset's minimum is used instead.
        """
        plan, embedder = self._plan, self._embedding.embedder()
        minimum = plan.min_cosine or 0.0
        scored = []
        for hit in hits:
            if hit.similarity is None or embedder is None:
                score = hit.score_by("text") or 0.0
            elif self._is_own(embedder):
                score = min(max(hit.similarity, 0.0), 1.0)
            else:
                low, high = plan.measured_by
                score = min(max(minimum + (hit.margin + _SEARCH_SLACK) / MEANING_WEIGHT * (high - low), 0.0), 1.0)
            scored.append(replace(hit, score=score))
        return sorted(at_least(scored, min_score or minimum), key=lambda hit: -hit.score)

    def _is_own(self, embedder: Embedder) -> bool:
        """Return True if cosines of this embedder can be compared with the preset's minimum cosine without conversion.

        The embedder must be the one for which the minimum was chosen, or have the same calibration.
        """
        return embedder.name == self._plan.own_embedder or embedder.calibration == self._plan.measured_by

    def with_margins(self, hits: Sequence[Hit], min_cosine: float) -> list[Hit]:
        """Return the hits with new margins. A margin says how far a hit is above the minimum for relevance.

        With the embedder for which the preset's minimum cosine was chosen, the margin is the hit's cosine minus
        ``min_cosine``. With another embedder, the margin is the hit's strength minus the relevance floor (the minimum
        strength of a relevant hit). If the preset's minimum cosine was changed, the floor is raised or lowered accordingly.
        """
        plan, embedder = self._plan, self._embedding.embedder()
        if embedder is not None and self._is_own(embedder):
            return [replace(hit, margin=0.0 if hit.similarity is None else hit.similarity - min_cosine) for hit in hits]
        shift = MEANING_WEIGHT * plan.floor_shift
        return [replace(hit, margin=hit.margin - shift) for hit in hits]


def at_least(hits: Sequence[Hit], min_score: float) -> list[Hit]:
    """Return the hits with at least this score."""
    for hit in hits:
        if hit.score < min_score:
            exclude(hit, "floor")
    return [hit for hit in hits if hit.score >= min_score]
