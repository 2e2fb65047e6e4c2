"""Add calendar dates to a text, and find the dates of the events in it.

The sentence reader (a small model) decides whether a date is in the past or in the future.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final

from holdfast.errors import ModelError
from holdfast.protocols.sentence_reader import Reading, SentenceReader, When
from holdfast.runtime.regex import regex
from holdfast.text.dictation import has_verb
from holdfast.text.language import detect_language
from holdfast.text.partial_dates import Tense, with_years
from holdfast.text.relative_dates import with_dates, with_weekdays
from holdfast.text.stated_dates import begin_and_end, clause_at

__all__ = ["dated", "dates_of", "reading_of"]

_SPANISH_PAST: Final = regex(
    r"\b(?!(?:aquí|así|ahí|allí|mí|sí|qué|porqué|sé|té|café|bebé)\b)(?:\w+(?:é|ó|í|aste|iste|amos|imos|aron|ieron|eron|aba|abas|aban)"
    r"|(?<!\bla )(?<!\bde )(?<!\bel )(?<!\buna )(?<!\bun )(?<!\bmi )(?<!\bsu )(?<!\btu )(?<!\bdel )(?<!\ben )(?<!\bcon )(?<!\bal )(?<!\btoda )\w{3,}(?:ía|ías|ían)|(?:he|has|ha|hemos|han|había) \w+|fue|fui|fuimos|hizo|hice|tuvo|tuve|estuve|estuvo|dijo|dije|vino|vine|puso|puse|era|éramos|eran)\b",
    re.IGNORECASE,
)
"""Matches a Spanish verb in a past tense. A noun such as "anatomía" follows an article or a preposition."""
_SPANISH_TOLD: Final = regex(
    r"\b(?!(?:qué|té|sé|mí|sí|café|bebé|así|allí|ahí|aquí|porqué)\b)\w{2,}(?:é|í|ó|aron|ieron)\b", re.IGNORECASE
)
"""Matches a Spanish verb in a tense that tells what happened. Forms that are the same in the present do not count."""
_SPANISH_NOW: Final = regex(
    r"\b(?:es|son|hay|tengo|tenemos|tiene|toca|voy|va|vamos|viene|será|\w+(?:ré|rá|remos|rán))\b", re.IGNORECASE
)
_ENGLISH_PAST: Final = regex(
    r"\b(?:was|were|had|did|(?:did|could|was|were|had)n['’]?t|went|came|saw|met|took|left|bought|told|said|made|ate|fell|broke|lost|won|flew|drove|gave|found|heard|\w{3,}ed)\b",
    re.IGNORECASE,
)
_EVERY_YEAR: Final = regex(
    r"\b(?:i(?: was|'m| am) born|born in|birthdays?|b-?day|anniversary|name ?day|saint's day|(?:mi|su|tu|es el|es su) santo|onom[aá]stico|nac[ií]|nacimos|nacid[oa]|cumpl(?:e|o|en|imos)(?: a[nñ]os)?\b(?! (?:los )?\d)|cumplea[nñ]os|aniversario|every year|cada año|todos los años)\b",
    re.IGNORECASE,
)
"""Matches words for a yearly day or a day of birth, such as "birthday". The current year must not be added to its date."""
_MIN_CLAUSE_WORDS: Final = 4
_TENSES: Final[Mapping[When, Tense]] = {"planned": "future", "dated": "past"}


def reading_of(text: str, reader: SentenceReader | None) -> Reading | None:
    """Analyze a text with the sentence reader and return the result.

    Return None if there is no reader, or if it cannot be used.
    """
    try:
        return None if reader is None else reader.read(text)
    except ModelError:
        return None


def dated(text: str, at: datetime, reading: Reading | None) -> str:
    """Return a text with calendar dates added. ``at`` is the time at which the text was said.

    "Next Friday" becomes "next Friday (20 November 2026)", and "in August" becomes "in August 2027". A weekday alone ("on
    Sunday") gets a date only if it is clear whether it is in the past or in the future.
    """
    text = with_dates(text, at, past=partial(_is_in_past, text))
    tense = None if reading is None else _TENSES.get(reading.time)
    if tense == "future" or (tense == "past" and _has_past_verb(text)):
        text = with_weekdays(
            text, at, future=tense == "future", unclear=partial(_is_in_present, text), past=partial(_is_told, text)
        )
    if (
        tense is None
        or _EVERY_YEAR.search(text)
        or (tense == "past" and detect_language(text) == "es" and not _SPANISH_PAST.search(text))
    ):
        return text  # "me presento en mayo" may be a plan
    return with_years(text, at, tense)


def _has_past_verb(text: str) -> bool:
    return (_SPANISH_PAST.search(text) or _ENGLISH_PAST.search(text)) is not None


def _is_in_present(text: str, place: int) -> bool:
    """Return True if the clause at a position has a verb, but none in the past tense: "on Friday we sign" in "we met, on Friday we sign".

    A clause of at least four words counts as having a verb.
    """
    clause = clause_at(text, place)
    return not _has_past_verb(clause) and (len(clause.split()) >= _MIN_CLAUSE_WORDS or has_verb(clause))


def _is_in_past(text: str, place: int) -> bool:
    """Return True if the clause at a position has a verb in the past tense: "we were ill this Sunday"."""
    return _has_past_verb(clause_at(text, place))


def _is_told(text: str, place: int) -> bool:
    """Return True if a Spanish clause tells what happened on the weekday at a position: "firmé la hipoteca el sábado".

    The sentence reader often takes it for a plan.
    """
    clause = clause_at(text, place)
    return _SPANISH_TOLD.search(clause) is not None and _SPANISH_NOW.search(clause) is None


def dates_of(text: str, at: datetime, reading: Reading | None) -> dict[str, str]:
    """Return the dates on which the event in a text began and ended, as far as the text states them.

    The keys are ``happened_at`` and ``ended_at``. ``at`` is the time at which the text was said.
    """
    happened = reading is not None and reading.time == "dated"
    is_event = reading is not None and (happened or reading.area in ("event", "plan"))
    return begin_and_end(text, at, is_event=is_event, past=happened)
