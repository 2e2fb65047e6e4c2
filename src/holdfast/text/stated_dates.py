"""Find the calendar dates stated in an English or Spanish text: "13 November 2026", "2026-11-13", "in May", "since 2019"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold_letters
from holdfast.text.relative_dates import RESCHEDULED, lasting_since, spans_in
from holdfast.text.wordlists import MONTHS

__all__ = [
    "AMBIGUOUS_MONTHS",
    "StatedDate",
    "begin_and_end",
    "cut_dates",
    "dates_without_year",
    "is_past",
    "nearest_year",
    "year_of",
]

_MONTH_NUMBER: Final = {name: 1 + list(dict.fromkeys(MONTHS.values())).index(month) for name, month in MONTHS.items()}
_MONTH: Final = "|".join(sorted((name for name in MONTHS), key=len, reverse=True))
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_DATES: Final = tuple(
    regex(pattern)
    for pattern in (
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)(?:-(?P<day>\d\d))?\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of| de)? (?P<month>{_MONTH})\b(?:,?(?: de| del)? {_YEAR})?",
        rf"\b(?P<month>{_MONTH})\.? (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? {_YEAR})?",
        rf"\b(?P<month>{_MONTH})\b\.?(?:,?(?: de| del| of)? {_YEAR})?",
        rf"(?<![\d.,:€$£#-])\b{_YEAR}\b(?![.,:]?\d|\s?(?:€|%|km|kg|euros?|dollars?|pesos))",
    )
)
AMBIGUOUS_MONTHS: Final = frozenset(("may", "march", "mar", "sep", "dec", "ago", "set", "jan", "ene", "dic"))
_MONTH_AFTER: Final = regex(r"\b(?:in|of|since|until|by|early|late|en|de|desde|hasta) $")
_SINCE: Final = regex(r"\b(?:since|from|starting|desde(?: el)?|a partir del?)(?: the)? $")
_UNTIL: Final = regex(r"\b(?:until|till|til|hasta(?: el)?)(?: the| last| next| this)? $")
_RANGE: Final = regex(r"\b(?:from|between|desde|entre|del?)(?: the| el)? $")
_TO: Final = regex(r"\s*(?:to|until|till|through|and|a|al|hasta|y|-|–)(?: the| el)? ?")
"""Matches the words between the beginning and the end of a period: "from 2015 to 2019"."""
_DAYS_TO: Final = regex(r"\b(?:del|from(?: the)?) (?P<day>[12]?\d|3[01])(?:st|nd|rd|th)? (?:al|to|until|till|through)(?: the)? $")
"""Matches the first day of a period within a month: "del 3 al" before "9 de mayo"."""
_ISO_DAY: Final = len("2026-05-09")
_LAST: Final = regex(r"\b(?:last|this past) $")
_NEXT: Final = regex(r"\b(?:next|this coming|proxim[oa]|este|esta) $")
_AHEAD: Final = regex(
    rf"\b(?:de aqui a|from now (?:to|until|till)|by|para) $|(?:{RESCHEDULED})(?: the| el| la)?(?: \w+ (?:week|half|days|semana|quincena|mitad) (?:of|de))?(?: early| late)? $"
)
"""Matches words before a date that is still to come, whatever the tense of the text is.

