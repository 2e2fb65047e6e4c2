"""Check the numbers, times and dates in a statement of the model (one entry of a model's answer).

Each number, time and date must follow from the messages. A date may be computed from the day on which a message was sent.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from holdfast.learning.answer_check.measures import has_other_unit, is_converted, spoken_numbers
from holdfast.learning.answer_check.sentences import bare, read_sentence
from holdfast.learning.answer_check.words import table, words
from holdfast.runtime.regex import regex
from holdfast.text.details import details
from holdfast.text.relative_dates import dates_in
from holdfast.text.stated_dates import AMBIGUOUS_MONTHS, StatedDate, cut_dates
from holdfast.text.wordlists import DAYS, MONTHS

_WEEKDAY_NUMBER: Final = {name: list(dict.fromkeys(DAYS.values())).index(day) for name, day in DAYS.items()}
_WEEK: Final = timedelta(days=7)
_FUZZ: Final = timedelta(days=4)
"""Tolerance for vague times such as "two weeks ago"."""
_UNCLEAR_RANGE: Final = timedelta(days=420)
"""Maximum time between a message and a date derived from it, if the message names only an unclear time such as "recently"."""
_MAX_COUNT: Final = 5
_TIME: Final = regex(r"\d{1,2}:\d\d")
_AMOUNT: Final = regex(r"\d+(?:\.\d+)?")
_GROUPS: Final = {
    "2": regex(r"\b(?:twins?|couple|pair|both|mellizos|mellizas|gemelos|gemelas|ambos|ambas|pareja de|un par)\b"),
    "3": regex(r"\b(?:triplets|trillizos|trillizas)\b"),
    "12": regex(r"\b(?:dozen|docena)\b"),
}
"""Maps a number to a pattern for words that imply this number, such as "twins" for 2."""
_NAMED_TIMES: Final = {"noon": "12:00", "midday": "12:00", "mediodia": "12:00", "midnight": "0:00", "medianoche": "0:00"}
_SPOKEN_TIME: Final = regex(r"\b(?P<part>half past|quarter past|quarter to) (?P<hour>\w+)")
_DAY_OF_MONTH: Final = regex(r"\b(?:the (?P<day>\d{1,2})(?:st|nd|rd|th)|el (?:dia )?(?P<dia>\d{1,2}))\b(?! (?:of|de)\b)")
"""Matches a day of an unnamed month, such as "the 28th"."""
_LATER_WEEK: Final = regex(r"\b(?:next|que viene|proximo)\b")
"""Matches words such as "next". "Next Friday", said on a Wednesday, can mean the Friday of this week or of the week after."""
_EDGE: Final = regex(
    r"\b(?P<edge>end|beginning|start|middle|fin|fines|final|finales|principios?|comienzos?|inicios?|mediados) (?:of|del?) "
    r"(?:the |el |la )?(?P<which>this |next |last |este |esta |proximo |proxima )?(?P<unit>week|month|year|semana|mes|ano)\b"
    r"(?P<later> que viene| proxim[oa])?(?P<earlier> pasad[oa])?"
)
"""Matches a part of a period, such as "the end of next month"."""
_CURRENCIES: Final = frozenset("€$£") | {"pesos", "soles"}


@dataclass(frozen=True, slots=True)
class Said:
    """A text and the day on which it was said."""

    text: str
    at: datetime


def wrong_amount(item: str, said: Sequence[Said], known: Sequence[str]) -> str | None:
    """Return the type of the first detail in a statement of the model that does not follow from the messages and memories.

    The result is "a date", "a time", "a number", "a unit" or "a currency". It is None if every detail follows from them.
    ``item`` is the statement, ``said`` are the messages, and ``known`` are the texts of the memories.
    """
    dates, rest = cut_dates(item)
    if any(not _is_computed(each, said, known) for each in dates):
        return "a date"
    wanted = details(rest)
    have = details("\n".join((*(each.text for each in said), *known)))
    times = {key for key in have if _TIME.fullmatch(key)} | {time for each in said for time in _spoken_times(each.text)}
    for key in wanted:
        if _TIME.fullmatch(key) and key not in times and _other_half(key) not in times:
            return "a time"
    texts = [*(each.text for each in said), *known]
    numbers = {number for text in texts for number in (*_numbers(text), *map(_written, spoken_numbers(text)))}
    numbers |= {number for text in texts for number, pattern in _GROUPS.items() if pattern.search(bare(text.casefold()))}
    stated = _numbers(_TIME.sub(" ", rest)) - {"1"}
    if any(not _is_counted(number, numbers, item, said) and not is_converted(float(number), item, texts) for number in stated):
        return "a number"
    if has_other_unit(item, texts):
        return "a unit"
    return "a currency" if _other_currency(wanted, have) else None


def shares_amount(item: str, said: Sequence[Said]) -> bool:
    """Return True if a statement of the model has a number or a date in common with the messages.

    ``item`` is the statement, and ``said`` are the messages. A number may be converted to another unit. A date counts if a
    message names it, as in "next Friday". The day on which a message was sent does not count by itself.
    """
    dates, rest = cut_dates(item)
    numbers = {number for each in said for number in _numbers(each.text)}
    if any(is_converted(float(number), item, [each.text for each in said]) for number in _numbers(rest)):
        return True
    return bool(_numbers(rest) & numbers) or any(_is_computed(each, said, (), today=False) for each in dates)


def _is_computed(wanted: StatedDate, said: Sequence[Said], known: Sequence[str], *, today: bool = True) -> bool:
    """Return True if a date follows from the messages (``said``) or occurs in the known texts (``known``).

    A date can be computed from a message and the day on which the message was said. If ``today`` is False, that day itself
    does not count as a date of the message.
    """
    if any(_fits(wanted, other) for text in known for other in cut_dates(text)[0]):
        return True
    for each in said:
        spans = list(_spans(each))[0 if today else 1 :]
        if any(_overlap(days, spans) for days in wanted.days(each.at.date())):
            return True
        if wanted.year is not None and _is_age(wanted.year, each):
            again = StatedDate(None, wanted.month, wanted.day)
            if wanted.month is None or any(_overlap(days, spans) for days in again.days(each.at.date())):
                return True
    return False


def _overlap(days: tuple[date, date], spans: Sequence[tuple[date, date]]) -> bool:
    return any(days[0] <= last and first <= days[1] for first, last in spans)


def _fits(wanted: StatedDate, other: StatedDate) -> bool:
    """Return True if two dates are compatible, such as "May 2026" and "5 May".

    They must have at least one part (year, month or day) in common, and no part that differs.
    """
    pairs = [(getattr(wanted, part), getattr(other, part)) for part in ("year", "month", "day")]
    both = [(one, two) for one, two in pairs if one is not None and two is not None]
    return bool(both) and all(one == two for one, two in both)


def _is_age(year: int, said: Said) -> bool:
    """Return True if a year can be computed from an age or a number of years in a text: "I'm 42", "for five years"."""
    years = {int(number) for number in _numbers(said.text) if number.isdigit() and len(number) < 4}
    return said.at.year - year in years or said.at.year - year - 1 in years


def _spans(said: Said) -> Iterable[tuple[date, date]]:
    """Yield the spans of days in which a date derived from a text can lie. Each span has a first and a last day.

    The first result is the day on which the text was said, plus one day before and one day after. All further results are
    spans that the text names, such as "next Friday".
    """
    today = said.at.date()
    yield today - timedelta(days=1), today + timedelta(days=1)
    plain = bare(said.text.casefold())
    before, after = (_FUZZ, _WEEK) if _is_vague(plain) else (timedelta(0), timedelta(0))
    yield from ((day.date() - before, day.date() + after) for day in dates_in(said.text, said.at))
    for stated in cut_dates(said.text)[0]:
        yield from stated.days(today)
    for name, number in _WEEKDAY_NUMBER.items():
        if re.search(rf"\b{name}\b", plain):
            next_one = today + timedelta(days=(number - today.weekday()) % 7 or 7)
            yield next_one, next_one
            yield next_one - _WEEK, next_one - _WEEK
            is_this_week = next_one.isocalendar()[:2] == today.isocalendar()[:2]
            if "after next" in plain or (is_this_week and _LATER_WEEK.search(plain)):
                yield next_one + _WEEK, next_one + _WEEK
    for when, spellings in table()["time"]["days"].items():
        if any(re.search(rf"\b{spelling}\b", plain) for spelling in spellings.split(",")):
            yield from StatedDate(None, *map(int, when.split("-"))).days(today)
    for match in _DAY_OF_MONTH.finditer(plain):
        months = [today.year * 12 + today.month - 1 + step for step in (-1, 0, 1)]
        day = int(match["day"] or match["dia"])
        yield from (days for month in months for days in StatedDate(month // 12, month % 12 + 1, day).days(today))
    yield from _periods(plain, today)


def _is_vague(plain: str) -> bool:
    return re.search(r"\b(?:weeks?|months?|years?|semanas?|mes|meses|anos?)\b", plain) is not None


def _periods(plain: str, today: date) -> Iterable[tuple[date, date]]:
    """Yield the span of days of each period that a text names, such as "this week" or "the end of next month".

    If the text names no time except an unclear one, such as "recently", yield one wide span: 420 days before and after
    ``today``. ``plain`` is the text in lower case and without accents.
    """
    yield from (_edge(match, today) for match in _EDGE.finditer(plain))
    if re.search(r"\b(?:this month|este mes)\b", plain):
        yield from StatedDate(today.year, today.month, None).days(today)
    elif re.search(r"\b(?:this year|este ano)\b", plain):
        yield date(today.year, 1, 1), date(today.year, 12, 31)
    elif re.search(r"\b(?:this week|esta semana)\b", plain):
        yield today - _WEEK, today + _WEEK
    elif not _names_time(plain) and words("time", "unclear") & set(re.findall(r"[^\W\d_]+", plain)):
        yield today - _UNCLEAR_RANGE, today + _UNCLEAR_RANGE


def _edge(match: re.Match[str], today: date) -> tuple[date, date]:
    """Return the first and last day of a part of a period, such as "the end of next month", with a tolerance of four days."""
    which = (match["which"] or "").strip()
    later = which in ("next", "proximo", "proxima") or bool(match["later"])
    step = 1 if later else -1 if which == "last" or match["earlier"] else 0
    if match["unit"] in ("week", "semana"):
        first = today - timedelta(days=today.weekday()) + step * _WEEK
        last = first + timedelta(days=6)
    elif match["unit"] in ("month", "mes"):
        months = today.year * 12 + today.month - 1 + step
        first, last = next(iter(StatedDate(months // 12, months % 12 + 1, None).days(today)))
    else:
        first, last = date(today.year + step, 1, 1), date(today.year + step, 12, 31)
    if match["edge"] in ("end", "fin", "fines", "final", "finales"):
        return max(first, last - _FUZZ), last
    if match["edge"] in ("middle", "mediados"):
        middle = first + (last - first) / 2
        return middle - _FUZZ, middle + _FUZZ
    return first, min(last, first + _FUZZ)


def _names_time(plain: str) -> bool:
    """Return True if a text names a weekday, a month or a relative time, such as "Friday", "June" or "last year".

    A month whose name can also be another word, such as "May", does not count. ``plain`` is the text in lower case and
    without accents.
    """
    named = any(
        re.search(rf"\b{name}\b", plain) for name in (*_WEEKDAY_NUMBER, *(m for m in MONTHS if m not in AMBIGUOUS_MONTHS))
    )
    days = ",".join(table()["time"]["days"].values()).split(",")
    return named or any(re.search(rf"\b{day}\b", plain) for day in days) or bool(dates_in(plain, datetime(2026, 1, 1)))  # noqa: DTZ001


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text, in digits. "52,000", "52000" and "52 mil" are the same number."""
    written = re.sub(r"(?<=\d)[.,\u00a0 ](?=\d{3}\b)", "", text.casefold())
    written = re.sub(r"(?<=\d),(?=\d)", ".", written)
    digits = set()
    for match in re.finditer(r"(?<![\w.])\d+(?:\.\d+)?(?P<many> ?(?:k|mil|thousand)\b)?", written):
        number = match[0].removesuffix(match["many"] or "")
        digits.add(_trimmed(str(float(number) * 1000)) if match["many"] else _trimmed(number))
    digits |= {_trimmed(found) for found in re.findall(r"\d+(?:\.\d+)?", written)}
    return digits | {word.text for word in read_sentence(text[:2000], "report") if word.text.isdigit()}


