"""Find known memories of a scope that are similar to new texts ("neighbors"), for reconciling new memories with them."""

from collections.abc import Collection, Sequence
from datetime import datetime

import numpy as np

from holdfast.learning.changes.compare_claims import common_words
from holdfast.learning.changes.reconcile import Neighbor
from holdfast.learning.changes.wording import spoken_words
from holdfast.protocols import MemoryFilter, MessageFilter, SearchFilter, Space, Store
from holdfast.recall.embedding import Embedding
from holdfast.text.sentences import split_sentences
from holdfast.text.terms import document_terms
from holdfast.types import Memory, Put, Scope

_MAX_NEIGHBORS = 24
"""Maximum number of matches per search. Matches from shared scopes are dropped afterwards, so fewer may remain."""
_MAX_COMPARED = 3
"""Maximum number of neighbors that the sentence reader compares with a new statement."""
_MAX_SHARING = 8
"""Maximum number of neighbors that are compared with a new statement by their words. They are the nearest by meaning.

The neighbor with the most words in common is the match by words.
"""
_MIN_SHARED_WORDS = 2
"""Minimum number of words that the match by words must have in common with a new statement.

For the nearest ``_MAX_COMPARED`` neighbors, one common word is enough.
"""
_MAX_SAID_SOURCES = 2
"""Maximum number of source messages of a memory that comes from a single sentence: the question and its answer."""
_MIN_SAID_SHARE = 0.6
"""Minimum share (0 to 1) of a sentence's terms that a memory must contain, if the memory comes from this sentence."""
_DOCUMENT_KINDS = frozenset({"summary"})
_LIVE_SPACES: tuple[Space, ...] = ("memory",)
_MAX_NEW_CHUNKS = 256
"""Maximum number of new chunks to embed before a search. Without a vector, a new memory is not found by meaning."""
_REMOTE_SECONDS = 5.0
"""Time, in seconds, after which no further batch of chunks is sent to a remote embedder before a search."""


def find_neighbors(
    store: Store, embedding: Embedding, puts: Sequence[Put], now: datetime, *, kinds: Collection[str] | None = None
) -> list[list[Neighbor]]:
    """Return, for each proposed memory, the live memories of the same scope that are similar by meaning, words or key.

    ``kinds`` contains the kinds that learning may change; None means all kinds. Memories in a namespace are left out.
    """
    scopes = {put.scope for put in puts}
    filled = {scope for scope in scopes if store.memories(MemoryFilter(exactly=scope, kinds=kinds, unexpired_at=now, limit=1))}
    if not filled:  # nothing to compare with, so nothing is embedded
        return [[] for _ in puts]
    for scope in filled:
        embedding.catch_up(reader=scope, limit=_MAX_NEW_CHUNKS, remote_seconds=_REMOTE_SECONDS)
    vectors = embedding.documents([_search_text(put) for put in puts])
    found: list[list[Neighbor]] = []
    for number, put in enumerate(puts):
        cosines = {}
        where = SearchFilter(reader=put.scope, spaces=_LIVE_SPACES, kinds=kinds)
        if vectors is not None and embedding.name:
            cosines = {m.item: m.score for m in store.find_vectors(embedding.name, vectors[number], where, limit=_MAX_NEIGHBORS)}
        by_words = {m.item for m in store.find_text(_search_text(put), where, languages=("en", "es"), limit=_MAX_NEIGHBORS)}
        memories = store.memories(MemoryFilter(items=[*cosines, *(by_words - set(cosines))], unexpired_at=now))
        if put.key is not None:
            memories += store.memories(MemoryFilter(exactly=put.scope, kinds=kinds, key=put.key, unexpired_at=now, limit=50))
        own = {memory.id: memory for memory in memories if memory.scope == put.scope and not memory.namespace}
        nearest = sorted(own.values(), key=lambda memory: -cosines.get(memory.item, 0.0))
        leading = _leading(put, nearest[:_MAX_SHARING]) if cosines else set()
        nearest.sort(key=lambda memory: memory.id not in leading)
        found.append(
            [
                Neighbor(
                    memory=memory,
                    cosine=cosines.get(memory.item),
                    close=place < _MAX_COMPARED,
                    nearest=memory.id in leading,
                    said=said_sentence(store, memory) if memory.id in leading else "",
                )
                for place, memory in enumerate(nearest)
            ]
        )
    return found


