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
    TraceFilter,
)
from holdfast.protocols.models import Candidate, Clock, Embedder, Reranker, Role, Vectors
from holdfast.protocols.reads import Reads
from holdfast.protocols.sentence_reader import Comparison, Reading, SentenceReader
from holdfast.protocols.store import SCRUB, JobNotifier, ScrubTime, Store, Unreachable
from holdfast.protocols.transaction import Transaction

__all__ = [
    "SCRUB",
    "AppChanges",
    "Candidate",
    "Clock",
    "Comparison",
    "DayCount",
    "Embedder",
    "JobNotifier",
    "Match",
    "MemoryFilter",
    "MessageFilter",
    "MessagePlace",
    "MissingVector",
    "Reading",
    "Reads",
    "Reranker",
    "Role",
    "ScrubTime",
    "SearchFilter",
    "SentenceReader",
    "SessionFilter",
    "Space",
    "Store",
    "TraceFilter",
    "Transaction",
    "Unreachable",
    "Vectors",
]
