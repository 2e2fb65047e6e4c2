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
_LO: Final = (
    r"(?:lo(?: que (?:te |os |le |les )?(?:dije|conte|comente|acabo de (?:contar|decir)(?:te)?|he (?:dicho|contado)))?|la parte|el tema|el asunto|la historia"
    r"|el detalle|eso|nada)(?: del?| sobre(?: el| la)?| acerca del?| con)"
)
_DO_NOT_KEEP: Final = rf"{english.NOT} (?:please |ever |just )*{english.KEEP}"
_LEAVE_OUT: Final = rf"(?:{_DO_NOT_KEEP}|(?:leave|keep) (?:that|it|this|those)\b)"
_NO_KEEP: Final = rf"(?:por favor |porfa |mejor )?{spanish.NOT}(?: (?:lo|la|los|las))? {spanish.KEEP}"
_PATTERNS: Final = tuple(
    regex(pattern)
    for pattern in (
        rf"{english.START}{_DO_NOT_KEEP} {_BIT} {_ABOUT}{_END}",
        rf"{english.START}{_DO_NOT_KEEP} {_NAMED_BIT}{_END}",
        rf"{english.START}{_BIT} {_ABOUT},? (?:please |pls |so )*{_LEAVE_OUT}",
        rf"{english.START}{_NAMED_BIT},? (?:please |pls |so )*{_LEAVE_OUT}",
        rf"{spanish.START}{spanish.NOT} {spanish.KEEP} {_LO} {_ABOUT}{_END}",
        rf"{spanish.START}{_LO} {_ABOUT},? {_NO_KEEP}",
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
