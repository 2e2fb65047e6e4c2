"""Rewrite a text as people type or dictate it: without punctuation, with typos, short forms and fillers. The labels stay valid.

The tokenizer ignores case and accents, so these are not changed.
"""

import random
import re
from collections.abc import Sequence

Letters = list[tuple[str, int]]
"""The letters of a text, each with its original position. The position of a filler is -1."""

_PUNCTUATION = set('.,;:!?¿¡…"“”()-–—')
_SHORT = {
    "you": "u",
    "are": "r",
    "your": "ur",
    "because": "cuz",
    "please": "pls",
    "with": "w",
    "though": "tho",
    "going to": "gonna",
    "want to": "wanna",
    "right now": "rn",
    "people": "ppl",
    "really": "rly",
    "que": "q",
    "por": "x",
    "porque": "xq",
    "también": "tmb",
    "para": "pa",
    "estoy": "toy",
    "bueno": "bno",
    "mucho": "mxo",
    "tengo": "tngo",
}
_SHORT_WORDS = re.compile(rf"\b({'|'.join(sorted(_SHORT, key=len, reverse=True))})\b", re.IGNORECASE)
_FILLERS = {"en": ("um", "uh", "like", "you know", "so"), "es": ("eh", "este", "o sea", "pues", "bueno")}


Span = tuple[int, int]


def noisy(text: str, spans: Sequence[Span], lang: str, chance: random.Random) -> tuple[str, list[Span]]:
    """Return a text with spelling changes, and the new positions of some spans. About half of the texts stay unchanged."""
    letters = list(zip(text, range(len(text)), strict=True))
    draw = chance.random()
    if draw < 0.15:
        letters = _typos(letters, chance)
    elif draw < 0.3:
        letters = _dictated(letters, lang, chance)
    elif draw < 0.42:
        letters = _without_punctuation(letters)
    elif draw < 0.52:
        letters = _typos(_short(_without_punctuation(letters), chance), chance)
    if not any(letter.strip() for letter, _ in letters):
        return text, list(spans)
    return "".join(letter for letter, _ in letters), [moved for span in spans if (moved := _moved(letters, span))]


def _moved(letters: Letters, span: Span) -> Span | None:
    """Return the new position of a span, found by its letters."""
    places = [place for place, (_, origin) in enumerate(letters) if span[0] <= origin < span[1]]
    return (places[0], places[-1] + 1) if places else None


def _without_punctuation(letters: Letters) -> Letters:
    """Drop punctuation. A mark between two letters becomes a space, so that the words stay separate."""
    found: Letters = []
    for number, (letter, place) in enumerate(letters):
        if letter not in _PUNCTUATION:
            found.append((letter, place))
        elif 0 < number < len(letters) - 1 and letters[number - 1][0].isalnum() and letters[number + 1][0].isalnum():
            found.append((" ", place))
    return found


def _typos(letters: Letters, chance: random.Random) -> Letters:
    """Drop, double or swap a few letters inside words. Words of two letters, such as "no", are not changed."""
    found, number = [], 0
    while number < len(letters):
        one = letters[number]
        is_within = 0 < number < len(letters) - 1 and all(near[0].isalpha() for near in letters[number - 1 : number + 2])
        kind = chance.random() if is_within and chance.random() < 0.06 else 1.0
        if kind < 0.35:
            pass
        elif kind < 0.6:
            found += [one, one]
        elif kind < 1.0:
            found += [letters[number + 1], one]
            number += 1
        else:
            found.append(one)
        number += 1
    return found


def _short(letters: Letters, chance: random.Random) -> Letters:
    """Replace some words with short forms."""
    text = "".join(letter for letter, _ in letters)
    found, start = [], 0
    for match in _SHORT_WORDS.finditer(text):
        if chance.random() < 0.6:
            found += letters[start : match.start()]
            found += [(letter, letters[match.start()][1]) for letter in _SHORT[match[0].casefold()]]
            start = match.end()
    return found + letters[start:]


def _dictated(letters: Letters, lang: str, chance: random.Random) -> Letters:
    """Leave out punctuation and apostrophes, and add a filler."""
    plain = [one for one in _without_punctuation(letters) if one[0] not in "'’"]
    gaps = [0, *(number + 1 for number, (letter, _) in enumerate(plain) if letter == " ")]
    gap = chance.choice(gaps)
    filler = chance.choice(_FILLERS["es" if lang == "es" else "en"])
    return [*plain[:gap], *((letter, -1) for letter in f"{filler} "), *plain[gap:]]
