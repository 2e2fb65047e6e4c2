"""Reduce the number of memories to a maximum, the cap. Each step deletes one memory or merges two.

A chat model decides if one is configured; it sees numbered lines, never ids. Without a model, rules weigh importance, age,
use and redundancy. If the model fails or its decision is invalid, the oldest memory is deleted. Pinned memories are never
changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.chat import ChatModel, Schema, Usage, usage_of
from holdfast.errors import InvalidInput, ModelError
from holdfast.learning import ask_model, output_filter
from holdfast.learning.answer_check.check import distortion
from holdfast.learning.answer_check.evidence import evidence_in_texts
from holdfast.learning.answer_shapes import as_decision
from holdfast.learning.ask_model import Outcome
from holdfast.learning.changes.wording import spoken_words
from holdfast.learning.summaries.redundancy import join, long_numbers, near_duplicates, similarities, value
from holdfast.learning.topics.clusters import RowVectors, rows_for, unit
from holdfast.learning.topics.naming import prompt_language
from holdfast.text.clean import fold, one_line
from holdfast.text.sentences import split_sentences
from holdfast.types import Change, Memory, MemoryStatus, Put, Retire

RULE_VERSION: Final = "compaction-rules-2"
_ENDINGS: Final = (".", "!", "?", '"', "»")
DROPPED: Final[MemoryStatus] = "expired"
"""Status of a memory that compaction deleted. Its source messages can still be recalled.

