"""Parse the time periods that a question names ("two weeks ago", "el martes pasado", "in March").

Each period is a little longer than its name says, because people count days loosely and live in different time zones.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import is_stop_word
from holdfast.text.wordlists import DAYS, MONTHS, NUMBERS

_MARGIN: Final = timedelta(hours=14)
_DAY: Final = timedelta(days=1)
_MONTH_NUMBERS: Final = {name: number for number, name in enumerate(dict.fromkeys(MONTHS.values()), 1)}
_DAY_NUMBERS: Final = {name: number for number, name in enumerate(dict.fromkeys(DAYS.values()))}
_UNITS: Final = {
    "day": 1, "days": 1, "dia": 1, "dias": 1, "week": 7, "weeks": 7, "semana": 7, "semanas": 7, "month": 30, "months": 30,
    "mes": 30, "meses": 30, "year": 365, "years": 365, "ano": 365, "anos": 365,
}  # fmt: skip
_SLACK_DAYS: Final = {1: 0.6, 7: 3, 30: 9, 365: 60}
"""Maps the length of a unit in days (7 for "weeks") to the tolerance in days for a phrase such as "two weeks ago"."""
_VAGUE_AMOUNTS: Final = {"a": 1, "an": 1, "one": 1, "un": 1, "una": 1, "couple": 2, "par": 2, "few": 3, "several": 4, "unos": 3, "unas": 3, "varios": 4, "varias": 4}  # fmt: skip
_HOLIDAYS: Final = {
    "christmas eve": (12, 24), "christmas": (12, 25), "new year's eve": (12, 31), "new years eve": (12, 31), "halloween": (10, 31),
    "valentine's": (2, 14), "valentines": (2, 14), "san valentin": (2, 14), "nochebuena": (12, 24), "navidad": (12, 25),
    "nochevieja": (12, 31), "dia de reyes": (1, 6),
}  # fmt: skip

_CONVERSATION_WORDS: Final = frozenset(
    "talk talked talking speak spoke spoken say said saying tell told telling discuss discussed discussing mention mentioned chat "
    "chatted conversation conversations happen happened remind summarise summarize summary recap cover covered us "
    "ask asked asking question questions request requested requests pregunte preguntaste pregunto preguntamos preguntado preguntando "
    "pregunta preguntas pedi pediste pedimos pedido pidiendo peticion peticiones consulte consultado consulta consultas "
    "hablar hablamos hablando hablado hable hablaste hablo decir dije dijiste dijo dijimos dijeron dicho digo contar conte contaste "
    "conto contamos contaron contado comentar comentamos comentado comente charlar charlamos charlando charlado conversar conversamos "
    "conversacion conversaciones paso hice hiciste hicimos estuve estuvimos resume resumen resumir".split()
)
"""Words about the conversation itself, without accents ("talk", "said").

