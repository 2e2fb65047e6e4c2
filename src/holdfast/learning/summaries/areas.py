"""Assign a memory to one area of life, so that the facts about a person can be read by area."""

from typing import Final, get_args

from holdfast.learning.changes.keys import attribute_of
from holdfast.learning.summaries.importance import areas_of
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.types import Memory
from holdfast.types.common import Area

AREAS: Final[tuple[Area, ...]] = get_args(Area)
"""All areas of life, in the order in which they are shown."""
_BY_ATTRIBUTE: Final[dict[str, Area]] = {
    "name": "identity",
    "nickname": "identity",
    "age": "identity",
    "birthday": "identity",
    "phone": "identity",
    "email": "identity",
    "marital status": "family",
    "residence": "home",
    "address": "home",
    "work": "work",
    "employer": "work",
}
"""Maps the attribute that a memory's key names to an area of life."""
_BY_SIGN: Final[dict[str, Area]] = {
    "health": "health",
    "family": "family",
    "identity": "identity",
    "money": "money",
    "permission": "rules",
    "constraint": "rules",
    "appointment": "plans",
    "decision": "plans",
    "preference": "preferences",
}
"""Maps each sign of importance, such as words about money, to an area of life.

If a text has several signs, the first one in this order decides.
"""
_WORK: Final = regex(
    r"\b(?:work(?:s|ed|ing)? (?:as|at|for|in|on)|jobs?|employ(?:er|ed)|colleagues?|boss|promot(?:ed|ion)|retired|"
    r"trabaj(?:a|o|aba|ando|e)|empleo|colegas?|jef[ea]|ascendi\w*|jubilad[oa])\b"
)
_HOME: Final = regex(
    r"\b(?:lives?|lived|living|moved|moving|resides?) (?:in|to|at|near|on|with)\b"
    r"|\b(?:apartment|flat|house|vive|vivo|vivia|viviendo|se mud[oa]|me mud[eo]|reside|piso|departamento|casa)\b"
)


def area_of(memory: Memory) -> Area:
    """Return the area of life of a memory. Its key decides. If the key does not show the area, the text decides."""
    if memory.key is not None:
        attribute = attribute_of(memory.key)
        if attribute in _BY_ATTRIBUTE:
            return _BY_ATTRIBUTE[attribute]
        named = _area_of_text(memory.key.replace("_", " "))
        if named != "other":
            return named
    return _area_of_text(memory.text)


def _area_of_text(text: str) -> Area:
    signs, plain = areas_of(text), fold(text)
    if "health" in signs:
        return "health"
    if _WORK.search(plain):
        return "work"
    if _HOME.search(plain):
        return "home"
    return next((area for sign, area in _BY_SIGN.items() if sign in signs), "other")
