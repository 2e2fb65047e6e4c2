"""A candidate for a memory: a part of a message, with the sentence reader's analysis of it."""

import math
from dataclasses import dataclass
from typing import Final

from holdfast.learning.statements.clauses import fold_clause
from holdfast.protocols.sentence_reader import Reading
from holdfast.runtime.regex import regex

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
_PLURAL: Final = regex(r"\b(?:we|our|nosotr[oa]s|nuestr[oa]s?|\w{2,}(?:amos|emos|imos))\b")
_MAX_LOGIT: Final = 4.0
_KEEP_WEIGHT: Final = 0.2
"""Weight of the analysis of the sentence, next to that of the memory's text.

The network rates short plain facts, such as "I have a tattoo", lower as memories than as sentences.
"""
_REPLY_WEIGHT: Final = 0.4
"""Weight of a question before the user's words. Judged replies are as useful as other memories down to a lower score."""
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
    is_team = judged.area == "work" and judged.time == "stable" and _PLURAL.search(fold_clause(each.own)) is not None
    is_reply = "?" in each.text.removesuffix(each.own)
    score = _logit(judged.worth) + _KEEP_WEIGHT * _logit(each.reading.keep)
    score += _REPLY_WEIGHT * is_reply + _HOME_WEIGHT * each.names_home + _TEAM_WEIGHT * is_team
    return 1 / (1 + math.exp(-score))


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
