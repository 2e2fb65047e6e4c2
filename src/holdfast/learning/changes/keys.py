"""Unify keys with the same meaning.

``trabajo``, ``empleo`` and ``work`` are one key, in the spelling that the store already has.
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold, one_line
from holdfast.text.language import is_stop_word
from holdfast.text.terms import document_terms

_SEPARATORS = regex(r"[\s_\-./]+")
_CAMEL = regex(r"(?<=[a-záéíóúñ])(?=[A-ZÁÉÍÓÚÑ])")
_KEY_LIKE = regex(r"[^\W\d_][\w-]{0,30}(?:[ _][\w-]{1,20}){0,2}")
"""Matches one to three words that look like the name of an attribute, as before the colon in "home city: Lyon"."""
_MODIFIERS = frozenset("current actual user users usuario my mi present the el la del de of".split())
"""Words that do not distinguish keys: ``trabajo_actual`` means the same as ``trabajo``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Synonyms:
    group: Mapping[str, int]
    attribute: Mapping[int, str]
    lasting: frozenset[int]


def canonical_key(key: str, known: Collection[str] = ()) -> str:
    """Return the known key that means the same as this key. If there is none, return this key in lower case with underscores.

    Synonyms come from a table. Keys that are not in the table mean the same only if their words have the same stems.
    """
    cleaned = "_".join(_SEPARATORS.split(one_line(_CAMEL.sub(" ", key)).casefold().strip(" _-.:"))) or key
    spellings = list(known)
    for same in (lambda other: other == key, lambda other: fold(other) == fold(cleaned)):
        found = [other for other in spellings if same(other)]
        if found:
            return found[0]
    meaning = _meaning(key)
    return next((other for other in spellings if _meaning(other) == meaning), cleaned)


def known_spelling(key: str, known: Collection[str], *, synonyms: bool) -> str:
    """Return the known key that matches this key, or the key itself if there is none.

    Case, accents and separators are ignored. With ``synonyms``, keys with the same meaning match, too.
    """
    return key if key in known else next(iter(equal_keys(key, known, synonyms=synonyms)), key)


def equal_keys(key: str, known: Collection[str], *, synonyms: bool) -> list[str]:
    """Return the known keys that match this key. Keys with the same spelling come first.

    With ``synonyms``, keys with the same meaning match, too.
    """
    spelled = [other for other in known if _spelling(other) == _spelling(key)]
    if not synonyms:
        return spelled
    return spelled + [other for other in known if other not in spelled and _meaning(other) == _meaning(key)]


def same_key(one: str | None, other: str | None) -> bool:
    """Return True if two keys mean the same."""
    if one is None or other is None:
        return one is other
    return _meaning(one) == _meaning(other)


def attribute_of(key: str) -> str | None:
    """Return the slot attribute, such as "residence", that values under this key describe. Return None if the key names none."""
    table = _synonyms()
    group = table.group.get(_plain(key))
    return None if group is None else table.attribute.get(group)


def is_lasting_key(key: str) -> bool:
    """Return True if values under this key matter permanently, such as a name, an allergy or family members."""
    table = _synonyms()
    return table.group.get(_plain(key)) in table.lasting


@lru_cache(maxsize=4096)
def _meaning(key: str) -> tuple[str, ...]:
    """Return the number of a key's synonym group. If the key is in no group, return the stems of its words.

    The result is equal for all keys with the same meaning.
    """
    plain = _plain(key)
    group = _synonyms().group.get(plain)
    return (f"#{group}",) if group is not None else tuple(document_terms(plain, None)) or (plain,)


@lru_cache(maxsize=4096)
def _spelling(key: str) -> str:
    """Return the words of a key in lower case, without accents, separated by spaces: ``homeCity`` becomes "home city"."""
    return " ".join(_SEPARATORS.split(fold(_CAMEL.sub(" ", one_line(key))).strip(" _-.:")))


def _plain(key: str) -> str:
    """Return the words of a key in lower case, without accents and without modifiers such as "current".

    If the key consists only of modifiers, they are kept.
    """
    whole = _spelling(key)
    words = whole.split()
    if whole in _synonyms().group:
        return whole
    return " ".join(word for word in words if word not in _MODIFIERS) or whole


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("holdfast.learning") / "words" / "keys.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def _synonyms() -> _Synonyms:
    groups = _table()["group"]
    return _Synonyms(
        group={word: number for number, group in enumerate(groups) for word in group["words"]},
        attribute={number: group["attribute"] for number, group in enumerate(groups) if "attribute" in group},
        lasting=frozenset(number for number, group in enumerate(groups) if group.get("lasting")),
    )


def split_key(text: str) -> tuple[str | None, str]:
    """Split ``key: value``. If the part before the colon is not the name of an attribute, return None and the whole text.

    A request before the key is dropped: "remember: city: Madrid" and "remember that city: Madrid" are split like "city: Madrid".
    """
    before, colon, after = text.partition(":")
    key, value = _without_request(before.strip()), after.strip()
    if not colon or not value or value.startswith("//"):
        return None, text
    if _spelling(key) in _leads()["asked"]:
        return split_key(value)
    if not _KEY_LIKE.fullmatch(key) or not _names_attribute(key):
        return None, text
    return key, value


def _without_request(key: str) -> str:
    """Remove a request to remember, such as "remember that" or "no te olvides de que", from the text before a colon."""
    words = key.split()
    for count in range(len(words) - 1, 0, -1):
        lead = _spelling(" ".join(words[:count]))
        asked = lead.removesuffix(" que").removesuffix(" that").removesuffix(" de")
        if asked in _leads()["asked"] and lead.endswith((" que", " that")):
            return " ".join(words[count:])
    return key


def _names_attribute(key: str) -> bool:
    """Return True if a text before a colon can be the name of an attribute.

    Return False for words that call for attention ("ojo", "by the way"), report speech, or begin a sentence.
    """
    words = _spelling(key).split()
    if _plain(key) in _synonyms().group:
        return True
    first = next((word for word in words if word not in _MODIFIERS), "")
    is_stop = any(is_stop_word(first, language) for language in ("en", "es"))
    return bool(first) and not is_stop and not {" ".join(words), first} & _leads()["attention"]


@lru_cache(maxsize=1)
def _leads() -> Mapping[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in _table()["leads"].items()}
