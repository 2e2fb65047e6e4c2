"""One key for one thing: ``trabajo``, ``empleo`` and ``work`` are the same key, spelled as it already is in a store."""

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
"""One to three words: what a person would write before a colon as the name of something."""
_MODIFIERS = frozenset("current actual user users usuario my mi present the el la del de of".split())
"""Words that tell no key from another: ``trabajo_actual`` is ``trabajo``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Synonyms:
    group: Mapping[str, int]
    attribute: Mapping[int, str]


def canonical_key(key: str, known: Collection[str] = ()) -> str:
    """Return the spelling by which a scope already knows a key, or the given key cleaned.

    Synonyms come from a table; other keys are the same only when their folded stems are equal.
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
    """Tell whether two keys mean the same."""
    if one is None or other is None:
        return one is other
    return _meaning(one) == _meaning(other)


def attribute_of(key: str) -> str | None:
    """Return the slot that a value under this key fills; None where there is none, or where it has many."""
    table = _synonyms()
    group = table.group.get(_plain(key))
    return None if group is None else table.attribute.get(group)


@lru_cache(maxsize=4096)
def _meaning(key: str) -> tuple[str, ...]:
    """Return what a key means: its group of synonyms, else its stems in either language."""
    plain = _plain(key)
    group = _synonyms().group.get(plain)
    return (f"#{group}",) if group is not None else tuple(document_terms(plain, None)) or (plain,)


def _plain(key: str) -> str:
    """Return a key's words, folded; those that tell nothing are left out, unless none would stay."""
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
    """Take ``key: value`` apart; a text that only happens to hold a colon stays whole, with no key."""
    before, colon, after = text.partition(":")
    key, value = before.strip(), after.strip()
    if not colon or not value or value.startswith("//") or not _KEY_LIKE.fullmatch(key):
        return None, text
    return key, value
