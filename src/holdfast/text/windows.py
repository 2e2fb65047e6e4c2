"""Cuts a long text into overlapping windows that an embedder can read whole.

A window ends where a paragraph, a sentence, a line or a word ends, if one does in its last fifth. The same text
always gives the same windows, and they cover every character: a limit on their number, far above what the
largest text Holdfast accepts needs at the usual size, is the only exception.
"""

import re
from typing import Final

__all__ = ["MAX_WINDOWS", "split_windows", "window_spans"]

MAX_WINDOWS: Final = 4000

_BOUNDARIES: Final = (
    re.compile(r"\n\n"),
    re.compile(r"[.!?…][\"'”’»)\]]?\s|[。！？]"),
    re.compile(r"\n"),
    re.compile(r"\s"),
)
_SPACE: Final = _BOUNDARIES[-1]


def split_windows(text: str, size: int = 1600, overlap: int = 200) -> list[str]:
    """Cut a text into windows of at most ``size`` characters; a text that fits is its own only window."""
    return [text[start:end] for start, end in window_spans(text, size, overlap)]


def window_spans(text: str, size: int = 1600, overlap: int = 200) -> list[tuple[int, int]]:
    """Return where each window starts and ends, in order."""
    if size < 1 or not 0 <= overlap <= size // 2:
        message = f"windows of {size} characters cannot overlap by {overlap}"
        raise ValueError(message)
    spans: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > size and len(spans) < MAX_WINDOWS - 1:
        end = _end_of_window(text, start, size)
        spans.append((start, end))
        start = _start_of_next(text, end - overlap, end)
    spans.append((start, min(start + size, len(text))))
    return spans


def _end_of_window(text: str, start: int, size: int) -> int:
    """Find the last good place to stop; the least step it leaves bounds the number of windows."""
    floor, limit = start + size - size // 5, start + size
    for boundary in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(text, floor, limit)]
        if ends:
            return ends[-1]
    return limit


def _start_of_next(text: str, earliest: int, end: int) -> int:
    """Start the next window with a whole word, but leave no gap."""
    match = _SPACE.search(text, earliest, end)
    return match.end() if match else earliest
