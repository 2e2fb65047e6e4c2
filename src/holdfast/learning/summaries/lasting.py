"""Recognize memories that must not expire when unused: identity, health, family and standing instructions."""

from typing import Final

from holdfast.errors import ModelError
from holdfast.learning.answer_check.words import people
from holdfast.learning.changes.keys import is_lasting_key
from holdfast.learning.summaries.importance import areas_of
from holdfast.protocols import SentenceReader
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.types import Memory

_LASTING_AREAS: Final = frozenset({"identity", "health", "family", "instruction"})
_INSTRUCTION: Final = regex(
    r"(?:please |por favor,? )?(?:always|never|do(?: not|n'?t) (?:ever )?|from now on|every time|siempre|nunca|jamas|de ahora en adelante|a partir de ahora)\b"
    r"|\b(?:(?:wants?|asks?|asked|prefers?|likes?) (?:you|me|the assistant|to be (?:called|addressed)|answers?|replies|responses)"
    r"|call (?:me|him|her|them|the user)|(?:answer|reply|respond|talk|write|speak)(?:s|ed)? (?:to )?(?:me|him|her|them|in|with|without|briefly|short))\b"
    r"|\b(?:(?:quier[eo]|pid[eo]|pidio|prefier[eo]) que (?:le|me|lo|la|se|no|siempre|nunca)\b"
    r"|(?:llam|habl|respond|contest|escrib)(?:a|e|ame|ale|eme|ele|anme|enme|anle|enle|ame siempre)\b|trat(?:ame|eme|arlo|arla) de)"
)
"""Matches a standing instruction to the assistant, in a text in lower case without accents."""
_IDENTITY: Final = regex(
    r"\b(?:(?:my|user'?s|his|her|their) (?:full |first |last |middle |maiden |sur|nick)?(?:name|pronouns|gender|nationality|religion|native language|mother tongue)"
    r"|(?:user|he|she) is (?:named|called)|born (?:in|on)|transgender|trans (?:man|woman)|non ?binary|gay|lesbian|bisexual|citizen|immigrant|refugee|widow(?:er|ed)?"
    r"|usuari[oa] se llama|nacid[oa]|nacionalidad|ciudadan[oa]|pronombres|transexual|no binari[oa]|refugiad[oa]|viud[oa]|lengua materna"
    r"|apellidos?|religion del usuario)\b"
)
"""Matches a statement about the user's identity, in a text in lower case without accents."""
_HEALTH: Final = regex(
    r"\b(?:wheelchair|crutches|pacemaker|prosthe\w+|hearing aids?|deaf|blind|disab(?:led|ility|ilities)|epi-?pen|insulin|inhaler|stroke|tumou?r|seizures?|migraines?"
    r"|disease|syndrome|disorder|chronic|arthritis|hypertensi\w+|hiv|adhd|autis\w+|bipolar|dementia|alzheimer\w*|parkinson\w*|sclerosis|lupus|crohn\w*|miscarriages?|penicillin"
    r"|addict\w*|sober|prescri\w+|thyroid|transplant\w*|anxiety|panic attacks?|injur(?:y|ed)|vaccin\w+"
    r"|silla de ruedas|muletas|marcapasos|protesis|audifonos|sord[oa]|cieg[oa]|discapaci\w+|insulina|inhalador|ictus|infarto|tumor|convulsiones|migranas?"
    r"|enfermedad\w*|sindrome|trastorno|cronic[oa]|artritis|hipertens\w+|vih|tdah|demencia|esclerosis|aborto|penicilina|adict[oa]|sobri[oa]|recet(?:o|aron|ado)|tiroides|trasplant\w+|ansiedad|lesion\w*"
    r"|tom(?:a|o) (?:\w+ )?(?:mg|pastillas|medicacion))\b"
)
"""Matches a statement about health that the patterns in ``importance.py`` do not cover.

The text must be in lower case without accents.
"""
_FAMILY: Final = frozenset(
    {"parent", "child", "spouse", "sibling", "grandparent", "grandchild", "aunt or uncle", "cousin", "nephew or niece"}
    | {"parent-in-law", "child-in-law", "sibling-in-law", "step-parent", "stepchild", "half-sibling", "great-grandparent"}
)
_AMBIGUOUS: Final = frozenset("son sons viejo vieja papa tio tia tios mujer pareja prima primo".split())
"""Words for relatives that also have other meanings, such as Spanish "son" (they are).

They do not make a memory lasting by themselves.
"""
_WORD: Final = regex(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_THIRD_PERSON: Final = (
    (regex(r"\b[Tt]he user's\b"), "my"),
    (regex(r"\b[Tt]he user is\b"), "I am"),
    (regex(r"\b[Tt]he user has\b"), "I have"),
    (regex(r"\b[Tt]he user (\w{2,}[^\Ws])s\b"), r"I \1"),
    (regex(r"\b[Tt]he user\b"), "I"),
)
"""Replacements that turn a report about the user into the user's own words: "the user is" becomes "I am".

The sentence reader is more reliable with such words.
"""


def is_lasting(memory: Memory, reader: SentenceReader | None = None) -> bool:
    """Return True if a memory must not expire when unused.

    A memory is lasting if its key, its words or the sentence reader says so. The reader is called last. If ``reader``
    is None, only the key and the words count. If the reader fails, return True, so that nothing expires by mistake.
    """
    if memory.key is not None and is_lasting_key(memory.key):
        return True
    plain = fold(memory.text)
    if areas_of(memory.text) & _LASTING_AREAS or any(each.search(plain) for each in (_INSTRUCTION, _IDENTITY, _HEALTH)):
        return True
    if any(people()[word].family in _FAMILY for word in _WORD.findall(plain) if word in people() and word not in _AMBIGUOUS):
        return True
    if reader is None:
        return False
    try:
        return any(reader.read(text).area in _LASTING_AREAS for text in {memory.text, _in_first_person(memory.text)})
    except ModelError:  # nothing expires while the sentence reader cannot be used
        return True


def _in_first_person(text: str) -> str:
    for pattern, words in _THIRD_PERSON:
        text = pattern.sub(words, text)
    return text
