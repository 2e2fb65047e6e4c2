"""Apply corrections to a statement: "my flight is at 9... sorry, at 10" becomes "my flight is at 10"."""

import re
from difflib import SequenceMatcher

from holdfast.learning.statements.clauses import fold_clause
from holdfast.runtime.regex import regex

_MARK = (
    r"(?:sorry|no,? wait|wait,? no|wait|i mean|i meant|actually|make that|correction|rather|or rather|my mistake|my bad"
    r"|perdona?|disculpa|digo|mejor dicho|no,? espera|espera,? no|quise decir|quiero decir|queria decir|en realidad|me equivoque"
    r"|correccion|oops|ups|no)"
)
_MARK_WITHIN = _MARK.removesuffix("|no)") + r"|no(?=\s*[,.:;…–—-]))"
"""Matches words that introduce a correction inside a sentence, such as "sorry". "No" counts only before a comma or similar.

"El martes, no, el miércoles" corrects the day, but "el martes, no el lunes" only rejects another day.
"""
_OPENING = regex(
    rf"^(?:(?:oh|ah|ay|hmm|ok|okay|uy|ups|oops|bueno|pero|but|y|and|che)[ ,.!-]+)*{_MARK}(?:[ ,.!:-]+{_MARK})*[ ,.!:-]+"
    r"(?:that'?s (?:wrong|not right)[ ,.]+)?(?P<rest>.+)$"
)
_BARE_OPENING = regex(
    r"^(?:it'?s|it is|that'?s|make (?:it|that)|es|son|seria|era|que sea|mejor) (?:actually |en realidad )?(?P<rest>.+?,? (?:not|no|y no|instead of|en vez de|en lugar de) .+)$"
)
_ADMISSION = regex(
    r"^(?:(?:oh|ah|ay|hmm|ok|okay|uy|no|wait|pero|but|che)[ ,.!-]+)*(?:sorry|oops|ups|my mistake|my bad|correction|perdon|perdona|disculpa|correccion"
    r"|(?:i|me|lo|le|la) (?:misread|misheard|mixed|got (?:it|that) wrong|was wrong|equivoque|confundi|lei mal|entendi mal))\b"
)
_WITHIN = regex(rf"^(?P<said>.{{8,}}?)(?:[\s,.…–—-]+){_MARK_WITHIN}(?:[ ,.!:…-]+{_MARK})*[ ,.!:…-]+(?P<rest>.{{1,40}})$")
_NOT = regex(r"^(?P<new>.+?)[, ]+(?:and )?(?:not|y no|no|instead of|rather than|en vez de|en lugar de) (?P<old>.+)$")
_REJECTED = regex(r",? (?:and )?(?:not|y no|no|instead of|rather than|en vez de|en lugar de) (?P<old>[^,;.]{1,40})$")
_BUT = regex(r"^(?:not|no(?: es| era)?) (?P<old>.+?),? (?:but|sino(?: que)?|it'?s|es) (?P<new>.+)$")
_LEADING_WORDS = regex(
    r"^(?:it'?s|it is|that'?s|it was|was|is|es|son|era|sera|sea|on|at|in|the|el|la|los|las|a|al|en|to|with|con|de|del|i mean|i meant|a las|on the|actually|en realidad)\s+"
)
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|sep?tiembre|octubre|noviembre|diciembre)"
)
_DAYS = r"\d{1,2}(?:st|nd|rd|th)?(?:(?:,| and| to| y| al?| ?[-–]) ?(?:el )?\d{1,2}(?:st|nd|rd|th)?)*"
_VALUES = tuple(
    regex(pattern)
    for pattern in (
        r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo)\b",
        rf"\b(?:{_DAYS}(?: of| de)? {_MONTH}|{_MONTH} {_DAYS})\b",
        r"\b\d{1,2}(?:st|nd|rd|th)\b",
        rf"\b{_MONTH}\b",
        r"\b\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\b\d{1,2} ?[ap]\.?m\b\.?|(?<=at )\d{1,2}\b|(?<=a las )\d{1,2}\b|(?<=a la )\d\b",
        r"\b\d[\d.,]*\b",
        r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)\b",
    )
)
"""One pattern per type of value: weekday, date, time, number and so on. A new value replaces an old value of the same type.

If a correction contains several types, the first type in this list is used.
"""
_MAX_FRAGMENT_WORDS = 9
_MIN_SAME_NAME = 0.65
"""Minimum similarity (0 to 1) of the letters of two spellings of one name."""


