"""Detect secrets by their shape: keys and tokens of providers, private keys, passwords in commands, and card numbers."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from holdfast.runtime.regex import regex

Span: TypeAlias = tuple[int, int, str]
"""Start and end position of a secret, and its kind."""

PLACEHOLDER = regex(
    r"\[redacted|[*•xX.#_-]+$|<[^<>]*>?$|\$\{|\$[A-Za-z_]+\b|\$\(|\{\{|%[sd(]|[^(]*\(|(?:process|os|env|settings|config|self)\.|.*://"
)
"""Pattern of a value that stands for a secret, such as ``${PASSWORD}`` or ``<password>``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A pattern for one kind of secret. Every match starts with one of the ``hints``, which are plain strings.

    If the pattern has a group, only the text of group 1 is redacted.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[re.Match[str]], bool] = lambda match: True


def shaped(text: str) -> Iterator[Span]:
    """Yield the spans of secrets that match a known pattern.

    For speed on long texts, a pattern is tried only where one of its hints occurs. Hints are the plain strings with
    which its matches start.
    """
    for shape in _SHAPES:
        for hint in shape.hints:
            at = text.find(hint)
            while at >= 0:
                match = shape.pattern.match(text, at)
                if match and shape.holds(match):
                    yield (*match.span(min(match.re.groups, 1)), shape.kind)
                at = text.find(hint, match.end() if match else at + 1)


def unmarked(text: str) -> Iterator[Span]:
    """Yield the spans of secrets that have no known prefix and no label: card numbers, and random text of the length of a key."""
    yield from ((*match.span(), "card number") for match in _CARD.finditer(text) if _is_card(match))
    for start, end in _long_words(text):
        yield from ((*match.span(), "token") for match in _DISCORD.finditer(text, start, end) if _has_digits(match))
        yield from ((*match.span(), "api key") for match in _TAGGED.finditer(text, start, end) if _is_random(match[1]))
        for pattern in _NO_PREFIX:
            yield from ((*match.span(), "api key") for match in pattern.finditer(text, start, end) if _has_digits(match))
        yield from ((*match.span(), "api key") for match in _FORTY.finditer(text, start, end) if _is_random(match[0]))