In contrast, the source messages of a ``forgotten`` memory cannot be recalled.
"""
_MAX_CALLS: Final = 5
"""Maximum number of model calls per compaction. Rules make the remaining decisions."""
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
    """A decision about the memory ``target``: to delete it, or to merge the memory ``merged`` into it."""

    action: Literal["delete", "edit"]
    target: str
    """Id of the memory to delete, or of the memory that is changed by a merge."""
    text: str | None = None
    """New text of the target after a merge. None if the target is deleted."""
    merged: str | None = None
    """Id of the memory that is merged into the target and then retired. None if the target is deleted."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    """A decision with its author (a model or the rules), the problems that occurred (``flaws``), and the cost."""

    decision: Decision
    model: str | None = None
    prompt: str = RULE_VERSION
    flaws: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True, kw_only=True)
class _MemorySet:
    """The memories during a compaction. Each decision is applied to this working copy."""

    memories: list[Memory]
    """The memories. The newest one is last."""
    rows: RowVectors | None
    max_characters: int

    @property
    def newest(self) -> Memory:
        return self.memories[-1]

    def unpinned(self) -> list[Memory]:
        """Return the memories that are not pinned."""
        return [memory for memory in self.memories if not memory.pinned]

    def apply(self, decision: Decision) -> None:
        """Apply a decision to the working copy."""
        places = {memory.id: place for place, memory in enumerate(self.memories)}
        target = places[decision.target]
        removed = target
        if decision.action == "edit":
            assert decision.text is not None
            assert decision.merged is not None
            removed = places[decision.merged]
            self.memories[target] = _merge_into(self.memories[target], self.memories[removed], decision.text)
            if self.rows is not None:
                self.rows[target] = unit(self.rows[target] + self.rows[removed])
        del self.memories[removed]
        if self.rows is not None:
            self.rows = np.delete(self.rows, removed, axis=0)


def needed(memories: Sequence[Memory], cap: int = 10) -> bool:
    """Return True if there are more memories than ``cap`` and at least one of them is not pinned. Calls no model."""
    return len(memories) > cap and any(not memory.pinned for memory in memories)


def compact(
    memories: Sequence[Memory],
    newest: Memory,
    *,
    model: ChatModel | None,
    vectors: RowVectors | None = None,
    max_characters: int = 400,
) -> Outcome:
    """Return the changes that reduce the number of memories by one: delete one memory, or merge two.

    ``newest`` is the memory that was added last. It need not be in ``memories``. ``vectors`` has one row per memory; if
    ``newest`` is not in ``memories``, its row is the last one. ``max_characters`` limits the length of a merged text.
    """
    candidates = list(memories) if any(memory.id == newest.id for memory in memories) else [*memories, newest]
    return _compact(candidates, newest, len(candidates) - 1, model=model, vectors=vectors, max_characters=max_characters)


def compact_to(
    memories: Sequence[Memory],
    cap: int,
    *,
    model: ChatModel | None = None,
    vectors: RowVectors | None = None,
    max_characters: int = 400,
) -> Outcome:
    """Return the changes that reduce the number of memories to ``cap``. Each memory is changed at most once.

    Pinned memories are kept, even if there are more of them than ``cap``. Without ``model``, rules decide. ``vectors`` has
    one row per memory. ``max_characters`` limits the length of a merged text.
    """
    if cap < 0:
        raise InvalidInput(f"The cap must be 0 or more, not {cap}. Nothing was changed.")
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
    working = _MemorySet(
        memories=[memories[place] for place in order], rows=None if rows is None else rows[order], max_characters=max_characters
    )
    decided: list[_Decided] = []
    while len(working.memories) > cap and working.unpinned():
        decided.append(_decide(working, model, decided))
        working.apply(decided[-1].decision)
    flaws = [flaw for one in decided for flaw in one.flaws]
    if len(working.memories) > cap:
        flaws.append(
            f"The cap is {cap}, but {len(working.memories)} memories are pinned and were kept. Unpin some or raise the cap."
        )
    authors = [one for one in decided if one.model] or decided
    return Outcome(
        changes=_changes(memories, working, [one.decision for one in decided]),
        model=authors[0].model if authors else None,
        prompt=authors[0].prompt if authors else RULE_VERSION,
        flaws=tuple(dict.fromkeys(flaws)),
        usage=sum((one.usage for one in decided), Usage()),
    )


def _decide(working: _MemorySet, model: ChatModel | None, earlier: Sequence[_Decided]) -> _Decided:
    """Decide what to delete or merge next. Normally, the model decides.

    If there is no model, or the maximum number of model calls is reached, rules decide. If an earlier model call failed
    or returned an invalid decision, the oldest memory is deleted without another call. If only one memory is not
    pinned, that memory is deleted, and neither the model nor the rules decide.
    """
    if len(working.unpinned()) == 1:
        return _Decided(
            decision=Decision(action="delete", target=working.unpinned()[0].id, reason="the only memory that is not pinned")
        )
    if model is None or len(earlier) >= _MAX_CALLS:
        return _Decided(decision=_decide_by_rules(working))
    if any(one.flaws and one.model is None for one in earlier):  # the model failed before; another call would only add cost
        return _Decided(decision=_oldest(working))
    return _decide_by_model(working, model)


def _oldest(working: _MemorySet) -> Decision:
    first = min(working.unpinned(), key=lambda memory: (memory.created_at, memory.id))
    return Decision(action="delete", target=first.id, reason="the oldest, to make room")


def _decide_by_model(working: _MemorySet, model: ChatModel) -> _Decided:
    """Let a model decide which memory to delete or merge. If it fails or its decision is invalid, delete the oldest memory."""
    prompt = ask_model.load_prompt("compaction", prompt_language(memory.text for memory in working.memories))
    lines = [f"{number} | {_prompt_line(memory)}" for number, memory in enumerate(working.memories, 1)]
    try:
        turns = ask_model.prompt_turns(prompt, memories=lines[:-1], newest=lines[-1:], longest=str(working.max_characters))
        answer = ask_model.complete(model, turns, ask_model.AnswerShape(schema=_SCHEMA, adapt=as_decision))
    except ModelError as error:
        flaw = f"the oldest was dropped because the model failed: {error}"
        return _Decided(decision=_oldest(working), flaws=(flaw,), usage=usage_of(error))
    decision = _read(answer.data, working)
    if isinstance(decision, Decision):
        return _Decided(decision=decision, model=model.name, prompt=prompt.version, flaws=tuple(answer.flaws), usage=answer.usage)
    flaw = f"the oldest was dropped because the model's decision was refused: {decision}"
    return _Decided(decision=_oldest(working), flaws=(*answer.flaws, flaw), usage=answer.usage)


def _prompt_line(memory: Memory) -> str:
    pinned = " | pinned" if memory.pinned else ""
    return f"{memory.created_at:%Y-%m-%d} | {memory.importance:g}/10{pinned} | {str(memory)[:_MAX_SHOWN_CHARACTERS]}"


def _read(data: Mapping[str, Any], working: _MemorySet) -> Decision | str:
    """Convert a model's answer (``data``) to a decision. If the decision is invalid, return the reason as a text."""
    action, number, reason = data.get("action"), data.get("target"), one_line(str(data.get("reason") or ""))[:200]
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(working.memories):
        return f"it names memory {number!r}, which was not in the prompt"
    target = working.memories[number - 1]
    if target.pinned:
        return f"memory {number} is pinned"
    if action == "delete":
        return Decision(action="delete", target=target.id, reason=reason or "made room")
    if action != "edit":
        return f"there is no action {action!r}"
    text = one_line(str(data.get("text") or ""))
    flaw = _bad_pair(target, working.newest) or _bad_text(target, text, working)
    return flaw or Decision(action="edit", target=target.id, text=text, merged=working.newest.id, reason=reason or "merged")


def _bad_pair(target: Memory, newest: Memory) -> str | None:
    """Return the reason why the newest memory cannot be merged into ``target``. Return None if it can."""
    if target.id == newest.id:
        return "it merges the new memory into itself"
    if newest.pinned:
        return "the new memory is pinned and cannot be merged away"
    if (target.scope, target.key) != (newest.scope, newest.key):
        return "the two do not belong to the same scope and key"
    return None


