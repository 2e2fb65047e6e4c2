"""Lenient parser for one JSON value at a known position.

Valid JSON is parsed by the standard decoder. Any other text is parsed by a lenient parser that never recurses. The
lenient parser closes open containers (objects and arrays), accepts literals of other languages such as ``None``, and
skips text that it cannot parse. It never completes a truncated string or number.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from holdfast.runtime.regex import regex

MAX_DEPTH = 64
"""Maximum nesting depth. Deeper levels are cut off, so that recursive callers cannot overflow the stack."""

_TOKEN = regex(
    r"""\s*(?:(?P<open>[\[{])|(?P<close>[\]}])|(?P<mark>[,:])|(?P<quote>["'“])"""
    r"""|(?P<comment>//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))|(?P<bare>[^\s,:\[\]{}"'“][^\s,:\[\]{}]*))"""
)
_CLOSERS = {"[": "]", "{": "}"}
_CLOSING_QUOTE = {'"': '"', "'": "'", "“": "”"}
_LITERAL = r"(?i:true|false|null|none|nan|undefined|[-+]?infinity)\b"
# Inner quotes are often not escaped, so a quote closes a string only where JSON could continue after it.
# GAP stands for spaces and comments.
_AFTER_ITEM = rf"""GAP(?:[\]}}]|\Z|,GAP(?:["'“\[{{\]}}]|[-+.]?\d|{_LITERAL}|[A-Za-z]{{0,9}}\Z))|[^\S\n]*\n\s*["'“]"""
_AFTER_VALUE = (
    r"""GAP(?:[\]}]|\Z|,GAP(?:["'“][^"'”\\]{0,100}(?:["'”]\s*(?::|\Z)|\Z)|[\]}]|\w+\s*(?::|\Z)|\Z))"""
    r"""|[^\S\n]*\n\s*["'“]"""
)
_COLON = regex(r"\s*:")
_NUMBER = regex(r"[+-]?(?:(\d+)|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)")
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None, "undefined": None, "infinity": None}
_ESCAPE = regex(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL
)
_SHORT_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "\n": "\n"}
_SHORT_ESCAPES |= {quote: quote for quote in "\"'“”"}
_UNSTORABLE = regex("[\x00\ud800-\udfff]")
_MAX_INTEGER_DIGITS = 4000
_MISSING = object()


def _closing(quote: str, after: str) -> re.Pattern[str]:
    end = _CLOSING_QUOTE[quote]
    # A comment must not contain the quote: then it may be part of the string instead.
    block = rf"/\*[^*{end}]*\*+(?:[^/*{end}][^*{end}]*\*+)*/"
    gap = rf"\s*(?:(?:{block}|//[^\n{end}]*\n)\s*)*"
    after = after.replace("GAP", gap)
    # The lookahead stands in for a possessive repeat, which is broken in Python 3.11.2: it never backtracks.
    return regex(rf"(?=((?:[^\\{end}]|\\.|{end}(?!{after}))*))\1{end}", re.DOTALL)


