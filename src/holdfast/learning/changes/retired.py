"""Choose which of the memories that a new statement possibly supersedes are superseded."""

from dataclasses import dataclass
from typing import Final

from holdfast.types import Memory, Put

__all__ = ["Retired", "certain_or_only", "likelier", "reason_of"]

_MIN_LEAD: Final = 0.08
"""Minimum difference of the cosines of two memories with which only the more similar one can be superseded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A memory that a new statement supersedes, and the reason."""

    memory: Memory
    why: str
    certain: bool
    """True if it is certain that the new statement supersedes the memory.

    If no memory is certain, an uncertain one is retired only if there is exactly one.
    """
    kept: tuple[str, ...] | None = None
    """Claims of the memory that are still true, according to the sentence reader. None if rules determine them."""
    cosine: float = 0.0
    """Similarity of the memory and the new statement. 0 if it is unknown."""
    chance: float = 1.0
    """Probability, according to the sentence reader, that the new statement ends a claim of the memory."""


def likelier(by_rules: list[Retired], by_reader: list[Retired]) -> list[Retired]:
    """Return the memories that a new statement supersedes: those found by rules, or those found by the sentence reader.

    The rules are uncertain here. The sentence reader decides if the rules find nothing, or if it is certain that the likeliest
    memory is another one: a new telephone number does not end the house number.
    """
    likeliest = max(by_reader, key=lambda each: each.chance, default=None)
    if not by_rules or likeliest is None:
        return by_rules or by_reader
    is_other = all(each.memory.id != likeliest.memory.id for each in by_rules)
    return [likeliest] if is_other and likeliest.certain else by_rules


def certain_or_only(ended: list[Retired]) -> list[Retired]:
    """Return those of the memories in ``ended`` that are certainly superseded.

    If none of them is certain, return the only memory in ``ended``, or the one that is by far the most similar to the new statement.
    """
    certain = [each for each in ended if each.certain]
    if certain or len(ended) <= 1:
        return certain or ended
    first, second = sorted(ended, key=lambda each: -each.cosine)[:2]
    return [first] if first.cosine - second.cosine >= _MIN_LEAD else []


def reason_of(ended: Retired, put: Put) -> str:
    """Return the reason that is stored with a memory that ``put`` supersedes. It names the day on which the change was stated."""
    since = f", as of {put.valid_from:%Y-%m-%d}" if put.valid_from else ""
    # Must not quote the old memory: the reason stays with the new one when the old one is erased.
    return f"{ended.why}{since}"
