"""The terms of a text as the full-text index stores them, chunk by chunk.

Tokenizing takes about a second per million characters. A writer calls :func:`tokenized` before its transaction, so that other
writers do not wait. In work of low priority, :func:`tokenized` pauses between two chunks.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

from holdfast.runtime.priority import with_pauses
from holdfast.text.chunks import field_spans
from holdfast.text.terms import document_terms

__all__ = ["ChunkTerms", "TextAndLanguage", "chunk_terms", "heading_terms", "tokenized"]

TextAndLanguage: TypeAlias = tuple[str, str | None]


class ChunkTerms(NamedTuple):
    """One chunk of a text: its position, and its terms in order."""

    start: int
    end: int
    terms: Sequence[str]


_ahead: ContextVar[dict[TextAndLanguage, list[ChunkTerms]]] = ContextVar("terms computed ahead")


@contextmanager
def tokenized(texts: Iterable[TextAndLanguage]) -> Iterator[None]:
    """Context manager: tokenize texts before the ``with`` block, so that :func:`chunk_terms` need not do it inside.

    The results are dropped when the ``with`` block ends.
    """
    ahead: dict[TextAndLanguage, list[ChunkTerms]] = {}
    for key in texts:
        if key not in ahead:
            ahead[key] = _compute(*key, with_pauses(field_spans(key[0])))
    token = _ahead.set(ahead)
    try:
        yield
    finally:
        _ahead.reset(token)


def chunk_terms(text: str, language: str | None) -> list[ChunkTerms]:
    """Return the chunks of a text with their terms.

    Inside a ``with tokenized(...)`` block, return the result that :func:`tokenized` has already computed for this text.
    """
    known = _ahead.get({}).get((text, language))
    return _compute(text, language, field_spans(text)) if known is None else known


def heading_terms(heading: str, language: str | None) -> Sequence[str]:
    """Return the terms of a heading, such as a day. Inside :func:`tokenized`, a repeated heading is tokenized once."""
    ahead = _ahead.get(None)
    if ahead is None:
        return document_terms(heading, language)
    if (heading, language) not in ahead:
        ahead[heading, language] = [ChunkTerms(0, len(heading), document_terms(heading, language))]
    return [term for chunk in ahead[heading, language] for term in chunk.terms]


def _compute(text: str, language: str | None, spans: Iterable[tuple[int, int]]) -> list[ChunkTerms]:
    return [ChunkTerms(start, end, document_terms(text[start:end], language)) for start, end in spans]
