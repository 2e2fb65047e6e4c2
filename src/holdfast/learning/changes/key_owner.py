"""Keep the keys of the user for the user: what is said of a relative goes under a key for relatives."""

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
    """Return the key for a value, or another key if the value describes someone else than the user.

    "su hermana es médica" under ``trabajo`` goes to ``familia``. Keys that name no attribute of the user stay as they are.
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
    """Return the language of a key for a text. A text that is too short to be detected is judged by its function words."""
    detected = given or detect_language(text)
    if detected is None:
        words = set(fold(text).split())
        detected = "es" if len(words & STOP_WORDS["es"]) > len(words & STOP_WORDS["en"]) else "en"
    return detected if detected in _KEYS else "en"
