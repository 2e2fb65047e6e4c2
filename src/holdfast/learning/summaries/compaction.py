"""Keeping a small memory small: when there is one too many, one goes, or two become one.

A model decides where there is one; it sees numbered lines, never ids. Without one, rules weigh importance, age, use
and redundancy. When a model fails, or decides something that makes no sense, the oldest goes, as in any queue.
Pinned memories are never touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import InvalidInput, ModelError
from holdfast.learning import ask_model, output_filter
from holdfast.learning.ask_model import Outcome
from holdfast.learning.summaries.redundancy import join, likeness, long_numbers, near_duplicates, value
from holdfast.learning.topics.clusters import RowVectors, rows_for, unit
from holdfast.learning.topics.naming import spoken
from holdfast.text.clean import fold, one_line
from holdfast.types import Change, Memory, MemoryStatus, Put, Retire

RULE_VERSION: Final = "compaction-rules-1"
DROPPED: Final[MemoryStatus] = "expired"
"""What becomes of a memory that had to make room. Nobody asked to forget it, so the messages it came from stay findable."""
_MAX_CALLS: Final = 5
"""Calls one compaction may cost; rules do the rest."""
_MAX_SHOWN_CHARACTERS: Final = 2000
_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": ["delete", "edit"]},
        "target": {"type": "integer"},
        "text": {"type": ["string", "null"]},
        "reason": {"type": "string"},
    },
    "required": ["action", "target", "reason"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to happen to one memory, by id."""

    action: Literal["delete", "edit"]
    target: str
    """The memory that goes, or that takes the other in."""
    text: str | None = None
    """With ``edit``: the new text of the target."""
    merged: str | None = None
    """With ``edit``: the memory that is retired into the target."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    """A decision, and what it took to reach it."""

    decision: Decision
    model: str | None = None
    prompt: str = RULE_VERSION
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True, kw_only=True)
class _MemorySet:
    """The memories as they will stand, while decisions are taken one after another."""

    memories: list[Memory]
    """The newest is the last."""
    rows: RowVectors | None
    max_characters: int

    @property
    def newest(self) -> Memory:
        return self.memories[-1]

    def loose(self) -> list[Memory]:
        """Return what may be touched."""
        return [memory for memory in self.memories if not memory.pinned]

    def apply(self, decision: Decision) -> None:
        """Carry a decision out, here only."""
        places = {memory.id: place for place, memory in enumerate(self.memories)}
        target = places[decision.target]
        gone = target
        if decision.action == "edit":
            assert decision.text is not None
            assert decision.merged is not None
            gone = places[decision.merged]
            self.memories[target] = _taking_in(self.memories[target], self.memories[gone], decision.text)
            if self.rows is not None:
                self.rows[target] = unit(self.rows[target] + self.rows[gone])
        del self.memories[gone]
        if self.rows is not None:
            self.rows = np.delete(self.rows, gone, axis=0)


def needed(memories: Sequence[Memory], cap: int = 10) -> bool:
    """Tell whether there are too many and something can be done about it; costs nothing."""
    return len(memories) > cap and any(not memory.pinned for memory in memories)


def compact(
    memories: Sequence[Memory],
    newest: Memory,
    *,
    model: ChatModel | None,
    vectors: RowVectors | None = None,
    max_characters: int = 400,
) -> Outcome:
    """Make room for one memory: one goes, or an older one takes the newest in.

    ``newest`` may be among ``memories``. ``vectors`` has a row for each of ``memories``, and one more at its end when the
    newest is not among them. ``max_characters`` is how many characters a merged text may have.
    """
    every = list(memories) if any(memory.id == newest.id for memory in memories) else [*memories, newest]
    return _compact(every, newest, len(every) - 1, model=model, vectors=vectors, max_characters=max_characters)


def compact_to(
    memories: Sequence[Memory],
    cap: int,
    *,
    model: ChatModel | None = None,
    vectors: RowVectors | None = None,
    max_characters: int = 400,
) -> Outcome:
    """Bring memories down to ``cap``, one decision at a time; no memory is in more than one of the changes."""
    if cap < 0:
        raise InvalidInput(f"A cap is a number from 0 up, not {cap}.")
    newest = max(memories, key=lambda memory: (memory.created_at, memory.id), default=None)
    if newest is None:
        return Outcome(prompt=RULE_VERSION)
    return _compact(memories, newest, cap, model=model, vectors=vectors, max_characters=max_characters)


def _compact(
    memories: Sequence[Memory],
    newest: Memory,
    cap: int,
    *,
    model: ChatModel | None,
    vectors: RowVectors | None,
    max_characters: int,
) -> Outcome:
    rows = rows_for(len(memories), vectors)
    order = sorted(range(len(memories)), key=lambda place: memories[place].id == newest.id)
    shelf = _MemorySet(
        memories=[memories[place] for place in order], rows=None if rows is None else rows[order], max_characters=max_characters
    )
    thoughts: list[_Decided] = []
    while len(shelf.memories) > cap and shelf.loose():
        thoughts.append(_think(shelf, model, thoughts))
        shelf.apply(thoughts[-1].decision)
    flaws = [flaw for thought in thoughts for flaw in thought.flaws]
    if len(shelf.memories) > cap:
        flaws.append(f"{len(shelf.memories)} memories are pinned and {cap} may stay; pinned memories are never dropped.")
    by = [thought for thought in thoughts if thought.model] or thoughts
    return Outcome(
        changes=_changes(memories, shelf, [thought.decision for thought in thoughts]),
        model=by[0].model if by else None,
        prompt=by[0].prompt if by else RULE_VERSION,
        flaws=tuple(dict.fromkeys(flaws)),
        usage=sum((thought.usage for thought in thoughts), Usage()),
    )


def _think(shelf: _MemorySet, model: ChatModel | None, before: Sequence[_Decided]) -> _Decided:
    """Decide by model where it can be asked and there is a choice, by rules where not."""
    if len(shelf.loose()) == 1:
        return _Decided(decision=Decision(action="delete", target=shelf.loose()[0].id, reason="the only one that is not pinned"))
    if model is None or len(before) >= _MAX_CALLS:
        return _Decided(decision=_decide_by_rules(shelf))
    if any(thought.flaws and thought.model is None for thought in before):  # it failed already: asking on would only cost
        return _Decided(decision=_oldest(shelf))
    return _decide_by_model(shelf, model)


def _oldest(shelf: _MemorySet) -> Decision:
    first = min(shelf.loose(), key=lambda memory: (memory.created_at, memory.id))
    return Decision(action="delete", target=first.id, reason="the oldest, to make room")


def _decide_by_model(shelf: _MemorySet, model: ChatModel) -> _Decided:
    """Ask; what makes no sense is refused, and the oldest goes instead."""
    prompt = ask_model.load_prompt("compaction", spoken(memory.text for memory in shelf.memories))
    lines = [f"{number} | {_shown(memory)}" for number, memory in enumerate(shelf.memories, 1)]
    try:
        shown = ask_model.prompt_turns(prompt, memories=lines[:-1], newest=lines[-1:], longest=str(shelf.max_characters))
        answer = ask_model.complete(model, shown, _SCHEMA)
    except ModelError as error:
        flaw = f"the oldest was dropped, because the model failed: {error}"
        return _Decided(decision=_oldest(shelf), flaws=(flaw,), usage=usage_of(error))
    decision = _read(answer.data, shelf)
    if isinstance(decision, Decision):
        return _Decided(decision=decision, model=model.name, prompt=prompt.version, flaws=tuple(answer.flaws), usage=answer.usage)
    flaw = f"the oldest was dropped, because the model's decision was refused: {decision}"
    return _Decided(decision=_oldest(shelf), flaws=(*answer.flaws, flaw), usage=answer.usage)


def _shown(memory: Memory) -> str:
    pinned = " | pinned" if memory.pinned else ""
    return f"{memory.created_at:%Y-%m-%d} | {memory.importance:g}/10{pinned} | {str(memory)[:_MAX_SHOWN_CHARACTERS]}"


def _read(data: Mapping[str, Any], shelf: _MemorySet) -> Decision | str:
    """Return what a model decided, or why that cannot be."""
    action, number, reason = data.get("action"), data.get("target"), one_line(str(data.get("reason") or ""))[:200]
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(shelf.memories):
        return f"it names memory {number!r}, which it was not shown"
    target = shelf.memories[number - 1]
    if target.pinned:
        return f"memory {number} is pinned"
    if action == "delete":
        return Decision(action="delete", target=target.id, reason=reason or "made room")
    if action != "edit":
        return f"there is no action {action!r}"
    text = one_line(str(data.get("text") or ""))
    flaw = _bad_pair(target, shelf.newest) or _bad_text(target, text, shelf)
    return flaw or Decision(action="edit", target=target.id, text=text, merged=shelf.newest.id, reason=reason or "merged")


def _bad_pair(target: Memory, newest: Memory) -> str | None:
    """Tell why the newest cannot be merged into a memory, whatever the text."""
    if target.id == newest.id:
        return "it merges the new memory into itself"
    if newest.pinned:
        return "the new memory is pinned and cannot be merged away"
    if (target.scope, target.key) != (newest.scope, newest.key):
        return "the two do not belong to the same scope and key"
    return None


def _bad_text(target: Memory, text: str, shelf: _MemorySet) -> str | None:
    """Tell what is wrong with a merged text."""
    newest = shelf.newest
    if not text:
        return "the merged text is empty"
    if long_numbers(text) - long_numbers(target.text) - long_numbers(newest.text):
        return "the merged text has a number that neither memory has"
    if any(fold(text) == fold(other.text) for other in shelf.memories if other.id not in (target.id, newest.id)):
        return "the merged text is a third memory's"
    return output_filter.rejection_reason(text, replaces=[target.text, newest.text], max_characters=shelf.max_characters)


def _decide_by_rules(shelf: _MemorySet) -> Decision:
    """Merge two that say nearly the same, or let the least valuable go."""
    alike = likeness([memory.text for memory in shelf.memories], shelf.rows)
    for older, newer in near_duplicates(shelf.memories, alike):
        text = join(older.text, newer.text, max_characters=shelf.max_characters)
        if text is not None:
            return Decision(action="edit", target=older.id, text=text, merged=newer.id, reason="two that say nearly the same")
    redundancy = alike.max(axis=1, initial=0.0)
    worth = {memory.id: value(memory, shelf.memories, float(redundancy[n])) for n, memory in enumerate(shelf.memories)}
    least = min(shelf.loose(), key=lambda memory: (worth[memory.id], memory.created_at, memory.id))
    return Decision(action="delete", target=least.id, reason="the least valuable by importance, age, use and redundancy")


def _taking_in(target: Memory, other: Memory, text: str) -> Memory:
    """Return the target with a merged text, and all that was known of the other."""
    return replace(
        target,
        text=text,
        importance=max(target.importance, other.importance),
        tags=tuple(dict.fromkeys((*target.tags, *other.tags))),
        metadata={**other.metadata, **target.metadata},
        trust=min(target.trust, other.trust),
        sources=tuple(dict.fromkeys((*target.sources, *other.sources, other.id))),
        language=None,  # it may be another one now
    )


def _changes(before: Sequence[Memory], shelf: _MemorySet, decisions: Sequence[Decision]) -> tuple[Change, ...]:
    """Say what decisions come to. Memories go before others are edited, so that no text is ever there twice."""
    gone = [
        Retire(id=each.target, status=DROPPED, reason=each.reason)
        if each.action == "delete"
        else Retire(id=each.merged or "", status="superseded", reason=each.reason, replaced_by=each.target)
        for each in decisions
    ]
    reasons = {each.target: each.reason for each in decisions if each.action == "edit"}
    old = {memory.id: memory for memory in before}
    edited = [_edit(memory, reasons[memory.id]) for memory in shelf.memories if memory != old[memory.id]]
    return (*gone, *edited)


def _edit(memory: Memory, reason: str) -> Put:
    return Put(
        scope=memory.scope, kind=memory.kind, text=memory.text, id=memory.id, key=memory.key, importance=memory.importance,
        tags=memory.tags, metadata=memory.metadata, origin=memory.origin, trust=memory.trust, sources=memory.sources,
        reason=reason,
    )  # fmt: skip