def _long_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words that are long enough for a key without a known prefix.

    Most texts have no such word. Searching the patterns in whole texts would take four times as long.
    """
    if max(map(len, text.split()), default=0) >= _LONG:
        yield from (match.span() for match in _LONG_WORD.finditer(text))


def _has_digits(match: re.Match[str]) -> bool:
    """Return True if the match has at least three digits. Package names and similar hyphenated names have fewer."""
    return sum(letter.isdigit() for letter in match[0]) >= 3


def _is_value(match: re.Match[str]) -> bool:
    """Return True if group 1 of the match is a real value and not a placeholder such as ``<password>``."""
    return not PLACEHOLDER.match(match[1])


_START = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))"
"""Matches the start of a word, also after an escaped character in a URL."""


def _keys(pattern: str, *hints: str, holds: Callable[[re.Match[str]], bool] = lambda match: True) -> _Shape:
    return _Shape(kind="api key", hints=hints, pattern=regex(rf"{_START}{pattern}"), holds=holds)


def _prefixed(characters: str, *prefixes: str, min_length: int = 20) -> _Shape:
    """Return the pattern (`_Shape`) of keys that consist of one of the ``prefixes`` and random characters.

    ``characters`` are the allowed random characters, as in a regular expression class. A key has at least ``min_length`` of
    them, and at least three digits.
    """
    joined = "|".join(map(re.escape, prefixes))
    return _keys(rf"(?:{joined})[{characters}]{{{min_length},}}", *prefixes, holds=_has_digits)


def _password(pattern: str, *hints: str) -> _Shape:
    return _Shape(kind="password", hints=hints, pattern=regex(rf"(?<![A-Za-z0-9]){pattern}"), holds=_is_value)


_DASHED = "A-Za-z0-9_-"
_VALUE = r"([^\s'\"]{3,200})"
_ARGUMENT = rf"['\"]?{_VALUE}"
_OPTIONS = r"\s[^\n|;]{0,200}?(?<=\s)"
"""Matches the options of a command that come before the option with the password."""

_SHAPES: tuple[_Shape, ...] = (
    _Shape(
        kind="private key",
        hints=("-----BEGIN ",),
        pattern=regex(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[^-]{0,20000}(?:-{1,4}(?!-)[^-]{0,2000}){0,20}-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:(?:\s|\\n)*[A-Za-z0-9+/=]{20,})*)"
        ),
    ),
    _Shape(
        kind="private key",
        hints=("Private-Lines:",),
        pattern=regex(r"Private-Lines:\s{0,3}\d{1,3}((?:\s{1,3}[A-Za-z0-9+/=]{4,64})+)"),
    ),
    _Shape(
        kind="private key",
        hints=("AGE-SECRET-KEY-1", "age-secret-key-1", "AGE-PLUGIN-"),
        pattern=regex(r"AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,30})-1?[A-Z0-9]{20,}", re.IGNORECASE),
    ),
    _Shape(
        kind="token",
        hints=("eyJ",),
        pattern=regex(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*"),
    ),
    _keys(r"hf_[0-9a-z]{16}_[A-Za-z0-9_-]{20,}", "hf_"),
    _keys(r"sk-[A-Za-z0-9_-]{18,}", "sk-", holds=_has_digits),
    _keys(r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])", "AKIA", "ASIA"),
    _keys(r"gh[pousr]_[A-Za-z0-9]{30,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _keys(r"github_pat_[A-Za-z0-9_]{20,}", "github_pat_"),
    _prefixed(_DASHED, "glpat-", "gldt-", "glrt-", "glsoat-", "glcbt-", "glptt-", "glft-", min_length=18),
    _keys(r"AIza[0-9A-Za-z_-]{30,}", "AIza"),
    _keys(r"(?:ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})", "ya29.", "GOCSPX-"),
    _keys(r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}", "xox", "xapp-", holds=_has_digits),
    _keys(r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,})", "hooks.slack.com"),
    _keys(r"discord(?:app)?\.com/api/webhooks/\d{10,}/([A-Za-z0-9_-]{40,})", "discord.com/api/", "discordapp.com/api/"),
    _keys(
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})",
        "sk_live_",
        "sk_test_",
        "rk_live_",
        "rk_test_",
        "whsec_",
    ),
    _keys(r"hf_[A-Za-z]{34}(?![A-Za-z0-9])", "hf_", holds=lambda match: _is_mixed_case(match[0])),
    _keys(r"sk_[A-Za-z0-9]{24,}", "sk_", holds=_has_digits),
    _keys(r"(?:hf|npm|gsk|r8|pplx)[_-][A-Za-z0-9]{30,}", "hf_", "npm_", "gsk_", "r8_", "pplx-", holds=_has_digits),
    _keys(r"pypi-[A-Za-z0-9_-]{32,}", "pypi-", holds=_has_digits),
    _keys(
        r"(?:xai-[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{40,}|shp(?:at|ss|ca|pa)_[a-fA-F0-9]{30,})",
        "xai-",
        "dop_v1_",
        "doo_v1_",
        "dor_v1_",
        "shpat_",
        "shpss_",
        "shpca_",
        "shppa_",
    ),
    _keys(r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "SG."),
    _keys(r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])", "dapi"),
    _keys(r"key-[0-9a-z]{32}(?![0-9A-Za-z-])", "key-", holds=_has_digits),
    _keys(r"SK[0-9a-f]{32}(?![0-9A-Za-z])", "SK", holds=_has_digits),
    _prefixed(
        _DASHED,
        *("hvs.", "hvb.", "lin_api_", "ntn_", "figd_", "PMAK-", "NRAK-", "sntrys_", "sntryu_", "glsa_", "dckr_pat_"),
        *("sbp_", "pscale_tkn_", "pscale_pw_", "tskey-auth-", "tskey-api-", "dp.pt.", "dp.st.", "ATATT3", "ATBB", "AKCp"),
        *("ATCTT3", "EAACEdEose0cBA", "sq0atp-", "sq0csp-", "rubygems_", "atlasv1.", "FlyV1 fm2_", "phx_", "tvly-", "jina_", "nvapi-"),
        min_length=24,
    ),
    _keys(r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=([A-Za-z0-9+/=]{20,})", "AccountKey=", "SharedAccessKey="),
    _keys(r"fc-[0-9a-f]{32}(?![0-9A-Za-z])", "fc-", holds=_has_digits),
    _keys(r"lsv2_(?:pt|sk)_[0-9a-f]{32}(?:_[0-9a-f]{10})?", "lsv2_"),
    _keys(r"x(?:keysib|smtpsib)-[0-9a-f]{60,}-[A-Za-z0-9]{12,}", "xkeysib-", "xsmtpsib-"),
    _keys(r"sb_secret_[A-Za-z0-9_-]{20,}", "sb_secret_"),
    _keys(r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}", "v1.0-"),
    _keys(r"1//0[A-Za-z0-9_-]{40,}", "1//0"),
    _keys(r"(?:EAA[A-Za-z0-9]{80,}|xprv[1-9A-HJ-NP-Za-km-z]{90,})", "EAA", "xprv"),
    _keys(r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])", "cio", holds=_has_digits),
    _keys(r"oy2[a-z0-9]{43}(?![A-Za-z0-9])", "oy2", holds=_has_digits),
    _keys(r"webhook\.office\.com/webhookb2/([^\s\"'<>]{40,})", "webhook.office.com"),
    _keys(r"sig=([A-Za-z0-9%+/]{36,}={0,2})", "sig="),
    _keys(r"otpauth://[^\s]{0,200}?secret=([A-Za-z2-7=]{8,})", "otpauth://"),
    _Shape(kind="api key", hints=(":AA",), pattern=regex(r"(?<=\d{8}):(AA[A-Za-z0-9_-]{32,})")),
    _Shape(
        kind="password",
        hints=("://",),
        pattern=regex(r"://[^\s:/@]{0,100}:(?!\[redacted)([^\s/]{1,200})@(?=[^\s@])"),
    ),
    _password(rf"(?:curl|http|https){_OPTIONS}(?:-u|--user|-a|--auth)[ =]['\"]?[^\s:'\"/]{{1,100}}:{_VALUE}", "curl ", "http "),
    _password(rf"(?:curl|http|https){_OPTIONS}(?:-u|--user|-a|--auth)[ =]'[^:'\n]{{1,100}}:([^'\n]{{3,200}})'", "curl ", "http "),
    _password(rf"my(?:sql|sqldump|sqladmin|cli){_OPTIONS}-p{_ARGUMENT}", "mysql", "mycli"),
    _password(rf"(?:sshpass|(?:docker|podman)\slogin|mongosh?|sqlcmd){_OPTIONS}-[pP]\s?{_ARGUMENT}", "sshpass ", "docker ", "podman ", "mongo", "sqlcmd "),
    _password(r"(\$(?:1|5|6|y|2[aby])\$[A-Za-z0-9./=,$]{22,200})", "$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$"),
    _password(rf"net\suse{_OPTIONS}/user:\S{{1,100}}\s{_ARGUMENT}", "net use "),
    _password(r"jdbc:oracle:\w{1,10}:[^\s/@]{1,100}/([^\s/@]{3,200})@", "jdbc:oracle:"),
    _password(rf"5432:[^\s:]{{1,100}}:[^\s:]{{1,100}}:{_VALUE}", "5432:"),
    _password(rf"redis-cli{_OPTIONS}(?:-a|--pass)\s{_ARGUMENT}", "redis-cli "),
    _password(rf"machine\s\S{{1,200}}\s{{1,9}}login\s\S{{1,200}}\s{{1,9}}password\s{_ARGUMENT}", "machine "),
)  # fmt: skip

_LONG = 34
"""Minimum length of a word that can contain a key without a known prefix. Shorter words are not searched for such keys.

