"""Rank the sentences of a conversation by centrality: a sentence that shares many words with the others ranks high."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from holdfast.text.clean import fold
from holdfast.text.language import is_stop_word
from holdfast.text.terms import document_terms

_ROUNDS = 30
_DAMPING = 0.85


def centrality(sentences: Sequence[str], language: str) -> list[float]:
    """Return the centrality of each sentence, 0 to 1. It is PageRank on a graph that links sentences with common words."""
    bags = [content_terms(sentence, language) for sentence in sentences]
    places = {term: place for place, term in enumerate(dict.fromkeys(term for bag in bags for term in bag))}
    if len(sentences) < 2 or not places:
        return [1.0] * len(sentences)
    within = Counter(term for bag in bags for term in set(bag))
    weights = np.zeros((len(bags), len(places)))
    for row, bag in enumerate(bags):
        for term in set(bag):
            weights[row, places[term]] = 1.0 + math.log(len(bags) / within[term])
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    weights /= np.where(lengths > 0, lengths, 1.0)
    links = weights @ weights.T
    np.fill_diagonal(links, 0.0)
    totals = links.sum(axis=1, keepdims=True)
    links = np.where(totals > 0, links / np.where(totals > 0, totals, 1.0), 1.0 / len(bags))
    rank = np.full(len(bags), 1.0 / len(bags))
    for _ in range(_ROUNDS):
        rank = (1.0 - _DAMPING) / len(bags) + _DAMPING * (rank @ links)
    return [float(value) for value in rank / rank.max()]


def content_terms(text: str, language: str) -> list[str]:
    """Return the stems of a text's words, without stop words."""
    words = " ".join(word for word in text.split() if not is_stop_word(fold(word), language))
    return document_terms(words, language)
