"""The notes that the searches for one context block take for its trace.

The log belongs to the current context (:mod:`contextvars`). A recall without a log notes nothing. The log only keeps
references to objects that the search computes anyway. The trace is composed later, in the background.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Protocol

from holdfast.recall.query import RecallQuery
from holdfast.types import Hit, LeftOutBy, Outcome


class Vote(Protocol):
    """Rank and score of an item in one arm (retrieval method)."""

    @property
    def arm(self) -> str:
        """The arm that found the item."""
        ...

    @property
    def rank(self) -> int:
        """Rank among the arm's results, from 1."""
        ...

    @property
    def score(self) -> float:
        """The arm's score."""
        ...


class FoundItem(Protocol):
    """An item that a search found."""

    @property
    def similarity(self) -> float | None:
        """Cosine of the item and the query. None if one of them has no vector."""
        ...

    @property
    def why(self) -> Sequence[Vote]:
        """One vote per arm that found the item."""
        ...


@dataclass(slots=True)
class SearchRun:
    """One search: the items that it found, and the outcome for each item. Items are identified by their numbers in the store."""

    question: RecallQuery
    found: Mapping[int, FoundItem] = field(default_factory=dict)
    strengths: Mapping[int, float] = field(default_factory=dict)
    floor: float | None = None
    """Strength that a hit must have to be relevant."""
    ranked: list[Hit] = field(default_factory=list)
    """Hits in the order of their rank, before duplicates are removed."""
    dropped: dict[int, Outcome] = field(default_factory=dict)
    """Maps the number of each item that was left out before the ranking to the reason."""
    left_out: dict[int, FoundItem] = field(default_factory=dict)
    """Items among ``dropped`` that were removed from ``found``, by item number."""
    unreadable: set[int] = field(default_factory=set)
    """Items whose rows the search may not use. The reasons are determined later, when the trace is composed."""
    duplicates: dict[str, str] = field(default_factory=dict)
    """Maps the id of each hit that repeats a better hit to the id of the better hit."""


@dataclass(slots=True)
class SearchLog:
    """Records how one context block is built: its searches, the hits that were left out, and the duration of each step."""

    depth: int = 1
    """Factor for the number of candidates. Only an explanation searches deeper than a recall."""
    preview: bool = False
    """True if the context block is not shown to anybody. Its memories then do not count as used."""
    runs: list[SearchRun] = field(default_factory=list)
    best: list[Hit] = field(default_factory=list)
    """Hits that the searches returned, best first, after reranking."""
    excluded: dict[str, Outcome] = field(default_factory=dict)
    """Maps the id of each hit that is not in the block to the reason."""
    steps: dict[str, float] = field(default_factory=dict)
    """Maps the name of each step of building the block to its duration in milliseconds."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Milliseconds since this log was created."""
        return (time.perf_counter() - self.started) * 1000


_current: ContextVar[SearchLog | None] = ContextVar("holdfast_search_log", default=None)


def current_log() -> SearchLog | None:
    """Return the log of the current context block, or None if there is no log."""
    return _current.get()


def current_run() -> SearchRun | None:
    """Return the search that is being recorded now, or None."""
    log = _current.get()
    return log.runs[-1] if log is not None and log.runs else None


@contextmanager
def noting(log: SearchLog | None) -> Iterator[None]:
    """Record in ``log`` all searches that run inside the ``with`` block. If ``log`` is None, nothing is recorded."""
    token = _current.set(log)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Measure the duration of the ``with`` block as one step of building the current context block.

    The log stores the duration under ``name``. If several steps have the same name, their durations are added up. If there is
    no current log, nothing is measured.
    """
    log = _current.get()
    if log is None:
        yield
        return
    started = time.perf_counter()
    try:
        yield
    finally:
        log.steps[name] = log.steps.get(name, 0.0) + (time.perf_counter() - started) * 1000


def exclude(hit: Hit, reason: Outcome) -> None:
    """Record in the current log why a hit is not in the context block. Only the first reason for a hit is kept."""
    log = _current.get()
    if log is not None:
        log.excluded.setdefault(hit.id, reason)


def leave_out(hit: Hit, reason: LeftOutBy) -> Hit:
    """Record why a hit is not in the context block, like :func:`exclude`. Return a copy of the hit that contains the reason."""
    exclude(hit, reason)
    return replace(hit, left_out_by=reason)
