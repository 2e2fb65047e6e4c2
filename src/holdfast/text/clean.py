"""Make any string safe to store, compare and include in a prompt."""

import hashlib
import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from holdfast.errors import InvalidInput, TextTooLong
from holdfast.runtime.regex import regex
from holdfast.text.chunks import SEPARATOR
from holdfast.types.translatable import translatable

MAX_TEXT = 4 * 1024 * 1024
"""Maximum number of characters of a message or memory."""
MAX_KEY = 4096
"""Maximum number of characters of a memory's key."""
_MAX_NAMESPACE = 1024
"""Maximum number of bytes of a namespace. PostgreSQL's B-trees hold no entries above 2.7 kB."""

_MAX_DEPTH = 64
"""Maximum nesting depth of metadata."""
_MAX_FLOAT = sys.float_info.max
_UNSTORABLE = regex("[\x00\ud800-\udfff]")
_LINE_BREAKS = regex(r"[\s\x1c-\x1f\x85\u2028\u2029]+")
INVISIBLE = regex(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_DENSE_SCRIPT = regex("[\u0e00-\u0eff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_VISIBLE = "at least one character that is not a space"
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def clean_text(text: str, *, what: str = "text", may_be_empty: bool = False, expected: str = _VISIBLE) -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD. Raise an error if the text is blank or too long.

    With ``may_be_empty``, a blank text is allowed. Error messages name the text with ``what``. For a blank text, the message
    says what to give instead (``expected``).
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be a string, not {type(text).__name__}.")
    if len(text) > MAX_TEXT:
        raise TextTooLong(
            translatable(
                "text.long_parts",
                "{what} has {n:,} characters; the limit is {limit:,}. Split it into parts.",
                what=what,
                n=len(text),
                limit=MAX_TEXT,
            )
        )
    cleaned = _UNSTORABLE.sub("\ufffd", text)
    if not cleaned.strip() and not may_be_empty:
        raise InvalidInput(translatable("text.empty", "{what} is empty. Give {expected}.", what=what, expected=expected))
    return cleaned


def clean_name(name: str | None, *, what: str, limit: int = 512) -> str | None:
    """Return a short name (user, app, key) as one line without invisible characters. If ``name`` is None, return None.

    Raise ``InvalidInput`` if the name is blank, or contains NUL or a lone surrogate. Raise ``TextTooLong`` if it has more than
    ``limit`` characters. Error messages name the text with ``what``.
    """
    if name is None:
        return None
    if isinstance(name, str) and _UNSTORABLE.search(name):  # a replaced character would make two names one
        raise InvalidInput(
            translatable(
                "text.unstorable", "{what} contains NUL or a lone surrogate, which cannot be stored. Remove it.", what=what
            )
        )
    cleaned = one_line(clean_text(name, what=what))
    if len(cleaned) > limit:
        raise TextTooLong(
            translatable(
                "text.long_name",
                "{what} has {n:,} characters; the limit is {limit:,}. Shorten it.",
                what=what,
                n=len(cleaned),
                limit=limit,
            )
        )
    if not cleaned:
        raise InvalidInput(translatable("text.empty", "{what} is empty. Give {expected}.", what=what, expected=_VISIBLE))
    return cleaned


def clean_label(name: str | None, *, what: str) -> str | None:
    """Return a tag, topic or speaker as one line without invisible characters. These names are not used as identifiers.

    NUL and lone surrogates are replaced by U+FFFD. If ``name`` is None, return None. Raise ``InvalidInput`` if it is blank,
    and ``TextTooLong`` if it is too long. Error messages name the text with ``what``.
    """
    return clean_name(storable(name) if isinstance(name, str) else name, what=what)


def exact_text(text: str, *, what: str = "text", limit: int = MAX_TEXT) -> str:
    """Return the text unchanged. Raise ``InvalidInput`` if it contains NUL or a lone surrogate. An empty text is allowed.

    Raise ``TextTooLong`` if the text has more than ``limit`` characters. Error messages name the text with ``what``.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be a string, not {type(text).__name__}.")
    if len(text) > limit:
        raise TextTooLong(f"{what} has {len(text):,} characters; the limit is {limit:,}. Split it into parts.")
    if _UNSTORABLE.search(text):
        raise InvalidInput(f"{what} contains NUL or a lone surrogate, which cannot be stored. Remove it or encode the text.")
    return text


def clean_key(key: str | None, *, exact: bool = False) -> str | None:
    """Return the key of a memory as one line, or None if ``key`` is None.

    With ``exact``, return the key unchanged. Raise InvalidInput if the key is empty.
    """
    if key is None or not exact:
        return clean_name(storable(key) if isinstance(key, str) else key, what="key", limit=MAX_KEY)
    if not exact_text(key, what="key", limit=MAX_KEY):
        raise InvalidInput("key is empty. Give at least one character.")
    return key


def clean_namespace(namespace: Sequence[str]) -> tuple[str, ...]:
    """Check a namespace and return its labels unchanged. Raise InvalidInput if the namespace is invalid."""
    if isinstance(namespace, str) or not isinstance(namespace, Sequence):
        raise InvalidInput('namespace is a sequence of labels, such as ("docs", "2026"), not one value.')
    labels = tuple(exact_text(label, what="a label of namespace", limit=_MAX_NAMESPACE) for label in namespace)
    if not all(labels) or any(SEPARATOR in label for label in labels):
        raise InvalidInput("A label of namespace is empty, or contains the control character U+001F.")
    size = sum(len(label.encode()) + 1 for label in labels)
    if size > _MAX_NAMESPACE:
        raise TextTooLong(f"namespace has {size:,} bytes; the limit is {_MAX_NAMESPACE:,}.")
    return labels


def clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags, each as one line without invisible characters, and without duplicates."""
    if isinstance(tags, str):
        raise InvalidInput("tags is a list of words, not one string.")
    return tuple(dict.fromkeys(cleaned for tag in tags if (cleaned := clean_label(tag, what="tag"))))


def clean_metadata(metadata: Mapping[str, Any], *, exact: bool = False) -> dict[str, Any]:
    """Return metadata as JSON values that can be stored and filtered. Raise InvalidInput if that is not possible.

    Objects and lists may be nested. With ``exact``, NUL and lone surrogates, which no database can store, are an error.
    Without ``exact``, they are replaced.
    """
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata is a mapping from names to values, not {type(metadata).__name__}.")
    cleaned: dict[str, Any] = clean_value("metadata", metadata, exact=exact)
    size = len(json.dumps(cleaned, ensure_ascii=False))
    if size > MAX_TEXT:
        raise TextTooLong(f"metadata has {size:,} characters as JSON; the limit is {MAX_TEXT:,}.")
    return cleaned


def clean_value(key: str, value: Any, depth: int = 0, *, exact: bool = False) -> Any:
    """Return a value of metadata, or of a metadata filter, in a form that can be stored.

    Raise InvalidInput if that is not possible. ``key`` is the name of the value, for the error message. ``depth`` is the
    number of lists and objects around the value. With ``exact``, NUL and lone surrogates are an error. Without ``exact``,
    they are replaced.
    """
    if isinstance(value, str):
        return exact_text(value, what=f"metadata {key!r}") if exact else storable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        if abs(value) <= _MAX_FLOAT:
            return value
        raise InvalidInput(f"Metadata {key!r} is not a finite number that fits in 64 bits of floating point; use text or None.")
    if depth > _MAX_DEPTH:
        raise InvalidInput(f"metadata is nested too deeply; the limit is {_MAX_DEPTH} levels.")
    if isinstance(value, list | tuple):
        return [clean_value(key, each, depth + 1, exact=exact) for each in value]
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"Metadata {key!r} must be JSON (text, a number, a boolean, None, a list or an object), not {type(value).__name__}."
        )
    names = _clean_names(value, exact=exact)
    return {names[name]: clean_value(name, each, depth + 1, exact=exact) for name, each in value.items()}


def _clean_names(names: Iterable[object], *, exact: bool) -> dict[str, str]:
    """Return a mapping from the names in metadata to the names to store. Raise InvalidInput if a name cannot be stored."""
    cleaned: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str):
            raise InvalidInput(f"Metadata keys are text, not {type(name).__name__}.")
        cleaned[name] = exact_text(name, what="a name in metadata") if exact else storable(name)
    if len(set(cleaned.values())) < len(cleaned):
        raise InvalidInput("Two names in metadata differ only in NUL or a lone surrogate, which cannot be stored. Rename one.")
    return cleaned


