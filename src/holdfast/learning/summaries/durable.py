"""Select the input for a base document: durable facts by rank, and summaries without outdated facts."""

from collections.abc import Sequence
from typing import Final

from holdfast.learning.summaries.centrality import content_terms
from holdfast.learning.summaries.importance import areas_of, importance_of
from holdfast.learning.summaries.lasting import is_lasting
from holdfast.text.clean import one_line
from holdfast.text.details import details
from holdfast.text.language import detect_language
from holdfast.text.sentences import split_sentences
from holdfast.types import Memory

_MIN_ENDED_WORDS: Final = 2
"""Minimum number of content words of an outdated fact. A fact with only one word is ignored: it could match by chance."""


def durable_facts(memories: Sequence[Memory], *, limit: int, newest: int) -> list[Memory]:
    """Return at most ``limit`` facts for the base document, oldest first.

    The result contains the most recent facts (as many as ``newest``). The best of the other facts fill the result up to
    the limit. Facts about identity, health, family and standing instructions are best, then the most important facts.
    Small talk is left out.
    """
    worth = [memory for memory in memories if is_notable(memory.text) or memory.key is not None or memory.origin != "auto"]
    latest = sorted(worth, key=lambda memory: (memory.valid_from, memory.item), reverse=True)[:newest]
    rest = sorted((memory for memory in worth if memory not in latest), key=_rank, reverse=True)[: max(limit - len(latest), 0)]
    return sorted((*latest, *rest), key=lambda memory: (memory.valid_from, memory.item))


def _rank(memory: Memory) -> tuple[bool, float, int]:
    return is_lasting(memory), max(memory.importance, importance_of(memory.text)), memory.item


def is_notable(text: str) -> bool:
    """Return True if a text is more than small talk: it mentions an area of life, a name, a number or a date."""
    return bool(areas_of(text) or details(text))


def without_ended(text: str, ended: Sequence[str], live: Sequence[str]) -> str:
    """Return a document or summary without outdated sentences. A sentence is outdated if it states one of the facts in ``ended``.

    A sentence stays if it also states a fact in ``live``. Headings stay. Facts in ``ended`` with fewer than
    ``_MIN_ENDED_WORDS`` content words are ignored.
    """
    language = detect_language(text[:2000]) or "en"
    gone = [words for each in ended if len(words := frozenset(content_terms(each, language))) >= _MIN_ENDED_WORDS]
    kept = [frozenset(content_terms(each, language)) for each in live]
    if not gone:
        return text
    lines = []
    for line in text.splitlines():
        sentences = split_sentences(line) or [line]
        left = [each for each in sentences if not _states_ended(each, gone, kept, language)]
        if left or not line.strip():
            lines.append(line if len(left) == len(sentences) else one_line(" ".join(left)))
    return "\n".join(lines)


def _states_ended(sentence: str, gone: Sequence[frozenset[str]], kept: Sequence[frozenset[str]], language: str) -> bool:
    words = frozenset(content_terms(sentence, language))
    ended = [each for each in gone if each <= words]
    return bool(ended) and not any(each <= words for each in kept if each)
