"""Find later sentences of the user that may have made hits outdated, so that a context can show both.

Learning records such sentences in the metadata of a memory (``SAID_LATER``) if it is not sure enough to retire the memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.learning.input_filter import own_words
from holdfast.protocols import MemoryFilter, MessageFilter, Store
from holdfast.text.clean import one_line
from holdfast.text.sentences import split_sentences
from holdfast.types import SAID_LATER, Hit, Memory, Message, Scope

MAX_LATER: Final = 3
"""Maximum number of later sentences per memory. Older ones are dropped."""
_MAX_CHARACTERS: Final = 200
"""Maximum number of characters of a later message that are shown. Of a longer message, its sentence is shown."""


def with_later(store: Store, hits: Sequence[Hit], reader: Scope, *, min_trust: float) -> list[Hit]:
    """Return the hits, with ``later`` set for each hit that later sentences of the user may have made outdated.

    A message counts as outdated like the memories that were derived from it. Messages that the reader may not see, that are
    hidden, that have less than ``min_trust``, or from which a forgotten memory was derived, are left out.
    """
    links = {hit.id: links_of(hit.memory) for hit in hits if hit.memory and SAID_LATER in hit.memory.metadata}
    said = [hit.id for hit in hits if hit.message is not None and hit.successor is None]
    for memory in store.memories(MemoryFilter(reader=reader, sources=said)) if said else ():
        links |= {source: links_of(memory) for source in memory.sources if SAID_LATER in memory.metadata}
    if not links:
        return list(hits)
    messages = _messages(store, {id for linked in links.values() for id, _ in linked}, reader, min_trust)
    return [replace(hit, later=_texts(links[hit.id], messages)) if hit.id in links else hit for hit in hits]


def links_of(memory: Memory) -> list[tuple[str, int]]:
    """Return the later sentences that are recorded in a memory: ids of messages, and positions of sentences."""
    given: Any = memory.metadata.get(SAID_LATER, ())
    return [(str(id), int(number)) for id, number in given]


def _messages(store: Store, ids: set[str], reader: Scope, min_trust: float) -> dict[str, Message]:
    forgotten = store.memories(MemoryFilter(reader=reader, sources=sorted(ids), statuses=("forgotten",)))
    hidden = {source for memory in forgotten for source in memory.sources}
    found = store.messages(MessageFilter(reader=reader, ids=sorted(ids - hidden)))
    return {message.id: message for message in found if message.action is None and message.trust >= min_trust}


def _texts(links: Iterable[tuple[str, int]], messages: dict[str, Message]) -> tuple[str, ...]:
    texts = [_excerpt(messages[id], number) for id, number in links if id in messages]
    return tuple(dict.fromkeys(text for text in texts if text))


def _excerpt(message: Message, number: int) -> str:
    """Return a message as one line. Of a long message, return the sentence at a position."""
    own = own_words(message.text)
    whole, sentences = one_line(own), split_sentences(own)
    if len(whole) <= _MAX_CHARACTERS:
        return whole
    sentence = one_line(sentences[number]) if number < len(sentences) else whole
    return sentence if len(sentence) <= _MAX_CHARACTERS else f"{sentence[: _MAX_CHARACTERS - 1].rpartition(' ')[0]}…"
