"""Read numbers in words and measures with units, so that converted amounts are recognized: "10 miles" is "16 km"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from holdfast.learning.answer_check.words import table
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold

_TOLERANCE: Final = 0.03
"""Maximum relative difference between an amount and its conversion. Models round: 200 pounds are "about 91 kg"."""
_WORD: Final = regex(r"\d+(?:\.\d+)?|[^\W\d_]+|°[cf]?|['′’\"″]")
_TENS: Final = 10
_HUNDRED: Final = 100
_FAHRENHEIT: Final = frozenset({"fahrenheit", "f", "°f"})
_SIGNS: Final = {"'": "ft", "′": "ft", "’": "ft", '"': "inch", "″": "inch"}
_CELSIUS: Final = frozenset({"celsius", "centigrade", "centigrados", "c", "°c"})


@cache
def _number_words() -> dict[str, int]:
    return {word: int(value) for value, spelled in table()["numbers"].items() for word in spelled.split()}


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Return a mapping from each spelling of a unit to its dimension, such as length, and its size in that dimension."""
    return {
        word: (dimension, float(size))
        for dimension, units in table()["units"].items()
        for size, spelled in units.items()
        for word in spelled.split()
    }


def spoken_numbers(text: str) -> set[float]:
    """Return the numbers that a text states in words: "half a million", "dos mil quinientos", "thirty-five"."""
    return {value for _, _, value in _numbers(_words(text))}


def is_converted(number: float, item: str, said: Sequence[str]) -> bool:
    """Return True if a number is the amount of a measure that the messages state in another unit.

    ``item`` is the statement of the model that contains the number, and ``said`` are the messages.
    """
    have = [measure for text in said for measure in _measures(text)]
    return any(_is_equal(one, other) for one in _measures(item) for other in have if one.amount == number)


def has_other_unit(item: str, said: Sequence[str]) -> bool:
    """Return True if a statement of the model repeats an amount from the messages with another unit: "200 kg" for "200 pounds".

    Both units must measure the same thing, such as weight. ``item`` is the statement, and ``said`` are the messages.
    """
    have = [measure for text in said for measure in _measures(text)]
    for one in _measures(item):
        same = [other for other in have if one.dimension == other.dimension]
        if any(one.amount == other.amount for other in same) and not any(_is_equal(one, other) for other in same):
            return True
    return False


def _words(text: str) -> list[str]:
    plain = re.sub(r"(?<=\d)[.,\u00a0 ](?=\d{3}\b)", "", fold(text))
    plain = re.sub(r"(?<=\d)(?=[^\W\d_])", " ", re.sub(r"(?<=\d),(?=\d)", ".", plain))
    return _WORD.findall(plain.replace("-", " "))


def _numbers(words: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield the numbers in a list of words: the position, the count of words, and the value."""
    at = 0
    while at < len(words):
        end, value = _number_at(words, at)
        if end > at:
            yield at, end - at, value
        at = max(end, at + 1)


def _number_at(words: Sequence[str], start: int) -> tuple[int, float]:
    """Return the end position and the value of the number that begins at the position ``start``.

    If no number begins there, the end position is ``start``.
    """
    total = current = 0.0
    at = start
    while at < len(words):
        word = words[at]
        value = _number_words().get(word)
        if word[0].isdigit() and at == start:
            current = float(word)
        elif word in ("half", "medio", "media") and at == start:
            current = 0.5
            at += words[at + 1 : at + 2] in (["a"], ["an"])
        elif word in table()["magnitudes"] and at > start:
            factor = float(table()["magnitudes"][word])
            total, current = (total, current * factor) if factor <= _HUNDRED else (total + (current or 1) * factor, 0.0)
        elif word == "mil":
            total = 1000.0
        elif value is not None and _may_follow(value, current, start=at == start):
            current += value
        elif word in ("and", "y") and at > start and _joins(words, at, current):
            pass
        else:
            break
        at += 1
    return at, total + current


def _may_follow(value: int, current: float, *, start: bool) -> bool:
    """Return True if a number word can continue the number read so far: "five" after "twenty", but not "four" after "three".

    ``value`` is the value of the word, and ``current`` is the number so far. ``start`` is True for the first word of a
    number.
    """
    if start or not current:
        return True
    if value >= _HUNDRED:
        return False
    return current % _HUNDRED == 0 or (value < _TENS and current % _TENS == 0 and current % _HUNDRED >= 2 * _TENS)


def _joins(words: Sequence[str], at: int, current: float) -> bool:
    """Return True if "and" at a position is part of a number: "two hundred and five", "treinta y cuatro"."""
    following = _number_words().get(words[at + 1]) if at + 1 < len(words) else None
    if following is None:
        return False
    return _may_follow(following, current, start=False) and (words[at] == "y" or not current or current % _HUNDRED == 0)


@dataclass(frozen=True, slots=True)
class _Measure:
    """An amount with a unit. ``size`` is the amount in the dimension's base unit, and ``end`` the position after the unit."""

    dimension: str
    size: float
    amount: float
    end: int


def _is_equal(one: _Measure, other: _Measure) -> bool:
    return one.dimension == other.dimension and abs(one.size - other.size) <= _TOLERANCE * abs(other.size)


def _measures(text: str) -> Iterator[_Measure]:
    """Yield the measures of a text. Measures in a row, such as "5 feet 11 inches", are also yielded as one."""
    words = _words(text)
    last: _Measure | None = None
    for start, count, number in _numbers(words):
        found = _measure_at(words, start + count, number)
        follows = last is not None and start <= last.end + 1
        if found is None and last is not None and follows and last.dimension == "length":  # 5'11
            found = _Measure("length", number * _units()["inch"][1], number, start + count)
        if found is not None:
            yield found
            if last is not None and follows and last.dimension == found.dimension:
                yield replace(found, size=last.size + found.size)
        last = found


def _measure_at(words: Sequence[str], after: int, number: float) -> _Measure | None:
    """Return the measure whose number ends before the position ``after``, or None if no unit follows."""
    amount, at = _with_half(words, after, number)
    at += words[at : at + 1] in (["°"], ["degrees"], ["grados"])
    unit = _SIGNS.get(words[at], words[at]) if at < len(words) else ""
    if unit in _FAHRENHEIT or unit in _CELSIUS:
        return _Measure("temperature", (amount - 32) / 1.8 if unit in _FAHRENHEIT else amount, amount, at + 1)
    if unit not in _units():
        return None
    dimension, size = _units()[unit]
    amount, end = _with_half(words, at + 1, amount)
    return _Measure(dimension, amount * size, amount, end)


def _with_half(words: Sequence[str], at: int, amount: float) -> tuple[float, int]:
    """Return the amount plus 0.5, and the position after the words, if "and a half" is at the position ``at``.

    The Spanish "y medio" and "y media" count as well. Otherwise, return ``amount`` and ``at`` unchanged.
    """
    for half in (["and", "a", "half"], ["y", "medio"], ["y", "media"]):
        if words[at : at + len(half)] == half:
            return amount + 0.5, at + len(half)
    return amount, at