_ITEM = {quote: _closing(quote, _AFTER_ITEM) for quote in _CLOSING_QUOTE}
_VALUE = {quote: _closing(quote, _AFTER_VALUE) for quote in _CLOSING_QUOTE}
_SWALLOWED = {
    quote: regex(
        rf"[,{{\n][^\S\n]*{quote}[^{quote}{end}\\\n]{{0,100}}{end}\s*:"  # a key
        rf"|(?<={end})[^\S\n]*,\s*(?://|/\*)"  # a comment after a comma
    )
    for quote, end in _CLOSING_QUOTE.items()
}
"""Maps a quote character to a pattern that finds JSON syntax, such as ``, "name":``, inside a string with that quote.

A match means that the closing quote is missing, so the JSON after the string was read as part of the string.
"""
_KEY = {quote: regex(rf"(?=((?:[^\\{end}]|\\.)*))\1{end}", re.DOTALL) for quote, end in _CLOSING_QUOTE.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A parsed value, and its start and end in the text. ``whole`` is False if parts were skipped or the text was truncated."""

    value: Any
    start: int
    end: int
    whole: bool
    cut: bool = False
    """True if the text ends before the value is closed."""


@dataclass(slots=True)
class _OpenContainer:
    """A container (object or array) that is not closed yet. In an object, ``key`` is the key that still waits for its value."""

    holds: list[Any] | dict[str, Any]
    closer: str
    key: str | None = None

    def put(self, value: Any) -> bool:
        """Add a value to this object or array. In an object, the value belongs to the key that waits for one.

        Return False if this is an object and no key waits.
        """
        if isinstance(self.holds, list):
            self.holds.append(value)
            return True
        if self.key is None:
            return False
        self.holds[self.key] = value
        self.key = None
        return True


@dataclass(slots=True)
class Budget:
    """Limits for parsing one text: the number of tokens left to read, and the number of attempts that may still fail."""

    tokens_left: int = 1_000_000
    failures_left: int = 24


def parse_at(text: str, start: int, budget: Budget) -> Parsed | None:
    """Parse the container (object or array) that opens at ``start``. Return None if it has no valid content."""
    budget.tokens_left -= 10
    return _parse_strict(text, start) or _Parser(text=text, start=start, budget=budget).run()


def parse_container(text: str) -> Any:
    """Parse a text that consists of exactly one container (object or array). Raise ValueError for any other text."""
    bare = text.strip()
    parsed = parse_at(bare, 0, Budget(tokens_left=10_000)) if bare[:1] in _CLOSERS else None
    if parsed is None or not parsed.whole or parsed.end != len(bare):
        raise ValueError("The text is not a JSON object or array.")
    return parsed.value


def parse_scalar(text: str) -> Any:
    """Parse a text that consists of one number, literal or quoted string. Raise ValueError for any other text."""
    if text[:1] in _CLOSING_QUOTE and len(text) > 1:
        match = _KEY[text[0]].fullmatch(text, 1)
        if match:
            return unescape(match[1])
    value = _parse_bare_word(text)
    if value is _MISSING:
        raise ValueError("The text contains no JSON.")
    return value


def unescape(raw: str) -> str:
    """Resolve JSON and Python escapes. Keep unknown escapes and replace characters that cannot be stored."""
    plain = _ESCAPE.sub(_escaped, raw) if "\\" in raw else raw
    return _UNSTORABLE.sub("\ufffd", plain)


def _escaped(match: re.Match[str]) -> str:
    high, low, unit, byte, short = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if unit or byte:
        return chr(int(unit or byte, 16))
    return _SHORT_ESCAPES.get(short, match[0])


def _parse_bare_word(word: str) -> Any:
    """Return the value of an unquoted word, or ``_MISSING`` if it is neither a number nor a literal."""
    number = _NUMBER.fullmatch(word)
    if number is None:
        return _LITERALS.get(word.lstrip("+-").casefold(), _MISSING)
    if number[1] and len(word) <= _MAX_INTEGER_DIGITS:
        return int(word)
    value = float(word)
    return value if math.isfinite(value) else None


_STRICT_DECODER = json.JSONDecoder(parse_constant=lambda name: None, parse_float=_parse_bare_word)


def _parse_strict(text: str, start: int) -> Parsed | None:
    """Parse valid JSON. Return None if the text is not valid JSON, or if it is nested too deeply."""
    try:
        value, end = _STRICT_DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return Parsed(value=value, start=start, end=end, whole=True) if _make_storable(value) else None


def _make_storable(value: Any) -> bool:
    """Replace characters that cannot be stored, in place. Return False if the value is nested too deeply."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for holder in level:
            for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
                if isinstance(item, str):
                    holder[key] = _UNSTORABLE.sub("\ufffd", item)
                elif isinstance(item, dict | list):
                    below.append(item)
                if isinstance(key, str) and _UNSTORABLE.search(key):
                    holder[_UNSTORABLE.sub("\ufffd", key)] = holder.pop(key)
        if not below:
            return True
        level = below
    return False


@dataclass(slots=True)
class _Parser:
    """Token-by-token parser with an explicit stack of open containers."""

    text: str
    start: int
    budget: Budget
    at: int = field(init=False)
    stack: list[_OpenContainer] = field(init=False, default_factory=list)
    root: Any = None
    last_good: int = field(init=False, default=0)
    whole: bool = True

    def run(self) -> Parsed | None:
        """Parse until the first container is closed, or until the text or the budget ends."""
        self._open(self.text[self.start])
        self.at = self.start + 1
        while self.stack and self._step():
            pass
        cut = bool(self.stack)
        if cut:
            self._close_truncated()
        if self.whole:
            return Parsed(value=self.root, start=self.start, end=self.at, whole=True)
        if not self.last_good:
            return None
        return Parsed(value=self.root, start=self.start, end=self.last_good, whole=False, cut=cut)

    def _close_truncated(self) -> None:
        """Close the objects and arrays that are still open at the end of the text. Drop empty ones."""
        self.whole = False
        for parent, last in zip(self.stack[-2::-1], self.stack[:0:-1], strict=True):
            holds: Any = parent.holds
            if last.holds or not holds:
                break
            newest = next(reversed(holds)) if isinstance(holds, dict) else -1
            if holds[newest] is not last.holds:
                break
            del holds[newest]

    def _step(self) -> bool:
        """Parse one token. Return False to stop."""
        self.budget.tokens_left -= 1
        match = _TOKEN.match(self.text, self.at)
        if match is None or self.budget.tokens_left < 0:
            return False
        self.at = match.end()
        kind, token = match.lastgroup, match[match.lastgroup or 0]
        if kind == "open":
            return self._open(token)
        if kind == "close":
            self._close(token)
        elif kind == "mark":
            self._mark(token)
        elif kind == "quote":
            return self._quoted(token)
        elif kind == "bare":
            self._word(token)
        return True

    def _open(self, bracket: str) -> bool:
        if len(self.stack) >= MAX_DEPTH:
            return False
        opened = _OpenContainer(holds=[] if bracket == "[" else {}, closer=_CLOSERS[bracket])
        if not self.stack:
            self.root = opened.holds
        elif not self.stack[-1].put(opened.holds):
            self.whole = False
        self.stack.append(opened)
        return True

    def _close(self, bracket: str) -> None:
        """Close the innermost open container that ends with ``bracket``, and all unclosed containers inside it.

        If no open container ends with ``bracket``, ignore the bracket.
        """
        if self.stack[-1].key is not None:
            self.whole = False
        if all(opened.closer != bracket for opened in self.stack):
            self.whole = False
            return
        while self.stack.pop().closer != bracket:
            self.whole = False

    def _mark(self, mark: str) -> None:
        if mark == ":" or self.stack[-1].key is not None:
            self.whole = False
        self.stack[-1].key = None

    def _quoted(self, quote: str) -> bool:
        opened = self.stack[-1]
        is_item, is_key = isinstance(opened.holds, list), isinstance(opened.holds, dict) and opened.key is None
        patterns = _ITEM if is_item else _KEY if is_key else _VALUE
        match = patterns[quote].match(self.text, self.at)
        if match is None:
            return False  # truncated inside a string; half a string may state the opposite of the whole
        swallowed = None if is_key else _SWALLOWED[quote].search(match[1])
        if swallowed is not None:
            self.budget.tokens_left -= len(match[1]) // 10  # the next string may read the same text again
            return self._drop_to(self.at + swallowed.start())
        self.at = match.end()
        text = unescape(match[1])
        if is_key:
            self._name(text)
        else:
            self._take(text)
        return True

    def _drop_to(self, position: int) -> bool:
        """Drop a string without closing quote, and its key. Continue parsing at ``position``, where the next JSON begins.

        Always return True, so that :meth:`_step` continues.
        """
        self.stack[-1].key = None
        self.whole = False
        self.at = position
        return True

    def _word(self, word: str) -> None:
        opened = self.stack[-1]
        if isinstance(opened.holds, dict) and opened.key is None:
            self._name(word)
            return
        value = _parse_bare_word(word)
        cut = self.at == len(self.text) and isinstance(value, int | float) and not isinstance(value, bool)
        if value is _MISSING or cut:
            opened.key = None
            self.whole = False
        else:
            self._take(value)

    def _name(self, name: str) -> None:
        colon = _COLON.match(self.text, self.at)
        if colon is None:
            self.whole = False
            return
        self.stack[-1].key = name
        self.at = colon.end()

    def _take(self, value: Any) -> None:
        if self.stack[-1].put(value):
            self.last_good = self.at
        else:
            self.whole = False
