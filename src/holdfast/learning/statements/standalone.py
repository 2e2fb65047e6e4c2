"""Check whether a statement can be understood without the conversation.

A memory is read weeks later, without its context. The checks are grammatical: whether a pronoun refers to something in the
statement, and whether the statement is a question or a fragment of a sentence.
"""

import re
from typing import Final

from holdfast.runtime.regex import regex
from holdfast.text.dictation import HE, has_verb

__all__ = [
    "PERSONS",
    "is_english",
    "is_irreal",
    "is_question",
    "is_unfinished",
    "leaves_subject_out",
    "names_no_object",
    "refers_to_someone",
    "unnamed",
    "without_subordinator",
]

_ENGLISH: Final = regex(r"\b(?:the|an|is|are|was|were|of|to|and|it|in|for|with|that|this|you|my|i|i'm|we|have|has)\b")
_QUESTION: Final = regex(
    r"(?:(?:and|but|so|also|then|or)\s+)*(?:(?:do|does|did|is|are|was|were|can|could|would|will|should|have|has|had)"
    r"(?:n'?t)?\s+(?:i|you|we|they|he|she|it|there|the|this|that|these|those|my|your|anyone|someone)\b"
    r"|(?:what|how|where|which|when|why|who)\s+(?:\w+\s+){0,2}(?:is|are|was|were|do|does|did|can|could|should|would|will|to)\b)"
)
_UNFINISHED: Final = regex(
    r"\b(?:as|and|or|but|of|the|an?|because|if|than|my|your|our|y|o|pero|porque|de|el|la|los|las|(?<!\bpor )(?<!\bpara )(?<!\ba )(?<!\bde )mi|que)\W*$"
)
_PHRASE: Final = regex(r"(?:a|para|de|con) (?:mis?|los|las|tus?|sus?) \w+\W*$")
_SUBORDINATOR: Final = regex(
    r"(?:because|since(?! (?:i|we) (?:was|were)\b)|although|though|whereas|considering(?: that)?|given that|plus|then|and|but|so|porque|aunque|ya que|considerando que|dado que|y|pero)\s+(?=(?:i|we|my|our|i'm|i've|we're|we've|mi|yo|me)\b)",
    re.IGNORECASE,
)
_BACK: Final = regex(
    r"\b(?:it|them|those|these|they|he|she|hes|shes|him|their|theirs|his|its|mine|ours|ones|(?:one|two|three|four|five|six|several|\d+) (?:cups|glasses|slices|pieces|bottles)(?! of\b)|there(?!\s+(?:is|are|was|were|has|have|will|'s)\b)"
    r"|her(?=\s*(?:[.,;!]|$|(?:every|each|on|at|twice|once|daily|too|back|again|when|because|since|so|and|but|about|for|to|(?:\w+|\d+) (?:days|weeks|months|years) ago)\b))"
    r"|that(?=\s*(?:[.,;!]|$|too\b|as well\b|one\b))|this(?=\s*(?:[.,;!]|$|one\b|is\b)))(?!\s+(?:days|months?|years?|weeks?|summer|winter))\b"
)
"""Matches a word that refers to something named earlier, such as a pronoun."""
_EMPTY_IT: Final = regex(
    r"\bit(?: when| if| that| to| how|'s| is| was| has been| takes?| took| feels?| felt| seems?| makes? (?:me|sense)| helps?)\b"
    r"|\bit (?:hard|easy|difficult|important|fun|weird|clear)\b"
)
"""Matches an "it" that refers to nothing, as in "it's hard to ..."."""
_THING: Final = regex(
    r"\b(?:my|our|the|an?|his|her|some|two|three|four|five|several|many|both|another|\d+)\s+(?:\w+\s+)?[a-z]{3,}"
    r"|\b[a-z]{4,}s\b(?<!always)(?<!sometimes)(?<!besides)(?<!perhaps)(?<!towards)(?<!across)(?<!this)"
)
"""Matches a noun that a later pronoun can refer to, in lower case."""
PERSONS: Final = frozenset({"he", "she", "hes", "shes", "him", "his", "her"})
"""Pronouns for one person."""
_OBJECTS: Final = frozenset({"it", "them"})
_OWNED: Final = ("my ", "our ")
_SOMEONE: Final = regex(
    r"\b(?:my|our|the|an?|this|that|his|her|another|one of)\s+(?:[\w-]+\s+){0,2}?(?:\w+er|\w+or|\w+ist|\w+ian|mom|mum|dad|son|wife|husband|aunt|uncle|cousin|niece|nephew"
    r"|friend|boyfriend|girlfriend|partner|guy|girl|boy|man|woman|lady|kid|child|baby|person|boss|colleague|teammate|roommate|dog|cat|puppy|pet|horse|ex|fiancée?|spouse|student|nurse|doc|coach|vet)s?\b"
    r"|\b(?:someone|somebody|everyone|who)\b"
)
"""Matches someone whom "he" or "she" can refer to, in lower case."""
_CLAUSE: Final = regex(r"[,;:.!?–—]\s|\s(?:and|but|because|so|when|while|which|since|as|that|-)\s")
"""Matches the boundary of two clauses."""
_MIN_CLAUSE_CHARACTERS: Final = 8
_NAME: Final = regex(
    r"(?<=[a-z,] )[A-ZÁÉÍÓÚÑ][\w'-]+|^(?!I\b|I'|We\b|My\b|Our\b|It\b|They\b|He\b|She\b|This\b|That\b)[A-Z][a-z]+(?= (?:is|was|has|and)\b)"
)


