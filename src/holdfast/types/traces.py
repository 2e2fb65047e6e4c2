"""Traces: how a context block was built, candidate by candidate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, repeat
from typing import Any, Literal, TypeAlias

from holdfast.types.common import short_repr
from holdfast.types.results import Reason
from holdfast.types.scope import Scope
from holdfast.types.translatable import text_code, with_code

Outcome: TypeAlias = Literal[
    "shown", "floor", "budget", "duplicate", "covered", "limit", "origin", "kind", "retired", "hidden", "session", "scope",
    "future", "unindexed", "not_found",
]  # fmt: skip
"""What happened to a candidate.

``shown``: it is in the block. ``floor``: it is too weak to be relevant. ``budget``: it did not fit into the tokens.
``duplicate``: it repeats a better hit. ``covered``: a memory and the message it comes from say the same, and the other one is
used. ``limit``: enough others rank higher. ``origin``: its trust is too low, such as text of a web page. ``kind``: the
preset does not show this kind. ``retired``: it was superseded, forgotten, or has expired. ``hidden``: its message is withheld
or forgotten. ``session``: it is part of the conversation itself. ``scope``: the reader may not see it. ``future``: its date is
in the future. ``unindexed``: it has no text to search. ``not_found``: no search found it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCandidate:
    """A memory or message that was considered for a context block. Its text is not part of the trace."""

    id: str
    kind: str
    """The memory's kind, or ``message``."""
    outcome: Outcome
    rank: int | None = None
    """Place in the ranking, starting at 1. None for a candidate that no search had to find, such as a pinned memory."""
    score: float | None = None
    margin: float | None = None
    """How far the candidate is above the relevance floor, as a difference of logits. None if it was not ranked."""
    strength: float | None = None
    """How well the candidate matches the question, as a logit. The score is computed from it."""
    similarity: float | None = None
    why: tuple[Reason, ...] = ()
    """The arms (search methods) that found the candidate, with its rank in each."""
    repeats: str | None = None
    """Id of the better hit that the candidate repeats, if there is one."""
    revision: int | None = None
    """Revision that the memory had when the context block was built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How one context block was built: the question, the candidates with their ranking, and the items in the block.

    A trace contains ids of memories and messages, not their texts.
    """

    id: str
    scope: Scope
    """Whose memories were recalled."""
    at: datetime
    question: str
    session: str | None = None
    message: str | None = None
    """Id of the message that was the question."""
    tokens: int = 0
    max_tokens: int = 0
    milliseconds: float = 0.0
    steps: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by step: ``models``, ``search`` and ``rerank``."""
    arms: Mapping[str, int] = field(default_factory=dict)
    """Number of candidates that each arm found."""
    found: int = 0
    """Number of candidates. The trace lists only the best of them."""
    floor: float | None = None
    """Minimum strength of a relevant hit."""
    preset: str = ""
    embedder: str | None = None
    notices: tuple[str, ...] = ()
    candidates: tuple[TracedCandidate, ...] = ()

    def __repr__(self) -> str:
        shown = sum(each.outcome == "shown" for each in self.candidates)
        return f"<Trace {short_repr(self.question)}, {shown} shown of {self.found}, {self.milliseconds:.0f} ms {self.id}>"

    @property
    def items(self) -> set[str]:
        """Ids of all candidates (memories and messages), shown or not."""
        return {each.id for each in self.candidates}

    def details(self) -> dict[str, Any]:
        """Return the fields that a store keeps as JSON: all except the id, scope, time, question, session and message."""
        return {
            "tokens": self.tokens,
            "max_tokens": self.max_tokens,
            "milliseconds": self.milliseconds,
            "steps": dict(self.steps),
            "arms": dict(self.arms),
            "found": self.found,
            "floor": self.floor,
            "preset": self.preset,
            "embedder": self.embedder,
            "notices": list(self.notices),
            "notice_codes": [text_code(each) for each in self.notices],
            "candidates": [_candidate(each) for each in self.candidates],
        }

    @classmethod
    def of(
        cls,
        details: Mapping[str, Any],
        *,
        id: str,
        scope: Scope,
        at: datetime,
        question: str,
        session: str | None = None,
        message: str | None = None,
    ) -> "Trace":
        """Build a trace from its stored details."""
        known = {name: details[name] for name in _DETAILS if name in details}
        return cls(
            id=id, scope=scope, at=at, question=question, session=session, message=message, **known,
            notices=_notices(details),
            candidates=tuple(map(_to_candidate, details.get("candidates", ()))),
        )  # fmt: skip


def _notices(details: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the notices in the stored details of a trace, as translatable texts. Earlier versions stored them as plain texts."""
    return tuple(map(with_code, details.get("notices", ()), chain(details.get("notice_codes", ()), repeat(None))))


_DETAILS = ("tokens", "max_tokens", "milliseconds", "steps", "arms", "found", "floor", "preset", "embedder")
_OWN = ("id", "kind", "outcome", "rank", "score", "margin", "strength", "similarity", "repeats", "revision")


def _candidate(each: TracedCandidate) -> dict[str, Any]:
    own = {name: value for name in _OWN if (value := getattr(each, name)) is not None}
    return own | ({"why": [[reason.arm, reason.rank, round(reason.score, 4)] for reason in each.why]} if each.why else {})


def _to_candidate(stored: Mapping[str, Any]) -> TracedCandidate:
    own = {name: stored[name] for name in _OWN if name in stored}
    why = tuple(Reason(arm=arm, rank=rank, score=score) for arm, rank, score in stored.get("why", ()))
    return TracedCandidate(**own, why=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory is in the context block for a question, or why it is not."""

    memory: str
    question: str
    candidate: TracedCandidate
    """The memory as a candidate: its outcome, and its rank if a search found it."""
    trace: Trace
    """The trace of the recall that was run for this explanation. It is not stored."""
    replaced_by: str | None = None
    """Id of the memory that superseded the explained memory, if there is one."""

    @property
    def outcome(self) -> Outcome:
        """``shown``, or the reason why the memory was left out."""
        return self.candidate.outcome
