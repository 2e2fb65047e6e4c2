"""Find the days and times in a text, and decide whether two times contradict each other."""

import re
from collections.abc import Mapping
from typing import Any

from holdfast.learning.changes.phrases import LANGUAGES, phrases
from holdfast.runtime.regex import regex

_NUMERIC = regex(r"\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})/(\d{1,2})\b")


def moments_of(text: str) -> dict[str, frozenset[str]]:
    """Return the times that a text names, grouped by type.

    The types are weekdays, days of a month, months, dates, hours, and words such as "tomorrow".
    """
    found: dict[str, set[str]] = {}
    for language in LANGUAGES:
        for sort, value in _named(text, phrases(language).moments):
            found.setdefault(sort, set()).add(value)
    for match in _NUMERIC.finditer(text):
        year, month, day, first, second = match.groups()
        found.setdefault("date", set()).add(f"{int(month)}-{int(day)}" if year else f"{int(first)}/{int(second)}")
    return {sort: frozenset(values) for sort, values in found.items()}


def times_differ(old: str, new: str, *, moved: bool) -> bool:
    """Return True if a time in the new text contradicts a time in the old text, as Monday contradicts Friday.

    Set ``moved`` if the new text says that something was moved to another time. Times of different sorts, such as
    Friday and the 12th, then also contradict each other. Return False if one of the texts names no time.
    """
    before, after = moments_of(old), moments_of(new)
    if not before or not after:
        return False
    shared = before.keys() & after.keys()
    if any(not _same(before[sort], after[sort]) for sort in shared):
        return True
    return moved and not shared


def _same(before: frozenset[str], after: frozenset[str]) -> bool:
    """Return True if the times in two texts agree. Both sets contain times of the same type, such as weekdays or hours.

    An hour without am or pm matches both.
    """
    if before == after:
        return True
    open_ended = any(hour.startswith("~") for hour in before | after)
    return open_ended and {_half_day(hour) for hour in before} == {_half_day(hour) for hour in after}


def _half_day(hour: str) -> str:
    head, _, minute = hour.lstrip("~").partition(":")
    return f"{int(head) % 12}:{minute}" if head.isdigit() else hour


def _named(text: str, moments: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for sort, patterns in (("weekday", moments["weekdays"]), ("month", moments["months"])):
        found += [(sort, str(number)) for number, pattern in enumerate(patterns, 1) if pattern.search(text)]
    found += [("day", str(int(match.group("d")))) for match in moments["day"].finditer(text)]
    found += [("day", day) for day in _days_by_month(text, moments["months"])]
    found += [("clock", _hour(match)) for match in moments["clock"].finditer(text)]
    found += [("relative", match.group(0).casefold()) for match in moments["relative"].finditer(text)]
    return found


def _days_by_month(text: str, months: list[re.Pattern[str]]) -> list[str]:
    """Return the day numbers next to the name of a month, as in "May 5" or "5 de mayo"."""
    days = []
    for month in months:
        for match in month.finditer(text):
            after = re.match(r"\s+(\d{1,2})\b(?!:)", text[match.end() :])
            before = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\s+(?:de |of )?$", text[: match.start()])
            days += [str(int(found.group(1))) for found in (after, before) if found]
    return days


def _hour(match: re.Match[str]) -> str:
    parts = match.groupdict()
    if parts.get("word"):
        return str(parts["word"]).casefold()
    hour = int(parts.get("h") or parts.get("h2") or parts.get("h3") or 0)
    minute = int(parts.get("m") or parts.get("m2") or 0)
    if (parts.get("half") or "").startswith("p") and hour < 12:
        hour += 12
    exact = bool(parts.get("half")) or hour > 12
    return f"{'' if exact else '~'}{hour}:{minute:02d}"
