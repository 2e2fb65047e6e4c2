"""Distinguish people from places among the names in a text, by the words around them, in English and Spanish."""

import re
from collections.abc import Iterable
from typing import Final, Literal

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.wordlists import GIVEN_NAMES, PERSON_VERBS

NameKind = Literal["person", "place", "other"]
_PLACE_BEFORE: Final = regex(
    r"\b(?:in|near|towards|around|outside|across|en|hacia|desde|hasta|cerca de|"
    r"(?:mov|travel|fl[ye]|flew|driv|drove|went|go|come|came)\w* (?:back )?(?:to|from)|(?:mud|viaj|vuel|vol)\w* a|(?:va|fue|ir|llego|vuelve|viene|vino) (?:a|de)) $"
)
_PLACE_PERHAPS: Final = regex(r"\b(?:to|from) $")
"""Words that stand before places, and before people as well."""
_PERSON_BEFORE: Final = regex(
    r"(?:\b(?:with|and|by|dear|named|called|thanks|told|tell|asked|ask|met|meets?|meeting|visits?|visited|calls?|marr(?:y|ied)(?: to)?|"
    r"mr|mrs|ms|dr|prof|dra|sr|sra|srta|don|dona|"
    r"con|junto a|llamad[oa]|se llama|conoci\w*(?: a)?|vio a|visit\w* a|llam\w* a|casad[oa] con|de parte de)\.?|"
    r"\b(?:my|his|her|our|their|your|mi|mis|su|sus|nuestr[oa]s?|tu)(?: [a-z]+){1,2}) $"
)
"""Words before a person: "with Clara", "her sister Clara", "su hermana Clara"."""
_PERSON_AFTER: Final = regex(
    r"^(?:['’]s\b|,? (?:and|y) (?:i|yo)\b| (?:is|was|has|can|will|does|doesn't|es|era|esta|tiene|puede|va)\b)"
)
_OTHER_BEFORE: Final = regex(r"\b(?:at|for|joined|joins|left|uses?|using|bought|en la empresa|para|usa|compr\w+) $")


def kind_of_name(name: str, texts: Iterable[str]) -> NameKind:
    """Return whether a name is that of a person or of a place, judging by its use in the given texts.

    Return ``other`` if it is neither, or if that is unclear.
    """
    wanted = fold(name)
    person, place = 2 if wanted.split()[0] in GIVEN_NAMES else 0, 0
    for plain in map(fold, texts):
        for found in re.finditer(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain):
            before, after = plain[max(0, found.start() - 40) : found.start()], plain[found.end() : found.end() + 20]
            following = after.split()
            person += 2 * bool(_PERSON_BEFORE.search(before)) + bool(_PERSON_AFTER.match(after))
            person += 2 * bool(following and following[0] in PERSON_VERBS)
            place += 2 * bool(_PLACE_BEFORE.search(before)) or bool(_PLACE_PERHAPS.search(before))
            place -= bool(_OTHER_BEFORE.search(before))
    if person > place and person > 1:
        return "person"
    return "place" if place > person and place > 1 else "other"
