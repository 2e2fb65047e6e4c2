"""Redact secrets before a text is stored or sent to a model.

Secrets are detected by shape (a provider's key, a token, a card number; see ``shapes.py``) and by label ("my password is ...";
see ``labels.py``). Text that merely looks random is kept, because people talk about hashes, ids and numbers. IBANs and public
keys are not secrets.
"""

from dataclasses import dataclass
from itertools import compress

from holdfast.runtime.priority import with_pauses
from holdfast.runtime.regex import regex
from holdfast.text.clean import INVISIBLE
from holdfast.text.secrets.labels import labelled
from holdfast.text.secrets.shapes import Span, shaped, unmarked

__all__ = ["Redacted", "redact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A redacted text and the kinds of secrets found in it."""

    text: str
    found: tuple[str, ...] = ()


_MAX_ROUNDS = 4
"""Maximum number of passes over a text.

Replacing one secret can reveal another. In `4111111111111111password: x`, the label `password` is found only after the card
number has been replaced, because a label must start at a word boundary.
"""


_FULL_WIDTH = regex(r"[\uff01-\uff5e]")
_ASCII = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""Maps full-width characters to their ASCII characters."""


def redact(text: str) -> Redacted:
    """Return the text with every secret replaced by its kind, such as ``[redacted api key]``."""
    found: dict[str, None] = {}
    for _ in range(_MAX_ROUNDS):
        before = text
        for spans in with_pauses((shaped, labelled, unmarked)):  # each takes 10 to 40 ms for 240,000 characters
            visible, positions = _without_invisible(text)
            text = _without(text, _in_original(sorted(spans(visible)), positions), found)
        if text == before:
            break
    return Redacted(text=text, found=tuple(found))


def _without_invisible(text: str) -> tuple[str, list[int] | None]:
    """Return the text without invisible characters, and the original position of each remaining character.

    A zero-width space inside a key would hide the key from the patterns. Full-width characters, which some keyboards write
    instead of ASCII, would hide it, too, and are replaced. The positions are None if nothing was removed.
    """
    if text.isascii():
        return text, None
    if _FULL_WIDTH.search(text):
        text = text.translate(_ASCII)
    if not INVISIBLE.search(text):
        return text, None
    seen = [not INVISIBLE.match(letter) for letter in text]
    return "".join(compress(text, seen)), [*compress(range(len(text)), seen), len(text)]


def _in_original(spans: list[Span], positions: list[int] | None) -> list[Span]:
    if positions is None:
        return spans
    return [(positions[start], positions[end - 1] + 1, kind) for start, end, kind in spans]


def _without(text: str, spans: list[Span], found: dict[str, None]) -> str:
    """Replace each span with the kind of its secret, and add the kind to ``found``.

    Overlapping spans are replaced together, with the kind of the first one.
    """
    pieces: list[str] = []
    at = 0
    for start, end, kind in spans:
        if start >= at:
            pieces += text[at:start], f"[redacted {kind}]"
            found[kind] = None
        at = max(at, end)
    return "".join([*pieces, text[at:]]) if pieces else text
