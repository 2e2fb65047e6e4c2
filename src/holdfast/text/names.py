"""Find names by capitalization: people, places, companies, products and multi-word titles."""

import re
from collections.abc import Iterator

from holdfast.runtime.regex import regex
from holdfast.text.clean import fold
from holdfast.text.language import STOP_WORDS
from holdfast.text.sentences import split_sentences
from holdfast.text.wordlists import CONNECTORS, GIVEN_NAMES, ORDINARY, PERSON_VERBS

_TOKEN = regex(r"[^\W\d_]\w*(?:['’.&-][^\W_]+)*|\x00+|[^\w\s]")
_HONORIFIC = regex(r"\b(Dr|Dra|Mr|Mrs|Ms|Sr|Sra|Srta|Prof|St|Lic|Ing)\.(?=\s)")
_TITLES = frozenset(
    "dr dra mr mrs ms sr sra srta prof lic ing don dona uncle aunt auntie tia tio doctor doctora senor senora profesor profesora".split()
)
_OPENERS = frozenset("new buenos san santa saint".split())
"""Ordinary words that can be the first word of a name, as in "New York" or "Buenos Aires"."""
_NAMED = regex(r"\b(?:named|called|name is|name's|se llama|llamad[oa]|me llamo|nombre es) ([^\W\d_]{3,})\b(?!['’])")
_COMMON_WORDS = STOP_WORDS["en"] | STOP_WORDS["es"] | ORDINARY
_MAX_NAME_TOKENS = 8
_MAX_SIGNS = 6
"""A word counts as the first word of a sentence if fewer than this number of tokens precede it, all punctuation marks.

A word directly after a mark in ``_BEFORE_START``, such as a quotation mark, always counts as a first word.
"""
_BEFORE_START = frozenset(':"“«¿¡.?!…;')


def find_names(text: str) -> list[str]:
    """Return the names in a text, each in its first spelling. A name that is part of a longer name is left out."""
    if _is_shouted(text):
        return []
    plain = _HONORIFIC.sub(r"\1", text)
    sentences = [_TOKEN.findall(sentence) for sentence in split_sentences(plain)]
    known = _KnownNames(sentences)
    found = {fold(name): name for tokens in reversed(sentences) for name in _names_in(tokens, known)}
    for match in _NAMED.finditer(plain):
        word = match[1]
        if word.islower() and fold(word) not in _COMMON_WORDS:
            found.setdefault(fold(word), word.capitalize())
    parts = {part for key in found for part in _parts(key)}
    return [name for key, name in found.items() if key not in parts]


def _parts(name: str) -> Iterator[str]:
    words = name.split()
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            if end - start < len(words):
                yield " ".join(words[start:end])


class _KnownNames:
    """Words of the whole text, used to decide whether a capitalized word at the start of a sentence is a name.

    ``certain`` contains the words that are capitalized in mid-sentence, which are therefore names. ``small`` contains
    the words in lower case.
    """

    def __init__(self, sentences: list[list[str]]) -> None:
        self.small = {fold(token) for token in {token for tokens in sentences for token in tokens if token[0].islower()}}
        self.certain: set[str] = set()
        for tokens in sentences:
            for at, token in enumerate(tokens):
                is_name = not token[0].islower() and _is_capital(token) and not _opens(tokens, at)
                if is_name and fold(_bare(token)) not in ORDINARY:
                    self.certain.add(fold(_bare(token)))


def _names_in(tokens: list[str], known: _KnownNames) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        length = _run(tokens, at, known)
        if not length:
            at += 1
            continue
        words = tokens[at : at + length]
        while len(words) > 1 and fold(words[0]) in _TITLES:
            words = words[1:]
        name = " ".join([*words[:-1], _bare(words[-1])])
        if fold(name) not in ORDINARY and fold(name) not in _TITLES and len(name) > 1:
            yield name
        at += length


def _run(tokens: list[str], at: int, known: _KnownNames) -> int:
    """Return the number of tokens of the name that starts at position ``at``, or 0 if no name starts there."""
    if not _is_capital(tokens[at]) or (_opens(tokens, at) and not _is_name_at_start(tokens, at, known)):
        return 0
    end = at + 1
    while end < len(tokens) and end - at < _MAX_NAME_TOKENS and not _ends_name(tokens[end - 1]):
        step = _connector(tokens, end)
        if end + step >= len(tokens) or not _is_capital(tokens[end + step]):
            break
        end += step + 1
    # Ordinary words with capitals alone are not a name.
    return end - at if any(fold(_bare(word)) not in _COMMON_WORDS for word in tokens[at:end]) else 0


def _connector(tokens: list[str], at: int) -> int:
    """Return the number of tokens that connect two parts of a name: 1 in "Museum of Art", 2 in "María de la Paz", 0 if none."""
    for linked in CONNECTORS:
        size = len(linked.split())
        if " ".join(tokens[at : at + size]) == linked:
            return size
    return 0


def _is_name_at_start(tokens: list[str], at: int, known: _KnownNames) -> bool:
    """Return True if the token at position ``at``, a capitalized word at the start of a sentence, is a name."""
    token, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
    plain = fold(_bare(token))
    nameable = bool(following) and _is_capital(following) and fold(_bare(following)) not in ORDINARY
    if plain in _OPENERS or plain in _TITLES:
        return nameable
    if plain in _COMMON_WORDS or (plain in known.small and plain not in GIVEN_NAMES):
        return False
    certain = plain in GIVEN_NAMES or plain in known.certain or any(c.isupper() for c in token[1:])
    if certain or nameable or fold(following or "-") in PERSON_VERBS:
        return True
    if following in ("and", "y", "&") and at + 2 < len(tokens):
        return _is_capital(tokens[at + 2]) and fold(tokens[at + 2]) not in ORDINARY
    return at > 0 and tokens[at - 1] == ":" and following in (",", ".", "")


def _opens(tokens: list[str], at: int) -> bool:
    """Return True if the token at position ``at`` is the first word of a sentence or quotation.

    A word after a colon or semicolon counts as a first word, too.
    """
    if at == 0 or tokens[at - 1] in _BEFORE_START:
        return True
    before = tokens[max(0, at - _MAX_SIGNS) : at]
    return len(before) < _MAX_SIGNS and not any(token[0].isalnum() or token[0] == "\x00" for token in before)


def _is_capital(token: str) -> bool:
    if token.islower():  # most words
        return False
    if fold(token) == "i" or token[:2] in ("I'", "I’") or (len(token) < 2 and not token.isdigit()):
        return False
    inner = token[1:]
    return token[0].isupper() or (token[0].isalpha() and any(c.isupper() for c in inner) and not token.isupper())


def _bare(token: str) -> str:
    return re.sub(r"['’]s$", "", token)


def _ends_name(token: str) -> bool:
    return _bare(token) != token


def _is_shouted(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return len(text.split()) >= 4 and sum(c.isupper() for c in letters) > 0.6 * len(letters)
