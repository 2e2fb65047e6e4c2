"""Check whether a text has the words or the form of a wish about memory, in English and Spanish.

The sentence reader (a small model) finds wishes in any wording, but it also makes mistakes. So it decides most easily if
the text contains the usual words of the wish (:func:`may_wish`), such as "don't keep" or "erase". A long text without these words
is read only if it has the form of a wish (:func:`may_wish_by_form`). All texts are folded: lower case, without accents.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from holdfast.runtime.regex import regex

__all__ = [
    "announced",
    "denies_secrecy",
    "has_another_sense",
    "is_of_a_text",
    "may_wish",
    "may_wish_by_form",
    "negates_keeping",
    "parts_of",
    "short_parts_of",
    "shows_in_part",
]

_KEEPING: Final = regex(
    r"\b(?:sav(?:e|ed|ing)|stor(?:e|ed|ing)|keep|kept|keeping|record|log|logg|logs|writ|wrote|jot|not(?:e|es|ed|ing)\b|remember|memor|retain|"
    r"archiv|fil(?:e|ed|ing)\b|profile|history\b|data\b|database|trace|forget|repeat|mention|hear|heard|say|said|tell|told|shar(?:e|ed|ing)\b|knows?\b|"
    r"hold\b|hang(?:ing)? (?:on )?(?:to|onto)\b|stick|brain|head\b|private|priva|secre(?!tar)|confid|sensitive|between|off (?:the|your|ur|my)\b|quiet|hush|incognito|ghost|mode\b|vault|"
    r"delete|erase|scrub|pretend|vanish|disappear|learn|let (?:it|this|that) go|(?:bring|brought|com(?:e|es|ing)|pop(?:s|ped)?)(?: it| this| that)? up\b|stays?\b|leave|go(?:es)? no further|anywhere|discreet|ear[s]?\b|mum'?s|lips|"
    r"guard|anot|apunt|registr|escri[bt]|almacen|archivo|memoriz|recuerd|recorda|acord|acuerd|conserv|retene|reteng|tomes? nota|nota[s]?\b|"
    r"entre (?:nosotr|vos|tu|usted|nos)|privad|qued(?:e|ar|ara|arse)\b|grab(?:es|e|en|ar|is)\b|aprend|repit|cuent|conta|dig[ao]s?\b|deci|saber|sabe|menci|"
    r"borr|olvid|ficha|perfil|historial|oido|callad|tumba|silencio|extraofi|incogn|ahi queda|no salga|sal(?:e|ga) de aqui|constancia|rastro|datos)"
)
_NEGATION: Final = regex(
    r"\b(?:no|not|never|none|nothing|zero|cero|(?:do|does|did|is|are|was|ca|could|wo|would|should|must|need|ai)n'?t|cannot|nobody|without|"
    r"stop|skip|off|out|pause|avoid|rather|ni|nunca|nada|nadie|jamas|sin|tampoco|evita|ningun\w*|dejes?|fuera|private|priva\w*|secre(?!tar)\w*|"
    r"between|entre|confid\w*|delete|erase|wipe|scratch|strike|discard|purge|refrain|borr\w*|forget|olvid\w*|pretend|incogn\w*|ghost|pausa|apaga|only|solo)\b"
)
_REMOVING: Final = regex(
    r"\b(?:forget|forgot|delete|erase|remove|drop|wipe|clear|scrub|scratch|strike|purge|discard|unlearn|lose|let go|get rid|throw|toss|"
    r"clean|cut|dump|ditch|rid\b|undo|scrap|stop|no longer|not need|don'?t|never|gone|out of|off\b|take|bury|unremember|disregard|ignore|cancel|void|"
    r"shred|bin\b|un-?(?:save|remember|record|hear|know)|olvid|borr|elimin|quit|sac[ao]|saque|saca|tach|tira|descart|suprim|limpi|desech|deja|anul|ignor|no |nunca|fuera|retir|desapare|vaci)"
)
_MINDING: Final = regex(
    r"\b(?:mind|future|reference|from now on|always|heads[- ]up|important|for later|learn|bear|fyi|presente|cuenta|grab|grav[ae]|"
    r"importante|siempre|adelante|ahora en mas|aprend|fij[ae]|para despues|mas tarde)"
)


_DENYING: Final = r"\b(?:not?|isn'?t|aren'?t|wasn'?t|nothing|no (?:es|son|era)|nada)(?: (?:a|an|un|una|de|very|really|nada|muy|tan|ningun))* (?:secre(?!tar)|private|privad|confiden)\w*"
"""Matches words that deny secrecy, such as "this isn't private"."""
_DENIES: Final = regex(_DENYING)
_OF_A_TASK: Final = (
    r"\b(?:i|we|he|she|they) (?:[\w']+ )?(?:don'?t|do not|never|doesn'?t|can'?t|no longer) (?:ever |really )?(?:keep|hold|take|make) (?:(?:any|a|my|the|many|much) )?(?:notes?|records?|track|diary|journal)\b(?! (?:of|on) (?:this|that|it)\b)|"
    r"\b(?:log|save|store|record|keep|note) (?:this|that|the) (?:bug|issue|ticket|error|crash|expense|meeting|jacket|cheese|meat|milk|food|coat|shirt|plant)s?\b|"
    r"\bno (?:(?:me|te|se) )?(?:(?:lo|la|los|las) )?(?:vayas? a )?(?:borr|elimin|tir|quit)(?:es|e|en|ar)(?:lo|la)?\b|\b(?:don'?t|do not|never) (?:delete|erase|remove|throw away) (?:it|that|this|them)\b|"
    r"\bno se (?:quitan?|borran?|van?|salen?) (?:con|ni)\b|\b(?:lo|la|los|las) (?:tengo|llevo) (?:\w+ )?(?:apuntad|anotad|guardad|registrad)[oa]s?\b"
)
"""Matches words about things of the user, or about something that must not be deleted. They are never a wish."""
_TASK: Final = regex(_OF_A_TASK)
_OTHER_SENSE: Final = regex(
    r"\bi (?:(?!you\b|u\b)[\w']+ ){0,3}(?:forget|forgetting|forgot|remember|remembering)\b|"
    r"\bi (?:(?!you\b|u\b)[\w']+ ){0,3}(?:save|log|write|note|record|jot|retain|store)\b(?! (?:this|that|it|these|those|any of)\b)|"
    r"\b(?:keep|log|save|leave|write) (?:me|us|him|her|them)\b(?! (?:in|on|off|out of) (?:your|ur|my|the (?:record|log|book|file)s?)\b)|"
    r"\b(?:me |no me )?(?:olvidarme|acordarme|acuerdo|olvide de|olvidaba|recuerdo|guardo|anoto|apunto|tomo (?:notas?|apuntes))\b|\bse (?:me|nos) olvid\w+|"
    r"\bi (?:\w+ )?(?:let go|deleted|erased|removed|dropped|wiped|cleared|lost|cut|quit|ditched|stopped|threw)\b|\bmemory (?:foam|cards?|sticks?|lane)\b|"
    r"\b(?:will|would|do) (?:you|u) (?:still )?remember (?:this|that|it|me)\b[^.!?]{0,40}\?|\bte (?:acordaras|acuerdas|acordas) de (?:esto|eso|mi)\b[^.!?]{0,40}\?|"
    r"\bremind\w*|\brecuerd(?:a|e)me\b|\bno me lo recuerdes?\b|\bto be remembered (?:as|for|by)\b|\b(?:los|mis|unos) apuntes\b|"
    r"\bpretend (?:that )?(?:to be|(?:you|i|we)(?: are|'re| am|'m))\b|\b(?:haz|hace|haga) (?:de cuenta |como )?que (?:eres|sos|es|soy|somos|estas|estamos)\b|\bno te guardes nada\b(?! (?:de|que)\b)|"
    rf"{_OF_A_TASK}|{_DENYING}"
)
"""Matches words that are not about the assistant's memory, such as "I forgot" or "pretend to be".

