"""Recognize statements that only name someone or something: "has a cat named Michi" and "their cat is called Michi"."""

import re
from typing import Final, NamedTuple

from holdfast.learning.changes.wording import meaning
from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line

_NOUN: Final = r"(?P<noun>[\w-]{3,20}(?: [\w-]{3,20})?)"
_NAME: Final = r"(?P<name>[\w'’-]{2,30}(?: [\w'’-]{2,30})?)"
_WHO: Final = r"(?:the user|user|i|he|she|they|we|el usuario|la usuaria|usuario|yo)"
_FORMS: Final = tuple(
    regex(form)
    for form in (
        rf"(?:{_WHO} )?(?:has|have|have got|has got|got|owns?|adopted) (?:a|an|one) {_NOUN} (?:named|called|whose name is) {_NAME}",
        rf"(?:my|his|her|our|their|your|{_WHO}['’]s) {_NOUN}(?:['’]s name)? (?:is|are)(?: named| called)? {_NAME}",
        rf"(?:the )?name of (?:my|his|her|our|their|{_WHO}['’]s) {_NOUN} is {_NAME}",
        rf"(?:{_WHO} )?(?:tiene|tengo|tenemos|adopto|adopte) (?:un|una) {_NOUN} (?:llamad[oa]|que se llama|de nombre|cuyo nombre es) {_NAME}",
        rf"(?:mi|su|nuestr[oa]) {_NOUN} se llama {_NAME}",
        rf"(?:el|la) {_NOUN} (?:del usuario|de la usuaria) se llama {_NAME}",
        rf"el nombre de (?:mi|su|nuestr[oa]) {_NOUN} es {_NAME}",
    )
)
_BARE_IS: Final = _FORMS[1]
_CALLED: Final = regex(r"['’]s name is |\b(?:named|called)\b")
_ROLE: Final = regex(
    r"(?:(?i:my|our|his|her|their|the user's|mi|su|nuestr[oa])\s+)(?P<role>[\w' -]{3,40}?)\s+(?:is|es|se llama|is called|is named)\s+"
    r"(?:(?:Dra?|Mrs?|Ms|Sra?|Don|Doña)\.?\s+)?(?P<name>[A-ZÁÉÍÓÚÑ][\w'’-]+)"
)
"""Matches a statement that names the person who has a role in the user's life: "my accountant is Nina Park"."""
_CHANGES: Final = regex(
    r"\b(?:no longer|not|never|\w+n't|anymore|ya no|no|dej[oó]|left|quit|fired|retir\w+|resign\w+|replac\w+|moved|died|passed|former|ex|instead|new|nuev[oa]s?"
    r"|now|ahora|cambi\w+|jubil\w+|muri[oó]|falleci\w+|despid\w+|renunci\w+|fue|divorc\w+|separ\w+|marri\w+|cas[oó]|casamos|promoted|ascend\w+|stopped|sold)\b"
)
"""Matches words, in lower case, that can mean that a person lost a role: "no longer", "quit", "died"."""
_DID: Final = r"(?:\w{2,}ed|said|told|gave|sent|came|went|did|made|got|took|brought|wrote|met|saw|found)"


class NamedThing(NamedTuple):
    """A person, animal or thing: the stems of the noun for it, such as "cat", and its name in lower case without accents."""

    sort: frozenset[str]
    name: str


def named_thing(text: str, language: str | None = None) -> NamedThing | None:
    """Return the type and the name of a thing, such as "cat" and "Michi", from a statement such as "has a cat named Michi".

    Return None if the statement says anything else.
    """
    plain = fold(one_line(text)).strip(" .!")
    for form in _FORMS:
        found = form.fullmatch(plain)
        if found is None or (form is _BARE_IS and not _CALLED.search(plain)):
            continue
        sort = meaning(found["noun"], language)
        return NamedThing(sort, found["name"].replace("’", "'")) if sort else None
    return None


def reports_role_holder(old: str, new: str) -> bool:
    """Return True if ``old`` says who has a role, and ``new`` only tells what this person did.

    For example, "Nina confirmed the VAT" does not end "my accountant is Nina", but the sentence reader often mistakes it for
    a change.
    """
    found = _ROLE.match(old.strip())
    plain = new.casefold()
    if found is None or _CHANGES.search(plain) or found["role"].casefold() in plain:
        return False
    name = re.escape(found["name"].casefold())
    return re.search(rf"\b{name}(?: \w+)? {_DID}\b|\b\w{{2,}}ó {name}\b|\b{name}(?: \w+){{0,3}} \w{{2,}}ó\b", plain) is not None
