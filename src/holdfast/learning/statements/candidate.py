"""A candidate for a memory: a part of a message, with the sentence reader's analysis of it."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from holdfast.learning.statements.clauses import fold_clause
from holdfast.protocols.sentence_reader import Reading
from holdfast.runtime.regex import regex
from holdfast.text.dictation import has_verb
from holdfast.text.partial_dates import names_day_or_season
from holdfast.text.relative_dates import names_weekday, spans_in

__all__ = ["Candidate", "concludes", "mentions_user", "worth"]

_FIRST_PERSON: Final = regex(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|im|ive|id|yo|mi|mis|mio|mia|nos|nuestr[oa]s?|nosotr[oa]s|\w{2,}(?:amos|emos|imos))\b"
)
_CONCLUDED: Final = regex(
    r"\b(?:i|we)(?:'ve| have| had)? (?:just |finally |also |already |now )?(?:decided|agreed|chose|chosen|settled on|found out|figured out|discovered)\b"
    r"|\bwe'?re going with\b|\blet'?s (?:use|go with|stick with)\b|\bturns out\b|\bit turned out\b(?! (?:\w+ )?(?:well|good|great|nice|fine|okay|ok|perfect\w*|delicious|amazing|bad|badly))"
    r"|\b(?:decid[ií]|decidimos|(?:he|hemos) decidido|eleg[ií]|elegimos|acord[eé]|acordamos|(?:he|hemos) acordado|quedamos en"
    r"|me enter[eé] de|nos enteramos de|vamos con|usemos|resulta que|resulto que|descubr[ií]|descubrimos)\b"
)
"""Matches a decision or a discovery, in a text in lower case without accents.

Such a statement is kept even if the sentence reader rates it low.
"""
_WEIGHS: Final = regex(
    r"\b(?:i(?:'m| am|'ve been| have been| was)|we(?:'re| are|'ve been| have been)) (?:\w+ )?(?:thinking (?:of|about)|considering|debating|contemplating"
    r"|looking into|exploring|eyeing|wondering|trying to|stuck|having trouble)\b|\b(?:i|we) (?:might|may|could)\b"
    r"|\bi(?:'d| would) (?:like|love) to\b|\bi(?:'m| am) (?:\w+ )?(?:interested in|curious|looking (?:for|to)|open to|excited to|hoping to)\b"
    r"|\b(?:estoy|estaba|estamos|ando) (?:pensando|considerando|planteandome|viendo|mirando|buscando|intentando|tratando)\b|\bme (?:estoy )?plante\w+"
    r"|\b(?:me (?:gustaria|interesa|encantaria)|quisiera|busco)\b"
)
"""Matches what the user considers, wants to know or tries at the moment, in a text in lower case without accents."""
_INTENDS: Final = regex(
    r"(?:(?:yeah|yes|ok|okay|so|well|sure|and|but|maybe|then|thanks|also|i think|i guess)\W+)*(?:i'll|i will|we'll|we will|let me|(?:ya )?lo har[eé]|vere)\b"
)
"""Matches what the user means to do next: "I'll keep an eye on it"."""
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
_PLURAL: Final = regex(r"\b(?:we|our|nosotr[oa]s|nuestr[oa]s?|\w{2,}(?:amos|emos|imos))\b")
_MAX_LOGIT: Final = 4.0
_KEEP_WEIGHT: Final = 0.2
"""Weight of the analysis of the sentence, next to that of the memory's text.

The network rates short plain facts, such as "I have a tattoo", lower as memories than as sentences.
"""
_MOMENT_WEIGHT: Final = -1.5
"""Weight of what matters only at the moment.

In 45 real conversations, a judge found 38 to 50 % of such memories useful, and 76 % of the others. The network's training text has
too few of them: what people consider there is mostly a change of their lives.
"""
_REPLY_WEIGHT: Final = 1.0
"""Weight of an added question. Judged replies are useful down to a lower score than other memories."""
_HOME_WEIGHT: Final = 2.0
"""Weight of a home or a move that a rule recognizes. The network rates names of places that it does not know too low."""
_TEAM_WEIGHT: Final = 1.0
"""Weight of how a team works ("we deploy with Helm"). The judged memories of conversations have too few of such facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A part of a message that may become a memory."""

    text: str
    """The text of the possible memory, including words of other sentences or turns that it needs as context."""
    own: str
    """The user's own words in the text, without added context."""
    reading: Reading
    """The sentence reader's analysis of the whole sentence."""
    judged: Reading
    """The sentence reader's analysis of ``text``, or of the statement that a reply stands for."""
    instructs: bool = False
    """True if, according to a rule, the text tells the assistant what to do from now on."""
    names_home: bool = False
    """True if, according to a rule, the text says where the user lives or moved."""
    corrects: bool = False
    """True if the sentence begins like a correction of an earlier statement."""
    asks: bool = False
    """True if the sentence asks to remember something."""


def worth(each: Candidate) -> float:
    """Return the probability, from 0 to 1, that a candidate is useful as a memory."""
    judged = each.judged
    folded = fold_clause(each.own)
    is_team = judged.area == "work" and judged.time == "stable" and _PLURAL.search(folded) is not None
    is_reply = "?" in each.text.removesuffix(each.own)
    score = _logit(
        min(judged.worth, each.reading.worth) if _is_phrase_of_request(each) else judged.worth
    ) + _KEEP_WEIGHT * _logit(each.reading.keep)
    score += _REPLY_WEIGHT * is_reply + _HOME_WEIGHT * each.names_home + _TEAM_WEIGHT * is_team
    score += _MOMENT_WEIGHT * (
        _WEIGHS.search(folded) is not None or (_INTENDS.match(folded) is not None and not _has_date(each.own))
    )
    return 1 / (1 + math.exp(-score))


def _is_phrase_of_request(each: Candidate) -> bool:
    """Return True if a candidate is a phrase without a verb that is cut out of a request: "my obliques" of "a workout for my obliques".

    Alone, such a phrase looks like a fact. The request shows better whether it is one ("a workout for my bad knee").
    """
    return each.text == each.own and each.reading.act in ("request", "question") and not has_verb(each.own)


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


def _has_date(text: str) -> bool:
    return bool(spans_in(text, _ANY_DAY)) or names_day_or_season(text) or names_weekday(text)


def _logit(probability: float) -> float:
    return max(-_MAX_LOGIT, min(_MAX_LOGIT, math.log(max(probability, 1e-9) / max(1 - probability, 1e-9))))
