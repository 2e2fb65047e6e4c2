"""Estimate whether a statement is worth keeping, from the sentence reader's analysis of it and from its form.

Each relevant property of a statement is a signal with a weight. The weighted sum of the signals gives the probability.
``training/reader/fit_worth.py`` fits the weights to statements of published dialogues that were labeled as worth keeping or
not.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from holdfast.learning.statements.clauses import fold_clause
from holdfast.learning.statements.replies import asks_about_task, leaves_topic_out
from holdfast.learning.statements.standalone import (
    PERSONS,
    is_english,
    leaves_subject_out,
    names_no_object,
    points_nowhere,
    refers_to_someone,
    unnamed,
)
from holdfast.protocols.sentence_reader import Reading
from holdfast.runtime.regex import regex
from holdfast.text.partial_dates import names_day_or_season
from holdfast.text.relative_dates import names_weekday, spans_in
from holdfast.text.sentences import split_sentences

__all__ = ["Candidate", "concludes", "mentions_user", "signals", "worth"]

_FIRST_PERSON: Final = regex(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|im|ive|id|yo|mi|mis|mio|mia|nos|nuestr[oa]s?|nosotr[oa]s|\w{2,}(?:amos|emos|imos))\b"
)
_SECOND_PERSON: Final = regex(r"\b(?:you|your|yours|yourself|u|ur|tu|tus|te|ti|vos|usted)\b")
_INTENTION: Final = regex(
    r"(?:(?:yeah|yes|ok|okay|so|well|sure|and|but|maybe|then|thanks|also)\W+)*(?:i think |i guess |maybe )?(?:i'll|i will|we'll|we will|let me|(?:ya )?lo har[eé]|vere)\b"
)
_NEAR: Final = frozenset({("user", "plan"), ("other", "health"), ("other", "family"), ("other", "home"), ("other", "possession")})
"""Pairs of owner (whom a sentence is about) and area of life.

A sentence with such a pair is about the user's life even if it does not mention the user: "the wedding is on Friday".
"""
_PLURAL: Final = regex(r"\b(?:we|our|nosotr[oa]s|nuestr[oa]s?|\w{2,}(?:amos|emos|imos))\b")
_DAY_OF_MONTH: Final = regex(r"\b\d{1,2}(?:st|nd|rd|th)\b|\bel \d{1,2}\b")
_CONCLUDED: Final = regex(
    r"\b(?:i|we)(?:'ve| have| had)? (?:just |finally |also |already |now )?(?:decided|agreed|chose|chosen|settled on|found out|figured out|discovered)\b"
    r"|\bwe'?re going with\b|\blet'?s (?:use|go with|stick with)\b|\bturns out\b|\bit turned out\b"
    r"|\b(?:decid[ií]|decidimos|(?:he|hemos) decidido|eleg[ií]|elegimos|acord[eé]|acordamos|(?:he|hemos) acordado|quedamos en"
    r"|me enter[eé] de|nos enteramos de|vamos con|usemos|resulta que|resulto que|descubr[ií]|descubrimos)\b"
)
"""Matches a decision or a discovery, in a text in lower case without accents.

Such a statement is kept even if the sentence reader rates it low.
"""
_MAX_LOGIT: Final = 8.0
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
_BIAS: Final = -0.11
_WEIGHTS: Final[Mapping[str, float]] = {
    "keep": 0.31,
    "nobody": -1.44,
    "unmeant": -1.03,
    "elsewhere": -0.59,
    "request": -1.09,
    "smalltalk": 0.02,
    "lost": -0.79,
    "ruled": 0.53,
    "you": -0.72,
    "joined": 0.42,
    "task_es": -0.45,
    "event": 1.0,
    "preference": -0.28,
    "dated": 0.07,
    "when": 0.59,
    "intends": -1.04,
    "team": 1.0,
}
"""Weight of each signal.

The weighted sum, plus ``_BIAS``, is the logarithm of the odds that a statement is worth keeping. Two weights were set by
hand, because the training dialogues have too few examples: ``team`` ("we deploy with Helm") and ``when`` (appointments).
The weight of ``nobody`` was raised by 0.13, so that a statement without a subject ("been gluten-free since 2021") passes
if the sentence reader is certain. The weight of ``task_es`` comes from 201 labeled Spanish
statements.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A part of a message that may become a memory."""

    text: str
    """The text of the possible memory, including words of other sentences or turns that it needs as context."""
    own: str
    """The user's own words in the text, without added context."""
    reading: Reading
    """The sentence reader's analysis of the whole sentence."""
    rest: Reading
    """The sentence reader's analysis of ``own``, which can be a part of the sentence."""
    language: str | None
    ruled: bool = False
    """True if a rule matches and assigns a lasting attribute, such as a name or a diet."""
    instructs: bool = False
    """True if, according to a rule, the text tells the assistant what to do from now on."""
    corrects: bool = False
    """True if the sentence begins like a correction of an earlier statement."""
    asks: bool = False
    """True if the sentence asks to remember something."""


