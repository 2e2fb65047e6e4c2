"""JSON as models write it: found within prose and fences, repaired where that is harmless.

``read_json`` gives what stands there; ``conform`` keeps of it what a schema allows.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.text.conform import conform
from holdfast.text.json_parse import Effort, Parsed, parse_at, parse_scalar

__all__ = ["LONGEST", "Reading", "conform", "read", "read_json"]

LONGEST = 1_000_000
"""Characters of an answer that are looked at; the rest counts as cut off."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w+-]*", re.MULTILINE)
_START = re.compile(
    r"""\[\s*(?:["'“\[{\]]|[-+.]?\d|(?i:true|false|null|none|nan|undefined|[-+]?infinity)\b)|\{\s*(?:["'“}]|\w[\w-]*\s*:)""",
)
_BETWEEN = re.compile(r"[\s,;]*")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read; not ``whole`` when something in it could not be, or was cut off."""

    value: Any
    whole: bool


def read_json(text: str) -> Any:
    """Return the JSON value in a model's answer, repaired; raise ValueError when there is none."""
    return read(text).value


def read(text: str) -> Reading:
    """Return the JSON value in a model's answer and whether all of it was sound; raise ValueError when there is none."""
    seen = _without_thoughts(text[:LONGEST])
    quoted = _quoted_whole(seen)
    if quoted is not None:
        return Reading(value=quoted, whole=True)
    pieces = [piece for piece in _FENCE.split(seen) if piece.strip()]
    effort = Effort()
    found = [run for piece in pieces for run in _runs(piece, effort)]
    short = len(text) <= LONGEST
    if found:
        best = max(found, key=lambda run: run[-1].end - run[0].start)
        value = best[0].value if len(best) == 1 else [each.value for each in best]
        return Reading(value=value, whole=short and all(each.whole for each in best))
    return Reading(value=_only_scalar(pieces), whole=short)


def _without_thoughts(text: str) -> str:
    """Drop what a model thought aloud first; it may hold drafts of the answer."""
    opening, closing = "<think>", "</think>"
    return text.partition(closing)[2] if text.lstrip().startswith(opening) else text


def _quoted_whole(text: str) -> str | None:
    """Return the string when the whole answer is one; the brackets in it are not the answer's."""
    if not text.lstrip().startswith('"'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return _UNSTORABLE.sub("\ufffd", value) if isinstance(value, str) else None


def _runs(text: str, effort: Effort) -> Iterator[list[Parsed]]:
    """Yield the containers in a text; objects that follow each other with nothing between are one run."""
    run: list[Parsed] = []
    for parsed in _containers(text, effort):
        if run and _follows(text, run[-1], parsed):
            run.append(parsed)
            continue
        if run:
            yield run
        run = [parsed]
    if run:
        yield run


def _follows(text: str, one: Parsed, other: Parsed) -> bool:
    between = _BETWEEN.match(text, one.end)
    adjoining = between is not None and between.end() == other.start
    return adjoining and one.whole and isinstance(one.value, dict) and isinstance(other.value, dict)


def _containers(text: str, effort: Effort) -> Iterator[Parsed]:
    at = 0
    while effort.failures_left and effort.tokens_left > 0 and (start := _START.search(text, at)):
        parsed = parse_at(text, start.start(), effort)
        if parsed is None:
            effort.failures_left -= 1
            at = start.start() + 1
        else:
            yield parsed
            at = parsed.end


def _only_scalar(pieces: Sequence[str]) -> Any:
    """Return the one number, word or string that is a whole piece; the last one, where a fence follows prose."""
    for piece in reversed(pieces):
        try:
            return parse_scalar(piece.strip())
        except ValueError:
            continue
    raise ValueError("The answer holds no JSON.")