def find_known(
    store: Store,
    embedding: Embedding,
    scope: Scope,
    texts: Sequence[str],
    *,
    now: datetime,
    limit: int,
    kinds: Collection[str] | None = None,
) -> list[Memory]:
    """Return up to ``limit`` live memories of a scope: those that are most similar to any of the texts, best first.

    If the scope has at most ``limit`` memories, all are returned, newest first. Summaries, pinned memories and memories
    in a namespace are left out. ``kinds`` contains the kinds that learning may change; None means all kinds.
    """
    newest = store.memories(MemoryFilter(exactly=scope, kinds=kinds, namespace=(), unexpired_at=now, limit=limit + 1))
    if len(newest) <= limit:
        return [memory for memory in newest if not _is_document(memory)]
    embedding.catch_up(reader=scope, limit=_MAX_NEW_CHUNKS, remote_seconds=_REMOTE_SECONDS)
    where = SearchFilter(reader=scope, spaces=_LIVE_SPACES, kinds=kinds)
    best: dict[int, float] = {}
    for text in texts:
        vector = embedding.query(text)
        if vector is not None and embedding.name:
            for match in store.find_vectors(embedding.name, np.asarray(vector), where, limit=_MAX_NEIGHBORS):
                best[match.item] = max(best.get(match.item, 0.0), match.score)
        for match in store.find_text(text, where, languages=("en", "es"), limit=_MAX_NEIGHBORS):
            best.setdefault(match.item, 0.5 * match.score)
    ranked = sorted(best, key=lambda item: -best[item])[: 2 * limit]
    memories = {memory.item: memory for memory in store.memories(MemoryFilter(items=ranked, unexpired_at=now))}
    found = [
        memories[item] for item in ranked if item in memories and memories[item].scope == scope and not memories[item].namespace
    ]
    return [memory for memory in found if not _is_document(memory)][:limit]


def _leading(put: Put, nearest: Sequence[Memory]) -> set[str]:
    """Return the ids of the best matches for a new memory: one match by meaning, and one match by words.

    ``nearest`` contains the known memories, nearest by meaning first. Its first memory is the match by meaning. The
    match by words is the memory that shares the most words with the new memory. Both can be the same memory.

    There is no match by words if no memory shares a word, or if several memories share the same highest number of
    words. A memory after the first ``_MAX_COMPARED`` must also share at least ``_MIN_SHARED_WORDS`` words.
    """
    shared = [common_words(memory.text, put.text) for memory in nearest]
    most = max(shared, default=0)
    place = shared.index(most) if most and shared.count(most) == 1 else None
    if place is not None and place >= _MAX_COMPARED and most < _MIN_SHARED_WORDS:
        place = None
    return {memory.id for number, memory in enumerate(nearest) if number in (0, place)}


def said_sentence(store: Store, memory: Memory) -> str:
    """Return the user's sentence that a memory comes from.

    Return an empty text if there is no such sentence: the memory summarizes a conversation or has more than two sources, it
    contains less than 60% of the sentence's terms, or the message no longer exists.
    """
    if not 0 < len(memory.sources) <= _MAX_SAID_SOURCES or "conversation" in memory.metadata:
        return ""
    language = memory.language or "en"
    kept = set(document_terms(spoken_words(memory.text)[1], language))
    for message in store.messages(MessageFilter(ids=memory.sources)):
        for sentence in split_sentences(message.text) if message.role == "user" else ():
            said = set(document_terms(sentence, language))
            if said and len(said & kept) >= _MIN_SAID_SHARE * len(said):
                return sentence
    return ""


def _is_document(memory: Memory) -> bool:
    """Return True if a memory is a summary or is pinned. A single statement must not replace a summary or a pinned memory."""
    return memory.kind in _DOCUMENT_KINDS or memory.pinned


def _search_text(put: Put) -> str:
    return f"{put.key}: {put.text}" if put.key else put.text
