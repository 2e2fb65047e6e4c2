"""Make any string safe to store, compare and include in a prompt."""

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import InvalidInput, TextTooLong

MAX_TEXT = 4 * 1024 * 1024
"""Maximum number of characters of a message or memory."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_BREAKS = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029]+")
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_DENSE_SCRIPT = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def clean_text(text: str, *, what: str = "text") -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD, or raise if it is empty or too long."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be a string, not {type(text).__name__}.")
    if len(text) > MAX_TEXT:
        raise TextTooLong(f"{what} has {len(text):,} characters; the limit is {MAX_TEXT:,}. Split it into parts.")
    cleaned = _UNSTORABLE.sub("\ufffd", text)
    if not cleaned.strip():
        raise InvalidInput(f"{what} is empty.")
    return cleaned


def clean_name(name: str | None, *, what: str) -> str | None:
    """Return a short name (user, app, key) on one line without invisible characters. None stays None."""
    if name is None:
        return None
    cleaned = one_line(clean_text(name, what=what))
    if len(cleaned) > 512:
        raise TextTooLong(f"{what} has {len(cleaned)} characters; the limit is 512.")
    if not cleaned:
        raise InvalidInput(f"{what} is empty.")
    return cleaned


def clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags as short names without duplicates."""
    if isinstance(tags, str):
        raise InvalidInput("tags is a list of words, not one string.")
    return tuple(dict.fromkeys(cleaned for tag in tags if (cleaned := clean_name(tag, what="tag"))))


def clean_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with string keys and values that can be stored and filtered, or raise InvalidInput."""
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata is a mapping from names to values, not {type(metadata).__name__}.")
    cleaned = {}
    for key, value in metadata.items():
        if not isinstance(key, str):
            raise InvalidInput(f"Metadata keys are text, not {type(key).__name__}.")
        values = value if isinstance(value, list | tuple) else [value]
        kept = [_clean_value(key, each) for each in values]
        cleaned[_UNSTORABLE.sub("\ufffd", key)] = kept if isinstance(value, list | tuple) else kept[0]
    return cleaned


def _clean_value(key: str, value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"Metadata {key!r} is {value}, which no filter can compare; use None.")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise InvalidInput(f"Metadata {key!r} does not fit in 64 bits; use text.")
    if value is None or isinstance(value, bool | int | float):
        return value
    raise InvalidInput(
        f"Metadata {key!r} must be text, a number, a boolean, None, or a list of those, not {type(value).__name__}."
    )


def clean_query(query: str, *, limit: int = 20_000) -> str:
    """Return the first ``limit`` characters of a query, with NUL and lone surrogates replaced. A query may be empty."""
    if not isinstance(query, str):
        raise InvalidInput(f"the query must be a string, not {type(query).__name__}.")
    return _UNSTORABLE.sub("\ufffd", query[:limit])


def one_line(text: str) -> str:
    """Collapse whitespace and line breaks to single spaces and remove invisible characters."""
    if text.isascii() and text.isprintable() and "  " not in text:  # fast path for most text
        return text.strip()
    return _LINE_BREAKS.sub(" ", INVISIBLE.sub("", text)).strip()


def escape_line(text: str) -> str:
    """Return one line, escaped so that it can neither close nor open a prompt block."""
    return one_line(text).translate(_ESCAPES)


def fold(text: str) -> str:
    """Return the text in a form for comparison, which ignores case, accents, character width and surrounding punctuation."""
    plain = one_line(text).casefold()
    if not plain.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    return plain.strip(" .,;:!?¡¿\"'`") or plain


def content_hash(*parts: str | None) -> str:
    """Return one hash of several texts, such as kind, key and text. Each text is folded first (see ``fold``).

    So texts that differ only in case, accents or outer punctuation have the same hash.
    """
    joined = "\x1f".join("" if part is None else fold(part) for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()[:32]


def count_tokens(text: str) -> int:
    """Estimate the number of tokens of a text for any tokenizer. The estimate tends to be too high."""
    dense = len(_DENSE_SCRIPT.findall(text))
    plain = sum(c.isascii() for c in text)
    other = len(text) - dense - plain
    return int(dense * 1.1 + plain / 3.7 + other / 1.8) + 1 if text else 0
