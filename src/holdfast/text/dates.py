"""Express dates in words: how long ago something was, and a calendar day."""

from datetime import datetime, timedelta
from typing import Final

_UNITS: Final = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=7), "week"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
)
_SPANISH: Final = {
    "year": ("año", "años"),
    "month": ("mes", "meses"),
    "week": ("semana", "semanas"),
    "day": ("día", "días"),
    "hour": ("hora", "horas"),
    "minute": ("minuto", "minutos"),
}

_MONTHS: Final = {
    "en": "January February March April May June July August September October November December".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
}
_DAYS: Final = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
}


def ago(then: datetime, now: datetime, language: str | None = None) -> str:
    """Return how long ago a time was, such as ``2 days ago``.

    The result uses the largest possible unit. Days, hours and minutes are possible if the number is at least 1, other units
    if it is at least 2. So 10 days are "10 days" and not "1 week". Less than a minute is "just now".
    """
    passed = max(now - then, timedelta())
    for size, unit in _UNITS:
        number = passed // size
        # "10 days" is more precise than "1 week".
        if number >= 2 or (number == 1 and unit in ("day", "hour", "minute")):
            return _spoken(number, unit, language)
    return "hace un momento" if language == "es" else "just now"


def _spoken(number: int, unit: str, language: str | None) -> str:
    if language == "es":
        return f"hace {number} {_SPANISH[unit][number != 1]}"
    return f"{number} {unit if number == 1 else unit + 's'} ago"


def day_in_words(at: datetime, language: str | None) -> str:
    """Return a date in words, such as "5 June 2026 Friday". If the language is not supported, the words are English."""
    spoken = language if language in _MONTHS else "en"
    return f"{at.day} {_MONTHS[spoken][at.month - 1]} {at.year} {_DAYS[spoken][at.weekday()]}"
