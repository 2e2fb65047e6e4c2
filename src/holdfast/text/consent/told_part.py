"""Find the part of a conversation that a wish not to save something names: "please don't save the bit about Tom", "no guardes lo de mi suegra"."""

from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.consent import english, spanish
from holdfast.text.consent.rules import fold_places, names_no_subject, own_words

__all__ = ["told_part"]

_ABOUT: Final = r"(?P<about>[^,.;:!?()\n]{2,60}?)"
_END: Final = r"(?=(?:,? (?:please|pls|ok|okay|thanks|anywhere|in your|to your|will you|por favor|porfa|porfis|eh|vale|dale|gracias|en tu|en tus|anda)\b|\s*[.,;:!?]|\s*$))"
_BIT: Final = (
    r"(?:(?:the |that |those |all the |any of the )?(?:thing|bit|part|stuff|story|news|details?|business)s?|what i(?:'ve| have)? (?:just |already )?"
    r"(?:said|told (?:you|u)|mentioned|wrote)|anything|everything)(?: i (?:said|told (?:you|u)|mentioned))? (?:about|on|regarding|with|concerning)"
)
_NAMED_BIT: Final = r"(?:the|that|all the) (?P<about>\w+(?: \w+)?) (?:thing|bit|part|stuff|story|news|business)"
_TOLD: Final = r"(?:te |os |le |les )?(?:dije|conte|comente|mencione|acabo de (?:contar|decir|soltar|confesar|escribir|mandar|mencionar|comentar)(?:te)?|he (?:dicho|contado|comentado))"
_BEFORE: Final = r"(?:antes|ayer|recien|hace (?:un )?\w+|al principio)"
_NAMED_TOLD: Final = rf"(?:el|la|los|las) (?P<about>\w+(?: \w+)?) que {_TOLD}(?: {_BEFORE})?"
_LO: Final = (
    rf"(?:lo(?: que {_TOLD}(?: {_BEFORE})?)?|la parte|el tema|el asunto|la historia|el detalle|eso|nada|lo (?:referente|relativo|relacionado))"
    r"(?: (?:del?|sobre|acerca del?|con|al?|a la)(?: (?:el|la|los|las|mi|mis))?)"
)
_DO_NOT_KEEP: Final = rf"{english.NOT} (?:please |ever |just )*{english.KEEP}"
_LEAVE_OUT: Final = rf"(?:{_DO_NOT_KEEP}|(?:leave|keep) (?:that|it|this|those)\b)"
_NO_KEEP: Final = (
    rf"(?:por favor |porfa |mejor )?(?:{spanish.NOT}(?: (?:lo|la|los|las))? {spanish.KEEP}"
    r"|no (?:te |se |le )?(?:quede|quedara|conste|figure|aparezca|este)(?: \w+){0,3} en (?:tu|tus|su|sus|la|el|ning\w+)\b)"
)
_LEAVE: Final = r"(?:(?:leave|keep) (?:out|off)|scratch|bin|drop|lose|wipe|ditch|erase|delete|forget)"
"""Matches the verb of "leave out the bit about Tom"."""
_PATTERNS: Final = tuple(
    regex(pattern)
    for pattern in (
        rf"{english.START}{_DO_NOT_KEEP} {_BIT} {_ABOUT}{_END}",
        rf"{english.START}{_DO_NOT_KEEP} {_NAMED_BIT}{_END}",
        rf"{english.START}{_LEAVE} {_BIT} {_ABOUT}{_END}",
        rf"{english.START}{_LEAVE} {_NAMED_BIT}{_END}",
        rf"{english.START}{_BIT} {_ABOUT},? (?:please |pls |so )*{_LEAVE_OUT}",
        rf"{english.START}{_NAMED_BIT},? (?:please |pls |so )*{_LEAVE_OUT}",
        rf"{spanish.START}{spanish.NOT} {spanish.KEEP} {_LO} {_ABOUT}{_END}",
        rf"{spanish.START}(?:que )?{_LO} {_ABOUT},? {_NO_KEEP}",
        rf"{spanish.START}(?:que )?{_NAMED_TOLD},? {_NO_KEEP}",
        rf"{spanish.START}{spanish.NOT} {spanish.KEEP} {_NAMED_TOLD}{_END}",
    )
)


def told_part(text: str) -> str:
    """Return what a wish not to save something is about, if it names an earlier part of the conversation. Otherwise return an empty text."""
    original = own_words(text).strip()
    folded = fold_places(original)
    for pattern in _PATTERNS:
        found = pattern.search(folded)
        if found is not None:
            start, end = found.span("about")
            about = original[start:end].strip()
            return "" if names_no_subject(about) else about
    return ""
