"""Detect secrets by their labels: passwords, PINs, one-time codes, tokens and seed phrases.

Labels are known in English, Spanish, French, German, Portuguese and Italian. A label alone is not enough: "my password is too
short" contains no secret. The value after the label must look like a secret or be quoted. A single word at the end of the
sentence is also accepted, unless it describes a password.
"""

import re
from collections.abc import Iterator

from holdfast.runtime.regex import regex
from holdfast.text.language import STOP_WORDS
from holdfast.text.secrets.shapes import PLACEHOLDER, Span

_END = r"(?![^\W_])"
_PASSWORDS = (
    r"pass(?:w[o0]rd|code|phrase|wd|wort)|pwd|contrase(?:ñ|n|n\u0303)a|clave\sde\sacceso"
    r"|mots?\sde\spasse|mdp|kennwort|senha|palavra[\s-]passe|parola\sd['’]ordine"
)
_KEYS = (
    r"key|apikey|secreto?|(?:clave|llave|chave|chiave)(?:\sd[ea])?(?:\sla)?\s(?:api|secreta|segreta)"
    r"|cl(?:é|e|e\u0301)\s(?:d['’]\s?)?(?:api|secr(?:è|e)te)|(?:api|geheim)[\s-]?schlüssel"
)
_TOKENS = r"token(?:\sde\sacceso)?|jeton(?:\sd['’]acc(?:è|e)s)?"
_SHORT = r"pass|pw|clave|contra"
_COPULA = r"is|was|es|era|est|était|ist|war|lautet|é|è"
_EQUALS = rf"\s{{0,3}}(?::?=>?|->|→|:)\s{{0,3}}(?:(?:{_COPULA})\s)?[*_]{{0,2}}|(?<=[\"'])\s?,\s{{0,3}}|>(?=[^<>\s]{{3,128}}</)|\s[-–—]\s"
"""Matches the sign between a label and its value. It can also be a comma after quotes, a closing tag, or a dash."""
_OF = r"\s(?:for|to|of|on|at|de|del|para|en|pour|du|für|vom|von|do|da|no|na|di|per)(?:\s[\w.'’@-]{1,30}){1,4}?"
"""Matches the words that say what a password is for: "for the router"."""
_IS = (
    rf"(?:(?:(?:{_OF})?"
    rf"\s(?:{_COPULA})|['’]s|(?:\?|\s?\.\.\.|,)\s(?:it['’]?s|it\sis|that['’]s|es|c['’]est|é|è|es\sist))"
    r"(?:\s(?:now|still|just|simply|currently|set\sto|ahora|simplemente|todavía|la\ssiguiente|esta|maintenant|jetzt|agora|adesso))?"
    r"\s?:?\s{1,3}|(?:\s(?:for|to|of|on|at|de|del|para|en)(?:\s[\w.'’@-]{1,30}){1,4}?)?(?P<to>\s(?:to|a|por)\s))"
)
_VALUE = r"(?:[\"“«`](?P<quoted>[^\"”»`\n]{3,128})[\"”»`]|'(?P<single>[^'\n]{3,128})'|(?P<plain>[^\s\"“«`]\S{2,127}))"
_LABELLED = regex(
    rf"(?P<label>(?P<password>{_PASSWORDS})|(?P<key>{_KEYS})|(?P<token>{_TOKENS})|(?P<short>{_SHORT})){_END}(?:\s(?:nueva|actual|antigua|anterior|wi-?fi|wlan|wpa2?)(?!\w))?\d?[\"'`*]{{0,3}}"
    rf"(?:(?P<of>{_OF}|\s\([^()\n]{{1,30}}\))?(?P<equals>{_EQUALS})|{_IS}){_VALUE}",
    re.IGNORECASE,
)
_ADJOINING = regex(
    r"(?:password|passcode|passwort|kennwort|mot\sde\spasse|senha|contraseña|clave\swi-?fi|identified\sby)"
    r"\s(?:[\"'](?P<quoted>[^\s\"']{6,128})[\"']|(?P<plain>[^\s\"'“«`,;]{6,128}))",
    re.IGNORECASE,
)
_AFTER_USER = regex(
    r"(?:user(?:name)?|login|usuario)(?!\w)[^\n]{1,60}?[\s,;/|](?:pass|pw|clave)\s(?P<plain>[^\s\"'“«`,;]{6,128})", re.IGNORECASE
)
"""Matches a password after a user name, as in "user ana, pass trustno1"."""
_CREDENTIALS = regex(
    r"(?:creds?|credentials|credenciales|login)(?!\w)[:\s]{1,3}(?:[\w.@+-]{1,60}[:/]|[\w.+-]{1,60}@[\w.-]{1,60}\s)"
    r"(?P<plain>[^\s\"'“«`,;]{6,128})",
    re.IGNORECASE,
)
"""Matches a password after a user name or an e-mail address, as in "login ana@example.org trustno1"."""
_ADJOINING_KEY = regex(
    r"(?:api|access|secret|encryption|license)[\s_-]key\s(?P<plain>[A-Za-z0-9][A-Za-z0-9._~+/=-]{15,200})", re.IGNORECASE
)
_COOKIE = regex(r"(?:set-)?cookie:\s(?P<plain>[^\n]{8,4000})", re.IGNORECASE)
_COOKIE_VALUE = regex(r"=(?P<plain>[^\s;=\"']{16,})")
_BEARER = regex(
    r"(?:bearer|authorization[\"']?:\s?[\"']?(?:basic|token))\s{1,3}(?P<plain>[A-Za-z0-9._~+/=-]{12,})", re.IGNORECASE
)
_PIN = regex(
    rf"(?:pin(?:-?(?:code|nummer))?|nip|geheimzahl){_END}"
    r"(?:\s(?:code|number|de|del|da|do|du|der|la|el|le|for|to|my|mi|ma|tarjeta|cartão|carte|karte|banco|card|bank|phone|móvil|teléfono|número)){0,4}"
    rf"(?:\s(?:{_COPULA})(?:\s(?:el|le|now|ahora))?\s?:?\s|\s?[:=]\s{{0,2}})(?P<plain>\d{{4,8}})(?!\w)",
    re.IGNORECASE,
)
_CARD_CODE = regex(
    rf"(?:cvv2?|cvc2?|csc|security\scode|c[oó]digo\sde\ssegur(?:idad|ança)|code\sde\ss[ée]curité|kartenprüfnummer|prüfziffer){_END}"
    rf"(?:\s(?:de|la|tarjeta|of|on|my|the|card|number|code|da|do|cartão|carte)){{0,4}}(?:\s(?:{_COPULA})(?:\sel)?)?\s?[:=]?\s{{0,2}}"
    r"(?P<plain>\d{3,4})(?!\w)",
    re.IGNORECASE,
)
_CODE_NAMES = (
    r"your\scode|(?:tu|su)\sc[oó]digo|(?:one[\s-]time|verification|authentication|authenticator|login|log[\s-]in|sign[\s-]in|access|security|2fa|mfa|sms|two[\s-]factor)"
    r"\s(?:pass)?code|one[\s-]time\s(?:password|pin)|otp|2fa"
    r"|c[oó]digo\ssms|c[oó]digo\sde\s(?:verificaci[oó]n|un\ssolo\suso|acceso|autenticaci[oó]n|verifica[çc][ãa]o)|code\sde\sv[ée]rification"
    r"|(?:bestätigungs|sicherheits|einmal)code|codice\sdi\sverifica"
)
_SIX_DIGITS = regex(r"\d{3}[\s-]?\d{3}")
_CODE_DIGITS = r"(?:[A-Z]-)?\d{3}[\s-]?\d{3,5}"
_ONE_TIME = regex(
    rf"(?:{_CODE_NAMES}){_END}(?:\s(?:for|para|pour|für|de|del)(?:\s[\w.'’@-]{{1,30}}){{1,3}}?)?"
    rf"(?:\s(?:{_COPULA})(?:\s(?:el|now))?\s?:?\s|\s?[:=#]\s{{0,2}}|\s)(?P<plain>{_CODE_DIGITS})(?![\w.,]*\d)",
    re.IGNORECASE,
)
_ONE_TIME_FIRST = regex(
    rf"(?<![\w.,/-])(?P<plain>{_CODE_DIGITS})\s(?:is|es|est|ist|é|è|as)\s(?:your|the|my|tu|su|el|votre|le|ihr|dein|seu|o|il)\s"
    rf"(?:[\w.'’-]{{1,30}}\s){{0,2}}?(?:{_CODE_NAMES}){_END}",
    re.IGNORECASE,
)
_TOTP = regex(
    rf"(?:totp|2fa|mfa|otp|authenticator|two[\s-]factor)(?:\s(?:setup|app|backup))?\s(?:seed|secret|key|semilla){_END}"
    rf"(?:\s(?:for|of|de|para)(?:\s[\w.'’@-]{{1,30}}){{1,3}}?)?(?:\s(?:{_COPULA})\s?:?\s|\s?[:=]\s{{0,2}}|\s)[\"'`]?"
    r"(?P<plain>[A-Z2-7]{16,64}|[A-Z2-7]{4}(?:[\s-][A-Z2-7]{4}){3,15})(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_SEED = regex(
    rf"(?:(?:recovery|seed|mnemonic|backup|wallet)\s(?:phrase|words)|mnemonic"
    rf"|(?:frase|palabras)\s(?:semilla|de\srecuperaci[oó]n|secretas?|mnemotécnica)){_END}"
    r"(?:\s(?:for|of|to|de)(?:\s\w{1,20}){1,3}?)?\s?(?:(?:is|are|es|son)\s?:?|[:=])\s{0,3}[\"'“«`]?"
    r"(?P<plain>(?:(?:\d{1,2}[.)]\s?)?[a-záéíóúñ]{3,12}[\s,]{1,3}){11,23}(?:\d{1,2}[.)]\s?)?[a-záéíóúñ]{3,12})",
    re.IGNORECASE,
)
_KEY_PREFIX = regex(
    r"(?:api|secret|access|auth|encryption|client|signing|aws|app|account|private|master|service|storage|shared|license|session)[ _-]?$"
)
_IN_A_NAME = regex(r"(?:PASSWORD|PASSWD|SECRET|TOKEN|APIKEY)=|pass(?:word|wd)\s?[:=]")
"""Matches a label at the end of a longer name, such as ``PGPASSWORD=`` and ``dbpassword:``."""
_NOT_PASSWORD_PREFIXES = ("boarding ", "forward ", "backward ", "bus ", "ski ", "train ", "season ", "palabra ", "palabras ")
_A_LENGTH = regex(
    r"\d+[-–]?(?:char|caract|digit|dígit|letter|letra|word|palabra|bit|day|día|dia|min|hour|hora|year|año|month|mes)|\d{1,3}[-–]\d{1,3}$",
    re.IGNORECASE,
)
_AT_END = regex(r"\s*(?:$|[\n.,;!?)|]|[-–—/]\s|(?:and|but|so|y|pero)\s)")
_WORDS_TO_END = regex(r"(?:[a-záéíóúñ]{3,12} ){3,7}[a-záéíóúñ]{3,12}(?=\s*(?:$|[\n.,;!?]))", re.IGNORECASE)
_DESCRIBES = regex(r".*(?:ed|en|ing|able|ible|[ai]d[oa]s?|[ae]nte|ly|mente|ée?s?|lich|bar)$", re.IGNORECASE)
_SIGN_WITHIN = regex(r".[!@#$%^&*+=~]|[!@#$%^&*+=~].|[a-z][A-Z]")
_STOP_WORDS = frozenset().union(*(STOP_WORDS[language] for language in ("en", "es", "fr", "de", "it", "pt")))
_NOT_SECRET_WORDS = frozenset(
    """strong weak wrong right long short safe secure insecure secret correct incorrect simple hard easy ready old new set here there
    same it that this these fine ok okay gone lost empty blank unique invalid valid public private optional mandatory null none true
    false yes no unknown bad good great terrible awful complex random bcrypt base64 sha1 sha256 sha512 md5 utf8 utf-8 argon2 argon2id
    plaintext string text case-sensitive hash plain due tomorrow today missing default personal confidential why what different sensitive
    something nothing anything everything ours yours mine policy field reset stolen safe-ish better worse okay-ish str pwd passwd password passphrase user username value input
    segura débil debil larga corta correcta incorrecta secreta difícil dificil fácil facil vieja nueva misma esa esta aquí aqui bien mal
    única unica inválida invalida válida valida pública publica privada opcional obligatoria obligatorio nula ninguna sí si mala buena
    court courte long longue faible fort forte faux vrai incorrecte sécurisé perdu identique pareil ici falsch richtig sicher
    unsicher schwach stark kurz lang leer weg gleich hier geheim neu alt errada errado certa fraca segura curta perdida obrigatória
    fuerte compleja aleatoria mía mia tuya suya distinta diferente igual otra importante paciencia confidencial algo nada""".split()
)


