"""Split a text into sentences. The text can be prose, a list, chat or dictation, in English or Spanish."""

import re
from collections.abc import Iterator

from holdfast.runtime.regex import regex
from holdfast.text.dictation import split_at_conjunctions, split_dictation

_TERMINAL = regex(r"(?:[.!?…]+[\"'”’»)\]]*(?=\s|$)|[!?]+(?=[¿¡])|\.+(?=[¿¡])|[。！？]+)")
_BULLET = regex(r"^\s*(?:[-*•·–—▪◦‣]|\d{1,3}[.)]|[a-zA-Z]\))\s+(?=\S)")
_LAST_WORD = regex(r"([^\W_]+(?:[.'’-][^\W_]+)*)$")
_NEXT_WORD = regex(r"[\s\"'“‘«(\[¿¡]*(\S)")
_INITIALS = regex(r"[A-Z](?:\.[A-Z]){1,2}")
_NEVER_LAST = frozenset(
    "mr mrs ms dr prof st rev hon gen col capt sgt lt jr messrs mme sr sra srta sres dra dn dña d lic ing arq fr hno vs cf "
    "eg e.g ie i.e viz approx aprox ca tel tfno avda av c ctra pza esq ud uds vd vds ee ej p.ej gral cía sto sta".split()
)
"""Abbreviations whose period never ends a sentence."""
_NUMBERED = frozenset(
    "no nr núm num nº n p pp pág págs pag fig art cap vol ed sec ch vers v jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
"""Abbreviations whose period does not end a sentence if a number follows. Otherwise it does ("No. I won't.")."""
_PERHAPS_LAST = frozenset("etc a.m p.m inc ltd co corp s.a s.l u.s u.k ee.uu uu b.c a.d ph.d a.c d.c m".split())
"""Abbreviations whose period ends a sentence only if a capital letter follows: "at 5 p.m. Then", but not "at 5 p.m. and"."""
_CONTEXT_CHARS = 40
"""Number of characters examined on each side of a period. Few are enough, because abbreviations are short."""
_MIN_WRAPPED_CHARS = 45
"""Minimum number of characters of a line that counts as wrapped. Shorter lines are never joined with the next line."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order, each on one line and without its bullet.

    Abbreviations, decimals, addresses and ellipses do not end a sentence. Dictation without punctuation is split at
    conjunctions, so that no piece becomes too long.
    """
    return [piece for line in _lines(text) for sentence in _cut(line) for piece in split_at_conjunctions(sentence)]


def split_clauses(text: str) -> list[str]:
    """Return the sentences of a text. Text without punctuation is split into its clauses, however short it is."""
    return [piece for line in _lines(text) for sentence in _cut(line) for piece in split_dictation(sentence)]


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, with wrapped lines joined and bullets removed."""
    held = ""
    lines = re.split(r"[\r\n\u2028\u2029\x85]", text)
    for raw in lines:
        line = " ".join(raw.split())
        bullet = _BULLET.match(raw)
        is_item = bullet is not None and (len(lines) > 1 or not bullet[0].strip()[:-1].isdigit())  # "120. I work nights"
        if held and line and not is_item and len(held) >= _MIN_WRAPPED_CHARS and line[0].islower() and held[-1] not in ".!?…:":
            held = f"{held} {line}"
            continue
        if held:
            yield held
        held = _BULLET.sub("", line) if is_item else line
    if held:
        yield held


def _cut(line: str) -> Iterator[str]:
    start = 0
    for end in _TERMINAL.finditer(line):
        if _ends_here(line, end):
            sentence = line[start : end.end()].strip()
            if sentence:
                yield sentence
            start = end.end()
    rest = line[start:].strip()
    if rest:
        yield rest


def _ends_here(line: str, end: re.Match[str]) -> bool:
    signs, rest = end[0], line[end.end() : end.end() + _CONTEXT_CHARS]
    following = _NEXT_WORD.match(rest)
    if following is None:
        return True
    lower = following[1].islower()
    if lower and (signs.startswith(("...", "…")) or signs[-1] in "\"'”’»)]"):
        return False
    if not signs.startswith(".") or signs.startswith(".."):
        return True
    if rest.casefold().startswith(" ej"):  # "p. ej." is written with a space
        return False
    return not _is_abbreviated(line[max(0, end.start() - _CONTEXT_CHARS) : end.start()], following[1])


def _is_abbreviated(before: str, following: str) -> bool:
    found = _LAST_WORD.search(before)
    if found is None:
        return False
    word = found[1]
    plain = word.casefold()
    if plain in _NEVER_LAST:
        return True
    if plain in _NUMBERED and following.isdigit():
        return True
    if plain in _PERHAPS_LAST:
        return not following.isupper()
    if _INITIALS.fullmatch(word):  # "R.F. Kuang"
        return following.isupper()
    is_initial = word != "I" or before[: found.start()].endswith(('"', "“", "«"))  # "I. Newton", but not "she and I. We"
    return len(word) == 1 and word.isupper() and is_initial and following.isupper()
