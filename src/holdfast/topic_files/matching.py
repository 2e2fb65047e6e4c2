"""Which line of a file was which line before: the same text, else the place and the likeness."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from holdfast.topic_files.markdown import Line, mark
from holdfast.topic_files.record import BaseLine

MIN_EDIT_LIKENESS: Final = 0.6
"""How alike two texts of one page must be to be one memory, edited."""
MIN_MOVE_LIKENESS: Final = 0.8
"""How alike they must be on two pages."""
_MAX_COMPARED_CHARACTERS: Final = 300
"""Characters that are compared."""
_MAX_PAIRS: Final = 4000
"""Pairs that are compared beyond those in the same place."""


def match(
    base: Sequence[BaseLine], lines: Sequence[Line], *, before: Mapping[str, str], now: Mapping[str, str]
) -> dict[int, int]:
    """Return for places in the file the place in the base; ``before`` and ``now`` are memories' texts, then and today."""
    found = _same(lines, [line.mark for line in base], {})
    found = _same(lines, [mark(now[line.id]) if line.id in now else "" for line in base], found)
    texts = [before.get(line.id, "") for line in base]
    _in_place(lines, texts, found)
    left = [place for place in range(len(base)) if place not in found.values() and texts[place]]
    new = [place for place in range(len(lines)) if place not in found]
    for one, other in alike([lines[place].text for place in new], [texts[place] for place in left], min_ratio=MIN_EDIT_LIKENESS):
        found[new[one]] = left[other]
    return found


def _same(lines: Sequence[Line], marks: Sequence[str], found: Mapping[int, int]) -> dict[int, int]:
    """Add the lines that are just as they were, wherever they stand now."""
    result, taken = dict(found), set(found.values())
    waiting: dict[str, list[int]] = {}
    for place, known in enumerate(marks):
        if place not in taken:
            waiting.setdefault(known, []).append(place)
    for place, line in enumerate(lines):
        left = waiting.get(mark(line.text)) if place not in result else None
        if left:
            result[place] = left.pop(0)
    return result


def _in_place(lines: Sequence[Line], texts: Sequence[str], found: dict[int, int]) -> None:
    """Add the lines that stand where an unclaimed line stood, behind or before the same neighbour, and are like it."""
    taken = set(found.values())
    steps = [(range(len(lines)), 1), (range(len(lines) - 1, -1, -1), -1)]
    for places, step in steps:
        for place in places:
            edge = -1 if step > 0 else len(texts)
            at_edge = place == (0 if step > 0 else len(lines) - 1)
            neighbour = edge if at_edge else found.get(place - step)
            if place in found or neighbour is None:
                continue
            there = neighbour + step
            if 0 <= there < len(texts) and there not in taken and likeness(lines[place].text, texts[there]) >= MIN_EDIT_LIKENESS:
                found[place] = there
                taken.add(there)


def alike(new: Sequence[str], old: Sequence[str], *, min_ratio: float) -> list[tuple[int, int]]:
    """Pair texts that are alike, the most alike first; of very many only equal ones are paired."""
    if len(new) * len(old) > _MAX_PAIRS:
        places = {text: place for place, text in enumerate(old)}
        pairs = [(1.0, one, places[text]) for one, text in enumerate(new) if text in places]
    else:
        pairs = [(likeness(a, b, min_ratio), one, other) for one, a in enumerate(new) for other, b in enumerate(old)]
    chosen: dict[int, int] = {}
    for score, one, other in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if score >= min_ratio and one not in chosen and other not in chosen.values():
            chosen[one] = other
    return list(chosen.items())


def likeness(one: str, other: str, min_ratio: float = MIN_EDIT_LIKENESS) -> float:
    """Return how alike two texts are, 0 to 1; nothing exact below ``min_ratio``."""
    if not one or not other:
        return 0.0
    matcher = SequenceMatcher(None, other[:_MAX_COMPARED_CHARACTERS], one[:_MAX_COMPARED_CHARACTERS], autojunk=False)
    if matcher.real_quick_ratio() < min_ratio or matcher.quick_ratio() < min_ratio:
        return 0.0
    return matcher.ratio()
