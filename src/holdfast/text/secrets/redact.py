"""Redact secrets before a text is stored or sent to a model.

Secrets are detected by shape (a provider's key, a token, a card number) and by label ("my password is ..."; see
``labels.py``). Text that merely looks random is kept, because people talk about hashes, ids and numbers. IBANs and
public keys are not secrets.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holdfast.text.secrets.labels import Span, labelled

__all__ = ["Redacted", "redact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A redacted text and the kinds of secrets found in it."""

    text: str
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A pattern for one kind of secret. Every match starts with one of the ``hints``, which are plain strings.

    If the pattern has a group, only group 1 is redacted.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[re.Match[str]], bool] = lambda match: True


_MAX_ROUNDS = 4
"""Maximum number of passes over a text.

Replacing one secret can reveal another. In `4111111111111111password: x`, the label `password` is found only after the card
number has been replaced, because a label must start at a word boundary.
"""


def redact(text: str) -> Redacted:
    """Return the text with every secret replaced by its kind, such as ``[redacted api key]``."""
    found: dict[str, None] = {}
    for _ in range(_MAX_ROUNDS):
        before = text
        for spans in (_shaped, labelled, _cards):
            text = _without(text, sorted(spans(text)), found)
        if text == before:
            break
    return Redacted(text=text, found=tuple(found))


def _without(text: str, spans: list[Span], found: dict[str, None]) -> str:
    """Replace each span with the kind of its secret. Overlapping spans are replaced together with the kind of the first span."""
    pieces: list[str] = []
    at = 0
    for start, end, kind in spans:
        if start >= at:
            pieces += text[at:start], f"[redacted {kind}]"
            found[kind] = None
        at = max(at, end)
    return "".join([*pieces, text[at:]]) if pieces else text


def _shaped(text: str) -> Iterator[Span]:
    """Yield the spans of secrets that match a known pattern.

    For speed on long texts, each pattern is tried only where one of its hints (plain strings it starts with) occurs.
    """
    for shape in _SHAPES:
        group = min(shape.pattern.groups, 1)
        for hint in shape.hints:
            at = text.find(hint)
            while at >= 0:
                match = shape.pattern.match(text, at)
                if match and shape.holds(match):
                    yield (*match.span(group), shape.kind)
                at = text.find(hint, match.end() if match else at + 1)


def _cards(text: str) -> Iterator[Span]:
    return ((*match.span(), "card number") for match in _CARD.finditer(text) if _is_card(match))


def _has_digits(match: re.Match[str]) -> bool:
    """Return True if the match has at least three digits. Package names and similar hyphenated names have fewer."""
    return sum(letter.isdigit() for letter in match[0]) >= 3


def _keys(pattern: str, *hints: str, holds: Callable[[re.Match[str]], bool] = lambda match: True) -> _Shape:
    return _Shape(kind="api key", hints=hints, pattern=re.compile(rf"(?<![A-Za-z0-9]){pattern}"), holds=holds)


_SHAPES: tuple[_Shape, ...] = (
    _Shape(
        kind="private key",
        hints=("-----BEGIN ",),
        pattern=re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[^-]{0,20000}(?:-{1,4}(?!-)[^-]{0,2000}){0,20}-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:(?:\s|\\n)*[A-Za-z0-9+/=]{20,})*)"
        ),
    ),
    _Shape(
        kind="token",
        hints=("eyJ",),
        pattern=re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*"),
    ),
    _keys(r"sk-[A-Za-z0-9_-]{18,}", "sk-", holds=_has_digits),
    _keys(r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])", "AKIA", "ASIA"),
    _keys(r"gh[pousr]_[A-Za-z0-9]{30,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _keys(r"github_pat_[A-Za-z0-9_]{20,}", "github_pat_"),
    _keys(r"glpat-[A-Za-z0-9_-]{18,}", "glpat-"),
    _keys(r"AIza[0-9A-Za-z_-]{30,}", "AIza"),
    _keys(r"(?:ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})", "ya29.", "GOCSPX-"),
    _keys(r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}", "xox", "xapp-", holds=_has_digits),
    _keys(r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,})", "hooks.slack.com"),
    _keys(
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})",
        "sk_live_",
        "sk_test_",
        "rk_live_",
        "rk_test_",
        "whsec_",
    ),
    _keys(r"(?:hf|npm|gsk|r8|pplx)[_-][A-Za-z0-9]{30,}", "hf_", "npm_", "gsk_", "r8_", "pplx-", holds=_has_digits),
    _keys(r"pypi-[A-Za-z0-9_-]{32,}", "pypi-", holds=_has_digits),
    _keys(
        r"(?:xai-[A-Za-z0-9]{30,}|do[op]_v1_[a-f0-9]{40,}|shp(?:at|ss)_[a-fA-F0-9]{30,})",
        "xai-",
        "dop_v1_",
        "doo_v1_",
        "shpat_",
        "shpss_",
    ),
    _keys(r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "SG."),
    _Shape(kind="api key", hints=(":AA",), pattern=re.compile(r"(?<=\d{8}):(AA[A-Za-z0-9_-]{32,})")),
    _Shape(
        kind="password",
        hints=("://",),
        pattern=re.compile(r"://[^\s:/@]{0,100}:(?!\[redacted)([^\s/]{1,200})@(?=[^\s@])"),
    ),
)

_CARD = re.compile(r"\d(?<![\d.,/_-]\d)(?<!\d \d)(?:[ -]?\d){13,18}(?![ -]?\d)(?![\d_])")
_ISSUERS = re.compile(
    r"4\d{15}(?:\d{3})?|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12}|35\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12,15}|62\d{14,17}"
)
_OTHER_NUMBER = re.compile(
    r"(?:order|pedido|tracking|seguimiento|invoice|factura|reference|referencia|ref|ticket|serial|serie|imei|id|isbn|iban|shipment|envío|envio)"
    r"[\s.:#º°nºo]{0,4}(?:number|num(?:ber)?|número|numero|no|nr|id)?[\s.:#º°]{0,4}(?:is|es)?[\s:#]{0,3}$",
    re.IGNORECASE,
)


def _is_card(match: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", match[0])
    if not _ISSUERS.fullmatch(digits) or not _passes_luhn(digits):
        return False
    return not _OTHER_NUMBER.search(match.string[max(0, match.start() - 40) : match.start()])


def _passes_luhn(digits: str) -> bool:
    """Return True if the last digit is a valid Luhn check digit."""
    doubled = (int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
