"""Split a sentence into its claims: coordinated clauses and clauses about a named person. Each claim stands alone.

"My sister Ana lives in Leeds and teaches chemistry" has two claims: "My sister Ana lives in Leeds" and "My sister Ana teaches
chemistry". Only words of the sentence are used. A list ("tea and coffee") is one claim.
"""

import re
from typing import Final

from holdfast.learning.changes.moments import moments_of
from holdfast.learning.changes.phrases import shared_words as word_lists
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS
from holdfast.text.wordlists import GIVEN_NAMES

_ENGLISH_VERBS: Final = (
    r"(?:am|is|are|was|were|have|has|had|do|does|did|can|will|live|work|go|play|run|teach|study|take|drink|eat|drive|ride|bike|cycle|walk|swim"
    r"|sing|dance|paint|cook|bake|write|read|speak|own|rent|keep|grow|make|volunteer|train|coach|practice|practise|collect|use|prefer|like|love|hate"
    r"|need|want|sleep|commute|travel|fly|sail|fish|hunt|knit|sew|garden|brew|code|build|fix|sell|buy|help|care|look|meet|visit|see|attend|host"
    r"|watch|listen|wear|pay|save|donate|babysit|foster|share|lead|manage|design|edit|translate|climb|hike|ski|surf|get|got|moved|started|stay)"
)
_SPANISH_VERBS: Final = (
    r"(?:soy|es|somos|son|estoy|está|estamos|están|tengo|tiene|tenemos|tienen|voy|va|vamos|van|doy|da|damos|hago|hace|hacemos|he|ha|hemos"
    r"|(?:viv|trabaj|labur|curr|estudi|tom|com|beb|us|manej|toc|cant|corr|nad|entren|practic|cocin|escrib|le|habl|alquil|rent|cuid|enseñ|coleccion"
    r"|pint|ensay|ayud|llev|compr|vend|pag|odi|necesit|viaj|escuch|particip|colabor|organiz|cultiv|tej|repar|bail|patin|esquí|gan|mont|cri|sub|cen|desayun|almuerz"
    r"|dict|diseñ|traduc|program|atiend|pase|compart|recib|am|ador|camin|sufr|resid|and|debut|conviv|dedic|asist|milit|vot)(?:o|a|e|amos|emos|imos|an|en)"
    r"|padezco|padece|conozco|conoce|nací|nació|crecí|creció"
    r"|juego|juega|jugamos|juegan|conduzco|conduce|conducimos|quiero|quiere|queremos|prefiero|prefiere|preferimos|duermo|duerme|veo|ve|vemos|hago|hace"
    r"|pued[oe]n?|podemos|deb(?:o|en?|emos)|suel(?:o|en?)|solemos|sé|saben?|sabemos"
    r"|me [a-zñáéíóú]+[oa]|nos [a-zñáéíóú]+mos|se [a-zñáéíóú]+)"
)
_VERB: Final = {"en": _ENGLISH_VERBS, "es": _SPANISH_VERBS}
_PRONOUN: Final = {"en": r"(?:he|she|they|it)", "es": r"(?:él|ella|ellos|ellas)"}
_OWN_SUBJECT: Final = {
    "en": rf"(?:(?:i|we|he|she|they|it|there)(?:['’]\w+)?\s+\w|(?:my|our|his|her|their|the)\s+(?:[\w’'-]+\s+){{1,2}}?(?:{_ENGLISH_VERBS}|lives|works|goes|plays)\b"
    r"|(?:[A-Z]?[a-z]+)\s+(?:is|are|has|lives|works|goes|plays|studies|starts|ends)\b)",
    "es": r"(?:(?:yo|nosotr[oa]s|él|ella|ellos|ellas)\s+\w"
    rf"|(?:mi|mis|nuestr[oa]s?|su|sus|el|la|los|las)\s+(?:[\w-]+\s+){{1,2}}?(?-i:{_SPANISH_VERBS})\b|(?-i:[A-ZÁÉÍÓÚÑ]\w+\s+{_SPANISH_VERBS})\b)",
}
_FIRST_PERSON: Final = (
    r"(?:(?:no\s+)?(?:soy|somos|estoy|estamos|tengo|tenemos|voy|vamos|doy|hago|hacemos|juego|conduzco|quiero|prefiero|duermo|veo"
    r"|(?:viv|trabaj|labur|curr|estudi|tom|beb|us|manej|entren|cocin|alquil|enseñ|ensay|necesit|viaj|particip|colabor|sufr|resid|and|conviv|asist|milit)(?:o|amos|emos|imos)"
    r"|padezco|conozco|nací|crecí|me [a-zñáéíóú]+o|nos [a-zñáéíóú]+mos)\s+(?!(?:y|e|o)\b)\S)"
)
"""Matches a Spanish verb in the first person, which begins a clause without naming its subject."""
_AND: Final = {"en": r"(?:and|but|so|plus|while)", "es": r"(?:y|e|pero|además|mientras que)"}
_ADVERB: Final = {
    "en": r"(?:(?:also|now|still|usually|always|only)\s+)?",
    "es": r"(?:(?:también|ahora|todavía|siempre|además|ya|no|nunca|tampoco)\s+){0,2}",
}
_NEW_SUBJECT: Final = {
    code: regex(
        rf"(?:\s*[,;–—]\s*|\s+-\s+|\s+)(?:{_AND[code]}\s+)(?={_OWN_SUBJECT[code]})|\s*[,;–—]\s+(?={_OWN_SUBJECT[code]})",
        re.IGNORECASE,
    )
    for code in _AND
}
_NEW_VERB: Final = {
    code: regex(rf"\s*,?\s+{_AND[code]}\s+(?={_ADVERB[code]}(?-i:{_VERB[code]})(?:n?['’]t)?\s+\S)", re.IGNORECASE)
    for code in _AND
}
_CLAUSE_START: Final = {
    "en": regex(_OWN_SUBJECT["en"], re.IGNORECASE),
    "es": regex(rf"{_OWN_SUBJECT['es']}|{_ADVERB['es']}(?-i:{_FIRST_PERSON})|(?:me|nos|les?|se)\s+\w", re.IGNORECASE),
}
_NEW_FIRST_PERSON: Final = regex(rf"\s*,\s+(?={_ADVERB['es']}(?-i:{_FIRST_PERSON}))", re.IGNORECASE)
_OF_THE_USER: Final = regex(rf"{_ADVERB['es']}(?:{_FIRST_PERSON}|\w+mos\b|he\b|vine\b|(?:me|nos) )")
"""Matches a Spanish clause whose verb shows that the user is its subject. It then has not the subject of the clause before."""
_THIRD_PERSON_VERB: Final = regex(r"\s*,?\s+and\s+(?=[a-z]{2,}s\s+\S)")
"""Matches a second verb in the third person: "lives in Leeds and teaches chemistry"."""
_SUBJECT: Final = {
    "en": regex(
        r"(?:I|We|They|He|She|It|The user|User)\b(?!\s+and\b|['’]s\s+(?!(?:been|got)\b))"
        r"|(?:(?:My|Our|The|His|Her|Their)(?:\s+(?:and\s+)?[\w’'-]+){1,4}?"
        r"|(?-i:[A-Z])[\w’'-]+(?:\s+(?:(?-i:[A-Z])[\w’'-]+|and\s+(?:I|my\s+\w+|(?-i:[A-Z])\w+)))*?)"
        rf"(?<!['’]s)(?=['’](?:m|ve|re|s)\s+(?:been|got|an?|the|in|at|on|not|\w+ing)\b|\s+{_ADVERB['en']}(?-i:{_ENGLISH_VERBS}\b|[a-z]{{2,}}(?:s|ed)\s+\S))",
        re.IGNORECASE,
    ),
    "es": regex(
        r"(?:Yo|Nosotr[oa]s|El usuario|La usuaria)\b"
        r"|(?:(?:Mi|Mis|Nuestr[oa]s?|El|La|Los|Las|Su|Sus)(?:\s+(?:y\s+)?[\w-]+){1,4}?"
        r"|(?-i:[A-ZÁÉÍÓÚÑ])[\w-]+(?:\s+(?:(?-i:[A-ZÁÉÍÓÚÑ])[\w-]+|y\s+(?:yo|mi\s+\w+|(?-i:[A-ZÁÉÍÓÚÑ])\w+)))*?)"
        rf"(?=\s+(?:(?:ya|no|también|ahora|siempre)\s+)*(?-i:{_SPANISH_VERBS})\b)",
        re.IGNORECASE,
    ),
}
_PERSON: Final = {
    "en": r"(?:(?:my|our|his|her|their)\s+[\w-]+(?:\s+[A-Z][\w-]+)?|[A-Z][\w-]+(?:\s+[A-Z][\w-]+)?)",
    "es": r"(?:(?:mi|nuestr[oa]|su)\s+[\w-]+(?:\s+[A-ZÁÉÍÓÚÑ][\w-]+)?|[A-ZÁÉÍÓÚÑ][\w-]+(?:\s+[A-ZÁÉÍÓÚÑ][\w-]+)?)",
}
_ABOUT_PERSON: Final = {
    "en": regex(rf"(?P<who>{_PERSON['en']}),\s+who\s+(?P<what>[^,;.]+?)(?P<end>,\s*|(?=[;.]|$))", re.IGNORECASE),
    "es": regex(rf"(?P<who>{_PERSON['es']}),\s+(?:que|quien)\s+(?P<what>[^,;.]+?)(?P<end>,\s*|(?=[;.]|$))", re.IGNORECASE),
}
_PERSONAL: Final = r"i|we|they|he|she|it|user|yo|nosotr[oa]s"
_STOP_WORDS: Final = STOP_WORDS["en"] | STOP_WORDS["es"]
_MIN_WORDS: Final = 2


