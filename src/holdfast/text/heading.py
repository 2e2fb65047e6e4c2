"""Heading that is indexed with a text: the speaker and the date in words.

Questions such as "what did Ana say in May" use a name and a month that the text itself lacks.
"""

from datetime import datetime
from typing import Final

_MONTHS: Final = {
    "en": "January February March April May June July August September October November December".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
}
_DAYS: Final = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
}


def day_in_words(at: datetime, language: str | None) -> str:
    """Return a date in words: day, month, year and weekday."""
    spoken = language if language in _MONTHS else "en"
    return f"{at.day} {_MONTHS[spoken][at.month - 1]} {at.year} {_DAYS[spoken][at.weekday()]}"
