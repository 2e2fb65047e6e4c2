"""Unify keys with the same meaning: ``trabajo``, ``empleo`` and ``work`` are one key, spelled as the store already has it."""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from holdfast.text.clean import fold, one_line
from holdfast.text.terms import document_terms

_SEPARATORS = re.compile(r"[\s_\-./]+")
_CAMEL = re.compile(r"(?<=[a-záéíóúñ])(?=[A-ZÁÉÍÓÚÑ])")
_KEY_LIKE = re.compile(r"[^\W\d_][\w-]{0,30}(?:[ _][\w-]{1,20}){0,2}")
"""Matches one to three words that look like the name of an attribute before a colon."""
_MODIFIERS = frozenset("current actual user users usuario my mi present the el la del de of".split())
"""Words that do not distinguish keys: ``trabajo_actual`` means the same as ``trabajo``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Synonyms:
    group: Mapping[str, int]
    attribute: Mapping[int, str]


def canonical_key(key: str, known: Collection[str] = ()) -> str:
    """Return the known key that means the same as this key. If there is none, return this key in cleaned form.

    Synonyms come from a table. Keys that are not in the table mean the same only if their folded stems are equal.
    """
    cleaned = "_".join(_SEPARATORS.split(one_line(_CAMEL.sub(" ", key)).casefold().strip(" _-.:"))) or key
    spellings = list(known)
    for same in (lambda other: other == key, lambda other: fold(other) == fold(cleaned)):
        found = [other for other in spellings if same(other)]
        if found:
            return found[0]
    meaning = _meaning(key)
    return next((other for other in spellings if _meaning(other) == meaning), cleaned)


def same_key(one: str | None, other: str | None) -> bool:
    """Return True if two keys mean the same."""
    if one is None or other is None:
        return one is other
    return _meaning(one) == _meaning(other)


def attribute_of(key: str) -> str | None:
    """Return the slot attribute that a value under this key describes, or None if the key names no known attribute."""
    table = _synonyms()
    group = table.group.get(_plain(key))
    return None if group is None else table.attribute.get(group)


@lru_cache(maxsize=4096)
def _meaning(key: str) -> tuple[str, ...]:
    """Return the number of a key's synonym group. If the key is in no group, return the stems of its words.

    The result is equal for all keys with the same meaning.
    """
    plain = _plain(key)
    group = _synonyms().group.get(plain)
    return (f"#{group}",) if group is not None else tuple(document_terms(plain, None)) or (plain,)


def _plain(key: str) -> str:
    """Return the folded words of a key, leaving out modifiers. If the key consists only of modifiers, they are kept."""
    words = _SEPARATORS.split(fold(_CAMEL.sub(" ", one_line(key))).strip(" _-."))
    whole = " ".join(words)
    if whole in _synonyms().group:
        return whole
    return " ".join(word for word in words if word not in _MODIFIERS) or whole


@lru_cache(maxsize=1)
def _synonyms() -> _Synonyms:
    table = tomllib.loads((resources.files("holdfast.learning") / "words" / "keys.toml").read_text("utf-8"))
    groups = table["group"]
    return _Synonyms(
        group={word: number for number, group in enumerate(groups) for word in group["words"]},
        attribute={number: group["attribute"] for number, group in enumerate(groups) if "attribute" in group},
    )


def split_key(text: str) -> tuple[str | None, str]:
    """Split ``key: value``. If the part before the colon does not look like a key, return None and the whole text."""
    before, colon, after = text.partition(":")
    key, value = before.strip(), after.strip()
    if not colon or not value or value.startswith("//") or not _KEY_LIKE.fullmatch(key):
        return None, text
    return key, value
