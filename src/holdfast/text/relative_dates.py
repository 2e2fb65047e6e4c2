"""Add calendar dates to relative ones: "last Sunday" becomes "last Sunday (17 March 2024)"."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold_letters
from holdfast.text.wordlists import DAYS, MONTHS, NUMBERS

__all__ = [
    "RESCHEDULED",
    "dates_in",
    "lasting_since",
    "names_weekday",
    "spans_in",
    "with_dates",
    "with_right_days",
    "with_weekdays",
    "written_day",
]

_DAY: Final = timedelta(days=1)
_WEEKDAYS: Final = {name: number for number, name in enumerate(dict.fromkeys(DAYS.values()))}
_MONTH_NAMES: Final = [name.capitalize() for name in dict.fromkeys(MONTHS.values())]
_SPANISH_MONTHS: Final = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()
_UNITS: Final = {
    "day": "day", "days": "day", "dia": "day", "dias": "day", "week": "week", "weeks": "week", "semana": "week", "semanas": "week",
    "month": "month", "months": "month", "mes": "month", "meses": "month", "year": "year", "years": "year", "ano": "year", "anos": "year",
}  # fmt: skip
_AMOUNTS: Final = {"a": 1, "an": 1, "one": 1, "un": 1, "una": 1, **NUMBERS}
_AMOUNT: Final = rf"(?P<amount>\d{{1,3}}|{'|'.join(sorted(_AMOUNTS, key=len, reverse=True))})"
_UNIT: Final = rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})"
_PERIOD: Final = r"(?P<unit>week|month|year)"
_SPANISH_PERIOD: Final = r"(?P<unit>semana|mes|ano)"
_WEEKDAY: Final = rf"(?P<weekday>{'|'.join(sorted((name for name in DAYS if len(name) > 3), key=len, reverse=True))})"
_BARE_WEEKDAY: Final = regex(
    r"(?:(?<!last )(?<!next )(?<!this )(?<!past )(?<!coming )(?<!\ba )(?<!\bany )(?<!\bsome )(?<!\bone )(?<!another )\b(?P<el>el )?)"
    r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?<=el )(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo))\b"
    r"(?! (?:pasado|que viene|proximo|santo|negro|week\b|de (?:ramos|ceniza|pascua|resurreccion|gloria)))"
)
_EVERY_WEEK: Final = regex(
    r"\b(?:every|each|usually|always|normally|most|cada|todos|todas|siempre|normalmente|suelo|suele|solemos|\w+days|los (?:lunes|martes|miercoles|jueves|viernes|sabados|domingos))\b"
)
_LASTING: Final = regex(
    rf"(?:\b(?:have|has)|['’](?:ve|s)) (?!to\b)(?:\w+ ){{1,7}}for (?:about |almost |over |nearly |the (?:last|past) )?{_AMOUNT} {_UNIT}\b"
    rf"|\bllev(?:o|a|amos|an) (?:casi |ya |como |mas de |unos )*{_AMOUNT.replace('amount', 'amount_es')} {_UNIT.replace('unit', 'unit_es')}\b"
)
"""Matches words that say how long a state has lasted, such as "have been vegan for two years"."""
_NOT_NEXT: Final = 2
"""Number of days of this week that are not meant by "next": on a Thursday, "next Saturday" is not the day after tomorrow."""
_Found = tuple[datetime, str]
"""A day, and the precision with which it is known: ``day``, ``week``, ``month`` or ``year``."""
_OTHER_WEEK: Final = regex(
    r"\s+(?:of )?(?:next|last|the following) week\b|\s+(?:de )?(?:la )?(?:proxima semana|semana (?:que viene|pasada|proxima|siguiente))\b"
)
"""Matches words after a weekday that name its week: "Friday next week"."""
_NAMED_DAY: Final = regex(
    r"\b(?!(?:On|By|Since|Until|Till|From|For|Before|After|Come|Every|Each|And|Or|But|So|It|Is|Was|The|El|Del|Al)\b)[A-ZÁÉÍÓÚÑ][\w'’-]+ $"
)
"""Matches a name before the weekday, if a text ends with it: "Black Friday", "Taco Tuesday"."""
_LIKE: Final = regex(
    r"\b(?:(?:feel|felt|seem|was|is)\w* (?:just |only )?like|como si (?:fuera|fuese|hubiera sido)|parece que fue|parecio) (?:it was |if it were )?(?:just |only )?$"
)
"""Matches the words of a comparison, if a text ends with them: "it feels like just yesterday"."""
RESCHEDULED: Final = (
    r"\b(?:(?:push|mov|postpon|delay|reschedul|shift|chang|bump)\w*|put|brought) (?:\w+ ){0,5}(?:to|until|till|for)\b"
    r"|\b(?:pas|mov|aplaz|retras|pospus|pospuest|adelant|cambi)\w+ (?:\w+ ){0,5}(?:al?|para|hasta)\b"
)
"""Matches words before the new date of something, which is still to come: "they moved the meeting to", "nos pasaron la boda al"."""
_DEADLINE: Final = regex(rf"(?:\b(?:by|until|till|due|due on|para|hasta|antes de)|{RESCHEDULED}) (?:el )?$")
"""Matches the words before the weekday of a deadline, or of a new date, if a text ends with them: "para el lunes"."""
_THIS: Final = regex(rf"(?:this|este) {_WEEKDAY}")
_WRITTEN_MONTHS: Final = {
    fold_letters(name).lower(): number % 12 + 1 for number, name in enumerate([*_MONTH_NAMES, *_SPANISH_MONTHS])
}
_DATED_WEEKDAY: Final = regex(
    rf"\b{_WEEKDAY} \((?P<day>\d{{1,2}}) (?:de )?(?P<month>{'|'.join(_WRITTEN_MONTHS)}) (?:de )?(?P<year>\d{{4}})\)"
)
"""Matches a weekday with the date that was added to it, in lower case and without accents."""
_HAS_DATE: Final = regex(rf"\s*[,(]?\s*(?:\d{{1,2}}\b|(?:the|el) \d|(?:{'|'.join(MONTHS)}) \d)")


def with_dates(text: str, at: datetime, *, past: Callable[[int], bool] = lambda place: False) -> str:
    """Return a text with a calendar date after each relative date. ``at`` is the time at which the text was said.

    "This Sunday" is the last Sunday if ``past`` returns True for its position in the text, and the next one otherwise.
    """
    pieces, end = [], 0
    for start, stop, day, precision, spanish in _matches(text, at):
        is_past = _THIS.match(fold_letters(text[start:stop])) is not None and past(start)
        pieces += [text[end:stop], f" ({_written(day - 7 * _DAY if is_past else day, precision, spanish=spanish)})"]
        end = stop
    return "".join([*pieces, text[end:]])


def with_weekdays(
    text: str,
    at: datetime,
    *,
    future: bool,
    unclear: Callable[[int], bool] = lambda place: False,
    past: Callable[[int], bool] = lambda place: False,
) -> str:
    """Return a text with a calendar date after each weekday: "on Friday (20 November 2026)".

    "Friday" means the next Friday after ``at`` if ``future`` is True, and the last Friday before ``at`` if it is False. A
    weekday after a word such as "by" is always in the future. A weekday that has a date already, or follows a word such as
    "last" or "next", gets no date, and neither does a named day such as "Black Friday", or any such day ("a Friday"). Neither does a weekday
    for whose position ``unclear`` returns True. If ``past`` returns True for its position, it is in the past in any case. A text with a recurring day ("every Friday") is returned unchanged.
    """
    folded = fold_letters(text)
    if _EVERY_WEEK.search(folded):
        return text
    pieces, end = [], 0
    for match in _BARE_WEEKDAY.finditer(folded):
        is_deadline = _DEADLINE.search(folded, 0, match.start("weekday")) is not None
        ahead = is_deadline or (future and not past(match.start("weekday")))
        day, _ = _weekday(1 if ahead else -1)(match, at)
        is_stated = _HAS_DATE.match(folded, match.end()) or _OTHER_WEEK.match(folded, match.end())
        is_unclear = not ahead and unclear(match.start("weekday"))
        if not (is_stated or is_unclear) and not _NAMED_DAY.search(text, 0, match.start("weekday")):
            pieces += [text[end : match.end()], f" ({_written(day, 'day', spanish=match['el'] is not None)})"]
            end = match.end()
    return "".join([*pieces, text[end:]])


def with_right_days(text: str, at: datetime) -> str:
    """Return a text in which each date after a weekday is a date of this weekday: "on Thursday (24 November 2026)" is a Tuesday.

    ``at`` is the time at which the text was said. The date stays on its side of it. Other dates stay.
    """
    pieces, end = [], 0
    for match in _DATED_WEEKDAY.finditer(folded := fold_letters(text)):
        day = at.replace(year=int(match["year"]), month=_WRITTEN_MONTHS[match["month"]], day=int(match["day"]))
        if day.weekday() != _WEEKDAYS[DAYS[match["weekday"]]]:
            right, _ = _weekday(1 if day > at else -1)(match, at)
            spanish = folded.startswith("de ", match.end("day") + 1)
            pieces += [text[end : match.start("day")], _written(right, "day", spanish=spanish)]
            end = match.end("year")
    return "".join([*pieces, text[end:]])


def names_weekday(text: str) -> bool:
    """Return True if a text names a single weekday ("on Friday"), not a recurring one ("every Friday")."""
    folded = fold_letters(text)
    return _BARE_WEEKDAY.search(folded) is not None and _EVERY_WEEK.search(folded) is None


def dates_in(text: str, at: datetime) -> list[datetime]:
    """Return the days that a text names by relative dates such as "yesterday". ``at`` is the time at which it was said."""
    return [day for _, _, day, _, _ in _matches(text, at)]


def spans_in(text: str, at: datetime) -> list[tuple[int, int, datetime, str]]:
    """Return the relative dates of a text: the start and end in the text, the day, and the precision, from ``day`` to ``year``.

    A relative date is included even if the text also states its calendar date.
    """
    return [(start, stop, day, precision) for start, stop, day, precision, _ in _matches(text, at, stated=True)]


def lasting_since(text: str, at: datetime) -> "_Found | None":
    """Return when a state began, if the text says how long it has lasted: "I've been vegan for two years".

    Otherwise return None.
    """
    found = _LASTING.search(fold_letters(text))
    if found is None:
        return None
    amount, unit = found["amount"] or found["amount_es"], found["unit"] or found["unit_es"]
    return _moved(at, -(int(amount) if amount.isdigit() else _AMOUNTS[amount]), _UNITS[unit])


def _matches(text: str, at: datetime, *, stated: bool = False) -> list[tuple[int, int, datetime, str, bool]]:
    folded = fold_letters(text)
    taken: list[tuple[int, int]] = []
    found = []
    for pattern, spanish, make in _RULES:
        for match in pattern.finditer(folded):
            is_free = all(match.end() <= start or end <= match.start() for start, end in taken)
            is_meant = stated or not (_HAS_DATE.match(folded, match.end()) or _LIKE.search(folded, 0, match.start()))
            if is_free and is_meant:
                taken.append(match.span())
                found.append((*match.span(), *make(match, at), spanish))
    return sorted(found, key=lambda one: one[0])


def written_day(day: datetime, *, spanish: bool) -> str:
    """Return a calendar day in words. The words are Spanish if ``spanish`` is True, otherwise English."""
    return _written(day, "day", spanish=spanish)


def _written(day: datetime, precision: str, *, spanish: bool) -> str:
    months = _SPANISH_MONTHS if spanish else _MONTH_NAMES
    month = months[day.month - 1]
    if precision == "year":
        return str(day.year)
    if precision == "month":
        return f"{month} de {day.year}" if spanish else f"{month} {day.year}"
    written = f"{day.day} de {month} de {day.year}" if spanish else f"{day.day} {month} {day.year}"
    if precision == "week":
        return f"semana del {written}" if spanish else f"week of {written}"
    return written


def _days(number: int) -> Callable[[re.Match[str], datetime], _Found]:
    return lambda _match, at: (at + number * _DAY, "day")


def _weekday(step: int, *, soon: int = 0, later: int = 0) -> Callable[[re.Match[str], datetime], _Found]:
    """Return a function that finds the weekday before a day (``step`` -1) or after it (1), plus ``later`` weeks.

    If the weekday is at most ``soon`` days away and in the same week (Monday to Sunday), the one of the next week is found.
    """

    def make(match: re.Match[str], at: datetime) -> _Found:
        wanted = _WEEKDAYS[DAYS[match["weekday"]]]
        days = (step * (wanted - at.weekday()) - 1) % 7 + 1
        is_too_soon = days <= soon and at.weekday() < wanted
        return at + step * (days + 7 * (later + is_too_soon)) * _DAY, "day"

    return make


def _near(step: int) -> Callable[[re.Match[str], datetime], _Found]:
    return lambda match, at: _moved(at, step, _UNITS[match["unit"]])


def _counted(step: int) -> Callable[[re.Match[str], datetime], _Found]:
    def make(match: re.Match[str], at: datetime) -> _Found:
        amount = int(match["amount"]) if match["amount"].isdigit() else _AMOUNTS[match["amount"]]
        return _moved(at, step * amount, _UNITS[match["unit"]])

    return make


def _moved(at: datetime, number: int, unit: str) -> _Found:
    if unit == "day":
        return at + number * _DAY, "day"
    if unit == "week":
        day = at + 7 * number * _DAY
        return day - day.weekday() * _DAY, "week"
    months = at.year * 12 + at.month - 1 + number * (12 if unit == "year" else 1)
    return at.replace(year=max(1, months // 12), month=months % 12 + 1, day=1), unit


_RULES: Final[tuple[tuple[re.Pattern[str], bool, Callable[[re.Match[str], datetime], _Found]], ...]] = tuple(
    (regex(pattern), spanish, make)
    for pattern, spanish, make in (
        (r"\bthe day before yesterday\b", False, _days(-2)),
        (r"\bthe day after tomorrow\b", False, _days(2)),
        (r"\b(?:anteayer|antier|antes de ayer)\b", True, _days(-2)),
        (r"\bpasado manana\b", True, _days(2)),
        (r"\b(?:yesterday|last night)\b", False, _days(-1)),
        (r"\b(?:ayer|anoche)\b", True, _days(-1)),
        (r"\b(?:tomorrow)\b", False, _days(1)),
        # "la reunión de mañana" is tomorrow's, but "nada de mañana" and "turno de mañana" are about mornings.
        (
            r"\b(?:el|la|los|las|lo|mi|mis|tu|su|del|al) (?:(?!turno|horario|nada)\w+ )?de manana\b(?! siguiente| o )",
            True,
            _days(1),
        ),
        (
            r"(?<!la )(?<!esta )(?<!esa )(?<!otra )(?<!una )(?<!cada )(?<!media )(?<!de )\bmanana\b(?! (?:siguiente|es otro|o (?:de |por )?(?:la )?(?:tarde|noche)))",
            True,
            _days(1),
        ),
        (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", False, _days(0)),
        (r"\b(?:hoy|esta (?:manana|tarde|noche))\b(?! en dia| por hoy)", True, _days(0)),
        (rf"\b(?:last|this past) {_WEEKDAY}\b", False, _weekday(-1)),
        (rf"\b{_WEEKDAY} week\b", False, _weekday(1, later=1)),
        (rf"\bnext {_WEEKDAY}\b", False, _weekday(1, soon=_NOT_NEXT)),
        (rf"\b(?:this|this coming) {_WEEKDAY}\b", False, _weekday(1)),
        (rf"\b(?:el )?(?:{_WEEKDAY} pasado)\b", True, _weekday(-1)),
        (rf"\bel pasado {_WEEKDAY}\b", True, _weekday(-1)),
        (rf"\b(?:el |este )?(?:{_WEEKDAY} (?:que viene|proximo))\b", True, _weekday(1, soon=1)),
        (rf"\bel proximo {_WEEKDAY}\b", True, _weekday(1, soon=1)),
        (rf"\beste {_WEEKDAY}\b", True, _weekday(1)),
        (rf"\b{_AMOUNT} {_UNIT} ago\b", False, _counted(-1)),
        (rf"\bin {_AMOUNT} {_UNIT}\b(?! of)", False, _counted(1)),
        (rf"\bhace {_AMOUNT} {_UNIT}\b", True, _counted(-1)),
        (rf"\bdentro de {_AMOUNT} {_UNIT}\b", True, _counted(1)),
        # "the last week" is the time until now, and "the next week" in a story is not the one after today.
        (rf"(?<!the )\blast {_PERIOD}\b(?! of)", False, _near(-1)),
        (rf"(?<!the )\bnext {_PERIOD}\b(?! of)", False, _near(1)),
        (rf"\b{_SPANISH_PERIOD} pasad[oa]\b", True, _near(-1)),
        (rf"\b{_SPANISH_PERIOD} que viene\b", True, _near(1)),
        (rf"\bproxim[oa] {_SPANISH_PERIOD}\b", True, _near(1)),
    )
)
