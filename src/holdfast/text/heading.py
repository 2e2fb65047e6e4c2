"""What stands over a text when it is searched: who said it, and the day, in words.

People ask "what did Ana say in May", and the text itself holds neither the name nor the month.
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
    """Return a day as it is spoken of: its number, month, year and weekday."""
    spoken = language if language in _MONTHS else "en"
    return f"{at.day} {_MONTHS[spoken][at.month - 1]} {at.year} {_DAYS[spoken][at.weekday()]}"