_RELATIVE: Final = regex(r"(?:que|quien|quienes|cuy[ao]s?|who|who's|whose|which)\s")
_NO_SUBJECT_ES: Final = regex(
    r"(?:(?:y|pero|que|pues|ya|no|si|tambien|ahora|hoy|siempre|nunca|casi|solo|es que|me|te|le|les|se|lo|la|los|las|nos),?\s+)*"
    r"(?:(?:es|era|fue|sera|esta|estaba|estuvo|tiene|tenia|tuvo|va|iba|viene|vino|hace|ha|habia|puede|quiere|sabe|dice|debe|da|sale|vive|trabaja|pide|usa|toma|come|juega|estudia|odia|prefiere|necesita|llega|cumple|lleva|habla|duerme|gana|cobra|canta|toca|maneja|cuida|(?<=se )llama|hizo|puso|dijo|quiso|pudo|trajo|\w{2,}ó)"
    r"|\w{3,}[ae](?=\s+(?:\d+|un|una|uno|dos|tres|el|la|los|las|en|con|a|al|de|del|mucho|mucha|muy|bien|mal|por|desde|como|su|sus|y)\b))\b"
)
"""Matches the beginning of a Spanish sentence in the third person that names no subject, in lower case and without accents."""
_OBJECT_FIRST: Final = regex(
    r"(?:(?:y|pero|pues|ya|no|hoy|es que)\s+)*(?:(?:la|lo|los|las)\s+(?:\w{2,}o|tengo|voy|estoy|he|hemos|\w{3,}mos)|(?:la|lo|los|las|le|les)\s+(?:puse|hice|di|tuve|dije|traje|quise))\s"
)
"""Matches an object pronoun and a verb in the first person: "la tengo que exponer"."""
_ABOUT_SOMEONE: Final = regex(
    rf"(?:(?:and|but|so|y|pero)\W+)*(?:{HE}|she|his|her|hes|shes|él|ella|el(?= (?:es|tiene|está|esta|vive|trabaja|va|dice|quiere|se|no)\b)|(?:(?:en|con|a|de) )?sus?(?= \w))\b",
    re.IGNORECASE,
)
"""Matches a text about someone named earlier. In Spanish, "el" before a verb is "él" without its accent."""
_HE_OR_SHE: Final = regex(
    r"(?:(?!\b(?:[Mm]i|[Mm]is|un|una|el|la|los|las|del|al)\b|\B[A-ZÁÉÍÓÚÑ]|(?<=\s)[A-ZÁÉÍÓÚÑ]).)*?\s(?:él|ella)\b"
)
"""Matches "él" or "ella" inside a text, if no noun with an article and no name is before it."""
_SINCE: Final = regex(r"(?:ever )?since (?:i|we) (?:was|were)\b[^,]*$|desde que (?:era|eramos|tengo|tenia)\b[^,]*$")
_IRREAL: Final = regex(
    r"(?:(?:y|pero|ay|ja\w*|and|but|oh)\W+)*(?:si (?:yo |me |no )*(?:fuera|fuese|tuviera|tuviese|pudiera|hubiera|\w{2,}(?:ara|iera|iese))\b|ojala\b|a ver si\b|if i (?:were|was|had)\b)"
)
_ES_DETERMINER: Final = regex(
    r"(?:este|esta|ese|esa|aquel|cada|entre|sobre|desde|durante|ante|bajo|siempre|gente|nadie|para|una|hasta|contra|fuera|cerca|ahora|antes|donde)\s"
)