def split_claims(sentence: str, language: str | None = None) -> list[str]:
    """Return the claims of a sentence, each as a clause that stands alone. A sentence with one claim is returned whole.

    A sentence in an unsupported language, or in an unknown one, is read as English.
    """
    language = language if language in _AND else "en"
    main, about = _without_relative(sentence.strip(), language)
    found = _coordinated(main, language)
    return [*found, *about] if about or len(found) > 1 else [sentence]


def subject_of(clause: str, language: str) -> str:
    """Return the subject at the start of a clause.

    Return an empty text if no subject is recognized, as in a clause that begins with its verb, or with an adverb and its verb:
    in "No tengo hijos", the capitalized first word is no name.
    """
    found = _SUBJECT[language].match(clause)
    if found is None or _is_function_word(found[0]):
        return ""
    if language == "es" and re.match(rf"{_SPANISH_VERBS}\b", clause, re.IGNORECASE) and not _names(found[0]):
        return ""
    return found[0]


def _is_function_word(word: str) -> bool:
    """Return True for a word such as "never", "also" or "today", but not for a name or for a pronoun that is a subject."""
    plain = fold(word)
    if plain in GIVEN_NAMES or _names(word) or re.fullmatch(_PERSONAL, plain):
        return False
    lists = word_lists()
    return plain in _STOP_WORDS or plain in lists.filler_words or plain in lists.negations or bool(moments_of(word))


