"""Identify a text's language by its stop words. No network is needed. docs/project/decisions.md states the accuracy."""

import re
from collections import Counter
from functools import lru_cache

from holdfast.errors import InvalidInput
from holdfast.runtime.regex import regex
from holdfast.types.translatable import translatable

TAG = r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}"
"""Pattern of a BCP 47 tag, such as ``es-AR``."""
_TAG = regex(TAG)
STOP_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
        "a about after again all also am an and any are as at be because been before being but by can could did do does "
        "doing don down during each few for from further get got had has have having he her here hers him his how i if in "
        "into is it its just let ll m me more most my no nor not now of off on once only or other our out over own re s "
        "same she should so some such t than that the their them then there these they this those through to too under "
        "until up us ve very was we were what when where which while who whom whose why will with would you your yours".split()
    ),
    "es": frozenset(
        "a al algo algun alguna algunas alguno algunos ante antes asi aun aunque cada como con contra cual cuales cuando "
        "de del desde donde dos el ella ellas ello ellos en entre era eran eres es esa esas ese eso esos esta estaba estado "
        "estamos estan estar estas este esto estos estoy fue fueron ha habia hace hacer han has hasta hay he la las le les "
        "lo los mas me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque que quien quienes "
        "se sea segun ser si sido sin sobre solo son soy su sus tal tambien tan te tener tengo ti tiene tienen todo todos "
        "tu tus un una unas uno unos usted ustedes va vos voy y ya yo cuanto cuanta cuantos cuantas".split()
    ),
    "fr": frozenset(
        "au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui ma mais me mes moi mon ne nous "
        "on ou par pas pour qu que qui sa se ses son sur ta te tes toi ton tu un une vos votre vous suis sont etait".split()
    ),
    "de": frozenset(
        "aber als am an auch auf aus bei bin bis das dass dem den der des die du ein eine einem einen einer er es fur hat "
        "ich ihr im in ist ja kann mein meine mich mir mit nach nicht noch nur oder sich sie sind so und uns von war was "
        "wie wir wo zu zum zur".split()
    ),
    "it": frozenset(
        "al alla anche che chi ci come con cui da dal dei del della di dove e ed era gli ha ho i il in io la le lei li lo "
        "loro lui ma mi mia mio ne nel nella noi non o per piu quale quando quello questa questo se si sono su sua suo "
        "tra tu tuo un una uno voi".split()
    ),
    "pt": frozenset(
        "ao aos as com como da das de dela dele do dos e ela ele em entre era essa esse esta este eu foi isso ja la lhe "
        "mais mas me meu minha muito na nao nas nem no nos nossa nosso o os ou para pela pelo por quando que quem se sem "
        "seu sua tambem te tem tenho um uma voce".split()
    ),
}
_DEFAULT_LANGUAGES = ("en", "es")
_MIN_VOTES = 2
"""Minimum number of stop words to detect a language other than English or Spanish.

One is not enough: "tea au lait" is English.
"""
_WORD = regex(r"[^\W\d_]+")
_CYRILLIC = regex("[\u0400-\u04ff]")
_SPANISH_SIGNS = regex("[¿¡ñ]", re.IGNORECASE)
_NON_LATIN_LETTERS = regex("[\u0250-\u1dff\u2c00-\ua71f\ua800-\ufdff\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff]")
"""Letters of scripts other than Latin."""
_SPANISH_CONTENT_WORDS = frozenset(
    "buenos buenas casa compre cuales cuentame cumplo dime encanta gusta gustan gustaria hablo hijo hija llama llamo "
    "marido mujer necesito odio prefiero puedo quiero recuerda recuerdame suelo tenemos trabajo vamos vivimos vivo".split()
)
"""Common words of Spanish statements about oneself, used as evidence of Spanish in addition to the stop words."""
_ACCENTS = str.maketrans("áàâäãéèêëíìîïóòôöõúùûüçñ", "aaaaaeeeeiiiiooooouuuucn")


def detect_language(text: str) -> str | None:
    """Return the two-letter code of the text's language, or None if the evidence is insufficient."""
    return _detect_language(text[:2000])  # bounds the size of a cache key


@lru_cache(maxsize=4096)
def _detect_language(text: str) -> str | None:
    sample = text.casefold()
    if len(_CYRILLIC.findall(sample)) > len(sample) // 4:
        return "ru"
    words = [word.translate(_ACCENTS) for word in _WORD.findall(sample)]
    votes: Counter[str] = Counter()
    for word in words:
        for language, stops in STOP_WORDS.items():
            if word in stops:
                votes[language] += 1
    votes["es"] += 2 * len(_SPANISH_SIGNS.findall(sample))
    ranked = votes.most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    language, count = ranked[0]
    return language if count >= (1 if language in _DEFAULT_LANGUAGES else _MIN_VOTES) else None


def is_stop_word(word: str, language: str | None) -> bool:
    """Return True if a word (lower case, without accents) is a stop word in this language (English if None)."""
    return word in STOP_WORDS.get(language or "en", frozenset())


def is_foreign(text: str) -> bool:
    """Return True if a text is clearly not in English. Ambiguous short texts count as English."""
    return _is_foreign(text[:2000])  # bounds the size of a cache key


@lru_cache(maxsize=4096)
def _is_foreign(sample: str) -> bool:
    letters = sum(map(str.isalpha, sample))
    if 2 * len(_NON_LATIN_LETTERS.findall(sample)) > letters:
        return True
    words = _WORD.findall(sample)
    plain = [word.casefold().translate(_ACCENTS) for word in words]
    named = _name_positions(words)
    counted = [word for place, word in enumerate(plain) if place not in named and word != "ya"]  # "See ya!"
    english = sum(word in STOP_WORDS["en"] for word in counted)
    votes = {code: sum(word in stops for word in counted) for code, stops in STOP_WORDS.items() if code != "en"}
    votes["es"] += sum(word in _SPANISH_CONTENT_WORDS for word in counted) + 2 * len(_SPANISH_SIGNS.findall(sample))
    accents = sum(word.casefold() != bare for word, bare in zip(words, plain, strict=True))
    spanish, other = votes["es"], max(votes.values()) + accents
    return other > english and (spanish > 0 or other >= _MIN_VOTES)


def _name_positions(words: list[str]) -> set[int]:
    """Return the positions of words that belong to names. They are not evidence for a language: "Las Vegas" is not Spanish."""
    if sum(word.isupper() for word in words) * 2 > len(words):
        return set()
    capital = [word[:1].isupper() for word in words] + [False]
    return {place for place in range(len(words)) if capital[place] and (place > 0 or capital[1])}


def language_tag(value: str) -> str:
    """Return a BCP 47 tag such as ``es`` or ``es-AR``. Raise InvalidInput for anything else."""
    if _TAG.fullmatch(value) is None:
        raise InvalidInput(
            translatable("user.language", "{name!r} is not a language; use a tag such as es or es-AR.", name=value[:40])
        )
    return value
