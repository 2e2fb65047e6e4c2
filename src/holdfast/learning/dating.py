"""Give a text calendar dates, and find the dates of what it tells. The sentence reader says on which side of now they lie."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from holdfast.errors import ModelError
from holdfast.protocols.sentence_reader import Reading, SentenceReader, When
from holdfast.text.partial_dates import Tense, with_years
from holdfast.text.relative_dates import with_dates
from holdfast.text.stated_dates import begin_and_end

__all__ = ["dated", "dates_of", "reading_of"]

_TENSES: Final[Mapping[When, Tense]] = {"planned": "future", "dated": "past"}


def reading_of(text: str, reader: SentenceReader | None) -> Reading | None:
    """Return what the reader says about a text. None if there is no reader, or if it cannot be used."""
    try:
        return None if reader is None else reader.read(text)
    except ModelError:
        return None


def dated(text: str, at: datetime, reading: Reading | None) -> str:
    """Return a text with calendar dates: "next Friday (20 November 2026)", "in August 2027". ``at`` is when it was said."""
    text = with_dates(text, at)
    tense = None if reading is None else _TENSES.get(reading.time)
    return text if tense is None else with_years(text, at, tense)


def dates_of(text: str, at: datetime, reading: Reading | None) -> dict[str, str]:
    """Return when something happened or began, and when it ended, as far as a dated text says."""
    happened = reading is not None and reading.time == "dated"
    is_event = reading is not None and (happened or reading.area in ("event", "plan"))
    return begin_and_end(text, at, is_event=is_event, past=happened)
