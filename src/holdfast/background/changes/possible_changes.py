"""Find known memories that the user's new sentences may have made outdated, if that is not certain enough to retire them.

Nothing is retired. Each memory records the sentence, and a context shows both in one line.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from holdfast.background.neighbors import find_neighbors
from holdfast.learning.changes.compare_claims import ClaimComparer
from holdfast.learning.changes.end_reason import may_replace
from holdfast.learning.changes.reconcile import Neighbor
from holdfast.learning.input_filter import own_words
from holdfast.learning.statements.conversation import is_spoken_by_user
from holdfast.protocols import SentenceReader, Store
from holdfast.protocols.sentence_reader import Reading
from holdfast.recall.embedding import Embedding
from holdfast.recall.later import MAX_LATER, links_of
from holdfast.text.sentences import split_sentences
from holdfast.types import SAID_LATER, Memory, Message, Put

_MAX_SENTENCES: Final = 24
"""Maximum number of sentences of a conversation that are compared with known memories."""
_MAX_COMPARED: Final = 8
"""Maximum number of memories that a sentence is compared with."""
_MIN_WORDS: Final = 3
_MIN_KEEP: Final = 0.03
"""Minimum probability, according to the sentence reader, that a compared sentence is worth keeping, unless it is about somebody else.

Two thirds of all sentences have a lower one. They rarely change anything, and to compare them takes most of the time of a digest.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleChange:
    """A memory that a sentence of the user may have made outdated."""

    memory: str
    message: str
    sentence: int
    """Position among the sentences of the message."""


def possible_changes(
    messages: Sequence[Message],
    *,
    store: Store,
    embedding: Embedding,
    reader: SentenceReader,
    now: datetime,
    kinds: Collection[str] | None,
) -> list[PossibleChange]:
    """Compare the user's sentences with the most similar memories. Return the possible changes, in the order of the messages.

    ``kinds`` contains the kinds that learning may change; None means all kinds.
    """
    stated = [each for message in messages if is_spoken_by_user(message) for each in _statements(message, reader)]
    stated = stated[:_MAX_SENTENCES]
    puts = [_as_put(message, sentence) for message, _, sentence in stated]
    related = find_neighbors(store, embedding, puts, now, kinds=kinds) if puts else []
    comparer = ClaimComparer(reader)
    return [
        PossibleChange(memory=neighbor.memory.id, message=message.id, sentence=number)
        for (message, number, _), put, neighbors in zip(stated, puts, related, strict=True)
        for neighbor in neighbors[:_MAX_COMPARED]
        if _may_end(put, message, neighbor, comparer)
    ]


def link(memory: Memory, changes: Sequence[PossibleChange]) -> Put:
    """Return the change that records possible changes in a memory."""
    links = dict.fromkeys([*links_of(memory), *((change.message, change.sentence) for change in changes)])
    newest = [list(each) for each in links][-MAX_LATER:]
    return Put(
        id=memory.id,
        scope=memory.scope,
        kind=memory.kind,
        text=memory.text,
        key=memory.key,
        trust=memory.trust,
        metadata={**memory.metadata, SAID_LATER: newest},
        redact=False,
        reason="a later sentence may have changed it",
    )


def _statements(message: Message, reader: SentenceReader) -> list[tuple[Message, int, str]]:
    """Return those sentences of a message that may report a change, each with its position."""
    found = []
    for number, sentence in enumerate(split_sentences(own_words(message.text))):
        if len(sentence.split()) >= _MIN_WORDS and _may_report_change(reader.read(sentence)):
            found.append((message, number, sentence))
    return found


def _may_report_change(reading: Reading) -> bool:
    is_told = reading.act in ("statement", "reply") and reading.meant == "fact"
    return is_told and (reading.keep >= _MIN_KEEP or reading.owner == "other")


def _as_put(message: Message, sentence: str) -> Put:
    return Put(scope=message.scope, kind="fact", text=sentence, valid_from=message.at, trust=message.trust, sources=(message.id,))


def _may_end(put: Put, message: Message, neighbor: Neighbor, comparer: ClaimComparer) -> bool:
    old = neighbor.memory
    if message.id in old.sources or old.metadata.get("speaker") not in (None, message.speaker):
        return False
    if not may_replace(replace(put, kind=old.kind), old):
        return False
    return comparer.may_end(old.text, put.text, nearest=neighbor.nearest, whole=message.text)
