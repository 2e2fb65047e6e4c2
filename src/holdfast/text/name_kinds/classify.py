"""Distinguish people from places among the names in a text, by the words around them, in English and Spanish."""

import re
from collections.abc import Iterable
from typing import Final, Literal

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.name_kinds.places import PLACES
from holdfast.text.wordlists import GIVEN_NAMES, PERSON_VERBS

NameKind = Literal["person", "place", "other"]
_PLACE_BEFORE: Final = regex(
    r"\b(?:in|near|towards|around|outside|across|through|throughout|en|hacia|desde|hasta|cerca de|"
    r"(?:mov|travel|fl[ye]|flew|driv|drove|went|go|come|came)\w* (?:back )?(?:to|from)|(?:moved|travell?ed|flew|drove) from [\w ]{2,30} to|"
    r"(?:trips?|flights?|trains?|bus) to|(?:i|he|she|we|they|you) (?:is|am|are|was|were|came|comes) (?:originally )?from|explor\w+|"
    r"(?:mud|viaj|vuel|vol)\w* (?:a|de)|(?:mud|viaj|vuel|vol)\w* de [\w ]{2,30} a|(?:va|fue|fuimos|fueron|ir|llego|vuelve|viene|vino) (?:a|de)|"
    r"(?:viajes?|vuelos?|tren|autobus) a|(?:soy|somos|eres) (?:originari[oa]s? )?de|originari[oa]s? de|recorr\w+|"
    r"(?:visit(?:e|o|amos|aron|aba|aban|ar|are|ara|aran)|conoc(?:i|io|imos|ieron|er)|explor\w+)|"
    r"(?:city|town|village|country|capital|ciudad|pueblo|pais|capital)(?: \w+)? (?:is|was|called|es|era|se llama|de|of)) $"
)
"""Matches words before a place. In Spanish, "visitar" and "conocer" have "a" before a person, and nothing before a place."""
_PLACE_PERHAPS: Final = regex(r"\b(?:to|from|(?:es|son|era|eran) de) $")
"""Matches words that usually precede a place, but can also precede a person."""
_PERSON_BEFORE: Final = regex(
    r"(?:\b(?:with|with \w+ and|by|dear|named|thanks|told|tell|asked|ask|met|meets?|meeting|calls?|marr(?:y|ied)(?: to)?|"
    r"mr|mrs|ms|dr|prof|dra|sr|sra|srta|don|dona|"
    r"con|con \w+ y|junto a|llamad[oa]|se llama|conoci\w* a|vio a|visit\w* a|llam\w* a|casad[oa] con|de parte de)\.?|"
    r"\b(?:my|his|her|our|their|your|mi|mis|su|sus|nuestr[oa]s?|tu) (?!bank|banco|company|empresa|city|ciudad|town|pueblo|country|pais|team|equipo)"
    r"[a-z]+(?: (?!is\b|are\b|was\b|es\b|son\b|era\b|in\b|to\b|from\b|at\b|en\b|de\b|a\b|\w+(?:ed|aron|ieron|aban|ian)\b|visit|love|like|miss|prefer|see|saw|ador|extran)[a-z]+)?) $"
)
"""Matches words before a person: "with Clara", "her sister Clara", "su hermana Clara"."""
_PERSON_PERHAPS: Final = regex(r"\b(?:and|called|visits?|visited|visiting) $")
"""Matches words that usually precede a person, but can also precede a place or a thing."""
_PERSON_AFTER: Final = regex(
    r"^(?:['’]s\b|,? (?:and|y) (?:i|yo)\b| (?:is|was|has|can|will|does|doesn't|es|era|esta|tiene|puede|va)\b)"
)
_OTHER_BEFORE: Final = regex(
    r"\b(?:at|for|joined|joins|left|uses?|using|bought|en la empresa|para|usa|compr\w+|dej[oe]|trabaj\w+ (?:en|para)|"
    r"(?:bank|company|employer|team|banco|empresa|compania|equipo) (?:is|es|de|called)) $"
)


def kind_of_name(name: str, texts: Iterable[str]) -> NameKind:
    """Return whether a name is that of a person or of a place, judging by its use in the given texts.

    Return ``other`` if it is neither, or if that is unclear.
    """
    wanted = fold(name)
    is_given = wanted.split()[0] in GIVEN_NAMES
    person, place = 2 * is_given, 3 * (wanted in PLACES and not is_given)
    for plain in map(fold, texts):
        for found in re.finditer(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain):
            before, after = plain[max(0, found.start() - 40) : found.start()], plain[found.end() : found.end() + 20]
            following = after.split()
            person += 2 * bool(_PERSON_BEFORE.search(before)) or bool(_PERSON_PERHAPS.search(before))
            person += bool(_PERSON_AFTER.match(after))
            person += 2 * bool(following and following[0] in PERSON_VERBS)
            place += 2 * bool(_PLACE_BEFORE.search(before)) or bool(_PLACE_PERHAPS.search(before))
            place -= 2 * bool(wanted not in PLACES and _OTHER_BEFORE.search(before))
    if person > place and person > 1:
        return "person"
    return "place" if place > person and place > 1 else "other"