def begins_clause(text: str, language: str) -> bool:
    """Return True if a text begins with a subject and its verb, or with a Spanish verb in the first person or its pronoun."""
    return _CLAUSE_START[language].match(text) is not None


def _names(subject: str) -> bool:
    return bool(re.match(r"(?:mi|mis|nuestr[oa]s?|el|la|los|las|su|sus|yo|nosotr[oa]s)\b", subject, re.IGNORECASE))


def _without_relative(sentence: str, language: str) -> tuple[str, list[str]]:
    """Cut relative clauses about a person out of a sentence. Return the shorter sentence and the cut clauses.

    Each cut clause is completed to a sentence: "My aunt Ada, who is a judge, moved" becomes "My aunt Ada moved" and "My
    aunt Ada is a judge".
    """
    about: list[str] = []
    while found := _ABOUT_PERSON[language].search(sentence):
        what = found["what"].strip()
        if len(what.split()) < _MIN_WORDS:
            break
        about.append(_capitalized(f"{found['who']} {what}"))
        gap = " " if found["end"] else ""
        sentence = f"{sentence[: found.end('who')]}{gap}{sentence[found.end() :]}".strip()
    return sentence, about


def _coordinated(sentence: str, language: str) -> list[str]:
    """Return the coordinated clauses of a sentence. A clause without a subject gets the subject of the first clause."""
    subject = subject_of(sentence, language)
    cuts = [(found.start(), found.end(), "") for found in _NEW_SUBJECT[language].finditer(sentence)]
    if language == "es" and (not subject or re.match(r"(?:yo|nosotr[oa]s)\b", subject, re.IGNORECASE)):
        cuts += [(found.start(), found.end(), "") for found in _NEW_FIRST_PERSON.finditer(sentence)]
    patterns = [_NEW_VERB[language]]
    if language == "en" and re.match(rf"{re.escape(subject)}\s*(?:[A-Za-z]+\s+)?[a-z]{{2,}}s\b", sentence):
        patterns.append(_THIRD_PERSON_VERB)
    for pattern in patterns:
        cuts += [(found.start(), found.end(), subject) for found in pattern.finditer(sentence)]
    pieces: list[str] = []
    start, lead = 0, ""
    for begin, end, shared in sorted(cuts):
        if begin < max(start, len(subject)) + 1 or len(sentence[start:begin].split()) < _MIN_WORDS:
            continue
        pieces.append(_joined(lead, sentence[start:begin]))
        is_own = language == "es" and not re.search(r"\byo$", subject) and _OF_THE_USER.match(sentence, end) is not None
        start, lead = end, "" if is_own else shared
    pieces.append(_joined(lead, sentence[start:]))
    if any(len(piece.split()) < _MIN_WORDS for piece in pieces):
        return [sentence]
    claims = [pieces[0]]
    for piece in pieces[1:]:
        standing = _with_person(piece, subject, claims[-1], language)
        if standing is None:
            return [sentence]
        claims.append(standing)
    return claims


