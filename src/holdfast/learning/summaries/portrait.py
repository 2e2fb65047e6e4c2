"""Choose the facts for a paragraph about who a person is."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from holdfast.learning.summaries.areas import area_of
from holdfast.learning.summaries.durable import is_notable
from holdfast.learning.summaries.importance import importance_of
from holdfast.learning.summaries.lasting import is_lasting
from holdfast.types import Memory
from holdfast.types.common import Area

_ORDER: Final[tuple[Area, ...]] = (
    "identity", "home", "work", "family", "health", "preferences", "rules", "money", "plans", "other",
)  # fmt: skip
"""The areas of life, in the order of a paragraph about a person."""
_MAX_PER_AREA: Final = 2
"""Maximum number of facts of one area of life in the first selection. More facts are added only if there is room."""
_ENOUGH: Final = 4
"""Facts that belong to no area of life are added only if fewer than this number of facts have been chosen."""


def portrait(memories: Sequence[Memory], *, limit: int) -> list[Memory]:
    """Return at most ``limit`` facts about who a person is, in the order of a paragraph: identity and home first.

    Facts with a key and lasting facts, such as health and family, are preferred. At first, at most two facts of each
    area of life are chosen. If there is room, more facts of these areas follow. Facts of no area of life are added only if
    fewer than ``_ENOUGH`` facts were chosen. Small talk is left out.
    """
    worth = [memory for memory in memories if is_notable(memory.text) or memory.key is not None or memory.origin != "auto"]
    ranked = sorted(worth, key=_rank, reverse=True)
    chosen: list[Memory] = []
    counts: Counter[Area] = Counter()
    for memory in ranked:
        area = area_of(memory)
        if area != "other" and counts[area] < _MAX_PER_AREA:
            counts[area] += 1
            chosen.append(memory)
    known, others = (
        [each for each in ranked if each not in chosen and (area_of(each) == "other") is is_other] for is_other in (False, True)
    )
    chosen = [*chosen, *known][:limit]
    chosen += others[: max(min(_ENOUGH, limit) - len(chosen), 0)]
    return sorted(chosen, key=lambda memory: (_ORDER.index(area_of(memory)), memory.valid_from, memory.item))


def _rank(memory: Memory) -> tuple[bool, float, int]:
    return memory.key is not None or is_lasting(memory), max(memory.importance, importance_of(memory.text)), memory.item
