"""Find the user's sentences that make a known memory outdated but are not among the extracted memories.

An example is "Renata moved her calls to Saturday". Such a sentence is often not worth keeping by itself. But if it were
ignored, the old memory about the calls would stay.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from holdfast.background.ended_messages import find_earlier
from holdfast.background.neighbors import find_neighbors
from holdfast.learning.capture import is_same_statement
from holdfast.learning.change_reader import ToldChange, plain_words
from holdfast.learning.changes.compare_claims import ClaimComparer
from holdfast.learning.changes.reconcile import may_replace
from holdfast.learning.changes.wording import spoken_words
from holdfast.learning.statements.conversation import is_spoken_by_user
from holdfast.learning.statements.own_text import own_clauses
from holdfast.protocols import SentenceReader, Store
from holdfast.recall.embedding import Embedding
from holdfast.types import Message, Put

_MIN_WORDS: Final = 3
_MAX_SENTENCES: Final = 24
"""Maximum number of sentences of a conversation that are compared with known memories."""
_MAX_COMPARED: Final = 3
"""Maximum number of memories that a sentence is compared with."""
_MAX_WISH: Final = 0.5
_MIN_KEEP: Final = 0.5
"""Minimum probability with which an earlier message that a sentence ends was worth keeping."""


def told_changes(
    messages: Sequence[Message],
    puts: Sequence[Put],
    *,
    store: Store,
    embedding: Embedding,
    reader: SentenceReader,
    now: datetime,
    kinds: Collection[str] | None = None,
    in_messages: bool = False,
) -> dict[str, ToldChange]:
    """Return the sentences that make a known memory outdated, each with the memory's area of life (such as work) and key.

    ``puts`` are the memories extracted from the messages. Sentences that are among them are left out. ``kinds``
    contains the kinds that learning may change; None means all kinds. With ``in_messages``, also return sentences that
    make a claim of an earlier message outdated.
    """
    said = [
        Put(scope=message.scope, kind="fact", text=sentence, valid_from=message.at, trust=message.trust, sources=(message.id,))
        for message, sentence in _unkept(messages, puts, reader)
    ][:_MAX_SENTENCES]
    texts = {message.id: message.text for message in messages}
    if not said:
        return {}
    comparer = ClaimComparer(reader)
    found: dict[str, ToldChange] = {}
    for put, neighbors in zip(said, find_neighbors(store, embedding, said, now, kinds=kinds), strict=True):
        for neighbor in neighbors[:_MAX_COMPARED]:
            old = neighbor.memory
            if not may_replace(replace(put, kind=old.kind), old):
                continue
            if comparer.change(old.text, put.text, nearest=neighbor.nearest, said=neighbor.said, whole=texts[put.sources[0]]):
                area = reader.read(spoken_words(old.text)[1]).area
                found[plain_words(put.text)] = ToldChange(area=area, key=old.key)
                break
    if in_messages:
        rest = [put for put in said if plain_words(put.text) not in found]
        for put, earlier in zip(rest, find_earlier(rest, texts, store=store, embedding=embedding), strict=True):
            for message in earlier[:1]:
                reading = reader.read(message.text)
                change = reading.keep >= _MIN_KEEP and comparer.change(
                    message.text, put.text, nearest=True, whole=texts[put.sources[0]]
                )
                if change:
                    found[plain_words(put.text)] = ToldChange(area=reading.area)
    return found


def _unkept(messages: Sequence[Message], puts: Sequence[Put], reader: SentenceReader) -> Iterator[tuple[Message, str]]:
    """Yield the statements of the user that are not among the extracted memories."""
    before = ""
    for message in messages:
        if not is_spoken_by_user(message):
            before = message.text
            continue
        kept = [put.text for put in puts if message.id in put.sources]
        for sentence in own_clauses(message.text, message.language):
            if len(sentence.split()) < _MIN_WORDS or sentence.rstrip().endswith("?"):
                continue
            if any(plain_words(sentence) in plain_words(text) or is_same_statement(text, sentence) for text in kept):
                continue
            reading = reader.read(sentence, before=before)
            refused = max(reading.wishes["off_record"], reading.wishes["forget"]) >= _MAX_WISH
            if not refused and reading.act in ("statement", "reply") and reading.meant == "fact":
                yield message, sentence