def _with_person(clause: str, subject: str, before: str, language: str) -> str | None:
    """Name the person in a clause that begins with a pronoun: "he's 84" becomes "My dad, he's 84". Return the clause.

    Normally, the person is ``subject``, the subject of the sentence. If ``subject`` is empty, "I" or "we", the person is the
    last name in ``before``, the previous clause. Months and weekdays do not count as names. Return None if no person is
    found. A clause is returned unchanged if it does not begin with a pronoun, or if ``subject`` is a pronoun itself.
    """
    pronoun = rf"{_PRONOUN[language]}\b"
    if not re.match(pronoun, clause, re.IGNORECASE) or re.match(pronoun, subject, re.IGNORECASE):
        return clause
    stands_for = subject
    if not subject or re.match(r"(?:I|We|Yo|Nosotr[oa]s)\b", subject, re.IGNORECASE):
        names = [name for name in re.findall(r"(?<=\s)[A-ZÁÉÍÓÚÑ][\w-]+", before) if not moments_of(name)]
        stands_for = names[-1] if names else ""
    return f"{stands_for}, {clause[0].lower()}{clause[1:]}" if stands_for else None


def _joined(lead: str, words: str) -> str:
    return _capitalized(f"{lead} {words.strip(' ,;–—')}".strip())


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