def correction_in(sentence: str, folded: str) -> str | None:
    """Return the part of a correction that names the new value: "on Tuesday, not Monday" for "sorry, on Tuesday, not Monday".

    ``folded`` is the sentence in lower case and without accents. Return None if the sentence is not a correction, or if the
    part has more than ``_MAX_FRAGMENT_WORDS`` words.
    """
    opened = _OPENING.match(folded) or _BARE_OPENING.match(folded)
    if opened is None or folded.endswith("?"):
        return None
    rest = sentence[opened.start("rest") :].strip(" .!")
    return rest if rest and len(rest.split()) <= _MAX_FRAGMENT_WORDS else None


def admits_mistake(folded: str) -> bool:
    """Return True if a message begins by admitting a mistake. The message's statements then replace earlier statements.

    ``folded`` is the message in lower case and without accents.
    """
    return _ADMISSION.match(folded) is not None


def repaired(text: str, fragment: str) -> str | None:
    """Return a statement in which a correction has replaced the value. ``fragment`` is the correction: "on Tuesday, not Monday".

    Return None if the statement contains no value that can be replaced.
    """
    plain = fold_clause(fragment)
    named = _NOT.match(plain) or _BUT.match(plain)
    if named is not None:
        rejected, stated = _bare_value(fragment, named, "old"), _bare_value(fragment, named, "new")
        swapped = _swap_whole(text, rejected, stated) or _swap(text, rejected, stated)
        if swapped is not None:
            return swapped
        fragment, plain = fragment[named.start("new") : named.end("new")], plain[named.start("new") : named.end("new")]
    for value in _VALUES:
        new, olds = value.search(plain), list(value.finditer(fold_clause(text)))
        if new is not None and olds:
            return text[: olds[-1].start()] + fragment[new.start() : new.end()] + text[olds[-1].end() :]
        if new is not None:
            return None
    return _with_name_respelled(text, fragment.strip(" .,!"))


def _with_name_respelled(text: str, name: str) -> str | None:
    """Return a statement with another spelling of a name: "my sister is called Elvira" corrected by "Alvira".

    Return None if the statement contains no similar name.
    """
    if not name.istitle() or len(name.split()) > 1:
        return None
    alike = [
        found
        for found in re.finditer(r"(?<=\s)[^\W\d_]+", text)
        if found[0].istitle() and SequenceMatcher(None, fold_clause(found[0]), fold_clause(name)).ratio() >= _MIN_SAME_NAME
    ]
    return text[: alike[-1].start()] + name + text[alike[-1].end() :] if alike else None


def repaired_within(text: str) -> str:
    """Remove the rejected value from a statement that corrects itself: "at 9... sorry, at 10" becomes "at 10".

    Other statements are returned unchanged.
    """
    found = _WITHIN.match(fold_clause(text).rstrip("."))
    if found is None:
        return text
    said = text[: found.end("said")]
    if "?" in said:  # "Is she seven? No, she's eight.": the question is not the speaker's
        return text
    better = repaired(said, text[found.start("rest") : found.end("rest")])
    return text if better is None else better + ("." if text.endswith(".") else "")


def _bare_value(fragment: str, match: re.Match[str], name: str) -> str:
    """Return the part of a fragment that the group ``name`` of a match covers, without leading articles and prepositions."""
    value = fragment[match.start(name) : match.end(name)].strip(" ,.!")
    while (leading := _LEADING_WORDS.match(fold_clause(value))) is not None:
        value = value[leading.end() :]
    return value


def rejected_value(text: str) -> str:
    """Return the value that a statement rejects: "7th" for "the wedding is on the 14th, not the 7th".

    Leading articles and prepositions are removed. Return an empty text if the statement rejects no value.
    """
    named = _REJECTED.search(fold_clause(text).rstrip(" .!"))
    return _bare_value(text, named, "old") if named is not None else ""


def _swap_whole(text: str, old: str, new: str) -> str | None:
    """Replace a whole value in a statement, even if the correction names only a part of the old value.

    The correction "June 14th, not the 7th" changes "the wedding is on June 7th" to "the wedding is on June 14th". Return
    None if the statement does not contain the old value.
    """
    plain = fold_clause(text)
    for value in _VALUES:
        found = value.search(fold_clause(new))
        if found is None:
            continue
        for place in value.finditer(plain):
            if fold_clause(old) in place[0]:
                return text[: place.start()] + new[found.start() : found.end()] + text[place.end() :]
    return None


def _swap(text: str, old: str, new: str) -> str | None:
    if not old or not new:
        return None
    place = re.search(rf"(?<!\w){re.escape(fold_clause(old))}(?!\w)", fold_clause(text))
    return None if place is None else text[: place.start()] + new + text[place.end() :]
