"""Decide whether a statement is worth keeping, from what the sentence reader says about it and from its form.

A linear score replaces thresholds and exemptions: each signal has a weight, fitted to judged statements of published dialogues by
``training/reader/fit_worth.py``. A memory is read weeks later and alone, so its words are also read without the turn before.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.standalone import is_english, points_nowhere
from holdfast.protocols.sentence_reader import Reading

__all__ = ["Candidate", "signals", "worth"]

_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|im|ive|id|yo|mi|mis|mio|mia|nos|nuestr[oa]s?|nosotr[oa]s|\w{2,}(?:amos|emos|imos))\b"
)
_OWN: Final = re.compile(r"\b(?:my|our|mi|mis|nuestr[oa]s?)\b")
_SECOND_PERSON: Final = re.compile(r"\b(?:you|your|yours|yourself|u|ur|tu|tus|te|ti|vos|usted)\b")
_MOMENT: Final = re.compile(
    r"\b(?:now|right now|today|currently|at the moment|just|going to|gonna|let me|will|i'll|ahora|hoy|ahorita|voy a|vamos a)\b"
)
_MAX_LOGIT: Final = 6.0
_SHORT_WORDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Words that may become a memory."""

    text: str
    """The text of the memory, with the words of other turns that it needs."""
    own: str
    """The user's own words in it."""
    reading: Reading
    """What the reader says about the sentence after the turn before."""
    alone: Reading
    """What it says about the user's own words alone."""
    language: str | None
    ruled: bool = False
    """True if a rule matches that names a lasting attribute, such as a name or a diet."""
    corrects: bool = False
    """True if the sentence begins as a correction of an earlier statement."""


def signals(each: Candidate) -> dict[str, float]:
    """Return the signals of a candidate. Those that are absent are left out."""
    folded, whole = fold_clause(each.own), fold_clause(each.text)
    reading, alone = each.reading, each.alone
    words = len(each.own.split())
    first = _FIRST_PERSON.search(folded) is not None
    found = {
        "keep": _logit(reading.keep),
        "alone": _logit(alone.keep),
        "length": math.log(words + 1),
        "short": float(words < _SHORT_WORDS),
        "ruled": float(each.ruled),
        "unmeant": float(reading.meant != "fact"),
        "smalltalk": float(reading.act == "smalltalk"),
        "smalltalk alone": float(alone.act == "smalltalk"),
        "request": float(alone.act in ("request", "question") and reading.area != "instruction"),
        "reply": float(reading.reply),
        "joined": float(each.text != each.own),
        "nobody": float(not first and not reading.reply and reading.area != "instruction"),
        "others": float(not first and reading.owner == "other"),
        "elsewhere": float(reading.owner in ("assistant", "world")),
        "mine": float(_OWN.search(folded) is not None),
        "you": float(_SECOND_PERSON.search(folded) is not None and reading.area != "instruction"),
        "moment": float(_MOMENT.search(folded) is not None),
        "concrete": float(_is_concrete(each.own)),
        "lost": float(is_english(folded, each.language) and "?" not in each.text and points_nowhere(each.text, whole)),
        f"area {reading.area}": 1.0,
        f"time {reading.time}": 1.0,
    }
    return {name: value for name, value in found.items() if value}


def worth(each: Candidate) -> float:
    """Return the probability that a statement is worth keeping, from 0 to 1."""
    score = _BIAS + sum(_WEIGHTS.get(name, 0.0) * value for name, value in signals(each).items())
    return 1 / (1 + math.exp(-score))


def _logit(probability: float) -> float:
    return max(-_MAX_LOGIT, min(_MAX_LOGIT, math.log(max(probability, 1e-9) / max(1 - probability, 1e-9))))


def _is_concrete(text: str) -> bool:
    """Return True if a text has a number, or a name after its first word."""
    return re.search(r"\d|(?<=[a-z,] )(?!I\b|I['’])[A-ZÁÉÍÓÚÑ][\w'’-]+", text) is not None


_BIAS: Final = 0.0
_WEIGHTS: Final[Mapping[str, float]] = {"keep": 1.0}
