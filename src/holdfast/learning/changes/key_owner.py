"""Choose a key by the person that a fact is about. A key such as ``job`` is only for facts about the user.

A fact about a relative, a pet or another person gets a key such as ``family``, ``pet`` or ``people``.
"""

from typing import Final

from holdfast.learning.changes.keys import attribute_of
from holdfast.learning.changes.slot_clauses import USER
from holdfast.learning.changes.slots import slots_of
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS, detect_language

_PETS: Final = frozenset({"dog", "cat", "pet"})
_OUTSIDERS: Final = frozenset({"friend", "roommate", "boss", "colleague", "neighbour", "ex"})
_KEYS: Final = {
    "en": {"pet": "pet", "family": "family", "other": "people"},
    "es": {"pet": "mascota", "family": "familia", "other": "gente"},
}


def key_of_owner(key: str, text: str, language: str | None = None) -> str:
    """Return ``key``, or a key such as ``family``, ``pet`` or ``people`` if the text describes someone other than the user.

    For example, "su hermana es médica" (his sister is a doctor) with the key ``trabajo`` (job) gets the key ``familia``. The new
    key is in the language of the text. A key that names no attribute of the user is returned unchanged.
    """
    if attribute_of(key) is None:
        return key
    subjects = {slot.subject.split(":")[0] for slot in slots_of(text, key=key, language=language)}
    if not subjects or USER in subjects:
        return key
    own = _KEYS[_language(text, language)]
    if subjects <= _PETS:
        return own["pet"]
    return own["other"] if subjects <= _OUTSIDERS else own["family"]


def _language(text: str, given: str | None) -> str:
    """Return the language in which to write the key for a text: ``given``, or else the language detected in the text.

    If no language is detected, the number of English and Spanish function words decides. If there are no keys in the
    language, return English.
    """
    detected = given or detect_language(text)
    if detected is None:
        words = set(fold(text).split())
        detected = "es" if len(words & STOP_WORDS["es"]) > len(words & STOP_WORDS["en"]) else "en"
    return detected if detected in _KEYS else "en"
