"""The response models of traces, and the functions that convert traces to these models."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from holdfast import types
from holdfast.protocols import MemoryFilter, MessageFilter, Store
from holdfast.server.api.responses import Model, Reason, TextCode


class TracedCandidate(Model):
    """A memory or message that was considered for a context block."""

    id: str
    """The id of the memory or message."""
    kind: str
    """The kind of the memory, or `message`."""
    outcome: types.Outcome
    """`shown`, or the reason why the item is not in the block. See docs/traces.md for the meaning of each value."""
    rank: int | None = None
    """The place of the item in the ranking, from 1. Null if the item was not ranked."""
    score: float | None = None
    """The probability from 0 to 1 that the item is relevant."""
    margin: float | None = None
    """How far the item is above the minimum for relevance. Negative if the item is too weak."""
    strength: float | None = None
    """How well the item matches the question, as a logit. The score is computed from it."""
    similarity: float | None = None
    """The cosine of the question and the item, or null if they were not compared by meaning."""
    why: list[Reason]
    """The search methods that found the item, each with the item's rank and score."""
    repeats: str | None = None
    """The id of the better hit that this item repeats, or null."""
    text: str | None = None
    """The current text, or null if the item no longer exists or you may not read it."""
    changed: bool = False
    """True if the memory was revised or retired after the recall."""


class TraceEntry(Model):
    """A trace in a list."""

    id: str | None = None
    """The id of the trace, or null if it is not stored."""
    user: str | None = None
    """The user whose memories were recalled."""
    app: str | None = None
    """The app whose memories were recalled."""
    agent: str | None = None
    """The agent whose memories were recalled."""
    at: datetime
    """The time of the recall."""
    question: str
    """The text for which memories were recalled. Secrets in it are redacted."""
    session: str | None = None
    """The id of the session."""
    message: str | None = None
    """The id of the message that was the question."""
    tokens: int
    """The size of the context block in tokens."""
    max_tokens: int
    """The token budget."""
    milliseconds: float
    """The time that it took to build the context block, in milliseconds."""
    found: int
    """The number of candidates."""
    shown: int
    """The number of candidates that are in the block."""


class Trace(TraceEntry):
    """How one context block was built."""

    steps: dict[str, float]
    """Milliseconds by step: `models`, `search` and `rerank`."""
    arms: dict[str, int]
    """The number of candidates that each search method found."""
    floor: float | None = None
    """The strength that a hit must have to be relevant."""
    preset: str
    """The name of the preset."""
    embedder: str | None = None
    """The name of the embedder, or null if there was none."""
    notices: list[str]
    """Notices about parts that the recall could not use."""
    notice_codes: list[TextCode | None]
    """The codes and values for translating the notices, in the same order. Null for a notice that cannot be translated."""
    candidates: list[TracedCandidate]
    """The best candidates: first memories that no search found, such as pinned ones; then the ranked hits; then other items."""


class Explanation(Model):
    """Why a memory is in the context block for a question, or why it is left out."""

    memory: str
    """The id of the memory."""
    outcome: types.Outcome
    """`shown`, or the reason why the memory is not in the block. See docs/traces.md for the meaning of each value."""
    candidate: TracedCandidate
    """The memory as a candidate."""
    replaced_by: str | None = None
    """The id of the memory that superseded it."""
    trace: Trace
    """The trace of the recall that was run for this explanation. It is not stored."""


def entry(found: types.Trace) -> TraceEntry:
    """Convert a trace to an entry of a list of traces."""
    return TraceEntry(**_common(found))


def trace(found: types.Trace, store: Store, sees: Callable[[types.Scope], bool]) -> Trace:
    """Convert a trace to a response model. The texts of its items are included if ``sees`` returns True for their scope.

    The texts of withheld messages are never included.
    """
    rows = _rows(found, store, sees)
    return Trace(
        **_common(found),
        steps=dict(found.steps),
        arms=dict(found.arms),
        floor=found.floor,
        preset=found.preset,
        embedder=found.embedder,
        notices=list(found.notices),
        notice_codes=[TextCode.of(each) for each in found.notices],
        candidates=[_candidate(each, rows) for each in found.candidates],
    )


def explanation(found: types.Explanation, memory: types.Memory, store: Store, sees: Callable[[types.Scope], bool]) -> Explanation:
    """Convert an explanation to a response model. ``memory`` is the explained memory, and ``sees`` is as in :func:`trace`."""
    return Explanation(
        memory=found.memory,
        outcome=found.outcome,
        candidate=_candidate(found.candidate, {memory.id: memory}),
        replaced_by=found.replaced_by,
        trace=trace(found.trace, store, sees),
    )


def _common(found: types.Trace) -> dict[str, Any]:
    return {
        "id": found.id or None,
        "user": found.scope.user,
        "app": found.scope.app,
        "agent": found.scope.agent,
        "at": found.at,
        "question": found.question,
        "session": found.session,
        "message": found.message,
        "tokens": found.tokens,
        "max_tokens": found.max_tokens,
        "milliseconds": found.milliseconds,
        "found": found.found,
        "shown": sum(each.outcome == "shown" for each in found.candidates),
    }


def _rows(found: types.Trace, store: Store, sees: Callable[[types.Scope], bool]) -> Mapping[str, types.Memory | types.Message]:
    """Return the stored memories and messages of a trace, by id. ``sees`` returns True for a scope that the caller may read.

    Items in other scopes are left out. So are messages with an action, such as withheld or forgotten messages.
    """
    ids = list(found.items)
    rows: list[types.Memory | types.Message] = [*store.memories(MemoryFilter(ids=ids, statuses=None))]
    rows += [each for each in store.messages(MessageFilter(ids=ids)) if each.action is None]
    return {each.id: each for each in rows if sees(each.scope)}


def _candidate(found: types.TracedCandidate, rows: Mapping[str, types.Memory | types.Message]) -> TracedCandidate:
    row = rows.get(found.id)
    changed = isinstance(row, types.Memory) and (row.revision != found.revision or row.status != "live")
    return TracedCandidate(
        id=found.id,
        kind=found.kind,
        outcome=found.outcome,
        rank=found.rank,
        score=found.score,
        margin=found.margin,
        strength=found.strength,
        similarity=found.similarity,
        why=[Reason(arm=each.arm, rank=each.rank, score=each.score) for each in found.why],
        repeats=found.repeats,
        text=None if row is None else str(row) if isinstance(row, types.Memory) else row.text,
        changed=changed,
    )
