"""Match the lines of an edited file with the lines that the file had at the last sync.

Lines with equal text are matched first, then lines with similar text at the same place, then other similar lines.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from holdfast.topic_files.markdown import Line, digest
from holdfast.topic_files.record import BaseLine

MIN_EDIT_SIMILARITY: Final = 0.6
"""Minimum similarity, from 0 to 1, at which a new and an old line of one page count as an edit of the same memory."""
MIN_MOVE_SIMILARITY: Final = 0.8
"""Minimum similarity, from 0 to 1, at which a new line counts as an old line that moved from another page."""
_MAX_COMPARED_CHARACTERS: Final = 300
"""Only this many characters at the start of each text are compared."""
_MAX_PAIRS: Final = 4000
"""Maximum number of pairs of texts to compare by similarity. If there are more pairs, only equal texts are matched."""


def match(
    base: Sequence[BaseLine], lines: Sequence[Line], *, before: Mapping[str, str], now: Mapping[str, str]
) -> dict[int, int]:
    """Match the lines of a file with ``base``, the lines that the file had at the last sync.

    Return a mapping from the position of a line in the file to its position in ``base``. ``before`` and ``now`` map the ids of
    memories to their texts, at the last sync and at present.
    """
    matches = _same(lines, [line.digest for line in base], {})
    matches = _same(lines, [digest(now[line.id]) if line.id in now else "" for line in base], matches)
    texts = [before.get(line.id, "") for line in base]
    _in_place(lines, texts, matches)
    unmatched = [place for place in range(len(base)) if place not in matches.values() and texts[place]]
    new = [place for place in range(len(lines)) if place not in matches]
    for one, other in pair_similar(
        [lines[place].text for place in new], [texts[place] for place in unmatched], min_ratio=MIN_EDIT_SIMILARITY
    ):
        matches[new[one]] = unmatched[other]
    return matches


def _same(lines: Sequence[Line], digests: Sequence[str], matches: Mapping[int, int]) -> dict[int, int]:
    """Match the lines whose text is unchanged: the hash of the text is in ``digests``.

    Return ``matches`` with the new matches added. It maps the position of a line to a position in ``digests``.
    """
    result, taken = dict(matches), set(matches.values())
    waiting: dict[str, list[int]] = {}
    for place, known in enumerate(digests):
        if place not in taken:
            waiting.setdefault(known, []).append(place)
    for place, line in enumerate(lines):
        unmatched = waiting.get(digest(line.text)) if place not in result else None
        if unmatched:
            result[place] = unmatched.pop(0)
    return result


def _in_place(lines: Sequence[Line], texts: Sequence[str], matches: dict[int, int]) -> None:
    """Match similar lines at the same place, that is, next to lines that are already matched. Add them to ``matches``.

    ``texts`` are the texts of the lines at the last sync.
    """
    taken = set(matches.values())
    steps = [(range(len(lines)), 1), (range(len(lines) - 1, -1, -1), -1)]
    for places, step in steps:
        for place in places:
            edge = -1 if step > 0 else len(texts)
            at_edge = place == (0 if step > 0 else len(lines) - 1)
            neighbor = edge if at_edge else matches.get(place - step)
            if place in matches or neighbor is None:
                continue
            base_place = neighbor + step
            if (
                0 <= base_place < len(texts)
                and base_place not in taken
                and similarity(lines[place].text, texts[base_place]) >= MIN_EDIT_SIMILARITY
            ):
                matches[place] = base_place
                taken.add(base_place)


def pair_similar(new: Sequence[str], old: Sequence[str], *, min_ratio: float) -> list[tuple[int, int]]:
    """Pair new texts with similar old texts, the most similar first. Return the pairs as positions in ``new`` and ``old``.

    The similarity of a pair is at least ``min_ratio``. Each text is in at most one pair. If there are more than
    ``_MAX_PAIRS`` possible pairs, only equal texts are paired.
    """
    if len(new) * len(old) > _MAX_PAIRS:
        places = {text: place for place, text in enumerate(old)}
        pairs = [(1.0, one, places[text]) for one, text in enumerate(new) if text in places]
    else:
        pairs = [(similarity(a, b, min_ratio), one, other) for one, a in enumerate(new) for other, b in enumerate(old)]
    chosen: dict[int, int] = {}
    for score, one, other in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if score >= min_ratio and one not in chosen and other not in chosen.values():
            chosen[one] = other
    return list(chosen.items())


def similarity(one: str, other: str, min_ratio: float = MIN_EDIT_SIMILARITY) -> float:
    """Return the similarity of two texts, from 0 to 1. A similarity below ``min_ratio`` may be returned as 0, to save time."""
    if not one or not other:
        return 0.0
    matcher = SequenceMatcher(None, other[:_MAX_COMPARED_CHARACTERS], one[:_MAX_COMPARED_CHARACTERS], autojunk=False)
    if matcher.real_quick_ratio() < min_ratio or matcher.quick_ratio() < min_ratio:
        return 0.0
    return matcher.ratio()
