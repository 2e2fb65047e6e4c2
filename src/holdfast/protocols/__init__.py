"""The interfaces between the engine and its replaceable parts: stores, embedders, rerankers and clocks.

``holdfast.testing`` has a conformance suite for stores and one for embedders.
"""

from holdfast.filters import (
    AppChanges,
    DayCount,
    Match,
    MemoryFilter,
    MessageFilter,
    MessagePlace,
    MissingVector,
    SearchFilter,
    SessionFilter,
    Space,
)
from holdfast.protocols.models import Candidate, Clock, Embedder, Reranker, Role, Vectors
from holdfast.protocols.store import JobNotifier, Reads, Store, Transaction

__all__ = [
    "AppChanges",
    "Candidate",
    "Clock",
    "DayCount",
    "Embedder",
    "JobNotifier",
    "Match",
    "MemoryFilter",
    "MessageFilter",
    "MessagePlace",
    "MissingVector",
    "Reads",
    "Reranker",
    "Role",
    "SearchFilter",
    "SessionFilter",
    "Space",
    "Store",
    "Transaction",
    "Vectors",
]