def storable(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD, because no database can store them."""
    return _UNSTORABLE.sub("\ufffd", text)


def clean_payload(payload: Any) -> Any:
    """Return a copy of a payload. Raise InvalidInput if the payload cannot be written as JSON. If it is None, return None."""
    if payload is None:
        return None
    try:
        dumped = json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"payload is not JSON: {error}. Use objects, lists, text, finite numbers, booleans and None."
        ) from error
    if len(dumped) > MAX_TEXT:
        raise TextTooLong(f"payload has {len(dumped):,} characters as JSON; the limit is {MAX_TEXT:,}.")
    return json.loads(dumped)


def clean_query(query: str, *, limit: int = 20_000) -> str:
    """Return the first ``limit`` characters of a query, with NUL and lone surrogates replaced. A query may be empty."""
    if not isinstance(query, str):
        raise InvalidInput(f"the query must be a string, not {type(query).__name__}.")
    return _UNSTORABLE.sub("\ufffd", query[:limit])


def required_query(query: str, *, vector: object = None) -> str:
    """Return the query unchanged. Raise InvalidInput if it is blank and no query vector is given."""
    if isinstance(query, str) and vector is None and not query.strip():
        raise InvalidInput(
            translatable(
                "text.no_query",
                "The query is empty. Give a question or some words. To see everything, list the memories instead.",
            )
        )
    return query


def one_line(text: str) -> str:
    """Return the text as one line: without invisible characters, and with single spaces instead of whitespace and line breaks."""
    if text.isascii() and text.isprintable() and "  " not in text:  # fast path for most text
        return text.strip()
    return _LINE_BREAKS.sub(" ", INVISIBLE.sub("", text)).strip()


def escape_line(text: str) -> str:
    """Return the text as one line, with ``<``, ``>`` and ``&`` escaped, so that it cannot contain a tag of the prompt."""
    return one_line(text).translate(_ESCAPES)


def fold(text: str) -> str:
    """Return the text in a form for comparison that ignores case, accents, character width and surrounding punctuation."""
    plain = one_line(text).casefold()
    if not plain.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    return plain.strip(" .,;:!?¡¿\"'`") or plain


class Letters(dict[int, str]):
    """A table of replacements for ``str.translate``. The replacement of a character is computed when it is first needed."""

    def __init__(self, replacement: Callable[[str], str]) -> None:
        super().__init__()
        self._replacement = replacement

    def __missing__(self, code: int) -> str:
        replaced = self[code] = self._replacement(chr(code))
        return replaced


_WITHOUT_ACCENT = Letters(lambda letter: unicodedata.normalize("NFD", letter)[0].lower()[:1])


def fold_letters(text: str) -> str:
    """Return the text in lower case and without accents. Each character keeps its position."""
    return text.translate(_WITHOUT_ACCENT)


def content_hash(*parts: str | None) -> str:
    """Return one hash of several texts, such as kind, key and text. Each text is folded first (see ``fold``).

    Texts that differ only in case, accents or outer punctuation therefore have the same hash.
    """
    joined = "\x1f".join("" if part is None else fold(part) for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()[:32]


def count_tokens(text: str) -> int:
    """Estimate how many tokens a text has. No tokenizer is used, and the estimate tends to be too high."""
    dense = len(_DENSE_SCRIPT.findall(text))
    plain = sum(c.isascii() for c in text)
    other = len(text) - dense - plain
    return int(dense * 1.1 + plain / 3.7 + other / 1.8) + 1 if text else 0