These keys contain no white space.
"""
_LONG_WORD = regex(rf"(?<!\S)\S{{{_LONG},}}")
_DISCORD = regex(r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?![A-Za-z0-9_-])")
_FORTY = regex(r"(?<![A-Za-z0-9/+=_.%-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-]|\.\w)")
"""Matches a possible secret access key of AWS: exactly 40 characters, without a prefix."""
_MIN_SHARE = 0.36
"""Minimum number of changes between digits, capitals and small letters in random text, as a share of its length.

Random text has about 24 changes in 40 characters. Names in camel case and file paths have fewer than 12.
"""
_TAGGED = regex(
    r"(?<![A-Za-z0-9/.@_-])(?!(?:pk|pub|phc|sha\d{1,3}|sb_publishable)[_-])[A-Za-z][A-Za-z0-9]{0,15}[_-]([A-Za-z0-9_-]{32,}={0,2})(?![A-Za-z0-9_/@-])"
)
"""Matches a possible key of any provider: a short prefix, and at least 32 further characters. Public keys and hashes are left out."""
_NO_PREFIX = (
    regex(r"(?<![0-9A-Za-z])[0-9a-f]{32}-us\d{1,2}(?![0-9A-Za-z])"),
    regex(r"(?<![0-9A-Za-z_.~-])[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}(?![A-Za-z0-9_~-])"),
    regex(r"(?<![0-9A-Za-z])[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?![0-9A-Za-z])"),
)
"""Match keys without a prefix of their own: of Mailchimp, of Azure, and of Bitcoin wallets."""

_CARD = regex(
    r"\d(?:(?<![\dA-Za-z.,/_-]\d)(?<!\d \d)(?:[ \u00a0\u202f-]?\d){13,18}(?![ -]?\d)(?![\d_])"
    r"|(?<![\d.]\d)\d{3}(?:\.\d{4}){3}(?![\d.]*\d))"
)
"""Matches a possible card number. The pattern starts with a digit, not with a lookbehind, which makes it four times as fast."""
_ISSUERS = regex(
    r"(?:50[1238]\d|5893|6304|67\d\d)\d{12}|4\d{15}(?:\d{3})?|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12}|35\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12,15}|62\d{14,17}"
)
_OTHER_NUMBER = regex(
    r"(?:order|pedido|tracking|seguimiento|invoice|factura|reference|referencia|ref|ticket|serial|serie|imei|id|isbn|iban|shipment|envío|envio)"
    r"[\s.:#º°nºo]{0,4}(?:number|num(?:ber)?|número|numero|no|nr|id)?[\s.:#º°]{0,4}(?:is|es)?[\s:#]{0,3}$",
    re.IGNORECASE,
)


def _is_random(text: str) -> bool:
    """Return True if a text switches between digits, capitals and small letters as often as random text does."""
    classes = ["d" if letter.isdigit() else "u" if letter.isupper() else "l" if letter.islower() else "s" for letter in text]
    return {"d", "u", "l"} <= set(classes) and sum(one != other for one, other in pairwise(classes)) >= _MIN_SHARE * len(text)


def _is_mixed_case(text: str) -> bool:
    """Return True if a text switches between capitals and small letters far more often than words do."""
    return sum(one.isupper() != other.isupper() for one, other in pairwise(text)) >= _MIN_SHARE / 2 * len(text)


def _is_card(match: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", match[0])
    if not _ISSUERS.fullmatch(digits) or not _passes_luhn(digits):
        return False
    return not _OTHER_NUMBER.search(match.string[max(0, match.start() - 40) : match.start()])


def _passes_luhn(digits: str) -> bool:
    """Return True if the last digit is a valid Luhn check digit."""
    doubled = (int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
