"""Find the known memory that a sentence of the user makes outdated, if the sentence by itself is not worth keeping.

An example is "Renata moved her calls to Saturday". If the sentence were dropped, the old memory would stay.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from holdfast.background.changes.ended_messages import find_earlier
from holdfast.background.neighbors import find_neighbors
from holdfast.learning.change_reader import ToldChange
from holdfast.learning.changes.compare_claims import ClaimComparer, is_guess
from holdfast.learning.changes.end_reason import may_replace, replaces
from holdfast.learning.changes.reconcile import Neighbor
from holdfast.learning.changes.wording import spoken_words
from holdfast.protocols import SentenceReader, Store
from holdfast.recall.embedding import Embedding
from holdfast.types import Message, Put

_MAX_SENTENCES: Final = 24
"""Maximum number of sentences of a conversation that are compared with known memories."""
_MAX_COMPARED: Final = 3
"""Maximum number of memories that a sentence is compared with."""
_MIN_KEEP: Final = 0.5
"""Minimum probability that an earlier message is worth keeping. Messages below it count only if the change is certain."""


class ChangeFinder:
    """Finds memories and earlier claims that are no longer true, according to the sentences of one conversation."""

    def __init__(
        self,
        said: Mapping[str, str],
        *,
        store: Store,
        embedding: Embedding,
        reader: SentenceReader,
        now: datetime,
        kinds: Collection[str] | None = None,
        in_messages: bool = False,
    ) -> None:
        """Prepare the search. ``said`` maps the id of each message of the conversation to its text.

        ``kinds`` contains the kinds that learning may change; None means all kinds. With ``in_messages``, claims of earlier
        messages are searched as well as memories.
        """
        self._said = said
        self._store = store
        self._embedding = embedding
        self._reader = reader
        self._now = now
        self._kinds = kinds
        self._in_messages = in_messages
        self._comparer = ClaimComparer(reader)
        self._sentences = 0

    def __call__(self, message: Message, sentence: str) -> ToldChange | None:
        """Find a known memory that a sentence makes outdated. Return its area of life (such as ``work``) and its key.

        If no memory is found and ``in_messages`` is set, search earlier messages. The result for a message has no key.

        Return None if nothing is found. Only the first ``_MAX_SENTENCES`` sentences of a conversation are checked. For later
        sentences, the result is None.
        """
        self._sentences += 1
        if self._sentences > _MAX_SENTENCES:
            return None
        put = Put(
            scope=message.scope, kind="fact", text=sentence, valid_from=message.at, trust=message.trust, sources=(message.id,)
        )
        return self._ended_memory(put) or (self._ended_message(put) if self._in_messages else None)

    def _ended_memory(self, put: Put) -> ToldChange | None:
        (neighbors,) = find_neighbors(self._store, self._embedding, [put], self._now, kinds=self._kinds)
        for neighbor in neighbors[:_MAX_COMPARED]:
            old = neighbor.memory
            if not may_replace(replace(put, kind=old.kind), old):
                continue
            by_rules = neighbor.nearest and replaces(old.text, put.text, old.language)
            if by_rules or self._ends_by_reader(neighbor, put):
                return ToldChange(area=self._reader.read(spoken_words(old.text)[1]).area, key=old.key)
        return None

    def _ends_by_reader(self, neighbor: Neighbor, put: Put) -> bool:
        old, whole = neighbor.memory, self._said[put.sources[0]]
        change = self._comparer.change(old.text, put.text, nearest=neighbor.nearest, said=neighbor.said, whole=whole)
        return change is not None and not is_guess(change, old, put.text, whole)

    def _ended_message(self, put: Put) -> ToldChange | None:
        (earlier,) = find_earlier([put], self._said, store=self._store, embedding=self._embedding)
        for message in earlier[:1]:
            reading = self._reader.read(message.text)
            whole = self._said[put.sources[0]]
            change = self._comparer.change(message.text, put.text, nearest=True, whole=whole)
            if change is not None and (change.certain or reading.keep >= _MIN_KEEP):
                return ToldChange(area=reading.area)
        return None
