"""Cut a long sentence into the clauses that the speaker states about themselves, in English and Spanish."""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.dictation import has_verb
from holdfast.text.language import detect_language

__all__ = ["own_parts"]

_MIN_WORDS: Final = 3
"""Minimum number of words on each side of a cut. A question after it may be shorter, such as "any ideas?"."""
_QUOTE: Final = regex(r"[\"“”«»]")
_PAUSE: Final = r"(?:[,;:]\s+|\s+[-–—]+\s+)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    """The patterns of one language."""

    starts: re.Pattern[str]
    """Matches the words between two clauses: a pause or a conjunction before a clause about the speaker, or a pause before a question."""
    asks: re.Pattern[str]
    """Matches the beginning of a clause that is not a statement of its own: a question, a request or a relative clause."""
    unreal: re.Pattern[str]
    """Matches a condition or something imagined. The clauses after it may belong to it: "if I had a dog and I lived in Rome"."""


def _english() -> _Patterns:
    auxiliary = (
        r"(?:(?:am|is|are|was|were|have|has|had|can|could|will|would|should|must|do|does|did)(?:n['’]?t)?|can['’]?t|won['’]?t)"
    )
    own = rf"(?:i|we|i['’](?:m|ve|ll|d)|we['’](?:re|ve|ll)|(?:my|our) (?:[\w'’-]+ ){{1,4}}?(?:{auxiliary}|\w+ed|\w{{3,}}s))\b"
    asks = r"(?:(?:can|could|would|will|do) you|what|how|which|where|when|is there|are there|please|any)\b"
    link = (
        r"(?:(?:and|but|so|because|since|as|plus|also|especially|considering|given|now|though|although|while|however|actually"
        r"|the fact that)\s+)"
    )
    joins = r"(?:and|but|because|since|considering(?: that| the fact that)?|given that)"
    asked_after = r"(?:(?:you|someone|anyone) \w+|there['’]?s)"
    return _Patterns(
        starts=regex(
            rf"{_PAUSE}(?:{link}{{0,4}}(?={own})|{link}{{0,2}}(?={asks}))|\s+{joins}\s+(?:also\s+|now\s+)?(?={own})",
            re.IGNORECASE,
        ),
        asks=regex(rf"(?:(?:and|but|so)\s+)?(?:which|who|that|{asks})\b", re.IGNORECASE),
        unreal=regex(
            rf"\b(?:(?:if|unless|whether)\b(?! {asked_after})|suppos\w+|imagin\w+|pretend\w*|wish(?:es|ed)?|as though)\b",
            re.IGNORECASE,
        ),
    )


def _spanish() -> _Patterns:
    verb = (
        r"(?:es|son|era|eran|fue|est[aá]n?|tienen?|tuvo|viven?|trabajan?|va|van|hacen?|quieren?|pueden?|comen?|dicen?|hay|han?|cumplen?"
        r"|estudian?|juegan?|llegan?|empiezan?|acaban?|\w{3,}(?:aba|aban|aron|ieron)|\w{2,}ó)"
    )
    first_person = (
        r"(?:soy|somos|fui|estoy|estamos|tengo|tenemos|tuve|vivo|vivimos|trabajo|voy|vamos|hago|quiero|puedo|como|he|hemos|estudio|juego"
        r"|llego|llevo|acabo|necesito|\w{3,}(?:amos|emos|imos)|\w{2,}é)"
    )
    own = rf"(?:yo|me \w+|nos \w+|(?:ya )?no \w+o|(?:mis?|nuestr[oa]s?) (?:[\w-]+ ){{1,3}}?(?:no|se|{verb})|{first_person})\b"
    asks = r"(?:¿|(?:(?:me )?(?:puedes|podrías|podrias|podés|puede|ayudas|ayúdame)|qué|cómo|cuál|dónde)\b)"
    link = r"(?:(?:y|pero|porque|ya que|como|además|ademas|también|tambien|aunque|considerando que|dado que|así que|asi que)\s+)"
    return _Patterns(
        starts=regex(
            rf"{_PAUSE}(?:{link}{{0,4}}(?={own})|{link}{{0,2}}(?={asks}))|\s+(?:y|pero|porque|ya que)\s+(?=(?:también\s+|ahora\s+)?{own})",
            re.IGNORECASE,
        ),
        asks=regex(rf"(?:(?:y|pero)\s+)?(?:(?:que|quien)\b|{asks})", re.IGNORECASE),
        unreal=regex(
            r"\b(?:si\b(?! (?:me |nos )?(?:pued|podr)\w+)|supon\w+|imagin\w+|finge|ojal[aá]|como si)(?!\w)", re.IGNORECASE
        ),
    )


_PATTERNS: Final = {"en": _english(), "es": _spanish()}


def own_parts(sentence: str) -> list[str]:
    """Return the clauses of a sentence that the speaker states about themselves: "I need a plan, and I've had a knee operation, any ideas?".

    Left out are questions and requests to the assistant, a condition with everything after it, and the conjunction before a clause.
    A sentence with quotation marks has no such clauses. Each clause ends with a period.
    """
    if _QUOTE.search(sentence):
        return []
    patterns = _PATTERNS["es" if detect_language(sentence) == "es" else "en"]
    unreal = patterns.unreal.search(sentence)
    parts, start = [], 0
    for cut in patterns.starts.finditer(sentence):
        after = sentence[cut.end() :]
        if len(sentence[start : cut.start()].split()) >= _MIN_WORDS and (len(after.split()) >= _MIN_WORDS or after.endswith("?")):
            parts.append((start, cut.start()))
            start = cut.end()
    asks = sentence.endswith("?") and not (parts and patterns.asks.match(sentence))
    parts += [(start, len(sentence))] if not (asks or sentence.endswith(":")) else []
    real = (sentence[begin:end] for begin, end in parts if unreal is None or end <= unreal.start())
    stated = (part.strip(" ,;:.?-–—") for part in real if not patterns.asks.match(part))
    return [f"{part}." for part in stated if has_verb(part)]
