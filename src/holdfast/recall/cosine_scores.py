"""Compute scores and margins of hits from the preset's minimum cosine. Used for presets that have one."""

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
    """Computes scores and margins of hits that can be compared with the minimum cosine of a preset, with any embedder."""

    def __init__(self, plan: RecallPlan, embedding: Embedding) -> None:
        self._plan = plan
        self._embedding = embedding

    def scored(self, hits: Sequence[Hit], min_score: float) -> list[Hit]:
        """Return the hits with scores that can be compared with the preset's minimum cosine, best first.

        Hits below ``min_score`` are left out. If it is 0, the preset's minimum is used instead. With the embedder for which
        this minimum was chosen, a score is the cosine. With another embedder, scores are converted so that the minimum lies
        a little below the relevance floor (the minimum strength of a relevant hit). A hit without a cosine keeps its score
        from the search by words.
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
        """Return True if scores of this embedder can be compared with the preset's minimum cosine.

        This is the case for the embedder for which the minimum was chosen, and for an embedding function with the same
        calibration.
        """
        return embedder.name == self._plan.own_embedder or embedder.calibration == self._plan.measured_by

    def with_margins(self, hits: Sequence[Hit], min_cosine: float) -> list[Hit]:
        """Return the hits with new margins. A margin says how far a hit is above the minimum for relevance.

        If :meth:`_is_own` is True for the embedder, the margin is the hit's cosine minus ``min_cosine``. With other
        embedders, the margin is the hit's strength above the relevance floor (the minimum strength of a relevant hit). If the
        preset's minimum cosine was changed, the floor is raised or lowered accordingly.
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
