"""Retire the siblings of an outdated claim: other memories that were derived from the same message and state it, too.

One message can become several memories, such as a sentence alone and the same sentence with the one before it. A new
memory usually supersedes only one of them. The others would stay and contradict the new memory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.learning.changes.compare_claims import ClaimComparer, common_words
from holdfast.learning.changes.end_reason import may_replace
from holdfast.learning.changes.parts.remainder import still_true
from holdfast.learning.changes.wording import content_words, shared_words, spoken_words
from holdfast.protocols import MemoryFilter, SentenceReader, Store
from holdfast.text.sentences import split_sentences
from holdfast.types import Memory, Put

_MIN_SAME_SHARE: Final = 0.8
"""Minimum share (0 to 1) of their content words that two texts must have in common to count as the same claim."""

Ended = Sequence[tuple[Put, Put]]
"""Pairs of a new memory and a claim of an earlier message that it makes outdated."""


def with_siblings(
    puts: Sequence[Put], ended: Ended, said: Mapping[str, str], *, store: Store, reader: SentenceReader
) -> tuple[list[Put], list[tuple[Put, Put]]]:
    """Return the new memories and the pairs in ``ended``, with the siblings of all outdated claims added to ``replaces``.

    Siblings are other memories from the same message that state an outdated claim, too. Their claims that are still true are
    added as separate Puts (memories to store). ``said`` maps the id of each new message to its text.
    """
    comparer = ClaimComparer(reader)
    changed: list[Put] = []
    pairs: list[tuple[Put, Put]] = []
    retired = {id for put in puts for id in put.replaces}
    for put in puts:
        claims = [claim for new, claim in ended if new is put]
        whole = said.get(put.sources[-1], "") if put.sources else ""
        rests, ids = [], []
        over = _outdated(store, put, claims) if put.id is None and "conversation" not in put.metadata else []
        for memory in _siblings(store, put, over):
            kept = None if memory.id in retired else _kept(memory, put, over, whole, comparer)
            if kept is not None:
                retired.add(memory.id)
                ids.append(memory.id)
                rests += still_true(memory, kept, put)
        new = replace(put, replaces=(*put.replaces, *ids)) if ids else put
        changed += [*rests, new]
        pairs += [(new, claim) for claim in claims]
    return changed, pairs


def _outdated(store: Store, put: Put, claims: Sequence[Put]) -> list[Memory | Put]:
    """Return the memories that ``put`` replaces, and the claims of messages that it makes outdated."""
    old = store.memories(MemoryFilter(ids=list(put.replaces), statuses=None)) if put.replaces else []
    return [*old, *claims]


def _siblings(store: Store, put: Put, over: Sequence[Memory | Put]) -> list[Memory]:
    """Return the live memories that share a message and most of their words with an outdated memory or claim (``over``).

    They must also have a word in common with ``put``. Without this condition, a wrongly found outdated message would retire
    unrelated memories.
    """
    sources = {source for each in over for source in each.sources} - set(put.sources)
    if not sources:
        return []
    found = store.memories(MemoryFilter(sources=sorted(sources), exactly=put.scope))
    return [
        each
        for each in found
        if "conversation" not in each.metadata
        and may_replace(put, each)
        and common_words(each.text, put.text)
        and any(_overlap(each.text, other.text, of=min) >= _MIN_SAME_SHARE for other in over)
    ]


def _kept(memory: Memory, put: Put, over: Sequence[Memory | Put], whole: str, comparer: ClaimComparer) -> tuple[str, ...] | None:
    """Return the claims of a sibling that are still true after ``put``. Return None if the whole sibling is still true."""
    before, words, after = spoken_words(memory.text)
    stated = split_sentences(words)
    ended = [sentence for each in over if isinstance(each, Put) for sentence in split_sentences(each.text)]
    kept = [each for each in stated if all(_overlap(each, other, of=max) < _MIN_SAME_SHARE for other in ended)]
    if len(kept) < len(stated):
        return (f"{before}{' '.join(kept)}{after}",) if before and kept else tuple(kept)
    change = comparer.change(memory.text, put.text, whole=whole)
    return None if change is None else change.kept


def _overlap(one: str, other: str, *, of: Callable[[Iterable[int]], int]) -> float:
    """Return how many content words two texts have in common, as a share of the content words of one of the texts.

    With ``of=min``, this is the text with fewer content words. With ``of=max``, it is the text with more. One text can be in
    the first person and the other in the third.
    """
    counts = [len(set(content_words(spoken_words(text)[1], None))) for text in (one, other)]
    return len(shared_words(one, other)) / max(of(counts), 1)
