"""Find a request to remember that points back at what was said before it: "my boiler is a Vaillant, remember that for me"."""

from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.consent.rules import fold_places

__all__ = ["before_request"]

_LEAD: Final = (
    r"(?:^|(?<=[.,;:!?()\n–—-])\s*|(?<=\w) (?=and |so |please |pls ))"
    r"(?:(?:please|pls|plz|and|so|ok|okay|now|then|also|just|yeah|yes|yh|can you|could you|would you|will you|i want (?:you|u) to|i need (?:you|u) to|i'd like you to|"
    r"(?:you|u)(?:'ll| will| might| may)? (?:want|need|have) to|(?:you|u) should|make sure (?:you |u |to )?|do|try to|always)[\s,]+)*"
)
_OBJECT: Final = r"(?:that|this|it|her|him|them|these|those)(?: one| all| too)?"
_END: Final = (
    r"(?= ?(?:[.,;!?)]|$)| (?:for|because|cause|cos|since|as|and|when|whenever|please|pls|ok|okay|would|will|could|from|in future|next|always|thanks|thx|k|lol|if|or)\b)"
    r"(?![^.;!?\n]{0,30}:)"
)
_ENGLISH: Final = (
    rf"{_LEAD}(?:(?:remember|memori[sz]e|note|log|record|store|save|never forget|don'?t (?:ever )?forget|hold on ?to|hang on ?to|(?:make|take) (?:a )?(?:mental )?note of) {_OBJECT}"
    rf"(?: down| away)?|(?:write|jot|note) {_OBJECT} down|(?:keep|bear|have) {_OBJECT} in mind|keep {_OBJECT} on file|(?:put|keep|store|save|add) {_OBJECT} (?:in|to) (?:your|ur) (?:memory|notes|files?))"
    rf"{_END}"
)
_POLITE: Final = r"(?:(?:por favor|porfa|y|ok|vale|oye|eh|ya|asi que|pues|si|me|te|le|tambien|quiero que|necesito que|(?:me )?(?:puedes|podes|podrias|puede|podria))[\s,]+)*"
_THING: Final = r"(?:lo|la|los|las)"
_SPANISH: Final = (
    rf"(?:^|(?<=[.,;:!?()\n¿¡–—-])\s*|(?<=\w) (?=y |por favor |porfa )){_POLITE}(?:(?:eso|esto)(?: si)?,? )?"
    rf"(?:(?:recuerd|record|apunt|anot|guard|registr|memoriz|agend)(?:a|e)(?:me|te|se)?{_THING}|(?:recuerd|record|apunt|anot|guard|registr|memoriz)(?:a|e)(?:me|te|se)? (?:eso|esto|ese dato|este dato)"
    rf"|(?:ten|tene|tenga|teng)(?:{_THING}| eso| esto)(?: siempre| muy| bien)? (?:en cuenta|presente|en mente)|(?:acuerdate|acordate|acuerdese)(?: siempre)? de (?:eso|esto|ello)"
    rf"|(?:pon|mete|ponga|meta|agrega|anade)(?:me|te)?{_THING} en (?:tu|tus|su|sus|la) (?:memoria|notas?|libret\w+|cuadern\w+|agenda|archivo|ficha|registro)|no (?:{_THING}|te {_THING}) olvides|que no se te olvide|no se te olvide|quedate con (?:eso|esto|ese dato))"
    r"(?= ?(?:[.,;!?)]|$)| (?:por favor|porfa|para|pa|porque|que|y|cuando|siempre|vale|eh|gracias|ok|por si|asi|desde|en adelante|si|bien)\b)(?![^.;!?\n]{0,30}:)"
)
_REQUESTS: Final = (regex(_ENGLISH), regex(_SPANISH))


def before_request(text: str) -> str | None:
    """Return the words before a request to remember "that". Return None if a text has no such request.

    The result is empty if the text begins with the request: "bear that in mind, please". The user has then said before what to
    remember. A request that is followed by a colon points to what follows, so it does not count.
    """
    folded = fold_places(text)
    found = min((match.start() for pattern in _REQUESTS if (match := pattern.search(folded))), default=None)
    return None if found is None else text[:found].rstrip(" ,;:-–—(")