def _spoken_times(text: str) -> Iterable[str]:
    """Yield the times of day that a text names in words: "noon", "half past six", "quarter to nine"."""
    plain = bare(text.casefold())
    yield from (time for word, time in _NAMED_TIMES.items() if re.search(rf"\b{word}\b", plain))
    for match in _SPOKEN_TIME.finditer(plain):
        spoken = spoken_numbers(match["hour"])
        minutes = {"half past": 30, "quarter past": 15, "quarter to": -15}[match["part"]]
        yield from (f"{int(hour) - (minutes < 0)}:{minutes % 60:02}" for hour in spoken if 1 < hour <= 12)


def _written(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _is_counted(number: str, numbers: set[str], item: str, said: Sequence[Said]) -> bool:
    """Return True if the messages state a number, or contain a list with this number of things: "Leo and Ada" are two.

    ``number`` is the number in a statement of the model (``item``). ``numbers`` are all numbers that the messages state.
    ``said`` are the messages.

    The length of a list counts only if ``number`` is at most ``_MAX_COUNT``. A longer list also supports the number. The
    result is False if a message states another number, from 2 to ``_MAX_COUNT``, for the same things.
    """
    if number in numbers:
        return True
    if not number.isdigit() or int(number) > _MAX_COUNT:
        return False
    listed = max((1 + len(re.findall(r"(?:,| and | y | e | & )", each.text)) for each in said), default=0)
    if int(number) > listed:
        return False
    counted = _things(item).get(number, frozenset())
    others = [_things(each.text) for each in said]
    return not any(
        1 < int(other) <= _MAX_COUNT and (not counted or not things.isdisjoint(counted))
        for found in others
        for other, things in found.items()
    )


def _things(text: str) -> dict[str, frozenset[str]]:
    """Map each whole number in a text to the stems of the two words after it. These words name what the number counts."""
    read = read_sentence(text[:2000], "report")
    return {
        word.text: frozenset(stem for after in read[at + 1 : at + 3] for stem in after.stems if not after.text.isdigit())
        for at, word in enumerate(read)
        if word.text.isdigit()
    }


def _other_half(time: str) -> str:
    """Return a time shifted by 12 hours, such as "15:00" for "3:00".

    A message can state a time without "am" or "pm". Then both times are possible.
    """
    hour, minute = map(int, time.split(":"))
    return f"{hour - 12}:{minute:02}" if hour > 12 else f"{hour + 12}:{minute:02}"


def _other_currency(wanted: Iterable[str], have: Iterable[str]) -> bool:
    """Return True if a model states an amount of money that the source texts state only in another currency.

    ``wanted`` are the details of the model's statement, and ``have`` are the details of the source texts. A detail is an
    amount of money if it consists of a number and a currency, such as ``20 €``.
    """
    stated = [key.split(" ", 1) for key in have if " " in key]
    for number, unit in (key.split(" ", 1) for key in wanted if " " in key):
        units = {other for amount, other in stated if amount == number and other in _CURRENCIES}
        if unit in _CURRENCIES and units and unit not in units:
            return True
    return False