It also matches words that deny secrecy, such as "not a secret".
"""
_THESE_WORDS: Final = regex(
    r"\b(?:this|the following|what follows|the next (?:bit|part|thing|message)|what i(?:'m| am) (?:about to|going to)|esto|lo siguiente|lo que (?:viene|sigue|te voy))\b"
)
_TO_THE_ASSISTANT: Final = regex(r"\b(?:you|your|te|tu|tus|vos|ti)\b|\w{3,}(?:telo|tela|telos|telas)\b|^(?:make|haz|hace|let) ")
_MIN_IN_PART: Final = 0.02
"""Minimum probability with which a part of a message confirms the wish that was found in the whole message."""
_PIECE_WORDS: Final = 12
"""Number of words of a piece of a long part."""
_STEP_WORDS: Final = 6
"""Number of words from the beginning of a piece to the beginning of the next one."""
_PAUSE: Final = regex(r"\s*[,;:(–—]\s*|(?<=[.!?])\s+")


def may_wish_by_form(wish: Literal["off_record", "forget", "remember"], folded: str) -> bool:
    """Return True if a text has the form of the given wish. The text need not contain the words that :func:`may_wish` looks for.

    For ``off_record``, the text must contain a word such as "this" ("esto muere aquí"). For ``forget``, it must address the
    assistant. For ``remember``, it must contain a colon, and must also contain a word such as "this" or address the assistant
    ("burn this into your circuits: ..."). ``folded`` is the text in lower case, without accents.
    """
    if wish == "off_record":
        return _THESE_WORDS.search(folded) is not None and not denies_secrecy(folded)
    if wish == "forget":
        return _TO_THE_ASSISTANT.search(folded) is not None
    return ":" in folded and (_THESE_WORDS.search(folded) is not None or _TO_THE_ASSISTANT.search(folded) is not None)


def denies_secrecy(folded: str) -> bool:
    """Return True if a text says that something is no secret. The sentence reader often takes this for a wish.

    ``folded`` is the text in lower case, without accents.
    """
    return _DENIES.search(folded) is not None


_ANNOUNCEMENT: Final = regex(r"^(?P<request>[^:.!?\n]{3,70}): ?(?P<fact>\S.*)$")
_OWN: Final = regex(r"\b(?:my|our|mis?|nuestr[oa]s?|i'm|i am|soy|tengo)\b")


def announced(text: str, folded: str) -> str:
    """Return what follows a request to remember it: "chuck this in your notes: bin day is Monday". Return an empty text if nothing does.

    ``folded`` is the text in lower case, without accents. Each character has the same position.
    """
    found = _ANNOUNCEMENT.match(folded)
    if found is None or _OWN.search(found["request"]):
        return ""
    is_request = may_wish("remember", found["request"]) or may_wish_by_form("remember", f"{found['request']}:")
    return text[found.start("fact") :].strip() if is_request else ""


_NEGATED_KEEPING: Final = regex(
    r"(?<!\bi )(?<!\bwe )(?<!\bthey )\b(?:do not|don'?t|never)(?: (?:you|u|go|dare|ever|be|please|just|even|bother))* (?:sav(?:e|ing)|stor(?:e|ing)|keep(?:ing)?|"
    r"record(?:ing)?|writ(?:e|ing)|log(?:ging)?|not(?:e|ing)|jot(?:ting)?|remember(?:ing)?|retain(?:ing)?|memori[sz](?:e|ing)) (?:this|that|it|any of)\b|"
    r"\bno (?:(?:me|te|se) )?(?:(?:lo|la|los|las) )?(?:vayas? a |estes? )?(?:guard|anot|apunt|registr|grab|conserv|memori)(?:es|e|ar|ando|ces|ce)(?:lo|la| esto| eso)?\b"
)


def has_another_sense(folded: str) -> bool:
    """Return True if a text has words about something other than the assistant's memory: "I keep no records of my spending".

    ``folded`` is the text in lower case, without accents.
    """
    return _TASK.search(folded) is not None


def negates_keeping(folded: str) -> bool:
    """Return True if a text asks not to keep something: "dont you go writing that down". Such a text never asks to remember it.

    ``folded`` is the text in lower case, without accents.
    """
    return _NEGATED_KEEPING.search(folded) is not None


def may_wish(wish: Literal["off_record", "forget", "remember"], folded: str) -> bool:
    """Return True if a text contains the usual words of this kind of wish, such as "erase" in a wish to forget.

    ``folded`` is the text in lower case, without accents.
    """
    folded = _OTHER_SENSE.sub(" ", folded)
    if wish == "forget":
        return _REMOVING.search(folded) is not None or _is_not_keeping(folded)
    if wish == "remember":
        return _KEEPING.search(folded) is not None or _MINDING.search(folded) is not None
    return _is_not_keeping(folded)


def _is_not_keeping(folded: str) -> bool:
    return any(_KEEPING.search(part) is not None and _NEGATION.search(part) is not None for part in _PAUSE.split(folded))


_OF_A_TEXT: Final = regex(
    r"\b(?:from|in|of|out of|off|to) (?:the|my|this|that|our) (?:\w+ )?(?:cv|resume|letter|e-?mail|mail|draft|list|text|essay|report|file|document|slides?|deck|code|table|paragraph|"
    r"sentence|template|recipe|invoice|contract|spreadsheet|script|query|function|poem|story|post|caption|bio|docs?|docstring|comments?|readme|changelog|"
    r"ticket|minutes|summary|calendar|agenda|commit message|wiki)\b|"
    r"\b(?:de|del|en|a) (?:el |la |los |las |mi |este |esta |ese |esa )?(?:carta|correo|mail|texto|archivo|lista|tabla|contrato|informe|parrafo|frase|curriculum|cv|excel|codigo|ensayo|"
    r"presentacion|receta|factura|cuadro|guion|poema|cuento|borrador|documento|plantilla|comentario|acta|resumen|calendario|agenda)\b"
)


_FORGETTING: Final = regex(
    r"\b(?:forget|erase|delete|remove|drop|lose|wipe|purge|scrub|unlearn|discard|expunge|get rid of)\b"
    r"|\b(?:olvid|borr|elimin|suprim|desgrab|quit)(?:a|e|es|ar|en|ad|i|al|at|el|es)?(?:te|se|me|lo|la|los|las|melo|mela|telo|telas?)?\b|\bdej(?:a|e|es|ar) de (?:recordar|saber|guardar|tener)\w*"
    r"|\bno (?:(?:te|se|lo|la|los|las) ){0,2}(?:recuerd|acuerd|guard|conserv|teng)\w+ (?:mas|ya)\b|\b(?:stop|no longer|not) (?:remember|keep|stor)\w* [^.!?]*\b(?:any ?more|any longer)\b"
)
_OWN_FORGETTING: Final = regex(r"\b(?:i|we|he|she|they|yo|me|se me) (?:\w+ ){0,2}(?:forget|lose|drop|delete|olvid|borr)\w*")


def asks_to_forget(folded: str) -> bool:
    """Return True if a text has a verb that asks to forget something, such as "lose that" or "olvídate de".

    ``folded`` is the text in lower case, without accents.
    """
    return _FORGETTING.search(_OWN_FORGETTING.sub(" ", folded)) is not None


_POINTING: Final = regex(
    r"\b(?:it|that|this|them|those|these|him|her)\b|\w{3,}(?:lo|la|los|las)\b|\b(?:lo|la|los|las|eso|esto) \w+|\bolvida[d]?o\b"
)


def points_to_something(folded: str) -> bool:
    """Return True if a clause has a pronoun that can stand for what was said before. It is in lower case, without accents."""
    return _POINTING.search(folded) is not None


def is_of_a_text(folded: str) -> bool:
    """Return True if a message mentions a text such as a letter or a file: "delete the last line of the letter".

    ``folded`` is the message in lower case, without accents.
    """
    return _OF_A_TEXT.search(folded) is not None


def parts_of(text: str) -> list[str]:
    """Return the parts of a message between punctuation marks. A single word is no part."""
    return [part for part in _PAUSE.split(text) if len(part.split()) > 1]


def short_parts_of(text: str) -> list[str]:
    """Return the parts of a message, with overlapping pieces of a few words instead of each long part.

    People who dictate use no punctuation, so that a part can be the whole message.
    """
    return [piece for part in parts_of(text) for piece in _pieces(part.split())]


def _pieces(words: Sequence[str]) -> list[str]:
    if len(words) <= _PIECE_WORDS + _STEP_WORDS // 2:
        return [" ".join(words)]
    starts = range(0, len(words) - _PIECE_WORDS + _STEP_WORDS, _STEP_WORDS)
    return [" ".join(words[start : start + _PIECE_WORDS]) for start in starts]


def shows_in_part(text: str, chance: Callable[[str], float]) -> bool:
    """Return True if a part of a message confirms the wish that the whole message seems to contain.

    ``chance`` returns the probability that a text contains the wish. A part confirms the wish if its probability is at least
    0.02. If the message has at most one part, the result is always True.
    """
    parts = parts_of(text)
    return len(parts) <= 1 or any(chance(part) >= _MIN_IN_PART for part in parts)
