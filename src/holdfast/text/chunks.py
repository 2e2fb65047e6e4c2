"""Split a long text into overlapping chunks that fit an embedder.

A chunk ends at a paragraph, sentence, line or word boundary if there is one in its last fifth. The same text is always split
in the same way. The chunks cover the whole text, unless it needs more than MAX_CHUNKS chunks. At the default size, even the
largest accepted text needs far fewer.
"""

from typing import Final

from holdfast.runtime.regex import regex

__all__ = ["MAX_CHUNKS", "SEPARATOR", "chunk_spans", "field_spans", "split_chunks"]

SEPARATOR: Final = "\x1f"
"""Character that separates the texts of an item with several texts. No chunk crosses it."""

MAX_CHUNKS: Final = 4000
"""Maximum number of chunks per text."""

_BOUNDARIES: Final = (
    regex(r"\n\n"),
    regex(r"[.!?…][\"'”’»)\]]?\s|[。！？]"),
    regex(r"\n"),
    regex(r"\s"),
)
_SPACE: Final = _BOUNDARIES[-1]


def split_chunks(text: str, size: int = 1600, overlap: int = 200) -> list[str]:
    """Split a text into chunks of at most ``size`` characters. A text that fits is a single chunk.

    Each chunk repeats up to ``overlap`` characters from the end of the chunk before it. At most ``MAX_CHUNKS`` chunks are
    returned; the rest of a longer text is left out. Raise ``ValueError`` if ``size`` is less than 1, or if ``overlap`` is
    negative or more than half of ``size``.
    """
    return [text[start:end] for start, end in chunk_spans(text, size, overlap)]


def chunk_spans(text: str, size: int = 1600, overlap: int = 200) -> list[tuple[int, int]]:
    """Return the start and end position of each chunk in the text, in order. There are at most ``MAX_CHUNKS`` chunks.

    A chunk has at most ``size`` characters, and repeats up to ``overlap`` characters from the end of the chunk before it. If
    the text needs more than ``MAX_CHUNKS`` chunks, its end is left out. Raise ``ValueError`` if ``size`` is less than 1, or
    if ``overlap`` is negative or more than half of ``size``.
    """
    if size < 1 or not 0 <= overlap <= size // 2:
        message = f"chunks of {size} characters cannot overlap by {overlap}"
        raise ValueError(message)
    spans: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > size and len(spans) < MAX_CHUNKS - 1:
        end = _end_of_chunk(text, start, size)
        spans.append((start, end))
        start = _start_of_next(text, end - overlap, end)
    spans.append((start, min(start + size, len(text))))
    return spans


def field_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each chunk of a text.

    The text may consist of several texts separated by ``SEPARATOR``. Each of them is split separately.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for part in text.split(SEPARATOR):
        if part.strip() or part == text:
            spans += [(start + first, start + last) for first, last in chunk_spans(part)]
        start += len(part) + len(SEPARATOR)
    return spans[:MAX_CHUNKS]


def _end_of_chunk(text: str, start: int, size: int) -> int:
    """Return the end of a chunk: the best boundary in its last fifth, or ``start + size`` if there is no boundary.

    The end of a paragraph is best, then the end of a sentence, of a line, and of a word. Boundaries before the last fifth are
    ignored, because they would make chunks short and numerous.
    """
    floor, limit = start + size - size // 5, start + size
    for boundary in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(text, floor, limit)]
        if ends:
            return ends[-1]
    return limit


def _start_of_next(text: str, earliest: int, end: int) -> int:
    """Return the start of the next chunk: the first word that begins between ``earliest`` and ``end``.

    If no word begins there, return ``earliest``.
    """
    match = _SPACE.search(text, earliest, end)
    return match.end() if match else earliest