Examples are "I was told to lose weight by June" and "they pushed it to the second week of December".
"""
_CLAUSE_BREAK: Final = regex(r"[,;:.!?(]\s+|\s(?:y|e|pero|and|but|so)\s")
_FUTURE: Final = regex(
    r"\b(?:will|going to|gonna|tomorrow|voy a|vamos a|va a|van a)\b|'ll\b|\w{3,}(?:ré|rá|remos|rán)\b", re.IGNORECASE
)
_PAST: Final = regex(
    r"\b(?:was|were|had|got|went|did|came|began|started|moved|left|quit|met|lost|bought|born|\w{3,}ed|fui|fue|fuimos|hice|hizo|tuve|tuvo|estuve"
    r"|\w{2,}(?:é|í|ó|aron|ieron))\b|\b(?:last|ago|pasad[oa])\b",
    re.IGNORECASE,
)
"""Matches a word in the past tense. It shows that a date without a year is in the past."""


@dataclass(frozen=True, slots=True)
class StatedDate:
    """A calendar date that a text states. Parts that the text does not state are None."""

    year: int | None
    month: int | None
    day: int | None
    length: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """Return the stated part of the date, such as ``2026-11`` for a month. Return an empty text if the year is not stated."""
        parts = [
            f"{self.year:04}" if self.year else "",
            f"{self.month:02}" if self.month else "",
            f"{self.day:02}" if self.day else "",
        ]
        return "-".join(parts[: parts.index("")] if "" in parts else parts)

    def days(self, near: date) -> Iterator[tuple[date, date]]:
        """Yield the first and last day of each period that the date may mean.

        If the year is not stated, it may be the year of ``near``, the year before or the year after.
        """
        for year in (self.year,) if self.year else (near.year - 1, near.year, near.year + 1):
            try:
                if self.month is None:
                    yield date(year, 1, 1), date(year, 12, 31)
                elif self.day is None:
                    after = date(year + self.month // 12, self.month % 12 + 1, 1)
                    yield date(year, self.month, 1), after - timedelta(days=1)
                else:
                    yield date(year, self.month, self.day), date(year, self.month, self.day)
            except ValueError:
                continue


def begin_and_end(text: str, at: datetime, *, is_event: bool, past: bool = False) -> dict[str, str]:
    """Return when something happened or began (``happened_at``) and when it ended (``ended_at``), if a text states these dates.

    Dates are returned in ISO form, as precise as the text states them. ``at`` is the time at which the text was said.

    A range such as "from 2015 to 2019" has both dates. Otherwise, a date after a word such as "since" is ``happened_at``, and a
    date after a word such as "until" is ``ended_at``. Without such words, the only date of a text is ``happened_at`` if the
    text is about an event (``is_event``) or if the date is relative ("yesterday"). If a text has no date but a duration ("for
    two years"), ``happened_at`` is computed from the duration.

    For a date without a year, the tense of the text decides the year. With ``past``, a text without a clear tense counts as
    past.
    """
    plain = fold_letters(text)
    relative = [(start, end, _iso(day, precision)) for start, end, day, precision in spans_in(text, at)]
    stated = [(start, start + day.length, _with_year(day, text, plain[:start], at, past=past)) for start, day in _stated(plain)]
    found = sorted([*relative, *((start, end, iso) for start, end, iso in stated if iso)])
    for (start, end, first), (then, _, last) in pairwise(found):
        if _TO.fullmatch(plain[end:then]) and _RANGE.search(plain[:start]):
            return {"happened_at": first, "ended_at": last}
    dates: dict[str, str] = {}
    for start, _, iso in found:
        if (days := _DAYS_TO.search(plain[:start])) and len(iso) == _ISO_DAY:
            return {"happened_at": f"{iso[:-2]}{int(days['day']):02}", "ended_at": iso}
        name = "ended_at" if _UNTIL.search(plain[:start]) else "happened_at" if _SINCE.search(plain[:start]) else None
        if name:
            dates.setdefault(name, iso)
    if not dates and (is_event or relative) and len({iso for _, _, iso in found}) == 1:
        dates["happened_at"] = found[0][2]
    if not found and (began := lasting_since(text, at)) is not None:
        dates["happened_at"] = _iso(*began)
    return dates


def dates_without_year(text: str) -> list[tuple[int, StatedDate]]:
    """Return each month, or day of a month, that has no year, with its position in the text."""
    return [(start, date) for start, date in _stated(fold_letters(text)) if date.year is None and date.month is not None]


def is_past(text: str) -> bool:
    """Return True if a text is in the past tense and contains no words about the future."""
    return _PAST.search(text) is not None and _FUTURE.search(text) is None


def points_ahead(text: str, start: int) -> bool:
    """Return True if the words before the date at position ``start`` say that it is still to come, such as "by"."""
    return _AHEAD.search(fold_letters(text)[:start]) is not None


def is_past_at(text: str, start: int) -> bool:
    """Return True if the clause of the date at position ``start`` is in the past tense.

    The clause with "January" is not: "Vera was born in July, and they operate on her in January".
    """
    breaks = [each.end() for each in _CLAUSE_BREAK.finditer(fold_letters(text)[:start])]
    return _PAST.search(text[breaks[-1] if breaks else 0 :]) is not None


def clause_at(text: str, place: int) -> str:
    """Return the clause at a position of a text: "and on Friday we fly" has its own clause in "I saw her, and on Friday we fly"."""
    folded = fold_letters(text)
    breaks = [each.end() for each in _CLAUSE_BREAK.finditer(folded[:place])]
    after = _CLAUSE_BREAK.search(folded, place)
    return text[breaks[-1] if breaks else 0 : after.start() if after else None]


def year_of(stated: StatedDate, at: datetime, *, future: bool) -> int | None:
    """Return the year of a date that states no year.

    If ``future`` is True, this is the year of the next such date on or after ``at``. If it is False, this is the year of the
    last such date on or before ``at``. Return None if there is no such date within a year of ``at``. This can happen for 29
    February.
    """
    spans = [(year, next(replace(stated, year=year).days(at.date()), None)) for year in (at.year - 1, at.year, at.year + 1)]
    if future:
        return next((year for year, span in spans if span and span[1] >= at.date()), None)
    return next((year for year, span in reversed(spans) if span and span[0] <= at.date()), None)


def nearest_year(stated: StatedDate, at: datetime) -> int | None:
    """Return the year in which a date that states no year is nearest to ``at``. Return None if no near year has such a day."""
    spans = [(year, next(replace(stated, year=year).days(at.date()), None)) for year in (at.year - 1, at.year, at.year + 1)]
    known = [(abs((span[0] - at.date()).days), year) for year, span in spans if span]
    return min(known)[1] if known else None


def _with_year(stated: StatedDate, text: str, before: str, at: datetime, *, past: bool) -> str:
    """Return a stated date in ISO form. If it has a month but no year, choose the year.

    The chosen year is that of the last such date up to ``at``, or that of the next such date from ``at`` on. The words before
    the date (``before``) and the tense of ``text`` decide between the two. If they do not decide, the last date is used if
    ``past`` is True, and otherwise the next date.

    Return an empty string if a date after "until" remains undecided and ``past`` is False, or if no suitable year has such a
    day, as with 29 February.
    """
    if stated.year is not None or stated.month is None:
        return str(stated)
    years = [replace(stated, year=at.year + step) for step in (-1, 0, 1)]
    spans = [(year, next(year.days(at.date()), None)) for year in years]
    earlier = [year for year, span in spans if span and span[0] <= at.date()]
    future = [year for year, span in spans if span and span[1] >= at.date()]
    after_since = _SINCE.search(before) is not None
    told = text[: len(before)] if after_since else text  # "I will work there since May", but "here since May, and will stay"
    if future and not _LAST.search(before) and (_NEXT.search(before) or _AHEAD.search(before) or _FUTURE.search(told)):
        return str(future[0])
    if earlier and (past or after_since or _LAST.search(before) or _PAST.search(text)):
        return str(earlier[-1])
    return str(future[0]) if future and not _UNTIL.search(before) else ""


def _iso(day: datetime, precision: str) -> str:
    return f"{day:%Y}" if precision == "year" else f"{day:%Y-%m}" if precision == "month" else f"{day:%Y-%m-%d}"


def cut_dates(text: str) -> tuple[list[StatedDate], str]:
    """Return the dates that a text states, and the rest of the text. The rest is in lower case and without accents."""
    plain = fold_letters(text)
    found = list(_stated(plain))
    for start, stated in found:
        plain = f"{plain[:start]}{' ' * stated.length}{plain[start + stated.length :]}"
    return [stated for _, stated in found], plain


def _stated(plain: str) -> Iterator[tuple[int, StatedDate]]:
    """Yield each date that a text states, with its position. ``plain`` is the text in lower case and without accents."""
    left = plain
    for pattern in _DATES:
        for match in pattern.finditer(left):
            parts = match.groupdict()
            name = parts.get("month")
            alone = not parts.get("day") and not parts.get("year")
            if name in AMBIGUOUS_MONTHS and alone and not _MONTH_AFTER.search(plain[: match.start()]):
                continue
            month = _MONTH_NUMBER[name] if name else _int(parts.get("number"))
            yield match.start(), StatedDate(_int(parts.get("year")), month, _int(parts.get("day")), len(match[0]))
            left = f"{left[: match.start()]}{' ' * len(match[0])}{left[match.end() :]}"


def _int(text: str | None) -> int | None:
    return int(text) if text else None
