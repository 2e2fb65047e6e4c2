"""Find JSON in a model's answer, even inside prose or code fences, and repair it if that is safe.

``read_json`` returns the value; ``conform`` keeps the parts that a schema allows.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.runtime.regex import regex
from holdfast.text.json.conform import conform
from holdfast.text.json.parse import Budget, Parsed, parse_at, parse_scalar

__all__ = ["MAX_CHARS", "ParsedText", "conform", "read", "read_json"]

MAX_CHARS = 1_000_000
"""Maximum number of characters read from an answer. A longer answer counts as truncated."""

_FENCE = regex(r"^[ \t]*(?:```|~~~)[\w+-]*", re.MULTILINE)
_START = regex(
    r"""\[\s*(?:["'“\[{\]]|[-+.]?\d|(?i:true|false|null|none|nan|undefined|[-+]?infinity)\b)|\{\s*(?:["'“}]|\w[\w-]*\s*:)""",
)
_THOUGHTS = regex(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_END_OF_THOUGHTS = regex(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_SEPARATORS = regex(r"[\s,;]*")
_UNSTORABLE = regex("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """A parsed value. ``whole`` is False if parts were unreadable or truncated, and ``cut`` is True if the end is missing."""

    value: Any
    whole: bool
    cut: bool = False


def read_json(text: str) -> Any:
    """Return the JSON value in a model's answer, repaired if needed. Raise ValueError if the answer contains no JSON."""
    return read(text).value


def read(text: str) -> ParsedText:
    """Return the JSON value in a model's answer, and whether the value is complete. Raise ValueError if there is no JSON."""
    seen = _without_thoughts(text[:MAX_CHARS])
    quoted = _quoted_whole(seen)
    if quoted is not None:
        return ParsedText(value=quoted, whole=True)
    pieces = [piece for piece in _FENCE.split(seen) if piece.strip()]
    budget = Budget()
    found = [run for piece in pieces for run in _runs(piece, budget)]
    short = len(text) <= MAX_CHARS
    if found:
        best = max(found, key=lambda run: run[-1].end - run[0].start)
        value = best[0].value if len(best) == 1 else [each.value for each in best]
        return ParsedText(value=value, whole=short and all(each.whole for each in best), cut=best[-1].cut)
    return ParsedText(value=_single_scalar(pieces), whole=short)


def _without_thoughts(text: str) -> str:
    """Return the answer without the model's thinking at its start, because the thinking may contain drafts of the JSON.

    The thinking ends with a tag such as ``</think>``. The opening tag can be missing. If there is an opening tag and the
    thinking never ends, return an empty text.
    """
    opening = _THOUGHTS.match(text)
    closing = re.search(f"</{opening[1]}>", text, re.IGNORECASE) if opening else _END_OF_THOUGHTS.search(text)
    if closing is None:
        return "" if opening else text
    if opening is None and (not text[closing.end() :].strip() or _is_in_value(text, closing.start())):
        return text
    return text[closing.end() :]


def _is_in_value(text: str, position: int) -> bool:
    """Return True if a position in the answer lies inside a complete JSON value."""
    return any(parsed.whole and parsed.start < position < parsed.end for parsed in _containers(text, Budget()))


def _quoted_whole(text: str) -> str | None:
    """Return the string if the whole answer is one JSON string, otherwise None.

    Such an answer is not searched for objects and arrays, because brackets inside a string are plain text.
    """
    if not text.lstrip().startswith('"'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return _UNSTORABLE.sub("\ufffd", value) if isinstance(value, str) else None


def _runs(text: str, budget: Budget) -> Iterator[list[Parsed]]:
    """Yield the JSON objects and arrays of a text in groups.

    Complete objects with only a separator, such as a comma, between them form one group. Any other object or array is a group
    of its own.
    """
    run: list[Parsed] = []
    for parsed in _containers(text, budget):
        if run and _is_adjacent(text, run[-1], parsed):
            run.append(parsed)
            continue
        if run:
            yield run
        run = [parsed]
    if run:
        yield run


def _is_adjacent(text: str, one: Parsed, other: Parsed) -> bool:
    between = _SEPARATORS.match(text, one.end)
    adjoining = between is not None and between.end() == other.start
    return adjoining and one.whole and isinstance(one.value, dict) and isinstance(other.value, dict)


def _containers(text: str, budget: Budget) -> Iterator[Parsed]:
    at = 0
    while budget.failures_left and budget.tokens_left > 0 and (start := _START.search(text, at)):
        parsed = parse_at(text, start.start(), budget)
        if parsed is None:
            budget.failures_left -= 1
            at = start.start() + 1
        else:
            yield parsed
            at = parsed.end


def _single_scalar(pieces: Sequence[str]) -> Any:
    """Return the value of the last piece that consists only of a number, literal or string. Raise ValueError if there is none.

    The pieces are the parts of a model's answer inside and outside of code fences.
    """
    for piece in reversed(pieces):
        try:
            return parse_scalar(piece.strip())
        except ValueError:
            continue
    raise ValueError("The answer contains no JSON.")
