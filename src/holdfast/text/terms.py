"""Search terms of a text: stemmed words, and tokens with symbols.

A token such as ``v2.5``, ``C++`` or ``a/b.py`` is indexed as its words and also as one term. That term is spelled with
letters and digits only, so the full-text engine never interprets characters of a text or query as syntax.
"""

import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import Stemmer

from holdfast.runtime.regex import regex
from holdfast.text.language import detect_language, is_stop_word

_STEMMERS = {
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "de": "german",
    "it": "italian",
    "pt": "portuguese",
    "ru": "russian",
}
_DEFAULT_LANGUAGES = ("en", "es")
_WORD = regex(r"[^\W_]+")
_OUTER_CODES = regex("^(?:z[0-9a-f]+z)+|(?:z[0-9a-f]+z)+$")
_APOSTROPHE = regex("z27z|z2019z")
_CODE = regex("z[0-9a-f]+z")
_NO_SPACES = regex("[\u0e00-\u0eff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_EDGES = ".,;:!?¡¿()[]{}\"'`«»“”‘’…<>\u200b\u2060\ufeff"
_OPERATORS = "*+-^~|&=%$#@/\\\ufffd"
"""Signs that decorate a token in queries and Markdown: ``*AT&T*``, ``+"v2.5"``."""
_SYNTAX = regex(r"[:(|=~^*_]+")
"""Signs of query languages that join words: ``text:word``, ``NEAR(word``."""
_WORD_OF_LETTERS = regex(r"[^\W\d_]{2}|[^\W\d_a-z]")
"""Matches two letters, or one letter of another script than Latin, in which one letter can be a word."""
_MAX_TERM = 64
_MAX_QUERY_TERMS = 48
_thread = threading.local()


def document_terms(text: str, language: str | None) -> list[str]:
    """Return the terms of a stored text, in order, with duplicates.

    A text of unknown language is indexed with the stems of every default language.
    """
    stem_in = (language,) if language in _STEMMERS else _DEFAULT_LANGUAGES
    terms: list[str] = []
    for word, plain in _tokens(text):
        terms += dict.fromkeys(_stem(word, code) for code in stem_in) if plain else (word,)
    return [term for term in terms if term]


def query_terms(query: str, languages: Sequence[str]) -> list[frozenset[str]]:
    """Return the terms of a query: for each word, the set of its stems in all plausible languages.

    Several languages are used, because the language of a short question is often unclear. Stop words are left out, unless the
    query has no other words.
    """
    spoken = detect_language(query)
    plausible = tuple(dict.fromkeys(code for code in (spoken, *languages) if code in _STEMMERS)) or ("en",)
    wanted: dict[frozenset[str], None] = {}
    idle: dict[frozenset[str], None] = {}
    for word, plain, literal in _query_tokens(query):
        spellings = frozenset(_stem(word, code) for code in plausible) if plain else frozenset({word})
        if not all(spellings):
            continue
        parts = [_unaccent(word)] if plain else _decorated(word)
        stop = not literal and all(is_stop_word(part, spoken or plausible[0]) for part in parts)
        (idle if stop else wanted)[spellings] = None
        if len(wanted) >= _MAX_QUERY_TERMS:
            break
    if not any(_WORD_OF_LETTERS.search(_CODE.sub(" ", spelling)) for term in wanted for spelling in term):
        wanted |= idle  # "don't OR 1=1": numbers, signs and single letters are no reason to ignore the words
    return list(wanted)[:_MAX_QUERY_TERMS]


def _query_tokens(query: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield each token of a query with two flags: whether it is a plain word, and whether it is searched for literally.

    A word next to a sign of a query language is searched for even if it is a stop word: "don't" in ``text:don't``.
    """
    for chunk in query.split():
        literal = "://" not in chunk and bool(_SYNTAX.search(chunk.strip(_EDGES)))
        yield from ((word, plain, literal) for word, plain in _tokens(chunk))
        if literal:
            pieces = [piece for piece in _SYNTAX.split(chunk) if piece]
            yield from ((word, plain, True) for piece in pieces for word, plain in _tokens(piece) if not plain)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each token with a flag. The flag is True if the token is a plain word, which can be stemmed."""
    for chunk in unicodedata.normalize("NFKC", text).casefold().split():
        if chunk.isascii() and chunk.isalnum():  # fast path for most words, with the same result
            yield chunk[:_MAX_TERM], True
            continue
        words = _WORD.findall(chunk)
        core = chunk.strip(_EDGES)
        yield from ((_spell(sign), False) for sign in chunk if unicodedata.category(sign) == "So")
        if not words:
            yield _spell(core or chunk), False
            continue
        for word in words:
            if _NO_SPACES.search(word):
                yield from ((piece, False) for piece in _pairs(word))
            else:
                yield word[:_MAX_TERM], True
        spelled = dict.fromkeys(
            (core, core.strip(_EDGES + _OPERATORS))
        )  # "C++" keeps its signs, "*AT&T*" is found as "AT&T", too
        yield from ((_spell(each), False) for each in spelled if _has_symbols(each, words))


def _has_symbols(core: str, words: Sequence[str]) -> bool:
    """Return True if a token contains symbols, such as "C++" or "AT&T". Apostrophes do not count: "don't" has no symbols.

    ``core`` is the token, and ``words`` are the runs of letters and digits in it.
    """
    return (len(words) > 1 or core != words[0]) and core.replace("'", "").replace("’", "") != "".join(words)


def _pairs(run: str) -> Iterator[str]:
    """Yield the terms of a text in a script that has no spaces between words, such as Chinese.

    The terms are all pairs of adjacent characters, and all single characters. Words of other scripts in the same text are
    also yielded.
    """
    for piece in _NO_SPACES.split(run):
        if piece:
            yield piece[:_MAX_TERM]
    for found in _NO_SPACES.findall(run):
        if len(found) == 1:
            yield found
        else:
            yield from (found[i : i + 2] for i in range(len(found) - 1))
            yield from found


def _spell(token: str) -> str:
    """Spell a token in letters and digits only, with a code for each symbol: "C++" becomes "Cz2bzz2bz"."""
    return "".join(c if c.isalnum() else f"z{ord(c):x}z" for c in _unaccent(token[:_MAX_TERM]))


def _decorated(spelling: str) -> list[str]:
    """Remove the symbols around a token, and split the token at apostrophes: "*don't*" becomes "don" and "t".

    ``spelling`` is the token as :func:`_spell` returns it. Symbols inside a token stay, so "AT&T" is one word.
    """
    inner = _OUTER_CODES.sub("", spelling)
    return [part for part in _APOSTROPHE.split(inner) if part] or [spelling]


@lru_cache(maxsize=65536)
def _stem(word: str, language: str) -> str:
    """Return the stem of a word, without accents. Each thread has its own stemmers, because they are not thread-safe."""
    stemmers = _thread.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(_STEMMERS[language], 0)  # results are cached here
    return _unaccent(stemmers[language].stemWord(word))


def _unaccent(word: str) -> str:
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
