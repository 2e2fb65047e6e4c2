"""Split text without punctuation into clauses, in English and Spanish.

A voice recognizer returns such text. It is split only where a new clause clearly begins: at a subject with its
verb after a word such as "and", or, without such a word, at a pronoun with an auxiliary verb. So "bread and butter" and "the
doctor said my pressure is high" are not split.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.runtime.regex import regex

__all__ = ["HE", "has_verb", "is_statement", "split_at_conjunctions", "split_dictation"]

HE: Final = r"he(?!\s+(?:\w+(?:ado|ido|ído)|visto|hecho|dicho|puesto|escrito|roto|abierto|vuelto|devuelto|resuelto|cubierto|descubierto|muerto|impreso)\b)"
"""Matches the English word "he", but not the Spanish one in "he dejado el gimnasio". It is part of other patterns."""
_MARKS: Final = regex(r"[,;:()–—]|[.!?…]\s")
"""Matches punctuation inside a sentence."""
_MIN_WORDS: Final = 3
"""Minimum number of words on each side of a cut."""
_MAX_WORDS: Final = 24
"""Maximum number of words of a piece. A longer piece is also cut before conjunctions."""
_MIN_PIECE_WORDS: Final = 5
_FILLER: Final = r"(?:(?:then|also|now|um|uh|er|like|well|so|okay|ok|anyway|luego|ademas|además|tambien|también|ahora|eh|este|bueno|pues|o sea|encima|despues|después) )*"
_AUXILIARY: Final = (
    r"(?:am|is|are|was|were|have|has|had|do|does|did|can|could|will|would|should|must|might|isn'?t|aren'?t|wasn'?t|weren'?t|haven'?t|hasn'?t"
    r"|hadn'?t|don'?t|doesn'?t|didn'?t|can'?t|cannot|couldn'?t|won'?t|wouldn'?t|never|always|just|also|still|used)"
)
_SHORT: Final = r"(?:i'?m|i'?ve|i'?ll|i'?d|he'?s|she'?s|they'?re|they'?ve|we'?re|we'?ve|there'?s|it'?s)"
_NOUN_PHRASE: Final = r"(?:my|our|his|her|their|the) (?:(?!and\b|or\b|who\b|that\b)[\w'’-]+ ){1,3}?"
_SPANISH_VERB: Final = (
    r"(?:es|son|soy|somos|eres|era|eran|fue|fui|esta|está|estoy|estamos|estan|están|tiene|tienen|tengo|tenemos|tuvo|tuve|vive|viven|vivo|vivimos"
    r"|trabaja|trabajan|trabajo|trabajamos|va|van|voy|vamos|hace|hacen|hago|hacemos|quiere|quieren|quiero|queremos|puede|pueden|puedo|podemos"
    r"|come|comen|como|comemos|dice|dicen|hay|ha|han|he|hemos|cumple|cumplen|estudia|estudian|estudio|juega|juegan|juego|llega|llegan|llego"
    r"|\w{3,}(?:aba|aban|ábamos|aron|ieron|amos|emos|imos)|\w{2,}(?:é|ó))"
)
_SPANISH_FIRST_PERSON: Final = (
    r"(?:soy|somos|fui|estoy|estamos|tengo|tenemos|tuve|vivo|vivimos|trabajo|trabajamos|voy|vamos|hago|hacemos|quiero|queremos|puedo|podemos|como|comemos|he|hemos"
    r"|estudio|juego|llego|\w{3,}(?:amos|emos|imos|ábamos)|\w{2,}é)"
)
"""Matches a Spanish verb in the first person. Only such a verb can begin a clause without a subject."""
_AFTER_VERB: Final = (
    r"(?= (?:a|al|de|del|en|con|sin|un|una|unos|unas|el|la|los|las|mi|mis|su|sus|muy|que|para|por|como|dos|tres|cuatro|cinco|\d+|alergic\w+|alérgic\w+"
    r"|mas|más|casi|solo|sólo|desde|hasta|cada|todo\w*|\w+(?:ando|iendo|ado|ido|ero|era|ista|or|ora))\b)"
)
_STARTS: Final = regex(
    # After a coordinating word: a subject, in English with its verb.
    rf"(?P<and>(?: (?:and|but|so|plus|then|anyway|y|pero|luego|entonces|además|ademas|también|tambien))+) {_FILLER}"
    rf"(?=(?:(?:i|we|he|she|they|there|it) (?!and\b|or\b)[\w'’]+|{_SHORT} \w|[a-z]{{3,}} (?:is|has|lives|works)\b|{_NOUN_PHRASE}(?:{_AUXILIARY}|gets?|goes|lives?|works?|likes?|loves?|hates?|"
    rf"wants?|needs?|keeps?|comes?|turns?|plays?|thinks?|says?|starts?|ends?|\w{{3,}}ed|\w{{3,}}s (?:me|us|him|her|them|it|my|our|the|an?|in|at|for|to|on))\b"
    rf"|(?:yo|me|nos|él|ella|ellos|ellas) \w+|no me \w+|ya no \w+|(?:mi|mis|nuestr[oa]s?|su|sus|el|la|los|las) (?:\w+ ){{1,2}}?(?:se \w+|no \w+|{_SPANISH_VERB})\b|{_SPANISH_FIRST_PERSON}{_AFTER_VERB}"
    r"|\w{3,}o (?:a|al|en|un|una|el|la|los|las|mi|mis|que|muy|\d+) ))"
    # Without one: a pronoun with an auxiliary verb, or a relative of the speaker with a verb.
    rf"|(?P<run_on> )(?=(?:i|he|she|they|we) {_AUXILIARY}\b|{_SHORT} \w|my (?:\w+ ){{1,2}}?(?:is|are|was|has|have)\b|my (?:\w+ )?\w+'s (?:\w+ing|been|got|not|an?|the|in|on|at)\b|(?:me|nos) (?:di[jo]\w*|\w+(?:ó|aron|ieron))\b|(?!como )(?:{_SPANISH_FIRST_PERSON}){_AFTER_VERB})"
)
_TIES: Final = regex(
    r"\b(?:that|which|who|whom|whose|what|where|when|while|why|how|if|whether|because|cause|cuz|coz|cos|bc|since|as|than|until|till|before|after|although|though|"
    r"think|thinks|thought|know|knows|knew|said|says|say|told|tell|me|guess|hope|sure|believe|feel|mean|means|wish|see|saw|glad|afraid|remember|forget|and|or|but|so|"
    r"then|to|of|for|with|in|on|at|by|from|about|like|do|does|did|is|are|was|were|have|has|had|can|could|will|would|should|the|a|an|all|everything|only|thing|way|time|day|"
    r"qu[eé]|qui[eé]n|ad[oó]nde|d[oó]nde|cu[aá]ndo|c[oó]mo|cu[aá]l|cu[aá]nt[oa]s?|si|porque|xq|pq|aunque|mientras|lo|la|le|les|te|me|se|nos|no|ya|y|o|ni|pero|tambien|también|yo|tu|él|el|ella|ellos|ellas|usted|ustedes|"
    r"de|del|a|al|en|con|por|para|un|una|los|las|mi|mis|su|sus|muy|mas|más|todo|eso|esto|siempre|nunca|ahora|luego|entonces|pues|bueno)$"
    r"|\b(?:tell|told|ask|asked|show|remind|convince)(?: \w+){1,3}$"
)
"""Matches a word at the end of a text that binds the next clause to it, such as "that" or "because". No cut is made there."""
_CONDITION: Final = regex(
    r"(?:\w+ ){0,2}(?:if|unless|suppose|supposing|imagine|si|ojala|ojalá|suponiendo|imagina|imaginate|imagínate)\b"
)
"""Matches the beginning of a condition, such as "if". A condition is not cut from the clause that follows it."""
_HAS_VERB: Final = regex(
    rf"\b(?:{_SHORT}|{_AUXILIARY}|(?:i|we|they|he|she|you) \w+|(?:me|nos|se|yo) \w+|{_SPANISH_VERB}|^(?:y |pero )?(?!luego\b)\w{{3,}}o (?:a|en|un|una|el|la|los|las)|\w{{3,}}ed|called|went|got|likes|loves|hates|lives|works)\b"
)
_SUBJECT: Final = regex(
    r"(?:I|i|i['’]?(?:m|ve|ll|d)|we|he|she|it|they|there|my|our|his|her|their|the|this|yo|mis?|nuestr[oa]s?|sus?|el|la|los|las|él|ella|hay|ya|no|nunca|siempre"
    r"|[A-ZÁÉÍÓÚÑ]\w+)\b(?!['’]s\b)"
)
_CONJUNCTIONS: Final = frozenset(
    "and but so because then also anyway however while though well okay y e pero entonces porque luego también tambien además ademas "
    "aunque después despues bueno así asi pues".split()
)


def split_dictation(sentence: str) -> Iterator[str]:
    """Split a sentence that has no punctuation into its clauses. A sentence with punctuation is not split into clauses.

    In both cases, each piece of more than 24 words is then split at conjunctions (see :func:`split_at_conjunctions`).
    """
    if _MARKS.search(sentence.rstrip(".!?…")) or sentence.endswith((".", "!", "?", "…")):
        yield from split_at_conjunctions(sentence)
        return
    for clause in _clauses(sentence):
        yield from split_at_conjunctions(clause)


def split_at_conjunctions(sentence: str) -> Iterator[str]:
    """Split a sentence at conjunctions such as "and" if it has more than 24 words and no comma, colon or semicolon.

    A shorter sentence is yielded unchanged. No piece has fewer than five words.
    """
    words = sentence.split()
    if len(words) <= _MAX_WORDS or any(word[-1] in ",;:" for word in words):
        yield sentence
        return
    start = 0
    for at, word in enumerate(words):
        if word.casefold() in _CONJUNCTIONS and at - start >= _MIN_PIECE_WORDS and len(words) - at >= _MIN_PIECE_WORDS:
            yield " ".join(words[start:at])
            start = at
    yield " ".join(words[start:])


def _is_open(left: str) -> bool:
    """Return True if a text ends inside a clause with "que" whose verb is still to come: "dice que con 16"."""
    _, that, rest = left.rpartition(" que ")
    return bool(that) and not _HAS_VERB.search(rest)


def has_verb(text: str) -> bool:
    """Return True if a text contains a verb, as far as frequent verbs and endings show it."""
    return _HAS_VERB.search(text.lower().replace("’", "'")) is not None


def is_statement(text: str, *, announced: bool = False) -> bool:
    """Return True if a text clearly begins with a subject and contains a verb: "the key is under the pot", but not "movie with the dog".

    With ``announced``, the text follows a word such as "that". It then needs no known verb.
    """
    return _SUBJECT.match(text) is not None and (announced or has_verb(text))


def _clauses(sentence: str) -> Iterator[str]:
    start = 0
    conditions: set[int] = set()
    plain = sentence.lower().replace("’", "'")
    for found in _STARTS.finditer(plain) if len(plain) == len(sentence) else ():
        left, right = plain[start : found.start()], plain[found.end() :]
        if len(left.split()) < _MIN_WORDS or len(right.split()) < _MIN_WORDS or not _HAS_VERB.search(left):
            continue
        if found["run_on"] and (_TIES.search(left) or _is_open(left)):
            continue
        if _CONDITION.match(left) and start not in conditions:
            conditions.add(start)
            continue
        yield sentence[start : found.start()].strip()
        start = found.start() + 1
    yield sentence[start:].strip()
