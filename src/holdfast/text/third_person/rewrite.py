"""Rewrite a first-person statement in the third person, as a sentence that stands alone.

A clause that cannot be rewritten safely becomes a quotation, which is always correct.
"""

import re

from holdfast.runtime.regex import regex
from holdfast.text.third_person.english import turn_english
from holdfast.text.third_person.spanish import speaks_as_woman, turn_spanish

_THE_USER = {"en": "The user", "es": "El usuario"}
_PLACEHOLDER = "\x00"
"""Character that stands for the subject in a rewritten clause until the subject is inserted."""
_SPANISH_AT = regex(rf"\b[aA] {_PLACEHOLDER}")
_SPANISH_OF = regex(rf"\bde {_PLACEHOLDER}")
_SPANISH_OWNED = regex(rf"^(?:(?P<to>Al|A(?= l))? ?(?P<article>El|La|Los|Las|la|los|las)? ?)(?P<what>[\w ]+?) de {_PLACEHOLDER}")
_NAME = {
    "en": regex(
        r"^(?:my (?:full |first |real )?name(?:'s| is)|i'?m called|i am called|(?:you can |please |just |everyone calls me |people )*call me|i go by|i'?m|i am)"
        r"\s+(?P<name>[^\W\d_][\w'’-]*(?:\s[^\W\d_a-z][\w'’-]*){0,3})(?=$|[.,!]| (?:and|but|from)\b)",
        re.IGNORECASE,
    ),
    "es": regex(
        r"^(?:(?:yo )?me llamo|mi nombre (?:completo )?es|(?:puedes |podés |podes )?(?:llamarme|decirme|ll[aá]mame|decime|dime)|(?:todos )?me (?:dicen|llaman)|(?:yo )?soy)"
        r"\s+(?P<name>[^\W\d_][\w'’-]*(?:\s[^\W\d_a-z][\w'’-]*){0,3})(?=$|[.,!]| (?:y|pero|de)\b)",
        re.IGNORECASE,
    ),
}
_AS_OWN = {
    "you": "I",
    "you're": "I'm",
    "you've": "I've",
    "you'd": "I'd",
    "are": "am",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "you are": "I am",
}
_YOU = regex(r"\b(?:you are|you're|you've|you'd|yourself|yours|your|you)\b", re.IGNORECASE)
_TO_YOU = regex(r"\byou(?:r|'\w+)?\b", re.IGNORECASE)
_OBSERVER = regex(
    r"^(?:(?:so|well|ah|oh|ok|okay|hm+)[, ]+)*(?:i (?:notice|noticed|think|see|suspect|gather)(?: that)? |i've noticed (?:that )?|it (?:seems|sounds|looks)"
    r"(?: like)?(?: that)? |it appears (?:that )?|(?:sounds|seems|looks) like )(?=i\b|i'|my\b)",
    re.IGNORECASE,
)
_NAME_KEYS = frozenset(("name", "nombre"))


def third_person(text: str, language: str, *, subject: str | None = None) -> str:
    """Return a first-person clause as a third-person sentence about "the user" or a named speaker.

    ``subject`` is the name of the speaker, or None for "the user". "I live in Lyon" becomes "The user lives in Lyon". A
    clause that cannot be rewritten safely is quoted: ``The user said: "..."``.
    """
    turned = _turned(text, language)
    who = subject or _the_user(text, language)
    if turned is None:
        return _reported(text, language, who)
    return _named(turned, language, who, given=subject is not None)


def observed(text: str, language: str, *, subject: str | None = None) -> str:
    """Return a third-person sentence for an observation that the user confirmed: "You like tea" becomes "The user likes tea".

    ``subject`` is the name of the user, or None for "the user". An observation that cannot be rewritten safely is quoted:
    ``The user confirmed: "..."``. An observation in another language than English is always quoted.
    """
    if language == "en" and _TO_YOU.search(text):
        as_own = _YOU.sub(lambda match: _AS_OWN[match[0].lower()], text.replace("’", "'"))
        turned = _turned(_OBSERVER.sub("", as_own), language)
        if turned is not None:
            return _named(turned, language, subject or _THE_USER["en"], given=subject is not None)
    who = subject or _THE_USER.get(language, _THE_USER["en"])
    return f"{who} confirmó: «{text}»" if language == "es" else f'{who} confirmed: "{text}"'


def bare_predicate(text: str, language: str, *, key: str | None = None) -> str:
    """Return a first-person statement without its subject, in the third person: "I work at Google" becomes "works at Google".

    If the memory's key is ``name`` or ``nombre`` and the statement gives a name, return only the name.
    """
    if key in _NAME_KEYS and (found := _NAME.get(language, _NAME["en"]).match(text.strip())):
        return found["name"]
    turned = _turned(text, language)
    if turned is None:
        return _reported(text, language, "").strip()
    bare = turned.rstrip(" .!")
    if language == "es":
        bare = _SPANISH_OWNED.sub(_owned_by_them, bare)
        bare = re.sub(rf"^A {_PLACEHOLDER} ", "", bare)
    bare = re.sub(rf"^{_PLACEHOLDER}'s ", "their ", bare)
    bare = re.sub(rf"^{_PLACEHOLDER} ", "", bare)
    if _PLACEHOLDER not in bare:
        return bare
    return _named(bare, language, _the_user(text, language), given=False)


def _the_user(text: str, language: str) -> str:
    if language == "es" and speaks_as_woman(text):
        return "La usuaria"
    return _THE_USER.get(language, _THE_USER["en"])


def _owned_by_them(found: re.Match[str]) -> str:
    many = (found["article"] or "").lower() in ("los", "las")
    return f"{'a ' if found['to'] else ''}{'sus' if many else 'su'} {found['what']}"


def _turned(text: str, language: str) -> str | None:
    """Return the text in the third person, with a placeholder as subject. Return None if the text cannot be rewritten safely."""
    plain = text.strip().replace("’", "'")
    turn = turn_spanish if language == "es" else turn_english
    return turn(plain, _PLACEHOLDER) if plain else None


def _named(turned: str, language: str, who: str, *, given: bool) -> str:
    inner = who if given else who[0].lower() + who[1:]
    if language == "es" and inner == "el usuario":
        turned = _SPANISH_AT.sub(lambda match: f"{match[0][0]}l usuario", turned)
        turned = _SPANISH_OF.sub("del usuario", turned)
    named = turned.replace(_PLACEHOLDER, who, 1) if turned.startswith(_PLACEHOLDER) else turned
    named = named.replace(_PLACEHOLDER, inner)
    return named[:1].upper() + named[1:]


def _reported(text: str, language: str, subject: str) -> str:
    said = text.strip()
    return f"{subject} dijo: «{said}»" if language == "es" else f'{subject} said: "{said}"'
