"""Detect secrets by their labels: passwords, PINs, tokens and seed phrases, in English and Spanish.

A label alone is not enough: "my password is too short" contains no secret. The value after the label must look like a
secret, be quoted, or be a single word that ends the sentence and is not a description.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from holdfast.text.language import STOP_WORDS

Span: TypeAlias = tuple[int, int, str]
"""Start and end position of a secret, and its kind."""

_END = r"(?![^\W_])"
_PASSWORDS = r"pass(?:word|code|phrase|wd)|pwd|contrase(?:ñ|n|n\u0303)a|clave\sde\sacceso"
_KEYS = r"key|apikey|secreto?|(?:clave|llave)(?:\sde)?(?:\sla)?\s(?:api|secreta)"
_TOKENS = r"token(?:\sde\sacceso)?"
_SHORT = r"pass|pw|clave"
_EQUALS = r"\s{0,3}(?::?=>?|->|→|:)\s{0,3}(?:(?:is|es)\s)?[*_]{0,2}"
_IS = (
    r"(?:\s(?:for|to|of|on|at|de|del|para|en)(?:\s[\w.'’@-]{1,30}){1,4}?)?"
    r"(?:(?:\s(?:is|was|es|era)|['’]s)(?:\s(?:now|still|just|simply|currently|set\sto|ahora|simplemente|todavía|la\ssiguiente|esta))?"
    r"\s?:?\s{1,3}|(?P<to>\s(?:to|a|por)\s))"
)
_VALUE = r"(?:[\"“«`](?P<quoted>[^\"”»`\n]{3,128})[\"”»`]|'(?P<single>[^'\n]{3,128})'|(?P<plain>[^\s\"“«`]\S{2,127}))"
_LABELLED = re.compile(
    rf"(?P<label>(?P<password>{_PASSWORDS})|(?P<key>{_KEYS})|(?P<token>{_TOKENS})|(?P<short>{_SHORT})){_END}(?:\s(?:nueva|actual|antigua|anterior|wi-?fi)(?!\w))?\d?[\"'`*]{{0,3}}"
    rf"(?:(?P<equals>{_EQUALS})|{_IS}){_VALUE}",
    re.IGNORECASE,
)
_ADJOINING = re.compile(r"(?:password|passcode|contraseña|clave\swi-?fi)\s(?P<plain>[^\s\"'“«`,;]{6,128})", re.IGNORECASE)
_BEARER = re.compile(
    r"(?:bearer|authorization[\"']?:\s?[\"']?(?:basic|token))\s{1,3}(?P<plain>[A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE
)
_PIN = re.compile(
    rf"(?:pin|nip){_END}(?:\s(?:code|number|de|del|la|el|for|to|my|mi|tarjeta|banco|card|bank|phone|móvil|teléfono|número)){{0,4}}"
    r"(?:\s(?:is|es|was|era)(?:\s(?:el|now|ahora))?\s?:?\s|\s?[:=]\s{0,2})(?P<plain>\d{4,8})(?!\w)",
    re.IGNORECASE,
)
_CARD_CODE = re.compile(
    rf"(?:cvv2?|cvc2?|csc|security\scode|c[oó]digo\sde\sseguridad){_END}"
    r"(?:\s(?:de|la|tarjeta|of|on|my|the|card|number|code)){0,4}(?:\s(?:is|es|was|era)(?:\sel)?)?\s?[:=]?\s{0,2}(?P<plain>\d{3,4})(?!\w)",
    re.IGNORECASE,
)
_SEED = re.compile(
    rf"(?:(?:recovery|seed|mnemonic|backup|wallet)\s(?:phrase|words)|mnemonic"
    rf"|(?:frase|palabras)\s(?:semilla|de\srecuperaci[oó]n|secretas?|mnemotécnica)){_END}"
    r"(?:\s(?:for|of|to|de)(?:\s\w{1,20}){1,3}?)?\s?(?:(?:is|are|es|son)\s?:?|[:=])\s{0,3}[\"'“«`]?"
    r"(?P<plain>(?:(?:\d{1,2}[.)]\s?)?[a-záéíóúñ]{3,12}[\s,]{1,3}){11,23}(?:\d{1,2}[.)]\s?)?[a-záéíóúñ]{3,12})",
    re.IGNORECASE,
)
_KEY_PREFIX = re.compile(r"(?:api|secret|access|auth|encryption|client|signing|aws|app)[ _-]?$")
_NOT_PASSWORD_PREFIXES = ("boarding ", "bus ", "ski ", "train ", "season ", "palabra ", "palabras ")
_PLACEHOLDER = re.compile(
    r"\[redacted|[*•xX.#_-]+$|<[^<>]*>?$|\$\{|\$[A-Z_]+\b|\{\{|%[sd(]|[^(]*\(|(?:process|os|env|settings|config|self)\.|.*://"
)
_A_LENGTH = re.compile(
    r"\d+[-–]?(?:char|caract|digit|dígit|letter|letra|word|palabra|bit|day|día|dia|min|hour|hora|year|año|month|mes)|\d{1,3}[-–]\d{1,3}$",
    re.IGNORECASE,
)
_AT_END = re.compile(r"\s*(?:$|[\n.,;!?)|]|[-–—/]\s|(?:and|but|so|y|pero)\s)")
_WORDS_TO_END = re.compile(r"(?:[a-záéíóúñ]{3,12} ){3,7}[a-záéíóúñ]{3,12}(?=\s*(?:$|[\n.,;!?]))", re.IGNORECASE)
_DESCRIBES = re.compile(r".*(?:ed|en|ing|able|ible|[ai]d[oa]s?|[ae]nte|ly|mente)$", re.IGNORECASE)
_SIGN_WITHIN = re.compile(r".[!@#$%^&*+=~]|[!@#$%^&*+=~].|[a-z][A-Z]")
_NOT_SECRET_WORDS = frozenset(
    """strong weak wrong right long short safe secure insecure secret correct incorrect simple hard easy ready old new set here there
    same it that this these fine ok okay gone lost empty blank unique invalid valid public private optional mandatory null none true
    false yes no unknown bad good great terrible awful complex random bcrypt base64 sha1 sha256 sha512 md5 utf8 utf-8 argon2 argon2id
    plaintext string text case-sensitive hash plain due tomorrow today missing default personal confidential why what different sensitive
    something nothing anything everything ours yours mine policy field reset stolen safe-ish better worse okay-ish str
    segura débil debil larga corta correcta incorrecta secreta difícil dificil fácil facil vieja nueva misma esa esta aquí aqui bien mal
    única unica inválida invalida válida valida pública publica privada opcional obligatoria obligatorio nula ninguna sí si mala buena
    fuerte compleja aleatoria mía mia tuya suya distinta diferente igual otra importante paciencia confidencial algo nada""".split()
)


def labelled(text: str) -> Iterator[Span]:
    """Yield the spans of the secrets that follow a label such as "password"."""
    lowered = text.replace("İ", "i").lower()  # "İ" is the only letter that gets longer in lower case
    for match in _after(text, lowered, _SEED, "recovery", "seed", "mnemonic", "backup", "wallet", "frase", "palabras"):
        if _is_seed(match["plain"]):
            yield _span(match, "seed phrase")
    for match in _after(text, lowered, _BEARER, "bearer", "authorization"):
        if _is_code(match["plain"]):
            yield _span(match, "token")
    for match in _after(text, lowered, _LABELLED, "pass", "pw", "contrase", "clave", "llave", "key", "apikey", "secret", "token"):
        span = _value(match)
        if span:
            yield span
    for match in _after(text, lowered, _ADJOINING, "passw", "passc", "contrase", "clave"):
        if _is_code(match["plain"], min_length=6) and not _PLACEHOLDER.match(match["plain"]):
            yield _span(match, "password")
    yield from (_span(match, "pin") for match in _after(text, lowered, _PIN, "pin", "nip"))
    found = _after(text, lowered, _CARD_CODE, "cvv", "cvc", "csc", "security", "código", "codigo")
    yield from (_span(match, "security code") for match in found)


def _after(text: str, lowered: str, pattern: re.Pattern[str], *stems: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern at each word that begins with one of the stems.

    The stems are plain strings. They are searched first, because searching a long text for the pattern would be slow.
    """
    for stem in stems:
        at = lowered.find(stem)
        while at >= 0:
            match = pattern.match(text, at) if _begins_word(text, at) else None
            if match:
                yield match
            at = lowered.find(stem, at + 1)


