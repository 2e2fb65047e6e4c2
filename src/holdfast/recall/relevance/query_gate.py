"""Decide how strong a hit must be to be relevant to a query.

Questions about a person's life accept weaker hits than general questions, such as "what is the boiling point of
mercury". A linear classifier on the query's vector separates the two. Its weights were fitted per embedder on questions
about people and on general requests, in English and Spanish (see ``training/README.md``). Embedders without weights
have one fixed floor.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np

from holdfast.protocols import Vectors

_FOLDER: Final = "query_gates"
_PERSONAL_RANGE: Final = (-2.0, 0.6)
"""Range to which the classifier's logit is clipped, so that an extreme logit does not move the relevance floor further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryVerdict:
    """How personal a query is, and how strong a hit must be to be relevant to it."""

    personal: float = 0.0
    """Logit of the probability that the query is about the person's life."""
    floor: float = 2.0
    """Minimum strength (the score as a logit) of a relevant hit."""


UNKNOWN: Final = QueryVerdict()
"""The verdict for an embedder without weights, and for search by words alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryGate:
    """A classifier of personal and general queries, fitted for one embedder. It sets the relevance floor of a query.

    The more personal a query is, the lower the floor.
    """

    weights: "Vectors"
    bias: float
    floor: float
    """Minimum strength of a relevant hit if the classifier is undecided, that is, if its logit is 0."""
    slope: float
    """How far the floor falls per unit of the classifier's logit. The logit is positive for a personal query."""
    foreign_shift: float
    """How far the floor rises for a query that is not in English.

    The cosines of an English embedder are too high for texts in other languages.
    """

    def judge(self, vector: "Vectors", *, foreign: bool) -> "QueryVerdict":
        """Return the verdict on a query with this vector. ``foreign`` is True if the query is not in English."""
        low, high = _PERSONAL_RANGE
        personal = max(low, min(high, float(vector @ self.weights) + self.bias))
        return QueryVerdict(personal=personal, floor=self.floor - self.slope * personal + self.foreign_shift * foreign)


@cache
def gate_of(embedder: str) -> QueryGate | None:
    """Return the query gate (the classifier of personal and general queries) of an embedder, or None if none was fitted."""
    known = {file.name: file for file in (resources.files("holdfast.recall.relevance") / _FOLDER).iterdir()}
    file = known.get(f"{embedder}.json")
    if file is None:
        return None
    data = json.loads(file.read_text("utf-8"))
    return QueryGate(**{**data, "weights": np.array(data["weights"], dtype=np.float32)})