def signals(each: Candidate) -> dict[str, float]:
    """Return the features from which ``worth`` computes the probability that a candidate is worth keeping.

    The result maps the name of each feature to its value. The names are the keys of ``_WEIGHTS``.
    """
    folded = fold_clause(each.own)
    reading, rest = each.reading, each.rest
    english = is_english(folded, each.language)
    has_date = bool(spans_in(each.own, _ANY_DAY)) or names_day_or_season(each.own)
    if reading.area == "plan" or reading.time == "planned":
        has_date = has_date or names_weekday(each.own) or _DAY_OF_MONTH.search(folded) is not None
    instructs = reading.area == "instruction"
    is_near = (reading.owner, reading.area) in _NEAR
    named = not english or mentions_user(fold_clause(each.text))  # other languages omit the subject
    return {
        "keep": _logit(reading.keep),
        # About nobody the user knows: "wash it not too often", or praise of the listener.
        "nobody": float(not named and not reading.reply and not instructs and not is_near),
        # A joke, a hypothesis, or words of somebody else.
        "unmeant": float(reading.meant != "fact"),
        "elsewhere": float(reading.owner in ("assistant", "world")),
        "request": float(rest.act in ("request", "question") and not instructs),
        "smalltalk": float(rest.act == "smalltalk"),
        # The words need others that are not there: "I think about it every year", "me too".
        "lost": _lost(each, english=english),
        "ruled": float(each.ruled),
        "you": float(_SECOND_PERSON.search(each.own.lower()) is not None and not instructs),
        "joined": float(each.text != each.own),
        # An answer that completes a task: "¿Colores? verde y gris".
        "task_es": float(each.language == "es" and _answers_task(each)),
        "team": float(reading.area == "work" and reading.time == "stable" and _PLURAL.search(folded) is not None),
        "dated": float(reading.time == "dated"),
        "when": float(has_date),
        # What the user means to do next, in answer to a proposal: "I'll keep an eye on it".
        "intends": float(_INTENTION.match(folded) is not None and not has_date),
        "event": float(reading.area == "event"),
        "preference": float(reading.area == "preference"),
    }


def _lost(each: Candidate, *, english: bool) -> float:
    """Return how much a candidate misses words that are not there: 0, 1, or 2 for a person who is not named at all."""
    folded = fold_clause(each.own)
    is_alone = each.text == each.own and each.reading.area != "instruction"
    if is_alone and (refers_to_someone(each.own) or (english and unnamed(each.own, folded) in PERSONS)):
        return 2.0
    if is_alone:
        leaves_out = each.reading.owner == "other" and leaves_subject_out(folded, each.language)
        if each.reading.reply or leaves_out or names_no_object(folded, each.language):
            return 1.0
    if leaves_topic_out(each.text.removesuffix(each.own).strip()):
        return 1.0
    return float(english and "?" not in each.text and points_nowhere(each.text, fold_clause(each.text)))


def _answers_task(each: Candidate) -> bool:
    """Return True if a candidate answers a question about the task at hand."""
    added = each.text.removesuffix(each.own).rstrip()
    return added.endswith("?") and asks_about_task(split_sentences(added)[-1])


def worth(each: Candidate) -> float:
    """Return the probability, from 0 to 1, that a candidate (a possible memory) is worth keeping."""
    return 1 / (1 + math.exp(-_BIAS - sum(_WEIGHTS[name] * value for name, value in signals(each).items())))


def concludes(folded: str) -> bool:
    """Return True if a text states a decision or a discovery, such as "we decided to move".

    The text must be in lower case and without accents.
    """
    return _CONCLUDED.search(folded) is not None


def mentions_user(folded: str) -> bool:
    """Return True if a text has a word in the first person, such as "I" or "my".

    The text must be in lower case and without accents.
    """
    return _FIRST_PERSON.search(folded) is not None


def _logit(probability: float) -> float:
    return max(-_MAX_LOGIT, min(_MAX_LOGIT, math.log(max(probability, 1e-9) / max(1 - probability, 1e-9))))