def _bad_text(target: Memory, text: str, working: _MemorySet) -> str | None:
    """Return the reason why ``text`` is not a valid merger of ``target`` and the newest memory. Return None if it is valid."""
    newest = working.newest
    if not text:
        return "the merged text is empty"
    if long_numbers(text) - long_numbers(target.text) - long_numbers(newest.text):
        return "the merged text has a number that neither memory has"
    if any(fold(text) == fold(other.text) for other in working.memories if other.id not in (target.id, newest.id)):
        return "the merged text is the text of a third memory"
    evidence = evidence_in_texts([target.text, newest.text], newest.valid_from)
    wrong = next(filter(None, (distortion(sentence, evidence) for sentence in split_sentences(text))), None)
    if wrong:
        return f"the merged text has {wrong.replace('an item', 'a sentence')}"
    return output_filter.rejection_reason(text, replaces=[target.text, newest.text], max_characters=working.max_characters)


def _decide_by_rules(working: _MemorySet) -> Decision:
    """Decide by rules: merge the most similar near duplicates or, if there are none, remove the least valuable memory.

    If the least valuable memory is the summary of a conversation, it is merged with the most similar summary. If it is not a
    summary, or if the merged text would be too long, it is deleted.
    """
    similarity = similarities([memory.text for memory in working.memories], working.rows)
    for older, newer in near_duplicates(working.memories, similarity):
        text = join(older.text, newer.text, max_characters=working.max_characters)
        if text is not None:
            return Decision(action="edit", target=older.id, text=text, merged=newer.id, reason="near duplicates")
    redundancy = similarity.max(axis=1, initial=0.0)
    values = {memory.id: value(memory, working.memories, float(redundancy[n])) for n, memory in enumerate(working.memories)}
    lowest = min(working.unpinned(), key=lambda memory: (values[memory.id], memory.created_at, memory.id))
    return _merge_of(lowest, working, similarity) or Decision(
        action="delete", target=lowest.id, reason="the least valuable by importance, age, use and redundancy"
    )


def _merge_of(memory: Memory, working: _MemorySet, similarity: NDArray[np.float64]) -> Decision | None:
    """Return the decision to merge ``memory``, the summary of a conversation, with the summary of another conversation.

    The other summary has the same scope, key and trust, and is not pinned. It is the most similar one for which the merged
    text is not too long. Return None if there is none, or if ``memory`` is not the summary of a conversation.
    """
    if "conversation" not in memory.metadata:  # not the summary of a conversation
        return None
    place = next(n for n, each in enumerate(working.memories) if each.id == memory.id)
    for other in sorted(range(len(working.memories)), key=lambda n: -float(similarity[place][n])):
        partner = working.memories[other]
        alike = (partner.scope, partner.key, partner.trust) == (memory.scope, memory.key, memory.trust)
        if other == place or partner.pinned or not alike or "conversation" not in partner.metadata:
            continue
        older, newer = sorted((memory, partner), key=lambda each: (each.created_at, each.id))
        text = _appended(older.text, newer.text)
        if len(text) <= working.max_characters:
            return Decision(action="edit", target=older.id, text=text, merged=newer.id, reason="two short memories in one")
    return None


def _appended(one: str, other: str) -> str:
    """Append one text to another and return the result. Two quotations of the user become one quotation."""
    (before, words, after), (other_before, more, other_after) = spoken_words(one), spoken_words(other)
    if before and before == other_before:
        return f"{before}{words} {more}{after}{other_after[1:]}"
    return f"{one if one.endswith(_ENDINGS) else f'{one}.'} {other}"


def _merge_into(target: Memory, other: Memory, text: str) -> Memory:
    """Return the target with the merged text, and the tags, metadata and sources of both memories."""
    return replace(
        target,
        text=text,
        importance=max(target.importance, other.importance),
        tags=tuple(dict.fromkeys((*target.tags, *other.tags))),
        metadata={**other.metadata, **target.metadata},
        trust=min(target.trust, other.trust),
        sources=tuple(dict.fromkeys((*target.sources, *other.sources, other.id))),
        language=None,  # the merged text may be in another language
    )


def _changes(before: Sequence[Memory], working: _MemorySet, decisions: Sequence[Decision]) -> tuple[Change, ...]:
    """Return the store changes for the decisions. ``before`` are the memories before the decisions.

    Retirements come first, so that two live memories never have the same text.
    """
    retired = [
        Retire(id=decision.target, status=DROPPED, reason=decision.reason)
        if decision.action == "delete"
        else Retire(id=decision.merged or "", status="superseded", reason=decision.reason, replaced_by=decision.target)
        for decision in decisions
    ]
    reasons = {decision.target: decision.reason for decision in decisions if decision.action == "edit"}
    old = {memory.id: memory for memory in before}
    edited = [_edit(memory, reasons[memory.id]) for memory in working.memories if memory != old[memory.id]]
    return (*retired, *edited)


def _edit(memory: Memory, reason: str) -> Put:
    return Put(
        scope=memory.scope,
        kind=memory.kind,
        text=memory.text,
        id=memory.id,
        key=memory.key,
        importance=memory.importance,
        tags=memory.tags,
        metadata=memory.metadata,
        origin=memory.origin,
        trust=memory.trust,
        sources=memory.sources,
        reason=reason,
    )