def refers_to_someone(text: str) -> bool:
    """Return True if a text is about someone whom it does not name: "she moved to Graz", "con ella tuve un juicio"."""
    return _ABOUT_SOMEONE.match(text) is not None or _HE_OR_SHE.match(text) is not None


def is_irreal(folded: str) -> bool:
    """Return True if a text begins with a condition that is not met, or with a wish: "if I were rich", "ojalá llueva".

    The text must be in lower case and without accents.
    """
    return _IRREAL.match(folded) is not None


def begins_with_relative(folded: str) -> bool:
    """Return True if a text begins with a relative pronoun: "who lives in Graz". It is in lower case and without accents."""
    return _RELATIVE.match(folded) is not None


def is_since_clause(folded: str) -> bool:
    """Return True if a text is only a clause about a time, which belongs to another sentence: "since I was a kid"."""
    return _SINCE.match(folded) is not None


def leaves_subject_out(folded: str, language: str | None) -> bool:
    """Return True if a text does not name its subject: "who lives in Graz", "lleva dos días con tos".

    The text must be in lower case and without accents. A verb in the first person counts as naming its subject.
    """
    if _RELATIVE.match(folded):
        return True
    return language == "es" and not _ES_DETERMINER.match(folded) and _NO_SUBJECT_ES.match(folded) is not None


def names_no_object(folded: str, language: str | None) -> bool:
    """Return True if a Spanish text begins with an object pronoun, so that the object is not named: "la tengo que exponer"."""
    return language == "es" and _OBJECT_FIRST.match(folded) is not None


def is_english(folded: str, language: str | None) -> bool:
    """Return True if a text is English. If ``language`` is None, a text with an English function word counts as English."""
    return language == "en" or (language is None and _ENGLISH.search(folded) is not None)


def is_question(folded: str) -> bool:
    """Return True if a text has the word order of a question, even without a question mark.

    The text must be in lower case and without accents.
    """
    return _QUESTION.match(folded) is not None


def is_unfinished(folded: str) -> bool:
    """Return True if a text breaks off in the middle of a sentence, or is only a phrase of it: "a mis pacientes"."""
    return _UNFINISHED.search(folded) is not None or (_PHRASE.match(folded) is not None and not has_verb(folded))


def without_subordinator(text: str) -> str:
    """Return a clause without its leading conjunction: "because I hated it" becomes "I hated it"."""
    found = _SUBORDINATOR.match(text)
    return text if found is None else text[found.end() :]


def unnamed(text: str, folded: str) -> str:
    """Return the first pronoun in an English statement that refers to something that the statement does not name.

    Return an empty text if there is none. Only the first clause is checked. A pronoun in a later clause refers to an earlier
    clause ("I hate cilantro, it tastes like soap"). ``folded`` is the statement in lower case and without accents.
    """
    first = _CLAUSE.search(folded, _MIN_CLAUSE_CHARACTERS)
    for found in _BACK.finditer(folded, 0, first.start() if first else len(folded)):
        if found[0] == "it" and _EMPTY_IT.match(folded, found.start()):
            continue
        before = text[: found.start()]
        if found[0] in PERSONS:
            named = _SOMEONE.search(folded, 0, found.start())
        else:
            named = _THING.search(folded, _subject_end(folded) if found[0] in _OBJECTS else 0, found.start())
        if named is None and not _NAME.search(before):
            return found[0]
    return ""


def _subject_end(folded: str) -> int:
    """Return where the subject at the beginning of a clause ends. An object pronoun cannot refer to it: "my kids won't touch them"."""
    subject = _THING.match(folded)
    return subject.end() if subject is not None and folded.startswith(_OWNED) else 0