If a question has only such words and stop words besides a time period, it asks for everything said in the period.
"""

_AMOUNT: Final = rf"(?P<amount>\d{{1,3}}|{'|'.join(sorted({*NUMBERS, *_VAGUE_AMOUNTS}, key=len, reverse=True))})"
_UNIT: Final = rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})"
_MONTH: Final = rf"(?P<month>{'|'.join(sorted((m for m in MONTHS if len(m) > 3 or m == 'may'), key=len, reverse=True))})"
_WEEKDAY: Final = rf"(?P<weekday>{'|'.join(sorted(DAYS, key=len, reverse=True))})"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_WORD: Final = regex(r"\w+")
_LAST_QUESTIONS: Final = regex(
    r"\b(?:last|latest|previous|most recent) (?:\w+ )?(?:questions?|requests?)\b|"
    r"\bultim[oa]s? (?:\w+ )?(?:preguntas?|consultas?|peticion(?:es)?)\b|\b(?:preguntas?|consultas?) anterior(?:es)?\b"
)
_HINTS: Final = frozenset({
    *_UNITS, *MONTHS, *DAYS, *(word for feast in _HOLIDAYS for word in re.findall(r"\w+", feast)), "yesterday", "anteayer", "antier",
    "ayer", "anoche", "night", "today", "tonight", "morning", "afternoon", "evening", "hoy", "manana", "tarde", "noche", "weekend",
})  # fmt: skip
"""Words that can name a time. A question with no such word and no digit is not parsed."""


@dataclass(frozen=True, slots=True)
class Period:
    """A time period that a question names."""

    start: datetime
    end: datetime
    alone: bool = False
    """True if the question names no subject, only the period. It then asks for everything said in the period."""

    def holds(self, moment: datetime) -> bool:
        """Return True if the moment lies within the period."""
        return self.start <= moment < self.end


def periods_of(question: str, now: datetime) -> list[Period]:
    """Return the periods that a question names, relative to ``now``. For most questions the list is empty."""
    text = fold(question).replace("\u2019", "'")
    if _HINTS.isdisjoint(_WORD.findall(text)) and not any(map(str.isdigit, text)):
        return []
    found: list[Period] = []
    for pattern, make in _RULES:
        for match in pattern.finditer(text):
            found.extend(Period(start - _MARGIN, end + _MARGIN) for start, end in make(match, now.astimezone(UTC)))
        # Remove each match so that a looser rule cannot match it again.
        text = pattern.sub(" | ", text)
    return [replace(period, alone=True) for period in found] if found and _asks_nothing(text) else found


def period_of_last_questions(question: str, now: datetime) -> list[Period]:
    """Return a list with one period if a question asks for the latest questions, such as "what was my last question?".

    The period starts 365 days before ``now`` and ends one day after ``now``. The list is empty for any other question, and
    for a question that also names a subject.
    """
    text = fold(question)
    if not _LAST_QUESTIONS.search(text) or not _asks_nothing(_LAST_QUESTIONS.sub(" question ", text)):
        return []
    return [Period(now - 365 * _DAY, now + _DAY, alone=True)]


def _asks_nothing(rest: str) -> bool:
    """Return True if a question names no subject and only asks what was said, as in "what did we talk about last week".

    ``rest`` is the question without the periods it names.
    """
    words = _WORD.findall(rest)
    about_talk = any(word in _CONVERSATION_WORDS for word in words) or {"did", "do"} <= set(words)
    return about_talk and all(
        word in _CONVERSATION_WORDS or is_stop_word(word, "en") or is_stop_word(word, "es") for word in words
    )


_Spans = Iterator[tuple[datetime, datetime]]


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS.get(word) or _VAGUE_AMOUNTS[word]


def _ago(match: re.Match[str], now: datetime) -> _Spans:
    unit = _UNITS[match["unit"]]
    amount = _count(match["amount"])
    vague = 1.5 if match["amount"] in _VAGUE_AMOUNTS and amount > 1 else 1.0
    middle = _midnight(now) - amount * unit * _DAY
    slack = timedelta(days=_SLACK_DAYS[unit] * vague)
    yield middle - slack, middle + slack + (_DAY if unit == 1 else timedelta())


def _lately(match: re.Match[str], now: datetime) -> _Spans:
    amount = _count(match["amount"]) if match["amount"] else 1
    yield now - amount * _UNITS[match["unit"]] * _DAY, now


def _last_unit(match: re.Match[str], now: datetime) -> _Spans:
    today, unit = _midnight(now), _UNITS[match["unit"]]
    if unit == 7:
        monday = today - today.weekday() * _DAY
        yield min(monday, today - 3 * _DAY) - 7 * _DAY, monday + _DAY
    elif unit == 30:
        first = today.replace(day=1)
        yield (first - _DAY).replace(day=1), first
    elif unit == 365:
        yield today.replace(year=today.year - 1, month=1, day=1), today.replace(month=1, day=1)
    else:
        yield today - _DAY, today


def _this_unit(match: re.Match[str], now: datetime) -> _Spans:
    today, unit = _midnight(now), _UNITS[match["unit"]]
    starts = {1: today, 7: today - today.weekday() * _DAY, 30: today.replace(day=1), 365: today.replace(month=1, day=1)}
    yield starts[unit], now


def _weekend(_match: re.Match[str], now: datetime) -> _Spans:
    back = (now.weekday() - 5) % 7 + (7 if now.weekday() >= 5 else 0)  # on a weekend, "last weekend" is the one before
    saturday = _midnight(now) - back * _DAY
    yield saturday, saturday + 2 * _DAY


def _weekday(match: re.Match[str], now: datetime) -> _Spans:
    back = (now.weekday() - _DAY_NUMBERS[DAYS[match["weekday"]]]) % 7 or 7
    day = _midnight(now) - back * _DAY
    yield day, day + _DAY


def _days_back(days: int) -> Callable[[re.Match[str], datetime], _Spans]:
    def make(_match: re.Match[str], now: datetime) -> _Spans:
        day = _midnight(now) - days * _DAY
        yield day, day + _DAY

    return make


def _date(match: re.Match[str], now: datetime) -> _Spans:
    yield from _on(_MONTH_NUMBERS[MONTHS[match["month"]]], int(match["day"]), now, match["year"])


def _iso_date(match: re.Match[str], now: datetime) -> _Spans:
    yield from _on(int(match["month"]), int(match["day"]), now, match["year"])


def _holiday(match: re.Match[str], now: datetime) -> _Spans:
    yield from _on(*_HOLIDAYS[match["feast"]], now, None)


def _on(month: int, day: int, now: datetime, year: str | None) -> _Spans:
    """Yield the start and end of a calendar day in the given year.

    Without a year, the day is in the current year, or in the previous year if the day would be after ``now``.
    """
    for number in [int(year)] if year else [now.year, now.year - 1]:
        try:
            found = datetime(number, month, day, tzinfo=UTC)
        except ValueError:  # no such day in this year
            continue
        if year or found <= now:
            yield found, found + _DAY
            return


def _month(match: re.Match[str], now: datetime) -> _Spans:
    number = _MONTH_NUMBERS[MONTHS[match["month"]]]
    year = int(match["year"]) if match["year"] else now.year - (number > now.month)
    start = datetime(year, number, 1, tzinfo=UTC)
    yield start, (start + 32 * _DAY).replace(day=1)


def _year(match: re.Match[str], _now: datetime) -> _Spans:
    start = datetime(int(match["year"]), 1, 1, tzinfo=UTC)
    yield start, start.replace(year=start.year + 1)


_RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], _Spans]], ...]] = tuple(
    (regex(pattern), make)
    for pattern, make in (
        (rf"\b{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\b", _iso_date),
        (rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|o)?(?: of| de)? {_MONTH}\b(?:,? (?:del? )?{_YEAR})?", _date),
        (rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? {_YEAR})?", _date),
        (r"\b(?:the day before yesterday|anteayer|antier|antes de ayer)\b", _days_back(2)),
        (r"\b(?:yesterday|last night|ayer|anoche)\b", _days_back(1)),
        (r"\b(?:today|tonight|this (?:morning|afternoon|evening)|hoy|esta (?:manana|tarde|noche))\b", _days_back(0)),
        (rf"\b(?:about |around |over )?{_AMOUNT}(?: of)? {_UNIT} ago\b", _ago),
        (rf"\bhace (?:ya |como |unos |unas )?{_AMOUNT}(?: de)? {_UNIT}\b", _ago),
        (rf"\b(?:in|over|during|within|for) the (?:past|last)(?: {_AMOUNT}(?: of)?)? {_UNIT}\b", _lately),
        (rf"\b(?:en|durante) (?:el|la|los|las) ultim[oa]s?(?: {_AMOUNT})? {_UNIT}\b", _lately),
        (r"\b(?:last|past|previous) weekend\b|\bfin de semana pasado\b|\bpasado fin de semana\b", _weekend),
        (rf"\b(?:last|this past|past|previous|pasado) {_WEEKDAY}\b", _weekday),
        (rf"\b{_WEEKDAY} pasado\b", _weekday),
        (rf"\b(?:last|previous|pasad[oa]) {_UNIT}\b", _last_unit),
        (rf"\b{_UNIT} pasad[oa]\b", _last_unit),
        (rf"\b(?:this|este|esta) {_UNIT}\b", _this_unit),
        (rf"\b(?:on )?(?P<feast>{'|'.join(sorted(_HOLIDAYS, key=len, reverse=True))})\b", _holiday),
        (
            rf"\b(?:in|during|of|last|since|en|durante|de|desde)(?: the month of| el mes de)?(?: early| late| mid)? {_MONTH}\b(?:,? (?:of |del? )?{_YEAR})?",
            _month,
        ),
        (rf"\b(?:in|during|en|durante) (?:el ano )?{_YEAR}\b", _year),
    )
)
