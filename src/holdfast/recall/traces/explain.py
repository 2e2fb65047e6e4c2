"""Explain why a memory is in the context block for a question, or why it is left out."""

from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol

from holdfast.recall.hydration import memory_obstacle
from holdfast.recall.traces.compose import MAX_CANDIDATES
from holdfast.recall.traces.search_log import SearchLog
from holdfast.types import Explanation, Memory, Outcome, Scope, Trace, TracedCandidate

_DEEPER: Final = 16
"""Factor for the number of candidates in a second search. It finds the rank of a memory that a normal recall does not find."""


class Previews(Protocol):
    """An object that builds a context block in order to explain it. The block itself is neither stored nor returned."""

    def preview(self, reader: Scope, query: str, *, max_tokens: int | None = None, depth: int = 1) -> tuple[Trace, SearchLog]:
        """Return two values: the trace of a context block, and the log of its searches.

        ``depth`` multiplies the number of candidates that the searches find.
        """
        ...


def explain(
    previews: Previews, memory: Memory, reader: Scope, query: str, *, now: datetime, max_tokens: int | None = None
) -> Explanation:
    """Explain whether a memory is in the context block for a question, and why."""
    trace, log = previews.preview(reader, query, max_tokens=max_tokens)
    candidate = _listed(trace, memory.id)
    if candidate is None:
        obstacle = _obstacle(memory, reader, log, now)
        candidate = TracedCandidate(id=memory.id, kind=memory.kind, outcome=obstacle or "not_found", revision=memory.revision)
        if obstacle is None:
            deep, _ = previews.preview(reader, query, max_tokens=max_tokens, depth=_DEEPER)
            if (found := _listed(deep, memory.id)) is not None:
                candidate = replace(found, outcome="not_found", repeats=None)
    return Explanation(
        memory=memory.id,
        question=trace.question,
        candidate=candidate,
        trace=replace(trace, candidates=trace.candidates[:MAX_CANDIDATES]),
        replaced_by=memory.replaced_by,
    )


def _listed(trace: Trace, id: str) -> TracedCandidate | None:
    return next((each for each in trace.candidates if each.id == id), None)


def _obstacle(memory: Memory, reader: Scope, log: SearchLog, now: datetime) -> Outcome | None:
    """Return a reason why the searches in ``log`` could not find a memory, or None if there is no such reason.

    If several searches ran, a reason that applies to one of them is returned.
    """
    if not reader.sees(memory.scope) and not any(run.question.reader.sees(memory.scope) for run in log.runs):
        return "scope"
    if memory.status != "live" or (memory.expires_at is not None and memory.expires_at <= now):
        return "retired"
    for run in log.runs:
        kinds = run.question.memory_kinds
        if kinds is not None and memory.kind not in kinds:
            return "kind"
        if (obstacle := memory_obstacle(memory, run.question)) is not None:
            return obstacle
    if not log.runs:  # the preset lists memories without a search
        return "kind"
    return "unindexed" if memory.indexed is not None and not any(text.strip() for text in memory.indexed) else None