def _begins_word(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return not before.isalnum() or (text[at].isupper() and before.islower())


def _span(match: re.Match[str], kind: str) -> Span:
    start = match.start("plain")
    return start, start + len(_bare(match["plain"])), kind


def _bare(word: str) -> str:
    """Return a word without the punctuation at its end. A final "!" is kept, because it is often part of a password."""
    return word.rstrip(".,;:)?\"'`]}>|*")


def _value(match: re.Match[str]) -> Span | None:
    """Return the span of the secret after a label, or None."""
    before = match.string[max(0, match.start() - 12) : match.start()].lower()
    if before.endswith(_NOT_PASSWORD_PREFIXES) or (match["label"].lower() == "key" and not _KEY_PREFIX.search(before)):
        return None
    kind = "api key" if match["key"] else "token" if match["token"] else "password"
    takes_words = bool(match["password"]) or (match["label"].lower() == "clave" and before.endswith(("mi ", "nuestra ")))
    for group in ("quoted", "single"):
        if match[group]:
            return (*match.span(group), kind) if _is_told_in_quotes(match, match[group], takes_words=takes_words) else None
    start, value = match.start("plain"), match["plain"]
    if "=" in (match["equals"] or ""):
        value = re.split(r"[&;]", value, maxsplit=1)[0]
    value = _bare(value)
    if len(value) < 3 or _PLACEHOLDER.match(value) or _A_LENGTH.match(value):
        return None
    end = start + len(value)
    if not _looks_secret(match, value):
        end = _end_of_words(match.string, start, end) if takes_words and not match["to"] else 0
    return (start, end, kind) if end else None


def _end_of_words(text: str, start: int, end: int) -> int:
    """Return the end position of a password made of plain words ("correct horse battery staple"), or 0 if there is none."""
    phrase = _WORDS_TO_END.match(text, start)
    if phrase and not _describes_password(phrase[0].split()[1:]):
        return phrase.end()
    word = text[start:end].rstrip("!")
    lone = word.isalpha() and _AT_END.match(text, start + len(word)) and not _describes_password([word])
    return end if lone else 0


def _is_told_in_quotes(match: re.Match[str], value: str, *, takes_words: bool) -> bool:
    if _PLACEHOLDER.match(value):
        return False
    return _looks_secret(match, value) or (takes_words and not _describes_password(value.split()))


def _looks_secret(match: re.Match[str], value: str) -> bool:
    """Return True if a value looks like a secret of the kind its label names."""
    if value.casefold() in _NOT_SECRET_WORDS:
        return False
    if match["key"] or match["token"]:
        return _is_code(value)
    has_digit = any(letter.isdigit() for letter in value)
    return len(value) >= 4 and (has_digit or bool(match["password"] and _SIGN_WITHIN.search(value.rstrip("!"))))


def _is_code(value: str, *, min_length: int = 8) -> bool:
    digits = sum(letter.isdigit() for letter in value)
    return len(value) >= min_length and digits >= 1 and any(letter.isalpha() for letter in value)


def _describes_password(words: list[str]) -> bool:
    """Return True if the words describe a password ("too short") and so are not the password itself."""
    return any(
        word.casefold() in _NOT_SECRET_WORDS or word.casefold() in STOP_WORDS["en"] | STOP_WORDS["es"] or _DESCRIBES.match(word)
        for word in words
    )


def _is_seed(phrase: str) -> bool:
    """Return True if the words are a seed phrase. Words with more than two stop words are a sentence and not a seed phrase."""
    common = STOP_WORDS["en"] | STOP_WORDS["es"]
    return sum(word.casefold() in common for word in phrase.split()) <= 2
