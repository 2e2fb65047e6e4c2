"""Complete dates without a year, and seasons: "in August" becomes "in August 2027", "este verano" becomes "este verano (2027)"."""

import re
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from holdfast.runtime.regex import regex
from holdfast.text.relative_dates import written_day
from holdfast.text.stated_dates import StatedDate, dates_without_year, is_past, is_past_at, nearest_year, points_ahead, year_of
from holdfast.text.wordlists import MONTHS

__all__ = ["Tense", "names_day_or_season", "with_years"]

Tense: TypeAlias = Literal["past", "future"]

_SPANISH: Final = frozenset(name for name, month in MONTHS.items() if name not in month and len(name) > 3)
_RECURS: Final = regex(
    r"\b(?:every|each|always|usually|birthday|anniversary|cada|todos los|siempre|cumplea\w*|aniversario)\b", re.IGNORECASE
)
_SEASON_STARTS: Final = {
    "spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12, "primavera": 3, "verano": 6, "otoño": 9, "otono": 9, "invierno": 12,
}  # fmt: skip
"""First month of each season in the northern hemisphere.

It is only used to find the year, which is usually right for the southern hemisphere, too.
"""
_SEASON_NAME: Final = rf"(?P<season>{'|'.join(_SEASON_STARTS)})"
_SEASON: Final = regex(
    rf"\b(?:(?P<last>last|this past|past|el pasado|la pasada)|(?P<next>next|this coming|el próximo|la próxima|el proximo|la proxima)|this|in the|this year's|est[ae]|en|el|la)"
    rf" {_SEASON_NAME}\b(?P<after> pasad[oa]| que viene| próxim[oa]| proxim[oa])?(?! (?:of|de|del)? ?\d)(?!\s*\()",
    re.IGNORECASE,
)
_DAY_OF_MONTH: Final = regex(
    r"(?<!\bno )(?<!\bnot )\b(?:on the (?P<day>\d{1,2}(?:st|nd|rd|th))|el (?P<day_es>(?:día |dia )?\d{1,2}))(?=[.,;!?]|$| at\b| a las?\b| in the\b| por la\b)",
    re.IGNORECASE,
)
_LAST_DAY: Final = regex(r"\s?[-–—]\s?\d{1,2}(?:st|nd|rd|th)?\b(?![-–—/:]\d)")
"""Matches the end of a range of days, after its beginning: the "-18" of "July 16-18"."""
_SEASON_MONTHS: Final = 3
_MONTHS: Final = 12


def with_years(text: str, at: datetime, tense: Tense) -> str:
    """Add the year to seasons and to dates without a year. ``at`` is the time at which the text was said.

    ``tense`` says whether the dates are before or after ``at``. A text about something that recurs, such as a birthday, is
    returned unchanged.
    """
    if _RECURS.search(text):
        return text
    unclear = tense == "future" and is_past(text)  # words and tense disagree, so either year may be meant
    found = [
        (_end_of(text, start, date), _year_after(text, start, date, at, told))
        for start, date in dates_without_year(text)
        if not unclear and (told := _tense_at(text, start, tense)) is not None
    ]
    found += [(day.end(), _written_day(day, at, tense)) for day in _DAY_OF_MONTH.finditer(text) if not unclear]
    found += [(season.end(), f" ({_season_year(season, at, tense)})") for season in _seasons(text, unclear=unclear)]
    pieces, end = [], 0
    for place, year in sorted(found):
        pieces += [text[end:place], year]
        end = place
    return "".join([*pieces, text[end:]])


def _end_of(text: str, start: int, date: StatedDate) -> int:
    """Return the end position of a date, or of a range of days that begins with it ("July 16-18")."""
    end = start + len(text[start : start + date.length].rstrip(". "))
    last = _LAST_DAY.match(text, end) if date.day else None
    return end if last is None else last.end()


def _tense_at(text: str, start: int, tense: Tense) -> Tense | None:
    """Return the tense of the date at position ``start`` of a text with the given tense. Return None if it is unclear."""
    if points_ahead(text, start):
        return "future"
    return tense if tense == "future" or not is_past(text) or is_past_at(text, start) else None


def names_day_or_season(text: str) -> bool:
    """Return True if a text names a month, a day of a month or a season."""
    return bool(dates_without_year(text)) or _SEASON.search(text) is not None


def _seasons(text: str, *, unclear: bool) -> list[re.Match[str]]:
    """Return the seasons that a text names. If its tense is unclear, return only seasons with a word such as "last" or "next"."""
    return [each for each in _SEASON.finditer(text) if not unclear or each["last"] or each["next"] or each["after"]]


def _year_after(text: str, start: int, date: StatedDate, at: datetime, tense: Tense) -> str:
    """Return the year of a date as text to insert after the date, such as ", 2027" or " de 2027".

    ``start`` is the position of the date in the text, and ``at`` is the time at which the text was said. The result is empty
    if the year is unclear.
    """
    year = year_of(date, at, future=tense == "future")
    if year is None or (date.day is not None and year != nearest_year(date, at)):  # an exact day is rarely far away
        return ""
    stated = text[start : start + date.length].casefold()
    if any(word in _SPANISH for word in re.findall(r"[^\W\d]+", stated)):
        return f" de {year}"
    return f", {year}" if date.day and not stated[0].isdigit() else f" {year}"


def _written_day(found: re.Match[str], at: datetime, tense: Tense) -> str:
    """Return the full date, in parentheses, of a day that is named without its month ("on the 14th").

    ``found`` is the match of the day in the text, and ``at`` is the time at which the text was said. ``tense`` says whether
    the day is before or after ``at``. The result is empty if there is no day with this number.
    """
    number = int(re.sub(r"\D", "", found[0]))
    step = timedelta(days=1 if tense == "future" else -1)
    day = next((day for count in range(62) if (day := at + count * step).day == number), None)
    return "" if day is None else f" ({written_day(day, spanish=found['day'] is None)})"


def _season_year(season: re.Match[str], at: datetime, tense: Tense) -> int:
    """Return the year of a season, which is the year of its last month. A winter that begins in 2026 has the year 2027.

    ``at`` is the time at which the text was said. ``tense`` says whether the season is before or after ``at``. ``season`` is
    the match of the season in the text. A word such as "last" or "next" in the match overrides ``tense``.
    """
    start = _SEASON_STARTS[season["season"].casefold()]
    past = season["last"] or (season["after"] or "").strip().startswith("pasad")
    coming = season["next"] or (season["after"] and not past)
    now = at.year * _MONTHS + at.month - 1
    first = at.year * _MONTHS + start - 1
    # The current season, or the next one.
    first += _MONTHS * (first + _SEASON_MONTHS <= now) - _MONTHS * (first - _MONTHS + _SEASON_MONTHS > now)
    is_now = first <= now
    if past or (tense == "past" and not is_now and not coming):
        first -= _MONTHS
    elif is_now and (coming or (tense == "future" and not season[0].casefold().startswith(("this", "est")))):
        first += _MONTHS
    return (first + _SEASON_MONTHS - 1) // _MONTHS