_MORE_STEMS = ("mot", "mdp", "kennwort", "senha", "palavra", "parola", "chave", "chiave", "clé", "cle", "api", "geheim", "jeton")
_CODE_STEMS = (
    *(
        "your",
        "tu",
        "su",
        "one",
        "verification",
        "authentic",
        "log",
        "sign",
        "access",
        "security",
        "2fa",
        "mfa",
        "sms",
        "two",
        "otp",
    ),
    *("código", "codigo", "code", "bestätigungs", "sicherheits", "einmal", "codice"),
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
    for match in _after(
        text, lowered, _LABELLED, "pass", "pw", "contra", "clave", "llave", "key", "secret", "token", *_MORE_STEMS
    ):
        span = _value(match)
        if span:
            yield span
    yield from _adjoining(text, lowered)
    yield from (_span(match, "pin") for match in _after(text, lowered, _PIN, "pin", "nip", "geheimzahl"))
    found = _after(text, lowered, _CARD_CODE, "cvv", "cvc", "csc", "security", "código", "codigo", "code", "karten", "prüfz")
    yield from (_span(match, "security code") for match in found)
    if _SIX_DIGITS.search(text):  # few texts have a code, and searching its many names takes a fifth of the time
        yield from (_span(match, "one-time code") for match in _after(text, lowered, _ONE_TIME, *_CODE_STEMS))
        yield from (_span(match, "one-time code") for match in _ONE_TIME_FIRST.finditer(text))
    found = _after(text, lowered, _TOTP, "totp", "2fa", "mfa", "otp", "authenticator", "two")
    yield from (_span(match, "api key") for match in found if _is_seed_code(match["plain"]))


def _adjoining(text: str, lowered: str) -> Iterator[Span]:
    """Yield the spans of secrets directly after a label, without a verb or a sign between them: "password hunter2"."""
    found = _after(text, lowered, _ADJOINING, "passw", "passc", "contrase", "clave", "kennwort", "mot", "senha", "identified")
    users = _after(text, lowered, _AFTER_USER, "user", "login", "usuario")
    for match in (*found, *users, *_after(text, lowered, _CREDENTIALS, "cred", "login")):
        value = match["plain"] or match["quoted"]
        if _is_code(value, min_length=6) and not PLACEHOLDER.match(value):
            yield _span(match, "password") if match["plain"] else (*match.span("quoted"), "password")
    for match in _after(text, lowered, _ADJOINING_KEY, "api", "access", "secret", "encryption", "license"):
        if sum(letter.isdigit() for letter in match["plain"]) >= 3:
            yield _span(match, "api key")
    for match in _after(text, lowered, _COOKIE, "cookie", "set-cookie"):
        cookies = _COOKIE_VALUE.finditer(text, *match.span("plain"))
        yield from (_span(each, "token") for each in cookies if _is_code(each["plain"]))


def _after(text: str, lowered: str, pattern: re.Pattern[str], *stems: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that begin with one of the ``stems``, such as "passw".

    ``lowered`` is the text in lower case. A stem counts only at the start of a word or in a name such as ``PGPASSWORD``. The
    stems are plain strings. They are searched first, because applying the pattern to a whole long text would be slow.
    """
    for stem in stems:
        at = lowered.find(stem)
        while at >= 0:
            match = pattern.match(text, at) if _begins_word(text, at) or _IN_A_NAME.match(text, at) else None
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
    """Return the span of the secret after a label, or None if the text after the label is not a secret."""
    before = match.string[max(0, match.start() - 12) : match.start()].lower()
    if before.endswith(_NOT_PASSWORD_PREFIXES):
        return None
    if match["label"].lower() == "key" and not _KEY_PREFIX.search(before) and not _is_key_variable(match):
        return None
    unclear = match["of"] or match["label"].lower() == "contra"
    if match["short"] and unclear and not _is_code(_bare(match["plain"] or ""), min_length=6):
        return None  # "the pass for the museum: 2024", "en contra: 1200 votos"
    kind = "api key" if match["key"] else "token" if match["token"] else "password"
    takes_words = bool(match["password"]) or (match["label"].lower() == "clave" and before.endswith(("mi ", "nuestra ")))
    takes_words = takes_words and (match["equals"] or "").strip() not in ("-", "–", "—")
    for group in ("quoted", "single"):
        if match[group]:
            return (*match.span(group), kind) if _is_told_in_quotes(match, match[group], takes_words=takes_words) else None
    start, value = match.start("plain"), match["plain"]
    if "=" in (match["equals"] or ""):
        value = re.split(r"[&;]", value, maxsplit=1)[0]
    if match["equals"] == ">":
        value = value.partition("<")[0]
    value = _bare(value)
    if len(value) < 3 or PLACEHOLDER.match(value) or _A_LENGTH.match(value):
        return None
    end = start + len(value)
    if not _looks_secret(match, value) and not _is_assigned(match, value):
        end = _end_of_words(match.string, start, end) if takes_words and not match["to"] else 0
    return (start, end, kind) if end else None


def _is_key_variable(match: re.Match[str]) -> bool:
    """Return True if a long code is the value of an environment variable such as ``FAL_KEY``."""
    value = _bare(match["plain"] or match["quoted"] or match["single"] or "")
    named = match["label"] == "KEY" and match["equals"] == "=" and match.string[: match.start()].endswith("_")
    return named and len(value) >= 20 and sum(letter.isdigit() for letter in value) >= 3


def _is_assigned(match: re.Match[str], value: str) -> bool:
    """Return True if a password is the value of an environment variable, as in ``PGPASSWORD=sunflower``.

    Such a password counts as a secret even if it is an ordinary word.
    """
    named = match.string[max(0, match.start() - 1) : match.start()]
    is_variable = match["label"].isupper() and match["equals"] == "=" and (named == "_" or named.isupper())
    return is_variable and bool(match["password"]) and value.casefold() not in _NOT_SECRET_WORDS


def _end_of_words(text: str, start: int, end: int) -> int:
    """Return the end position of a password made of plain words ("correct horse battery staple"), or 0 if there is none."""
    phrase = _WORDS_TO_END.match(text, start)
    if phrase and not _describes_password(phrase[0].split()[1:]):
        return phrase.end()
    word = text[start:end].rstrip("!")
    lone = word.isalpha() and _AT_END.match(text, start + len(word)) and not _describes_password([word])
    return end if lone else 0


def _is_told_in_quotes(match: re.Match[str], value: str, *, takes_words: bool) -> bool:
    if PLACEHOLDER.match(value):
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


def _is_seed_code(value: str) -> bool:
    """Return True if a value is the base-32 seed of one-time codes, and not a word in capitals."""
    return any(letter.isdigit() for letter in value) or len(value) >= 32 or " " in value


def _describes_password(words: list[str]) -> bool:
    """Return True if the words describe a password ("too short") and so are not the password itself."""
    return any(word.casefold() in _NOT_SECRET_WORDS or word.casefold() in _STOP_WORDS or _DESCRIBES.match(word) for word in words)


def _is_seed(phrase: str) -> bool:
    """Return True if the words are a seed phrase (the words that restore a crypto wallet), False if they are a sentence.

    If more than two of the words are stop words, they are a sentence.
    """
    return sum(word.casefold() in _STOP_WORDS for word in phrase.split()) <= 2
